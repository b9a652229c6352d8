"""A strict reader for the HTML pages that starcast writes."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET


class Page:
    """The elements of a page, with its text and the texts of all table cells.

    The page is parsed as XML, which fails if an element is not closed. The contents of scripts and
    styles are removed first, void elements are closed, and attributes without a value get one.
    """

    def __init__(self, text: str) -> None:
        text = re.sub(r"(?s)(<(script|style)\b[^>]*>).*?(</\2>)", r"\1\3", text)
        text = re.sub(r"<((?:meta|br|link|input)\b[^>]*)>", r"<\1/>", text)
        text = re.sub(r" (open|hidden)>", r' \1="">', text)
        self.elements = list(ET.fromstring(text).iter())  # noqa: S314 - we wrote it
        self.text = _text_of(self.elements[0])
        self.rows = [[_text_of(cell) for cell in row] for row in self.find("tr")]

    def find(self, tag: str) -> list[ET.Element]:
        """Return all elements with a tag."""
        return [element for element in self.elements if element.tag == tag]

    def below(self, heading: Sequence[str]) -> list[list[str]]:
        """Return all table rows of the page that follow the row with the given heading."""
        return self.rows[self.rows.index(list(heading)) + 1 :]

    def external_references(self) -> list[str]:
        """Return the addresses of other files that the page loads or links to."""
        addresses = (
            element.get(name, "#") for element in self.elements for name in ("src", "href")
        )
        return [address for address in addresses if not address.startswith(("#", "data:,"))]


def _text_of(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())
