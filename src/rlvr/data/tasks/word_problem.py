r"""Word problems: arithmetic in plain English, for models that know the language.

    Ann has 24 apples. Ann buys 13 more. Tom gives 5 more to Ann. How many apples does Ann have now?

The response derives the answer, one equation a step, and boxes it: `24+13=37 37+5=42 \boxed{42}`.

Level m is the number of steps. A problem is a row of sentences (`_sentences`). Its family is a story, a chain of
instructions or a comparison. Two families, purchases and equal shares, are left out of demonstrations and training, for
tests out of domain. Problems that differ only in names and things share a part.

A blind guesser knows which two values each step combines and computes without errors, but draws the operation among
those with a natural number as result: sum, product, difference of the larger and the smaller, exact quotient. So its
chance falls exponentially in m. In a demonstration a share of the steps is guessed in this way.
"""

import re
from collections.abc import Iterator

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks._sentences import MEANINGS, NAMES, OPERATIONS, THEMES, THINGS, Solution, Step, Theme, parse
from rlvr.data.tasks._splits import LABEL, PARTS, drawn_in_turn, pick
from rlvr.records import Demonstration, Problem

UNSEEN = ("purchase", "shares")  # families that no demonstration and no training set has
ANSWER = "\\boxed{"
LARGEST = 200  # every value is in 1..LARGEST
FAMILIES = tuple(family for family in THEMES if family not in UNSEEN)

DECISIONS = tuple(OPERATIONS)
_NUMBER = "(0|[1-9][0-9]{0,19})"
_EQUATION = re.compile(f"{_NUMBER}([-+*/]){_NUMBER}={_NUMBER}")


def generate_problems(
    part: str,
    levels: list[int],
    count: int,
    max_solutions: int | None,
    generator: np.random.Generator,
    max_chance: float | None = None,
    unseen: str | None = None,
) -> list[Problem]:
    """Up to `count` different problems of one part, shared evenly between the levels (numbers of steps), in turn.

    `max_solutions` keeps only problems with at most that many correct sequences of operations, `max_chance` only those
    that a blind guess hits with at most this probability. `unseen` is one of UNSEEN; without it the family is drawn.
    """

    def fits(text: str) -> bool:
        few = max_solutions is None or solutions(text) <= max_solutions
        return few and (max_chance is None or chance(text) <= max_chance)

    def problem(text: str, level: int) -> Problem:
        return Problem(f"{part}-{text}", text, str(parse(text).values[-1]), LABEL.format(level))

    return drawn_in_turn(
        *(part, levels, count),
        draw=lambda level: _draw(level, generator, unseen),
        fits=fits,
        problem=problem,
        key=lambda text: str(parse(text).known),  # other names and things make no other problem
    )


def _draw(level: int, generator: np.random.Generator, unseen: str | None) -> str | None:
    """A random problem; None if a value leaves 1..LARGEST, or its sentences take another number of steps."""

    theme = pick(THEMES[unseen or pick(FAMILIES, generator)], generator)
    first, last = pick(list(theme.first), generator), pick(list(theme.last), generator)
    sentences, steps = [first], _steps(theme.first[first]) + _steps(theme.last[last])
    while steps < level:
        sentences.append(pick(list(theme.then), generator))
        steps += _steps(theme.then[sentences[-1]])
    if steps != level or (theme.moves and len(sentences) == 1):  # else nobody to compare with
        return None
    text = _filled(theme, [*sentences, last], generator)
    return text if _in_range(parse(text)) else None


def _steps(does: str) -> int:
    return sum(len(term) == 3 for term in does.split())


def _filled(theme: Theme, sentences: list[str], generator: np.random.Generator) -> str:
    """The sentences with names, things and numbers."""
    people = [NAMES[i] for i in generator.permutation(len(NAMES))]
    things = [THINGS[i] for i in generator.permutation(len(THINGS))]
    meanings, filled, person = {**theme.first, **theme.then, **theme.last}, [], 0
    for i, sentence in enumerate(sentences):
        ranges = MEANINGS[meanings[sentence]]
        numbers = {name: pick(options, generator) for name, options in ranges.items()}
        named = {"a": people[person], "b": people[person + 1 if theme.moves else i % 4 + 1], "f": people[0]}
        filled.append(sentence.format(**named, **numbers, x=things[0], y=things[i % len(things)]))
        person += theme.moves and "{b}" in sentence
    return " ".join(filled)


def _in_range(solution: Solution) -> bool:
    """Whether all results are in 1..LARGEST and all quotients exact."""
    values = solution.values
    quotients = [item for item in solution.known if isinstance(item, Step) and item.operation == "/"]
    exact = all(values[step.left] % values[step.right] == 0 for step in quotients)
    return exact and all(0 < value <= LARGEST for value in values)


# ---- blind guesses and demonstrations ----


def _results(x: int, y: int) -> dict[str, int]:
    """What a guesser may make of two values: equations without their results, and the results."""
    low, high = sorted((x, y))
    made = {f"{x}+{y}": x + y, f"{x}*{y}": x * y, f"{high}-{low}": high - low}
    return made | ({f"{high}/{low}": high // low} if low and high % low == 0 else {})


def _guesses(solution: Solution) -> dict[int, tuple[float, int]]:
    """By answer: the probability that a blind guess has it, and the number of sequences of operations that have it.

    A state is the results that later steps use; guesses that agree on them have the same future.
    """
    numbers = {place: item for place, item in enumerate(solution.known) if not isinstance(item, Step)}
    live: list[int] = []
    states: dict[tuple[int, ...], tuple[float, int]] = {(): (1.0, 1)}
    for place, item in enumerate(solution.known):
        if not isinstance(item, Step):
            continue
        live_after = [at for at in (*live, place) if at in _used_after(solution, place)]
        following: dict[tuple[int, ...], tuple[float, int]] = {}
        for state, (probability, count) in states.items():
            values = numbers | dict(zip(live, state, strict=True))
            results = _results(values[item.left], values[item.right]).values()
            for values[place] in results:
                after = tuple([values[at] for at in live_after])
                before = following.get(after, (0.0, 0))
                following[after] = before[0] + probability / len(results), before[1] + count
        live, states = live_after, following
    return {state[-1]: of for state, of in states.items()}


def _used_after(solution: Solution, place: int) -> set[int]:
    """The places of values that later steps use, and the last."""
    steps = [item for item in solution.known[place + 1 :] if isinstance(item, Step)]
    return {len(solution.known) - 1, *(step.left for step in steps), *(step.right for step in steps)}


def solutions(prompt: str) -> int:
    """The number of sequences of operations that are correct."""
    solution = parse(prompt)
    return _guesses(solution)[solution.values[-1]][1]


def chance(prompt: str) -> float:
    """The probability that a blind guess is correct."""
    solution = parse(prompt)
    return _guesses(solution)[solution.values[-1]][0]


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn.

    A step has the right operation or, for `random_share` of the steps, a blind guess; a guess that misses mostly makes
    the answer wrong, and the response goes on from where it is. Where the right operation cannot follow (a difference
    below 0, a quotient that is not whole), the step is a guess too. Every equation that is written is true.
    """
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    values: list[int] = []
    words = []
    for item in parse(problem.prompt).known:
        if isinstance(item, Step):
            equation, item = _equation(item, values, random_share, generator)
            words.append(f"{equation}={item}")
        values.append(item)
    return Demonstration(problem.id, problem.prompt, f"{' '.join(words)} {ANSWER}{values[-1]}}}")


def _equation(step: Step, values: list[int], random_share: float, generator: np.random.Generator) -> tuple[str, int]:
    """A step's equation without its result, and the result."""
    x, y = values[step.left], values[step.right]
    results = _results(x, y)
    right = f"{x}{step.operation}{y}"
    if generator.random() < random_share or right not in results:  # the latter after a miss
        return pick(list(results.items()), generator)
    return right, results[right]


# ---- the working ----


def false_working(prompt: str, response: str) -> bool:
    """Whether the working before the box has a step that is false, missing or unreadable, or the box another number."""
    working, _, boxed = response.partition(ANSWER)
    words = working.split()
    return false_step(prompt, iter(words)) or boxed.partition("}")[0].strip() != words[-1].rpartition("=")[2]


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """The same of the working's words; reads them up to the first that is false.

    A step is one equation that holds, of two numbers that the problem gives or an earlier step has made. There are as
    many as the problem takes.
    """
    solution = parse(prompt)
    known = {str(item) for item in solution.known if not isinstance(item, Step)}
    for _ in range(solution.steps):
        match = _EQUATION.fullmatch(next(words, ""))
        if match is None or not {match[1], match[3]} <= known or not _holds(*match.groups()):
            return True
        known.add(match[4])
    return next(words, None) is not None


def _holds(left: str, operation: str, right: str, result: str) -> bool:
    x, y, value = int(left), int(right), int(result)
    return x == value * y and y > 0 if operation == "/" else OPERATIONS[operation](x, y) == value


TASK = TaskKind(
    generate_problems=generate_problems,
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=(1, 2, 3, 4, 5, 6, 7),  # m
    label=LABEL,
    verifier="exact",
    answer=ANSWER,
    decisions=DECISIONS,
    unseen=UNSEEN,
)
