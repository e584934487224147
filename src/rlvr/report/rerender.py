"""What a table or figure of a snapshot is rendered from, and rendered again.

`<paper>/.data/items.jsonl.xz` has a line per table and figure: the specification of the rendering stage, and the names
of the statistics that it reads, `<paper>/.data/<statistics>.csv`, or `.csv.xz` where they are large.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from rlvr.config.layouts import Layout
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.files import publish, publish_lines, publish_packed, read_lines
from rlvr.items import TABLES, figure, kinds, layout, table

DATA = ".data"
ITEMS = "items.jsonl.xz"
PICTURE = ".png"
LARGE = 8_000  # bytes of statistics that are compressed
REFERENCES = Path("config/papers")


@dataclass(frozen=True)
class KeptItem:
    """A table or figure of a snapshot."""

    paper: Path  # the paper's folder of the snapshot
    name: str
    folder: str  # tables or figures
    specification: dict[str, Any]
    names: list[str]  # of its statistics

    @property
    def shown(self) -> Path:
        """Its table as Markdown, or its picture, where the snapshot has them."""
        return self.paper / (self.name + (".md" if self.folder == TABLES else PICTURE))

    @cached_property
    def layout(self) -> Layout:
        laid = self.specification["layout"] if self.folder == TABLES else self.specification
        of_kind: Layout = kinds(self.folder).load(laid["kind"]).read(laid)
        return of_kind

    def statistics(self) -> dict[str, pd.DataFrame]:
        """Its statistics by their names."""
        return {name: pd.read_csv(self.file(name)) for name in self.names}

    def file(self, name: str) -> Path:
        """The file of some of its statistics."""
        return next((self.paper / DATA).glob(f"{name}.csv*"))

    def render(self, out: Path, root: Path) -> None:
        """Renders it by the stage of tables or figures; published values are below `root`."""
        files, spec = [self.file(name) for name in self.names], dict(self.specification)
        if spec.get("reference"):
            spec["reference"] = str(root / spec["reference"])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "spec.json"
            file.write_text(json.dumps(spec))
            if self.folder == TABLES:
                table.main(file, [out], *files)
            else:
                figure.main(file, files, [out])


def files(plan: Plan, paper: str, item: str, paths: Paths) -> list[Path]:
    """The statistics that an item's rendering reads."""
    return [Path(paths.statistics(paper, name)) for name in plan.papers[paper].statistics_of(item)]


def keep(plan: Plan, paper: str, items: Iterable[str], paths: Paths, out: Path) -> None:
    """Writes the specifications of items and their statistics into `out`, the paper's folder of a snapshot."""
    lines = []
    for item in items:
        of, found = plan.papers[paper].item(item), files(plan, paper, item, paths)
        spec = layout.of(plan, paper, item).model_dump(mode="json")
        if of.folder == TABLES:
            named = getattr(of.content, "reference", None)
            spec = table.specification(plan, paper, item, str(REFERENCES / named) if named else None)
        lines.append(line(item, of.folder, spec, [path.stem for path in found]))
        for path in found:
            data, target = path.read_bytes(), out / DATA / path.name
            if len(data) > LARGE:
                publish_packed(target.with_name(f"{target.name}.xz"), data)
            else:
                publish(target, data)
    publish_lines(out / DATA / ITEMS, lines)


def line(item: str, folder: str, specification: dict[str, Any], statistics: list[str]) -> dict[str, Any]:
    """The line of an item. As the stage gets it, with sorted keys: what hangs on their order would differ otherwise."""
    of_item = {"item": item, "folder": folder, "specification": specification, "statistics": statistics}
    ordered: dict[str, Any] = json.loads(json.dumps(of_item, sort_keys=True))
    return ordered


def copy(source: Path, target: Path) -> None:
    """Copies a picture in 64 colours, which takes a fifth of the space and looks the same."""
    with Image.open(source) as picture:
        picture.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)


def items(folder: Path) -> Iterator[KeptItem]:
    """Each item of a snapshot that has its data."""
    for paper in sorted(folder.iterdir()):
        yield from items_of(paper).values()


def items_of(paper: Path) -> dict[str, KeptItem]:
    """The same of a paper's folder of a snapshot, by name."""
    file = paper / DATA / ITEMS
    found = read_lines(file) if file.is_file() else ()
    return {
        one["item"]: KeptItem(paper, one["item"], one["folder"], one["specification"], one["statistics"])
        for one in found
    }
