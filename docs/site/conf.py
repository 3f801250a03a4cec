"""How the documentation becomes a site: see docs/build_site.py, which lays it out beside this file."""

from __future__ import annotations

project = "testbed"
author = "the testbed's authors"
extensions = ["myst_nb", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "testbed, the referee of stack unwinders"
html_show_copyright = False
templates_path: list[str] = []
exclude_patterns = ["**/*.intro.md"]
default_role = "code"
smartquotes = False
nb_execution_mode = "off"  # the notebooks are kept with their outputs
myst_heading_anchors = 4
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autoclass_content = "class"
nitpicky = False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]  # a listing in our own assembly's dialect
