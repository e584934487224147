"""Tables in LaTeX: what they say, that every sign has its command, and that they compile within the text's width."""

import re
import shutil
import subprocess

import pandas as pd
import pytest
from conftest import ROOT

from rlvr.items.latex import escape
from rlvr.items.rendered import Rendered
from rlvr.planning.expansion import make_plan
from rlvr.registry import papers

KEPT = sorted((ROOT / "docs" / "results").glob("*/*.md"))
LATEX = shutil.which("pdflatex")
TOLERANCE = 1.0  # points that a line may stand out
WIDE = Rendered(
    "Methods at equal pass@1, and at the common rate",
    "Made at laptop scale. Tiny models.",
    pd.DataFrame(
        [
            [name, "equal pass@1", *["+12.3† [−10.2, +14.5]"] * 14]
            for name in ("GRPO", "GRPO + A-GRAE (code's easy factor)")
        ],
        columns=["Method", "", *(f"@{2**k}" for k in range(10)), "rank", "IQM", "entropy", "different solutions"],
    ),
    ["A note of α ≤ 0.05 & 3 % of the problems; {n} = 2^k_m, ~ \\ and <x>."],
)


def read(path) -> Rendered:
    """A table of the snapshot, from its Markdown."""
    title, scale, *lines = [line for line in path.read_text().splitlines() if line]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
    frame = pd.DataFrame(rows[2:], columns=rows[0])
    return Rendered(title[2:], scale.strip("*"), frame, [line[2:] for line in lines if line.startswith("- ")])


def test_a_table_has_a_short_caption_and_its_notes_below():
    frame = pd.DataFrame({"Method": ["A_1", ""], "": ["ours", "published"], "@1": ["24.5 [21.2, 27.8]", "30 ± 1"]})
    text = Rendered("A title", "Made at laptop scale.", frame, ["50 % of α.", "Another."]).latex()
    assert r"\caption{A title}\\" in text
    assert r"\noindent Made at laptop scale.\par" in text and r"\noindent 50 \% of $\alpha$.\par" in text
    assert r"A\_1 & ours & 24.5 [21.2,~27.8] \\" in text and r" & published & 30 $\pm$ 1 \\" in text
    right, left = text.count(r"\raggedleft"), text.count(r"\raggedright")
    assert (right, left) == (1, 2), "numbers are aligned at the right"


def test_columns_take_the_whole_width_and_those_that_do_not_fit_follow_beside_their_names():
    text = WIDE.latex()
    parts = text.split(r"\begin{longtable}")[1:]
    assert len(parts) > 1 and text.count(r"\caption") == 1
    for part in parts:
        shares = [float(share) for share in re.findall(r"([\d.]+)\\textwidth", part)]
        assert sum(shares) <= 1.001 and "Method &  & " in part
    assert sum(part.count("Method") // 2 for part in parts) == len(parts)
    heads = [re.findall(r"@\d+", part.split("midrule")[0].split("toprule")[1]) for part in parts]
    assert [k for of_part in heads for k in of_part] == [f"@{2**k}" for k in range(10)]


def test_every_sign_of_the_papers_and_of_the_snapshot_has_its_command():
    texts = [path.read_text() for path in KEPT]
    for of in make_plan(ROOT, "smoke", list(papers())).papers.values():
        texts += [str(item.content.title) + str(item.content.note) for item in of.tables.values()]
        texts += [f"{arm.label}" for arm in of.paper.arms.values()]
        texts += [cell.row.label for item in of.tables.values() for cell in item.cells]
    assert {sign for text in texts for sign in escape(text) if not sign.isascii()} == set()


@pytest.mark.skipif(LATEX is None, reason="needs LaTeX: apt-get install texlive-latex-base texlive-latex-recommended")
def test_every_table_compiles_within_the_width_of_a_page(tmp_path):
    """On a page of 5.5 inches, the narrowest; TeX's log says where a line stands out."""
    tables = {"wide": WIDE} | {f"{path.parent.name}/{path.stem}": read(path) for path in KEPT}
    assert all(len(of.frame) for of in tables.values())
    body = "\n".join(f"\\typeout{{TABLE {name}}}\n{of.latex()}\\clearpage" for name, of in tables.items())
    document = (
        "\\documentclass{article}\\usepackage{array,booktabs,longtable}\n"
        f"\\setlength{{\\textwidth}}{{5.5in}}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    )
    (tmp_path / "tables.tex").write_text(document)
    options = ["-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run([LATEX, *options], cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    table, out = "", []
    for line in done.stdout.splitlines():
        table = line.removeprefix("TABLE ") if line.startswith("TABLE ") else table
        found = re.match(r"Overfull \\hbox \(([\d.]+)pt", line)
        if found and float(found.group(1)) > TOLERANCE:
            out.append(f"{table}: {line}")
    assert out == []
