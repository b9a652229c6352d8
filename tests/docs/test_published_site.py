"""A published site, opened from its files in a real browser without a network."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from starcast import Lab
from starcast.records import known_folders
from starcast.records.files import load_files
from starcast.support.settings import Settings
from starcast.web.publishing import Publishing
from starcast.web.site import file_of
from support.accessibility import MODES, enter_mode, find_faults
from support.fix_browser import PATIENCE
from support.read_html import HtmlPage

pytestmark = pytest.mark.slow

#: File name of the comparison of two experiments, without the suffix.
PAIR = file_of("/compare?name=ours&name=theirs").removesuffix(".html")
PAGES = (
    "index.html",
    "experiments.html",
    "experiments/ours.html",
    f"{PAIR}.html",
    "claims.html",
    "claims/TS.L5.html",
    "records.html",
    "records/congestion-trees~S4~congestion=2.html",
    "artifacts.html",
    "search.html",
    "explore/S4.html",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the site; the name of the folder has characters that URLs escape."""
    return tmp_path_factory.mktemp("site") / "a site, 100% static"


@pytest.fixture
def site(folder: Path, request: pytest.FixtureRequest) -> Path:
    """Return the folder of a site, built once, with artifacts, experiments and a verdict."""
    if not folder.exists():
        request.getfixturevalue("filled")
        with Publishing(Settings.load()) as opened:
            facts = opened.publish(folder, "S5:broadcast:multiple", compare=["ours,theirs"])
        assert facts["files"] == sum(path.is_file() for path in folder.rglob("*"))
    return folder


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """Yield a browser tab without a network; an error on a page fails the test."""
    context = browser.new_context(offline=True)
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", lambda message: problems.append(message.text))
    yield tab
    context.close()
    assert problems == []


def test_the_home_page_of_a_published_site_has_no_help_on_topology_names(site: Path) -> None:
    home = (site / "index.html").read_text()
    assert "How to write a topology" not in home


def test_every_link_is_relative_and_leads_to_a_file_and_every_file_is_linked(site: Path) -> None:
    linked = {site / "index.html", site / "starcast-site.json"}
    waiting = [site / "index.html"]
    while waiting:
        page = waiting.pop()
        read = HtmlPage(page)
        for address in [*read.links, *read.loaded]:
            path = unquote(address.partition("#")[0])
            if not path or address.startswith("data:"):
                continue
            assert not re.match(r"/|[a-z]+:", address), (page, address)
            file = (page.parent / path).resolve()
            assert file.is_file(), (page, address)
            if file not in linked:
                linked.add(file)
                waiting += [file] if file.suffix == ".html" else []
    assert linked == {path for path in site.rglob("*") if path.is_file()}
    assert {(site / page) for page in PAGES} <= linked


def test_row_counts_run_times_and_witnesses_in_published_files_agree_with_the_lab(
    site: Path, filled: Lab
) -> None:
    for name, table in (
        ("forests", filled.forests()),
        ("schedules", filled.schedules()),
        ("experiments/ours", filled.show_experiment("ours")),
        (PAIR, filled.compare("ours", "theirs")),
    ):
        with (site / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) == len(table) + 1, name
    runs = json.loads((site / "experiments/ours.json").read_text())["runs"]
    times = [row["time"] for row in json.loads(filled.show_experiment("ours").to_json())]
    assert [run["time"] for run in runs] == times
    verdicts = json.loads((site / "claims.json").read_text())["items"]
    assert [each["id"] for each in verdicts if each["verdict"]] == ["TS.L5"]
    for record in load_files(known_folders(Settings.load().home)):
        for name, array in record.witness.items():
            witness = f"records/{record.id.replace(':', '~')}/witness/{name}.npy"
            assert np.array_equal(np.load(site / witness), array)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("page", PAGES)
def test_all_kinds_of_pages_are_accessible_in_every_display_mode(
    site: Path, tab: Page, page: str, mode: str
) -> None:
    enter_mode(tab, MODES[mode])
    tab.goto((site / page).as_uri())
    if page.startswith("explore"):
        tab.wait_for_selector("body[data-ready]")
    assert find_faults(tab, MODES[mode]) == []
    assert tab.get_by_role("button", name=re.compile("^(Compare|Show)$")).count() == 0


def test_the_search_finds_pages_and_opens_them(site: Path, tab: Page) -> None:
    tab.goto((site / "index.html").as_uri())
    tab.get_by_role("link", name="Search", exact=True).click()
    found = tab.locator("li.filtered:visible")
    tab.get_by_label("words").fill("no such words anywhere")
    expect(found).to_have_count(0)
    tab.get_by_label("words").fill("OURS THEIRS against")
    expect(found).to_have_count(1)
    expect(tab.get_by_role("status")).to_contain_text("1 of ")
    found.get_by_role("link").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("ours against theirs")
    expect(tab.locator(".times figure svg").first).to_be_visible()


def test_claims_and_records_are_filtered_without_a_server(site: Path, tab: Page) -> None:
    tab.goto((site / "claims.html").as_uri())
    tab.get_by_label("verdict").select_option("holds")
    expect(tab.locator("tr.filtered:visible")).to_have_count(1)
    tab.get_by_role("link", name="TS.L5").first.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("TS.L5")
    tab.get_by_role("link", name="Records").click()
    tab.get_by_label("problem").select_option("congestion-trees")
    expect(tab.locator("tr.filtered:visible")).to_have_count(4)


def test_links_to_the_explorer_open_the_artifacts_that_they_name(site: Path, tab: Page) -> None:
    tab.goto((site / "artifacts.html").as_uri())
    tab.get_by_role("link", name="S4:multiple:1234").click()
    tab.wait_for_selector("body[data-ready]")
    expect(tab.locator("#tree-list label")).to_have_count(3)
    expect(tab.locator("#notices")).to_be_empty()
    tab.get_by_role("link", name="starcast").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("A laboratory")
    tab.goto(f"{(site / 'explore/S5.html').as_uri()}#schedule=broadcast:multiple&step=2")
    tab.wait_for_selector("body[data-ready]")
    expect(tab.locator("#step-text")).to_contain_text("step 2 of")
    expect(tab.locator("#notices")).to_be_empty()
