"""Explorer files, and pages of a server without databases, meet WCAG 2.2 AA in every mode."""

import pytest
from playwright.sync_api import BrowserContext, expect

from support.accessibility import MODES, Mode, add_style, enter_mode, find_faults
from support.fix_browser import Open

STATES = {
    "a step": "schedule=broadcast:multiple&step=3&node=2134&faults=3214",
    "a forest": "forest=multiple&node=4321",
    "disjoint paths": "node=2143&from=1234",
    "loads and unknown values": "forest=multiple&links=load&layout=hairball&node=9999",
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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("state", STATES)
def test_the_explorer_is_accessible_in_every_display_mode(
    open_page: Open, state: str, mode: str
) -> None:
    assert find_faults(open_page("S4", STATES[state], MODES[mode]), MODES[mode]) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", PATHS)
def test_pages_of_a_server_are_accessible_in_every_display_mode(
    window: BrowserContext, address: str, path: str, mode: str
) -> None:
    page = window.pages[0] if window.pages else window.new_page()
    enter_mode(page, MODES[mode])
    page.goto("about:blank")  # a change of the fragment alone would not load the page again
    page.goto(address + path)
    if "explore/S" in path:
        page.wait_for_selector("body[data-ready]")
    assert find_faults(page, MODES[mode]) == []


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
def test_an_accessibility_defect_is_detected(open_page: Open, defect: str, fault: str) -> None:
    mode = MODES["zoomed to 400 %"]
    page = open_page("S4", mode=mode)
    add_style(page, defect)
    assert any(fault in found for found in find_faults(page, mode, stops=14))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_forced_colours_mode_does_not_change_the_drawing_and_its_legend(
    open_page: Open, scheme: str
) -> None:
    """Otherwise the meaning of colours and the labels on coloured nodes would be lost."""
    script = """() => [...document.querySelectorAll(".view *, .chart *, .swatch")].map((each) => {
        const { fill, stroke, backgroundColor } = getComputedStyle(each);
        return each.closest("svg") ? [each.localName, fill, stroke] : backgroundColor;
    })"""
    free, forced = (
        open_page("S4", STATES["a step"], Mode(scheme=scheme, forced=forced))
        for forced in ("none", "active")
    )
    assert free.evaluate(script) == forced.evaluate(script)
    ground = "getComputedStyle(document.querySelector('#stage')).backgroundColor"
    assert forced.evaluate(ground) == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 28)"
    )


def test_the_drawing_can_be_moved_by_buttons_and_keys_instead_of_dragging(open_page: Open) -> None:
    page = open_page("S4")

    def place() -> tuple[float, float, float]:
        page.evaluate("new Promise(requestAnimationFrame)")
        boxes = [
            page.locator(f"[data-node='{label}']").bounding_box() for label in ("1234", "4321")
        ]
        assert boxes[0]
        assert boxes[1]
        return boxes[0]["x"], boxes[0]["y"], boxes[0]["x"] - boxes[1]["x"]

    for button, key, across, down in (
        ("Move the view to the left", "Shift+ArrowLeft", 1, 0),
        ("Move the view up", "Shift+ArrowUp", 0, 1),
        ("Move the view to the right", "Shift+ArrowRight", -1, 0),
        ("Move the view down", "Shift+ArrowDown", 0, -1),
    ):
        before = place()
        page.get_by_role("button", name=button).click()
        after = place()
        moves = [after[0] - before[0], after[1] - before[1]]
        assert [(move > 1) - (move < -1) for move in moves] == [across, down]
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(key)
        again = place()
        assert [again[0] - after[0], again[1] - after[1]] == pytest.approx(moves, abs=1)
        assert "view=" in page.evaluate("location.href")
    apart = place()[2]
    page.keyboard.press("+")
    assert place()[2] == pytest.approx(1.4 * apart, rel=0.1)
    page.keyboard.press("-")
    assert place()[2] == pytest.approx(apart, rel=0.1)
    page.keyboard.press("f")
    assert "view=" not in page.evaluate("location.href")


def test_single_character_keys_can_be_switched_off(open_page: Open) -> None:
    """WCAG 2.1.4 requires this, because speech input would trigger such keys."""
    page = open_page("S4", "schedule=broadcast:multiple&step=3")
    page.get_by_text("Keyboard shortcuts", exact=True).click()
    keys = page.get_by_label("Letters, digits and signs work as shortcuts")
    for is_on, step in ((False, "step 3"), (True, "step 4")):
        keys.set_checked(is_on)
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(".")
        page.keyboard.press("ArrowRight")  # keys that type no character always work
        expect(page.locator("#selection code")).to_have_count(1)
        expect(page.locator("#step-text")).to_contain_text(f"{step} of")


def test_in_a_small_window_the_wheel_and_arrow_keys_scroll_the_page(open_page: Open) -> None:
    """If the drawing itself used the wheel and keys, content below it could not be reached."""
    page = open_page("S4", mode=MODES["zoomed to 400 %"])
    page.locator("#stage").hover()
    page.mouse.wheel(0, 100)
    page.wait_for_function("scrollY > 50")
    before = page.evaluate("scrollY")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("before => scrollY > before", arg=before)
    assert page.locator("#selection code").count() == 0
    assert "view=" not in page.evaluate("location.href")
