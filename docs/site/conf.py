"""Sphinx' settings. `make site` builds the site from the pages that pages.py wrote."""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

project = "RLVR, reproduced"
html_title = project
root_doc = "index"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
suppress_warnings = ["myst.header"]  # a page may leave out a level of headings

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "colon_fence"]

html_theme = "furo"
html_static_path = ["static", "../../src/rlvr/report/browse.css", "../../src/rlvr/report/browse.js"]
html_css_files = ["browse.css", "site.css"]
html_js_files = [("browse.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_math_renderer = "mathml"
SCROLLS = re.compile(r'<div class="(table|math)-wrapper [^"]*"')


def inline(translator, node):
    translator.body.append(convert(node.astext()))
    raise SkipNode


def block(translator, node):
    translator.body.append(convert(node.astext(), display="block"))
    raise SkipNode


def finish(app, page, template, context, doctree):
    """What scrolls can be reached by the keyboard, pictures load as they come into view, headings have a level."""
    if "body" in context:
        body = context["body"].replace("<img ", '<img loading="lazy" ').replace("<pre>", '<pre tabindex="0">')
        context["body"] = SCROLLS.sub(r'\g<0> tabindex="0"', body)
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app):
    # MathML is part of every browser: formulas need no script, no font and no network, and a screen reader reads them.
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("html-page-context", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
