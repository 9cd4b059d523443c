#!/usr/bin/env bash
# Run a command with Debian packages that the host does not have:
#
#     overlay.sh 'PACKAGE ...' COMMAND...
#
# The host stays as it is: the packages are installed once, into a layer over /, and each command
# has a copy of that layer, deleted in the end: commands running at the same time do not see each
# other. (It cannot be a layer below, the kernel refuses layers that lie in one another.) The
# command has mount, network, process and host name spaces of its own, too, and no network but the
# loopback. Real, and shared with the host, are only the working folder and the folders that
# SANDBOX_SHARED names (separated by colons).
# Needs root, overlayfs and Debian's archive.
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
      apt-get install --yes --no-install-recommends $packages >"$installed.log" 2>&1
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
    states=${SANDBOX_STATE:-/tmp/kgagg-sandbox}
    installed=$states/$(sha256sum <<<"$packages" | cut -c 1-12)
    mkdir -p "$states"
    state=$(mktemp -d "$states/XXXXXX")
    trap 'rm -rf "$state"' EXIT
    root=$state/root
    export packages folder installed state root
    mkdir "$state"/{work,root}
    exec 9>"$installed.lock"
    flock 9
    if [[ ! -e $installed ]]; then
      mkdir "$state/upper"
      unshare --mount --pid --fork "$script" __install
      mv "$state/upper" "$installed"
    fi
    exec 9>&-
    cp --archive "$installed" "$state/upper"
    unshare --mount --net --uts --pid --fork --kill-child "$script" __run "$@"
    ;;
esac
