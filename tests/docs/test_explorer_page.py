"""The single-file explorer page in Chromium: no server, no network, mouse and keyboard."""

import io
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from oracles.reductions import Sums
from starcast import network
from starcast.collectives import Schedule
from starcast.drawing.explorer import build_page, build_schedule, name_schedule
from starcast.judges.simulator import Fault, simulate
from starcast.support.text import pluralize
from starcast.topologies import topology
from starcast.topologies.disjoint_paths import find_disjoint_paths
from starcast.trees import forest as build_forest
from support.accessibility import Mode
from support.fix_browser import PAGES, Open
from support.simulator_cases import plan_of

#: A small window, because large drawings take longer.
SMALL = Mode(700, 420)


def node(page: Page, label: str) -> Any:
    """Return the element that shows a node."""
    return page.locator(f"[data-node='{label}']")


def spoken(page: Page) -> list[str]:
    """Return the name that a screen reader reads out for each node."""
    names: list[str] = page.eval_on_selector_all("[data-node]", "all => all.map(n => n.ariaLabel)")
    return names


def address(page: Page) -> str:
    """Return the current URL of the page; Playwright's own value is updated later."""
    href: str = page.evaluate("location.href")
    return href


def saved(page: Page, button: str) -> bytes:
    """Return the file that a button saves."""
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_bytes()


def test_the_page_is_small_and_self_contained_and_permits_only_its_own_script(
    write_page: Callable[[str], Path],
) -> None:
    """The embedded data contain no character that could end their script element."""
    text = write_page("S5").read_text(encoding="utf-8")
    assert len(text.encode()) < 3e6
    assert "default-src 'none'" in text
    loaded = re.findall(r'(?:src|href)="(?!#)([^"]+)"', text)
    assert loaded == ["data:,", "../"]  # only an empty icon, and a link to the home page
    assert not re.search(r"^import |^export ", text, re.MULTILINE)
    (data,) = re.findall(r'<script id="starcast-data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert "<" not in data
    assert set(json.loads(data)) == {"spec", "topologies", "forests", "schedules", "state"}


@pytest.mark.parametrize("spec", ["S4", "S5", "Q4", "S5,3"])
def test_small_topologies_are_drawn_as_svg_with_a_label_for_every_node(
    open_page: Open, spec: str
) -> None:
    page = open_page(spec)
    assert page.locator("body").get_attribute("data-renderer") == "svg"
    names = page.eval_on_selector_all("[data-node]", "nodes => nodes.map(n => n.dataset.node)")
    assert names == topology(spec).labels().tolist()
    assert spoken(page) == names


def test_labels_of_different_lengths_fit_into_their_boxes(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = network([("Mo", "Trondheim"), ("Trondheim", "Oslo"), ("Oslo", "Mo")])
    monkeypatch.setitem(PAGES, built.spec, ([], []))
    page = open_page(built.spec)
    widths = "node => [...node.querySelectorAll('text, rect')].map(part => part.getBBox().width)"
    for box, text in page.eval_on_selector_all("[data-node]", f"all => all.map({widths})"):
        assert 0 < text < box


def test_layouts_of_s4_can_be_chosen_and_links_across_the_torus_border_are_dashed(
    open_page: Open,
) -> None:
    page = open_page("S4")
    drawn = node(page, "4321")
    seen = {drawn.get_attribute("transform")}
    assert "layout=" not in address(page)
    for name in ("levels", "necklaces", "torus"):
        last = drawn.get_attribute("transform")
        page.select_option("#layout", name)
        expect(drawn).not_to_have_attribute("transform", str(last))
        page.wait_for_function("name => location.href.includes(`layout=${name}`)", arg=name)
        seen.add(drawn.get_attribute("transform"))
    assert len(seen) == 4
    page.select_option("#layout", "substars")
    page.wait_for_function("() => !location.href.includes('layout=')")
    page.select_option("#layout", "torus")
    # Links that leave the drawing are dashed stubs.
    expect(page.locator(".view path[stroke-dasharray]")).to_have_count(6)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["S7", "S8"])
def test_large_topologies_are_drawn_with_webgl(open_page: Open, spec: str) -> None:
    state = f"layout=necklaces&step=5&schedule={PAGES[spec][1][0]}"
    page = open_page(spec, state, SMALL)
    assert page.locator("body").get_attribute("data-renderer") == "webgl2"
    before = saved(page, "#save-png")
    page.keyboard.press(".")
    assert "step=6" in address(page)
    after = saved(page, "#save-png")
    page.keyboard.press(",")
    assert "step=5" in address(page)
    assert before == saved(page, "#save-png") != after
    colours = np.unique(imread(io.BytesIO(after)).reshape(-1, 4), axis=0)
    assert len(colours) > 8


@pytest.mark.slow
def test_s8_is_drawn_as_a_quotient_graph_by_default(open_page: Open) -> None:
    page = open_page("S8")
    assert page.locator("[data-node]").count() == 56
    assert page.locator("#layout").input_value() == "quotient"
    for _ in range(3):
        page.keyboard.press(".")
    expect(page.locator("#step-text")).to_contain_text("step 3 of 10")


def test_a_copied_url_opens_a_page_in_the_same_state(open_page: Open) -> None:
    state = (
        "layout=torus&schedule=broadcast:multiple&step=3&unit=1&node=2134&faults=3214@2,1234-4231"
    )
    page = open_page("S4", state)
    assert address(page).endswith(f"#{state}")
    expect(page.locator("#step-text")).to_contain_text("step 3 of 8")
    assert page.locator("#unit").input_value() == "1"
    expect(page.locator("#selection code")).to_have_text("2134")
    assert page.locator("#faults code").all_inner_texts() == ["3214@2", "1234-4231"]
    page.click("#zoom-in")
    page.keyboard.press("Escape")
    again = open_page("S4", address(page).partition("#")[2])
    assert address(again) == address(page)
    assert "view=" in address(page)
    place = node(page, "4321").get_attribute("transform")
    assert node(again, "4321").get_attribute("transform") == place


def test_invalid_parts_of_a_url_are_reported_and_valid_parts_are_applied(open_page: Open) -> None:
    state = "layout=hairball&schedule=broadcast:multiple&step=99&node=9999&faults=1234-4321&x=<b>y"
    page = open_page("S4", state)
    notices = page.locator("#notices").inner_text()
    for part in ("no layout 'hairball'", "step 99", "no node '9999'", "not linked", "'x=<b>y'"):
        assert part in notices
    expect(page.locator("#step-text")).to_contain_text("step 8 of 8")
    unknown = open_page("S4", "schedule=broadcast:telepathy&forest=oak")
    assert "does not hold S4:broadcast:telepathy" in unknown.locator("#notices").inner_text()
    assert "does not hold S4:oak" in unknown.locator("#notices").inner_text()
    assert node(unknown, "4321").count() == 1
    escaped = open_page("S4", "node=%&faults=%ZZ,1234")
    assert "S4 has no node '%'" in escaped.locator("#notices").inner_text()
    assert escaped.locator("#faults code").all_inner_texts() == ["1234"]


def test_after_each_step_the_page_shows_how_many_units_each_node_holds(open_page: Open) -> None:
    page = open_page("S4", "schedule=broadcast:multiple")
    built = build_schedule(topology("S4"), "broadcast:multiple")
    labels = topology("S4").labels()
    for step in range(1, built.steps + 1):
        page.keyboard.press(".")
        rows = built.step <= step
        pairs = {*zip(built.receiver[rows].tolist(), built.unit[rows].tolist(), strict=True)}
        held = Counter(receiver for receiver, _ in pairs)
        held[0] = built.units
        names = [f"{label}, holds {held[rank]}" for rank, label in enumerate(labels.tolist())]
        assert spoken(page) == names
        busy = {*zip(built.sender[built.step == step], built.port[built.step == step], strict=True)}
        expect(page.locator("#step-text")).to_have_text(
            f"step {step} of {built.steps}: {pluralize(len(busy), 'link')} busy"
        )
        assert page.locator(".view circle").count() == len(busy)
    page.click("#back")
    page.keyboard.press(",")
    expect(page.locator("#step-text")).to_contain_text(f"step {built.steps - 2} of")


def test_nodes_of_a_reduction_show_how_many_contributions_they_hold(open_page: Open) -> None:
    """The numbers equal those of the oracle; all nodes are complete at the end of an allreduce."""
    page = open_page("S4", "schedule=allreduce:multiple&unit=0&step=8")
    built = build_schedule(topology("S4"), "allreduce:multiple")
    sums = Sums(topology("S4").labels().tolist(), topology("S4").labels().tolist())
    rows = [row for row in plan_of(built).rows if row.unit == 0]
    for step in range(1, 9):
        sums.execute([row for row in rows if row.step == step])
    names = []
    for label in topology("S4").labels().tolist():
        count = max(len(sums.held(label, 0, tree)) for tree in range(3))
        state = "complete" if count == 24 else f"incomplete: {count} of 24 contributions"
        names.append(f"{label}, {state}")
    assert spoken(page) == names
    expect(page.locator("#legend")).to_contain_text("has 0 to 24 contributions")
    page = open_page("S4", f"schedule=allreduce:multiple&step={built.steps}")
    expect(page.locator("#legend")).to_contain_text("has 0 to 72 contributions")
    assert all(name.endswith(", complete") for name in spoken(page))


@pytest.mark.slow
def test_the_animation_ends_at_the_last_step(open_page: Open) -> None:
    page = open_page("S4")
    page.emulate_media(reduced_motion="no-preference")
    page.goto(address(page).partition("#")[0] + "#schedule=broadcast:multiple&step=6")
    expect(page.locator("#step-text")).to_contain_text("step 6 of 8")
    page.select_option("#speed", "4")
    page.click("#play")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Pause")
    expect(page.locator("#step-text")).to_contain_text("step 8 of 8")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Play")


@pytest.mark.slow
def test_with_reduced_motion_steps_are_shown_without_moving_packets(open_page: Open) -> None:
    page = open_page("S4", "schedule=broadcast:multiple&step=4")
    page.click("#play")
    places = page.eval_on_selector_all(".view circle", "all => all.map(c => c.getAttribute('cx'))")
    page.wait_for_timeout(150)
    again = page.eval_on_selector_all(".view circle", "all => all.map(c => c.getAttribute('cx'))")
    assert places == again
    assert places


@pytest.mark.slow
def test_paths_of_a_node_in_all_trees_are_listed_hop_by_hop(open_page: Open) -> None:
    page = open_page("S5", "forest=multiple")
    node(page, "54321").click()
    forest = build_forest(topology("S5"), "multiple")
    levels = forest.levels()[:, topology("S5").rank("54321")]
    lines = page.locator("#selection .hops li").all_inner_texts()
    assert len(lines) == forest.trees
    for tree, line in enumerate(lines):
        labels = re.findall(r"\d{5}", line)
        assert labels[0] == "12345"
        assert labels[-1] == "54321"
        assert len(labels) == levels[tree] + 1
        assert f"({levels[tree]} hops)" in line
        for one, other in pairwise(labels):
            rank = topology("S5").rank(other)
            parent = int(forest.parents()[tree, rank])
            assert topology("S5").label(parent) == one


@pytest.mark.parametrize(
    ("spec", "first", "last"),
    [
        ("S4", "1234", "2143"),
        ("S5", "12345", "54321"),
        ("S5", "12345", "21345"),
        ("S5,3", "123", "345"),
        ("Q4", "0000", "0111"),
    ],
)
def test_disjoint_paths_from_one_node_to_another_can_be_shown_with_keys(
    open_page: Open, spec: str, first: str, last: str
) -> None:
    """Each port has a path, no two paths share an inner node, and the total length is minimal."""
    page = open_page(spec, f"node={first}")
    page.keyboard.press("d")
    expect(page.locator("#selection")).to_contain_text(f"Disjoint paths from {first}")
    page.fill("#find-text", last)
    page.keyboard.press("Enter")
    paths = shown_paths(page, spec)
    network = topology(spec)
    assert [(path[0], path[-1]) for path in paths] == [(first, last)] * len(network.ports)
    inner = [label for path in paths for label in path[1:-1]]
    assert len(set(inner)) == len(inner)
    least = find_disjoint_paths(network, network.rank(first), network.rank(last))
    assert [len(path) for path in paths] == [len(path) for path in least]
    drawn = page.locator("#legend").inner_text()
    assert all(f"path of {pluralize(len(path) - 1, 'hop')}" in drawn for path in paths)
    reopened = open_page(spec, address(page).partition("#")[2])
    assert shown_paths(reopened, spec) == paths
    reopened.keyboard.press("d")
    expect(reopened.locator("#selection .disjoint")).to_have_count(0)
    assert "from=" not in address(reopened)


def shown_paths(page: Page, spec: str) -> list[list[str]]:
    """Return the disjoint paths that a page lists, after checking the port of each hop."""
    network = topology(spec)
    paths = []
    for line in page.locator("#selection .disjoint li").all_inner_texts():
        labels = [part.strip() for part in re.split(r".\d+→|\(", line)][:-1]
        ports = [int(port) for port in re.findall(r"(\d+)→", line)]
        for (one, other), port in zip(pairwise(labels), ports, strict=True):
            neighbour = network.neighbours(port)[network.rank(one)]
            assert network.label(int(neighbour)) == other
        paths.append(labels)
    return paths


def test_a_node_has_no_disjoint_paths_to_itself_or_from_an_unknown_node(open_page: Open) -> None:
    page = open_page("S4", "node=1234&from=1234")
    expect(page.locator("#selection")).to_contain_text("select another node")
    assert page.locator("#selection .disjoint").count() == 0
    page = open_page("S4", "node=1234&from=1111")
    assert page.locator("#notices").inner_text() == "S4 has no node '1111'"


@pytest.mark.slow
def test_trees_can_be_hidden_and_the_width_of_links_shows_their_load(open_page: Open) -> None:
    page = open_page("S4", "forest=multiple")
    assert page.locator(".view > g[fill=none] path").count() == 3 * 23
    page.locator("#tree-list input").first.uncheck()
    assert "trees=1,2" in address(page)
    assert page.locator(".view > g[fill=none] path").count() == 2 * 23
    page.locator("#tree-list input").first.check()
    page.locator("input[value=load]").check()
    histogram = build_forest(topology("S4"), "multiple").load_histogram()
    used = sum(links for load, links in histogram.items() if load)
    assert page.locator(".view > g[fill=none] path").count() == used
    widths = page.eval_on_selector_all(
        ".view > g[fill=none] path", "all => all.map(line => line.getAttribute('stroke-width'))"
    )
    assert sorted({widths.count(width) for width in set(widths)}) == sorted(
        links for load, links in histogram.items() if load
    )


def test_keys_move_the_selection_across_ports_to_neighbours(open_page: Open) -> None:
    page = open_page("S4", "layout=torus")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("3")
    expect(page.locator("#selection code")).to_have_text("3214")
    expect(page.locator("#live")).to_have_text("port 3 to 3214")
    label = page.locator("#selection code").inner_text()
    place = node(page, label).bounding_box()
    page.keyboard.press("ArrowUp")
    moved = page.locator("#selection code").inner_text()
    network = topology("S4")
    neighbours = [int(network.neighbours(port, [network.rank(label)])[0]) for port in network.ports]
    assert network.rank(moved) in neighbours
    higher = node(page, moved).bounding_box()
    assert place
    assert higher
    assert higher["y"] < place["y"]
    page.fill("#find-text", "4321")
    page.keyboard.press("Enter")
    expect(page.locator("#selection code")).to_have_text("4321")
    page.fill("#find-text", "oak")
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_have_text("S4 has no node 'oak'")


def test_focus_follows_the_selection_and_only_one_node_is_in_the_tab_order(open_page: Open) -> None:
    page = open_page("S4")
    node(page, "1234").focus()
    page.keyboard.press("2")
    focused = page.evaluate("document.activeElement.dataset.node")
    assert focused == "2134"
    assert page.locator("[data-node][tabindex='0']").count() == 1


def single_source(built: Schedule) -> Schedule:
    """Return the rows of one source of a symmetric schedule as a separate schedule."""
    collectives = {"allgather": "broadcast", "alltoall": "scatter", "reduce-scatter": "reduce"}
    collective = collectives[built.collective]
    return built.replace_rows(built.columns, symmetric=False, collective=collective, forest=None)


FAULTS = [
    ("broadcast:multiple", "one", ["2134@2"]),
    ("broadcast:multiple", "one", ["1234"]),
    ("broadcast:multiple", "one", ["1234-3214", "4321@6", "2314-3214@3"]),
    ("gather:balanced", "one", ["2134", "4231-3241@3"]),
    ("allgather:necklace", "one", ["2134@2"]),
    ("alltoall:exact", "one", ["1234-4231", "3124"]),
    ("allgather:necklace", "all", ["2134@2", "3412-1432"]),
    ("alltoall:exact", "all", ["4321", "1234-2134@2"]),
    ("allreduce:multiple", "one", ["2134@2"]),
    ("allreduce:multiple", "one", ["1234-3214@11"]),
    ("reduce-scatter:necklace", "one", ["2134"]),
    ("reduce-scatter:necklace", "all", ["2134@2", "3412-1432"]),
    # All nodes but the root fail, so the contribution of the root is the complete sum.
    ("allreduce:multiple", "one", topology("S4").labels()[1:].tolist()),
]


@pytest.mark.parametrize(("name", "source", "faults"), FAULTS)
def test_under_faults_the_page_shows_the_same_results_as_the_simulator(
    open_page: Open, name: str, source: str, faults: list[str]
) -> None:
    built = build_schedule(topology("S4"), name)
    if built.symmetric:
        built = built.expand() if source == "all" else single_source(built)
    result = simulate(built, [Fault.parse(text) for text in faults])
    page = open_page("S4", f"schedule={name}&source={source}&faults={','.join(faults)}&step=2")
    line = page.locator("#faults .result")
    assert line.get_attribute("data-missing") == str(result.missing)
    shown = page.locator("#faults .undelivered")
    text = shown.inner_text() if shown.count() else ""
    pairs = [(label, int(unit)) for unit, label in re.findall(r"unit (\d+) at (\d+)", text)]
    assert tuple(pairs) == result.undelivered
    busy = page.eval_on_selector_all(
        ".chart:first-of-type .bar title", "all => all.map(t => t.textContent)"
    )
    counts = [
        int(title.split(": ")[1].split()[0])
        for title in busy
        if title.endswith((" link", " links"))
    ]
    expected = np.zeros(built.steps, dtype=int)
    expected[: result.steps] = result.links_used
    assert counts == expected.tolist()


@pytest.mark.slow
def test_a_node_can_be_made_to_fail_from_the_current_step_on_and_be_repaired(
    open_page: Open,
) -> None:
    page = open_page("S4", "schedule=broadcast:multiple&step=2")
    node(page, "2134").click()
    page.get_by_role("button", name="Fail from step 2 on").click()
    assert "faults=2134@2" in address(page)
    assert int(page.locator("#faults .result").get_attribute("data-missing") or 0) > 0
    expect(node(page, "2134")).to_have_attribute("aria-label", "2134, dead")
    assert "units missing" in str(node(page, "3421").get_attribute("aria-label"))
    page.keyboard.press("x")
    assert "faults" not in address(page)
    expect(page.locator("#live")).to_have_text("no faults")


def test_nodes_are_not_marked_as_missing_units_if_no_schedule_is_selected(open_page: Open) -> None:
    page = open_page("S4", "schedule=broadcast:multiple&faults=2134")
    assert page.locator("[aria-label*='units missing']").count() > 0
    page.select_option("#schedule", "")
    expect(page.locator("#schedule-options")).to_be_hidden()
    expect(page.locator("[aria-label*='units missing']")).to_have_count(0)
    expect(node(page, "2134")).to_have_attribute("aria-label", "2134, dead")


def test_a_click_anywhere_in_the_box_of_a_node_selects_the_node(open_page: Open) -> None:
    page = open_page("S4")
    for label in topology("S4").labels()[:6].tolist():
        box = node(page, label).locator("rect").bounding_box()
        assert box
        for x in (box["x"] + 3, box["x"] + box["width"] - 3):
            page.keyboard.press("Escape")
            page.mouse.click(x, box["y"] + box["height"] / 2)
            expect(page.locator("#selection code")).to_have_text(label)


def test_a_link_can_be_selected_by_a_click_and_made_to_fail(open_page: Open) -> None:
    page = open_page("S4", "layout=torus&schedule=broadcast:multiple&step=1")
    ends = [node(page, label).bounding_box() for label in ("1234", "2134")]
    assert all(ends)
    x = sum(box["x"] + box["width"] / 2 for box in ends if box) / 2
    y = sum(box["y"] + box["height"] / 2 for box in ends if box) / 2
    page.mouse.click(x, y)
    expect(page.locator("#selection code")).to_have_text("1234-2134")
    page.keyboard.press("x")
    assert address(page).endswith("faults=1234-2134")


@pytest.mark.slow
def test_the_drawing_can_be_saved_as_svg_and_png(open_page: Open) -> None:
    page = open_page("S4", "schedule=broadcast:multiple&step=3")
    document = ET.fromstring(saved(page, "#save-svg").decode())  # noqa: S314
    names = [each.get("data-node") for each in document.iter() if each.get("data-node")]
    assert names == topology("S4").labels().tolist()
    assert saved(page, "#save-png").startswith(b"\x89PNG")
    large = open_page("S7", "schedule=broadcast:multiple&step=3", SMALL)
    assert saved(large, "#save-png").startswith(b"\x89PNG")
    assert saved(large, "#save-svg").count(b"data-node") == 5_040


def test_a_narrow_screen_has_no_horizontal_scroll_bar(open_page: Open) -> None:
    page = open_page("S5", "forest=multiple&node=54321", Mode(360, 740))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("#stage").bounding_box()
    assert box
    assert box["width"] <= 360
    assert box["height"] > 300


@pytest.mark.whole
@pytest.mark.parametrize(
    ("spec", "state", "meanings"),
    [
        ("S4", "", ["dimension 2", "dimension 3", "dimension 4"]),
        ("S5,3", "", ["port 2", "port 3", "port 4", "port 5"]),
        ("S4", "forest=multiple&trees=0,2", ["tree 0", "tree 2", "root"]),
        ("S4", "forest=multiple&links=load", ["in 1 tree", "in 2 trees", "root"]),
        (
            "S4",
            "schedule=broadcast:multiple&step=2&faults=4312,1342-4312",
            [
                "holds 0 to 3 units",
                "busy link: 1 unit",
                "8 units or more",
                "tree 0",
                "tree 1",
                "tree 2",
                "root or source",
                "lacks a unit after the last step",
                "crossed out: failed node",
                "failed link",
            ],
        ),
        (
            "S8",
            "schedule=broadcast:greedy&step=1",
            ["holds 0 to 1 unit", "busy link: 1 unit", "root or source"],
        ),
    ],
)
def test_the_legend_explains_the_colours_and_marks_of_the_drawing(
    open_page: Open, spec: str, state: str, meanings: list[str]
) -> None:
    page = open_page(spec, state)
    assert page.locator("#legend > span").all_inner_texts() == meanings
    swatches = page.locator("#legend .swatch").evaluate_all(
        "all => all.map(each => getComputedStyle(each).backgroundColor)"
    )
    drawn = page.locator(".view [stroke]").evaluate_all(
        "all => [...new Set(all.map(each => getComputedStyle(each).stroke))]"
    )
    lines = [swatches[number] for number, text in enumerate(meanings) if text[-1].isdigit()]
    assert set(lines) <= set(drawn)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_are_readable_on_every_shade_and_on_failed_nodes(
    open_page: Open, scheme: str
) -> None:
    """The contrast is at least 4.5 (WCAG). The label of a failed node is drawn over its cross."""
    page = open_page("S4", "schedule=gather:balanced&faults=3214", Mode(scheme=scheme))
    parts = node(page, "3214").evaluate("group => [...group.children].map(each => each.tagName)")
    assert parts == ["path", "rect", "text"]
    for _ in range(page.locator("#step").evaluate("slider => Number(slider.max)") + 1):
        boxes, labels = (
            page.eval_on_selector_all(f".node {tag}", "all => all.map(e => e.getAttribute('fill'))")
            for tag in ("rect", "text")
        )
        for pair in zip(boxes, labels, strict=True):
            light, dark = sorted(map(luminance, pair), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, pair
        page.keyboard.press(".")


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2)."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("spec", ["S4", "S5,3", "Q4"])
def test_labels_remain_visible_when_the_page_is_zoomed(
    open_page: Open, browser: Browser, write_page: Callable[[str], Path], spec: str
) -> None:
    """At 200 %, the window has half as many CSS pixels per side, each of twice the size."""
    shown = "[...document.querySelectorAll('.node text')].map(each => each.getAttribute('display'))"
    labels = topology(spec).nodes * ["inline"]
    assert open_page(spec).evaluate(shown) == labels
    half = ViewportSize(width=600, height=380)
    with browser.new_context(viewport=half, device_scale_factor=2) as window:
        page = window.new_page()
        page.goto(f"file://{write_page(spec)}")
        page.wait_for_selector("body[data-ready]")
        assert page.evaluate(shown) == labels
        size = page.evaluate(
            "document.querySelector('.view > g[font-size]').getAttribute('font-size')"
        )
        assert 2 * float(size) >= 11


@pytest.mark.parametrize("name", ["substars", "levels", "necklaces"])
def test_labels_do_not_cover_each_other(open_page: Open, name: str) -> None:
    page = open_page("S5", f"layout={name}")
    script = """() => [...document.querySelectorAll(".node")].map((node) => {
        const { x, y, width, height } = node.querySelector("rect").getBBox();
        const [dx, dy] = node.getAttribute("transform").match(/-?[0-9.]+/g).map(Number);
        return [x + dx, y + dy, x + dx + width, y + dy + height];
    })"""
    while page.locator(".node text[display=inline]").count() == 0:
        page.locator("#zoom-in").click()
    boxes = page.evaluate(script)
    covered = [
        (one, other)
        for one, other in combinations(boxes, 2)
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]
    assert len(boxes) == 120
    assert covered == []


def test_a_torus_is_drawn_as_a_grid(window: BrowserContext, tmp_path: Path) -> None:
    file = tmp_path / "torus.html"
    file.write_text(build_page(topology("T4x5")), encoding="utf-8")
    page = window.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    names = ["+x (port 2)", "-x (port 3)", "+y (port 4)", "-y (port 5)"]
    entries = page.locator("#legend > span")
    expect(entries).to_have_text([f"direction {name}" for name in names])
    expect(page.locator(".view path[stroke-dasharray]")).to_have_count(9)
    page.close()


def heights(page: Page) -> dict[str, float]:
    """Return the vertical position of each node in an SVG drawing."""
    script = """all => all.map(node => {
        return [node.dataset.node, Number(node.getAttribute("transform").match(/-?[0-9.]+/g)[1])];
    })"""
    return dict(page.eval_on_selector_all("[data-node]", script))


def levels_of(page: Page) -> dict[str, int]:
    """Return the index of the row in which each node is drawn, counted from the top."""
    found = heights(page)
    rows = sorted({round(height) for height in found.values()})
    return {label: rows.index(round(height)) for label, height in found.items()}


def test_levels_are_drawn_from_the_root_of_the_forest_or_of_the_url(
    window: BrowserContext, tmp_path: Path
) -> None:
    mesh = topology("Mesh3x4")

    def expected(root: str) -> dict[str, int]:
        return dict(zip(mesh.labels().tolist(), mesh.distances(root).tolist(), strict=True))

    file = tmp_path / "mesh.html"
    forests = [build_forest(mesh, "breadth-first", root=root) for root in ("12", "03")]
    file.write_text(build_page(mesh, forests, root="20"), encoding="utf-8")
    page = window.new_page()
    page.goto(f"{file.as_uri()}#forest=breadth-first:12&layout=levels")
    page.wait_for_selector("body[data-ready]")
    assert levels_of(page) == expected("12")
    page.select_option("#forest", "breadth-first:03")
    expect(page.locator("#layout-text")).to_have_text("levels: rows by the distance from 03")
    assert levels_of(page) == expected("03")
    page.select_option("#forest", "")
    expect(page.locator("#layout-text")).to_contain_text("from the first node")
    assert levels_of(page) == expected("00")
    page.goto(f"{file.as_uri()}#root=20")
    expect(page.locator("#layout-text")).to_have_text("levels: rows by the distance from 20")
    assert levels_of(page) == expected("20")
    page.goto(f"{file.as_uri()}#root=11&layout=levels")
    expect(page.locator("#notices")).to_contain_text("does not hold the levels from 11")
    # Wait for the new layout, since the notice appears before the nodes move.
    expect(page.locator("#layout-text")).to_contain_text("from the first node")
    assert levels_of(page) == expected("00")
    page.close()


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (
            "schedule=broadcast:multiple&step=2&faults=3214&unit=1",
            "schedule broadcast:multiple, step 2 of 8; unit 1; failed: 3214; 22 units are missing.",
        ),
        ("forest=multiple&trees=0,2&node=4321", "trees 0, 2 of 3; selected: node 4321."),
    ],
)
def test_a_printed_page_names_its_schedule_step_trees_and_faults(
    open_page: Open, state: str, line: str
) -> None:
    page = open_page("S4", state)
    expect(page.locator("#shown")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator("#shown")).to_be_visible()
    expect(page.locator("#shown")).to_contain_text(line)


@pytest.mark.parametrize("paper", [(794, 1123), (1123, 794)])
def test_a_printed_page_contains_the_entire_drawing_and_its_legend(
    open_page: Open, paper: tuple[int, int]
) -> None:
    page = open_page("S4", "schedule=broadcast:multiple&step=2&faults=3214")
    page.emulate_media(media="null")
    assert page.pdf(width=f"{paper[0]}px", height=f"{paper[1]}px").count(b"/Type /Page\n") == 1
    # Browsers run no scripts between the layouts for screen and paper, so disable the page's
    # ResizeObserver.
    page.evaluate("ResizeObserver.prototype.observe = () => {}")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": paper[0], "height": paper[1]})
    for part in (
        page.locator("#legend"),
        page.locator("#shown"),
        *(node(page, label) for label in ("2314", "1243", "4132")),
    ):
        box = part.bounding_box()
        assert box
        assert 0 <= box["x"] <= box["x"] + box["width"] <= paper[0]
        assert 0 <= box["y"] <= box["y"] + box["height"] <= paper[1]


def test_the_page_follows_the_dark_mode_of_the_browser(open_page: Open) -> None:
    light, dark = (open_page("S4", mode=Mode(scheme=scheme)) for scheme in ("light", "dark"))
    colour = "getComputedStyle(document.body).backgroundColor"
    assert light.evaluate(colour) == "rgb(255, 255, 255)"
    assert dark.evaluate(colour) == "rgb(18, 22, 28)"
    fills = [node(page, "4321").locator("rect").get_attribute("fill") for page in (light, dark)]
    assert fills == ["#ffffff", "#12161c"]


def test_all_sources_of_a_symmetric_schedule_can_be_shown_if_translations_keep_ports(
    open_page: Open,
) -> None:
    page = open_page("S4", "schedule=alltoall:exact&source=all&step=1")
    expanded = build_schedule(topology("S4"), "alltoall:exact").expand()
    now = expanded.step == 1
    busy = {*zip(expanded.sender[now].tolist(), expanded.port[now].tolist(), strict=True)}
    expect(page.locator("#step-text")).to_contain_text(f"{len(busy)} links busy")
    nk = open_page("S5,3", "schedule=allgather:nk-greedy&source=all")
    assert "translations of S5,3 change ports" in nk.locator("#notices").inner_text()
    assert nk.locator("#source").is_disabled()


@pytest.mark.usefixtures("irregular")
def test_the_explorer_of_a_mesh_has_only_existing_links(open_page: Open) -> None:
    """In the data, a port without a link leads back to its node. The page draws no such link."""
    mesh = topology("Grid3x4")
    page = open_page("Grid3x4", "node=1")
    assert spoken(page)[0].startswith("1")
    buttons = page.locator("#selection .note").first
    expect(buttons).to_contain_text("Ports: 1 2 3 5")  # port 1 leads to 2, port 3 to 5
    page.keyboard.press("2")
    expect(page.locator("#selection code").first).to_have_text("1")
    page.keyboard.press("1")
    expect(page.locator("#selection code").first).to_have_text("2")
    page.select_option("#schedule", index=1)
    built = build_schedule(mesh, "broadcast:forest(base=breadth-first)")
    # The schedule is loaded in the background, and keys pressed before that have no effect.
    expect(page.locator("#step-text")).to_contain_text(f" of {built.steps}")
    for step in range(1, built.steps + 1):
        page.keyboard.press(".")
        expect(page.locator("#step-text")).to_contain_text(f"step {step} of")
    # The node at the largest distance is the last one that the message reaches.
    expect(page.locator("[data-node]").last).to_have_attribute("aria-label", "12, holds 1")
    assert spoken(page) == [f"{label}, holds 1" for label in mesh.labels().tolist()]


#: Collectives on a network with switches, each with a list of faults.
SWITCHED = [
    ("broadcast", []),
    ("broadcast", ["s2"]),
    ("allgather", ["s3"]),
    ("gather", ["b", "s3"]),
    ("reduce", ["a-s0", "g"]),
    ("allreduce", []),
    ("allreduce", ["f", "g"]),
    ("allreduce", ["s1"]),
]


@pytest.mark.usefixtures("irregular")
@pytest.mark.parametrize(("collective", "faults"), SWITCHED)
def test_the_replay_of_a_schedule_requires_no_deliveries_to_switches(
    open_page: Open, collective: str, faults: list[str]
) -> None:
    """Units belong to the 7 endpoints of the network; its 5 switches only forward them."""
    name = f"{collective}:forest(base=breadth-first)"
    built = build_schedule(topology("Switched12"), name)
    result = simulate(built, [Fault.parse(text) for text in faults])
    state = f"schedule={name_schedule(built)}&faults={','.join(faults)}&step={built.steps}"
    page = open_page("Switched12", state)
    expect(page.locator("#step-text")).to_contain_text(f"step {built.steps} of")
    if faults:
        line = page.locator("#faults .result")
        assert line.get_attribute("data-missing") == str(result.missing)
        shown = page.locator("#faults .undelivered")
        text = shown.inner_text() if shown.count() else ""
        pairs = [(label, int(unit)) for unit, label in re.findall(r"unit (\d+) at (\w+)", text)]
        assert tuple(pairs) == result.undelivered
    elif collective == "allreduce":
        assert all(said.endswith(", complete") for said in spoken(page)[:7])
    expect(page.locator("#legend")).to_contain_text("square: a switch, which only forwards")
    assert [", switch" in said for said in spoken(page)] == [False] * 7 + [True] * 5
    corners = page.eval_on_selector_all(
        "[data-node] rect", "all => all.map(n => n.rx.baseVal.value)"
    )
    assert [corner == 0 for corner in corners] == [False] * 7 + [True] * 5
