"""A table in LaTeX that fits the width of a page's text and breaks across pages.

Columns are paragraphs: a cell goes on below, between words, where the table would be wider than the text. Where even
the longest words do not fit side by side, the columns follow in several parts, each beside the columns of names.
"""

import re

import pandas as pd

GREEK = {
    **{"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "η": "eta", "θ": "theta", "λ": "lambda"},
    **{"μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "ψ": "psi", "ω": "omega"},
    **{"Δ": "Delta", "Σ": "Sigma"},
}
SIGNS = {letter: rf"$\{name}$" for letter, name in GREEK.items()}
SIGNS |= {"−": "$-$", "±": r"$\pm$", "×": r"$\times$", "→": r"$\to$", "²": "$^2$", "†": r"$\dagger$"}
SIGNS |= {"₁": "$_1$", "₂": "$_2$", "‖": r"$\|$", "√": r"$\surd$", "⊥": r"$^\perp$", "⊗": r"$\otimes$"}
SIGNS |= {"≤": r"$\le$", "≥": r"$\ge$", "≈": r"$\approx$", "·": r"$\cdot$", "…": r"\ldots{}", "–": "--", "’": "'"}
SIGNS |= {"ö": r"\"o", "ü": r"\"u", "ä": r"\"a", "é": r"\'e", "è": r"\`e", "ç": r"\c{c}"}
SIGNS |= {"§": r"\S{}", "°": r"$^\circ$"}
ESCAPES = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$"}
ESCAPES |= {sign: rf"\{sign}" for sign in "%_&#{}$"} | {"|": "$|$", '"': "''"}
COMMANDS = str.maketrans(SIGNS | ESCAPES)
WORDS = r"[ \n]+|(?<=-)"  # where a line may end
TEXT = 397.0  # points: the text of a page with one column, 5.5 inches; on a wider page the columns grow
TIE = "\u00a0"  # a space that no line ends at
GAP = 4.0  # points between columns
EM = 8.5  # points: \footnotesize is 8, and Computer Modern is wider at that size
WIDTHS = {0.28: "ijl.,:;'|![]", 0.4: "tfrsI()-{} " + TIE, 0.5: "0123456789aceogz/†", 0.8: "w+−=<>@×→±", 1.03: "mMW%…"}
WIDTHS |= {0.78: "ABCDEFGHJKLNOPQRSTUVXYZΔΣ"}
WIDTH_OF = {character: width for width, of in WIDTHS.items() for character in of}  # in em, rounded up
OTHERS = 0.57
HEADER = """% needs \\usepackage{{array,booktabs,longtable}}
\\begingroup\\footnotesize\\setlength{{\\tabcolsep}}{{{half}pt}}\\setlength{{\\LTcapwidth}}{{\\textwidth}}
"""


def table(title: str, notes: list[str], frame: pd.DataFrame) -> str:
    """The table below its title, above its notes."""
    cells = frame.astype(str)
    parts = [_part(cells.iloc[:, places], title if first else "") for first, places in _parts(cells)]
    sentences = "\n\n".join(rf"\noindent {escape(note)}\par" for note in notes)
    return HEADER.format(half=f"{GAP / 2:g}") + "\n".join(parts) + f"\n{sentences}\n\\endgroup\n"


def escape(text: str) -> str:
    """The text for LaTeX; formulas between dollars stay as they are."""
    parts = re.split(r"(\$[^$]+\$)", text)
    return "".join(part if i % 2 else part.translate(COMMANDS) for i, part in enumerate(parts))


def _parts(cells: pd.DataFrame) -> list[tuple[bool, list[int]]]:
    """The columns of each part, as many as fit beside those of names, and whether the part is the first."""
    needs = [_longest(cells, i, WORDS) for i in range(cells.shape[1])]
    numbers = [i for i in range(cells.shape[1]) if _is_of_numbers(cells, i)]
    names = list(range(numbers[0])) if numbers and sum(needs) > TEXT else []
    parts = [list(names)]
    for i in range(len(names), cells.shape[1]):
        if len(parts[-1]) > len(names) and names and sum(needs[j] for j in [*parts[-1], i]) > TEXT:
            parts.append(list(names))
        parts[-1].append(i)
    return [(place == 0, part) for place, part in enumerate(parts)]


def _is_of_numbers(cells: pd.DataFrame, column: int) -> bool:
    texts = [text for text in cells.iloc[:, column] if text]
    return sum(bool(re.match(r"[+−-]?[\d.]", text)) for text in texts) > len(texts) / 2


def _longest(cells: pd.DataFrame, column: int, between: str) -> float:
    """The width in points, with its gap, of the longest piece of a column's texts."""
    texts = [str(cells.columns[column]), *cells.iloc[:, column]]
    return GAP + max(_width(piece) for text in texts for piece in re.split(between, _glued(text)))


def _glued(text: str) -> str:
    """An interval is one piece, below its number where both do not fit."""
    return re.sub(r", (?=[^\[\]]*\])", f",{TIE}", text)


def _width(text: str) -> float:
    """An upper bound of a text's width in points, in Computer Modern or Times."""
    return EM * sum(WIDTH_OF.get(character, OTHERS) for character in text)


def _part(cells: pd.DataFrame, title: str) -> str:
    """Some columns as a table that breaks across pages; the space above a row shows where a new name begins."""
    shares = _shares(cells)
    sides = ["left" if _is_of_numbers(cells, i) else "right" for i in range(cells.shape[1])]
    columns = "".join(
        rf">{{\ragged{side}\arraybackslash}}p{{\dimexpr {share:.4f}\textwidth-{GAP:g}pt\relax}}"
        for side, share in zip(sides, shares, strict=True)
    )
    head = ["\\toprule", _row([str(name) for name in cells.columns]), "\\midrule"]
    rows = [list(row) for row in cells.to_numpy()]
    grouped = any(row[0] == "" for row in rows)
    spaces = ["\\addlinespace " if grouped and row[0] and place else "" for place, row in enumerate(rows)]
    return "\n".join(
        [
            f"\\begin{{longtable}}{{{columns}}}",
            *([f"\\caption{{{escape(title)}}}\\\\"] if title else []),
            *(*head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule", "\\endlastfoot"),
            *(space + _row(row) for space, row in zip(spaces, rows, strict=True)),
            "\\end{longtable}",
        ]
    )


def _shares(cells: pd.DataFrame) -> list[float]:
    """Each column's share of the text's width: its longest word, and of the rest by what its longest text lacks."""
    least = [_longest(cells, i, WORDS) for i in range(cells.shape[1])]
    whole = [_longest(cells, i, "$.") for i in range(cells.shape[1])]
    lacks = [most - fewest for fewest, most in zip(least, whole, strict=True)]
    grow = min(1.0, max(0.0, TEXT - sum(least)) / max(sum(lacks), 1.0))
    found = [fewest + grow * lack for fewest, lack in zip(least, lacks, strict=True)]
    return [width / max(TEXT, sum(found)) for width in found]


def _row(texts: list[str]) -> str:
    return " & ".join(escape(_glued(text)).replace(TIE, "~") for text in texts) + r" \\"
