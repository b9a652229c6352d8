"""Representations of objects in notebooks, independent of the code that draws them.

Topologies, forests and schedules have ``_repr_svg_`` and ``_repr_html_``, which Jupyter and other
notebooks call. Their modules do not import the drawing code: ``starcast/__init__.py`` registers a
function that imports it when a representation is needed. docs/decisions/0013 gives the reasons.
"""

from collections.abc import Callable
from typing import Literal

Form = Literal["svg", "html"]
#: Function that returns an object's representation as SVG or HTML, or None if it has none.
Renderer = Callable[[object, Form], str | None]

_renderers: list[Renderer] = []


def register_renderer(renderer: Renderer) -> None:
    """Set the function that renders every `Displayable` object in notebooks."""
    _renderers[:] = [renderer]


class Displayable:
    """An object that notebooks show as a picture, or as a table if a picture would be too large."""

    def _repr_svg_(self) -> str | None:
        return _render(self, "svg")

    def _repr_html_(self) -> str | None:
        return _render(self, "html")


def _render(thing: object, form: Form) -> str | None:
    return _renderers[0](thing, form) if _renderers else None
