"""The pages of `starcast serve` in a real browser, with real databases."""

import re
from collections.abc import Iterator
from itertools import pairwise
from math import log10
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from starcast import Lab
from starcast.comparison.curves import panels
from starcast.support.settings import Settings
from starcast.web.app import create_app
from starcast.web.service import Service
from starcast.web.workers import Workers
from support.accessibility import MODES, enter_mode, find_faults
from support.fix_browser import served

FOREST = "S4:multiple:1234"
QUERY = "/queries/overlap/load-histogram"
PAGES = (
    "/",
    "/queries",
    f"{QUERY}?forest={FOREST}",
    "/experiments",
    "/experiments/ours",
    "/compare?name=ours&name=theirs",
    "/claims?paper=TS",
    "/claims/TS.L5",
    "/records",
    "/records/congestion-trees:S4:congestion=2",
    "/artifacts",
)


@pytest.fixture
def address(filled: Lab) -> Iterator[str]:
    """Yield the URL of a server whose databases hold artifacts, experiments and a verdict."""
    filled.experiment("wide", topology="S5", algorithm=["greedy", "multiple"], segments=[1, 4],
                      message_bytes=[16, 256, 4096, 65536])  # fmt: skip
    service = Service(Settings.load(), Workers(count=1, seconds=60))
    with served(create_app(service)) as url:
        yield url
    service.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_all_pages_are_accessible_in_every_display_mode(tab: Page, mode: str) -> None:
    enter_mode(tab, MODES[mode])
    for path in PAGES:
        tab.goto(path)
        tab.wait_for_load_state("networkidle")
        assert find_faults(tab, MODES[mode]) == [], path
        if MODES[mode].forced == "none":
            colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (colour == "rgb(255, 255, 255)") == (MODES[mode].scheme == "light")


def test_a_query_can_be_run_with_the_keyboard_alone(tab: Page) -> None:
    tab.goto(QUERY)
    tab.keyboard.press("Tab")
    expect(tab.get_by_text("Skip to the content")).to_be_focused()
    tab.get_by_label("forest").focus()
    tab.keyboard.type(FOREST)
    tab.keyboard.press("Enter")
    answer = tab.get_by_role("region", name="answer")
    expect(answer.get_by_role("row")).to_have_count(4)
    assert tab.url.endswith("?forest=S4%3Amultiple%3A1234")
    tab.get_by_label("forest").fill("S4:multiple:4321")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("alert")).to_contain_text("'S4:multiple:4321' is not in the graph")
    expect(tab.get_by_role("alert")).to_contain_text("starcast ingest S4 --trees multiple")


@pytest.mark.slow
def test_values_of_curves_can_be_read_with_keyboard_and_pointer(tab: Page) -> None:
    tab.goto("/experiments/wide")
    slider = tab.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "65,536 bytes")
    caption = tab.locator(".times .readings caption")
    slider.press("Home")
    expect(caption).to_have_text("at a message size of 16 bytes")
    slider.press("ArrowRight")
    expect(caption).to_have_text("at a message size of 256 bytes")
    rows = tab.locator(".times .readings tbody tr")
    assert [text.split("\t")[0] for text in rows.all_inner_texts()] == [
        "greedy", "multiple", "lower bound",
    ]  # fmt: skip
    box = tab.locator(".times figure svg").bounding_box()
    assert box is not None
    tab.locator(".times figure svg").hover(position={"x": box["width"] - 20, "y": 50})
    expect(caption).to_have_text("at a message size of 65,536 bytes")
    crossovers = tab.locator("ol.crossovers li")
    assert "is better below" in crossovers.first.inner_text()
    marked = tab.locator(".number-mark").all_text_contents()
    numbers = sorted(int(number) for text in marked for number in text.split(","))
    assert numbers == list(range(1, crossovers.count() + 1))


@pytest.mark.slow
@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_comparison_file_works_offline_and_plots_the_stored_times(
    browser: Browser, filled: Lab, tmp_path: Path, has_scripts: bool
) -> None:
    """With scripts, the file plots the stored times. Without scripts, it shows them in tables."""
    filled.experiment("wide", topology="S5", algorithm=["greedy", "multiple"], segments=[1, 4],
                      message_bytes=[16, 256, 4096, 65536])  # fmt: skip
    comparison = filled.compare("wide")
    file = tmp_path / "page.html"
    file.write_text(comparison.html(), encoding="utf-8")
    context = browser.new_context(offline=True, java_script_enabled=has_scripts)
    tab = context.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", lambda message: problems.append(message.text))
    tab.goto(file.as_uri())
    expect(tab.locator(".times figure svg")).to_have_count(1 if has_scripts else 0)
    expect(tab.locator(".links figure svg")).to_have_count(1 if has_scripts else 0)
    values = tab.get_by_role("region", name="times at all message sizes")
    expect(values).to_be_visible(visible=not has_scripts)
    if has_scripts:
        (panel,) = panels(comparison.comparison)
        spots = [spot for curve in panel.curves for spot in curve.spots()]
        _check_places(tab, "cx", [log10(spot.message_bytes) for spot in spots])
        _check_places(tab, "cy", [-log10(spot.time) for spot in spots])
    assert problems == []
    context.close()


def _check_places(tab: Page, name: str, figures: list[float]) -> None:
    """Check that the marks of a plot lie at the given values on a linear scale."""
    script = f"marks => marks.map((mark) => Number(mark.getAttribute('{name}')))"
    places = tab.locator(".times circle").evaluate_all(script)
    low, high = min(figures), max(figures)
    scale = (max(places) - min(places)) / (high - low)
    expected = [min(places) + (figure - low) * scale for figure in figures]
    assert places == pytest.approx(expected, abs=0.1)
    assert len(places) == 8


@pytest.mark.slow
def test_a_claims_file_can_be_filtered_offline_and_a_link_shows_a_hidden_row(
    browser: Browser, filled: Lab, tmp_path: Path
) -> None:
    file = tmp_path / "claims.html"
    file.write_text(filled.claim_report().html(), encoding="utf-8")
    context = browser.new_context(offline=True)
    tab = context.new_page()
    tab.goto(file.as_uri())
    row = tab.locator("tr#TS\\.L5")
    expect(row).to_be_visible()
    tab.get_by_label("words").fill("nothing of this kind")
    expect(tab.get_by_role("status")).to_have_text("0 of 1 claims")
    expect(row).to_be_hidden()
    tab.evaluate("location.hash = 'TS.L5'")
    expect(row).to_be_visible()
    context.close()


@pytest.mark.slow
def test_the_claims_page_counts_the_checked_claims_and_has_no_empty_column(tab: Page) -> None:
    tab.goto("/claims?paper=TS")
    expect(tab.locator("main")).to_contain_text("1 of 91 claims checked")
    heads = tab.get_by_role("region", name="claims").get_by_role("columnheader")
    expect(heads).to_have_text(["id, number", "statement", "verdict and evidence"])
    tab.goto("/claims?paper=NK")
    expect(heads).to_have_text(["id, number", "statement"])
    assert heads.first.evaluate("head => head.offsetWidth") < 200, "statements use all other space"


@pytest.mark.slow
def test_the_drawing_of_a_query_result_is_as_wide_as_the_page_and_opens_on_a_click(
    tab: Page,
) -> None:
    tab.goto("/queries/topology/neighbours?topology=S4&node=1234")
    picture = tab.get_by_role("img", name="The nodes and links of the answer")
    expect(picture).to_be_visible()
    box = picture.bounding_box()
    assert box is not None
    assert box["width"] > 0.95 * tab.evaluate("document.querySelector('main').clientWidth")
    picture.click()
    expect(tab).to_have_url(re.compile(r"\.svg\?topology=S4"))


@pytest.mark.slow
def test_tick_labels_do_not_overlap_on_a_phone_screen(tab: Page, filled: Lab) -> None:
    filled.experiment("narrow", topology="S5", algorithm="greedy",
                      message_bytes=[16, 64, 256, 1024, 4096])  # fmt: skip
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto("/experiments/narrow")
    script = """texts => texts.map((text) => {
        const { x, y, width } = text.getBBox();
        return [y, x, x + width];
    })"""
    labels = tab.locator(".times svg text[text-anchor=middle]:not([transform])")
    places = sorted(labels.evaluate_all(script))
    rows = [
        [place[1:] for place in places if place[0] == y] for y in {place[0] for place in places}
    ]
    ticks = max(rows, key=len)
    assert len(ticks) > 2
    assert all(left[1] + 5 < right[0] for left, right in pairwise(ticks))


@pytest.mark.slow
def test_two_experiments_can_be_selected_in_the_list_and_compared(tab: Page) -> None:
    tab.goto("/experiments")
    tab.get_by_label("compare ours").check()
    tab.get_by_label("compare theirs").check()
    tab.get_by_role("button").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("ours against theirs")
    expect(
        tab.get_by_role("region", name="comparison").locator("td.better, td.worse").first
    ).to_be_visible()


@pytest.mark.slow
def test_a_link_opens_a_counterexample_in_the_explorer(tab: Page) -> None:
    tab.goto("/claims/TS.T1.time")
    link = tab.get_by_role("link", name="Show the counterexample in the explorer")
    assert "/explore/S3?schedule=broadcast" in link.evaluate("link => link.href")
    link.click()
    expect(tab).to_have_url(re.compile("/explore/S3"))


@pytest.mark.slow
def test_a_link_opens_the_witness_of_a_record_in_the_explorer(tab: Page) -> None:
    tab.goto("/records?problem=congestion-trees")
    tab.get_by_role("link", name="congestion-trees:S4:congestion=2 in the explorer").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("S4")
    expect(tab.locator("#tree-list label")).to_have_count(3)
    expect(tab.locator("#notices")).to_be_empty()


@pytest.mark.slow
def test_the_explorer_draws_the_topology_named_in_its_url(tab: Page) -> None:
    """The data come from the API. Requests to other hosts and console errors fail the test."""
    for path in ("/explore/S4?schedule=broadcast:multiple&step=2", "/explore/S4?forest=multiple"):
        tab.goto(path)
        tab.wait_for_load_state("networkidle")
        expect(tab.get_by_role("heading", level=1)).to_contain_text("S4")
        expect(tab.locator("[data-node]")).to_have_count(24)


@pytest.mark.slow
def test_a_late_response_does_not_replace_the_forest_chosen_meanwhile(tab: Page) -> None:
    tab.goto("/explore/S4")
    tab.wait_for_selector("body[data-ready]")
    held: list[Route] = []
    slow = re.compile("/forests/S4%3Agreedy$")
    tab.route(slow, lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    with tab.expect_request(slow):
        tab.select_option("#forest", "greedy")
    tab.select_option("#forest", "multiple")
    with tab.expect_response(slow):
        held[0].continue_()
    expect(tab.locator("#tree-list label")).to_have_count(3)
    tab.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert tab.locator("#forest").input_value() == "multiple"
    assert tab.url.endswith("?forest=multiple")


@pytest.mark.slow
def test_error_pages_of_the_explorer_link_to_other_topologies(tab: Page) -> None:
    tab.goto("/explore/S9?schedule=broadcast:greedy")
    expect(tab.get_by_role("alert")).to_contain_text("S9 has 362,880 nodes")
    tab.goto("/explore/s4")
    expect(tab.get_by_role("navigation")).to_contain_text("Experiments")
    tab.get_by_role("list").get_by_role("link", name="S4", exact=True).first.click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("S4: 24 nodes")
    tab.get_by_label("Topology").fill("P4")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text("P4: 24 nodes")


@pytest.mark.slow
def test_the_home_page_lists_the_newest_results_and_reports_an_unknown_topology(
    browser: Browser, address: str
) -> None:
    with browser.new_context(base_url=address, java_script_enabled=False) as window:
        tab = window.new_page()
        tab.goto("/")
        newest = tab.get_by_role("list").filter(has=tab.get_by_role("heading", name="Verdicts"))
        expect(newest.get_by_role("link", name="wide")).to_be_visible()
        expect(newest.get_by_role("link", name="TS.L5")).to_be_visible()
        expect(newest.get_by_role("link", name=FOREST)).to_be_visible()
        tab.get_by_label("any topology").fill("%ZZ")
        tab.get_by_role("button", name="Explore").click()
        expect(tab.get_by_role("alert")).to_contain_text("unknown topology '%ZZ'")
