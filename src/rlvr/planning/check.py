"""Names in a paper's file: each is looked up, whether or not anything that is planned uses it."""

from __future__ import annotations

from rlvr.config.layers import ConfigError, Layer, look_up
from rlvr.config.load import Sources
from rlvr.config.plan import Item
from rlvr.config.published import PublishedTable, read
from rlvr.config.schema.items import Row, Table
from rlvr.config.schema.paper import Paper

SHARED = ("statistics", "collapse", "diversity")  # one for all models of a paper


def names(paper: Paper, sources: Sources, layer: Layer) -> None:
    """Raises ConfigError for a model, a data set or a prompt that no file has, and for names that mislead."""
    for model, entry in paper.models.items():
        look_up(sources.models, model, "model", layer.place(("models", model)))
        if entry.prompt is not None:
            look_up(sources.prompts, entry.prompt, "prompt", layer.place(("models", model, "prompt")))
        for section in set(SHARED) & set(entry.settings):
            place = layer.place(("models", model, "settings", section))
            raise ConfigError(f"{place}: is one for all models of a paper; set it in `settings`")
    for key in ("data", "sft_data", "validation_data"):
        if getattr(paper, key) is not None:
            look_up(sources.data, getattr(paper, key), "data set", layer.place((key,)))
    for benchmark in paper.benchmarks:
        look_up(sources.data, benchmark, "data set", layer.place(("benchmarks",)))
    for name in paper.published_as:
        own = [*paper.models, *paper.benchmarks]
        look_up(own, name, "model or benchmark of the paper", layer.place(("published_as", name)))
    _arms(paper, sources, layer)


def _arms(paper: Paper, sources: Sources, layer: Layer) -> None:
    for name, arm in paper.arms.items():
        if name == "base" or "-" in name:
            why = "'-' is before a sweep's name" if "-" in name else "it is that of the policy before training"
            raise ConfigError(f"{layer.place(('arms', name))}: an arm cannot have this name: {why}")
        if arm.data is not None:
            look_up(sources.data, arm.data, "data set", layer.place(("arms", name, "data")))
    of_papers = {"settings": paper.settings, **{f"models.{m}.settings": e.settings for m, e in paper.models.items()}}
    for key, settings in {**of_papers, **{f"arms.{a}.settings": e.settings for a, e in paper.arms.items()}}.items():
        if "shards" in settings.get("execution", {}):
            place = layer.place((key, "execution.shards"))
            raise ConfigError(f"{place}: is set in defaults or a scale, for all papers")


def own_items(paper: Paper, layer: Layer) -> None:
    """Raises ConfigError where two tables or figures would be one file, or one made at matched effort."""
    made = {f"{name}_matched": name for name, table in paper.tables.items() if table.matched is not None}
    frontiers = {f"{name}_frontier": name for name, table in paper.tables.items() if table.matched is not None}
    for name in paper.figures:
        if name in {**paper.tables, **made}:
            place = layer.place(("figures", name))
            raise ConfigError(f"{place}: a table has this name too; figures need their own")
    for name in [*paper.tables, *paper.figures]:
        if name in {**made, **frontiers}:
            key, of = "tables" if name in paper.tables else "figures", {**made, **frontiers}[name]
            place = layer.place((key, name))
            raise ConfigError(f"{place}: `matched` of the table {of!r} makes one of this name; choose another")


# ---- published values ----------------------------------------------------------------------------------


def published(paper: Paper, tables: dict[str, Item], *, sources: Sources, layer: Layer) -> None:
    """Raises ConfigError where a published table has no such method, model or benchmark: its values would be missing
    without a word. A method that is null, and a model or benchmark whose `published_as` is null, has none."""
    files: dict[str, PublishedTable] = {}
    for name, table in paper.tables.items():
        place = layer.place(("tables", name))
        if table.reference is not None and table.reference not in files:
            files[table.reference] = read(sources.root, table.reference, f"{place}.reference")
    for name, table in paper.tables.items():
        place = layer.place(("tables", name))
        if table.reference is not None and table.kind != "published":
            _shown(paper, table, files[table.reference], place)
        _rows(paper, table, files, place)
        if table.sweep is not None and table.reference is not None:
            rows = [cell.row for cell in tables[name].cells if cell.row not in table.rows]
            _swept(rows, files[table.reference], layer.place(("sweeps", table.sweep, "published")))


def _shown(paper: Paper, table: Table, file: PublishedTable, place: str) -> None:
    """The models and benchmarks of a table under the names that the paper's table has them by."""
    if table.hard_levels:
        raise ConfigError(f"{place}.reference: published values are of all levels; a table of hard levels shows none")
    for model in table.models:
        name = model if table.kind == "settings" else paper.published_as.get(model, model)
        if name is not None:
            file.check_model(name, f"{place}.models (or published_as.{model})")
    for benchmark in table.benchmarks or filter(None, [table.benchmark]):
        name = paper.published_as.get(benchmark, benchmark)
        if name is not None:
            name = f"{name} S_div" if table.kind == "diversity" else name
            file.check_benchmark(name, f"{place}.benchmark (or published_as.{benchmark})")


def _rows(paper: Paper, table: Table, files: dict[str, PublishedTable], place: str) -> None:
    """The methods of a table's rows. Where it has no reference, rows may be those of a table that has one."""
    for i, row in enumerate(table.rows):
        if row.published is None:
            continue
        if not files:
            raise ConfigError(f"{place}.rows.{i}.published: no table of this paper has a `reference` to find it in")
        if table.reference is not None:
            files[table.reference].check_method(row.published, f"{place}.rows.{i}.published")
        else:
            known = [method for file in files.values() for method in file.methods]
            look_up(known, row.published, "method of a published table", f"{place}.rows.{i}.published")


def _swept(rows: list[Row], file: PublishedTable, place: str) -> None:
    """The methods of a sweep: the paper may have fewer values than are swept here, but not none."""
    wanted = [row.published for row in rows if row.published is not None]
    if wanted and not set(wanted) & set(file.methods):
        file.check_method(wanted[0], place)
