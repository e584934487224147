"""ACE's table across benchmarks."""

from conftest import ROOT

from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan


def test_the_table_of_ace_reuses_what_tables_1_and_2_evaluate():
    plan = make_plan(ROOT, "paper", ["ace"])
    made = plan.papers["ace"]
    item = made.tables["benchmarks"]
    assert set(item.scored()) == {*made.tables["table1"].scored(), *made.tables["table2"].scored()}
    assert "benchmarks" not in made.paper.core.tables
    layout = layout_of(plan, "ace", "benchmarks")
    assert [panel.name for panel in layout.panels] == ["math-500", "aime-2025"]
    assert set(layout.panels[0].evaluations) == set(item.content.models)
