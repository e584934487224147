"""A paper is a folder of config/papers/: paper.yaml, perhaps claims.yaml and scales.yaml, and published tables."""

from dataclasses import replace
from pathlib import Path

from rlvr.config.layers import ConfigError, Layer, read_yaml
from rlvr.words import nearest

PAPERS = "papers"
FILES = PAPER, CLAIMS, SCALES = "paper.yaml", "claims.yaml", "scales.yaml"


def names(folder: Path) -> list[str]:
    """The papers of a configuration folder."""
    return sorted(path.parent.name for path in (folder / PAPERS).glob(f"*/{PAPER}"))


def read(folder: Path, name: str, root: Path) -> Layer:
    """The content of a paper's two files; a place in the claims names the second one."""
    path = folder / PAPERS / name / PAPER
    if name not in names(folder):
        file = path.relative_to(root) if path.is_relative_to(root) else path
        raise ConfigError(f"{file}: no such file{nearest(name, names(folder))}")
    paper = read_yaml(path, root)
    if "claims" in paper.content:
        raise ConfigError(f"{paper.place(('claims',))}: move this key to {CLAIMS}, a file beside this one")
    if not path.with_name(CLAIMS).is_file():
        return paper
    claims = read_yaml(path.with_name(CLAIMS), root)
    for key in claims.content:
        if key != "claims":
            raise ConfigError(f"{claims.place((key,))}: unknown key{nearest(key, ['claims'])}")
    return replace(paper, content=paper.content | claims.content, files={"claims": claims.file})


def read_scales(folder: Path, name: str, root: Path) -> Layer | None:
    """What a paper has at each scale, beside the scale's own; None without such a file."""
    path = folder / PAPERS / name / SCALES
    return read_yaml(path, root) if path.is_file() else None


def reference(paper: str, name: str) -> str:
    """The path below config/papers/ of a published table: `table1.csv` of the paper itself, `ace/table1.csv` of ACE."""
    of, _, file = name.rpartition("/")
    return f"{of or paper}/reference/{file}"
