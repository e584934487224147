"""Programs that attack the machine and their neighbours.

`forgeries` has the attacks on verdicts. Here each program tries to take memory or time that no limit counts, or to take
over its init or the zygote (`takeovers`). What it gets it says with `inside`.
"""

import time
from contextlib import suppress

import psutil

from rlvr.verifiers import sandbox
from support.takeovers import TAKEOVERS

LIMITS = sandbox.Limits(seconds=1.0, memory_mb=256)
COUNTERS = ("Shmem", "SUnreclaim", "PageTables")  # MiB of the whole machine; other tests hardly move them
SLACK = 200  # MiB over the limit: what a program takes between two looks, mappings' own records, other work
# The first lines of each attack.
MEANS = """
import ctypes, fcntl, mmap, os, resource, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
NOTHING = (None, 2**64 - 1)

def in_many(work, count=14):
    for _ in range(count):
        if os.fork() == 0:
            break
    work()
    time.sleep(100)

def called(name, *arguments):
    if libc.syscall(*arguments) >= 0:
        print('inside', name, flush=True)

def tried(call, *names):
    try:
        call()
        print('inside', *names, flush=True)
    except (OSError, TypeError, ValueError):
        pass

def spend_and_end():
    begun = time.process_time()
    while time.process_time() < begun + 0.07:
        pass
    os._exit(0)
"""

PAGE_IN_EACH = """
def work():
    for i in range(60_000):
        place = libc.mmap(0x100000000000 + (i << BITS), 4096, 3, 0x100022, -1, 0)
        if place in NOTHING:
            break
        ctypes.string_at(place, 1)
in_many(work)
"""
MEMORY = {
    "folders of the system": """
for folder in ('/usr/local', '/usr/src', '/usr', '/', '/dev', '/proc', '/judge', '/lib', '/var/tmp', '/run', '/etc'):
    tried(lambda: open(folder + '/x', 'wb'), folder)
""",
    "many files in each folder that can be written": """
for folder in ('/tmp', '/dev/shm', '/usr/local', '/usr/src'):
    try:
        for i in range(100):
            with open(f'{folder}/{i}', 'wb') as file:
                file.write(bytes(15 << 20))
    except OSError:
        pass
sizes = [os.path.getsize('/tmp/' + name) for name in os.listdir('/tmp')]
if sum(sizes) > 16 << 20:
    print('inside', sum(sizes))
""",
    "deleted files that are still open": """
kept = []
try:
    while True:
        kept.append(os.open('/tmp/x', os.O_RDWR | os.O_CREAT))
        os.write(kept[-1], bytes(4 << 20))
        os.unlink('/tmp/x')
except OSError:
    if len(kept) > 6:
        print('inside', len(kept))
""",
    "extended attributes": """
for folder in ('/tmp', '/dev/shm', '/usr/local', '/usr/src', '/dev', '/'):
    for i in range(3000):
        path = f'{folder}/{i}'
        try:
            open(path, 'w').close()
            for number in range(100):
                os.setxattr(path, f'user.{number}', bytes(60_000))
                print('inside')
        except OSError:
            break
""",
    "empty files, links and long names": """
made = 0
for make in (os.mkdir, lambda path: open(path, 'w').close(), lambda path: os.symlink('y' * 4000, path),
             lambda path: os.link('/tmp/.program.py', path)):
    try:
        while True:
            make('/tmp/' + 'x' * 240 + str(made))
            made += 1
    except OSError:
        pass
if made > 5000:
    print('inside', made)
""",
    "page tables: one page in each gigabyte": PAGE_IN_EACH.replace("BITS", "30"),
    "page tables: one page in each two megabytes": PAGE_IN_EACH.replace("BITS", "21"),
    "mappings": """
def work():
    i = 0
    while libc.mmap(0x100000000000 + i * 8192, 4096, 1 + 2 * (i % 2), 0x100022, -1, 0) not in NOTHING:
        i += 1
in_many(work)
""",
    "shared memory that no process shows": """
def work():
    while True:
        place = libc.mmap(None, 32 << 20, 3, 0x21, -1, 0)
        if place in NOTHING:
            break
        print('inside', flush=True)
        ctypes.memset(place, 1, 32 << 20)
        libc.madvise(place, 32 << 20, 4)
in_many(work)
""",
    "the same of /dev/zero and of files in memory": """
for make in (lambda: os.open('/dev/zero', os.O_RDWR), lambda: os.memfd_create('x'), lambda: libc.syscall(447, 0)):
    fd = -1
    try:
        fd = make()
        mmap.mmap(fd, 1 << 20)[0] = 1
        print('inside')
    except (OSError, ValueError):
        if fd >= 0:
            print('inside', fd)
""",
    "huge pages": """
if libc.mmap(None, 2 << 20, 3, 0x40022, -1, 0) not in NOTHING:
    print('inside')
""",
    "pages given to pipes": """
r, w = os.pipe()
buffer = ctypes.create_string_buffer(4096)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 4096)
called('vmsplice', 278, w, vector, 1, 0)
called('tee', 276, r, w, 10, 0)
fd = os.open('/usr/bin/env', os.O_RDONLY)
called('splice', 275, fd, 0, w, 0, 10, 0)
""",
    "full pipes, larger ones": """
def work():
    kept = []
    try:
        while True:
            kept.append(os.pipe())
            os.set_blocking(kept[-1][1], False)
            tried(lambda: fcntl.fcntl(kept[-1][1], 1031, 1 << 20))
            try:
                while True:
                    os.write(kept[-1][1], bytes(65536))
            except BlockingIOError:
                pass
    except OSError:
        time.sleep(100)
in_many(work)
""",
    "locks": """
for number in range(40):
    fd = os.open(f'/tmp/{number}', os.O_RDWR | os.O_CREAT)
    for i in range(1000):
        tried(lambda: fcntl.lockf(fd, fcntl.LOCK_EX, 1, i * 2))
""",
    "objects of the kernel": """
for name, *arguments in (('inotify', 253), ('inotify1', 294, 0), ('fanotify', 300, 0, 0), ('epoll', 213, 1),
                         ('epoll1', 291, 0), ('eventfd', 284, 0), ('eventfd2', 290, 0, 0), ('timerfd', 283, 1, 0),
                         ('signalfd', 282, -1, ctypes.byref(ctypes.c_ulong()), 8), ('pidfd', 434, os.getpid(), 0),
                         ('userfaultfd', 323, 0), ('perf', 298, 0, 0, -1, -1, 0), ('io_uring', 425, 8, 0),
                         ('landlock', 444, 0, 0, 1), ('mq', 240, b'x', 66, 384, 0), ('fsopen', 430, b'tmpfs', 0),
                         ('secret', 447, 0), ('bpf', 321, 0, 0, 0), ('shared', 29, 0, 256 << 20, 0o1600),
                         ('keyring', 250, 0, -3, 1), ('keys', 250, 11, -3, 0, 0),
                         ('key', 248, b'user', b'k', b'v', 1, -3), ('pair', 53, 1, 1, 0, (ctypes.c_int * 2)())):
    called(name, *arguments)
for family in range(46):
    called('socket', 41, family, 1, 0)
""",
    "timers and queued signals": """
for _ in range(1000):
    if libc.timer_create(1, None, ctypes.byref(ctypes.c_int())) == 0:
        print('inside')
value = ctypes.c_void_p(0)
if sum(libc.sigqueue(os.getpid(), 40, value) == 0 for _ in range(1000)) > 256:
    print('inside')
""",
    "folders in folders": """
try:
    for i in range(10_000):
        os.mkdir('x' * 200)
        os.chdir('x' * 200)
    print('inside')
except OSError:
    pass
""",
    "arguments of processes": """
def work():
    os.execve(sys.executable, [sys.executable, '-S', '-c', 'import time; time.sleep(100)', *['x' * 100_000] * 150],
              {str(i): 'y' * 100_000 for i in range(150)})
in_many(work)
""",
    "memory that comes and goes": """
def work():
    while True:
        place = libc.mmap(None, 200 << 20, 3, 0x22, -1, 0)
        if place in NOTHING:
            break
        ctypes.memset(place, 1, 200 << 20)
        libc.munmap(ctypes.c_void_p(place), 200 << 20)
in_many(work)
""",
    "locked memory, and a limit on it": """
if libc.mlockall(3) == 0 or resource.getrlimit(resource.RLIMIT_MEMLOCK) != (0, 0):
    print('inside')
""",
}
TIME = {
    "children that are reaped without being counted": """
tried(lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
while True:
    for _ in range(3):
        try:
            if os.fork() == 0:
                spend_and_end()
        except OSError:
            pass
    time.sleep(0.08)
""",
    "the same by the flag of sigaction, and by siglongjmp's own": """
act = (ctypes.c_ulong * 20)(0, 2)
if libc.sigaction(17, act, None) == 0 or libc.syscall(13, 17, act, 0, 8) == 0 or libc.siginterrupt(17, 1) == 0:
    print('inside')
""",
    "children whose parent is gone": """
while True:
    try:
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                spend_and_end()
            os._exit(0)
        os.waitpid(pid, 0)
    except OSError:
        pass
    time.sleep(0.03)
""",
    "children of other signals, and siblings": """
signal.signal(10, signal.SIG_IGN)
while True:
    for flags in (0, 10, 0x8000 | 17):
        if libc.syscall(56, flags, 0, 0, 0, 0) == 0:
            spend_and_end()
    time.sleep(0.05)
    try:
        while os.waitpid(-1, 0x40000000 | os.WNOHANG)[0]:
            pass
    except OSError:
        pass
""",
    "the disks' own time": """
fd = os.open('/usr/bin/env', os.O_RDONLY)
for name, *arguments in (('sync', 162), ('syncfs', 306, fd), ('fsync', 74, fd), ('fdatasync', 75, fd),
                         ('sync_file_range', 277, fd, 0, 0, 7), ('fadvise', 221, fd, 0, 0, 4),
                         ('readahead', 187, fd, 0, 9)):
    called(name, *arguments)
""",
    "a better place in the scheduler": """
for call in (lambda: os.sched_setaffinity(0, {0}), lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
             lambda: os.nice(-5), lambda: os.setpriority(os.PRIO_PROCESS, 0, 5), os.setsid):
    tried(call, call)
""",
    "sleeping for ever": "while True:\n    time.sleep(0.001)",
    "waiting for ever in the kernel": """
if libc.syscall(56, 0x4000 | 0x100 | 17, 0, 0, 0, 0) == 0:  # CLONE_VFORK | CLONE_VM
    libc.sleep(1000)
""",
    "stopped for ever": """
for pid in range(1, 100):
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        pass
""",
    "an end without an end": "import atexit\n@atexit.register\ndef end():\n    while True:\n        pass",
    "objects that never go": "class Late:\n    def __del__(self):\n        while True: pass\nlate = Late()",
    "a thread that stays": "import threading\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    "signals of a timer all the time": """
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
while True:
    pass
""",
    "its streams closed": "os.closerange(0, 64)\nwhile True:\n    pass",
    "a regular expression": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "a number": "print(len(str(10**10**9)))",
    "a parser's": "compile('(' * 10**6, 'x', 'exec')",
    "an exec of itself for ever": "os.execv(sys.executable, [sys.executable, '-S', '/program.py'])",
    "a pipe that nobody reads": "r, w = os.pipe()\nwhile True:\n    os.write(w, b'x' * 4096)",
}
ATTACKS = {name: MEANS + text for name, text in {**MEMORY, **TIME, **TAKEOVERS}.items()}


def running() -> list[str]:
    """Processes of this test's sandboxes, bubblewrap and its zygotes aside."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            above = [one.name() for one in process.parents()]
            if process.name() != "bwrap" and "bwrap" in above[1:] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


def nothing_left() -> bool:
    """Whether all programs end within seconds; what one leaves behind sleeps for a quarter of an hour."""
    deadline = time.monotonic() + 20
    while running() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not running()
