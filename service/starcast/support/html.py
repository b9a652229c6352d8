"""HTML pages from jinja2 templates that share one base template and one style sheet.

A template of a package extends ``base.html.j2`` of this folder and fills its blocks ``title``,
``style`` and ``body``. The pages are single files without external resources, in light and dark.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

_LIGHT = ("#0072b2", "#d55e00", "#007d5a", "#a8467f", "#8a6100", "#1f83b8", "#5b3f99", "#444444")
_DARK = ("#58a6e0", "#ff8c42", "#2fc79a", "#e08fc0", "#e8b93c", "#8fd3f4", "#b69cf0", "#d0d4da")
#: Custom properties with the colours of curves in light mode: those of Okabe and Ito, which are
#: distinguishable with colour blindness, darker if they are too light on white.
PALETTE = tuple((f"--curve-{number}", colour) for number, colour in enumerate(_LIGHT, start=1))
#: The same properties in dark mode.
DARK_PALETTE = tuple((f"--curve-{number}", colour) for number, colour in enumerate(_DARK, start=1))


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
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, ""), PackageLoader("starcast.support", "")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment.get_template(template).render(
        palette=PALETTE, dark_palette=DARK_PALETTE, **values
    )
