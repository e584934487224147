"""Reads papers and scales and checks each file, also against names in other files."""

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from rlvr.config import claim_words, paper_folders
from rlvr.config.layers import ConfigError, Layer, look_up, place_of, read_yaml
from rlvr.config.load import (
    check_section,
    check_settings,
    data_of,
    models_of,
    read_data,
    read_defaults,
    read_models,
    read_prompts,
)
from rlvr.config.schema.mechanism import Criterion, Regime
from rlvr.config.schema.models_and_data import Prompt
from rlvr.config.schema.paper import AtScale, Paper, Scale
from rlvr.config.schema.settings import Settings
from rlvr.config.validate import check_part, validate
from rlvr.planning import paper_items

# ---- a paper -------------------------------------------------------------------------------------------


def read_paper(folder: Path, name: str, root: Path) -> tuple[Paper, Layer]:
    """A checked paper of config/papers/ and its layer."""
    paper, layer = check_paper(paper_folders.read(folder, name, root), name)
    if paper.regime is None:
        return paper, layer
    look_up(paper.arms, paper.regime, "arm", layer.place(("regime",)))
    file = read_yaml(folder / "regime.yaml", root)
    criteria = validate(Regime, [file]).regime
    for i, one in enumerate(criteria):
        look_up(one.known, one.measure, "measure", file.place(("regime", i, "measure")))
    asked = [Criterion(**one.model_dump(), kind="regime", arms=[paper.regime]) for one in criteria]
    return paper.model_copy(update={"mechanism": [*paper.mechanism, *asked]}), layer


def check_paper(layer: Layer, name: str) -> tuple[Paper, Layer]:
    """The paper of a layer; every layer of settings is checked, used or not."""
    paper = validate(Paper, [paper_items.checked(claim_words.checked(layer), name)])
    _check_name(paper.name, name, layer, "file" if layer.key else "folder")
    paper_items.check_notes(layer)
    check_settings(layer.below("settings", paper.settings))
    for model, entry in paper.models.items():
        check_settings(layer.below(f"models.{model}.settings", entry.settings))
    for arm, entry in paper.arms.items():
        arm_layer = layer.below(f"arms.{arm}.settings", entry.settings)
        for section in entry.settings:
            check_section(section, arm_layer.place((section,)))
        check_part(Settings, arm_layer)  # the estimator's name may come from another arm: the expansion checks it
    return paper, layer


def _check_name(own_name: str, name: str, layer: Layer, of: str = "file") -> None:
    if own_name != name:
        raise ConfigError(f"{layer.place(('name',))}: {own_name!r} differs from the {of}'s name {name!r}")


# ---- a scale -------------------------------------------------------------------------------------------


def read_scale(folder: Path, name: str, root: Path) -> tuple[Scale, list[Layer]]:
    """A scale of config/scale/, and its checked layers: the files that it is `like`, then its own."""
    return _check_scale(_scale_layers(folder / "scale", name, root), name, folder, root)


def _check_scale(layers: list[Layer], name: str, folder: Path, root: Path) -> tuple[Scale, list[Layer]]:
    for layer in layers:
        check_part(Scale, layer)
        for part in _parts([layer], "settings"):
            check_settings(part)
    scale = validate(Scale, layers)
    _check_name(scale.name, name, layers[-1])
    _check_device(scale, layers, folder, root)
    return scale, layers


def _check_device(scale: Scale, layers: list[Layer], folder: Path, root: Path) -> None:
    """Raises ConfigError for an unknown device. Only `rlvr plan` needs hardware.yaml, so it may be absent."""
    if (folder / "hardware.yaml").is_file():
        devices = read_yaml(folder / "hardware.yaml", root).content.get("devices") or {}
        place = place_of(layers, ("hardware", "device"))
        look_up(devices, scale.hardware.device, "device of config/hardware.yaml", place)


def _scale_layers(folder: Path, name: str, root: Path, seen: tuple[str, ...] = ()) -> list[Layer]:
    layer = read_yaml(folder / f"{name}.yaml", root)
    like = layer.content.get("like")
    if like is None:
        return [layer]
    if not isinstance(like, str):
        raise ConfigError(f"{layer.place(('like',))}: must be the name of a scale (got {like!r})")
    if like in (name, *seen):
        raise ConfigError(f"{layer.place(('like',))}: is circular: {' -> '.join((*seen, name, like))}")
    try:
        return [*_scale_layers(folder, like, root, (*seen, name)), layer]
    except ConfigError as error:
        if not (folder / f"{like}.yaml").is_file():
            raise ConfigError(f"{layer.place(('like',))}: {error}") from error
        raise


def _parts(layers: list[Layer], *keys: str) -> list[Layer]:
    """What the layers have below some keys, where they have something."""
    nodes = [(layer, reduce(lambda node, key: node.get(key, {}), keys, layer.content)) for layer in layers]
    return [layer.below(".".join(keys), node) for layer, node in nodes if node]


def _with_stand_ins(scale: Scale, sources: dict[str, dict[str, Any]], layers: list[Layer], folder: Path) -> Scale:
    """The scale with the stand-ins of models.yaml and datasets.yaml, also those that it inherits through `like`.

    Those of its own file go before, and may replace a stand-in too: `data: {words-easy: words-pilot}` is for every
    benchmark for which `words-easy` stands in.
    """
    scales, files = [path.stem for path in (folder / "scale").glob("*.yaml")], {"models": "models", "data": "datasets"}
    chain, found = [layer.content.get("name") for layer in layers], {}
    for key, what in (("models", "model"), ("data", "data set")):
        entries, found[key] = sources[key], {}
        for name, entry in entries.items():
            place = Layer(f"config/{files[key]}.yaml", name, {})
            for of, stand_in in entry.stand_in.items():
                look_up(scales, of, "scale", place.place(("stand_in", of)))
                look_up(entries, stand_in, what, place.place(("stand_in", of)))
            for of in filter(entry.stand_in.__contains__, chain):
                found[key][name] = entry.stand_in[of]
        for layer in layers:
            for name, stand_in in layer.content.get(key, {}).items():
                look_up(entries, name, what, layer.place((key, name)))
                look_up(entries, stand_in, what, layer.place((key, name)))
    for key, named in found.items():
        own = getattr(scale, key)
        found[key] = {name: own.get(stand_in, stand_in) for name, stand_in in named.items()} | own
    return scale.model_copy(update=found)


# ---- a paper at a scale --------------------------------------------------------------------------------


def _read_at_scale(
    folder: Path, paper: Paper, scales: list[str], data: dict[str, Any], root: Path
) -> tuple[AtScale, list[Layer]]:
    """What a paper has at a scale and the scales that it is like, merged, and its layers; every scale is checked."""
    layer = paper_folders.read_scales(folder, paper.name, root)
    if layer is None:
        return AtScale(), []
    known = [path.stem for path in (folder / "scale").glob("*.yaml")]
    for name, content in layer.content.items():
        look_up(known, name, "scale", layer.place((name,)))
        _check_at_scale(layer.below(name, content), paper, data)
    layers = [layer.below(name, layer.content[name]) for name in scales if name in layer.content]
    return validate(AtScale, layers), layers


def _check_at_scale(layer: Layer, paper: Paper, data: dict[str, Any]) -> None:
    """Raises ConfigError for a mistake in what a paper has at one scale."""
    check_part(AtScale, layer)
    for name in layer.content.get("without", []):
        look_up({**paper.tables, **paper.figures}, name, "table or figure of the paper", layer.place(("without",)))
    for name, stand_in in layer.content.get("data", {}).items():
        look_up(data, name, "data set", layer.place(("data", name)))
        look_up(data, stand_in, "data set", layer.place(("data", name)))
    for part in _parts([layer], "settings"):
        check_settings(part)
    for model in layer.content.get("models", {}):
        look_up(paper.models, model, "model of the paper", layer.place(("models", model)))
        for part in _parts([layer], "models", model):
            check_settings(part)


# ---- all of them ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sources:
    """The parsed files of one configuration folder."""

    root: Path
    defaults: Layer
    prompts: dict[str, Prompt]
    models: dict[str, Any]
    data: dict[str, Any]
    scale: Scale
    scale_layers: list[Layer]
    papers: dict[str, tuple[Paper, Layer]]
    at_scale: dict[str, tuple[AtScale, list[Layer]]]  # by paper

    def of_scale(self, paper: str | None = None, model: str | None = None) -> list[Layer]:
        """The scale's settings for all papers, those for one, or those for a model of one."""
        layers = self.scale_layers if paper is None else self.at_scale[paper][1]
        return _parts(layers, "settings") if model is None else _parts(layers, "models", model)

    def with_companions(self, paper: str) -> bool:
        own = self.at_scale[paper][0].companions
        return self.scale.companions if own is None else own


SECTIONS = ("scale", "models", "data", "paper")  # of a file of one's own
OWN = "own"  # the name of its scale


def read_own(path: Path, root: Path) -> dict[str, Layer]:
    """The sections of a file of one's own (docs/commands.md). Raises ConfigError for an unknown or missing one."""
    layer = read_yaml(path if path.is_absolute() else root / path, root)
    for key in layer.content:
        look_up(SECTIONS, key, "section", layer.place((key,)))
    for key in SECTIONS:
        if not isinstance(layer.content.get(key), dict):
            raise ConfigError(f"{layer.place((key,))}: must be a mapping of keys to values")
    name = {"scale": {"name": OWN}, "paper": {"name": path.stem}}
    return {key: layer.below(key, {**name.get(key, {}), **layer.content[key]}) for key in SECTIONS}


def read_sources(root: Path, scale: str, papers: list[str], own: str = "") -> Sources:
    """The content of config/ below `root` for one scale and some papers; `own` is a file with more of all of them."""
    folder = root / "config"
    sections = read_own(Path(own), root) if own else {}
    of, layers = _check_scale([sections["scale"]], OWN, folder, root) if own else read_scale(folder, scale, root)
    prompts = read_prompts(folder, root)
    models, data = read_models(folder, root, prompts), read_data(folder, root)
    if own:  # its own entries come first where names are equal
        models, data = models | models_of(sections["models"], prompts), data | data_of(sections["data"])
    checked = {name: check_paper(sections["paper"], name) if own else read_paper(folder, name, root) for name in papers}
    chain = [] if own else [layer.content["name"] for layer in layers]
    at_scale = {
        name: (AtScale(), []) if own else _read_at_scale(folder, paper, chain, data, root)
        for name, (paper, _) in checked.items()
    }
    return Sources(
        root,
        read_defaults(folder, root),
        prompts,
        models,
        data,
        _with_stand_ins(of, {"models": models, "data": data}, layers, folder),
        layers,
        checked,
        at_scale,
    )
