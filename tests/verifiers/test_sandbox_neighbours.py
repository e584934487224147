"""What programs do to those beside them, and one test to the next."""

import json
import os
import subprocess
import sys
import threading
import time

import psutil
import pytest
from support.attacks import ATTACKS, TIME, running
from support.programs import needs_bubblewrap

from rlvr.verifiers import sandbox
from rlvr.verifiers.pool import Pool

pytestmark = needs_bubblewrap


SPIN = "import time\nwhile time.process_time() < 0.4:\n    pass\nprint('done')"


@pytest.fixture
def one_cpu(another_zygote):
    """This thread, those that it starts, and their sandboxes share one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def test_no_neighbour_changes_a_verdict(one_cpu):
    """So many programs want the CPU that this one waits for it beyond its limit on the clock, which does not count."""
    limits, done, ends = sandbox.Limits(seconds=0.5), threading.Event(), []
    neighbours = ["while True: pass", "import os\nfor _ in range(3): os.fork()\nwhile True: pass"]

    def disturb(number: int) -> None:
        while not done.is_set():
            ends.append(sandbox.run(neighbours[number % 2], b"", limits).stopped)

    threads = [threading.Thread(target=disturb, args=(i,)) for i in range(8)]
    sandbox.run("print(1)", b"")
    for thread in threads:
        thread.start()
    time.sleep(1)
    began = time.monotonic()
    outcome = sandbox.run(SPIN, b"", limits)
    took = time.monotonic() - began
    done.set()
    for thread in threads:
        thread.join()
    assert outcome == sandbox.Outcome(b"done\n", "", 0, "") and set(ends) == {"time"}
    assert took > limits.clock


@pytest.mark.slow
def test_no_attack_changes_the_verdict_of_a_program_beside_it():
    gold = json.dumps({"kind": "stdin", "tests": [{"input": "", "output": "done"}], "seconds": 0.8})
    names = [*TIME, "mappings", "page tables: one page in each gigabyte", "full pipes, larger ones"]
    programs = [text for name in names for text in (ATTACKS[name], f"# {name}\n{SPIN}")]  # equal ones are judged once
    with Pool("code", workers=2) as pool:
        verdicts = list(pool.judge((f"```python\n{program}\n```", gold) for program in programs))
    statuses = [verdict.status for verdict in verdicts]
    assert statuses[1::2] == ["correct"] * len(names)
    assert set(statuses[::2]) <= {"wrong", "timeout", "out_of_memory"}


def test_nothing_of_one_test_reaches_the_next():
    leave = """
import builtins, json, os, random, sys
open('/tmp/left', 'w').write('left')
open('/dev/shm/left', 'w').write('left')
builtins.left = json.dumps = len = os.environ['LEFT'] = 'left'
sys.path.append('/left')
sys.setrecursionlimit(77)
os.chdir('/dev')
random.seed(77)
"""
    look = """
import builtins, json, os, random, sys
print(sorted(os.listdir('/tmp')), os.listdir('/dev/shm'), hasattr(builtins, 'left'), json.dumps(1))
print('LEFT' in os.environ)
print('/left' in sys.path, sys.getrecursionlimit(), os.getcwd(), random.random(), hash('text'), os.getpid())
"""
    before = sandbox.run(look, b"")
    assert sandbox.run(leave, b"").code == 0
    assert sandbox.run(look, b"") == before
    assert before.output.splitlines()[1] == b"False"
    assert before.output.splitlines()[0] == b"['.program.py'] ['.program.py'] False 1"
    sandbox.close()
    assert sandbox.run(look, b"") == before  # in another zygote: hashes and random numbers are the same each time


def test_no_memory_of_one_test_is_seen_by_the_next():
    """Neither its input nor its text: the zygote, of which the next is a copy, never reads them."""
    secret = "left-behind-4d1f"
    search = """
import ctypes, re
wanted, found = ('left-' + 'behind-' + '4d1f').encode(), 0
for line in open('/proc/self/maps'):
    start, end, rights = re.match('([0-9a-f]+)-([0-9a-f]+) (r?)', line).groups()
    if rights and '[v' not in line and 'zygote' not in line:
        start, end = int(start, 16), int(end, 16)
        found += ctypes.string_at(start, end - start).count(wanted)
print(found)
"""
    sandbox.close()
    alone = int(sandbox.run(search, b"").output)  # its own copies, in a zygote that has seen nothing
    printed = sandbox.run(f"kept = input()\nprint(kept, '{secret}')", secret.encode())
    assert printed.output.decode().split() == [secret, secret]
    assert int(sandbox.run(search, b"").output) == alone
    assert int(sandbox.run(f"# {secret}\n{search}", b"").output) > alone  # so it would be found


def test_a_run_that_is_interrupted_leaves_no_answer_to_the_next(monkeypatch):
    import signal

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            sandbox.run("import time\ntime.sleep(0.6)\nprint('first')\nraise SystemExit(5)", b"")
    finally:
        signal.signal(signal.SIGALRM, before)
    time.sleep(0.5)
    assert sandbox.run("print('second')", b"") == sandbox.Outcome(b"second\n", "", 0, "")


def test_a_zygote_that_is_lost_is_replaced_and_the_test_is_run_again():
    for victim in ("zygote", "bubblewrap"):
        sandbox.run("print(1)", b"")
        process = psutil.Process(sandbox._zygote().process.pid)
        doomed = process.children()[0] if victim == "zygote" else process
        killer = threading.Timer(0.3, doomed.kill)
        killer.start()
        assert sandbox.run("import time\ntime.sleep(1)\nprint(input())", b"here\n").output == b"here\n"
        killer.join()
        assert not doomed.is_running() and not running()


def test_one_that_ended_between_two_tests_is_replaced():
    sandbox.run("print(1)", b"")
    process = psutil.Process(sandbox._zygote().process.pid)
    process.children()[0].kill()
    process.wait(10)
    assert sandbox.run("print(input())", b"here\n").output == b"here\n"


def test_a_fork_of_the_judge_has_a_zygote_of_its_own():
    program = """
import os
from rlvr.verifiers import sandbox
sandbox.run("print(1)", b"")
if os.fork() == 0:
    print(sandbox.run("print('child')", b"").output, flush=True)
    os._exit(0)
os.wait()
print(sandbox.run("print('parent')", b"").output)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [r"b'child\n'", r"b'parent\n'"], done


def test_a_judge_with_many_open_files_hands_none_of_them_on(another_zygote):
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    for fd in kept:
        os.set_inheritable(fd, True)
    try:
        listed = "import os\nprint(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))"
        assert sandbox.run(listed, b"").output == b"[0, 1, 2, 3]\n"  # 3 is that of the listing
    finally:
        for fd in kept:
            os.close(fd)


def test_a_thread_takes_its_zygote_with_it():
    made = []
    thread = threading.Thread(target=lambda: (sandbox.run("print(1)", b""), made.append(sandbox._zygote().process.pid)))
    thread.start()
    thread.join()
    end = time.monotonic() + 20
    while psutil.pid_exists(made[0]) and psutil.Process(made[0]).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.05)
