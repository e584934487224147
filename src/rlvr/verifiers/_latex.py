r"""A mathematical answer as LaTeX that math-verify reads, with its meaning unchanged.

`undecorated` removes decoration: 1\,000 and 1,000 are 1000, {{5}} and 5. are 5, \dfrac is \frac, √2 is \sqrt{2}.
Nothing here computes. `_answer` splits a plain answer into its parts; docs/grading.md has a row per decision.
"""

import re
import unicodedata

from rlvr.verifiers._text import visible
from rlvr.verifiers.memory import remembered

# ---- characters ----

_SIGNS = str.maketrans({
    **dict.fromkeys("−–—﹣－", "-"), "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "÷": r"\div ",
    "±": r"\pm ", "∓": r"\mp ", "≤": r"\le ", "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
    "≡": r"\equiv ", "∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∖": r"\setminus ",
    "∅": r"\emptyset ", "⌀": r"\emptyset ", "°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ",
    "∠": r"\angle ", "△": r"\triangle ", "∘": r"\circ ",
    "∣": "|", "…": r"\cdots ", "⋯": r"\cdots ", "′": "'", "’": "'", "∗": "*", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}", "ℕ": r"\mathbb{N}", "ℂ": r"\mathbb{C}",
    "⟨": r"\langle ", "⟩": r"\rangle ", "⌈": r"\lceil ", "⌉": r"\rceil ", "∑": r"\sum ", "∫": r"\int ",
    "→": r"\to ", "µ": r"\mu ", "⁄": "/", "∕": "/",
})  # fmt: skip
_GREEK = re.compile("[Α-ω]")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ]+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑₒₓₖₙₘ]+")
_STACKED = re.compile("[¼½¾⅐-⅞↉]")


def _characters(text: str) -> str:
    """Signs of Unicode as commands, 3² as 3^{2}, x₁ as x_{1}, ½ as a fraction."""
    if text.isascii():
        return text
    text = text.translate(_SIGNS)
    text = _GREEK.sub(_greek, text)
    text = _RAISED.sub(lambda run: f"^{{{_level(run.group())}}}", text)
    text = _LOWERED.sub(lambda run: f"_{{{_level(run.group())}}}", text)
    return _STACKED.sub(lambda sign: "\\frac{{{}}}{{{}}}".format(*_level(sign.group()).split("⁄")), text)


def _level(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("−", "-")


def _greek(letter: re.Match[str]) -> str:
    """A letter's command; a letter with an accent stays as it is."""
    match = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)", unicodedata.name(letter.group(), ""))
    if not match:
        return letter.group()
    name = match.group(2).lower().replace("lamda", "lambda")
    return f"\\{name if match.group(1) == 'SMALL' else name.capitalize()} "


# ---- commands ----

_ROW_BREAK = r"\\\\"  # two backslashes: never taken apart
_SPACING = re.compile(
    rf"({_ROW_BREAK})(?:\s*\[[-\d.]+\s*(?:pt|ex|em|mm|cm)\])?|\\!|\\[,;:> ]|~"
    r"|\\(?:left|right)\s*\.|\\(?:left|right|[bB]igg?[lr]?|q?quad|enspace|thinspace|(?:display|text)style|limits|hline)"
    r"(?![a-zA-Z])"
)
_RENAMED = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), "\\frac"),
    **dict.fromkeys(("leqslant", "leq"), "\\le"),
    **dict.fromkeys(("geqslant", "geq"), "\\ge"),
    **dict.fromkeys(("dots", "ldots", "dotsc", "dotsb"), "\\cdots"),  # math-verify drops the others
    **{"neq": "\\ne", "varnothing": "\\emptyset", "ast": "*", "colon": ":", "degree": "^\\circ", "lbrace": "\\{"},
    **{"rbrace": "\\}", "vert": "|", "lvert": "|", "rvert": "|", "mid": "|", "lt": "<", "gt": ">", "bmod": "\\mod"},
    "langle": "(",
    "rangle": ")",
    "prime": "'",
    "fbox": "\\boxed",
    "gamma": "\\kappa_{g}",  # math-verify reads \gamma^2 - 8 as the function of -6, and \gamma as a number
}
_COMMAND = re.compile(r"(\\\\)|\\([a-zA-Z]+)")
_STYLE = re.compile(
    r"\\(?:mathbf|boldsymbol|bm|mathit|mathsf|mathnormal|mathstrut|underline|textup|texttt|textsf|emph|bf|it|sf|tt|rm"
    r"|tiny|small|large|Large|LARGE|huge|Huge)(?![a-zA-Z])\s*"
)
_DROPPED = re.compile(
    r"\\(?:color|textcolor|hspace|vspace|tag|vphantom|phantom)\*?\s*\{[^{}]*\}|\\kern\s*-?[\d.]+\s*[a-z]{2}|</?s>|<\|\w+\|>"
    r"|[✓✔✅□■]|\\(?:checkmark|blacksquare|qed)(?![a-zA-Z])|\A\s*(?:(?:\\(?:Rightarrow|implies|to|therefore)(?![a-zA-Z])"
    r"|[→⇒∴]|#{2,})\s*)+"
)
_SYSTEM = re.compile(
    r"(?:\\left\s*)?(?:\\\{)?\s*\\begin\{(aligned|align\*?|gathered|split|cases|eqnarray\*?|array)\}(?:\{[lcr ]*\})?"
    r"(.*?)\\end\{\1\}\s*(?:\\right\s*\.)?",
    re.DOTALL,
)
_CHOOSE = re.compile(r"(?:\{|\A)([^{}]*)\\choose(?![a-z])([^{}]*)(?:\}|\Z)")
_ROOT = re.compile(r"\\sqrt\s*\[(\w+)\]\s*(\w)(?!\w)")
_BLACKBOARD = re.compile(r"\\mathbb\s+([A-Z])")
_GCD = re.compile(r"\\gcd\s*\((?=[^()]*[a-z])([^(),]*),([^(),]*)\)")
_PRIMES = re.compile(r"\^\s*(?:\{\s*('[ ']*)\}|('+))")
_NO_SET = re.compile(r"\\\{\s*\\\}")
_IMAGINARY = re.compile(r"\\(?:mathrm|text)\s*\{\s*i\s*\}|(?<=[\d})])i(?![a-zA-Z{])")
_ESCAPED_TWICE = re.compile(r"\\\\(?=[a-zA-Z])")  # as in JSON within JSON
_LAST_BREAK = re.compile(rf"{_ROW_BREAK}\s*(?=\\end\{{)")
_MODULUS = re.compile(
    r"\s*(?:\\pmod\s*|\(\s*(?:\\(?:text|mathrm|operatorname)\s*\{\s*mod\s*\}|\\mod(?![a-z])|mod\b)\s*)"
    r"(?P<braced>\{[^{}]*\}|[^(){}]+)\s*\)?$|\s*(?:\\mod(?![a-z])|\bmod\b)\s*(?P<bare>\{[^{}]*\}|\w+)$"
)
_DEGREES = re.compile(
    r"\s*\^\s*(?:\\circ(?![a-zA-Z])|\{\s*\\circ\s*\})(?:\s*(?:\\text|\\mathrm)?\s*\{?\s*([CF])\s*\}?(?![a-zA-Z]))?"
)
_IN_DEGREES = re.compile(r"(\d+(?:\.\d+)?)\s*\^\s*(?:\\circ(?![a-zA-Z])|\{\s*\\circ\s*\})")
_ANGLES = re.compile(r"\\?(?:sin|cos|tan|cot|sec|csc)(?![a-z])")


def _renamed(command: re.Match[str]) -> str:
    new, after = _RENAMED.get(command.group(2) or ""), command.string[command.end() :].lstrip()[:1]
    if new is None or (after == "_" and "_" in new):
        return command.group()
    return f"{new} " if new[-1].isalpha() else new


def _commands(text: str) -> str:
    if "\\begin" not in text:
        text = _ESCAPED_TWICE.sub(r"\\", text)
    text = _SPACING.sub(lambda space: "\\\\ " if space.group(1) else "" if space.group() == "\\!" else " ", text)
    text = _STYLE.sub("", _COMMAND.sub(_renamed, text))
    text = _GCD.sub(_of_two, _BLACKBOARD.sub(r"\\mathbb{\1}", text))  # math-verify takes gcd(a, b) of two letters for 1
    text = _ROOT.sub(r"\\sqrt[\1]{\2}", _braced(_CHOOSE.sub(r"\\binom{\1}{\2}", text)))
    text = _IMAGINARY.sub(" i", text)  # after a space, as math-verify expects it
    text = _PRIMES.sub(lambda primes: (primes.group(1) or primes.group(2)).replace(" ", ""), text)
    text = re.sub(r"\^\s*\{\s*\\circ\s*\}", r"^\\circ ", text)
    return _NO_SET.sub(r"\\emptyset ", _LAST_BREAK.sub("", text))


_OF_TWO = re.compile(r"\\(?:frac|binom)(?![a-zA-Z])")
_NAME = re.compile(r"\\[a-zA-Z]+")
_TAKES = {"\\frac": 2, "\\binom": 2, "\\sqrt": 1}  # so many arguments


def _braced(text: str) -> str:
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


def _of_two(numbers: re.Match[str]) -> str:
    return "G_{{c}}({}, {})".format(*sorted(part.strip() for part in numbers.groups()))


def _rows(system: re.Match[str]) -> str:
    """The rows of a system of equations as a list; a matrix or a definition by cases stays."""
    rows = [row.replace("&", " ").strip(" ,;") for row in system.group(2).split("\\\\") if row.strip()]
    several = len(rows) > 1 or system.group(1) in ("array", "cases")
    equations = all("=" in row and not re.search(r"\bif\b|<|>|\\[lg]e(?![a-z])|\\text", row) for row in rows)
    return ", ".join(rows) if equations or not several else system.group()


# ---- numbers ----

_EXPLICIT = re.compile(r"(?<=\d)(?:\\[,;:! ]|\{,\}|\s*,\s*\\!|\\!,|')\s*(?=\d{3}(?!\d))")
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)(?![\d,])")
_REPEATING = re.compile(r"(?<![\d.])(\d*)\.(\d*)\\(?:overline|bar|dot|overbar)\s*(?:\{(\d+)\}|(\d))")
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


def _joined(text: str, listed: bool) -> str:
    """1,000 as 1000, or as the list 1, 000; a comma inside brackets always separates: (3,100) is a pair."""
    if not _GROUPED.search(text):
        return text
    depth = depths(text, braces=False)

    def written(number: re.Match[str]) -> str:
        separate = depth[number.start()] > 0 or (listed and not re.search(",0", number.group()))
        return number.group().replace(",", ", ") if separate else re.sub("[ ,]", "", number.group())

    return _GROUPED.sub(written, text)


def _fraction(number: re.Match[str]) -> str:
    r"""0.1\overline{6} as \frac{15}{90}."""
    whole, fixed, repeated = number.group(1), number.group(2), number.group(3) or number.group(4)
    top = int(f"{whole}{fixed}{repeated}") - int(f"0{whole}{fixed}")
    return f"\\frac{{{top}}}{{{'9' * len(repeated)}{'0' * len(fixed)}}}"


# ---- notation of programs ----

_ARGUMENT = re.compile(r"\d+(?:\.\d+)?|\\[a-zA-Z]+(?:\{[^{}]*\})*|[a-zA-Z]")
_RADICAL = re.compile(r"(?:(√|∛|∜)|(?<![a-zA-Z\\])sqrt|\\sqrt(?=\s*\())\s*")
_NAMED = re.compile(
    r"(?<![a-zA-Z\\{])(pi|(?:arc)?(?:sin|cos|tan)h?|cot|sec|csc|ln|log|exp)(?=[\d(^_]|\s*[\\(]|\s+[a-z]\b|[^a-zA-Z]|$)"
)
_EXPONENT = re.compile(r"\^\s*(-\d+)")
_MULTIPLE = re.compile(
    r"(?<=[\d}])\s*(?P<text>\\text\s*\{\s*)?(?P<word>hundred|thousand|million|billion|trillion)\b\s*(?P<end>\})?"
)
_ZEROS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_ORDINAL = re.compile(r"(?<=\d)\s*(?:\^\s*\{?\s*)?(?:\\text\s*\{\s*)?(?:st|nd|rd|th)\s*\}*$")
_CURRENCY = re.compile(
    r"\A(?P<sign>\\\$|[€£¥₹]|USD|Rs\.?)\s*(?=[\d.\\])(?P<first>.*)|(?P<second>.*\d)\s*(?P<after>\\\$|[€£¥₹])", re.DOTALL
)
_CURRENCIES = {"\\$": "dollars", "USD": "dollars", "€": "euros", "£": "sterling", "¥": "yen"}
_CURRENCIES |= dict.fromkeys(("₹", "Rs", "Rs."), "rs")
_MIXED = re.compile(r"(?<![\w./^}])(\d+) (\d+)/(\d+)(?![\w/])")
_POWER = re.compile(r"\s*\*\*\s*(-?\d+(?:\.\d+)?)?")
_SIGHT = re.compile(r"<=|>=|!=")


def _typed(text: str) -> str:
    """sqrt(2), √2, pi, sin(x), 3 1/2, x**2, 10^-4, <=, 5 million as LaTeX."""
    text = _EXPONENT.sub(r"^{\1}", _MULTIPLE.sub(_multiplied, _ORDINAL.sub("", text)))
    text = _NAMED.sub(r"\\\1 ", _MIXED.sub(r"\1\\frac{\2}{\3}", _radicals(text)))
    if "**" in text:
        text = _POWER.sub(lambda power: "^" + (f"{{{power.group(1)}}}" if power.group(1) else ""), text)
    return _SIGHT.sub(lambda sign: {"<=": r"\le ", ">=": r"\ge ", "!=": r"\ne "}[sign.group()], text)


def _multiplied(multiple: re.Match[str]) -> str:
    r"""5 million as 5 \cdot 10^{6}; in 5 \text{ million dollars} the unit stays in its \text."""
    rest = " \\text{" if multiple["text"] and not multiple["end"] else ""
    return f" \\cdot 10^{{{_ZEROS[multiple['word']]}}}{rest}"


def _priced(amount: re.Match[str]) -> str:
    sign = amount["sign"] or amount["after"]
    return f"{amount['first'] or amount['second']}\\text{{ {_CURRENCIES[sign]}}}"


def _radicals(text: str) -> str:
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


def closing(text: str, start: int) -> int:
    """Index of the bracket that closes the one at `start`; -1 if there is none."""
    ends = {"(": ")", "{": "}", "[": "]"}[text[start]]
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == text[start]) - (text[place] == ends)
        if depth == 0:
            return place
    return -1


# ---- the whole ----

_ASCII = re.compile(r"(?!.*\*\*|.*\d \d)[0-9+\-*/() ]*")
_AROUND = ((r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))
_NO_WORD = re.compile(r"\\(?:text|mathrm)\s*\{(\s*(?:\\?\$|-)?\s*\d[^{}]*|[^{}]*,[^{}]*)\}")  # a number, a list
_INFINITY = re.compile(r"\\text\s*\{\s*([+-]?)\s*infinity\s*\}")
_LABEL = re.compile(r"\A(?:\\text(?:bf)?\s*\{\s*)?\([A-J]\)\s*\}?\s*(?:\\[ ,;:]|~|\\q?quad)*\s*(?=[^\s)}])")
_STATED = re.compile(r"\A(?:the\s+)?(?:final\s+)?answer\s*(?:is|:)\s*|\A\\text\s*\{[^{}]*(?:is|:)\s*\}", re.IGNORECASE)
_PERCENT = re.compile(r"\s*(?:\\?%|\\text\s*\{\s*(?:percent(?:age)?|pct)\s*\}|(?<=[\d })])(?:percent(?:age)?|pct)\b)")
_STOP = re.compile(r"(?<=[^.\s\\])\s*[.,;]$")


@remembered(4 << 20)  # every sample of a problem has the same gold
def undecorated(answer: str, listed: bool = False) -> str:
    r"""An answer without decoration, as LaTeX; 3,100 is a number, or the list 3, 100 if `listed`.

    Its value is that of the answer; a percent sign is dropped as a unit.
    """
    if _ASCII.fullmatch(answer):
        return re.sub(r"\s+", " ", _joined(answer.strip(), listed))
    text = _LABEL.sub("", _DROPPED.sub(" ", _peeled(visible(answer))))
    text = _EXPLICIT.sub("", _characters(_CURRENCY.sub(_priced, text) if len(text) < 80 else text))
    text = _SYSTEM.sub(_rows, _commands(text.replace("\\$", "").replace("...", r"\cdots ")))
    text = text if "\\begin" in text else text.replace("&=", "=")
    text = _joined(_PERCENT.sub("", text).replace("\u066a", ""), listed)
    text = _modulus(_typed(_REPEATING.sub(_fraction, _INFINITY.sub(r"\1\\infty", text))))
    text = _IN_DEGREES.sub(r"\\frac{\1\\pi}{180}", text) if _ANGLES.search(text) else _degrees(text)
    text = re.sub(r"\s+", " ", _peeled(text))
    return text[1:].lstrip() if re.match(r"\+[\d\\.]", text) else text


def _degrees(text: str) -> str:
    r"""The text with degrees at its end as a unit, without degrees elsewhere; 45^\circ 30' stays."""
    if re.search(r"\d\s*'", text):
        return text
    *others, last = [None, *_DEGREES.finditer(text)]
    if last is None or others[1:] or last.end() < len(text.rstrip()):
        return _DEGREES.sub("", text)
    unit = {"C": "celsius", "F": "fahrenheit"}.get(last.group(1) or "", "degrees")
    return f"{text[: last.start()]}\\text{{ {unit}}}"


def _modulus(text: str) -> str:
    r"""The text with a modulus at its end as \pmod{7}."""
    match = _MODULUS.search(text)
    if not match or (match["bare"] and "\\equiv" not in text):
        return text
    value = (match["braced"] or match["bare"]).strip("{} ")
    return f"{text[: match.start()]} \\pmod{{{value}}}"


def _repeats(listed: str) -> bool:
    """Whether a list of words has one twice: True, False, True is a sequence and no set."""
    words = [item.strip() for item in listed.split(",")]
    return len(set(words)) < len(words) and all(word.isalpha() for word in words)


def _peeled(text: str) -> str:
    """An answer without a closing full stop, dollars, brackets of formulas and redundant braces around it."""
    while True:
        before = text
        text = _STATED.sub("", _STOP.sub("", visible(text.strip())), count=1) if text else text
        for opens, closes in _AROUND:
            if len(text) > len(opens) + len(closes) and text.startswith(opens) and text.endswith(closes):
                text = text[len(opens) : -len(closes)]
        if (unworded := _NO_WORD.fullmatch(text)) and not _repeats(unworded.group(1)):
            text = unworded.group(1)
        text = re.sub(r"(?<!\\)\\{1,2}$", "", text)
        if text.startswith("{") and len(text) > 1 and closing(text, 0) == len(text) - 1:
            text = text[1:-1]
        if text == before:
            return text
