"""A Slurm for the tests: munged, slurmctld and a slurmd a node, as plain processes in a folder of their own.

The nodes n1, n2, ... are all on this host, told apart by name and port. Debian: apt-get install slurmctld slurmd
slurm-client munge. No systemd, no cgroups, no database; the GPUs are links to /dev/null, which Slurm counts and never
opens.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "srun")
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={root}/munge/munge.socket
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool.%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.%n.log
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
SlurmdTimeout=10
CompleteWait=0
InactiveLimit=0
ReturnToService=2
{nodes}
PartitionName=cpu    Nodes=ALL Default=YES MaxTime=60 State=UP PriorityTier=1  PreemptMode=REQUEUE
PartitionName=gpu    Nodes=ALL MaxTime=60 State=UP PriorityTier=1  PreemptMode=REQUEUE
PartitionName=urgent Nodes=ALL MaxTime=60 State=UP PriorityTier=20 PreemptMode=OFF
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Boards=1 SocketsPerBoard=1 "
    "CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} Gres=gpu:h100:{gpus} State=UNKNOWN"
)


def missing() -> list[str]:
    return [name for name in NEEDED if shutil.which(name, path=SYSTEM) is None]


def _free_ports(count: int) -> list[int]:
    """Ports that nothing listens on, so that two of these may run on one host."""
    with ExitStack() as bound:
        probes = [bound.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("", 0))
        return [probe.getsockname()[1] for probe in probes]


def _kill(processes: Collection[psutil.Process]) -> None:
    """All at once: none sees another one's end."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


class Slurm:
    """`with Slurm(folder) as slurm: slurm.run("sinfo")`."""

    def __init__(self, root: Path, nodes: int = 1, cpus: int = 4, gpus: int = 4):
        self.root, self.cpus, self.gpus = root, cpus, gpus
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(root / "slurm.conf"),
            "PATH": f"{root / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}:{SYSTEM}",
        }

    def __enter__(self) -> Slurm:
        root = self.root
        for name in ("state", "dev", "munge", "bin"):
            (root / name).mkdir(parents=True, exist_ok=True)
        root.chmod(0o755)
        (root / "munge").chmod(0o755)
        for i in range(self.gpus):
            (root / "dev" / f"gpu{i}").symlink_to("/dev/null")
        key = root / "munge" / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        host = subprocess.run(["hostname", "-s"], capture_output=True, text=True).stdout.strip()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10 >> 20
        shared = {"host": host, "cpus": self.cpus, "memory": memory, "gpus": self.gpus}
        port, *ports = _free_ports(1 + len(self.nodes))
        nodes = [NODE.format(name=name, port=own, **shared) for name, own in zip(self.nodes, ports, strict=True)]
        filled = {"host": host, "user": user, "root": root, "port": port, "nodes": "\n".join(nodes)}
        (root / "slurm.conf").write_text(SLURM_CONF.format(**filled))
        files = f"{root}/dev/gpu[0-{self.gpus - 1}]"
        gpus = [f"NodeName={name} Name=gpu Type=h100 File={files}" for name in self.nodes]
        (root / "gres.conf").write_text("\n".join(["AutoDetect=off", *gpus, ""]))
        # The executor drops SLURM_CONF before it calls srun; and without a database there is no sacct.
        self._script("srun", f'SLURM_CONF={root / "slurm.conf"} exec /usr/bin/srun "$@"')
        self._script("sacct", "exit 0")
        files = [f"--{what}-file={root}/munge/munged.{what}" for what in ("pid", "log", "seed")]
        self.run("munged", "--force", f"--socket={root}/munge/munge.socket", f"--key-file={key}", *files)
        self.run("slurmctld")
        for name in self.nodes:
            self.run("slurmd", "-N", name)
        self.wait_until_idle()
        return self

    def __exit__(self, *_: object) -> None:
        found = self._processes()
        self.run("scancel", "--me", check=False)
        self.run("scontrol", "shutdown", check=False)
        time.sleep(1)
        _kill(found | self._processes())

    def lose(self, name: str) -> None:
        """All processes of a node end at once, as at a power loss: nobody is left to report it."""
        _kill([psutil.Process(int((self.root / f"slurmd.{name}.pid").read_text())), *self._processes(name)])

    def start(self, name: str) -> None:
        self.run("slurmd", "-N", name)

    def _processes(self, node: str | None = None) -> set[psutil.Process]:
        """What jobs run on a node, with the slurmstepd of each; without a node all of this Slurm, its daemons too."""
        found = set()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                of = process.environ()
                if of.get("SLURM_CONF") == str(self.root / "slurm.conf") and node in (None, of.get("SLURMD_NODENAME")):
                    found |= {process, *(one for one in process.parents() if one.name() == "slurmstepd")}
        return found

    def run(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def jobs(self) -> list[dict[str, str]]:
        """Every job, ended ones too."""
        names = ("JobID", "Name", "State", "Partition", "RestartCnt", "NodeList", "NumNodes", "TimeLimit", "Comment")
        shown = self.run("squeue", "--states=all", "--noheader", "--Format", ",".join(f"{n}:|" for n in names))
        return [dict(zip(names, line.split("|"), strict=False)) for line in shown.splitlines() if line.strip()]

    def _script(self, name: str, body: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def wait_until_idle(self, timeout: float = 30) -> None:
        deadline = time.monotonic() + timeout
        while set(self.run("sinfo", "-h", "-N", "-o", "%T", check=False).split()) != {"idle"}:
            assert time.monotonic() < deadline, (self.root / "slurmctld.log").read_text()[-2000:]
            time.sleep(0.1)
