"""A Slurm of one node, started for the tests: munged, slurmctld and slurmd as plain processes in a folder of their own.

Debian: apt-get install slurmctld slurmd slurm-client munge. No systemd, no cgroups, no database; the GPUs are links to
/dev/null, which Slurm counts and never opens.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "srun")
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort=16827
SlurmdPort=16828
AuthType=auth/munge
AuthInfo=socket={root}/munge/munge.socket
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=256
GresTypes=gpu
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
AccountingStorageType=accounting_storage/none
MinJobAge=3600
JobRequeue=1
EnforcePartLimits=ALL
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
PriorityType=priority/basic
KillWait=5
CompleteWait=0
InactiveLimit=0
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} Gres=gpu:h100:4 State=UNKNOWN
PartitionName=cpu    Nodes={host} Default=YES MaxTime=60 State=UP PriorityTier=1  PreemptMode=REQUEUE
PartitionName=gpu    Nodes={host} MaxTime=60 State=UP PriorityTier=1  PreemptMode=REQUEUE
PartitionName=urgent Nodes={host} MaxTime=60 State=UP PriorityTier=20 PreemptMode=OFF
"""  # noqa: E501


def missing() -> list[str]:
    return [name for name in NEEDED if shutil.which(name, path=SYSTEM) is None]


class SlurmNode:
    """`with SlurmNode(folder) as node: node.run("sinfo")`."""

    def __init__(self, root: Path, cpus: int = 4):
        self.root, self.cpus = root, cpus
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(root / "slurm.conf"),
            "PATH": f"{root / 'bin'}:{os.environ['PATH']}:{SYSTEM}",
        }

    def __enter__(self) -> SlurmNode:
        root = self.root
        for name in ("state", "spool", "dev", "munge", "bin"):
            (root / name).mkdir(parents=True, exist_ok=True)
        root.chmod(0o755)
        (root / "munge").chmod(0o755)
        for i in range(4):
            (root / "dev" / f"gpu{i}").symlink_to("/dev/null")
        key = root / "munge" / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        host = subprocess.run(["hostname", "-s"], capture_output=True, text=True).stdout.strip()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10 >> 20
        settings = {"host": host, "user": user, "root": root, "cpus": self.cpus, "memory": memory}
        (root / "slurm.conf").write_text(SLURM_CONF.format(**settings))
        (root / "gres.conf").write_text(
            f"AutoDetect=off\nNodeName={host} Name=gpu Type=h100 File={root}/dev/gpu[0-3]\n"
        )
        # The executor drops SLURM_CONF before it calls srun; and without a database there is no sacct.
        self._script("srun", f'SLURM_CONF={root / "slurm.conf"} exec /usr/bin/srun "$@"')
        self._script("sacct", "exit 0")
        files = [f"--{what}-file={root}/munge/munged.{what}" for what in ("pid", "log", "seed")]
        self.run("munged", "--force", f"--socket={root}/munge/munge.socket", f"--key-file={key}", *files)
        self.run("slurmctld")
        self.run("slurmd", "-N", host)
        self._wait_until_idle()
        return self

    def __exit__(self, *_: object) -> None:
        self.run("scancel", "--me", check=False)
        self.run("scontrol", "shutdown", check=False)
        time.sleep(1)
        for name in ("slurmd.pid", "slurmctld.pid", "munge/munged.pid"):
            try:
                os.kill(int((self.root / name).read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                continue

    def run(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def jobs(self) -> list[dict[str, str]]:
        """Every job, ended ones too: id, name, state, partition, restarts, comment."""
        names = ("JobID", "Name", "State", "Partition", "RestartCnt", "Comment")
        shown = self.run("squeue", "--states=all", "--noheader", "--Format", ",".join(f"{n}:|" for n in names))
        return [dict(zip(names, line.split("|"), strict=False)) for line in shown.splitlines() if line.strip()]

    def _script(self, name: str, body: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def _wait_until_idle(self) -> None:
        deadline = time.monotonic() + 30
        while set(self.run("sinfo", "-h", "-N", "-o", "%T", check=False).split()) != {"idle"}:
            assert time.monotonic() < deadline, (self.root / "slurmctld.log").read_text()[-2000:]
            time.sleep(0.1)
