"""WCAG 2.2 AA in Chromium, in all modes: an explorer file, and server pages without databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from starcast.drawing.explorer import build_page, build_schedule
from starcast.topologies import topology
from starcast.trees import forest
from support.accessibility import MODES, Mode, add_style, enter_mode, find_faults
from support.fix_browser import PATIENCE

LIGHT = MODES["light"]
STATES = {
    "a step": "schedule=broadcast:multiple&step=3&node=2134&faults=3214",
    "a forest": "forest=multiple&node=4321",
    "disjoint paths": "node=2143&from=1234",
    "loads, and what is not known": "forest=multiple&links=load&layout=hairball&node=9999",
}
PATHS = (
    "/explore/X9",
    "/explore/S6#schedule=broadcast:multiple&step=3",
    "/",
    "/queries",
    "/queries/overlap/load-histogram",
    "/claims?paper=EDT",
    "/records?problem=congestion-trees",
    "/compare",
    "/experiments",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file:// URL of the explorer page for S4."""
    network = topology("S4")
    page = build_page(
        network, [forest(network, "multiple")], [build_schedule(network, "broadcast:multiple")]
    )
    path: Path = tmp_path_factory.mktemp("explorer") / "S4.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """Yield the browser tab that all tests of this module use."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


def show(page: Page, address: str, mode: Mode = LIGHT) -> None:
    """Open a page in a display mode."""
    enter_mode(page, mode)
    page.goto("about:blank")  # a new fragment alone would not reload the page
    page.goto(address)
    if "explore" in address:
        page.wait_for_selector("body[data-ready]")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("state", STATES)
def test_the_explorer_is_accessible_in_every_mode(
    window: Page, file: str, state: str, mode: str
) -> None:
    show(window, f"{file}#{STATES[state]}", MODES[mode])
    assert find_faults(window, MODES[mode]) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", PATHS)
def test_pages_of_a_server_are_accessible_in_every_mode(
    window: Page, address: str, path: str, mode: str
) -> None:
    show(window, address + path, MODES[mode])
    assert find_faults(window, MODES[mode]) == []


@pytest.mark.parametrize(
    ("defect", "fault"),
    [
        ("#find-text { outline: none !important }", "no mark of the focus"),
        (".explorer .node:focus-visible rect { stroke-width: 1 }", "no mark"),
        (".bar { position: relative; z-index: -1 }", "covered while it has"),
        (".explorer aside { overflow: hidden; height: 9rem }", "cut off"),
        (".explorer .bar h1 { white-space: nowrap }", "wider than its window"),
        ("#fit { all: unset !important; font-size: 9px !important }", "target-size"),
        (".explorer .note { color: #999 }", "color-contrast"),
    ],
)
def test_an_accessibility_defect_is_detected(
    window: Page, file: str, defect: str, fault: str
) -> None:
    mode = MODES["zoomed to 400 %"]
    show(window, file, mode)
    add_style(window, defect)
    assert any(fault in found for found in find_faults(window, mode, stops=14))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_do_not_change_the_picture_and_its_legend(
    window: Page, file: str, scheme: str
) -> None:
    """Otherwise the meaning of colours and the labels on coloured nodes would be lost."""
    script = """() => [...document.querySelectorAll(".view *, .chart *, .swatch")].map((each) => {
        const { fill, stroke, backgroundColor } = getComputedStyle(each);
        return each.closest("svg") ? [each.localName, fill, stroke] : backgroundColor;
    })"""
    seen = []
    for forced in ("none", "active"):
        show(window, f"{file}#{STATES['a step']}", Mode(scheme=scheme, forced=forced))
        seen.append(window.evaluate(script))
    assert seen[0] == seen[1]
    ground = "getComputedStyle(document.querySelector('#stage')).backgroundColor"
    assert window.evaluate(ground) == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 28)"
    )


def test_buttons_and_keys_move_the_picture_without_dragging(window: Page, file: str) -> None:
    show(window, file)

    def place() -> tuple[float, float, float]:
        window.evaluate("new Promise(requestAnimationFrame)")
        boxes = [
            window.locator(f"[data-node='{label}']").bounding_box() for label in ("1234", "4321")
        ]
        assert boxes[0]
        assert boxes[1]
        return boxes[0]["x"], boxes[0]["y"], boxes[0]["x"] - boxes[1]["x"]

    for button, key, across, down in (
        ("Show what is left", "Shift+ArrowLeft", 1, 0),
        ("Show what is above", "Shift+ArrowUp", 0, 1),
        ("Show what is right", "Shift+ArrowRight", -1, 0),
        ("Show what is below", "Shift+ArrowDown", 0, -1),
    ):
        before = place()
        window.get_by_role("button", name=button).click()
        after = place()
        moves = [after[0] - before[0], after[1] - before[1]]
        assert [(move > 1) - (move < -1) for move in moves] == [across, down]
        window.evaluate("document.activeElement.blur()")
        window.keyboard.press(key)
        again = place()
        assert [again[0] - after[0], again[1] - after[1]] == pytest.approx(moves, abs=1)
        assert "view=" in window.evaluate("location.href")
    apart = place()[2]
    window.keyboard.press("+")
    assert place()[2] == pytest.approx(1.4 * apart, rel=0.1)
    window.keyboard.press("-")
    assert place()[2] == pytest.approx(apart, rel=0.1)
    window.keyboard.press("f")
    assert "view=" not in window.evaluate("location.href")


def test_single_character_keys_can_be_switched_off(window: Page, file: str) -> None:
    """WCAG 2.1.4 requires this, because speech input would trigger such keys."""
    show(window, f"{file}#schedule=broadcast:multiple&step=3")
    window.get_by_text("Keys", exact=True).click()
    keys = window.get_by_label("Letters, digits and signs are keys")
    for is_on, step in ((False, "step 3"), (True, "step 4")):
        keys.set_checked(is_on)
        window.evaluate("document.activeElement.blur()")
        window.keyboard.press(".")
        window.keyboard.press("ArrowRight")  # not a character, so it always works
        expect(window.locator("#selection code")).to_have_count(1)
        expect(window.locator("#step-text")).to_contain_text(f"{step} of")


def test_in_a_small_window_the_wheel_and_arrow_keys_scroll_the_page(
    window: Page, file: str
) -> None:
    """If the picture itself used the wheel and keys, nothing below it could be reached."""
    show(window, file, MODES["zoomed to 400 %"])
    window.locator("#stage").hover()
    window.mouse.wheel(0, 100)
    window.wait_for_function("scrollY > 50")
    before = window.evaluate("scrollY")
    window.keyboard.press("ArrowDown")
    window.wait_for_function("before => scrollY > before", arg=before)
    assert window.locator("#selection code").count() == 0
    assert "view=" not in window.evaluate("location.href")
