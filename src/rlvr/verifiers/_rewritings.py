r"""How an answer is written: as LaTeX that math-verify reads, with its meaning unchanged.

`undecorated` applies the rewritings of one table, in its order. Each has its reason and its cases, which a test
applies. Nothing here computes. docs/grading.md has a row per decision.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from rlvr.verifiers import _notation as notation
from rlvr.verifiers._latex import braced, radicals
from rlvr.verifiers.memory import remembered


class Rewriting(NamedTuple):
    """A rewriting, why it is needed, and cases: a text before and after it. `hints`: one of them must be in a text."""

    why: str
    apply: Callable[[str], str]
    cases: tuple[tuple[str, str], ...]
    hints: tuple[str, ...] = ()


def _sub(pattern: str, by: str | Callable[[re.Match[str]], str], flags: int = 0) -> Callable[[str], str]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.sub(by, text)


_END = r"(?![a-zA-Z])"  # of a command
_TEXT = r"\\(?:text|mathrm|textrm|mbox|operatorname)\s*"

# ---- the table ----

R = Rewriting
REWRITINGS = (
    R(
        "NFKC would make \N{DOUBLE-STRUCK CAPITAL R} an R",
        notation.before_nfkc,
        (("x‑1", "x-1"), ("ℝ", r"\mathbb{R}"), ("١٢", "12")),
    ),
    R(
        "what surrounds an answer",
        notation.peeled,
        (("$5$.", "5"), (r"\(5\)", "5"), ("{{5}}", "5"), ("The answer is 5", "5")),
    ),
    R(
        "marks and labels in front of an answer or behind it",
        _sub(
            r"\\(?:color|textcolor|hspace|vspace|tag|vphantom|phantom)\*?\s*\{[^{}]*\}|\\kern\s*-?[\d.]+\s*[a-z]{2}|</?s>"
            r"|<\|\w+\|>|[✓✔✅□■]|\\(?:checkmark|blacksquare|qed)(?![a-zA-Z])|\A\s*(?:(?:\\(?:Rightarrow|implies|to|therefore)"
            r"(?![a-zA-Z])|[→⇒∴]|#{2,})\s*)+",
            " ",
        ),
        ((r"\textcolor{red}{5}", " {5}"), (r"42 ✓", "42  ")),
    ),
    R(
        "the letter of a choice in front of its value",
        _sub(r"\A(?:\\text(?:bf)?\s*\{\s*)?\([A-J]\)\s*\}?\s*(?:\\[ ,;:]|~|\\q?quad)*\s*(?=[^\s)}])", ""),
        ((r"\textbf{(E)}\ 10", "10"), ("(A)", "(A)")),
        ("(",),
    ),
    R(
        "a currency in front is a unit behind",
        notation.money,
        (("€12", r"12\text{ euro}"), (r"\text{Rs. }18", r"18\text{ rupee}"), (r"\yen 18", "18")),
    ),
    R(
        "signs of Unicode",
        notation.characters,
        (("3²", "3^{2}"), ("x₁", "x_{1}"), ("≤", r"\le "), ("½", r"\frac{1}{2}")),
    ),
    R(
        "separators of thousands",
        _sub(r"(?<=\d)(?:\\[,;:! ]|\{,\}|\s*,\s*\\!|\\!,|')\s*(?=\d{3}(?!\d))", ""),
        ((r"1\,000", "1000"), ("1{,}000", "1000")),
    ),
    R("am and pm", _sub(r"\b([ap])\.\s?m\.?(?![a-z])", r"\1m"), (("3:30 p.m.", "3:30 pm"),), (".m", ". m")),
    R(
        "a number in words in front of its unit",
        _sub(r"\A\\text\s*\{\s*(-?\d[\d.,]*)\s*\}(?!\s*[\d.,/^_])", r"\1"),
        ((r"\text{12}\ \text{cm}", r"12\ \text{cm}"),),
        ("\\text",),
    ),
    R(
        "a bar over all digits",
        _sub(r"\A\\overline\s*\{(\d+)\}\Z", r"\1"),
        ((r"\overline{204}", "204"),),
        ("\\overline",),
    ),
    R(
        "cis",
        _sub(
            r"(?:\\(?:operatorname|text|mathrm)\s*\{\s*cis\s*\}|\\?\bcis(?![a-z]))\s*(\([^()]*\)|\\?[\w.]+(?:\{[^{}]*\})*(?:\^\s*\\circ)?)",
            r"(\\cos \1 + i \\sin \1)",
        ),
        ((r"2\operatorname{cis}(x)", r"2(\cos (x) + i \sin (x))"),),
        ("cis",),
    ),
    R("a colon in braces", lambda text: text.replace("{:}", ":"), (("3{:}45", "3:45"),), ("{:}",)),
    R("dollars", lambda text: text.replace("\\$", ""), ((r"\$5", "5"),), ("$",)),
    R("dots", lambda text: text.replace("...", r"\cdots "), (("1, 2, ...", r"1, 2, \cdots "),), ("...",)),
    R(
        "escaped twice, as in JSON within JSON",
        lambda text: text if "\\begin" in text else re.sub(r"\\\\(?=[a-zA-Z])", r"\\", text),
        ((r"\\frac12", r"\frac12"),),
        ("\\\\",),
    ),
    R(
        "spaces and sizes",
        _sub(
            r"(\\\\)(?:\s*\[[-\d.]+\s*(?:pt|ex|em|mm|cm)\])?|\\!|\\[,;:> ]|~"
            r"|\\(?:left|right)\s*\.|\\(?:left|right|[bB]igg?[lr]?|q?quad|enspace|thinspace|(?:display|text)style|limits|hline)"
            rf"{_END}",
            lambda space: "\\\\ " if space.group(1) else "" if space.group() == "\\!" else " ",
        ),
        ((r"\left(1,\,2\right)", " (1, 2 )"), (r"1\\[2pt]2", r"1\\ 2")),
        ("\\", "~"),
    ),
    R(
        "one name for a command",
        _sub(r"(\\\\)|\\([a-zA-Z]+)", notation.renamed),
        ((r"\dfrac12", r"\frac 12"), (r"\leq 2", r"\le  2")),
        ("\\",),
    ),
    R(
        "fonts",
        _sub(
            r"\\(?:mathbf|boldsymbol|bm|mathit|mathsf|mathnormal|mathstrut|underline|textup|texttt|textsf|emph|bf|it|sf|tt|rm"
            rf"|textcircled|tiny|small|large|Large|LARGE|huge|Huge){_END}\s*",
            "",
        ),
        ((r"\mathbf{5}", "{5}"), (r"\bf 5", "5")),
        ("\\",),
    ),
    R(
        "blackboard bold needs braces",
        _sub(r"\\mathbb\s+([A-Z])", r"\\mathbb{\1}"),
        ((r"\mathbb R", r"\mathbb{R}"),),
        ("\\mathbb ",),
    ),
    R(
        "math-verify takes gcd(a, b) of two letters for 1",
        _sub(r"\\gcd\s*\((?=[^()]*[a-z])([^(),]*),([^(),]*)\)", notation.of_two),
        ((r"\gcd(n,m)", "G_{c}(m, n)"),),
        ("\\gcd",),
    ),
    R(
        r"\choose",
        _sub(rf"(?:\{{|\A)([^{{}}]*)\\choose{_END}([^{{}}]*)(?:\}}|\Z)", r"\\binom{\1}{\2}"),
        ((r"{10 \choose 3}", r"\binom{10 }{ 3}"),),
        ("\\choose",),
    ),
    R(
        r"math-verify reads \frac\pi3 as another number",
        braced,
        ((r"\frac\pi3", r"\frac{\pi}{3}"),),
        ("\\frac", "\\binom"),
    ),
    R(
        "roots without braces",
        _sub(r"\\sqrt\s*\[(\w+)\]\s*(\w)(?!\w)", r"\\sqrt[\1]{\2}"),
        ((r"\sqrt[3]4", r"\sqrt[3]{4}"),),
        ("\\sqrt",),
    ),
    R(
        "upright e and i, and i after a space, as math-verify expects it",
        _sub(
            r"\\(?:text|mathrm|textrm|operatorname)(?:\s*\{\s*([ei])\s*\}|\s+([ei])(?![a-zA-Z]))|(?<=[\d})])(i)(?![a-zA-Z{])",
            notation.upright,
        ),
        ((r"\mathrm{e}^2", "e^2"), (r"e^{\mathrm{e}}", "e^{e}"), ("3+4i", "3+4 i"), (r"5\mathrm{i}", "5 i")),
    ),
    R(
        "primes",
        _sub(r"\^\s*(?:\{\s*('[ ']*)\}|('+))", lambda m: (m.group(1) or m.group(2)).replace(" ", "")),
        (("f^{''}", "f''"),),
        ("'",),
    ),
    R(
        "a fraction of units",
        _sub(rf"\\frac\{{\s*({_TEXT}\{{[^{{}}]*\}}[^{{}}]*)\}}\{{\s*({_TEXT}\{{[^{{}}]*\}}[^{{}}]*)\}}", r"\1/\2"),
        ((r"\frac{\text{m}}{\text{s}^2}", r"\text{m}/\text{s}^2"),),
        ("\\frac",),
    ),
    R("degrees in braces", _sub(r"\^\s*\{\s*\\circ\s*\}", r"^\\circ "), ((r"60^{\circ}", r"60^\circ "),), ("\\circ",)),
    R("a last row break", _sub(r"\\\\\s*(?=\\end\{)", ""), ((r"1\\ \end{pmatrix}", r"1\end{pmatrix}"),), ("\\end",)),
    R(
        "small matrices",
        _sub(r"\\(begin|end)\{smallmatrix\}", r"\\\1{matrix}"),
        ((r"\begin{smallmatrix}", r"\begin{matrix}"),),
        ("smallmatrix",),
    ),
    R("empty braces are the empty set", _sub(r"\\\{\s*\\\}", r"\\emptyset "), ((r"\{ \}", r"\emptyset "),), ("\\{",)),
    R(
        "a system of equations is its list",
        _sub(
            r"(?:\\left\s*)?(?:\\\{)?\s*\\begin\{(aligned|align\*?|gathered|split|cases|eqnarray\*?|array)\}"
            r"(?:\{[lcr ]*\})?(.*?)\\end\{\1\}\s*(?:\\right\s*\.)?",
            notation.rows,
            re.DOTALL,
        ),
        ((r"\begin{cases}x=3\\y=4\end{cases}", "x=3, y=4"),),
        ("\\begin",),
    ),
    R(
        "an aligned equation",
        lambda text: text if "\\begin" in text else text.replace("&=", "="),
        (("x &= 5", "x = 5"),),
        ("&=",),
    ),
    R(
        "connectives of other languages",
        _sub(
            rf"(?:\\text\s*\{{\s*)?(?:{notation.OR}|(?P<and>{notation.AND}))(?:\s*\}})?",
            lambda m: "\\text{ and }" if m["and"] else "\\text{ or }",
        ),
        (("3或4", r"3\text{ or }4"), ("3 oder 4", r"3 \text{ or } 4"), ("3和4", r"3\text{ and }4")),
        ("或", "和", "与", "及", "、", " oder", " und ", " или ", " и ", "또는", "그리고", "または"),
    ),
    R(
        "a remark is no part of an answer",
        _sub(r"(?<=\S)\s*\\text\s*\{\s*\(?\s*(?:since|because|as in|i\.e\.|e\.g\.)\b.*", "", re.DOTALL),
        ((r"12 \text{ (since } 3 \cdot 4 = 12)", "12"),),
        ("\\text",),
    ),
    R(
        "a quantifier in front",
        _sub(r"\A(?:\\forall|\\text\s*\{\s*[Ff]or (?:all|every|any)\b)[^,=]*?,\s*(?=[^,]*=)", ""),
        ((r"\forall x \in \mathbb{R}, f(x)=2x", "f(x)=2x"), (r"\text{For all } x, f(x)=2x", "f(x)=2x")),
        ("\\forall", "or "),
    ),
    R(
        "approximately in words",
        _sub(r"\A\\text\s*\{\s*(?:approximately|approx\.?|about|around)\s*\}", r"\\approx "),
        ((r"\text{about }3", r"\approx 3"),),
        ("\\text",),
    ),
    R(
        "brackets that point outwards are open ends",
        _sub(
            r"([\[\]])([^\[\](),]+),([^\[\](),]+)([\[\]])",
            lambda m: "{}{},{}{}".format(
                "[" if m.group(1) == "[" else "(", m.group(2), m.group(3), "]" if m.group(4) == "]" else ")"
            ),
        ),
        (("]2,5[", "(2,5)"), ("[2,5[", "[2,5)")),
        ("]", "["),
    ),
    R(
        "lists of rows are a matrix",
        _sub(r"\A\[\s*((?:\[[^\[\]]*\]\s*,?\s*)+)\]\Z", notation.matrix),
        (("[[1,2],[3,4]]", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),),
        ("[[",),
    ),
    R(
        "the ratio 3 to 4",
        _sub(r"(?<=\d)\s*(?:\\text\s*\{\s*to\s*\}|\bto\b)\s*(?=\d)", ":"),
        ((r"3 \text{ to } 4", "3:4"),),
        ("to",),
    ),
    R(
        "real roots of odd degree",
        _sub(r"\\sqrt\s*\[([3579])\]\s*\{\s*-\s*(\d+)\s*\}", r"(-\\sqrt[\1]{\2})"),
        ((r"\sqrt[3]{-8}", r"(-\sqrt[3]{8})"),),
        ("\\sqrt",),
    ),
    R(
        "a percent sign is a unit",
        _sub(r"\s*(?:\\?%|\\text\s*\{\s*(?:percent(?:age)?|pct)\s*\}|(?<=[\d })])(?:percent(?:age)?|pct)\b)", ""),
        ((r"5\%", "5"), ("5 percent", "5")),
        ("%", "p"),
    ),
)
# Behind the numbers that `joined` writes.
REWRITINGS_OF_NUMBERS = (
    R(
        "infinity in words",
        _sub(r"\\text\s*\{\s*([+-]?)\s*infinity\s*\}", r"\1\\infty"),
        ((r"\text{infinity}", r"\infty"),),
        ("infinity",),
    ),
    R(
        "a repeating decimal is a fraction",
        _sub(
            r"(?<![\d.])(?P<whole>\d*)\.(?P<fixed>\d*?)(?P<repeated>\\(?:overline|bar|overbar|underline)\s*(?:\{\d+\}|\d)"
            r"|\\dot\s*(?:\{\d\}|\d)(?:\d*\\dot\s*(?:\{\d\}|\d))?|\(\d+\))",
            notation.fraction,
        ),
        (
            (r"0.1\overline{6}", r"\frac{15}{90}"),
            ("0.(3)", r"\frac{3}{9}"),
            (r"0.\dot{1}42\dot{7}", r"\frac{1427}{9999}"),
        ),
        (".",),
    ),
    R(
        "a repeating decimal with dots",
        _sub(
            r"(?<![\d.])(?P<whole>\d*)\.(?P<fixed>\d*?)(?P<repeated>\d+?)(?P=repeated){2,}\s*\\cdots\s*\Z",
            notation.fraction,
        ),
        ((r"0.333\cdots", r"\frac{3}{9}"),),
        ("\\cdots",),
    ),
    R(
        "math-verify's double factorial recurses without end",
        _sub(r"(?<![\w.!)}])(\d{1,5})!!(?!!)", notation.twice),
        (("6!!", r"(2^{3} \cdot 3!)"),),
        ("!!",),
    ),
    R(
        "an ordinal number",
        _sub(r"(?<=\d)\s*(?:\^\s*\{?\s*)?(?:\\text\s*\{\s*)?(?:st|nd|rd|th)\s*\}*$", ""),
        (("12th", "12"), (r"12^{\text{th}}", "12")),
    ),
    R(
        "a word that multiplies",
        _sub(
            r"(?<=[\d}])\s*(?P<text>\\text\s*\{\s*)?(?P<word>hundred\b|thousand\b|[mbtr]+illion\b|[十百千万萬만亿億억](?![米克瓦升]))\s*(?P<end>\})?",
            notation.multiplied,
        ),
        (("5 million", r"5 \cdot 10^{6}"), ("2.5万", r"2.5 \cdot 10^{4}")),
    ),
    R("a negative exponent", _sub(r"\^\s*(-\d+)", r"^{\1}"), (("10^-4", "10^{-4}"),), ("^",)),
    R("program notation of roots", radicals, (("√2", r"\sqrt{2}"), ("sqrt(2)", r"\sqrt{2}")), ("√", "∛", "∜", "sqrt")),
    R(
        "a mixed number",
        _sub(r"(?<![\w./^}])(\d+) (\d+)/(\d+)(?![\w/])", r"\1\\frac{\2}{\3}"),
        (("3 1/2", r"3\frac{1}{2}"),),
        ("/",),
    ),
    R(
        "names of functions without a backslash",
        _sub(
            r"(?<![a-zA-Z\\{])(pi|(?:arc)?(?:sin|cos|tan)h?|cot|sec|csc|ln|log|exp)"
            r"(?=[\d(^_]|\s*[\\(]|\s+[a-z]\b|[^a-zA-Z]|$)",
            r"\\\1 ",
        ),
        (("2pi", r"2\pi "), ("sin(x)", r"\sin (x)")),
    ),
    R(
        "a power as in a program",
        _sub(r"\s*\*\*\s*(-?\d+(?:\.\d+)?)?", lambda m: "^" + (f"{{{m.group(1)}}}" if m.group(1) else "")),
        (("x**2", "x^{2}"),),
        ("**",),
    ),
    R(
        "math-verify reads a decimal exponent as inexact",
        _sub(r"\^\s*(?:\{\s*0?\.5\s*\}|0?\.5(?!\d))", r"^{\\frac{1}{2}}"),
        (("5^{0.5}", r"5^{\frac{1}{2}}"),),
        (".5",),
    ),
    R(
        "relations as in a program",
        _sub(r"<=|>=|!=", lambda m: {"<=": r"\le ", ">=": r"\ge ", "!=": r"\ne "}[m.group()]),
        (("x<=2", r"x\le 2"),),
        ("=",),
    ),
    R("a modulus", notation.modulus, ((r"3 (mod 7)", r"3 \pmod{7}"),), ("mod",)),
    R(
        "degrees",
        notation.degrees,
        ((r"60^\circ", r"60\text{ degrees}"), (r"\sin 30^\circ", r"\sin \frac{30\pi}{180}")),
        ("\\circ",),
    ),
    R("what surrounds an answer, again", notation.peeled, (("5.", "5"),)),
    R("white space", lambda text: " ".join(text.split()), (("1  2", "1 2"),)),
    R("a plus sign in front", _sub(r"\A\+\s*(?=[\d\\.])", ""), (("+5", "5"),), ("+",)),
)

_ASCII = re.compile(r"(?!.*\*\*|.*\d \d)[0-9+\-*/() ]*")


def _rewritten(text: str, table: tuple[Rewriting, ...]) -> str:
    for one in table:
        if not one.hints or any(hint in text for hint in one.hints):
            text = one.apply(text)
    return text


@remembered(4 << 20)  # every sample of a problem has the same gold
def undecorated(answer: str, listed: bool = False) -> str:
    r"""An answer without decoration, as LaTeX; 3,100 is a number, or the list 3, 100 if `listed`.

    Its value is that of the answer; a percent sign is dropped as a unit.
    """
    if _ASCII.fullmatch(answer):
        return re.sub(r"\s+", " ", notation.joined(answer.strip(), listed))
    return _rewritten(notation.joined(_rewritten(answer, REWRITINGS), listed), REWRITINGS_OF_NUMBERS)
