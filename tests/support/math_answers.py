"""Golds drawn from a grammar, each with harmless rewritings and with wrong ones: what a mathematician reads as equal.

`Form.write` draws one of the ways to write an answer; the plainest way is the gold.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isclose, pi, sqrt


@dataclass(frozen=True)
class Form:
    """A number's value, to draw different ones; and a writer: of no generator the gold's form, of one a rewriting."""

    value: float | Fraction | None
    write: Callable[[random.Random | None], str]
    alone: bool = True  # may stand behind `x =` and before a unit


def pick(rng: random.Random | None, *ways: str) -> str:
    """The first of the ways for the gold; any of them for a rewriting."""
    return ways[0] if rng is None else rng.choice(ways)


def space(rng: random.Random | None) -> str:
    return pick(rng, "", "", " ", "  ", r"\,", r"\ ", r"\;")


def minus(rng: random.Random | None) -> str:
    return pick(rng, "-", "-", "−", "- ")


# ---- numbers ----


def digits(n: int, rng: random.Random | None) -> str:
    if len(str(n)) < 4 or rng is None:
        return str(n)
    separators = (",", "{,}", r"\,", r",\!", r"\!,", r"\ ", "\u2009")
    return rng.choice([str(n), *(f"{n:,}".replace(",", separator) for separator in separators)])


def integer(rng: random.Random, bound: int = 60) -> Form:
    n = rng.randint(-bound, bound) or 7
    return Form(n, lambda r: (minus(r) if n < 0 else pick(r, "", "", "", "+")) + str(abs(n)))


def large(rng: random.Random) -> Form:
    n = rng.choice([-1, 1]) * rng.randrange(1000, rng.choice([10_000, 1_000_000, 10_000_000_000]))
    return Form(n, lambda r: (minus(r) if n < 0 else "") + digits(abs(n), r))


def decimal(rng: random.Random) -> Form:
    places, n = rng.randint(1, 4), rng.randint(1, 99_999)
    text = f"{n / 10**places:.{places}f}"
    short = text.lstrip("0") if text.startswith("0.") else text
    sign, value = rng.random() < 0.3, Fraction(n, 10**places)
    ways = (text, text + "0", short, full_width(text))
    return Form(-value if sign else value, lambda r: (minus(r) if sign else "") + pick(r, *ways))


def full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text)


def over(a: str, b: str, r: random.Random | None) -> str:
    ways = [rf"\frac{{{a}}}{{{b}}}", rf"\dfrac{{{a}}}{{{b}}}", rf"\tfrac{{{a}}}{{{b}}}", rf"\frac {{{a}}} {{{b}}}"]
    if len(a) == len(b) == 1:
        ways += [rf"\frac{a}{b}", rf"\frac {a}{b}"]
    return pick(r, *ways)


def fraction(rng: random.Random) -> Form:
    a, b = rng.randint(1, 40), rng.randint(2, 30)
    a, b = a // gcd(a, b), b // gcd(a, b)
    if b == 1:
        a, b = a * 2 + 1, 2
    sign = rng.random() < 0.4

    def write(r: random.Random | None) -> str:
        if r is not None and (form := r.random()) < 0.35:
            head = minus(r) if sign else ""
            return head + (f"{a}/{b}" if form < 0.2 else f"{a}{space(r)}/{space(r)}{b}" if form < 0.3 else mixed(r))
        if sign and r and r.random() < 0.2:
            return over(f"-{a}", str(b), r)
        return (minus(r) if sign else "") + over(str(a), str(b), r)

    def mixed(r: random.Random) -> str:
        return f"{a // b}{pick(r, '', ' ')}{over(str(a % b), str(b), r)}" if a > b else over(str(a), str(b), r)

    return Form(Fraction(-a if sign else a, b), write)


def root(n: int, r: random.Random | None) -> str:
    ways = [rf"\sqrt{{{n}}}", rf"\sqrt {{{n}}}", f"√{n}", f"sqrt({n})", f"√({n})", rf"\sqrt{{ {n} }}"]
    return pick(r, *ways, *([rf"\sqrt{n}", rf"\sqrt {n}"] if n < 10 else []))


def radical(rng: random.Random) -> Form:
    n, a, b = rng.choice([2, 3, 5, 6, 7, 10, 11, 13, 15]), rng.randint(2, 12), rng.randint(1, 15)
    kind, sign = rng.randrange(4), rng.choice([1, -1])
    op = "+" if sign > 0 else "-"

    def write(r: random.Random | None) -> str:
        s, o = root(n, r), op if sign > 0 else minus(r).strip()
        if kind == 0:
            return f"{a}{space(r)}{s}"
        if kind == 1:
            if sign > 0 and r and r.random() < 0.3:
                return f"{a}{s}{space(r)}+{space(r)}{b}"
            return f"{b}{space(r)}{o}{space(r)}{a}{s}"
        if kind == 2:
            whole = not r or r.random() < 0.6
            return over(f"{a}{s}", str(b + 1), r) if whole else f"{a}{s}{space(r)}/{space(r)}{b + 1}"
        return over(f"{b}{o}{s}", str(a), r) if not r or r.random() < 0.7 else f"({b}{o}{s})/{a}"

    value = (a * sqrt(n), b + sign * a * sqrt(n), a * sqrt(n) / (b + 1), (b + sign * sqrt(n)) / a)[kind]
    return Form(value, write)


def of_pi(rng: random.Random) -> Form:
    a, b = rng.randint(2, 20), rng.randint(2, 12)
    whole = rng.random() < 0.4

    def write(r: random.Random | None) -> str:
        p = pick(r, r"\pi", r"\pi ", "π", "pi")
        if whole:
            return f"{a}{pick(r, '', ' ')}{p}" if p != "pi" else f"{a}pi"
        if r and r.random() < 0.3:
            return f"{a}{p}/{b}"
        return over(f"{a}{p}", str(b), r) if p != "pi" else f"{a}pi/{b}"

    return Form(a * pi if whole else a * pi / b, write)


def power(rng: random.Random) -> Form:
    a, b = rng.randint(2, 9), rng.randint(3, 12)
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(b))
    ways = (f"{a}^{{{b}}}", f"{a}^{{ {b} }}", f"{a}{raised}", f"{a}**{b}", str(a**b))
    return Form(a**b, lambda r: pick(r, *ways))


def scientific(rng: random.Random) -> Form:
    a, b = rng.randint(11, 99), rng.choice([-6, -5, -4, 4, 5, 6, 8])
    raised = str(b).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    m = f"{a / 10}"
    ways = (rf"{m} \times 10^{{{b}}}", rf"{m}\cdot 10^{{{b}}}", f"{m}×10{raised}", f"{m}e{b}", rf"{m}*10^{{{b}}}")
    return Form(Fraction(a, 10) * Fraction(10) ** b, lambda r: pick(r, *ways))


def repeating(rng: random.Random) -> Form:
    n = rng.choice([3, 6, 7, 9, 11, 27, 37, 33, 99])
    f = Fraction(rng.randint(1, n - 1), n)
    if f.denominator in (1, 7) or f.denominator % 2 == 0:
        f = Fraction(1, 3)
    block = next(k for k in range(1, 7) if (10**k - 1) % f.denominator == 0)
    run = str(f.numerator * (10**block - 1) // f.denominator).zfill(block)
    decimals = (rf"0.\overline{{{run}}}", rf".\overline{{{run}}}", rf"0.{run}\overline{{{run}}}")
    return Form(f, lambda r: pick(r, rf"\frac{{{f.numerator}}}{{{f.denominator}}}", *decimals))


def number(rng: random.Random) -> Form:
    return rng.choice((integer, fraction, radical, of_pi, decimal))(rng)


# ---- what is built from numbers ----


def comma(r: random.Random | None) -> str:
    return pick(r, ",", ", ", " , ", r",\,", r",\ ", r",\;")


def brackets(a: str, b: str, inside: str, r: random.Random | None) -> str:
    ways = [f"{a}{inside}{b}", rf"\left{a}{inside}\right{b}", rf"\left{a} {inside} \right{b}", f"{a} {inside} {b}"]
    return pick(r, *ways, rf"\big{a}{inside}\big{b}")


def several(rng: random.Random, least: int = 2, most: int = 4, distinct: bool = False) -> list[Form]:
    forms: list[Form] = []
    kinds = rng.choice([(integer,), (integer,), (fraction, integer), (radical, integer), (of_pi,)])
    while len(forms) < rng.randint(least, most):
        form = rng.choice(kinds)(rng)
        if not distinct or all(not isclose(form.value, other.value) for other in forms):
            forms.append(form)
    return forms


def tuples(rng: random.Random) -> Form:
    if rng.random() < 0.3:
        forms = [integer(rng, 20), Form(n := rng.randint(100, 999), lambda r: str(n))]
    else:
        forms = several(rng)

    def write(r: random.Random | None) -> str:
        return brackets("(", ")", comma(r).join(form.write(r) for form in forms), r)

    return Form(None, write, alone=False)


def interval(rng: random.Random) -> Form:
    low = rng.randint(-40, 200)
    high = low + rng.randint(1, 400)
    a, b = rng.choice("(["), rng.choice(")]")
    ends = rng.choice(["both", "both", "low", "high"])

    def write(r: random.Random | None) -> str:
        infinite = pick(r, r"\infty", r"\infty", "∞", r"+\infty" if ends == "low" else r"\infty")
        left = minus(r).strip() + infinite.removeprefix("+") if ends == "high" else str(low)
        right = infinite if ends == "low" else str(high)
        return brackets("(" if ends == "high" else a, ")" if ends == "low" else b, f"{left}{comma(r)}{right}", r)

    return Form(None, write, alone=False)


def union(rng: random.Random) -> Form:
    a = rng.randint(-30, 30)
    b, c = a + rng.randint(1, 20), a + rng.randint(30, 300)
    d = c + rng.randint(1, 300)
    signs = [rng.choice("(["), rng.choice(")]"), rng.choice("(["), rng.choice(")]")]

    def write(r: random.Random | None) -> str:
        ends = ((signs[:2], a, b), (signs[2:], c, d))
        parts = [brackets(*both, f"{low}{comma(r)}{high}", r) for both, low, high in ends]
        cup = pick(r, r" \cup ", r"\cup", "∪", r" \cup ")
        return cup.join(parts if r is None or r.random() < 0.8 else parts[::-1])

    return Form(None, write, alone=False)


def sets(rng: random.Random) -> Form:
    forms = several(rng, distinct=True)

    def write(r: random.Random | None) -> str:
        inside = [form.write(r) for form in forms]
        if r is not None:
            r.shuffle(inside)
        return brackets(r"\{", r"\}", comma(r).join(inside), r)

    return Form(None, write, alone=False)


def listed(rng: random.Random) -> Form:
    forms = several(rng, most=3, distinct=True)

    def write(r: random.Random | None) -> str:
        inside = [form.write(r) for form in forms]
        separator = comma(r)
        if r is not None:
            r.shuffle(inside)
            separator = r.choice([comma(r), ", ", r" \text{ or } ", r"\text{ and }", " or ", " and ", "; "])
            if r.random() < 0.3:
                inside = [f"x = {part}" for part in inside]
        return separator.join(inside)

    return Form(None, write, alone=False)


def matrix(rng: random.Random) -> Form:
    rows, columns = rng.choice([(2, 1), (3, 1), (2, 2), (1, 3), (2, 3), (3, 3)])
    entries = [[rng.choice((integer, integer, integer, fraction))(rng) for _ in range(columns)] for _ in range(rows)]

    def write(r: random.Random | None) -> str:
        ends = pick(r, r" \\ ", r"\\", r" \\", r"\\ ", "\\\\\n", r" \\[2pt] ")
        cells = ends.join(pick(r, " & ", "&", "  &  ").join(cell.write(r) for cell in row) for row in entries)
        if r is not None and r.random() < 0.15:
            cells += ends
        kind = pick(r, "pmatrix", "pmatrix", "bmatrix", "array")
        if kind == "array":
            return rf"\left(\begin{{array}}{{{'c' * columns}}} {cells} \end{{array}}\right)"
        gap = pick(r, " ", "", "  ")
        return rf"\begin{{{kind}}}{gap}{cells}{gap}\end{{{kind}}}"

    return Form(None, write, alone=False)


# ---- formulas ----


def term(c: int, body: str, r: random.Random | None, first: bool) -> str:
    before = "" if first else space(r)
    sign = minus(r).strip() if c < 0 else "" if first else "+"
    sign = before + sign + ("" if first else space(r))
    return sign + (body if abs(c) == 1 and body else f"{abs(c)}{body}")


def coefficients(rng: random.Random) -> tuple[int, int, int]:
    a, b = rng.choice([0, rng.randint(1, 6)]), rng.choice([-1, 1]) * rng.randint(1, 9)
    return a, b, rng.choice([-1, 1]) * rng.randint(1, 20)


def sum_of(a: int, b: int, c: int, x: str, r: random.Random | None) -> str:
    square = pick(r, f"{x}^2", f"{x}^{{2}}", f"{x}²", f"{x}^ 2")
    terms = [(a, square), (b, x), (c, "")]
    if r is not None and r.random() < 0.4:
        r.shuffle(terms)
    return "".join(term(k, body, r, i == 0) for i, (k, body) in enumerate((k, b) for k, b in terms if k))


def polynomial(rng: random.Random) -> Form:
    x, (a, b, c) = rng.choice("xynt"), coefficients(rng)
    return Form(None, lambda r: sum_of(a, b, c, x, r))


def equation(rng: random.Random) -> Form:
    a, b, c = coefficients(rng)

    def write(r: random.Random | None) -> str:
        right = sum_of(a, b, c, "x", r)
        left = pick(r, "y", "y", "y ", " y")
        first, last = (right, left) if r and r.random() < 0.1 else (left, right)
        return f"{first}{space(r)}={space(r)}{last}"

    return Form(None, write, alone=False)


WORDS = ("Monday", "Evelyn", "ellipse", "hyperbola", "no solution", "even", "Tuesday", "two lines", "circle", "east")


def words(rng: random.Random) -> Form:
    text = rng.choice(WORDS)
    marked = [rf"\text{{{text}}}", rf"\textbf{{{text}}}", rf"\text{{ {text} }}"]
    if len(text) > 4:
        marked = [marked[0], text, marked[1], rf"\mathrm{{{text}}}", marked[2], text.upper()]
    return Form(("text", text), lambda r: pick(r, *marked), alone=False)


def degrees(rng: random.Random) -> Form:
    n = rng.randint(1, 359)
    ways = (rf"{n}^\circ", str(n), rf"{n}^{{\circ}}", f"{n}°", f"{n} degrees", rf"{n}\text{{ degrees}}", rf"{n}\degree")
    name = rng.choice([r"\angle ABC", r"\theta", r"m\angle A", "x"])
    return Form(n, lambda r: (f"{name} = " if r and r.random() < 0.2 else "") + pick(r, *ways), alone=False)


UNITS = ("cm", "inches", "meters", "square units", "hours", "km/h", "dollars", "students", "cubic feet")


def measured(rng: random.Random) -> Form:
    form, unit = number(rng), rng.choice(UNITS)

    def write(r: random.Random | None) -> str:
        amount = form.write(r)
        ways = [rf"{amount}\text{{ {unit}}}", amount, rf"{amount} \text{{ {unit}}}", rf"{amount}\;\mathrm{{{unit}}}"]
        return pick(r, *ways, *([f"{amount} {unit}"] if unit.replace(" ", "").isalpha() else []))

    return Form(form.value, write, alone=False)


SIZES = (  # a unit, its names, and a smaller unit with its names and how many of them it has
    (("km", "kilometres", "км", "公里"), ("m", "metres", "м", "米"), 1000),
    (("kg", "kilograms", "кг", "公斤"), ("g", "grams", "г", "克"), 1000),
    (("hours", "h", "часов", "小时", "Stunden"), ("minutes", "min", "минут", "分钟", "Minuten"), 60),
    (("mol", "moles", "моль"), ("mmol", "ммоль"), 1000),
    (("m/s", r"m\,s^{-1}", r"m\cdot s^{-1}", "米/秒"), ("cm/s", r"cm\,s^{-1}", "厘米/秒"), 100),
)


def quantity(rng: random.Random) -> Form:
    n, (units, smaller, ratio) = rng.randint(2, 99), rng.choice(SIZES)

    def write(r: random.Random | None) -> str:
        amount, names = (n, units) if r is None or r.random() < 0.6 else (n * ratio, smaller)
        return rf"{amount}{space(r)}\{pick(r, 'text', 'mathrm')}{{{pick(r, '', ' ')}{pick(r, *names)}}}"

    return Form(n, write, alone=False)


def exponential(rng: random.Random) -> Form:
    a, b = rng.randint(2, 9), rng.randint(2, 9)
    e = ("e", r"\mathrm{e}", r"\text{e}", r"\operatorname{e}")
    return Form(a * 2.718281828**b, lambda r: rf"{a}{pick(r, *e)}^{{{b}}}")


def by_cases(rng: random.Random) -> Form:
    a, b, c = rng.randint(2, 9), rng.randint(10, 99), rng.randint(1, 9)

    def write(r: random.Random | None) -> str:
        word, comma, end = pick(r, "", r"\text{if } ", r"\text{for } "), pick(r, "", ","), pick(r, "", ",", ".")
        rows = [rf"{a}x{comma} & {word}x \ge {c}", rf"{b}{comma} & {word}x < {c}"]
        if r is not None and r.random() < 0.4:
            rows.reverse()
        return r"\begin{cases}" + rf"{comma} \\ ".join(rows) + end + r"\end{cases}"

    return Form(None, write, alone=False)


CLASSES: dict[str, Callable[[random.Random], Form]] = {
    "integers": integer, "large integers": large, "decimals": decimal, "fractions": fraction, "radicals": radical,
    "multiples of pi": of_pi, "powers": power, "scientific": scientific, "repeating decimals": repeating,
    "tuples": tuples, "intervals": interval, "unions": union, "sets": sets, "lists": listed, "matrices": matrix,
    "polynomials": polynomial, "equations": equation, "words": words, "degrees": degrees, "measures": measured,
    "quantities": quantity, "exponentials": exponential, "by cases": by_cases,
}  # fmt: skip

NAMES = ("x = ", "n=", "f(x) = ", "S = ", r"a_{10} = ", r"\text{Area} = ", "a + b = ", "|AB| = ", r"\overline{AB} = ",
         r"S_{\triangle ABC} = ", "P(A) = ",
         "f(3) = ", r"\phi(12) = ", r"\lim_{x \to 0} f(x) = ")  # fmt: skip


def around(text: str, form: Form, r: random.Random) -> str:
    """A rewriting with something harmless around it, or nothing."""
    if form.alone and r.random() < 0.2:
        text = r.choice(NAMES) + text
    wraps = ["@"] * 6 + ["$@$", "{@}", r"\displaystyle @", "@.", "$@$.", " @ ", r"\(@\)", "**@**", "\u202e@"]
    return r.choice(wraps).replace("@", text)


def drawn(name: str, seed: int) -> Form:
    return CLASSES[name](random.Random(f"{name} {seed}"))


# ---- wrong answers ----


def changed(text: str, r: random.Random) -> str:
    """A text with one digit or one sign of a number changed, or one letter of a text without numbers."""
    runs = [run for run in re.finditer(r"(?<!\d)(?<!\d\.)\d+", text) if not text[run.end() :].startswith("pt]")]
    if not runs:
        at = r.choice([i for i, c in enumerate(text) if c.isalpha() and "\\" not in text[max(0, i - 7) : i]])
        return text[:at] + r.choice([c for c in "bdgkqz" if c != text[at].lower()]) + text[at + 1 :]
    run = r.choice(runs)
    if r.random() < 0.3 and int(run.group()) != 0:
        return with_other_sign(text, run.start())
    at = r.randrange(run.start(), run.end())
    return text[:at] + r.choice([d for d in "0123456789" if int(d) != int(text[at])]) + text[at + 1 :]


def with_other_sign(text: str, at: int) -> str:
    at -= text[at - 1 : at] == "."
    before = text[:at].rstrip(" ")
    if before.endswith(("-", "−")):
        return before[:-1] + text[at:]
    return (before[:-1] if before.endswith("+") else text[:at]) + "-" + text[at:]
