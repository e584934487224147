"""Reads configuration files and checks each, also against names in others; errors name file and key."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rlvr import estimators
from rlvr.config import paper_folders
from rlvr.config.layers import ConfigError, Layer, look_up, merge, place_of, read_yaml
from rlvr.config.registries import ADAPTERS
from rlvr.config.schema.models_and_data import Data, HubModel, Mixture, Model, Prompt, Published, Revision
from rlvr.config.schema.settings import OF_A_RUN, Settings
from rlvr.config.validate import check_part, named_entries, validate
from rlvr.suggest import nearest

__all__ = ["ConfigError", "Layer", "look_up", "merge", "named_entries", "read_yaml", "validate"]


def find_folder() -> Path | None:
    """./config, that of a folder above, or that of the repository that this package is installed from."""
    here = Path.cwd()
    places = [here, *here.parents, Path(__file__).resolve().parents[3]]
    return next((place / "config" for place in places if (place / "config" / "datasets.yaml").is_file()), None)


EMPTY: Mapping[str, dict[str, str]] = {}

# ---- data sets, models, prompts ------------------------------------------------------------------------


def read_data(folder: Path, root: Path) -> dict[str, Any]:
    """Every data set of config/datasets.yaml, by name, with the papers that use it."""
    prompts = read_yaml(folder / "prompts.yaml", root).content if (folder / "prompts.yaml").is_file() else {}
    layer = read_yaml(folder / "datasets.yaml", root)
    return data_of(layer, _papers_of_sets(layer.content, prompts, folder, root))


def data_of(layer: Layer, papers: Mapping[str, dict[str, str]] = EMPTY) -> dict[str, Any]:
    """The data sets of a layer, by name; each share of a mixture holds its `set`, and `lookup` the set of its name.

    `papers` has, by set, the papers that use it, with their prompts.
    """
    of_sets = {
        name: content
        for name, content in layer.content.items()
        if isinstance(content, dict) and (content.get("task") == "mixture" or "lookup" in content)
    }
    plain = {name: content for name, content in layer.content.items() if name not in of_sets}
    entries = named_entries(Data, Layer(layer.file, layer.key, plain))
    for name, data in entries.items():
        if isinstance(data, Published):
            _check_published(data, layer, name)
    entries = {name: _used_by(data, papers.get(name, {})) for name, data in entries.items()}
    resolved = {name: _with_sets(content, entries, layer, name) for name, content in of_sets.items()}
    made = {**entries, **named_entries(Data, Layer(layer.file, layer.key, resolved), {"data": "set"})}
    for name, data in made.items():
        if isinstance(data, Mixture):
            _check_counts(data, layer, name)
    return {name: made[name] for name in layer.content}


def _with_sets(content: dict[str, Any], entries: dict[str, Any], layer: Layer, name: str) -> dict[str, Any]:
    """The entry with the sets that it names, of a mixture's shares or as `lookup`."""
    if isinstance(content.get("lookup"), str):
        place = layer.place((name, "lookup"))
        return {**content, "lookup": look_up(entries, content["lookup"], "data set", place)}
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


def _check_published(data: Published, layer: Layer, name: str) -> None:
    """Raises ConfigError for fields that the adapter does not read, and for files that the set lacks."""
    for field in data.fields:
        fields = ADAPTERS.load(data.adapter).fields
        look_up(fields, field, f"field of the adapter {data.adapter}", layer.place((name, "fields", field)))
    for file in data.sha256:
        look_up(data.files, file, "file of the set", layer.place((name, "sha256", file)))


def _check_counts(data: Mixture, layer: Layer, name: str) -> None:
    """Raises ConfigError where a mixture asks for more different problems than a set has, or plans more."""
    for i, share in enumerate(data.shares):
        most, asked = share.data.most, share.skip + (share.problems or 1)
        if most is not None and asked > most:
            place = layer.place((name, "shares", i))
            raise ConfigError(f"{place}: {asked} problems are more than the {most} different ones of {share.data.name}")
    slack = max(share.data.slack for share in data.shares)
    if data.problems is not None and data.most is not None and data.problems > (1 + slack) * data.most:
        place = layer.place((name, "problems"))
        raise ConfigError(f"{place}: {data.problems} are planned, and its shares have {data.most}; write that number")


def _papers_of_sets(
    sets: Mapping[str, Any], prompts: Iterable[str], folder: Path, root: Path
) -> dict[str, dict[str, str]]:
    """By data set, the papers that use it and the prompt that each states: `prompts` of the papers' files.

    Raises ConfigError for an unknown set or prompt; several words describe a prompt that is not in config/prompts.yaml.
    """
    found: dict[str, dict[str, str]] = {}
    for paper in paper_folders.names(folder):
        layer = read_yaml(folder / paper_folders.PAPERS / paper / paper_folders.PAPER, root)
        for prompt, names in _prompts(layer).items():
            place = layer.place(("prompts", prompt))
            if " " not in prompt:
                look_up(dict.fromkeys(prompts), prompt, "prompt", place)
            for name in names:
                look_up(sets, name, "data set", place)
                found.setdefault(name, {})[paper] = prompt
    return found


def _prompts(layer: Layer) -> dict[str, list[str]]:
    content = layer.content.get("prompts", {})
    if not isinstance(content, dict) or not all(isinstance(sets, list) for sets in content.values()):
        raise ConfigError(f"{layer.place(('prompts',))}: must be a mapping of prompts to lists of data sets")
    return content


def _used_by(entry: Any, papers: dict[str, str]) -> Any:
    return entry.model_copy(update={"about": entry.about.model_copy(update={"papers": papers})}) if papers else entry


def read_models(folder: Path, root: Path, prompts: dict[str, Prompt]) -> dict[str, Any]:
    """Every model, by name; a hub branch becomes the commit that config/revisions.yaml has for it."""
    models, revisions = models_as_written(folder, root, prompts), read_revisions(folder, root)
    for name in revisions:
        look_up(models, name, "model", "config/revisions.yaml")
    return {name: _at_commit(model, revisions.get(name)) for name, model in models.items()}


def read_revisions(folder: Path, root: Path) -> dict[str, Revision]:
    """The commits that `rlvr models resolve` wrote, by model; empty where it never ran."""
    path = folder / "revisions.yaml"
    return named_entries(Revision, read_yaml(path, root)) if path.is_file() else {}


def _at_commit(model: Any, pin: Revision | None) -> Any:
    """The model at its pinned commit. A pin of another repository or branch has no effect."""
    if pin is None or not isinstance(model, HubModel) or (model.repo, model.revision) != (pin.repo, pin.revision):
        return model
    return model.model_copy(update={"revision": pin.commit})


def models_as_written(folder: Path, root: Path, prompts: dict[str, Prompt]) -> dict[str, Any]:
    """Every model of config/models.yaml, by name."""
    return models_of(read_yaml(folder / "models.yaml", root), prompts)


def models_of(layer: Layer, prompts: dict[str, Prompt]) -> dict[str, Any]:
    """The models of a layer, by name, with the template that its `prompt` names.

    An entry has `prompt` or its own `template`, not both.
    """
    resolved = {}
    for name, content in layer.content.items():
        if isinstance(content, dict) and "prompt" in content and "template" not in content:
            place = layer.place((name, "prompt"))
            if not isinstance(content["prompt"], str):
                raise ConfigError(f"{place}: must be a name in prompts.yaml (got {content['prompt']!r})")
            template = look_up(prompts, content["prompt"], "prompt", place).text
            content = {key: value for key, value in content.items() if key != "prompt"} | {"template": template}
        resolved[name] = content
    return named_entries(Model, Layer(layer.file, layer.key, resolved), {"template": "prompt"})


# ---- estimators ----------------------------------------------------------------------------------------


def resolve_estimator(settings: dict[str, Any], layers: list[Layer]) -> dict[str, Any]:
    """An estimator's checked settings, with all defaults.

    Settings that reduce an estimator to its base give the base, so both are one run.
    """
    name = settings.get("name")
    if name not in estimators.names():
        raise ConfigError(_no_estimator(settings, layers))
    try:
        resolved = estimators.resolve(name, {key: value for key, value in settings.items() if key != "name"})
        name, resolved = estimators.reduced(name, resolved)
    except estimators.SettingError as error:
        raise ConfigError(f"{place_of(layers, ('estimator', error.key))}: {error.message}") from error
    return {"name": name, **resolved}


def _no_estimator(settings: dict[str, Any], layers: list[Layer]) -> str:
    """The message for a wrong or missing estimator name."""
    if "name" in settings:
        place = place_of(layers, ("estimator", "name"))
        return f"{place}: unknown estimator {settings['name']!r}{nearest(settings['name'], estimators.names())}"
    other = next((key for key in settings if "did you mean" in nearest(key, ["name"])), None)
    if other is not None:
        return f"{place_of(layers, ('estimator', other))}: unknown key; did you mean 'name'?"
    return f"{place_of(layers, ('estimator', 'name'))}: this key is missing"


def check_settings(layer: Layer) -> None:
    """Raises ConfigError for a mistake in a layer of settings, even if a later layer overrides it."""
    check_part(Settings, layer)
    estimator = layer.content.get("estimator", {})
    if "name" in estimator:
        resolve_estimator(estimator, [layer])
        return
    for key in estimator:  # a layer without a name must fit some estimator
        valid = dict.fromkeys(setting for name in estimators.names() for setting in estimators.kind(name).settings)
        look_up(["name", *valid], key, "setting of an estimator", layer.place(("estimator", key)))


def check_section(section: str, place: str) -> None:
    """Raises ConfigError for a section that an arm or a sweep cannot change."""
    if section not in OF_A_RUN and section in Settings.model_fields:
        raise ConfigError(f"{place}: no arm or sweep can change this section, only {', '.join(OF_A_RUN)}")


def read_defaults(folder: Path, root: Path) -> Layer:
    """config/defaults.yaml, which has every setting."""
    layer = read_yaml(folder / "defaults.yaml", root)
    resolve_estimator(validate(Settings, [layer]).estimator, [layer])
    return layer


def read_prompts(folder: Path, root: Path) -> dict[str, Prompt]:
    return named_entries(Prompt, read_yaml(folder / "prompts.yaml", root))
