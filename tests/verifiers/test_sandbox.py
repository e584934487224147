"""The sandbox: as whom and by which Python it runs, honest programs, its filter of system calls."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.attacks import ATTACKS
from support.programs import needs_bubblewrap

from rlvr.verifiers import sandbox, system_calls

pytestmark = needs_bubblewrap


JUDGES = """
import json, sys
from rlvr.verifiers import sandbox
outcome = sandbox.run(sys.argv[1], b'3 4', sandbox.Limits(1.0, 256))
print(json.dumps([outcome.output.decode(), outcome.errors, outcome.code, outcome.stopped]))
"""
KILLER = """
import os
for pid in range(2, 40000):
    try:
        os.kill(pid, 9) if pid != os.getpid() else 0
    except OSError:
        pass
print('alive')
"""


def judged_as(user: int, program: str) -> sandbox.Outcome:
    """By a judge of another user, who can read a copy of the sandbox's files and no more."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (
            "__init__.py",
            "registry.py",
            *(f"verifiers/{name}.py" for name in ("__init__", "system_calls", "sandbox")),
        ):
            copy = Path(folder, "rlvr", name)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(Path(sandbox.__file__).parents[1].joinpath(name).read_bytes())
        for name in sandbox.INSIDE:
            shutil.copyfile(Path(sandbox.__file__).with_name(name), Path(folder, "rlvr", "verifiers", name))
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        caller = {"user": user, "group": user, "extra_groups": []}
        command = [sandbox.interpreter(), "-B", "-c", JUDGES, program]
        environment = {"PYTHONPATH": folder, "PATH": os.environ["PATH"]}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd="/", timeout=60, **caller)
    assert done.returncode == 0, done.stderr
    output, *rest = json.loads(done.stdout)
    return sandbox.Outcome(output.encode(), *rest)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user; tests of others run as themselves")
@pytest.mark.parametrize(
    ("program", "output", "code", "stopped"),
    [
        ("print(sum(map(int, input().split())))", b"7\n", 0, ""),
        ("print(open('/dev/stdin').read(), file=open('/dev/stdout', 'w'))", b"3 4\n", 0, ""),
        ("while True: pass", b"", None, "time"),
        (ATTACKS["its init's memory"], b"", 0, ""),
        (ATTACKS["namespaces"], b"", 0, ""),
        (KILLER, b"alive\n", 0, ""),
    ],
)
def test_another_user_than_root_can_judge(program, output, code, stopped):
    outcome = judged_as(54_321, program)
    assert (outcome.output, outcome.code, outcome.stopped) == (output, code, stopped), outcome.errors


def test_the_python_that_judges_is_of_the_version_that_runs_the_project():
    said = sandbox.run("import sys\nprint(*sys.version_info[:2])", b"").output.split()
    assert [int(part) for part in said] == list(sys.version_info[:2])
    version, _, path = sandbox.check().partition(" ")
    assert version.startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.") and path == f"({sandbox.interpreter()})"


@pytest.fixture
def pythons():
    """Which Python judges is asked for anew."""
    sandbox.interpreter.cache_clear()
    yield
    sandbox.interpreter.cache_clear()


def test_where_no_such_python_can_be_read_nothing_is_judged(monkeypatch, pythons):
    monkeypatch.setattr(sandbox, "_can_be_shown", lambda path: False)
    with pytest.raises(sandbox.SandboxUnavailable, match=r"no python3\.\d+ .*that other users than root can run"):
        sandbox.interpreter()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can read its own Python")
def test_root_shows_no_python_of_a_folder_that_is_closed_to_others(monkeypatch, pythons, tmp_path):
    assert sandbox._can_be_shown(Path("/usr/bin/env").resolve())
    closed = Path("/var/tmp", tmp_path.name, "bin", "python")  # not /tmp, which each test covers with its own
    closed.parent.mkdir(parents=True)
    try:
        closed.write_text("")
        closed.chmod(0o755)
        assert sandbox._can_be_shown(closed)
        closed.parents[1].chmod(0o700)
        assert not sandbox._can_be_shown(closed)
    finally:
        shutil.rmtree(closed.parents[1])


# What honest programs write when their input is `3 4`.
HONEST = {
    "import sys\nprint('a')\nsys.exit(0)": b"a\n",
    "import sys\nprint('a')\nsys.exit('why')": b"a\n",
    "print('a')\nexit()\nprint('b')": b"a\n",
    "print('a')\n1 / 0": b"a\n",
    "import atexit\natexit.register(print, 'b')\nprint('a')": b"a\nb\n",
    "out = open(1, 'w', closefd=False)\nout.write('a')": b"a",
    "class Late:\n    def __del__(self):\n        print('b')\nlate = Late()\nprint('a')": b"a\nb\n",
    "import sys\nprint('a')\nsys.stdout.flush()\nsys.stdout.close()": b"a\n",
    "import os\nos.close(1)\nprint('a')": b"",
    "import os\nprint('a', flush=True)\nos._exit(0)": b"a\n",
    "import os\nos.system('echo a')": b"a\n",
    "import mmap\nprint(mmap.mmap(0, 0, access=mmap.ACCESS_READ).readline())": b"b'3 4\\n'\n",
    "import fileinput\nprint(*fileinput.input())": b"3 4\n\n",
    "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 1+1').fetchone())": b"(2,)\n",
    "import decimal, datetime, statistics, uuid, secrets, zlib, array\nprint(len(secrets.token_bytes(3)))": b"3\n",
    "print(open(__file__).read()[:5])": b"print\n",
    "@lru_cache(None)\ndef f(n):\n    return n if n == 0 else f(n - 1) + 1\nprint(f(20000))": b"20000\n",
    "import pickle\nclass A:\n    pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)": b"True\n",
    "import threading as t\nt.stack_size(128 << 20)\nt.Thread(target=print, args=(1,)).start()": b"1\n",
    "print(len(str(10**10000)))": b"10001\n",
    "try:\n    import yaml\nexcept ImportError:\n    print('not there')": b"not there\n",
    "import os\nprint(os.cpu_count(), len(os.sched_getaffinity(0)))": b"1 1\n",
    "from concurrent.futures import ThreadPoolExecutor as P\nprint(sum(P().map(abs, range(99))))": b"4851\n",
    "import multiprocessing as mp\nwith mp.Pool() as p:\n    print(sum(p.map(abs, range(99))))": b"4851\n",
    "import multiprocessing as mp\nwith mp.Pool(3) as p:\n    print(p.map(abs, [-1, -2]))": b"[1, 2]\n",
    """
import io, os, sys
sys.stdout = io.StringIO()
print('a')
os.write(1, sys.stdout.getvalue().encode())
""": b"a\n",
    """
import threading, time
late = lambda: (time.sleep(0.2), print('b'))
threading.Thread(target=late).start()
print('a')
""": b"a\nb\n",
    """
import resource
resource.setrlimit(resource.RLIMIT_STACK, (2**28, resource.RLIM_INFINITY))
print('a')
""": b"a\n",
    """
import multiprocessing as mp
n = mp.Value('i', 0)
p = mp.Process(target=lambda: setattr(n, 'value', 7))
p.start()
p.join()
print(n.value)
""": b"7\n",
    """
import subprocess, sys
print(subprocess.run([sys.executable, '-c', 'print(6)'], capture_output=True).stdout)
""": b"b'6\\n'\n",
    """
import tempfile
with tempfile.NamedTemporaryFile('w+') as f:
    f.write('a')
    f.seek(0)
    print(f.read())
""": b"a\n",
    """
import signal
signal.signal(signal.SIGALRM, lambda *_: print('a'))
signal.setitimer(signal.ITIMER_REAL, 0.1)
signal.pause()
""": b"a\n",
}
CODES = {"print('a')\n1 / 0": 1, "import os\nos.close(1)\nprint('a')": 120}  # others: 0


@pytest.mark.parametrize("program", HONEST)
def test_what_honest_programs_do(program):
    outcome = sandbox.run(program, b"3 4\n")
    expected = (HONEST[program], CODES.get(program, 0), "")
    assert (outcome.output, outcome.code, outcome.stopped) == expected, outcome.errors


@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_the_table_of_system_calls_is_whole(machine):
    numbers = system_calls.numbers(machine)
    assert len(set(numbers.values())) == len(numbers) > 100
    assert set(system_calls.RULES) <= set(numbers)
    assert len(system_calls.filter_program(machine)) % 8 == 0


@pytest.mark.skipif(not Path("/usr/include/asm-generic/unistd.h").exists(), reason="needs the kernel's headers")
@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "/usr/include/asm-generic/unistd.h")],
)
def test_numbers_are_those_of_the_kernel(machine, header):
    if not Path(header).exists():
        pytest.skip("needs the kernel's headers of this machine")
    rows = [line.split() for line in Path(header).read_text().splitlines() if line.startswith("#define __NR")]
    known = {name.removeprefix("__NR_").removeprefix("__NR3264_"): value for _, name, value, *_ in rows}
    ours = system_calls.numbers(machine)
    assert {name: int(known[name]) for name in ours if known.get(name, "").isdigit()} == {
        name: number for name, number in ours.items() if known.get(name, "").isdigit()
    }
