#!/usr/bin/env bash
# A real Slurm with one node, for the length of one command; runs within sandbox/overlay.sh:
#
#     cluster.sh [--accounting] COMMAND...
#
# --accounting adds a database, so that sacct answers; without it only squeue does.
set -euo pipefail

wait_for() { # COMMAND: until it succeeds, at most 30 s
  for _ in {1..60}; do "$@" >/dev/null 2>&1 && return; sleep 0.5; done
  echo "cluster: gave up waiting for: $*" >&2
  tail -n 20 /var/log/slurm/*.log >&2 || true
  return 1
}

node_is_idle() { [[ $(sinfo --noheader --format=%T) == idle ]]; }

configure() {
  printf '127.0.0.1 localhost\n10.77.0.1 node1\n' >/etc/hosts
  install -d -o munge -g munge /run/munge
  install -d /var/spool/slurmctld /var/spool/slurmd /var/log/slurm /etc/slurm
  # slurmd looks for a control group file system that is not there, unless it is told which
  echo 'CgroupPlugin=cgroup/v1' >/etc/slurm/cgroup.conf
  cat >/etc/slurm/slurm.conf <<CONF
ClusterName=sandbox
SlurmctldHost=node1
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ReturnToService=2
MinJobAge=300
NodeName=node1 CPUs=$(nproc) RealMemory=6000 State=UNKNOWN
PartitionName=main Nodes=node1 Default=YES MaxTime=INFINITE State=UP
CONF
}

start_accounting() {
  install -d -o mysql -g mysql /run/mysqld
  setpriv --reuid=mysql --regid=mysql --clear-groups \
    mariadbd --innodb-buffer-pool-size=64M --innodb-use-native-aio=0 >/var/log/mariadbd.log 2>&1 &
  wait_for mariadb-admin ping
  mariadb --execute "create user if not exists slurm@localhost identified by 'slurm';
                     grant all on slurm_acct_db.* to slurm@localhost"
  cat >/etc/slurm/slurmdbd.conf <<CONF
AuthType=auth/munge
DbdHost=node1
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
CONF
  chmod 600 /etc/slurm/slurmdbd.conf
  cat >>/etc/slurm/slurm.conf <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=node1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
CONF
  slurmdbd
  wait_for sacctmgr --noheader list cluster
  for what in 'cluster sandbox' 'account tests' 'user root account=tests'; do
    # shellcheck disable=SC2086
    sacctmgr --immediate add $what >/dev/null
  done
}

configure
setpriv --reuid=munge --regid=munge --clear-groups munged --force 2>/dev/null
if [[ $1 == --accounting ]]; then
  shift
  start_accounting
fi
slurmctld
slurmd
wait_for node_is_idle
exec "$@"
