"""Programs that try to take over their init or the zygote, to see other tests, or to get rights (`attacks.MEANS`)."""

TAKEOVERS = {
    "its init's memory": """
for who in (1, os.getppid(), 'self'):
    for name, how in (('mem', os.O_RDWR), ('clear_refs', os.O_WRONLY), ('oom_score_adj', os.O_RDWR),
                      ('coredump_filter', os.O_RDWR), ('comm', os.O_RDWR), ('uid_map', os.O_RDWR)):
        tried(lambda: os.open(f'/proc/{who}/{name}', how), who, name)
""",
    "what its init has": """
def some(content):
    if not content:
        raise ValueError
for name in ('environ', 'maps', 'auxv', 'mem', 'stack', 'syscall'):
    tried(lambda: some(open('/proc/1/' + name, 'rb').read(10)), name)
for name in ('fd', 'map_files', 'fdinfo'):
    tried(lambda: some(os.listdir('/proc/1/' + name)), name)
for name in ('root', 'cwd', 'exe', 'ns/pid', 'ns/user'):
    tried(lambda: os.readlink('/proc/1/' + name), name)
""",
    "its init and its neighbours by tracing": """
vector = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
for pid in range(1, 40_000):
    called('attach', 101, 16, pid, 0, 0)
called('seize', 101, 0x4206, 1, 0, 0)
called('read', 310, 1, vector, 1, vector, 1, 0)
called('write', 311, 1, vector, 1, vector, 1, 0)
called('traced by it', 101, 0, 0, 0, 0)
called('kcmp', 312, 1, os.getpid(), 0, 0, 0)
called('move_pages', 279, 1, 0, 0, 0, 0, 0)
""",
    "its init's limits": """
for name in ('AS', 'CPU', 'NOFILE', 'FSIZE', 'NPROC'):
    tried(lambda: resource.prlimit(1, getattr(resource, 'RLIMIT_' + name), (0, 0)), name)
""",
    "the zygote's own objects, which it has a copy of": """
import gc, socket
answer = b'{"code": 0, "stopped": "", "failed": ""}'
for fd in range(3, 1024):
    tried(lambda: os.write(fd, answer), fd)
for thing in gc.get_objects():
    if isinstance(thing, socket.socket):
        tried(lambda: thing.send(answer))
names = sys._getframe(2).f_globals
for name in ('set_up', 'give_up_rights', 'limits'):
    try:
        names[name](b'', {'files_mb': 1000, 'memory_mb': 1000, 'processes': 99, 'seconds': 99}, 0)
        print('inside', name)
    except Exception:
        pass
""",
    "the functions that end it": """
os._exit = os.close = lambda *_: None
sys.modules['rlvr.verifiers.sandbox_driver']._end = lambda code: print('on')
print('expected')
""",
    "its sealed input": """
for change in (lambda: os.pwrite(0, b'x', 0), lambda: os.ftruncate(0, 1), lambda: os.posix_fallocate(0, 0, 10_000),
               lambda: open('/proc/self/fd/0', 'r+b', 0).write(b'x'), lambda: mmap.mmap(0, 4)[:1],
               lambda: fcntl.fcntl(0, 1033, 0), lambda: os.fchmod(0, 0o777) or os.pwrite(0, b'x', 0)):
    tried(change)
""",
    "other tests": """
seen = {int(name) for name in os.listdir('/proc') if name.isdigit()} - {1, os.getpid()}
if seen or set(os.listdir('/dev')) - {'null', 'random', 'urandom', 'fd', 'stdin', 'stdout', 'stderr', 'shm'}:
    print('inside', seen, os.listdir('/dev'))
""",
    "devices": """
for major, minor in ((1, 1), (1, 2), (1, 5), (5, 0), (8, 0), (254, 0)):
    called('mknod', 133, b'/tmp/%d-%d' % (major, minor), 0o20600, major << 8 | minor)
    called('mknodat', 259, -100, b'/tmp/%d-%d' % (major, minor), 0o60600, major << 8 | minor)
""",
    "signals to its init": """
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
time.sleep(0.2)
raise SystemExit(3)
""",
    "signals to its group, its session and all": """
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
for who in ('self', '1', str(os.getppid())):
    for name in ('oom_score_adj', 'oom_adj'):
        tried(lambda: open(f'/proc/{who}/{name}', 'w').write('0'), who)
""",
    "namespaces": """
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
    "mounts": """
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
    "rights": """
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
    "the other tables of system calls": """
for number in (0x40000000 + 41, 0x40000000 + 520, 0x40000000 + 39):
    if os.fork() == 0:
        libc.syscall(number, 1, 1, 0)
        print('inside', number, flush=True)
        os._exit(0)
    os.wait()
""",
    "system calls of 32 bits": """
code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
code.write(bytes.fromhex('b814000000cd80c3'))  # getpid of the other table
if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() > 0:
    print('inside')
""",
    "locks on files of the system": """
for path in ('/usr/bin/env', '/judge/filter', '/usr/lib/os-release'):
    for lock in (lambda file: fcntl.flock(file, fcntl.LOCK_EX), lambda file: fcntl.lockf(file, fcntl.LOCK_SH),
                 lambda file: fcntl.fcntl(file, 1024, 0), lambda file: fcntl.fcntl(file, 1026, 1)):
        tried(lambda: lock(open(path)), path)
""",
    "terminals": """
import termios
for path in ('/dev/ptmx', '/dev/tty', '/dev/pts/ptmx', '/dev/console'):
    tried(lambda: os.open(path, os.O_RDWR), path)
for fd in range(3):
    tried(lambda: fcntl.ioctl(fd, termios.TIOCSTI, b'i'), fd)
""",
    "core dumps": """
tried(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1])))
for _ in range(10):
    if os.fork() == 0:
        os.abort()
    if os.WCOREDUMP(os.wait()[1]):
        print('inside')
""",
    "what the judge sent": """
import glob
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
    tried(lambda: open('/proc/' + name).read(), name)
""",
}
