"""The project's English as a list of rules: phrases that slow a reader down, why, and what to write instead.

`make lint` runs it over the pages, and over docstrings, comments and raised messages of the code. It prints a line for
each hit and fails if there is one. Code in a page (fenced, or between backticks) and the targets of links are not read.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "config/README.md", "config/papers/*/*.md", "docs/*.md")
CODE = ("src/rlvr/**/*.py", "workflow/*.py", "workflow/**/*.smk", "workflow/Snakefile", "Snakefile")
RECORDS = ("CHANGELOG.md",)  # dated entries stay as they were written; the log's are below docs/log/
RENDERED = ("config/papers/*/notes.md",)  # committed results print these words
# Not covered yet; drop a line once its text passes.
OUTSIDE_YET = (  # comments and docstrings of code that makes results: they change with its next change
    "src/rlvr/estimators/log_mean_exp.py",
    "src/rlvr/estimators/pacs.py",
    "src/rlvr/estimators/pass_at_k_loo.py",
    "src/rlvr/estimators/rloo.py",
    "src/rlvr/policies/native/model.py",
    "src/rlvr/sampling/engines/",
    "src/rlvr/training/backends/verl/",
    "src/rlvr/verifiers/",
)


@dataclass(frozen=True)
class Rule:
    """A pattern that is looked for without regard to case, in text with one blank between words."""

    name: str
    pattern: str
    write: str
    why: str

    def find(self, text: str) -> Iterator[re.Match[str]]:
        return re.finditer(self.pattern, text, re.IGNORECASE)


COUNTED = r"(?:nats|tokens|s|ms|seconds|minutes|min|GB|GiB|MB|bytes|points|prompts|rollouts|rows?|samples|draws|files?)"
NUMBER = r"(?:\d(?:[\d,.]*\d)?|one|two|three|four)"
EACH = r"(?:step|row|run|(?:mini)?batch|token|prompt|response|problem|group|seed|node|job|process|GPU|arm|claim|item)"
VERB = r"(?:takes|took|needs|has|is|may|can|reads)"  # "the rows a run has" is a clause
FORM = r"(?:found|made|given|known)"
BY_ITSELF = ("is", "are", "was", "were", "be", "let", "left", "leave", "run", "runs", "ran", "measured", "learns")
RULES = (
    Rule(
        "stands",
        r"(?<![-\w])(?:stands?|stood|standing)\b(?!-| in\b| for\b| still\b)",
        "is, are, has, or the verb for what happens",
        "a number or a file does not stand",
    ),
    Rule(
        "alone",
        # Plain: "it runs alone", "alone on the machine", "random seeds alone".
        "".join(rf"(?<!\b{word} )" for word in (*BY_ITSELF, "random seeds"))
        + r"(?<![-\w])alone\b(?! on (?:the|a|its|this)\b)",
        "'only' before the noun, or 'without ...'",
        "a restriction comes before what it restricts",
    ),
    Rule(
        "told from",
        r"\bt(?:old|ell|ells|elling) (?:[\w-]+ ){0,3}from\b",
        "distinguish(ed) from",
        "'told' is read as 'said'",
    ),
    Rule("in place of", r"\bin place of\b", "instead of", "the common phrase is shorter"),
    Rule("takes the place of", r"\bt(?:ook|ake|akes|aking) the place of\b", "replace(s)", "one verb says it"),
    Rule("of which", r"\bof which\b", "a second sentence, or 'whose'", "the subject comes late"),
    Rule("is had", r"\b(?:is|are|was|were|be|been) had\b", "the active 'has'", "plain English has no such passive"),
    Rule(
        "room",
        r"\brooms\b|\b(?:in|of|from|into|per) (?:this|the|its|their|one|each|another) room\b",
        "module, folder, buffer",
        "a thing has its common name",
    ),
    Rule("door", r"(?<![-\w])doors?\b", "entry point, check, or the function's name", "a thing has its common name"),
    Rule("house", r"(?<![-\w])(?:in-)?houses?\b", "project, repository", "a thing has its common name"),
    Rule(
        "a step",
        rf"(?<![-\w])(?:{COUNTED}|{NUMBER}) an? {EACH}\b(?! {VERB}\b)",
        "'per' instead of 'a' (per step, per run)",
        "'a' is read as the start of a new noun",
    ),
    Rule(
        "what that",
        r"\bwhat (?:\w+ ){1,5}that (?:has|have|had|is|are|was|were|no|an?|the)\b",
        "the noun that is meant",
        "'what ... that' nests two clauses",
    ),
    Rule(
        "found",
        rf"\b(?:the|a|each|every|all|of|than|no) {FORM}(?=[.,;:)]| (?:is|are|was|were|has|have|of|and|in|at)\b)",
        "a noun: the result, the file, the known values",
        "a participle is no name of a thing",
    ),
)
NO_PROSE = (
    r"(?<=\n\n)(?:(?: {4}|\t)[^\n]*\n|\n(?= {4}))+",  # an indented block after an empty line
    r"^(`{3,}|~{3,}).*?^\1[^\n]*$",
    r"(`+)(?!`).+?(?<!`)\1(?!`)",
    r"(?<=\]\()[^)\s]+(?=\))",
    r"<!--.*?-->",
)


def page_text(page: str) -> str:
    """The page with blanks for code and for the targets of links; offsets and lines stay."""
    for code in NO_PROSE:
        page = re.sub(code, _blank, page, flags=re.MULTILINE | re.DOTALL)
    return page


def code_text(code: str) -> str:
    """The code with blanks for all but comments, docstrings and what `raise` says; offsets and lines stay."""
    lines = code.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    kept = [char if char == "\n" else " " for char in code]
    starts_statement, raising = True, False
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        prose = token.type == tokenize.STRING and (starts_statement or raising)
        middle = raising and tokenize.tok_name[token.type] == "FSTRING_MIDDLE"
        if token.type == tokenize.COMMENT or prose or middle:
            first = starts[token.start[0] - 1] + token.start[1]
            last = starts[token.end[0] - 1] + token.end[1]
            words = _words(code[first:last], comment=token.type == tokenize.COMMENT)
            beside_code = token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
            kept[first:last] = "#" + words[1:] if beside_code else words  # the sign ends what is above
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            raising = token.string == "raise" if starts_statement else raising and token.type != tokenize.NEWLINE
            starts_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    return "".join(kept)


def _words(source: str, *, comment: bool) -> str:
    """A comment without its sign, or a string without quotes, code and fields."""
    if comment:
        return re.sub(r"`[^`\n]*`", _blank, " " + source[1:])
    source = re.sub(r"^[rfbRFB]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", _blank, source)
    return re.sub(r"`[^`]*`|\{[^{}\n]*\}", _blank, source)


def _blank(match: re.Match[str]) -> str:
    """As many signs that no rule reads; line breaks stay."""
    return re.sub(r"[^\n]", "·", match[0])


def hits(text: str) -> list[tuple[int, Rule, str]]:
    """Line, rule and words of each hit, in the order of the text. No hit goes across an empty line."""
    words, lines = _in_one_line(text)
    matches = [(match.start(), rule, match[0]) for rule in RULES for match in rule.find(words)]
    return [(lines[start], rule, match) for start, rule, match in sorted(matches, key=lambda hit: hit[0])]


def _in_one_line(text: str) -> tuple[str, list[int]]:
    """The text with one blank for white space, or a line break for an empty line; and the line of each character."""
    words, lines, line = [], [], 1
    for part in re.findall(r"\s+|\S+", text):
        piece = ("\n" if part.count("\n") > 1 else " ") if part.isspace() else part
        line += part.count("\n")
        words.append(piece)
        lines.extend([line] * len(piece))
    return "".join(words), lines


def files() -> list[Path]:
    """The files that the rules hold, without OUTSIDE_YET."""
    every = sorted({path for pattern in (*PAGES, *CODE) for path in ROOT.glob(pattern)})
    return [
        path
        for path in every
        if not str(path.relative_to(ROOT)).startswith((*OUTSIDE_YET, *RECORDS))
        and not any(path.match(pattern) for pattern in RENDERED)
    ]


def check(path: Path) -> list[str]:
    """A line for each hit in a file."""
    text = path.read_text()
    text = page_text(text) if path.suffix == ".md" else code_text(text)
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return [f"{name}:{line}: '{words}': write {rule.write}; {rule.why}" for line, rule, words in hits(text)]


if __name__ == "__main__":
    lines = [line for path in [Path(name).resolve() for name in sys.argv[1:]] or files() for line in check(path)]
    print("\n".join([*lines, f"English: {len(lines)} hits"]))
    sys.exit(bool(lines))
