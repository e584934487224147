"""A page of Markdown as one HTML file that needs nothing else: pictures, style and script are within it."""

import base64
import io
import re
from collections.abc import Mapping, MutableMapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from PIL import Image

from rlvr.report import text

FOLDER = Path(__file__).parent
WIDEST, SHADES = 900, 32  # pixels and colours of a picture
INTERVAL = re.compile(r"(<td[^>]*>[^<\[]+) (\[[^\]<]+\])(?=[^<]*</td>)")  # below its value, in smaller type


def page(markdown: str, pictures: Mapping[str, Path] = MappingProxyType({}), *, above: str = "", head: str = "") -> str:
    """The page; its title is the first heading. `pictures` has the file of each image, `above` leads to the overview.

    `head` is HTML for the page's head.
    """
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    parser.add_render_rule("image", _image)
    tokens = parser.parse(markdown)
    headings = _with_anchors(tokens)
    for start, content in pairwise(tokens):
        for image in (child for child in content.children or () if child.type == "image"):
            name = str(image.attrs["src"])
            image.attrs["src"] = _data(pictures[name])
            dark = pictures.get(name.replace(".png", "-dark.png"))
            image.meta = {"dark": _data(dark)} if dark else {}
            start.attrs["tabindex"] = "0"  # on a small screen it scrolls
    body = INTERVAL.sub(r"\1<small>\2</small>", parser.renderer.render(tokens, parser.options, {}))
    parts = {name: (FOLDER / name).read_text() for name in ("style.css", "browse.css", "browse.js")}
    return text.render("page.html.j2", headings=headings, body=body, parts=parts, above=above, head=head)


def _data(picture: Path) -> str:
    """A picture as a page has it: as wide as the page's text needs, in few colours, so that a page stays small."""
    out = io.BytesIO()
    with Image.open(picture) as image:
        image = image.convert("RGB")
        image.thumbnail((WIDEST, 10 * WIDEST))
        few = image.quantize(SHADES, dither=Image.Dither.NONE).convert("RGB")
        few.save(out, "WEBP", lossless=True)  # a fifth smaller than a PNG
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"


def _image(self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: MutableMapping) -> str:
    """A picture, with its dark one for readers who ask for dark pages."""
    image, dark = self.image(tokens, i, options, env), tokens[i].meta.get("dark")
    source = f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
    return f"<picture>{source}{image}</picture>" if dark else image


def _with_anchors(tokens: list[Token]) -> list[dict[str, str]]:
    """Gives each heading an anchor, and returns all of them: level, anchor, text."""
    headings: list[dict[str, str]] = []
    for start, content in pairwise(tokens):
        if start.type == "heading_open":
            words = "".join(child.content for child in content.children or ())
            name = re.sub(r"[^\w-]", "", words.lower().replace(" ", "-"))
            same = sum(heading["base"] == name for heading in headings)
            start.attrs["id"] = f"{name}-{same}" if same else name
            headings.append({"level": start.tag, "base": name, "anchor": str(start.attrs["id"]), "text": words})
    return headings
