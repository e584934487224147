"""A data card: a set's origin, contents and dropped rows, as JSON and as Markdown."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rlvr.config.identity import data_id
from rlvr.config.registries import ADAPTERS
from rlvr.config.schema.models_and_data import LocalData, Mixture, Published, Synthetic
from rlvr.data.published import Tally, fields_of, rows_named
from rlvr.data.rows import DataError
from rlvr.data.sources import SourceFiles
from rlvr.files import publish, publish_json, sha256


class Card(BaseModel):
    """The fields of a card that stages read again; the others stay as they are."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str
    identity: str
    problems: int
    sha256: str
    spec: dict[str, Any]


LICENCE = "Apache-2.0"


def licence_of(spec: Synthetic | Published | Mixture | LocalData) -> str:
    """The licence of a set's entry; for a mixture, each licence with its sets."""
    if isinstance(spec, Published | LocalData):
        return spec.about.licence
    if isinstance(spec, Synthetic):
        return LICENCE
    names: dict[str, list[str]] = {}
    for share in spec.shares:
        names.setdefault(licence_of(share.data), []).append(share.data.name)
    return "; ".join(f"{', '.join(dict.fromkeys(sets))}: {licence}" for licence, sets in names.items())


def of_synthetic(spec: Synthetic, problems: int, demonstrations: int | None) -> dict[str, Any]:
    counts = {} if demonstrations is None else {"demonstrations": demonstrations}
    return (
        _common(spec, f"made by {spec.library or 'this project'}, {licence_of(spec)}") | {"problems": problems} | counts
    )


def of_published(spec: Published, source: SourceFiles, tally: Tally) -> dict[str, Any]:
    return _common(spec, licence_of(spec)) | {
        "source": f"https://huggingface.co/datasets/{spec.repo}",
        "revision": {"asked": spec.revision, "pinned": spec.pinned, "resolved": source.commit},
        "prompts": spec.about.papers,
        "fields": fields_of(spec),
        "files": source.sums,
        "rows": tally.rows,
        "left_out": dict(tally.left_out),
        "left_out_rows": tally.examples,
        "repeated": tally.repeated,
        "contradicting": tally.contradicting,
        "tests_dropped": dict(tally.tests_dropped),
        "forms": dict(tally.forms),
        "problems": tally.problems,
        "demonstrations": tally.demonstrations,
        "expected": spec.problems,
        "differs": None if spec.problems is None else tally.problems != spec.problems,
    }


def of_local(spec: LocalData, problems: int, forms: Mapping[str, int]) -> dict[str, Any]:
    """The card of a file of one's own. `forms`: its problems, by the form of their answer field (rlvr.data.golds)."""
    counts = {"problems": problems, "forms": dict(forms)}
    return _common(spec, licence_of(spec)) | counts | {"file": {"sha256": spec.sha256}}


def of_mixture(spec: Mixture, shares: dict[str, int], demonstrations: int) -> dict[str, Any]:
    counts = {"demonstrations": demonstrations} if demonstrations else {}
    return _common(spec, licence_of(spec)) | {"shares": shares, "problems": sum(shares.values())} | counts


def _common(spec: Synthetic | Published | Mixture | LocalData, licence: str) -> dict[str, Any]:
    return {"name": spec.name, "identity": data_id(spec), "spec": spec.model_dump(mode="json"), "licence": licence}


def read(home: Path) -> dict[str, Any] | None:
    """The card of a prepared set; None if there is none. Raises DataError for a file that is no card."""
    path = home / "card.json"
    if not path.is_file():
        return None
    try:
        return Card.model_validate_json(path.read_bytes()).model_dump()
    except ValidationError as error:
        repair = "prepare this set again, or remove its folder"
        raise DataError(f"{path}: not a card as `rlvr data prepare` writes it; {repair}") from error


def write(out: Path, card: dict[str, Any]) -> None:
    """Write card.json and card.md beside the problems, with their checksum."""
    card = card | {"sha256": sha256(out / "problems.jsonl")}
    publish_json(out / "card.json", card)
    publish(out / "card.md", markdown(card))


def markdown(card: dict[str, Any]) -> str:
    """The card as Markdown, one fact per line."""
    lines = [
        f"# {card['name']}",
        "",
        f"- Problems: {card['problems']}{_expected(card)}",
        f"- Licence: {card['licence']}",
    ]
    if "source" in card:
        lines += _origin(card) + _rows(card)
    lines += [f"- Of {name}: {count}" for name, count in card.get("shares", {}).items()]
    if card.get("forms"):
        counts = ", ".join(f"{form} {count:,}" for form, count in sorted(card["forms"].items()))
        lines.append(f"- Answer fields, by what they hold: {counts}")
    if card.get("golds"):
        lines.append(_golds(**card["golds"]))
    if card.get("demonstrations"):
        lines.append(f"- Demonstrations: {card['demonstrations']}")
    lines.append(f"- SHA-256 of problems.jsonl: {card['sha256']}")
    return "\n".join(lines + _overlap(card)) + "\n"


def _golds(verifier: str, different: int, asked: int, **statuses: int) -> str:
    """The line on golds; `text` counts those that only an answer of the same text equals."""
    counts = ", ".join(f"{name} {count:,}" for name, count in statuses.items())
    return f"- Golds put to the verifier `{verifier}`, each against itself: {asked:,} of {different:,}; {counts}"


def _expected(card: dict[str, Any]) -> str:
    expected = card.get("expected")
    if expected is None:
        return "" if "source" not in card else " (the published number is not stated)"
    return f", as published ({expected})" if not card["differs"] else f"; published: {expected}, so the numbers DIFFER"


def _origin(card: dict[str, Any]) -> list[str]:
    revision, about = card["revision"], card["spec"]["about"]
    resolved = revision["resolved"] or "unknown, since the files were brought along"
    fields = ", ".join(f"{ours} <- {theirs}" for ours, theirs in card["fields"].items())
    lines = [
        f"- Source: {card['source']}",
        f"- Revision: asked {revision['asked']} ({'pinned' if revision['pinned'] else 'not pinned'}), got {resolved}",
        f"- Fields ({card['spec']['adapter']}): {fields}",
        *[f"- File {name}: SHA-256 {digest}" for name, digest in card["files"].items()],
        *[f"- Prompt in {paper}: {prompt}" for paper, prompt in card["prompts"].items()],
    ]
    facts = ADAPTERS.load(card["spec"]["adapter"]).facts
    lines += [f"- {fact}" for fact in facts(card["spec"])] if facts else []
    return lines + [
        f"- {label}: {about[key]}" for key, label in (("defects", "Defects"), ("note", "Note")) if about[key]
    ]


def _rows(card: dict[str, Any]) -> list[str]:
    lines = [f"- Rows read: {card['rows']}; repeated: {card['repeated']}, with another answer: {card['contradicting']}"]
    for reason, count in sorted(card["left_out"].items()):
        lines.append(f"- Left out, {reason}: {count} ({rows_named(card['left_out_rows'][reason], count)})")
    return lines + [f"- Tests dropped, {reason}: {count}" for reason, count in sorted(card["tests_dropped"].items())]


def _overlap(card: dict[str, Any]) -> list[str]:
    if not card.get("overlap"):
        return []
    head = ["", "## Overlap with other prepared sets", "", "| set | equal | near (Jaccard >= 0.8) |", "|---|---|---|"]
    return head + [f"| {name} | {o['equal']} | {o['near']} |" for name, o in sorted(card["overlap"].items())]
