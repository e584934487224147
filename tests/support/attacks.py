"""Programs that attack the machine and their neighbours.

test_code_attacks.py has the attacks on verdicts. Here each program tries to take memory or time that no limit counts,
to take over its init or the zygote, or to change another program's verdict. What it gets it says with `inside`.
"""

from contextlib import suppress

import psutil

from rlvr.verifiers import sandbox

LIMITS = sandbox.Limits(seconds=1.0, memory_mb=256)
COUNTERS = ("Shmem", "SUnreclaim", "PageTables")  # MiB of the whole machine; other tests hardly move them
SLACK = 200  # MiB over the limit: what a program takes between two looks, mappings' own records, other work
LIBC = """
import ctypes, os, sys, time
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
        print('inside', name)
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
import os
for folder in ('/usr/local', '/usr/src', '/usr', '/', '/dev', '/proc', '/judge', '/lib', '/var/tmp', '/run', '/etc'):
    try:
        with open(folder + '/x', 'wb') as file:
            while True:
                file.write(bytes(2**20))
    except OSError:
        if os.path.exists(folder + '/x'):
            print('inside', folder)
""",
    "many files in each folder that can be written": """
import os
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
import os
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
import os
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
import os
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
    "page tables: one page in each gigabyte": LIBC + PAGE_IN_EACH.replace("BITS", "30"),
    "page tables: one page in each two megabytes": LIBC + PAGE_IN_EACH.replace("BITS", "21"),
    "mappings": LIBC
    + """
def work():
    i = 0
    while libc.mmap(0x100000000000 + i * 8192, 4096, 1 + 2 * (i % 2), 0x100022, -1, 0) not in NOTHING:
        i += 1
in_many(work)
""",
    "shared memory that no process shows": LIBC
    + """
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
    "the same of /dev/zero and of files in memory": LIBC
    + """
import mmap
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
    "huge pages": LIBC
    + """
if libc.mmap(None, 2 << 20, 3, 0x40022, -1, 0) not in NOTHING:
    print('inside')
""",
    "pages given to pipes": LIBC
    + """
r, w = os.pipe()
buffer = ctypes.create_string_buffer(4096)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 4096)
called('vmsplice', 278, w, vector, 1, 0)
called('tee', 276, r, w, 10, 0)
fd = os.open('/usr/bin/env', os.O_RDONLY)
called('splice', 275, fd, 0, w, 0, 10, 0)
""",
    "full pipes, larger ones": """
import fcntl, os, time
for _ in range(14):
    if os.fork() == 0:
        break
kept = []
try:
    while True:
        kept.append(os.pipe())
        os.set_blocking(kept[-1][1], False)
        try:
            fcntl.fcntl(kept[-1][1], 1031, 1 << 20)
            print('inside', flush=True)
        except OSError:
            pass
        try:
            while True:
                os.write(kept[-1][1], bytes(65536))
        except BlockingIOError:
            pass
except OSError:
    time.sleep(100)
""",
    "locks": """
import fcntl, os
for number in range(40):
    fd = os.open(f'/tmp/{number}', os.O_RDWR | os.O_CREAT)
    for i in range(1000):
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX, 1, i * 2)
            print('inside')
        except OSError:
            break
""",
    "objects behind descriptors": LIBC
    + """
for name, *arguments in (('inotify', 253), ('inotify1', 294, 0), ('fanotify', 300, 0, 0), ('epoll', 213, 1),
                         ('epoll1', 291, 0), ('eventfd', 284, 0), ('eventfd2', 290, 0, 0), ('timerfd', 283, 1, 0),
                         ('signalfd', 282, -1, ctypes.byref(ctypes.c_ulong()), 8), ('pidfd', 434, os.getpid(), 0),
                         ('userfaultfd', 323, 0), ('perf', 298, 0, 0, -1, -1, 0), ('io_uring', 425, 8, 0),
                         ('landlock', 444, 0, 0, 1), ('mq', 240, b'x', 66, 384, 0), ('fsopen', 430, b'tmpfs', 0),
                         ('secret', 447, 0), ('bpf', 321, 0, 0, 0)):
    called(name, *arguments)
""",
    "timers and queued signals": LIBC
    + """
for _ in range(1000):
    if libc.timer_create(1, None, ctypes.byref(ctypes.c_int())) == 0:
        print('inside')
value = ctypes.c_void_p(0)
if sum(libc.sigqueue(os.getpid(), 40, value) == 0 for _ in range(1000)) > 256:
    print('inside')
""",
    "folders in folders": """
import os
try:
    for i in range(10_000):
        os.mkdir('x' * 200)
        os.chdir('x' * 200)
    print('inside')
except OSError:
    pass
""",
    "arguments of processes": """
import os, sys, time
for _ in range(14):
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, '-S', '-c', 'import time; time.sleep(100)', *['x' * 100_000] * 150],
                  {str(i): 'y' * 100_000 for i in range(150)})
time.sleep(100)
""",
    "memory that comes and goes": LIBC
    + """
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
import ctypes, resource
libc = ctypes.CDLL(None)
if libc.mlockall(3) == 0 or resource.getrlimit(resource.RLIMIT_MEMLOCK) != (0, 0):
    print('inside')
""",
}
TIME = {
    "children that are reaped without being counted": """
import os, signal, time
try:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print('inside', flush=True)
except OSError:
    pass
while True:
    for _ in range(3):
        try:
            if os.fork() == 0:
                begun = time.process_time()
                while time.process_time() < begun + 0.07:
                    pass
                os._exit(0)
        except OSError:
            pass
    time.sleep(0.08)
""",
    "the same by the flag of sigaction, and by siglongjmp's own": LIBC
    + """
act = (ctypes.c_ulong * 20)(0, 2)
if libc.sigaction(17, act, None) == 0 or libc.syscall(13, 17, act, 0, 8) == 0 or libc.siginterrupt(17, 1) == 0:
    print('inside')
""",
    "children whose parent is gone": """
import os, time
while True:
    try:
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                begun = time.process_time()
                while time.process_time() < begun + 0.07:
                    pass
            os._exit(0)
        os.waitpid(pid, 0)
    except OSError:
        pass
    time.sleep(0.03)
""",
    "children of other signals, and siblings": LIBC
    + """
import signal
signal.signal(10, signal.SIG_IGN)
while True:
    for flags in (0, 10, 0x8000 | 17):
        if libc.syscall(56, flags, 0, 0, 0, 0) == 0:
            begun = time.process_time()
            while time.process_time() < begun + 0.07:
                pass
            os._exit(0)
    time.sleep(0.05)
    try:
        while os.waitpid(-1, 0x40000000 | os.WNOHANG)[0]:
            pass
    except OSError:
        pass
""",
    "the disks' own time": LIBC
    + """
fd = os.open('/usr/bin/env', os.O_RDONLY)
for name, *arguments in (('sync', 162), ('syncfs', 306, fd), ('fsync', 74, fd), ('fdatasync', 75, fd),
                         ('sync_file_range', 277, fd, 0, 0, 7), ('fadvise', 221, fd, 0, 0, 4),
                         ('readahead', 187, fd, 0, 9)):
    called(name, *arguments)
""",
    "a better place in the scheduler": """
import os
for call in (lambda: os.sched_setaffinity(0, {0}), lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
             lambda: os.nice(-5), lambda: os.setpriority(os.PRIO_PROCESS, 0, 5), os.setsid):
    try:
        call()
        print('inside', call)
    except OSError:
        pass
""",
    "sleeping for ever": "import time\nwhile True:\n    time.sleep(0.001)",
    "waiting for ever in the kernel": LIBC
    + """
if libc.syscall(56, 0x4000 | 0x100 | 17, 0, 0, 0, 0) == 0:  # CLONE_VFORK | CLONE_VM
    libc.sleep(1000)
""",
    "stopped for ever": """
import os, signal
for pid in range(1, 100):
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        pass
""",
    "an end without an end": "import atexit\n@atexit.register\ndef end():\n    while True:\n        pass",
    "objects that never go": "class Late:\n    def __del__(self):\n        while True: pass\nlate = Late()",
    "a thread that stays": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    "signals of a timer all the time": """
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
while True:
    pass
""",
    "its streams closed": "import os\nos.closerange(0, 64)\nwhile True:\n    pass",
    "a regular expression": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "a number": "print(len(str(10**10**9)))",
    "a parser's": "compile('(' * 10**6, 'x', 'exec')",
    "an exec of itself for ever": "import os, sys\nos.execv(sys.executable, [sys.executable, '-S', '/program.py'])",
    "a pipe that nobody reads": "import os\nr, w = os.pipe()\nwhile True:\n    os.write(w, b'x' * 4096)",
}
TAKEOVERS = {
    "its init's memory": """
import os
for who in (1, os.getppid(), 'self'):
    for name, how in (('mem', os.O_RDWR), ('clear_refs', os.O_WRONLY), ('oom_score_adj', os.O_RDWR),
                      ('coredump_filter', os.O_RDWR), ('comm', os.O_RDWR), ('uid_map', os.O_RDWR)):
        try:
            os.open(f'/proc/{who}/{name}', how)
            print('inside', who, name)
        except OSError:
            pass
""",
    "what its init has": """
import os
for name in ('environ', 'maps', 'auxv', 'mem', 'stack', 'syscall'):
    try:
        if open('/proc/1/' + name, 'rb').read(10):
            print('inside', name)
    except OSError:
        pass
for name in ('fd', 'map_files', 'fdinfo'):
    try:
        if os.listdir('/proc/1/' + name):
            print('inside', name)
    except OSError:
        pass
for name in ('root', 'cwd', 'exe', 'ns/pid', 'ns/user'):
    try:
        print('inside', os.readlink('/proc/1/' + name))
    except OSError:
        pass
""",
    "its init by tracing": LIBC
    + """
vector = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
called('attach', 101, 16, 1, 0, 0)
called('seize', 101, 0x4206, 1, 0, 0)
called('read', 310, 1, vector, 1, vector, 1, 0)
called('write', 311, 1, vector, 1, vector, 1, 0)
called('traced by it', 101, 0, 0, 0, 0)
called('kcmp', 312, 1, os.getpid(), 0, 0, 0)
called('move_pages', 279, 1, 0, 0, 0, 0, 0)
""",
    "its init's limits": """
import resource
for name in ('AS', 'CPU', 'NOFILE', 'FSIZE', 'NPROC'):
    try:
        resource.prlimit(1, getattr(resource, 'RLIMIT_' + name), (0, 0))
        print('inside', name)
    except (OSError, ValueError):
        pass
""",
    "the zygote's own objects, which it has a copy of": """
import gc, os, socket, sys
for fd in range(3, 1024):
    try:
        os.write(fd, b'{"code": 0, "stopped": "", "failed": ""}')
        print('inside', fd)
    except OSError:
        pass
for thing in gc.get_objects():
    if isinstance(thing, socket.socket):
        try:
            thing.send(b'{"code": 0, "stopped": "", "failed": ""}')
            print('inside')
        except OSError:
            pass
zygote = sys.modules['rlvr.verifiers.sandbox_driver'], sys._getframe(2).f_globals
for name in ('set_up', 'give_up_rights', 'limits'):
    for frame in zygote[1:]:
        try:
            frame[name](b'', {'files_mb': 1000, 'memory_mb': 1000, 'processes': 99, 'seconds': 99}, 0)
            print('inside', name)
        except Exception:
            pass
""",
    "the functions that end it": """
import os, sys
os._exit = os.close = lambda *_: None
sys.modules['rlvr.verifiers.sandbox_driver']._end = lambda code: print('on')
print('expected')
""",
    "its sealed input": LIBC
    + """
import fcntl, mmap
for change in (lambda: os.pwrite(0, b'x', 0), lambda: os.ftruncate(0, 1), lambda: os.posix_fallocate(0, 0, 10_000),
               lambda: open('/proc/self/fd/0', 'r+b', 0).write(b'x'), lambda: mmap.mmap(0, 4)[:1],
               lambda: fcntl.fcntl(0, 1033, 0), lambda: os.fchmod(0, 0o777) or os.pwrite(0, b'x', 0)):
    try:
        change()
        print('inside')
    except (OSError, TypeError):
        pass
""",
    "other tests": """
import os
seen = {int(name) for name in os.listdir('/proc') if name.isdigit()} - {1, os.getpid()}
if seen or set(os.listdir('/dev')) - {'null', 'random', 'urandom', 'fd', 'stdin', 'stdout', 'stderr', 'shm'}:
    print('inside', seen, os.listdir('/dev'))
""",
    "devices": LIBC
    + """
for major, minor in ((1, 1), (1, 2), (1, 5), (5, 0), (8, 0), (254, 0)):
    called('mknod', 133, b'/tmp/%d-%d' % (major, minor), 0o20600, major << 8 | minor)
    called('mknodat', 259, -100, b'/tmp/%d-%d' % (major, minor), 0o60600, major << 8 | minor)
""",
    "signals to its init": """
import os, signal, time
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
time.sleep(0.2)
raise SystemExit(3)
""",
    "signals to its group, its session and all": """
import os, signal
print('inside' if os.getpgid(0) == 0 or os.getsid(0) == 0 else 'own')
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGCONT):
    signal.signal(number, signal.SIG_IGN) if number != signal.SIGCONT else None
    for call in (lambda: os.killpg(0, number), lambda: os.kill(-1, number), lambda: os.killpg(1, number)):
        try:
            call()
        except OSError:
            pass
try:
    os.setpgid(0, 1)
except OSError:
    pass
os.killpg(0, signal.SIGKILL)
""",
    "its rank where memory runs out": """
import os
for who in ('self', '1', str(os.getppid())):
    for name in ('oom_score_adj', 'oom_adj'):
        try:
            open(f'/proc/{who}/{name}', 'w').write('0')
            print('inside', who)
        except OSError:
            pass
""",
    "namespaces": LIBC
    + """
for flag in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    called('unshare', 272, flag)
    pid = libc.syscall(56, flag | 17, 0, 0, 0, 0) if flag > 0x80 else -1
    if pid == 0:
        os._exit(0)
    if pid > 0:
        print('inside clone', flag)
arguments = (ctypes.c_ulong * 11)(0x10000000)
called('clone3', 435, arguments, 88)
for name in ('user', 'mnt', 'pid', 'net', 'ipc'):
    try:
        called('setns', 308, os.open('/proc/self/ns/' + name, os.O_RDONLY), 0)
    except OSError:
        pass
""",
    "mounts": LIBC
    + """
called('mount', 165, b'none', b'/tmp', b'tmpfs', 0, 0)
called('remount', 165, b'none', b'/', b'', 0x1020, 0)
called('umount', 166, b'/tmp', 2)
called('pivot_root', 155, b'/tmp', b'/tmp')
called('chroot', 161, b'/tmp')
called('open_tree', 428, -100, b'/', 1)
called('move_mount', 429, -100, b'/tmp', -100, b'/usr', 0)
called('mount_setattr', 442, -100, b'/', 0, (ctypes.c_ulong * 4)(0, 1), 32)
called('open_by_handle_at', 304, -100, ctypes.create_string_buffer(64), 0)
called('name_to_handle_at', 303, -100, b'/', ctypes.create_string_buffer(64), ctypes.byref(ctypes.c_int()), 0)
""",
    "rights": LIBC
    + """
for name, *arguments in (('setuid', 105, 0), ('setgid', 106, 0), ('setresuid', 117, 0, 0, 0), ('setfsuid', 122, 0),
                         ('capset', 126, (ctypes.c_uint * 2)(0x20080522, 0), (ctypes.c_uint * 6)(*[2**32 - 1] * 6)),
                         ('keep', 157, 8, 1), ('dumpable', 157, 4, 1), ('reaper', 157, 36, 1),
                         ('seccomp', 317, 0, 0, 0), ('personality', 135, 0x40000),
                         ('kexec', 246, 0, 0, 0, 0), ('reboot', 169, 0, 0, 0, 0),
                         ('module', 175, 0, 0, b''), ('syslog', 103, 3, 0, 0), ('iopl', 172, 3),
                         ('swapon', 167, b'x', 0),
                         ('acct', 163, 0), ('quotactl', 179, 0, 0, 0, 0), ('sethostname', 170, b'x', 1)):
    called(name, *arguments)
""",
    "the other tables of system calls": LIBC
    + """
for number in (0x40000000 + 41, 0x40000000 + 520, 0x40000000 + 39):
    if os.fork() == 0:
        libc.syscall(number, 1, 1, 0)
        print('inside', number, flush=True)
        os._exit(0)
    os.wait()
""",
    "system calls of 32 bits": LIBC
    + """
import mmap
code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
code.write(bytes.fromhex('b814000000cd80c3'))  # getpid of the other table
if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() > 0:
    print('inside')
""",
    "locks on files of the system": """
import fcntl
for path in ('/usr/bin/env', '/judge/filter', '/usr/lib/os-release'):
    for lock in (lambda file: fcntl.flock(file, fcntl.LOCK_EX), lambda file: fcntl.lockf(file, fcntl.LOCK_SH),
                 lambda file: fcntl.fcntl(file, 1024, 0), lambda file: fcntl.fcntl(file, 1026, 1)):
        try:
            lock(open(path))
            print('inside', path)
        except OSError:
            pass
""",
    "terminals": """
import os
for path in ('/dev/ptmx', '/dev/tty', '/dev/pts/ptmx', '/dev/console'):
    try:
        os.open(path, os.O_RDWR)
        print('inside', path)
    except OSError:
        pass
""",
    "core dumps": """
import os, resource
try:
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    print('inside', resource.getrlimit(resource.RLIMIT_CORE))
except (OSError, ValueError):
    pass
for _ in range(10):
    if os.fork() == 0:
        os.abort()
    if os.WCOREDUMP(os.wait()[1]):
        print('inside')
""",
    "what the judge sent": """
import glob, os
for path in glob.glob('/proc/self/fd/*') + glob.glob('/proc/1/fd/*'):
    try:
        kind = os.readlink(path)
    except OSError:
        continue
    if path[-2:] not in ('/0', '/1', '/2') and 'proc' not in kind:
        print('inside', path, kind)
os.ftruncate(0, 0)
print('inside')
""",
    "the facts of the machine": """
for name in ('cpuinfo', 'meminfo', 'version', 'sys/kernel/hostname', 'sys/kernel/random/boot_id', 'net/dev', 'uptime'):
    try:
        open('/proc/' + name).read()
        print('inside', name)
    except OSError:
        pass
""",
}
ATTACKS = {**MEMORY, **TIME, **TAKEOVERS}


def running() -> list[str]:
    """Processes of this test's sandboxes, bubblewrap and its zygotes aside."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            above = [one.name() for one in process.parents()]
            if process.name() != "bwrap" and "bwrap" in above[1:] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found
