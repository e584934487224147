"""A lookup: the score of answers from a memory of other problems, as a baseline that solves nothing.

It answers a problem k times with the golds of the k known problems whose texts are nearest. A set's entry asks for it
by `lookup`, the set that is known.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rlvr import verifiers
from rlvr.records import Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def similarity(texts: Sequence[str], known: Sequence[str]) -> NDArray[np.float64]:
    """The cosine (N, K) of the counts of words in a text and a known text; numbers are words."""
    counts = _counts([*texts, *known])
    norms = np.sqrt(counts.multiply(counts).sum(axis=1))
    unit = counts.multiply(1 / np.maximum(norms, 1)[:, None]).tocsr()
    return (unit[: len(texts)] @ unit[len(texts) :].T).toarray()


def ranks(problems: Sequence[Problem], known: Sequence[Problem], verifier: str) -> list[int]:
    """How many lookups each problem needs until one is correct, from 1 on; 0 where no known gold answers it.

    The verifier judges each known gold as a whole response (`VerifierKind.answer`). Equally near problems come in the
    known set's order.
    """
    kind = verifiers.kind(verifier)
    near_NK = similarity([one.prompt for one in problems], [one.prompt for one in known])
    order_NK = np.argsort(-near_NK.round(12), axis=1, kind="stable")
    answers, found = [kind.answer(one.gold) for one in known], []
    different = set(answers)
    for problem, order_K in zip(problems, order_NK, strict=True):
        right = {answer for answer in different if kind.judge(answer, problem.gold)[0] == "correct"}
        found.append(next((place + 1 for place, i in enumerate(order_K) if answers[i] in right), 0))
    return found


def _counts(texts: Sequence[str]) -> "csr_array":
    from scipy.sparse import csr_array  # verl's environment on a CPU prepares data as well, and has no scipy

    places: dict[str, int] = {}
    rows = [Counter(places.setdefault(word, len(places)) for word in text.split()) for text in texts]
    columns = [place for row in rows for place in row]
    counts = [float(count) for row in rows for count in row.values()]
    return csr_array((counts, columns, np.cumsum([0, *map(len, rows)])), shape=(len(texts), len(places)))
