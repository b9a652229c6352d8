"""Accessibility faults (WCAG 2.2 AA) that a browser can find in a page."""

from typing import TYPE_CHECKING, NamedTuple

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: Rule sets of axe: WCAG 2.0 to 2.2, and best practices. The rule for the target size must be
#: requested by name.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: Style sheet with a text spacing that users may set and that must not break a page (WCAG 1.4.12).
SPACING = """
* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }
p { margin-bottom: 2em !important }
"""


class Mode(NamedTuple):
    """Conditions under which a page is viewed: window size in CSS pixels, and user settings."""

    width: int = 1280
    height: int = 800
    scheme: str = "light"
    forced: str = "none"
    media: str = "screen"
    spacing: bool = False


#: Zooming a window of 1280 x 1024 divides its size in CSS pixels by the zoom factor.
MODES = {
    "zoomed to 400 %, spaced text": Mode(320, 256, spacing=True),
    "zoomed to 400 %": Mode(320, 256),
    "zoomed to 200 %, dark": Mode(640, 512, scheme="dark"),
    "light": Mode(),
    "forced colours, dark": Mode(scheme="dark", forced="active"),
    "paper": Mode(794, 1123, media="print"),
}

#: JavaScript function that returns a name for an element, used in reported faults.
_NAME = """const nameOf = (each) =>
    `${each.localName} ${each.id || each.dataset.node || each.textContent.trim().slice(0, 40)}`;
"""
#: JavaScript that finds text that is cut off or requires scrolling in two directions (WCAG 1.4.10
#: and 1.4.12).
_CUT_OFF = (
    "() => {"
    + _NAME
    + """
  const width = document.documentElement.clientWidth;
  const faults = [];
  const isWide = document.documentElement.scrollWidth > width;
  if (isWide) faults.push("the page is wider than its window");
  // Tables and code blocks scroll in their own boxes, but not on paper.
  const boxes = matchMedia("print").matches ? "pre" : "table, pre";
  for (const each of document.body.querySelectorAll("*")) {
    if (!each.checkVisibility() || each.closest("svg, .hidden, .skip")) continue;
    const { overflow } = getComputedStyle(each);
    const isTooWide = each.scrollWidth > each.clientWidth + 1;
    const isTooHigh = each.scrollHeight > each.clientHeight + 1;
    const isCut = /hidden|clip/.test(overflow) && (isTooWide || isTooHigh);
    if (isCut) faults.push(`cut off: ${nameOf(each)}`);
    const { right, left } = each.getBoundingClientRect();
    const isRead = each.childElementCount === 0 && each.textContent.trim() && !each.closest(boxes);
    if (!isRead || (left > -2 && right < width + 2)) continue;
    faults.push(`outside of the window: ${nameOf(each)}`);
  }
  return faults;
}"""
)

#: JavaScript that checks whether the focused element is hidden by others (WCAG 2.4.11) or not
#: marked as focused (WCAG 2.4.7).
_FOCUSED = (
    "() => {"
    + _NAME
    + """
  const focused = document.activeElement;
  if (!focused || focused === document.body) return null;
  const faults = [];
  const box = focused.getBoundingClientRect();
  // Of a region larger than the window, only the visible part is checked.
  const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const shares = [0.02, 0.25, 0.5, 0.75, 0.98];
  const isSeenAt = (across, down) => {
    const [x, y] = [left + across * (right - left), top + down * (bottom - top)];
    const at = document.elementFromPoint(x, y);
    return at && (focused.contains(at) || focused.closest("label")?.contains(at));
  };
  const isSeen = shares.some((down) => shares.some((across) => isSeenAt(across, down)));
  if (left >= right || top >= bottom || !isSeen) {
    faults.push(`covered while it has the focus: ${nameOf(focused)}`);
  }
  const node = focused.querySelector(":scope > rect");
  const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(focused);
  const [wide, away] = [outlineWidth, outlineOffset].map(parseFloat);
  const isFilled = focused.parentElement.id === "stage"; // which cuts off outlines outside
  const isMarked = node
    ? parseFloat(getComputedStyle(node).strokeWidth) >= 5
    : outlineStyle !== "none" && wide >= 2 && !(isFilled && away > -wide);
  if (!isMarked) faults.push(`no mark of the focus: ${nameOf(focused)}`);
  return faults;
}"""
)


def enter_mode(page: "Page", mode: Mode) -> None:
    """Apply viewing conditions to a browser tab; call this before opening a page in the tab."""
    page.set_viewport_size({"width": mode.width, "height": mode.height})
    page.emulate_media(
        color_scheme=mode.scheme,  # type: ignore[arg-type]  # "light" or "dark"
        forced_colors=mode.forced,  # type: ignore[arg-type]
        media=mode.media,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )


def add_style(page: "Page", style: str) -> None:
    """Add a style sheet in a way that the page's content security policy does not block."""
    script = """style => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(style);
        document.adoptedStyleSheets = [sheet];
    }"""
    page.evaluate(script, style)


def find_faults(page: "Page", mode: Mode, stops: int = 8) -> list[str]:
    """Return the accessibility faults of a page under the given viewing conditions.

    For print, only text that is cut off is reported.

    Args:
        page: the page.
        mode: the viewing conditions that `enter_mode` has applied.
        stops: the number of elements whose focus is checked, both forwards from the first element
            and backwards from the last.
    """
    if mode.spacing:
        add_style(page, SPACING)
    faults: list[str] = page.evaluate(_CUT_OFF)
    if mode.media == "print":
        return faults
    violations = Axe().run(page, options={"runOnly": TAGS}).response["violations"]
    faults += [
        f"{each['id']}: {node['html'][:200]}" for each in violations for node in each["nodes"][:3]
    ]
    for key in ("Tab", "Shift+Tab"):
        page.evaluate("document.activeElement.blur()")
        for _ in range(stops):
            page.keyboard.press(key)
            found = page.evaluate(_FOCUSED)
            if found is None:
                break
            faults += found
    return faults
