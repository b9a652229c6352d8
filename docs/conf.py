"""Configuration of the documentation site: Sphinx with MyST and the theme Furo (decision 12).

``make site`` builds the site. Its pages load no fonts, scripts or styles from other servers.
"""

import logging
from importlib.metadata import version as version_of
from typing import Any

from sphinx.application import Sphinx

project = "starcast"
author = "The starcast developers"
project_copyright = author
version = release = version_of("starcast")

# Without this level, a library that the theme uses would make all loggers print their messages.
logging.basicConfig(level=logging.WARNING)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_static"]
nitpicky = False
default_role = "code"

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "starcast"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"


def show_commands(*event: Any) -> None:
    """Turn lines that begin with "$ " in a docstring into console code blocks."""
    *_, lines = event
    shown: list[str] = []
    for line in lines:
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        if text.startswith("$ "):
            if not shown or not shown[-1].lstrip().startswith("$ "):
                shown += ["", f"{indent}.. code-block:: console", ""]
            shown.append(f"{indent}    {text}")
        else:
            shown.append(line)
    lines[:] = shown


def setup(app: Sphinx) -> None:
    """Register `show_commands`, which has to run before napoleon reads the docstrings."""
    app.connect("autodoc-process-docstring", show_commands, priority=400)
