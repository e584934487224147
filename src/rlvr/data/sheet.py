"""One picture with the first problems of sets with pictures: a row per set, a column per problem."""

from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from rlvr.config.load import find_folder, look_up, read_data
from rlvr.data import prepare
from rlvr.records import Problem, read_records

GAP = 6  # pixels
ZOOM = 2


def sheet(rows: list[list[Path]]) -> bytes:
    """A PNG of pictures in rows. Pixels are doubled."""
    from PIL import Image, ImageOps

    nearest = Image.Resampling.NEAREST
    pictures = [[ImageOps.scale(Image.open(path).convert("RGB"), ZOOM, nearest) for path in row] for row in rows]
    side = max(max(picture.size) for row in pictures for picture in row)
    width, height = max(map(len, pictures)) * (side + GAP) + GAP, len(pictures) * (side + GAP) + GAP
    whole = Image.new("RGB", (width, height), (224, 224, 224))
    for i, row in enumerate(pictures):
        for j, picture in enumerate(row):
            whole.paste(picture, (GAP + j * (side + GAP), GAP + i * (side + GAP)))
    file = BytesIO()
    whole.quantize(256).save(file, "PNG", optimize=True)
    return file.getvalue()


def main(
    names: Annotated[list[str], typer.Argument(help="Generated sets with pictures, a row each.")],
    out: Annotated[Path, typer.Option(help="PNG to write.")],
    columns: Annotated[int, typer.Option(help="Problems of each set.", min=1)] = 6,
) -> None:
    """Draw the first pictures of some sets, and print their questions."""
    from tempfile import TemporaryDirectory

    folder = find_folder()
    if folder is None:
        raise SystemExit("no folder config/ here or above")
    sets = read_data(folder, folder.parent)
    with TemporaryDirectory() as temporary:
        rows = []
        for name in names:
            data, home = look_up(sets, name, "data set", "NAMES"), Path(temporary) / name
            prepare.make(data.model_copy(update={"problems": columns}), home)
            problems = read_records(home / "problems.jsonl", Problem)
            rows.append([home / image for problem in problems for image in problem.images])
            typer.echo("\n".join(f"{name}: {problem.prompt}" for problem in problems))
        out.write_bytes(sheet(rows))


if __name__ == "__main__":
    typer.run(main)
