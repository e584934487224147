"""What a table or figure takes from a paper's defaults, from the item that it is `like`, and from arms and notes."""

import pytest
from conftest import ROOT

from rlvr.config.layers import ConfigError, Layer
from rlvr.planning.paper_items import checked

ARMS = {"grpo": {"label": "GRPO"}, "ace": {"label": "ACE-GRPO"}, "plain": {}}
SCORES = {"title": "Scores", "benchmark": "math-500", "k": [1, 4], "models": ["a"], "rows": ["base", "grpo"]}


def tables_of(tables, **more):
    content = checked(Layer("p/paper.yaml", "", {"arms": ARMS, "tables": tables, **more}), "p").content
    return content["tables"] | content.get("figures", {})


def test_a_row_is_an_arm_with_its_label():
    rows = ["base", "grpo", "plain", "ace-alpha-0.5", {"arm": "ace", "label": "Ours"}]
    made = tables_of({"t": {**SCORES, "rows": rows}})["t"].rows
    assert [row.label for row in made] == ["Base", "GRPO", "plain", "ACE-GRPO", "Ours"]
    assert {row.published for row in made} == {None}


def test_beside_published_numbers_a_method_has_its_rows_label_there():
    own = {"arm": "ace", "reference": "ace/table2.csv"}
    rows = ["grpo", {"arm": "ace", "published": "ACE (ours)"}, {"arm": "plain", "published": None}, own]
    made = tables_of({"t": {**SCORES, "reference": "table1.csv", "rows": rows}})["t"]
    assert [row.published for row in made.rows] == ["GRPO", "ACE (ours)", None, "ACE-GRPO"]
    assert (made.reference, made.rows[3].reference) == ("p/reference/table1.csv", "ace/reference/table2.csv")


def test_an_item_takes_defaults_and_the_keys_of_the_one_that_it_is_like():
    short = {key: value for key, value in SCORES.items() if key not in ("k", "models")}
    tables = {
        "first": {**short, "by_name": True, "reference": "table1.csv"},
        "second": {"like": "first", "title": "Second", "benchmarks": ["aime-2025"], "k": [1]},
        "third": {"like": "second", "title": "Third", "benchmark": "math-500", "reference": None},
        "every": {"like": "first", "title": "Every", "every_arm": True, "kind": "diversity"},
        "form": {"title": "Form", "kind": "analytic", "content": "fade_table1"},
    }
    figures = {"curves": {"title": "Curves", "kind": "pass_at_k_curves", "tables": ["first"]}}
    defaults = {"tables": {"k": [1, 8], "models": ["a"]}, "figures": {"models": ["b"]}}
    made = tables_of(tables, figures=figures, defaults=defaults, notes={"first": "A note.", "form": "Closed."})
    first, second, third, every = (made[name] for name in ("first", "second", "third", "every"))
    assert (first.k, first.models, first.note, first.by_name) == ([1, 8], ["a"], "A note.", True)
    assert (second.k, second.over(), second.note, second.by_name) == ([1], ["aime-2025"], None, False)
    assert second.rows == first.rows and second.reference == first.reference
    assert (third.k, third.over(), third.reference, third.rows) == ([1], ["math-500"], None, first.rows)
    assert every.every_arm and not every.rows and every.models == ["a"], "a kind without k takes none"
    assert made["form"].note == "Closed." and made["curves"].models == [], "a figure of tables has their models"


@pytest.mark.parametrize(
    ("second", "more", "message"),
    [
        ({"like": "frist"}, {}, r"^p/paper.yaml: tables.second.like: unknown table 'frist'; did you mean 'first'"),
        ({"like": "second"}, {}, r"tables.second.like: is circular: second -> second"),
        ({"like": ["first"]}, {}, r"tables.second.like: must be the name of a table \(got \['first'\]\)"),
        ({"liek": "first"}, {}, r"tables.second.liek: unknown key; did you mean 'like'"),
        ({"like": "first", "kk": 1}, {}, r"tables.second.kk: unknown key; did you mean 'k'"),
        ({"like": "first", "rows": [7]}, {}, r"tables.second.rows.0: .*\(got 7\)"),
        ({"like": "first", "kind": "diversitty"}, {}, r"tables.second.kind: unknown kind of tables 'diversitty'"),
        ({"like": "first", "note": "N"}, {"notes": {"second": "M"}}, r"second.note: notes.md has a note too"),
        ({"like": "first"}, {"defaults": {"tables": {"kk": [1]}}}, r"defaults.tables.kk: unknown key of tables 'kk'"),
        ({"like": "first"}, {"defaults": "k"}, r"^p/paper.yaml: defaults: must be a mapping of keys to values"),
        ({"like": "first"}, {"defaults": {"tables": ["k"]}}, r"paper.yaml: defaults.tables: must be a mapping of keys"),
        ({"like": "first"}, {"defaults": {"tables": {"title": "T"}}}, r"defaults.tables.title: unknown key of tables"),
        ({"like": "first"}, {"defaults": {"tables": {"seeds": 2, "matched": 7}}}, r"^p/paper.yaml: defaults.tables.m"),
    ],
)
def test_a_mistake_is_named_where_it_was_written(second, more, message):
    with pytest.raises(ConfigError, match=message):
        tables_of({"first": SCORES, "second": {"title": "Second", **second}}, **more)


def test_a_mistake_in_a_key_that_others_take_is_named_once_in_its_item():
    with pytest.raises(ConfigError, match=r"^p/paper.yaml: tables.first.k.1: [^\n]*\(got 'four'\)$"):
        tables_of({"second": {"title": "Second", "like": "first"}, "first": {**SCORES, "k": [1, "four"]}})


def test_no_papers_file_has_an_anchor_or_a_line_over_120_characters():
    for path in (ROOT / "config/papers").rglob("*.yaml"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert len(line) <= 120 and "<<:" not in line, f"{path}, line {number}"
            assert not [word for word in line.partition(" #")[0].split() if word[0] in "&*" and word[1:].isidentifier()]
