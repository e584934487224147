"""Problems that two sets share: equal after normalisation, or nearly equal by their five-word runs.

Nearly equal is a Jaccard similarity of at least 0.8 between the sets of runs of five words. MinHash with
locality-sensitive hashing (datasketch) proposes pairs; an exact count then checks each, so the result is no estimate.
"""

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
    """The texts of a problems.jsonl by id. A picture counts as a word, so that equal captions differ."""
    by_id = {}
    for row in read_lines(path):
        pictures = [sha256(path.parent / image) for image in row.get("images", ())]
        by_id[row["id"]] = " ".join([row["prompt"], *pictures])
    return by_id


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
    names: dict[str, str] = {}
    for name, text in b.items():
        names.setdefault(normal(text), name)
    return [(name, names[key]) for name, text in a.items() if (key := normal(text)) in names]


def near(a: dict[str, str], b: dict[str, str]) -> list[tuple[str, str, float]]:
    """The pairs of ids with a similarity of at least 0.8, without equal texts, most similar first.

    A text that shares less than 0.8 of its runs with the whole other set is similar to none of it. So only the few
    other texts are hashed: large sets cost about one pass.
    """
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    runs_small = {name: runs(text) for name, text in small.items()}
    runs_large = ((name, runs(text)) for name, text in large.items())
    candidates_large = dict(_reachable(runs_large, frozenset().union(*runs_small.values())))
    candidates_small = dict(_reachable(runs_small.items(), frozenset().union(*candidates_large.values())))
    pairs = []
    for one, other in _proposed(candidates_small, candidates_large):
        similarity = jaccard(candidates_small[one], candidates_large[other])
        if similarity >= SIMILAR and normal(small[one]) != normal(large[other]):
            pairs.append((one, other, similarity) if small is a else (other, one, similarity))
    return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b)


def _reachable(
    candidates: Iterable[tuple[str, frozenset[str]]], others: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    return ((name, phrases) for name, phrases in candidates if len(phrases & others) >= SIMILAR * len(phrases))


def _proposed(a: dict[str, frozenset[str]], b: dict[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    from datasketch import MinHash, MinHashLSH

    def hashed(phrases: frozenset[str]) -> MinHash:
        signature = MinHash(PERMUTATIONS, seed=1)
        signature.update_batch([run.encode() for run in sorted(phrases)])
        return signature

    index = MinHashLSH(threshold=PROPOSED, num_perm=PERMUTATIONS)
    for name, phrases in a.items():
        index.insert(name, hashed(phrases))
    for other, phrases in b.items():
        for name in sorted(map(str, index.query(hashed(phrases)))):
            yield name, other
