r"""Brackets, arguments and roots in LaTeX: what a regular expression cannot pair. Nothing here computes."""

import re

# ---- brackets ----

_OPENING = re.compile(r"\\\\|\\[{}]|\\(?:begin|end)\b|[\[\](){}]")
_DEEPER = {"(": 1, "[": 1, "\\{": 1, "\\begin": 1}
_HIGHER = {")": -1, "]": -1, "\\}": -1, "\\end": -1}


def depths(text: str, braces: bool = True) -> list[int]:
    """Number of open brackets at each character; LaTeX braces count as brackets if `braces`."""
    steps = {**_DEEPER, **_HIGHER, **({"{": 1, "}": -1} if braces else {})}
    levels, depth, place = [0] * len(text), 0, 0
    for sign in _OPENING.finditer(text):
        levels[place : sign.start()] = [depth] * (sign.start() - place)
        place, depth = sign.start(), depth + steps.get(sign.group(), 0)
    levels[place:] = [depth] * (len(text) - place)
    return levels


def split(text: str, separator: re.Pattern[str]) -> list[str]:
    """The parts of a text between separators outside of brackets."""
    depth = depths(text)
    parts, place = [], 0
    for sign in separator.finditer(text):
        if depth[sign.start()] == 0:
            parts.append(text[place : sign.start()].strip())
            place = sign.end()
    return [*parts, text[place:].strip()]


def closing(text: str, start: int) -> int:
    """Index of the bracket that closes the one at `start`; -1 if there is none."""
    ends = {"(": ")", "{": "}", "[": "]"}[text[start]]
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == text[start]) - (text[place] == ends)
        if depth == 0:
            return place
    return -1


# ---- arguments ----

_OF_TWO = re.compile(r"\\(?:frac|binom)(?![a-zA-Z])")
_NAME = re.compile(r"\\[a-zA-Z]+")
_TAKES = {"\\frac": 2, "\\binom": 2, "\\sqrt": 1}  # so many arguments


def braced(text: str) -> str:
    r"""The text with arguments of fractions in braces, and a fraction as an exponent: \frac\pi3 as \frac{\pi}{3}."""
    for command in reversed(list(_OF_TWO.finditer(text))):  # the last first: inner fractions come before outer ones
        ends = [command.end()]
        for _ in range(2):
            ends.append(_end_of_argument(text, ends[-1]))
        if ends[-1] < 0:
            continue
        first, second = (_unbraced(text[ends[i] : ends[i + 1]].strip()) for i in range(2))
        whole = f"{command.group()}{{{first}}}{{{second}}}"
        before, after = text[: command.start()], text[ends[-1] :]
        text = f"{before}{{{whole}}}{after}" if before.rstrip().endswith("^") else f"{before}{whole}{after}"
    return text


def _unbraced(argument: str) -> str:
    return argument[1:-1] if argument.startswith("{") else argument


def _end_of_argument(text: str, start: int) -> int:
    """Where the argument of a command ends that begins at `start`; -1 if there is none."""
    while 0 <= start < len(text) and text[start] == " ":
        start += 1
    if not 0 <= start < len(text) or text[start] in "}^_&,":
        return -1
    if text[start] == "{":
        return closing(text, start) + 1 or -1
    name = _NAME.match(text, start)
    if not name:
        return start + 1 if text[start] != "\\" else -1
    end = name.end()
    for _ in range(_TAKES.get(name.group(), 0)):
        end = _end_of_argument(text, end)
    return end


# ---- roots ----

_ARGUMENT = re.compile(r"\d+(?:\.\d+)?|\\[a-zA-Z]+(?:\{[^{}]*\})*|[a-zA-Z]")
_RADICAL = re.compile(r"(?:(√|∛|∜)|(?<![a-zA-Z\\])sqrt|\\sqrt(?=\s*\())\s*")


def radicals(text: str) -> str:
    """The text with arguments of roots in braces; the last root first, so that inner roots come before outer ones."""
    for root in reversed(list(_RADICAL.finditer(text))):
        degree = {"∛": "[3]", "∜": "[4]"}.get(root.group(1) or "", "")
        before, after = text[: root.start()], text[root.end() :]
        end = closing(after, 0) if after.startswith("(") else -1
        argument = _ARGUMENT.match(after)
        if end > 0:
            text = f"{before}\\sqrt{degree}{{{after[1:end]}}}{after[end + 1 :]}"
        elif argument:
            text = f"{before}\\sqrt{degree}{{{argument.group()}}}{after[argument.end() :]}"
        elif after:
            text = f"{before}\\sqrt{degree}{after}"
    return text
