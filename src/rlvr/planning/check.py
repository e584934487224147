"""Checks every name in a paper's file, used or not."""

from typing import Any

from rlvr.config.layers import ConfigError, Layer, look_up
from rlvr.config.plan import Item
from rlvr.config.published import PublishedTable, read
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.config.schema.paper import Paper
from rlvr.items import TABLE_KINDS
from rlvr.planning.papers import Sources

SHARED = ("statistics", "collapse", "diversity")  # one for all models of a paper


def names(paper: Paper, sources: Sources, layer: Layer) -> None:
    """Raises ConfigError for an unknown model, data set or prompt, and for misleading names."""
    for model in sources.scale.sft if isinstance(sources.scale.sft, list) else []:
        look_up(sources.models, model, "model", f"config/scale/{sources.scale.name}.yaml: sft")
    for model, entry in paper.models.items():
        look_up(sources.models, model, "model", layer.place(("models", model)))
        if entry.prompt is not None:
            look_up(sources.prompts, entry.prompt, "prompt", layer.place(("models", model, "prompt")))
        for section in set(SHARED) & set(entry.settings):
            place = layer.place(("models", model, "settings", section))
            raise ConfigError(f"{place}: must be the same for all models of a paper; set it in `settings`")
    for place, owner in {(): paper, **{("models", model): entry for model, entry in paper.models.items()}}.items():
        for key in ("data", "sft_data", "validation_data"):
            if getattr(owner, key) is not None:
                look_up(sources.data, getattr(owner, key), "data set", layer.place((*place, key)))
    _arms(paper, sources, layer)
    for benchmark in paper.benchmarks:
        look_up(sources.data, benchmark, "data set", layer.place(("benchmarks",)))
    for name in paper.verifiers:
        own = dict.fromkeys(sources.data[data].verifier for data in _sets(paper))
        look_up(own, name, "verifier of the paper's sets", layer.place(("verifiers", name)))
    for name in paper.published_as:
        known_names = [*paper.models, *paper.benchmarks]
        look_up(known_names, name, "model or benchmark of the paper", layer.place(("published_as", name)))


def _sets(paper: Paper) -> list[str]:
    """The sets that a paper trains and evaluates on."""
    owners = [paper, *paper.models.values()]
    named = [getattr(owner, key) for owner in owners for key in ("data", "validation_data")]
    return [
        name for name in [*named, *(arm.data for arm in paper.arms.values()), *paper.benchmarks] if name is not None
    ]


def _arms(paper: Paper, sources: Sources, layer: Layer) -> None:
    for name, arm in paper.arms.items():
        if name == "base" or "-" in name:
            why = "'-' precedes a sweep's name" if "-" in name else "it means the policy before training"
            raise ConfigError(f"{layer.place(('arms', name))}: an arm cannot have this name: {why}")
        if arm.data is not None:
            look_up(sources.data, arm.data, "data set", layer.place(("arms", name, "data")))
    of_papers = {"settings": paper.settings, **{f"models.{m}.settings": e.settings for m, e in paper.models.items()}}
    for key, settings in {**of_papers, **{f"arms.{a}.settings": e.settings for a, e in paper.arms.items()}}.items():
        if "shards" in settings.get("execution", {}):
            place = layer.place((key, "execution.shards"))
            raise ConfigError(f"{place}: is for all papers; set it in defaults or a scale")


def own_items(paper: Paper, layer: Layer, companions: dict[str, str]) -> None:
    """Raises ConfigError where two items would have the same file. `companions`: name -> the table it comes from."""
    for name in paper.figures:
        if name in paper.tables:
            place = layer.place(("figures", name))
            raise ConfigError(f"{place}: a table has this name too; rename one of them")
    for name in [*paper.tables, *paper.figures]:
        if name in companions:
            place = layer.place(("tables" if name in paper.tables else "figures", name))
            raise ConfigError(f"{place}: the table {companions[name]!r} has an item of this name; choose another")


# ---- published values ----------------------------------------------------------------------------------


def published(paper: Paper, tables: dict[str, Item], *, sources: Sources, layer: Layer) -> None:
    """Raises ConfigError where a published table lacks a method, model or benchmark: its values would be missing
    silently. A null method, and a model or benchmark with `published_as: null`, has no published values."""
    files: dict[Any, PublishedTable] = {}
    for name, table in paper.tables.items():
        reference = _reference(table)
        if reference is not None and reference not in files:
            files[reference] = read(sources.root, reference, f"{layer.place(('tables', name))}.reference")
    for name, table in paper.tables.items():
        place, file = layer.place(("tables", name)), files.get(_reference(table))
        check = TABLE_KINDS.load(table.kind).check_published
        if file is not None and check is not None:
            check(table, file, paper, place)
        rows = getattr(table, "rows", [])
        if isinstance(rows, list):
            _rows(rows, file, files, place)
            for i, row in enumerate(rows):
                if row.reference is not None:
                    _own_reference(row, file, sources, f"{place}.rows.{i}")
        if file is not None and getattr(table, "sweep", None) is not None:
            swept = [cell.row for cell in tables[name].cells if cell.row not in rows]
            _swept(swept, file, layer.place(("sweeps", getattr(table, "sweep", ""), "published")))


def _reference(table: ItemConfig) -> Any:
    """The published table that a table names, below config/papers/; None for a kind without one."""
    return getattr(table, "reference", None)


def _rows(rows: list[Row], file: PublishedTable | None, files: dict[Any, PublishedTable], place: str) -> None:
    """Raises ConfigError for unknown methods of a table's rows; without a reference, any table's count."""
    for i, row in enumerate(rows):
        if row.published is None or row.reference is not None:
            continue
        if not files:
            why = "no table of this paper has a `reference` with published methods"
            raise ConfigError(f"{place}.rows.{i}.published: {why}")
        if file is not None:
            file.check_method(row.published, f"{place}.rows.{i}.published")
        else:
            methods = [method for other in files.values() for method in other.methods]
            look_up(methods, row.published, "method of a published table", f"{place}.rows.{i}.published")


def _own_reference(row: Row, file: PublishedTable | None, sources: Sources, place: str) -> None:
    """Raises ConfigError where a row's own file lacks its method, or the table's has it already."""
    if file is None or row.published in (None, *file.methods):
        raise ConfigError(f"{place}.reference: only for a published method that the table's own reference lacks")
    read(sources.root, str(row.reference), f"{place}.reference").check_method(str(row.published), f"{place}.published")


def _swept(rows: list[Row], file: PublishedTable, place: str) -> None:
    """Raises ConfigError where a published table has none of a sweep's methods; it may lack some."""
    methods = [row.published for row in rows if row.published is not None]
    if methods and not set(methods) & set(file.methods):
        file.check_method(methods[0], place)
