"""Programs that forge a verdict, read what they must not, or harm the machine."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress

import psutil
import pytest
from support.programs import ADD, FAST, SECRET, block, call_gold, stdin_gold

from rlvr.verifiers import VerifierError, code, sandbox, system_calls
from rlvr.verifiers.pool import Pool

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("CI"), reason="needs bubblewrap: apt-get install bubblewrap"
)

# Each program tries to harm, to get out, or to be found right without the answer. None may be correct, and none may
# leave anything behind. The expected output is SECRET, which the parent's environment and command line hold too.

READS = {
    "environment": "import os\nprint('\\n'.join(os.environ.values()))",
    "the parent's environment": "print(open('/proc/%d/environ' % __import__('os').getppid(), 'rb').read())",
    "every process's memory and environment": """
import glob
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
    try:
        text = open(path, errors='replace').read()
    except OSError:
        continue
    if 'expected-' in text:
        start = text.index('expected-')
        print(text[start:start + 15])
""",
    "files of the host": """
import os
for folder in ('/root', '/home', '/etc', '/var', '/opt', '/srv', '/mnt', '/proc/1/root/home', '/proc/self/cwd/../home'):
    try:
        print(os.listdir(folder))
    except OSError:
        pass
""",
    "the working directory of the parent": "import os\nos.chdir('/proc/1/cwd')\nprint(os.listdir('..'))",
    "open descriptors": """
import os
for fd in range(3, 64):
    try:
        print(os.read(fd, 4096).decode())
    except OSError:
        pass
""",
    "passwd": "print(open('/etc/passwd').read())",
    "frames": """
import sys
frame = sys._getframe()
while frame:
    for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
        if 'expected-' in str(value)[:10000] and value != SOURCE:
            print(value)
    frame = frame.f_back
""".replace("SOURCE", "open('/program.py').read()"),
    "objects": """
import gc
for thing in gc.get_objects():
    if isinstance(thing, dict) and ('tests' in thing or 'expected' in thing or 'output' in thing):
        print(thing)
""",
    "traces of the judge": """
import sys
for name in list(sys.modules):
    if 'rlvr' in name or 'verif' in name:
        print(sys.modules[name].read_gold.cache_info())
""",
}
FORGES = {
    "a verdict on the standard output": 'print(\'correct\')\nprint(\'{"status": "correct", "passed": true}\')',
    "a verdict on every descriptor": """
import os
for fd in range(64):
    try:
        os.write(fd, b'correct')
    except OSError:
        pass
""",
    "an exit code": "import os\nos._exit(0)",
    "an exit by exception": "raise SystemExit(0)",
    "a kill of itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "a signal to its group": "import os, signal\nos.killpg(0, signal.SIGTERM)",
    "an answer that is equal to everything": """
class Any(str):
    __eq__ = lambda self, other: True
    __hash__ = str.__hash__
print(Any('x'))
""",
    "built-ins replaced": """
import builtins
builtins.print = lambda *a, **k: None
builtins.all = builtins.any = lambda *a: True
builtins.len = lambda x: 1
str.strip
""",
    "modules replaced": """
import json, sys
json.loads = json.dumps = lambda *a, **k: True
sys.modules['decimal'] = sys.modules['json'] = type(sys)('x')
""",
    "an exit hook": "import atexit, os\natexit.register(lambda: os._exit(0))\nprint('?')",
    "a test framework of its own": "import unittest\nunittest.main(exit=False)",
    "a flood": "import sys\nwhile True:\n    sys.stdout.write('x' * 65536)",
    "a flood of errors": "import sys\nwhile True:\n    sys.stderr.write('x' * 65536)",
    "an endless line without an end": "import os\nwhile True:\n    os.write(1, b'1')",
}
# Makes the sandbox's own init forget that it shall die with its parent, by tracing it, and leaves a process behind.
SURVIVOR = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
registers = ctypes.c_ulong * 27
if libc.ptrace(16, 1, 0, 0) == 0:
    os.waitpid(1, 0x40000000)
    saved = registers()
    libc.ptrace(12, 1, 0, ctypes.byref(saved))
    asked = registers(*saved)
    asked[16], asked[10], asked[15], asked[14], asked[13] = saved[16] - 2, 157, 2**64 - 1, 1, 0
    libc.ptrace(13, 1, 0, ctypes.byref(asked))
    libc.ptrace(9, 1, 0, 0)
    os.waitpid(1, 0x40000000)
    saved[16], saved[10], saved[15] = saved[16] - 2, 61, 2**64 - 1
    libc.ptrace(13, 1, 0, ctypes.byref(saved))
    libc.ptrace(17, 1, 0, 0)
    print('traced', flush=True)
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
print(7, flush=True)
"""
HARMS = {
    "a fork bomb": "import os\nwhile True:\n    os.fork()",
    "forks that fork before they end": """
import os
while True:
    try:
        if os.fork() and os.fork():
            os._exit(0)
    except OSError:
        pass
""",
    "threads": """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(100,)).start()
""",
    "memory": "x = []\nwhile True:\n    x.append(bytearray(10**7))",
    "memory in many processes": """
import os, time
for _ in range(12):
    if os.fork() == 0:
        x = b'x' * (200 * 10**6)
        time.sleep(100)
time.sleep(100)
""",
    "a full disk": """
for folder in ('/tmp', '/dev/shm', '/dev', '/', '/usr', '/var/tmp'):
    try:
        with open(folder + '/big', 'wb') as file:
            while True:
                file.write(bytes(10**6))
    except OSError as error:
        pass
import os
print(sum(os.path.getsize(f + '/big') for f in ('/tmp', '/dev/shm') if os.path.exists(f + '/big')) > 50 * 10**6)
""",
    "a process that stays": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
print('left')
""",
    "signals ignored": """
import signal, time
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    time.sleep(1)
""",
    "signals to all": """
import os, signal
for pid in range(2, 40000):
    try:
        os.kill(pid, signal.SIGKILL) if pid != os.getpid() else None
    except OSError:
        pass
os.kill(-1, signal.SIGKILL)
""",
    "limits raised": """
import resource
for name in ('RLIMIT_AS', 'RLIMIT_NPROC', 'RLIMIT_FSIZE', 'RLIMIT_CPU'):
    try:
        resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY,) * 2)
        print('raised', name)
    except (ValueError, OSError):
        pass
x = bytearray(10**10)
""",
    "a crash": "import ctypes\nctypes.string_at(0)",
    "a deep recursion": "def f(n):\n    return f(n + 1)\nf(0)",
    "a namespace of its own": """
import ctypes, os
libc = ctypes.CDLL(None)
print('inside' if libc.unshare(0x10000000) == 0 else 'refused')
print('mounted' if libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0 else 'refused')
""",
    "a trace of its neighbours, which stops the sandbox's own init": """
import ctypes
libc = ctypes.CDLL(None)
for pid in range(1, 40000):
    if libc.ptrace(16, pid, 0, 0) == 0 and pid > 1:
        print('attached', pid)
""",
    "shared memory that no process holds": """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(4):
    part = libc.shmget(0, 256 << 20, 0o1600)
    place = libc.shmat(part, None, 0)
    if part >= 0:
        ctypes.memset(place, 1, 256 << 20)
        libc.shmdt(ctypes.c_void_p(place))
        print('inside')
""",
    "files in memory": """
import os
for _ in range(40):
    try:
        os.write(os.memfd_create('x'), bytes(15 << 20))
        print('inside')
    except OSError:
        pass
""",
    "the keys of a session": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for call in ((250, 0, -3, 1), (250, 11, -3, 0, 0), (248, b'user', b'k', b'v', 1, -3)):
    if libc.syscall(*call) >= 0:
        print('inside')
""",
    "sockets": """
import socket
for family in range(46):
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print('inside', family)
    except OSError:
        pass
try:
    socket.socketpair()
    print('inside')
except OSError:
    pass
""",
    "its init, made to outlive its parent": SURVIVOR,
    "a terminal that types": """
import fcntl, termios
for fd in range(3):
    for c in b'id\\n':
        fcntl.ioctl(fd, termios.TIOCSTI, bytes([c]))
""",
}
NETWORK = """
import socket
found = []
for family, address in ((socket.AF_INET, ('127.0.0.1', PORT)), (socket.AF_UNIX, '\\0abstract-PORT')):
    try:
        s = socket.socket(family, socket.SOCK_STREAM)
        s.settimeout(1)
        s.connect(address)
        found.append(s.recv(100).decode())
    except OSError:
        pass
print('\\n'.join(found))
"""
ATTACKS = {**READS, **FORGES, **HARMS}


def test_there_are_at_least_25_attacks():
    assert len(ATTACKS) + 1 >= 25


@pytest.fixture(scope="module")
def bystander():
    """A process of the same user as this test, which no attack may end."""
    with subprocess.Popen(["sleep", "600"], env={"SECRET": SECRET}) as process:
        yield process
        process.kill()


def leftovers() -> list[str]:
    """What this test's zygotes have started and still runs; an ended process that is not yet reaped holds nothing."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            zygote = process.name() == "bwrap" or process.parent().name() == "bwrap"
            if not zygote and process.status() != psutil.STATUS_ZOMBIE and "bwrap" in lineage(process):
                found.append(" ".join(process.cmdline())[:100])
    return found


def lineage(process: psutil.Process) -> list[str]:
    return [one.name() for one in process.parents()]


def nothing_left() -> bool:
    """Whether all sandboxes end within seconds; what a program leaves behind sleeps for a quarter of an hour."""
    deadline = time.monotonic() + 20
    while leftovers() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not leftovers()


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_attacks_neither_pass_nor_harm(attack, bystander, monkeypatch):
    monkeypatch.setenv("SECRET", SECRET)
    gold = stdin_gold(("", SECRET), **FAST)
    began = time.monotonic()
    status, _ = code.judge(block(ATTACKS[attack]), gold)
    assert status in ("wrong", "timeout", "out_of_memory"), f"{attack}: {status}"
    assert time.monotonic() - began < 300  # stopped, also on a busy machine; attacks last 900 s or more
    assert bystander.poll() is None
    assert nothing_left()
    assert code.judge(block("print(sum(map(int, input().split())))"), ADD)[0] == "correct"  # and the next is judged


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_what_attacks_write_holds_nothing_of_the_host(attack, bystander, monkeypatch):
    monkeypatch.setenv("SECRET", SECRET)
    outcome = sandbox.run(ATTACKS[attack], b"", sandbox.Limits(seconds=2.0, memory_mb=256, output_mb=1))
    written = outcome.output.decode("utf-8", "replace")
    assert SECRET not in written + outcome.errors
    for word in ("raised", "inside", "mounted", "attached", "True", "root:"):
        assert word not in written
    if attack == "files of the host":
        assert written == ""
    if attack == "memory in many processes":
        assert outcome.stopped == "memory"
    assert len(outcome.output) <= (1 << 20) + (1 << 17)


def test_a_program_has_no_hold_on_its_init_without_the_filter_of_system_calls_either(monkeypatch, another_zygote):
    monkeypatch.setattr(
        system_calls, "filter_program", lambda: system_calls._step(system_calls.RETURN, system_calls.ALLOW)
    )
    assert sandbox.run("import os\nos.setsid()\nprint('no filter')", b"").output == b"no filter\n"
    outcome = sandbox.run(SURVIVOR, b"")
    assert outcome.output == b"7\n" and outcome.code == 0
    assert nothing_left()


def test_no_process_stays_as_a_zombie_of_the_judge():
    program = """
import os, psutil
from rlvr.verifiers import sandbox
sandbox.adopt()
for text in ["print(1)"] * 3 + ["import os\\nos.fork()\\nwhile True: pass"]:
    sandbox.run(text, b"", sandbox.Limits(seconds=0.5))
sandbox.close()
print(len(psutil.Process().children(recursive=True)), len(os.listdir("/proc/self/fd")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "4"], done  # standard streams, and that of the listing


def test_a_sandbox_that_could_not_be_set_up_is_no_verdict(monkeypatch, another_zygote):
    command = sandbox._command

    def broken(*arguments):
        made = command(*arguments)
        return [
            *made[: made.index("--remount-ro")],
            "--ro-bind",
            "/no/such/folder",
            "/x",
            *made[made.index("--remount-ro") :],
        ]

    monkeypatch.setattr(sandbox, "_command", broken)
    with pytest.raises(VerifierError, match=r"could not set a sandbox up: .*no/such/folder"):
        code.judge(block("print(7)"), ADD)


def test_a_machine_without_known_numbers_of_system_calls_is_refused():
    with pytest.raises(VerifierError, match="no filter of system calls for riscv64"):
        system_calls.filter_program("riscv64")
    assert 0 < len(system_calls.filter_program("aarch64")) < len(system_calls.filter_program("x86_64"))


def test_what_contest_programs_do_works():
    deep = "@lru_cache(None)\ndef f(n):\n    return n if n == 0 else f(n - 1) + 1\nprint(f(20000))"
    assert sandbox.run(deep, b"").output == b"20000\n"
    pickled = "import pickle\nclass A:\n    pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)"
    assert sandbox.run(pickled, b"").output == b"True\n"
    threads = "import threading\nthreading.stack_size(128 << 20)\nthreading.Thread(target=print, args=(1,)).start()"
    assert sandbox.run(threads, b"").output == b"1\n"
    assert sandbox.run("print(len(str(10**10000)))", b"").output == b"10001\n"
    assert b"No module named 'yaml'" in sandbox.run("import yaml", b"").errors.encode()


@pytest.mark.parametrize("text", ["~" * 20_000 + "`", "```" + " " * 200_000 + "`", "```a\n" * 200_000])
def test_reading_the_answer_takes_no_longer_than_the_text(text):
    """Cubic, this would take hours; the limit of the test run would show it."""
    assert code.last_program(text) is None


def test_processes_are_limited_for_root_too():
    program = """
import os, time
count = 0
try:
    while count < 200:
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        count += 1
except OSError:
    print(count)
"""
    outcome = sandbox.run(program, b"", sandbox.Limits(processes=8))
    assert 0 < int(outcome.output) < 8


def test_no_network_and_no_socket_of_the_host():
    import socket

    def serve(server):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connection.sendall(SECRET.encode())
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as inet, socket.socket(socket.AF_UNIX) as unix:
        port = inet.getsockname()[1]
        unix.bind(f"\0abstract-{port}")
        unix.listen()
        for server in (inet, unix):
            threading.Thread(target=serve, args=(server,), daemon=True).start()
        program = NETWORK.replace("PORT", str(port))
        # The program does reach both where no sandbox holds it: so the sandbox is what stops it.
        free = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert free.stdout.count(SECRET) == 2
        outcome = sandbox.run(program, b"")
        assert outcome.code == 0 and outcome.output.strip() == b""


@pytest.mark.parametrize("attack", ["an answer that is equal to everything", "built-ins replaced", "an exit code"])
def test_calls_cannot_be_forged_either(attack):
    gold = call_gold("f", ([1], SECRET), **FAST)
    for body in (ATTACKS[attack], ATTACKS[attack] + "\ndef f(x):\n    return True"):
        assert code.judge(block(body), gold)[0] == "wrong"
    liar = "class Any(dict):\n    __eq__ = lambda s, o: True\ndef f(x):\n    return Any()"
    assert code.judge(block(liar), gold)[0] == "wrong"
    number = "class One(int):\n    __eq__ = lambda s, o: True\ndef f(x):\n    return One(3)"
    assert code.judge(block(number), call_gold("f", ([1], 4)))[0] == "wrong"


def test_a_killed_judge_takes_its_sandbox_with_it():
    """A pool kills a judgement that is over its limit; the program inside must not live on."""
    gold = stdin_gold(("", "1"), seconds=60)
    with Pool("code", seconds=1.0) as pool:
        verdicts = list(pool.judge([(block("while True:\n    pass"), gold), (block("print(1)"), gold)]))
    assert [verdict.status for verdict in verdicts] == ["timeout", "correct"]
    assert nothing_left()


def test_a_test_may_be_allowed_more_memory_than_a_worker():
    program = "x = b'x' * (900 << 20)\nprint(len(x) >> 20)"
    gold = stdin_gold(("", "900"), memory_mb=4096)
    with Pool("code", memory_mb=512) as pool:
        assert [verdict.status for verdict in pool.judge([(block(program), gold)])] == ["correct"]


def test_the_sandbox_can_be_used_from_threads():
    found = {}

    def judge(i):
        gold = stdin_gold((f"{i} 1", str(i + 1)))
        found[i] = code.judge(block("print(sum(map(int, input().split())))"), gold)[0]

    threads = [threading.Thread(target=judge, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == ["correct"] * 8


def test_large_inputs_and_outputs_pass():
    numbers = " ".join(map(str, range(200_000)))
    gold = stdin_gold((numbers, numbers))
    assert code.judge(block("print(*input().split())"), gold)[0] == "correct"
