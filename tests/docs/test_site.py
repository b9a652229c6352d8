"""The documentation site: complete, linked, and legible in a browser without a network."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from support.fix_browser import served
from support.read_html import HtmlPage

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "site"
#: Pages that are opened in the browser: text, outputs, drawings, wide tables, signatures.
OPENED = ["index", "tutorial", "api/trees", "claims", "commands", "glossary", "architecture"]


@pytest.fixture(scope="module")
def pages() -> dict[Path, HtmlPage]:
    """Build the site as `make site` does, and read all of its pages."""
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    subprocess.run(["make", "site"], cwd=ROOT, check=True, env=environment)
    return {page: HtmlPage(page) for page in SITE.rglob("*.html")}


def test_every_document_is_a_page_of_the_site(pages: dict[Path, HtmlPage]) -> None:
    documents = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    built = {page.relative_to(SITE) for page in pages}
    assert {path.with_suffix(".html") for path in documents} <= built


def test_every_local_link_leads_to_a_page_and_an_anchor(pages: dict[Path, HtmlPage]) -> None:
    missing = []
    for page, reader in pages.items():
        for link in [*reader.links, *reader.loaded]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            # In the URL of an explorer page, the fragment is the state of the page, not an anchor.
            is_explorer = target.parent.name == "explore" or target not in pages
            anchors = {unquote(parts.fragment)} if is_explorer else pages[target].anchors
            if not target.is_file() or unquote(parts.fragment) not in anchors:
                missing.append(f"{page.relative_to(SITE)}: {link}")
    assert missing == []


def test_nothing_is_loaded_from_another_host(pages: dict[Path, HtmlPage]) -> None:
    loaded = {link for reader in pages.values() for link in reader.loaded}
    assert [link for link in loaded if urlsplit(link).scheme not in {"", "data"}] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in SITE.rglob("*.css"))
    assert "@import" not in styles
    assert "url(http" not in styles


def test_the_public_names_are_documented(pages: dict[Path, HtmlPage]) -> None:
    import starcast

    anchors = {anchor.rpartition(".")[2] for reader in pages.values() for anchor in reader.anchors}
    assert set(starcast.__all__) <= anchors


def test_sphinx_does_not_interpret_docstring_text_as_a_type(pages: dict[Path, HtmlPage]) -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    assert [page for page, text in texts.items() if '>Type<span class="colon">' in text] == []


@pytest.fixture(scope="module")
def address(pages: dict[Path, HtmlPage]) -> Iterator[str]:
    """Yield the URL of the site, served on the loopback interface."""
    assert pages
    # Browsers also ask for an icon, which the site does not have.
    icon = Route("/favicon.ico", lambda _: Response())
    with served(Starlette(routes=[icon, Mount("/", StaticFiles(directory=SITE))])) as url:
        yield url


@pytest.mark.parametrize("name", OPENED)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_a_phone_screen_in_both_colour_schemes(
    tab: Page, name: str, scheme: str
) -> None:
    tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.goto(f"/{name}.html")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    channels = [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    assert (sum(channels) < 200) == (scheme == "dark")
    widths = tab.evaluate("[...document.querySelectorAll('article img')].map(i => i.naturalWidth)")
    assert all(widths)


def test_the_search_finds_a_page_that_contains_a_term(tab: Page) -> None:
    tab.goto("/index.html")
    tab.get_by_placeholder("Search").fill("congestion")
    tab.get_by_placeholder("Search").press("Enter")
    # Wait, since the search results appear one after the other.
    results = tab.locator("#search-results li a")
    results.get_by_text("Tutorial: from a star graph to a comparison").first.wait_for()


def test_a_solution_in_the_tutorial_opens_on_a_click(tab: Page) -> None:
    tab.goto("/tutorial.html")
    solution = tab.locator("details").first
    answer = solution.get_by_text("links of dimensions 4, 2, 3 and 2")
    assert not answer.is_visible()
    solution.locator("summary").click()
    expect(answer).to_be_visible()
