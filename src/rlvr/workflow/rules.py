"""The names of the rules that a cluster runs as jobs, read from the rule files."""

import re
from pathlib import Path


def names(folder: Path) -> list[str]:
    """The rules that call `cluster("<name>", ...)`; other rules only collect files."""
    texts = (path.read_text() for path in sorted(folder.glob("*.smk")))
    return sorted({name for text in texts for name in re.findall(r'\bcluster\("([\w.]+)"', text)})
