"""What every command does when something is wrong: one line on the standard error, an exit code, never a traceback."""

import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, commands_of
from typer.main import get_command
from typer.testing import CliRunner

from rlvr import verifiers
from rlvr.commands import app
from rlvr.verifiers import operators

PROGRAM = [sys.executable, "-m", "rlvr"]
COUNTS = '{"problem": "a", "n": 4, "c": 2}\n{"problem": "b", "n": 4, "c": 1}\n'
ANSWERS = '{"id": 1, "completion": "\\\\boxed{1+2}", "gold": "1 2 = 3"}\n'


COMMANDS = [(), *dict(commands_of(get_command(app)))]


def one_line(text: str) -> str:
    (line,) = text.splitlines()
    assert line.startswith("rlvr"), text
    return line


def started(*words: str, text: str = "", redirect: str = "") -> subprocess.CompletedProcess:
    """A real process, by a shell that redirects its streams."""
    shell = ["bash", "-c", f'exec "$@" {redirect}', "bash"]
    options = {"cwd": ROOT, "env": {**os.environ, "CUDA_VISIBLE_DEVICES": ""}, "input": text, "timeout": 60}
    return subprocess.run([*shell, *PROGRAM, *words], capture_output=True, text=True, **options)


# ---- the command line ----


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_unknown_option_is_one_line_that_names_the_command(words):
    done = CliRunner().invoke(app, [*words, "--nonsense"])
    assert done.exit_code == 2 and done.stdout == ""
    assert one_line(done.stderr).startswith(f"{' '.join(['rlvr', *words])}: No such option: --nonsense")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pask",), "rlvr: No such command 'pask'. Did you mean 'passk'?"),
        (("data", "prepre"), "rlvr data: No such command 'prepre'. Did you mean 'prepare'?"),
        (("passk", "--resample", "5"), "rlvr passk: No such option: --resample (Possible options: --resamples)"),
        (("passk", "--resamples", "5"), "rlvr passk: Invalid value for '--resamples': "),
        (("passk", "--resamples", "1000000000"), "rlvr passk: Invalid value for '--resamples': "),
        (("grade",), "rlvr grade: Missing option '--verifier'"),
        (("grade", "--verifier", "exact", "--memory-mb", "9" * 20), "rlvr grade: Invalid value for '--memory-mb'"),
        (("grade", "--verifier", "exact", "--timeout", "inf"), "rlvr grade: Invalid value for '--timeout'"),
        (("plan", "ace", "--price", "inf"), "rlvr plan: Invalid value for '--price'"),
        (("passk", "--input", "none.jsonl"), "rlvr passk: none.jsonl: No such file or directory"),
        (("passk", "--input", "."), "rlvr passk: .: Is a directory"),
    ],
)
def test_a_wrong_command_line_is_one_line(words, message):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and done.stdout == "" and one_line(done.stderr).startswith(message), done.stderr


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = CliRunner().invoke(app, ["plan", "ace", "--scale", "smoke", "--order", str(pipe)])
    assert done.exit_code == 2 and one_line(done.stderr) == f"rlvr plan: --order: {pipe} is no file" and pipe.is_fifo()


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyError("a fault"), 1, "rlvr grade: a fault of rlvr: KeyError: 'a fault' (test_command_errors.py:"),
        (EOFError("no end-of-stream marker"), 2, "rlvr grade: an input ends too early: no end-of-stream marker"),
    ],
)
def test_an_exception_is_one_line(monkeypatch, error, code, said):
    def broken(*_):
        raise error

    monkeypatch.setattr(sys.modules["rlvr.commands.grade"], "read", broken)
    done = CliRunner().invoke(app, ["grade", "--verifier", "exact"])
    assert done.exit_code == code and one_line(done.stderr).startswith(said)


def test_a_fault_is_a_traceback_for_developers():
    code = "import sys; from rlvr.commands import app; sys.modules['rlvr.commands.grade'].read = None; app()"
    command = [sys.executable, "-X", "dev", "-c", code, "grade", "--verifier", "exact"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert shown.returncode == 1 and "Traceback" in shown.stderr


# ---- streams ----


WRITING = [
    *(((name, "--help"), "") for name in ("plan", "data", "models", "state")),
    *(((name, "list"), "") for name in ("data", "state")),
    (("weigh", "--list"), ""),
    (("plan", "ace", "--scale", "smoke"), ""),
    (("models",), ""),
    (("passk",), COUNTS),
    (("grade", "--verifier", "operators"), ANSWERS),
]


@pytest.mark.parametrize(("words", "text"), WRITING)
def test_a_full_disk_is_one_line(words, text):
    done = started(*words, text=text, redirect="> /dev/full")
    assert done.returncode == 1 and one_line(done.stderr).endswith("No space left on device"), done.stderr


def test_streams_that_are_closed_or_full():
    assert started("weigh", "--list", redirect=">&-").stderr == "rlvr weigh: the standard output is closed\n"
    done = started("passk", redirect="<&-")
    assert done.returncode == 2 and one_line(done.stderr).startswith("rlvr passk: no counts")
    for redirect in ("2>&-", "2> /dev/full"):
        assert started("passk", "--nonsense", redirect=redirect).returncode == 2


def test_a_closed_pipe_ends_a_command_without_a_word():
    done = started("weigh", "--list", redirect="| head -n 1")
    assert done.stderr == "" and len(done.stdout.splitlines()) == 1
    done = started("weigh", "--list", redirect="| true; exit ${PIPESTATUS[0]}")
    assert done.stderr == "" and done.returncode in (0, 1)


def test_an_interrupt_is_130_and_silent():
    process = subprocess.Popen(
        [*PROGRAM, "passk"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(3)  # it waits for its standard input
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_an_interrupt_while_python_imports_is_silent():
    code = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["rlvr", "weigh", "--list"]
runpy.run_module("rlvr", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


# ---- what is read ----

DEEP = '{"a":' * 100_000
BAD_LINES = {
    "not JSON": ("{", "not valid JSON"),
    "no object": ("[1]", "must be a JSON object"),
    "nested 100,000 deep": (DEEP, "not valid JSON: nested too deep"),
    "lists nested 100,000 deep": ('{"problem": ' + "[" * 100_000, "not valid JSON: nested too deep"),
    "an integer of 5,000 digits": ('{"problem": ' + "9" * 5000 + "}", "an integer of thousands of digits"),
    "a key twice": ('{"problem": 1, "n": 3, "n": 4, "c": 1}', "the key 'n' is twice in one object"),
    "a raw NUL": ('{"problem": "\0", "n": 4, "c": 1}', "not valid JSON"),
}


@pytest.mark.parametrize("name", BAD_LINES)
@pytest.mark.parametrize("command", ["passk", "weigh grpo", "diversity --no-embedding", "grade --verifier exact"])
def test_a_line_that_cannot_be_read_is_named(command, name):
    line, message = BAD_LINES[name]
    done = CliRunner().invoke(app, command.split(), input=f"\n{line}\n")
    assert done.exit_code == 2 and "line 2: " in one_line(done.stderr) and message in done.stderr, done.stderr[:300]


@pytest.mark.parametrize("command", ["passk", "weigh grpo", "diversity --no-embedding", "grade --verifier exact"])
@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_empty_input_is_an_error(command, text):
    done = CliRunner().invoke(app, command.split(), input=text)
    assert done.exit_code == 2 and done.stdout == "" and "expected lines like" in one_line(done.stderr)


def test_compressed_files_are_read_and_broken_ones_are_named(tmp_path):
    whole, cut, other = (tmp_path / f"{name}.jsonl.gz" for name in ("whole", "cut", "other"))
    whole.write_bytes(gzip.compress(COUNTS.encode()))
    cut.write_bytes(gzip.compress(COUNTS.encode())[:-12])
    other.write_text(COUNTS)
    assert len(CliRunner().invoke(app, ["passk", "--input", str(whole)]).stdout.splitlines()) == 1
    for broken in (cut, other):
        done = CliRunner().invoke(app, ["passk", "--input", str(broken)])
        assert done.exit_code == 2 and one_line(done.stderr).startswith(f"rlvr passk: {broken}: not a whole .gz file")
    done = CliRunner().invoke(app, ["passk"], input=whole.read_bytes())
    assert done.exit_code == 2 and "standard input: not UTF-8" in one_line(done.stderr)


# ---- grade ----


def graded(*lines: dict, verifier: str = "operators"):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = CliRunner().invoke(app, ["grade", "--verifier", verifier], input=text)
    return done, [json.loads(line, parse_constant=lambda name: pytest.fail(name)) for line in done.stdout.splitlines()]


def answer(number, gold="1 2 = 3", **more) -> dict:
    return {"id": number, "completion": "\\boxed{1+2}", "gold": gold, **more}


def test_a_gold_that_cannot_be_read_names_line_and_gold_and_spares_the_others():
    done, made = graded(answer(1), answer(2, gold="five"), answer(3))
    assert done.exit_code == 0 and [line["status"] for line in made] == ["correct", "invalid", "correct"]
    assert made[1]["error"].startswith("line 2: gold: ") and "'five'" in made[1]["error"]
    assert "1 of 3 lines are not valid" in one_line(done.stderr) and "line 2: gold" in done.stderr


@pytest.mark.parametrize("verifier", [name for name in verifiers.names() if name != "code"])
def test_every_verifiers_own_check_of_a_gold_is_asked_before_any_judgement(verifier, monkeypatch):
    def refuse(gold):
        raise verifiers.VerifierError("cannot be read")

    monkeypatch.setattr(f"rlvr.verifiers.{verifier}.check_gold", refuse, raising=False)
    done, made = graded(answer(1, gold="what"), verifier=verifier)
    assert done.exit_code == 2 and made[0]["error"] == "line 1: gold: 'what': cannot be read"


def test_a_judgement_that_cannot_be_made_costs_no_verdict_before_it(monkeypatch):
    """`quick` is asked for lines ahead, before the first verdict is handed over."""
    monkeypatch.setattr(operators, "check_gold", verifiers.nothing)
    monkeypatch.setattr(operators, "quick", quick_but_for_four)
    done, made = graded(*(answer(number, gold="1 2 = 3" if number != 4 else "four") for number in range(1, 7)))
    assert [line["id"] for line in made] == [1, 2, 3] and {line["status"] for line in made} == {"correct"}
    assert done.exit_code == 2 and one_line(done.stderr) == "rlvr grade: line 4: no gold: four"


def quick_but_for_four(text, gold):
    if gold == "four":
        raise verifiers.VerifierError("no gold: four")
    return operators.judge(text, gold)


def test_what_is_printed_is_json_and_nothing_of_an_earlier_call_stays():
    done, (first, second) = graded(answer(math.nan), answer(2, more=[math.inf]))
    assert "id" not in first and "line 1: id: holds NaN" in first["error"]
    assert second["id"] == 2 and "line 2: more: holds NaN" in second["error"] and done.exit_code == 2
    again, made = graded(answer(1, error="line 7: an old one", reason="an old one", status="invalid"))
    assert again.exit_code == 0 and made[0]["status"] == "correct" and not {"error", "reason"} & set(made[0])


def test_half_a_character_at_the_end_of_a_completion_is_judged():
    """A lone surrogate, as where a text was cut by another program."""
    done, made = graded({"id": "\ud83d", "completion": "\\boxed{1+2} \ud83d", "gold": "1 2 = 3"})
    assert done.exit_code == 0 and made[0]["status"] == "correct" and made[0]["id"] == "\ud83d"
