r"""MATH: the gold is the boxed answer of the original solution, since answer columns of copies are damaged.

Solutions box with \boxed{...}, sometimes \fbox{...}, and some short answers without braces, as in \boxed 5.
"""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.golds import BOXED, boxed

FIELDS = {"prompt": "problem", "gold": "solution", "level": "level"}


def adapt(row: Row, spec: Published) -> Draft:
    gold = boxed(row.text("gold", "no solution"))
    if not gold:
        raise LeftOut("solution boxes nothing")
    level = row.label("level").removeprefix("Level ")  # as in MATH-500
    return Draft(row.text("prompt", "no question"), gold, level, form=BOXED)


ADAPTER = AdapterKind(adapt, FIELDS, optional={"level"})
