"""The links and anchors of an HTML page."""

from html.parser import HTMLParser
from pathlib import Path


class HtmlPage(HTMLParser):
    """The anchors of a page, the URLs of its links, and the URLs that a browser loads for it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the anchors and URLs in the attributes of a tag."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        is_link = tag in {"a", "form"} or values.get("rel") in {"index", "search", "next", "prev"}
        urls = self.links if is_link else self.loaded
        urls += [values[name] for name in ("href", "src", "action") if name in values]
