"""Nothing outlives the one that started it, also where that is killed by SIGKILL: real processes, a real kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, until

from rlvr import child_processes

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
POOL = r"""
import sys
from rlvr.verifiers.pool import Pool

if __name__ == "__main__":
    workers, count = int(sys.argv[1]), int(sys.argv[2])
    with Pool("math", workers=workers, seconds=600) as pool:
        list(pool.judge([(r"\boxed{\frac{4}{2}}", "2")]))
        print("started", flush=True)
        list(pool.judge([(r"\boxed{9^{9^{9^{9%d}}}}" % i, "7") for i in range(count)]))
        input()
"""
BUSY = "while True: pass"
FORKS = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
SLEEPS = "import time\nwhile time.process_time() < 0.5: pass\ntime.sleep(10_000)"
LIBRARY = """
import os, subprocess, sys, time
from pathlib import Path
from rlvr import child_processes

if sys.argv[1] == "watched":
    child_processes.leave_no_orphans(Path(__file__).parent / "folder")
program = "import os, time; os.write(1, b'%d ' % os.getpid()); time.sleep(10_000)"
for options in ({}, {"start_new_session": True}, {"env": {}}):
    subprocess.Popen([sys.executable, "-c", program], **options)
if os.fork() == 0:  # one whose parent ends at once, in a session of its own, and which has forgotten its environment
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve(sys.executable, [sys.executable, "-c", program], {})
os.wait()
if len(sys.argv) > 2:
    time.sleep(1)
    sys.exit(0)
time.sleep(10_000)
"""


def family(process: psutil.Process) -> set[psutil.Process]:
    """A process and all that descends from it now."""
    return {process, *process.children(recursive=True)}


def alive(processes: set[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; a zombie is over."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def busy(process: psutil.Process, name: str, count: int, seconds: float = 0.3) -> bool:
    """Whether so many descendants with the name in their command line have used so much of the CPU, kernel included."""
    used = []
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if name in " ".join(child.cmdline()) and child.name() != "bwrap":
                times = child.cpu_times()
                used.append(times.user + times.system)
    return sum(seconds < one for one in used) >= count


def orphans(processes: set[psutil.Process], seconds: float = 20.0) -> list[psutil.Process]:
    """What is left of them after at most so many seconds; killed, so that a failure leaves none either."""
    end = time.monotonic() + seconds
    while (left := alive(processes)) and time.monotonic() < end:
        time.sleep(0.05)
    described = [f"{one.pid} {one.cmdline()}" for one in left if one.is_running()]
    for one in left:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    print(f"orphans: {len(left)} of {len(processes)}")
    return described


@pytest.fixture
def start():
    """`start(command)`: a process and its view by psutil; what it started is killed at the end, where a test failed."""
    trees = []

    def started(command: list[str], **options) -> tuple[subprocess.Popen, psutil.Process]:
        process = subprocess.Popen(command, env=ENVIRONMENT, cwd=ROOT, text=True, **options)
        trees.append((process, psutil.Process(process.pid)))
        return trees[-1]

    yield started
    for process, tree in trees:
        for one in family(tree) if process.poll() is None else ():
            with suppress(psutil.NoSuchProcess):
                one.kill()
        process.wait()


def kill_and_count(process: subprocess.Popen, found: set[psutil.Process]) -> list[str]:
    assert len(alive(found)) == len(found) > 1
    process.kill()
    process.wait()
    return orphans(found)


@pytest.mark.parametrize(("workers", "towers"), [(1, 1), (2, 2), (2, 0)])
def test_workers_end_with_the_caller(start, workers, towers, tmp_path):
    """Busy ones hold the interpreter's lock for ever; (2, 0) are idle."""
    (tmp_path / "caller.py").write_text(POOL)
    command = [sys.executable, str(tmp_path / "caller.py"), str(workers), str(towers)]
    process, tree = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "started\n"
    until(lambda: busy(tree, "forkserver", towers, 1.0 if towers else -1))
    found = family(tree)
    assert len(found) >= 1 + 1 + workers + 1  # the caller, the forkserver, its workers, the tracker of resources
    assert kill_and_count(process, found) == []


def test_workers_that_are_being_started_end_with_the_caller(start, tmp_path):
    """Killed at moments from before the forkserver to after the first worker's start."""
    (tmp_path / "caller.py").write_text(POOL)
    for wait in (0.2, 0.4, 0.6, 0.8, 1.0, 1.4):
        process, tree = start([sys.executable, str(tmp_path / "caller.py"), "2", "2"], stdin=subprocess.PIPE)
        end, found = time.monotonic() + wait, {tree}
        while time.monotonic() < end:
            found |= family(tree)
        process.kill()
        found |= {one for parent in found if parent.is_running() for one in parent.children(recursive=True)}
        process.wait()
        assert orphans(found) == []


@pytest.mark.skipif(shutil.which("bwrap") is None and not os.environ.get("CI"), reason="needs bubblewrap")
@pytest.mark.parametrize(("program", "count"), [(BUSY, 1), (FORKS, 8), (SLEEPS, 1)])
@pytest.mark.parametrize("victim", ["caller", "worker"])
def test_programs_in_the_sandbox_end_with_the_judge(start, program, count, victim, tmp_path):
    gold = json.dumps({"kind": "stdin", "tests": [{"input": "", "output": "1"}], "seconds": 600})
    line = {"id": 1, "completion": f"```python\n{program}\n```", "gold": gold}
    (tmp_path / "lines").write_text(json.dumps(line) + "\n")
    command = [sys.executable, "-m", "rlvr", "grade", "--verifier", "code", "--input", str(tmp_path / "lines")]
    process, tree = start(command)
    until(lambda: busy(tree, "sandbox_zygote", count, 0.2))
    found = family(tree)
    if victim == "caller":
        assert kill_and_count(process, found) == []
        return
    (worker,) = {one.parent() for one in found if one.name() == "bwrap" and one.parent().name() != "bwrap"}
    inside = {one for one in found if worker in one.parents()}
    assert len(inside) >= count
    worker.kill()
    assert orphans({worker, *inside}) == []
    process.kill()
    process.wait()
    assert orphans(found) == []


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_what_a_library_starts_is_killed_by_the_watcher(start, how, tmp_path):
    """Also a process whose parent is gone, in a session and an environment of its own, of a parent that just ended.

    The folder that the watcher is given goes with them.
    """
    (tmp_path / "stage.py").write_text(LIBRARY)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    command = [sys.executable, str(tmp_path / "stage.py"), "watched", *(["end"] if how == "ended" else [])]
    process, tree = start(command, stdout=subprocess.PIPE)
    started = said(process, 4)
    mark = Path(f"/proc/{process.pid}/limits").read_text().split("Max realtime timeout")[1].split()[0]
    watcher = next(one for one in tree.children() if child_processes.__file__ in one.cmdline())
    assert {psutil.Process(pid) for pid in child_processes._marked(int(mark))} == {tree, *started}
    assert len(started - family(tree)) == 1 and (tmp_path / "folder" / "file").exists()
    if how == "killed":
        process.kill()
    process.wait()
    assert orphans({*started, watcher}) == [] and not (tmp_path / "folder").exists()


def test_without_the_watcher_they_would_stay(start, tmp_path):
    (tmp_path / "stage.py").write_text(LIBRARY)
    process, _ = start([sys.executable, str(tmp_path / "stage.py"), "unwatched"], stdout=subprocess.PIPE)
    started = said(process, 4)
    process.kill()
    process.wait()
    assert len(orphans(started, seconds=2)) == 4


def said(process: subprocess.Popen, count: int) -> set[psutil.Process]:
    """The processes whose ids were printed, each with a space after it."""
    text = ""
    while text.count(" ") < count:
        read = os.read(process.stdout.fileno(), 100)
        assert read, text
        text += read.decode()
    return {psutil.Process(int(number)) for number in text.split()}


def test_a_child_is_tied_to_its_parent(start, tmp_path):
    (tmp_path / "stage.py").write_text(
        "import subprocess, sys, time\nfrom rlvr.child_processes import tied\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(10_000)'],"
        " start_new_session=True, preexec_fn=tied())\ntime.sleep(10_000)\n"
    )
    process, tree = start([sys.executable, str(tmp_path / "stage.py")], stdout=subprocess.PIPE)
    assert process.stdout.readline() == "1\n"
    assert kill_and_count(process, family(tree)) == []


# ---- a stage and its caller ----------------------------------------------------------------------

CALLER = """
import os, subprocess, sys, time
from rlvr import child_processes
os.environ["RLVR_CALLER"] = child_processes.named()
subprocess.Popen(["sh", "-c", sys.executable + " " + " ".join(sys.argv[1:]) + "; true"])
time.sleep(10_000)
"""
STAGE = """
import os, sys, time
from rlvr import child_processes
from rlvr.training.progress import StopRequest

child_processes.TO_SAVE = 2.0
caller = int(os.environ["RLVR_CALLER"].split()[-2])
child_processes.end_with_caller() if sys.argv[1] != "deaf" else child_processes.ends_with(caller, 2.0)
stop = StopRequest()
print("started", flush=True)
while sys.argv[1] == "deaf" or not stop.after_step():
    time.sleep(0.1)
open(sys.argv[2], "w").write("saved")
sys.exit(75)
"""


@pytest.mark.parametrize("kind", ["saves", "deaf"])
def test_a_stage_ends_with_what_started_it(start, kind, tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "stage.py").write_text(STAGE)
    command = [sys.executable, str(tmp_path / "caller.py"), str(tmp_path / "stage.py"), kind, str(tmp_path / "saved")]
    process, tree = start(command, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "started\n"
    assert kill_and_count(process, family(tree)) == []
    assert (tmp_path / "saved").exists() == (kind == "saves")


def stage_of(named: str, folder: Path) -> subprocess.Popen:
    (folder / "stage.py").write_text(STAGE.replace("caller = int", "caller = 0  # int"))
    command = [sys.executable, str(folder / "stage.py"), "saves", str(folder / "saved")]
    environment = {**ENVIRONMENT, "RLVR_CALLER": named}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def test_a_caller_of_another_machine_is_nobodys(tmp_path):
    """A name that a job was handed with its environment: none, no name, another boot, another namespace. It goes on."""
    boot, namespace = child_processes.machine()
    names = ["", "1x", f"other {namespace} 4194304 5", f"{boot} pid:[1] 4194304 5"]
    folders = [tmp_path / str(number) for number in range(4)]
    for folder in folders:
        folder.mkdir()
    processes = [stage_of(name, folder) for name, folder in zip(names, folders, strict=True)]
    assert [process.stdout.readline() for process in processes] == ["started\n"] * 4
    time.sleep(3 * child_processes.LOOK_EVERY)
    assert [process.poll() for process in processes] == [None] * 4
    for process in processes:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(30) for process in processes] == [75] * 4


def test_a_stage_whose_caller_is_gone_when_it_starts_does_not_begin(tmp_path):
    """Killed while Python was starting; or its number is another process's by now."""
    machine = " ".join(child_processes.machine())
    for pid, began in (("4194304", "5"), (str(os.getpid()), "5")):
        process = stage_of(f"{machine} {pid} {began}", tmp_path)
        assert process.wait(60) == 1 and f"process {pid}, which started this stage, is gone" in process.stderr.read()


def test_a_trainer_saves_when_its_caller_is_killed(start, workbench, tmp_path):
    """A real run: the caller's SIGKILL leaves a checkpoint and no process."""
    spec = workbench.spec.model_copy(update={"rl": workbench.spec.rl.model_copy(update={"steps": 400})})
    (tmp_path / "caller.py").write_text(CALLER)
    words = ["-m", "rlvr.training.rl", *workbench.command(spec, tmp_path, save_every=1000)]
    command = [sys.executable, str(tmp_path / "caller.py"), *(f"'{word}'" for word in words)]
    process, tree = start(command, stdout=subprocess.PIPE)
    while '"stage": "rl"' not in process.stdout.readline():
        assert process.poll() is None
    assert kill_and_count(process, family(tree)) == []
    assert "asked to stop: saved at step" in process.stdout.read()
