"""HTML pages from jinja2 templates that share one style sheet.

A template of a report extends ``base.html.j2`` of this folder and fills its blocks ``title``,
``style`` and ``body``: a single file without external resources, in light and dark. The pages of
`starcast.web` link to the style sheet.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined

#: The folder of the style sheet, and of everything else that the pages of a server load.
STATIC = Path(__file__).parents[1] / "web" / "static"
STYLE_SHEET = "starcast.css"
_LIGHT = (STATIC / STYLE_SHEET).read_text(encoding="utf-8").partition("@media")[0]
#: Custom properties with the colours of curves and trees, and their values in light mode.
PALETTE: tuple[tuple[str, str], ...] = tuple(re.findall(r"(--tree-[0-9]): (#[0-9a-f]{6})", _LIGHT))


def page_environment(
    package: str, folder: str, filters: Mapping[str, Callable[..., Any]]
) -> Environment:
    """Return the environment of the templates in a folder of a package, which escapes values."""
    loaders = [PackageLoader(package, folder), PackageLoader("starcast.support", "")]
    environment = Environment(
        loader=ChoiceLoader([*loaders, FileSystemLoader(STATIC)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment


def render_page(
    package: str,
    template: str,
    filters: Mapping[str, Callable[..., Any]],
    **values: Any,
) -> str:
    """Return an HTML page.

    Args:
        package: the package that contains the template.
        template: the name of its file.
        filters: jinja2 filters for the template.
        values: the variables of the template.
    """
    return page_environment(package, "", filters).get_template(template).render(values)
