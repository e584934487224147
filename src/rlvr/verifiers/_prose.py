r"""Mathematics in prose: each expression that a text writes without dollars counts as a whole.

math-verify finds the answer of a text without a box, but outside LaTeX it reads a number and drops what follows it: 3
for 3 pi, 5 for 5 million, 2 or 3 for 2 2/3. So each expression that is more than a number becomes a number of its own,
its mark, while math-verify looks for the answer.
"""

import re
from functools import cache

from rlvr.verifiers._answer import UNITS
from rlvr.verifiers._atomic import portable

# ---- what one factor is, without spaces ----

_NUMBER = r"(?:(?:\d+(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
_SIGNS = r"[π√∛∜∞θφα-ω²³⁰-⁹½⅓⅔¼¾⅕-⅞ⁿ]"
_NAME = r"(?<![A-Za-z])(?:(?:arc)?(?:sin|cos|tan)h?|sqrt|ln|log|exp|pi)(?![A-Za-z])"
_VARIABLE = r"(?<![A-Za-z'’\\])(?!m[23]\b)(?:[aAI](?! +[A-Za-z])|(?![aAI])[A-Za-z])(?![A-Za-z'’]|\.\w)"
_ARGUMENT = r"\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_COMMAND = rf"\\(?!(?:[fd]?boxed|fbox|begin|end|q?quad|n|newline|item)\b)[A-Za-z]+(?:{_ARGUMENT})*"
_CONTENT = rf"(?:{_NAME}|(?<![A-Za-z])[A-Za-z](?![A-Za-z])|{_COMMAND}|[^A-Za-z()\[\]\n\\=$])*+"
_BRACKET = rf"[(\[](?:{_CONTENT}\({_CONTENT}\))*+{_CONTENT}[)\]]"
_FRACTION = r"\$\\(?:[dt]?frac|sqrt|pi)(?![A-Za-z])[^$\n]*\$|\\\(\\(?:[dt]?frac|sqrt|pi)(?![A-Za-z])[^\n]*?\\\)"
# 3x but not 100m2, 3:4, 45°30', 25_6, 5!/2 but not "5!"
_TAIL = r"(?<=\d)(?![kcdm]?m[23]\b)[A-Za-z]+\d*|(?<=\d):\d+|°(?:\d+['′]?)?|_\w+|!(?=[-+*/^)\w])"
_FACTOR = (
    rf"(?:{_NUMBER}|{_NAME}|{_VARIABLE}|{_SIGNS}|{_COMMAND}|{_BRACKET})"
    rf"(?:{_TAIL}|{_SIGNS}|{_COMMAND}|{_BRACKET}|(?<!\d){_NUMBER})*+"
)

# ---- what joins factors, and what may follow ----

_OPERATOR = r" *(?:\*\*|[<>]=|\\(?:cdot|times|div|pm|l[et]q?|g[et]q?|ne)(?![A-Za-z])|[-+*/^<>−×÷·⋅≤≥≠±]) *[-−]?"
_IN_WORDS = r" +(?:(?:times|plus|minus|over|divided by) +|x +(?=\d))"
_BESIDE = rf"(?<=\d) +(?:and +)?(?=\d+/\d)| +(?={_NAME}|{_VARIABLE}|{_SIGNS}|{_COMMAND})"
_PARTS = "half|halves|quarters?|(?:thir|four|fif|six|seven|eigh|nin|ten|hundred|thousand)ths?|thirds?"
_MANY = "hundred|thousand|[mbtr]+illion|lakh|crore|dozen|squared|cubed|factorial"
_MULTIPLE = rf" +(?:(?:and +an? +)?(?:{_PARTS})|{_MANY})\b"
_ONE_UNIT = rf"(?!in\b)(?:{UNITS})(?:\^?[23]\b|[²³])?"
_UNIT = rf" *\\?%| +(?:percent\b|(?:(?:square|cubic|sq\.?|cu\.?) +)?{_ONE_UNIT}(?:(?: +per +| */ *){_ONE_UNIT})?)"
_EXPRESSION = (
    rf"(?>[-−]?{_FACTOR}(?:(?:{_OPERATOR}|{_IN_WORDS}|{_BESIDE}){_FACTOR}| +(?:{_FRACTION})|{_MULTIPLE})*+(?:{_UNIT})?)"
)
_END = r"(?= *(?:[.;!?](?:\s|$)|\*\*|$))"
_LIST = rf"{_EXPRESSION}(?:(?: +or +{_EXPRESSION})++|(?:(?:,? +and|,? +or|,) +{_EXPRESSION}){{1,40}}+{_END})"
_SEVERAL = rf"{_NUMBER} *{_ONE_UNIT}(?:,? +(?:and +)?{_NUMBER} *(?:{UNITS}))++"  # 5 hours 30 minutes
_LATEX = r"\$\$.+?\$\$|(?<!\\)\$(?! )[^$\n]+(?<![ \\])\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]"


@cache
def _piece() -> re.Pattern[str]:
    """A formula, or an expression in prose. Compiling it takes 0.1 seconds, and most processes judge no text."""
    latex = rf"(?:{_LATEX})(?P<behind>{_MULTIPLE}| +(?:{_FRACTION}))?"
    prose = rf"(?<![\w.\\])(?P<written>{_SEVERAL}|{_LIST}|{_EXPRESSION})"
    return re.compile(portable(f"{latex}|{prose}"), re.MULTILINE | re.DOTALL)


_ONE_NUMBER = re.compile(rf"[(\[]?-?{_NUMBER}[)\]]? *(?:\\?%|percent)?")


def marked(text: str) -> tuple[str, dict[str, str]]:
    """The text with a mark for each expression that is more than a number, and the expressions by mark."""
    expressions: dict[str, str] = {}

    def mark(piece: re.Match[str]) -> str:
        written = piece["written"] or (piece["behind"] and piece.group())
        if not written or not re.search(r"\d", written) or _ONE_NUMBER.fullmatch(written):
            return piece.group()
        number = f"0.7{len(expressions):05d}7"  # no group of three digits, which a number before it could take
        expressions[number] = re.sub(r"\$|\\[()\[\]]", "", written)
        return number

    return _piece().sub(mark, text), expressions
