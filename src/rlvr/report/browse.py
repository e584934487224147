"""Tables that a reader sorts and filters, and the origin of a number behind a button beside it, as HTML.

The browser has the popovers; `browse.js` adds sorting and filters. Nothing here has an empty line, so that the HTML is
one block of Markdown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

NUMBER, TEXT, CHOICE = "number", "text", "choice"  # a choice has few values, and a list of them as its filter


@dataclass(frozen=True)
class TableCell:
    """The text of a cell; `sort` is what it sorts by, `origin` the popover that its button opens."""

    text: str
    sort: float | str | None = None
    origin: str = ""
    small: str = ""
    mark: str = ""  # a class of the style sheet

    def html(self) -> str:
        inner = escape(self.text)
        if self.mark:
            inner = f'<span class="badge {self.mark}">{inner}</span>'
        if self.origin:
            inner = f'<button type="button" popovertarget="{self.origin}">{inner}</button>'
        sort = "" if self.sort is None or self.text == f"{self.sort}" else f' data-sort="{escape(str(self.sort))}"'
        return f"<td{sort}>{inner}" + (f"<small>{escape(self.small)}</small>" if self.small else "") + "</td>"


def table(caption: str, columns: Mapping[str, str], rows: Iterable[tuple[str, Sequence[TableCell]]]) -> str:
    """A table: columns with their kinds, and rows with an anchor (or ""), each a cell per column."""
    heads = "".join(f'<th scope="col" data-kind="{kind}">{escape(name)}</th>' for name, kind in columns.items())
    name, lines = escape(caption), []
    for anchor, cells in rows:
        own = f' id="{escape(anchor)}"' if anchor else ""
        lines.append(f"<tr{own}>{''.join(cell.html() for cell in cells)}</tr>")
    content = "\n".join(lines)
    return (
        f'<div class="browse"><div class="table-wrapper" tabindex="0" role="region" aria-label="{name}">'
        f'<table class="docutils"><caption>{name}</caption><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{content}\n</tbody></table></div></div>"
    )


def popover(name: str, title: str, facts: Mapping[str, str]) -> str:
    """What a button opens: facts as HTML, without the empty ones."""
    terms = "".join(f"<dt>{escape(key)}</dt><dd>{value}</dd>" for key, value in facts.items() if value)
    return (
        f'<div popover id="{name}" class="origin" role="dialog" aria-labelledby="{name}-title">'
        f'<p id="{name}-title"><strong>{escape(title)}</strong></p><dl>{terms}</dl>'
        f'<button type="button" popovertarget="{name}" popovertargetaction="hide">Close</button></div>'
    )
