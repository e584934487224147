"""What a table or figure of a snapshot is rendered from, kept beside it, and rendered again.

`<paper>/.data/<item>.json` has the specification of the rendering stage and the names of the statistics that it reads,
`<paper>/.data/<statistics>.csv`, or `.csv.xz` where they are large.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from rlvr.config.layouts import Layout
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.files import publish, publish_packed, read_json
from rlvr.items import TABLES, figure, kinds, layout, table

DATA = ".data"
PICTURE = ".png"
LARGE = 8_000  # bytes of statistics that are compressed
REFERENCES = Path("config/papers")


def files(plan: Plan, paper: str, item: str, paths: Paths) -> list[Path]:
    """The statistics that an item's rendering reads."""
    return [Path(paths.statistics(paper, name)) for name in plan.papers[paper].statistics_of(item)]


def keep(plan: Plan, paper: str, item: str, paths: Paths, out: Path) -> None:
    """Writes an item's specification and statistics into `out`, the paper's folder of a snapshot."""
    of, found = plan.papers[paper].item(item), files(plan, paper, item, paths)
    spec = layout.of(plan, paper, item).model_dump(mode="json")
    if of.folder == TABLES:
        named = getattr(of.content, "reference", None)
        spec = table.specification(plan, paper, item, str(REFERENCES / named) if named else None)
    content = {"folder": of.folder, "specification": spec, "statistics": [path.stem for path in found]}
    # As the stage gets it, with sorted keys: what hangs on their order would differ otherwise.
    publish(out / DATA / f"{item}.json", json.dumps(content, ensure_ascii=False, sort_keys=True) + "\n")
    for path in found:
        data, target = path.read_bytes(), out / DATA / path.name
        if len(data) > LARGE:
            publish_packed(target.with_name(f"{target.name}.xz"), data)
        else:
            publish(target, data)


def copy(source: Path, target: Path) -> None:
    """Copies a table unchanged, a picture in 64 colours, which takes a fifth of the space and looks the same."""
    if source.suffix != PICTURE:
        shutil.copyfile(source, target)
        return
    with Image.open(source) as picture:
        picture.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)


def items(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Each item of a snapshot that has its data: its kept specification, and its table or picture."""
    for paper in sorted(folder.iterdir()):
        yield from items_of(paper)


def items_of(paper: Path) -> Iterator[tuple[Path, Path]]:
    """The same of a paper's folder of a snapshot."""
    for spec in sorted(paper.glob(f"{DATA}/*.json")):
        suffix = ".md" if read_json(spec)["folder"] == TABLES else PICTURE
        yield spec, spec.parents[1] / (spec.stem + suffix)


def read(spec: Path) -> tuple[Layout, dict[str, pd.DataFrame]]:
    """The layout of an item from its kept specification, and its statistics by their names."""
    content = read_json(spec)
    laid = content["specification"]["layout"] if content["folder"] == TABLES else content["specification"]
    layout: Layout = kinds(content["folder"]).load(laid["kind"]).read(laid)
    return layout, {name: pd.read_csv(statistics_file(spec, name)) for name in content["statistics"]}


def statistics_file(spec: Path, name: str) -> Path:
    """The file of some statistics beside an item's kept specification."""
    return next(spec.parent.glob(f"{name}.csv*"))


def render(kept: Path, out: Path, root: Path) -> None:
    """Renders an item from its kept data, by the stage of tables or figures; references are below `root`."""
    content: dict[str, Any] = read_json(kept)
    files = [statistics_file(kept, name) for name in content["statistics"]]
    spec = content["specification"]
    if spec.get("reference"):
        spec["reference"] = str(root / spec["reference"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.json"
        file.write_text(json.dumps(spec))
        if content["folder"] == TABLES:
            table.main(file, [out], *files)
        else:
            figure.main(file, files, [out])
