"""What verifiers remember: never more bytes than allowed, and one entry for all completions with the same answer."""

import gc
import random
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from rlvr.verifiers import code, ends_in_open_box, final_box, last_boxed, operators
from rlvr.verifiers import math as maths
from rlvr.verifiers.memory import OVERHEAD, Memory, remembered, size
from rlvr.verifiers.pool import Pool, Verdict


def test_the_bytes_never_exceed_the_bound_and_the_oldest_goes_first():
    """Against a plain list of (key, value), used longest ago first, over a random sequence."""
    rng, memory, model = random.Random(0), Memory(20_000), []
    for _ in range(20_000):
        key = (rng.choice("abcdefghij") * rng.randrange(40), str(rng.randrange(8)))
        held = [entry for entry in model if entry[0] == key]
        assert memory.get(key) == (held[0][1] if held else None)
        if held:
            model.remove(held[0])
            model.append(held[0])
        else:
            value = "v" * (30_000 if rng.random() < 0.01 else rng.randrange(3_000))
            memory.put(key, value)
            needed = OVERHEAD + sys.getsizeof(key[0]) + sys.getsizeof(key[1]) + sys.getsizeof(value)
            if needed <= 20_000:
                model.append((key, value, needed))
                while sum(entry[2] for entry in model) > 20_000:
                    model.pop(0)
        assert memory.bytes == sum(entry[2] for entry in model) <= 20_000 and len(memory) == len(model)
    memory.clear()
    assert memory.bytes == len(memory) == 0


def test_the_bound_is_of_real_memory():
    """What Python's allocator says that entries take is at most what they are counted as."""
    tracemalloc.start()
    memory = Memory(4 << 20)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(60_000):
        memory.put((f"\\boxed{{{i}}}", "x" * (i % 50)), ("wrong", f"answer {i}"))
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 1 << 20 < taken <= memory.max_bytes and 3 << 20 < memory.bytes <= memory.max_bytes


def test_many_threads_share_one():
    memory = Memory(5_000)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(20_000):
            key = str(rng.randrange(50))
            assert memory.get(key) in (None, key * 20)
            memory.put(key, key * 20)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))  # raises what a thread has raised
    assert memory.bytes == sum(needed for _, needed in memory._entries.values()) <= 5_000


def test_a_result_of_none_is_remembered_and_an_exception_is_not():
    calls = []

    @remembered(10_000)
    def judge(answer: str, gold: str) -> str | None:
        calls.append(answer)
        if answer == "bad":
            raise ValueError(answer)
        return None

    assert judge("a", "b") is judge("a", "b") is None and calls == ["a"]
    for _ in range(2):
        with pytest.raises(ValueError):
            judge("bad", "b")
    assert calls == ["a", "bad", "bad"] and size(("a", None, 3, ("b",))) == size("a") + size("b")


STEPS = [f"Step {i}: we think about it for a while. " * 200 for i in range(20)]


@pytest.mark.parametrize(
    ("function", "remembers", "answer", "gold"),
    [(maths.quick, maths._decided, r"\frac12", r"\frac{2}{4}"), (maths.judge, maths._judged, "1+x", "x+1"),
     (operators.judge, operators._judged, "1+2", "1 2 = 3")],
)  # fmt: skip
def test_completions_with_the_same_box_are_one_entry(function, remembers, answer, gold):
    remembers.memory.clear()
    verdicts = {function(f"{step}So it is \\boxed{{{answer}}}, I am sure ({i}).", gold) for i, step in enumerate(STEPS)}
    assert len(verdicts) == len(remembers.memory) == 1
    assert remembers.memory.bytes < OVERHEAD + 500 < len(STEPS[0])


def test_a_million_integers_take_no_memory():
    maths._decided.memory.clear()
    assert all(maths.quick(f"\\boxed{{{i}}}", str(i))[0] == "correct" for i in range(10_000))
    assert len(maths._decided.memory) == 0


TEXTS = [
    "", "none", r"\boxed{5}", r"\boxed{ 5 } and more", r"\boxed{1} then \boxed{\frac{1}{2}}", r"\boxed{5", r"\boxed 5",
    r"\boxed{1} and \boxed{2", r"\boxed{1 and \boxed{2}", r"\boxed{a \boxed{b} c}", r"\boxed{1} \boxed", r"\boxed",
    r"\boxed  {7}", r"\boxed{1} \boxed  {\frac12}", r"\boxed{1} \boxed {2", r"\boxed{{5}}", r"\boxed{}", r"\boxed{5}}}",
    "\\boxed\n{3}", r"\boxed{5 and \boxed", "x = 5. " * 500, "So 1/2" + " " * 3000, r"\boxed{" + "9" * 3000 + "}",
    "\\boxed{\\text{a}\n}", r"\fbox{\boxed{12}}", r"\boxed{(}\boxed{)}", r"\boxed{\{1,2\}}",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_read_has_the_verdict_of_the_whole(text):
    box, read = final_box(text), maths.reads(text)
    assert (box == r"\boxed{") == ends_in_open_box(text)
    assert (box is None) == (last_boxed(text) is None and not ends_in_open_box(text))
    if box not in (None, r"\boxed{"):
        assert last_boxed(box) == last_boxed(text) and final_box(box) == box
    for gold in ("5", r"\frac12", "b", "7"):
        assert maths.judge(read, gold) == maths.judge(text, gold)
        assert maths.judge(f"{STEPS[0]}{text}", gold)[0] == maths.judge(text, gold)[0] or box is None


def plainly(text: str) -> tuple[str | None, bool]:
    """The content of the last closed box, and whether the last one is open: character by character."""
    found, is_open = None, False
    for start in range(len(text)):
        if not text.startswith("\\boxed", start):
            continue
        rest, depth, is_open = text[start + 6 :].lstrip(), 0, False
        for i, character in enumerate(rest if rest.startswith("{") else ""):
            depth += (character == "{") - (character == "}")
            is_open = depth > 0
            if depth == 0:
                found = rest[1:i].strip()
                break
    return found, is_open


def test_boxes_of_random_texts():
    rng = random.Random(1)
    parts = ["\\boxed{", "\\boxed", "\\boxed {", "{", "}", "5", " ", "\\boxe", "\n"]
    for _ in range(20_000):
        text = "".join(rng.choices(parts, k=rng.randrange(10)))
        content, is_open = plainly(text)
        assert (last_boxed(text), ends_in_open_box(text)) == (content, is_open), text
        box = final_box(text)
        assert box == "\\boxed{" if is_open else (None if box is None else last_boxed(box)) == content, text


def test_a_pool_asks_once_for_completions_that_say_the_same(monkeypatch):
    """And keeps no completion: of 100 texts of 8,000 characters with two answers, two questions."""
    with Pool("math", workers=1) as pool:
        asked, schedule = [], pool._pool.schedule

        def counted(*arguments, **options):
            asked.append(options["args"])
            return schedule(*arguments, **options)

        monkeypatch.setattr(pool._pool, "schedule", counted)
        questions = [(f"{STEPS[i % 20]} {i} \\boxed{{{'1+x' if i % 2 else 'x+2'}}}", "x+1") for i in range(200)]
        statuses = [verdict.status for verdict in pool.judge(questions)]
    assert statuses == ["wrong", "correct"] * 100 and len(asked) == 2
    assert pool._reads(questions[0][0]) == r"\boxed{x+2}"


def test_what_a_pool_knows_is_bounded(monkeypatch):
    """With memory for about two verdicts, answers that come back later are asked again and judged the same."""
    monkeypatch.setattr("rlvr.verifiers.pool.REMEMBERED", 1_500)
    answers = [f"x+{i % 5}" for i in range(400)]
    with Pool("math", workers=1) as pool:
        statuses = [v.status for v in pool.judge((f"\\boxed{{{answer}}}", "2+x") for answer in answers)]
    assert statuses == ["correct" if answer == "x+2" else "wrong" for answer in answers]


def test_programs_are_known_by_the_program():
    text = "Here:\n```python\nprint(1)\n```\nIt prints 1."
    assert code.reads(text) == code.reads(f"{STEPS[0]}\n{text}") == ("print(1)\n", "")
    assert code.reads("no program") == ("", "") and code.reads("<think> 1 </think> print(2)") == ("", "print(2)")
    assert size(Verdict("correct", "print(1)\n", 0.1)) == size("print(1)\n")
