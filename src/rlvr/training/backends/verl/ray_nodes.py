"""Ray over all nodes of a Slurm job, for as long as one command runs. In a rule's shell:

    python -m rlvr.training.backends.verl.ray_nodes [--python "apptainer exec --nv rlvr.sif python"] -- COMMAND ...

On one node, or outside of Slurm, it becomes the command, whose `ray.init()` starts its own Ray. On several nodes, each
node's Ray is a job step; when all are alive the command runs on this node with RAY_ADDRESS set. Then Ray stops on every
node, and the command's exit code is passed on. `--python` starts a Python with Ray, if this one has none.

SIGTERM is passed on to the command (set its handler after `ray.init()`, which sets one). If Slurm sends it to the whole
job, at its limit or a preemption, the other nodes' Ray ends too: save before. Each job has free ports, its own
temporary folder and its own token for Ray, so jobs may share nodes.

Ray's own `symmetric-run` ends every Ray of a host with `ray stop`, the next job's too, and refuses to run beside one.
"""

import argparse
import os
import re
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rlvr.child_processes import tied
from rlvr.run_in_env import prepare_vllm
from rlvr.training.backends.verl import own_ray

# On each node: Ray with the job's CPUs (it would count the host's) or as many as asked, until the step's input ends.
UNTIL_EOF = f"""
folder=$1-$SLURM_STEP_ID-$SLURM_PROCID; shift; exec 3<&0
unset RAY_ADDRESS  # of another Ray
mkdir -m 700 $folder && export {own_ray.FOLDER}=$folder TMPDIR=$folder || exit
setsid "$@" --temp-dir=$folder/ray --num-cpus=${{RAY_NODE_CPUS:-$SLURM_CPUS_ON_NODE}} & ray=$!
{{ cat <&3; kill $ray; }} >/dev/null 2>&1 &
wait $ray; code=$?
kill -9 -- -$ray 2>/dev/null
rm -rf $folder; exit $code
"""
ALL_ALIVE = """
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[2]):
    time.sleep(0.2)
"""


class NotStarted(RuntimeError):
    """Ray did not start on all nodes; the message ends with its logs."""


def nodes_of_job() -> list[str]:
    """The job's nodes, this one first; empty outside of a job."""
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return []
    names = _output("scontrol", "show", "hostnames", _output("squeue", "--noheader", "--job", job, "--format", "%N"))
    return sorted(names.split(), key=lambda name: name != os.environ["SLURMD_NODENAME"])


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout.strip()


def address_towards(node: str) -> str:
    """This host's address on its network to a node."""
    match = re.search(r"NodeAddr=(\S+)", _output("scontrol", "--oneliner", "show", "node", node))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((match[1] if match else node, 9))  # no packet is sent
        return probe.getsockname()[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@contextmanager
def step(nodes: list[str], folder: Path, command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`ray start` on some nodes, beside other steps of the job; stops it at the end."""
    each = ["--nodes", str(len(nodes)), "--ntasks", str(len(nodes)), "--ntasks-per-node", "1"]
    srun = ["srun", *each, "--overlap", "--mem", "0", "--cpu-bind", "none", "--label", "--nodelist", ",".join(nodes)]
    with open(log, "wb") as out:
        ray = ["sh", "-c", UNTIL_EOF, "sh", str(folder), *command]
        process = subprocess.Popen([*srun, *ray], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.terminate()  # srun kills its step


@contextmanager
def ray_over(nodes: list[str], python: list[str], timeout: float) -> Iterator[str]:
    """Ray on all nodes; yields its address. Raises NotStarted."""
    head, *others = nodes
    host, port = address_towards(others[0]), free_port()
    folder = Path(f"/tmp/ray-{secrets.token_hex(4)}")  # on each node; short, since Ray puts sockets in it
    free = ["--min-worker-port=0", "--max-worker-port=0"]
    start = [*python, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats", *free]
    first = [f"--node-ip-address={host}", f"--port={port}", "--include-dashboard=false"]
    deadline = time.monotonic() + timeout
    with ExitStack() as running:
        here = Path(running.enter_context(tempfile.TemporaryDirectory()))
        logs = [here / "head.log", here / "others.log"]
        steps = [running.enter_context(step([head], folder, [*start, "--head", *first], logs[0]))]

        def wait(until) -> None:
            while not until():
                ended = any(process.poll() is not None for process in steps)
                if ended or time.monotonic() > deadline:
                    why = "one ended" if ended else f"not all alive after {timeout:.0f} s"
                    tails = "".join(f"\n{log.name}:\n{_tail(log)}" for log in logs if log.exists())
                    raise NotStarted(f"Ray did not start on {', '.join(nodes)}: {why}{tails}")
                time.sleep(0.1)

        wait(lambda: _listens(host, port))
        join = [*start, f"--address={host}:{port}"]
        steps.append(running.enter_context(step(others, folder, join, logs[1])))
        query = [*python, "-c", ALL_ALIVE, f"{host}:{port}", str(len(nodes))]
        alive = subprocess.Popen(query, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=tied())
        running.callback(alive.kill)
        wait(lambda: alive.poll() == 0)
        yield f"{host}:{port}"


def _listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def _tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def run(command: list[str], python: list[str], timeout: float) -> int:
    """The command's exit code; 128 plus the signal's number if a signal ended it."""
    process: subprocess.Popen[bytes] | None = None

    def forward(number: int, _: object) -> None:
        if process is None:
            raise SystemExit(128 + number)
        process.send_signal(number)

    signal.signal(signal.SIGTERM, forward)
    os.environ.update(own_ray.token())
    prepare_vllm()  # Ray's workers have the environment of their node's Ray
    nodes = nodes_of_job()
    with ray_over(nodes, python, timeout) as address:
        print(f"Ray on {', '.join(nodes)} at {address}", flush=True)
        process = subprocess.Popen(command, env={**os.environ, "RAY_ADDRESS": address}, preexec_fn=tied())
        code = process.wait()
    return code if code >= 0 else 128 - code


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m rlvr.training.backends.verl.ray_nodes", description="Ray over a job's nodes."
    )
    parser.add_argument("--python", default=shlex.quote(sys.executable), help="how a Python with Ray is started")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that Ray may take to start everywhere")
    parser.add_argument("--num-cpus", type=int, help="CPUs that Ray counts on a node; default: the job's")
    parser.add_argument("command", nargs="+", help="after --")
    arguments = parser.parse_args()
    if len(nodes_of_job()) < 2:
        os.execvp(arguments.command[0], arguments.command)
    if arguments.num_cpus:
        os.environ["RAY_NODE_CPUS"] = str(arguments.num_cpus)
    try:
        sys.exit(run(arguments.command, shlex.split(arguments.python), arguments.timeout))
    except NotStarted as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
