"""Problems that two sets share: equal after normalisation, or nearly equal by their five-word runs.

Nearly equal is a Jaccard similarity of at least 0.8 between the sets of runs of five words. MinHash with
locality-sensitive hashing (datasketch) proposes pairs; each is then counted exactly, so that what is reported is no
estimate.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from rlvr.files import read_lines, sha256

SIMILAR = 0.8
WORDS = 5
PERMUTATIONS = 128
# At its own threshold LSH finds only about half of the pairs. With 0.5 it finds over 99.9 % of those at 0.8, and the
# exact count afterwards drops the others.
PROPOSED = 0.5

_WORD = re.compile(r"\d+\.\d+|[^\W_]+|[-=+*/^<>]")


def texts(path: Path) -> dict[str, str]:
    """The problems of a problems.jsonl, id -> text. A picture counts as a word, so that equal captions differ."""
    found = {}
    for row in read_lines(path):
        pictures = [sha256(path.parent / image) for image in row.get("images", ())]
        found[row["id"]] = " ".join([row["prompt"], *pictures])
    return found


def normal(text: str) -> str:
    """Letters, digits and operators, without case, spacing, punctuation and the marks of LaTeX."""
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def runs(text: str) -> frozenset[str]:
    """The five-word runs of a text; a shorter text is one run."""
    words = _words(text)
    return frozenset(" ".join(words[i : i + WORDS]) for i in range(max(1, len(words) - WORDS + 1)))


def equal(a: dict[str, str], b: dict[str, str]) -> list[tuple[str, str]]:
    """The pairs of ids whose texts are equal after normalisation; each of `a` with the first such of `b`."""
    known: dict[str, str] = {}
    for name, text in b.items():
        known.setdefault(normal(text), name)
    return [(name, known[key]) for name, text in a.items() if (key := normal(text)) in known]


def near(a: dict[str, str], b: dict[str, str]) -> list[tuple[str, str, float]]:
    """The pairs of ids with a similarity of at least 0.8, equal texts not among them, in order of similarity.

    A text that shares less than 0.8 of its runs with the other set as a whole is similar to none of it, so only the few
    others are hashed: large sets cost about a pass.
    """
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    runs_small = {name: runs(text) for name, text in small.items()}
    kept_large = dict(_reachable(((n, runs(t)) for n, t in large.items()), frozenset().union(*runs_small.values())))
    kept_small = dict(_reachable(runs_small.items(), frozenset().union(*kept_large.values())))
    found = []
    for one, other in _proposed(kept_small, kept_large):
        similarity = jaccard(kept_small[one], kept_large[other])
        if similarity >= SIMILAR and normal(small[one]) != normal(large[other]):
            found.append((one, other, similarity) if small is a else (other, one, similarity))
    return sorted(found, key=lambda pair: (-pair[2], pair[:2]))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b)


def _reachable(
    candidates: Iterable[tuple[str, frozenset[str]]], others: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    return ((name, found) for name, found in candidates if len(found & others) >= SIMILAR * len(found))


def _proposed(a: dict[str, frozenset[str]], b: dict[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    from datasketch import MinHash, MinHashLSH

    def hashed(found: frozenset[str]) -> MinHash:
        made = MinHash(PERMUTATIONS, seed=1)
        made.update_batch([run.encode() for run in sorted(found)])
        return made

    index = MinHashLSH(threshold=PROPOSED, num_perm=PERMUTATIONS)
    for name, found in a.items():
        index.insert(name, hashed(found))
    for other, found in b.items():
        for name in sorted(map(str, index.query(hashed(found)))):
            yield name, other
