#!/usr/bin/env bash
# Run a command with Debian packages that the host does not have:
#
#     overlay.sh 'PACKAGE ...' COMMAND...
#
# The host stays as it is: the packages are installed into an overlay over /, and the command runs
# there in mount, network, process and host name spaces of its own, which end with it. There is no
# network but the loopback. Real, and shared with the host, are only the working folder and the
# folders that SANDBOX_SHARED names (separated by colons).
# Needs root, overlayfs and Debian's archive; the first call for some packages installs them.
set -euo pipefail

mount_root() {
  mount -t overlay overlay -o "lowerdir=/,upperdir=$state/upper,workdir=$state/work" "$root"
  mount --bind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys" 2>/dev/null || true
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup" 2>/dev/null || true
}

share() { # FOLDER: the host's own, not a layer over it
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
}

case ${1:-} in
  __install)
    mount_root
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # start no service
    chmod +x "$root/usr/sbin/policy-rc.d"
    # shellcheck disable=SC2086
    chroot "$root" env DEBIAN_FRONTEND=noninteractive \
      apt-get install --yes --no-install-recommends $packages >"$state/install.log" 2>&1
    ;;
  __run)
    shift
    mount_root
    share "$folder"
    IFS=: read -r -a more <<<"${SANDBOX_SHARED:-}"
    for each in "${more[@]}"; do [[ -z $each ]] || share "$each"; done
    hostname node1
    ip link set lo up
    # some programs resolve names only where there is an address other than the loopback's
    ip address add 10.77.0.1/32 dev lo
    # shellcheck disable=SC2016
    exec chroot "$root" bash -c 'cd "$folder" && exec "$@"' - "$@"
    ;;
  *)
    packages=$1 folder=$PWD script=$(realpath "$0")
    shift
    state=${SANDBOX_STATE:-/tmp/kgagg-sandbox}/$(sha256sum <<<"$packages" | cut -c 1-12)
    root=$state/root
    export packages folder state root
    mkdir -p "$state"/{upper,work,root}
    if [[ ! -e $state/installed ]]; then
      unshare --mount --pid --fork "$script" __install
      touch "$state/installed"
    fi
    exec unshare --mount --net --uts --pid --fork --kill-child "$script" __run "$@"
    ;;
esac
