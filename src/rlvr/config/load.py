"""Reading configuration files, each checked by itself and against the names in others; errors name file and key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr import estimators
from rlvr.config import registries
from rlvr.config.explain import check_part, named_entries, validate
from rlvr.config.layers import ConfigError, Layer, holder, look_up, merge, read_yaml
from rlvr.config.schema.names import Data, HubModel, Model, Prompt, Published, Revision
from rlvr.config.schema.paper import Paper, Scale
from rlvr.config.schema.settings import OF_A_RUN, Settings
from rlvr.estimators import nearest

__all__ = ["ConfigError", "Layer", "look_up", "merge", "named_entries", "read_yaml", "validate"]


def find_folder() -> Path | None:
    """./config, that of a folder above, or that of the repository which this package was installed from."""
    here = Path.cwd()
    places = [here, *here.parents, Path(__file__).resolve().parents[3]]
    return next((place / "config" for place in places if (place / "config" / "datasets.yaml").is_file()), None)


# ---- data sets, models, prompts ------------------------------------------------------------------------


def read_data(folder: Path, root: Path) -> dict[str, Any]:
    """Every data set of config/datasets.yaml, by name; in a mixture each share's `set` is replaced by that set."""
    layer = read_yaml(folder / "datasets.yaml", root)
    mixtures = {
        name: content
        for name, content in layer.content.items()
        if isinstance(content, dict) and content.get("task") == "mixture"
    }
    plain = {name: content for name, content in layer.content.items() if name not in mixtures}
    entries = named_entries(Data, Layer(layer.file, layer.key, plain))
    for name, data in entries.items():
        if isinstance(data, Published):
            _check_names_of(data, layer, name)
    resolved = {name: _with_sets(content, entries, layer, name) for name, content in mixtures.items()}
    return {**entries, **named_entries(Data, Layer(layer.file, layer.key, resolved), {"data": "set"})}


def _with_sets(content: dict[str, Any], entries: dict[str, Any], layer: Layer, name: str) -> dict[str, Any]:
    """A mixture whose shares hold the sets that they name."""
    if not isinstance(content.get("shares"), list):
        return content
    shares = []
    for i, share in enumerate(content["shares"]):
        if isinstance(share, dict) and "data" in share:
            raise ConfigError(f"{layer.place((name, 'shares', i, 'data'))}: unknown key; did you mean 'set'?")
        if isinstance(share, dict) and "set" in share:
            place = layer.place((name, "shares", i, "set"))
            data = look_up(entries, share["set"], "data set", place) if isinstance(share["set"], str) else share["set"]
            share = {key: value for key, value in share.items() if key != "set"} | {"data": data}
        shares.append(share)
    return {**content, "shares": shares}


def _check_names_of(data: Published, layer: Layer, name: str) -> None:
    """Names of fields that the adapter does not read, and of files that the set has not."""
    for ours in data.fields:
        known = registries.constant("data/adapters", data.adapter, "FIELDS")
        look_up(known, ours, f"field of the adapter {data.adapter}", layer.place((name, "fields", ours)))
    for file in data.sha256:
        look_up(data.files, file, "file of the set", layer.place((name, "sha256", file)))


def _check_papers_of_data(data: dict[str, Any], prompts: dict[str, Prompt], papers: list[str], layer: Layer) -> None:
    """`about.papers`: a known paper, and a prompt's name or, in several words, what the paper says of its prompt."""
    known = sorted({*papers, *registries.chapters()})
    for name, entry in data.items():
        for paper, prompt in entry.about.papers.items():
            place = layer.place((name, "about", "papers", paper))
            look_up(known, paper, "paper", place)
            if " " not in prompt:
                look_up(prompts, prompt, "prompt", place)


def read_models(folder: Path, root: Path, prompts: dict[str, Prompt]) -> dict[str, Any]:
    """Every model, by name. A branch of the hub is replaced by the commit that config/revisions.yaml has for it."""
    models, revisions = models_as_written(folder, root, prompts), read_revisions(folder, root)
    for name in revisions:
        look_up(models, name, "model", "config/revisions.yaml")
    return {name: _at_commit(model, revisions.get(name)) for name, model in models.items()}


def read_revisions(folder: Path, root: Path) -> dict[str, Revision]:
    """What `rlvr models resolve` wrote, by model; nothing where it never ran."""
    path = folder / "revisions.yaml"
    return named_entries(Revision, read_yaml(path, root)) if path.is_file() else {}


def _at_commit(model: Any, found: Revision | None) -> Any:
    """The model at the commit that was found. A commit of another repository or branch is not used."""
    if found is None or not isinstance(model, HubModel) or (model.repo, model.revision) != (found.repo, found.revision):
        return model
    return model.model_copy(update={"revision": found.commit})


def models_as_written(folder: Path, root: Path, prompts: dict[str, Prompt]) -> dict[str, Any]:
    """Every model of config/models.yaml, by name, its `prompt` replaced by the template of that name.

    An entry may give its `template` itself, but not both.
    """
    layer = read_yaml(folder / "models.yaml", root)
    resolved = {}
    for name, content in layer.content.items():
        if isinstance(content, dict) and "prompt" in content and "template" not in content:
            place = layer.place((name, "prompt"))
            if not isinstance(content["prompt"], str):
                raise ConfigError(f"{place}: must be a name of prompts.yaml (got {content['prompt']!r})")
            template = look_up(prompts, content["prompt"], "prompt", place).text
            content = {key: value for key, value in content.items() if key != "prompt"} | {"template": template}
        resolved[name] = content
    return named_entries(Model, Layer(layer.file, layer.key, resolved), {"template": "prompt"})


# ---- estimators ----------------------------------------------------------------------------------------


def resolve_estimator(settings: dict[str, Any], layers: list[Layer]) -> dict[str, Any]:
    """An estimator's settings with all defaults filled in, each checked against its signature.

    ACE with alpha = 0 is its base estimator (ACE, App. D), and is resolved to it, so that both are one run.
    """
    name = settings.get("name")
    if name not in estimators.names():
        raise ConfigError(_no_estimator(settings, layers))
    try:
        resolved = estimators.resolve(name, {key: value for key, value in settings.items() if key != "name"})
    except estimators.SettingError as error:
        place = holder(layers, ("estimator", error.key)).place(("estimator", error.key))
        raise ConfigError(f"{place}: {error.message}") from error
    if name == "ace" and resolved["alpha"] == 0:
        base = resolved["base"]
        own = estimators.signature(base).settings
        return {"name": base, **{key: resolved[key] for key in own}}
    return {"name": name, **resolved}


def _no_estimator(settings: dict[str, Any], layers: list[Layer]) -> str:
    """What is wrong where no estimator is named: its name, or the key."""
    if "name" in settings:
        place = holder(layers, ("estimator", "name")).place(("estimator", "name"))
        return f"{place}: unknown estimator {settings['name']!r}{nearest(settings['name'], estimators.names())}"
    other = next((key for key in settings if "did you mean" in nearest(key, ["name"])), None)
    if other is not None:
        place = holder(layers, ("estimator", other)).place(("estimator", other))
        return f"{place}: unknown key; did you mean 'name'?"
    return f"{holder(layers, ('estimator',)).place(('estimator', 'name'))}: this key is missing"


def check_settings(layer: Layer) -> None:
    """Raises ConfigError where a layer of settings, whatever wins over it later, has what no settings may have."""
    check_part(Settings, layer)
    own = layer.content.get("estimator", {})
    if "name" in own:
        resolve_estimator(own, [layer])
        return
    for key in own:  # for whichever estimator the layer comes to be on top of
        known = dict.fromkeys(setting for name in estimators.names() for setting in estimators.signature(name).settings)
        look_up(["name", *known], key, "setting of an estimator", layer.place(("estimator", key)))


# ---- a paper -------------------------------------------------------------------------------------------


def read_paper(folder: Path, name: str, root: Path) -> tuple[Paper, Layer]:
    """A paper's file, with every layer of settings in it checked by itself, whether anything uses it or not."""
    layer = read_yaml(folder / "papers" / f"{name}.yaml", root)
    paper = validate(Paper, [layer])
    _is_called(paper.name, name, layer)
    check_settings(Layer(layer.file, "settings", paper.settings))
    for model, entry in paper.models.items():
        check_settings(Layer(layer.file, f"models.{model}.settings", entry.settings))
    for arm, entry in paper.arms.items():
        own = Layer(layer.file, f"arms.{arm}.settings", entry.settings)
        for section in entry.settings:
            check_section(section, own.place((section,)))
        check_part(Settings, own)  # its estimator may have its name from another arm: the expansion looks
    return paper, layer


def check_section(section: str, place: str) -> None:
    """Raises ConfigError for settings that an arm or a sweep cannot change."""
    if section not in OF_A_RUN and section in Settings.model_fields:
        raise ConfigError(f"{place}: is not of a run, so no arm or sweep changes it; an arm has {', '.join(OF_A_RUN)}")


def _is_called(written: str, name: str, layer: Layer) -> None:
    if written != name:
        raise ConfigError(f"{layer.place(('name',))}: {written!r} is in the file of {name!r}; both must be the same")


# ---- a scale -------------------------------------------------------------------------------------------


def read_scale(folder: Path, name: str, root: Path) -> tuple[Scale, list[Layer]]:
    """A scale, and its file on top of those that it is `like`, each checked by itself."""
    layers = _scale_layers(folder / "scale", name, root)
    for layer in layers:
        check_part(Scale, layer)
        for own in [*settings_of(layer), *(settings_of(layer, paper)[-1] for paper in _named(layer, "papers"))]:
            check_settings(own)
    scale = validate(Scale, layers)
    _is_called(scale.name, name, layers[-1])
    _check_device(scale, layers, folder, root)
    return scale, layers


def _check_device(scale: Scale, layers: list[Layer], folder: Path, root: Path) -> None:
    """`rlvr plan` alone needs the file of devices, so a plan does without it."""
    if (folder / "hardware.yaml").is_file():
        devices = read_yaml(folder / "hardware.yaml", root).content.get("devices") or {}
        place = holder(layers, ("hardware", "device")).place(("hardware", "device"))
        look_up(devices, scale.hardware.device, "device of config/hardware.yaml", place)


def _scale_layers(folder: Path, name: str, root: Path, seen: tuple[str, ...] = ()) -> list[Layer]:
    layer = read_yaml(folder / f"{name}.yaml", root)
    like = layer.content.get("like")
    if like is None:
        return [layer]
    if not isinstance(like, str):
        raise ConfigError(f"{layer.place(('like',))}: must be the name of a scale (got {like!r})")
    if like in (name, *seen):
        raise ConfigError(f"{layer.place(('like',))}: runs in a circle: {' -> '.join((*seen, name, like))}")
    try:
        return [*_scale_layers(folder, like, root, (*seen, name)), layer]
    except ConfigError as error:
        if not (folder / f"{like}.yaml").is_file():
            raise ConfigError(f"{layer.place(('like',))}: {error}") from error
        raise


def settings_of(layer: Layer, paper: str | None = None) -> list[Layer]:
    """A scale's settings for all papers, or those for one, as a layer; none where it has none."""
    keys = ("settings",) if paper is None else ("papers", paper)
    node: Any = layer.content
    for key in keys:
        node = node.get(key, {})
    return [Layer(layer.file, ".".join(keys), node)] if node else []


def _named(layer: Layer, key: str) -> dict[str, Any]:
    return {name: content for name, content in layer.content.get(key, {}).items() if content}


def _check_names_of_scale(sources: Sources, papers: list[str]) -> None:
    """A stand-in whose model or set has no such name would stand in for nothing."""
    for layer in sources.scale_layers:
        for key, known, what in (("models", sources.models, "model"), ("data", sources.data, "data set")):
            for name, stand_in in layer.content.get(key, {}).items():
                look_up(known, name, what, layer.place((key, name)))
                look_up(known, stand_in, what, layer.place((key, name)))
        for name in layer.content.get("papers", {}):
            if name not in papers:
                raise ConfigError(f"{layer.place(('papers', name))}: there is no such paper{nearest(name, papers)}")


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

    def of_scale(self, paper: str | None = None) -> list[Layer]:
        """The scale's settings for all papers, or those for one."""
        return [own for layer in self.scale_layers for own in settings_of(layer, paper)]


def read_defaults(folder: Path, root: Path) -> Layer:
    """config/defaults.yaml, which has every setting."""
    layer = read_yaml(folder / "defaults.yaml", root)
    resolve_estimator(validate(Settings, [layer]).estimator, [layer])
    return layer


def read_prompts(folder: Path, root: Path) -> dict[str, Prompt]:
    return named_entries(Prompt, read_yaml(folder / "prompts.yaml", root))


def read_sources(root: Path, scale: str, papers: list[str]) -> Sources:
    """Read config/ below `root` for one scale and some papers."""
    folder = root / "config"
    made, layers = read_scale(folder, scale, root)
    prompts = read_prompts(folder, root)
    sources = Sources(
        root,
        read_defaults(folder, root),
        prompts,
        read_models(folder, root, prompts),
        read_data(folder, root),
        made,
        layers,
        {name: read_paper(folder, name, root) for name in papers},
    )
    known = sorted(path.stem for path in (folder / "papers").glob("*.yaml"))
    datasets = Layer(str((folder / "datasets.yaml").relative_to(root)), "", {})
    _check_papers_of_data(sources.data, prompts, known, datasets)
    _check_names_of_scale(sources, known)
    return sources
