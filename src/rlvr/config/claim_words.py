"""Claims as a paper's file has them, in the direction of their sentences, become the contrasts that are evaluated.

An entry is a claim, or several that share keys: `each` has their own keys by name. A claim compares sides (`greater:
{left: mine, right: grpo}`) over a table or figure, or over a part of it (`over: {table: table1, k: [32]}`).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

from rlvr.config.layers import ConfigError, Layer
from rlvr.config.schema.items import PART_OF_A_CLAIM, Claim, Over, Sides
from rlvr.config.validate import validate
from rlvr.suggest import nearest

PREDICATES = get_args(Claim.model_fields["predicate"].annotation)
SWAPPED = {"less": "greater", "not_above": "not_below", "shrinks": "slope", "falls_below": "crossing"}
CHANGES = {"rises": 1.0, "falls": -1.0}  # of one arm, from the part `since` to the part `during`
WORDS = (*PREDICATES, *SWAPPED, *CHANGES)
KEYS = ("name", "says", "place", "of", "about", "over", "margin", "at_least", "own_models", "published", *WORDS)
EACH = "each"


def checked(layer: Layer) -> Layer:
    """A paper's layer with its claims, each checked; what is no list of mappings stays, and the schema reports it."""
    claims = layer.content.get("claims")
    if not isinstance(claims, list) or not all(isinstance(entry, dict) for entry in claims):
        return layer
    entries = (layer.below(f"claims.{i}", entry) for i, entry in enumerate(claims))
    return layer.with_keys(claims=[_claim(layers, layer) for entry in entries for layers in _layers(entry)])


def _layers(entry: Layer) -> Iterator[list[Layer]]:
    """The layers of each claim of an entry: the keys that all of them have, then its own."""
    if EACH not in entry.content:
        yield [entry]
        return
    common = replace(entry, content={key: value for key, value in entry.content.items() if key != EACH})
    each = entry.below(EACH, entry.content[EACH])
    if not isinstance(each.content, dict):
        raise ConfigError(f"{each.place()}: must be a mapping of names to keys (got {each.content!r})")
    for name, content in each.content.items():
        own = each.below(name, content)
        if not isinstance(content, dict):
            raise ConfigError(f"{own.place()}: must be a mapping of keys to values (got {content!r})")
        for one in (common, own):
            if "name" in one.content:
                raise ConfigError(f"{one.place(('name',))}: remove this key; a key of `{EACH}` is the name")
        yield [common, own.with_keys(name=name)]


def _claim(layers: list[Layer], paper: Layer) -> Claim:
    for layer in layers:
        for key in layer.content:
            if key not in KEYS:
                raise ConfigError(f"{layer.place((key,))}: unknown key{nearest(key, (*KEYS, EACH))}")
    words = [key for layer in layers for key in layer.content if key in WORDS]
    if len(words) != 1:
        got = ", ".join(words) or "none"
        raise ConfigError(f"{layers[-1].place()}: a claim needs one of {', '.join(WORDS)} (got {got})")
    plain = [_plain(layer, paper) for layer in layers]
    if words[0] in CHANGES and not any("since" in layer.content for layer in plain):
        raise ConfigError(f"{layers[-1].place()}: {words[0]} needs `since` in `over`, the earlier part of training")
    return validate(Claim, plain)


def _plain(layer: Layer, paper: Layer) -> Layer:
    """The layer in the keys of the schema."""
    content: dict[str, Any] = {}
    for key, value in layer.content.items():
        place = layer.below(key, value)
        content |= _sides(place, key) if key in WORDS else _over(place, paper) if key == "over" else {key: value}
    return replace(layer, content=content)


def _over(place: Layer, paper: Layer) -> dict[str, Any]:
    """The keys of the schema for a table or figure, or for a part of it."""
    if not isinstance(place.content, dict):
        return {"over": place.content}
    over: Any = validate(Over, [place])
    own, other = ("tables", "figures") if over.figure is None else ("figures", "tables")
    name = over.table or over.figure
    if name in (paper.content.get(other) or {}) and name not in (paper.content.get(own) or {}):
        raise ConfigError(f"{place.place((own[:-1],))}: {name} is none of the {own}")
    return {"over": name} | {key: place.content[key] for key in PART_OF_A_CLAIM if key in place.content}


def _sides(place: Layer, word: str) -> dict[str, Any]:
    """The keys of the schema that a word and its arms stand for."""
    value: Any = place.content
    if word in CHANGES:
        if not isinstance(value, str):
            raise ConfigError(f"{place.place()}: must be the name of an arm (got {value!r})")
        return {"predicate": "greater", "weights": {value: CHANGES[word]}}
    if word == "ordering":
        if not isinstance(value, list) or not all(isinstance(arm, str) for arm in value):
            raise ConfigError(f"{place.place()}: must be a list of arms, the best first (got {value!r})")
        return {"predicate": word, "arms": value}
    if not isinstance(value, dict):
        raise ConfigError(f"{place.place()}: must be a mapping with left and right, or with weights (got {value!r})")
    sides = validate(Sides, [place])
    compared = _compared(sides, place, word in SWAPPED)
    sizes = {"threshold": sides.threshold, "no_effect": sides.no_effect, "size": sides.size}
    return {"predicate": SWAPPED.get(word, word), **sizes, **compared}


def _compared(sides: Sides, place: Layer, swapped: bool) -> dict[str, Any]:
    if sides.weights:
        return {"weights": {arm: -weight if swapped else weight for arm, weight in sides.weights.items()}}
    one, several = (sides.right, sides.left) if swapped else (sides.left, sides.right)
    if len(one) != 1:
        raise ConfigError(f"{place.place(('right' if swapped else 'left',))}: must be one arm (got {', '.join(one)})")
    return {"left": one[0], "right": several}
