"""Sphinx' settings. `make site` builds the site from the pages that pages.py wrote."""

project = "RLVR, reproduced"
html_title = project
root_doc = "index"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
templates_path = []
exclude_patterns = []
suppress_warnings = ["myst.header"]

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_block"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("browse.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
