"""Tables of hyper-parameters, from the specification as a stage reads it."""

import json

import pytest
from conftest import ROOT

from rlvr.items import layout
from rlvr.planning.expansion import make_plan
from rlvr.tables import settings
from rlvr.workflow.spec_files import canonical


@pytest.mark.parametrize(("paper", "table"), [("pacs", "table4"), ("pacs", "table5"), ("ace", "table5")])
def test_rows_stand_in_the_papers_order(paper, table):
    plan = make_plan(ROOT, "laptop", [paper])
    content = plan.papers[paper].tables[table].content
    read = json.loads(canonical(layout.of(plan, paper, table).model_dump(mode="json")))
    made = settings.render(settings.TABLE.read(read), ROOT / "config" / "papers" / content.reference)  # type: ignore[attr-defined]
    assert made.frame["Hyperparameter"].tolist() == list(content.rows)  # type: ignore[attr-defined]
    assert list(content.rows) != sorted(content.rows)  # type: ignore[attr-defined]
