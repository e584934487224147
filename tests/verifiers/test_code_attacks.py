"""Programs that forge a verdict, read what they must not, or harm the machine."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.attacks import nothing_left
from support.forgeries import FORGERIES, NETWORK, SURVIVOR
from support.programs import ADD, FAST, SECRET, block, call_gold, needs_bubblewrap, stdin_gold

from rlvr.verifiers import VerifierError, code, sandbox, system_calls
from rlvr.verifiers.pool import Pool

pytestmark = needs_bubblewrap


@pytest.fixture(scope="module")
def bystander():
    """A process of the same user as this test, which no attack may end."""
    with subprocess.Popen(["sleep", "600"], env={"SECRET": SECRET}) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("attack", sorted(FORGERIES))
def test_attacks_neither_pass_nor_harm_nor_write_what_is_the_hosts(attack, bystander, monkeypatch):
    monkeypatch.setenv("SECRET", SECRET)
    began = time.monotonic()
    status, _ = code.judge(block(FORGERIES[attack]), stdin_gold(("", SECRET), **FAST))
    assert status in ("wrong", "timeout", "out_of_memory"), f"{attack}: {status}"
    outcome = sandbox.run(FORGERIES[attack], b"", sandbox.Limits(seconds=2.0, memory_mb=256, output_mb=1))
    assert time.monotonic() - began < 600  # stopped, also on a busy machine; attacks last 900 s or more
    assert bystander.poll() is None
    assert nothing_left()
    assert code.judge(block("print(sum(map(int, input().split())))"), ADD)[0] == "correct"  # and the next is judged
    written = outcome.output.decode("utf-8", "replace")
    assert SECRET not in written + outcome.errors
    for word in ("raised", "True", "root:"):
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
    system = sandbox._system
    monkeypatch.setattr(sandbox, "_system", lambda: (*system(), "--ro-bind", "/no/such/folder", "/x"))
    with pytest.raises(VerifierError, match=r"could not set a sandbox up: .*no/such/folder"):
        code.judge(block("print(7)"), ADD)


def test_a_machine_without_known_numbers_of_system_calls_is_refused():
    with pytest.raises(VerifierError, match="no filter of system calls for riscv64"):
        system_calls.filter_program("riscv64")
    assert 0 < len(system_calls.filter_program("aarch64")) < len(system_calls.filter_program("x86_64"))


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
    for body in (FORGERIES[attack], FORGERIES[attack] + "\ndef f(x):\n    return True"):
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
    def judge(i):
        gold = stdin_gold((f"{i} 1", str(i + 1)))
        return code.judge(block("print(sum(map(int, input().split())))"), gold)[0]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(judge, range(8))) == ["correct"] * 8


def test_large_inputs_and_outputs_pass():
    numbers = " ".join(map(str, range(200_000)))
    gold = stdin_gold((numbers, numbers))
    assert code.judge(block("print(*input().split())"), gold)[0] == "correct"
