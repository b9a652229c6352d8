"""A comparison as JSON, as an HTML page, and as plots."""

import importlib
import json
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from starcast.comparison import crossovers, plots, presentation
from starcast.comparison.compare import Comparison, compare
from starcast.comparison.curves import panels, profiled_runs
from starcast.comparison.matching import Side
from starcast.comparison.presentation import as_cells, lay_out, tabulate
from starcast.lab import ComparisonTable
from starcast.support.axes import QUESTION
from starcast.support.errors import InputError, UnavailableError
from starcast.support.html import STATIC
from starcast.support.text import format_value
from support.colour_vision import COLOUR_VISION, smallest_distance
from support.html_page import Page
from support.stored_runs import PROVENANCE, along, cells, priced_run, side

SIZES = (16, 256, 4096, 65536)


@pytest.fixture(scope="module", autouse=True)
def fonts() -> None:
    """Make Matplotlib list the fonts before the tests, since this can take seconds."""
    importlib.import_module("matplotlib.font_manager")


def three(**changes: Any) -> Comparison:
    """Return a comparison of three algorithms with 1 or 4 segments. Their curves cross."""
    runs = [
        *along(10, 2, SIZES, segments=1, **changes), *along(13, 1, SIZES, segments=4, **changes),
        *along(7, 7, SIZES, segments=1, algorithm="recursive-substar", **changes),
        *along(10, 4, SIZES, segments=4, algorithm="recursive-substar", **changes),
        *along(15, Fraction(1, 2), SIZES, segments=1, algorithm="edge-disjoint", **changes),
    ]  # fmt: skip
    return compare([side("sweep", runs)])


def across() -> Comparison:
    """Return a comparison of two algorithms on each of S5 and Q7. The curves cross."""
    runs = [
        *along(6, 5, SIZES, topology="S5", algorithm="greedy"),
        *along(8, 2, SIZES, topology="S5", algorithm="edge-disjoint"),
        *along(7, 4, SIZES, topology="Q7", algorithm="binomial"),
        *along(9, 1, SIZES, topology="Q7", algorithm="edge-disjoint-binomial", bound=7),
    ]
    return compare([side("sweep", runs)], across=["topology"])


def profiles(comparison: Comparison) -> dict[int | None, list[int]]:
    """For each run, return an invented profile: 1 link used in step 1, 2 in step 2, and so on."""
    return {
        run.id: list(range(1, int(run.costs[0].steps or 0) + 1))
        for run in profiled_runs(comparison)
    }


def shown(comparison: Comparison) -> Page:
    return Page(presentation.render_file(comparison, profiles(comparison)))


def test_the_comparison_page_is_one_file_with_all_its_data_and_loads_nothing_else() -> None:
    comparison = three()
    text = presentation.render_file(comparison, profiles(comparison))
    read = Page(text)
    for tag in ("img", "iframe", "object", "embed", "base", "form"):
        assert read.find(tag) == []
    assert read.external_references() == []
    rest = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|@import|url\((?!#)|^import ", rest, re.MULTILINE)
    assert "default-src 'none'" in text
    assert "unsafe-inline" not in text
    described = presentation.describe(comparison, profiles(comparison))
    data = text.partition('<script id="panels" type="application/json">')[2]
    assert json.loads(data.partition("</script>")[0]) == json.loads(json.dumps(described["panels"]))


@pytest.mark.parametrize("everything", [False, True])
def test_the_comparison_page_shows_all_rows_and_the_experiments_with_their_commands(
    everything: bool,
) -> None:
    comparison = three().complete if everything else three()
    read = shown(comparison)
    layout = lay_out(comparison.with_short_names())
    symbols = {"t_s", "t_c"}
    heads = [name if name in symbols else name.replace("_", " ") for name in layout.columns]
    below = read.below(heads)
    assert len(layout.rows) == 8
    for row, texts in zip(layout.rows, below, strict=False):
        for name, cell in zip(layout.columns, texts, strict=True):
            assert cell.endswith(format_value(row[name])), name
    for each in comparison.sides:
        assert each.name in read.text
        assert all(command in read.text for command in (each.repeat, *each.commands))


def test_a_comparison_as_json_contains_all_rows_crossovers_and_curves() -> None:
    comparison = three()
    described = presentation.describe(comparison, profiles(comparison))
    json.dumps(described)
    assert described["rows"] == [as_cells(row) for row in tabulate(comparison)]
    assert len(described["crossovers"]) == len(crossovers.all_crossovers(comparison))
    (panel,) = described["panels"]
    (curve,) = [curve for curve in panel["curves"] if curve["label"] == "multiple"]
    # The times 1000 + 2m with 1 segment and 1300 + m with 4 segments are equal at m = 300.
    assert cells(curve["spots"], "message_bytes", "time", "segments") == [
        (16, 1032, 1), (256, 1512, 1), (4096, 5396, 4), (65536, 66836, 4),
    ]  # fmt: skip
    assert {tuple(point) for point in curve["path"]} > {(16, 1032), (65536, 66836)}
    for m, time in curve["path"]:
        assert time == pytest.approx(min(1000 + 2 * m, 1300 + m), rel=1e-4)


def test_the_comparison_page_has_tables_of_times_and_steps_for_browsers_without_scripts() -> None:
    comparison = three()
    read = shown(comparison)
    labels = ["edge-disjoint", "multiple", "recursive-substar"]
    (panel,) = panels(comparison)
    assert sorted(curve.label for curve in panel.curves) == labels
    times = read.below(["message bytes", *(c.label for c in panel.curves), "lower bound"])[:4]
    assert [row[0] for row in times] == [str(m) for m in SIZES]
    assert times[3][1 + [c.label for c in panel.curves].index("multiple")] == "66836 p = 4"
    steps = read.below(["curve", "segments", "steps", "directed links", "busy on average"])[:3]
    # 13 steps use 1 + ... + 13 = 91 links. In each step, 480 directed links are available.
    assert ["multiple", "4", "13", "480", f"{100 * 91 / (13 * 480):.1f} %"] in steps
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13" in read.text
    for crossing in crossovers.best_crossovers(crossovers.find_crossovers(panel)):
        assert crossing.change in read.text


def test_many_compared_experiments_are_shown_one_per_line() -> None:
    sides = [
        side(name, along(steps, 2, SIZES, algorithm="multiple"))
        for name, steps in zip("abcde", range(5, 10), strict=True)
    ]
    words = ("message bytes", "side", "steps", "time", "change", "change percent", "verdict", "gap")
    block = shown(compare(sides)).below(words)[: 5 * len(SIZES)]
    assert [row[-7] for row in block] == list("abcde") * len(SIZES)
    assert [row[0] for row in block[::5]] == [str(m) for m in SIZES]
    assert [len(row) for row in block[:5]] == [8, 7, 7, 7, 7]
    assert block[1][-2] == "▲ worse"


def test_only_the_best_value_of_a_comparison_row_is_bold() -> None:
    comparison = three()
    text = presentation.render_file(comparison, {})
    strong = re.findall(r'<td class="number best"><strong>([^<]+)</strong></td>', text)
    ends = comparison.suffixes
    best = [row[f"time_{ends[row['best']]}"] for row in tabulate(comparison) if row["best"]]
    assert strong == [format_value(time) for time in best]
    assert len(best) == 8


def test_the_comparison_page_states_why_rows_are_not_comparable() -> None:
    sides = [side("ours", along(10, 2, SIZES)), side("theirs", along(7, 7, SIZES, ports="one"))]
    text = shown(compare(sides)).text
    assert "different ports (all, one) (4 rows)" in text
    assert "more reason" not in text


@pytest.mark.slow
def test_the_comparison_page_states_the_pairing_rule_and_suggests_another_rule() -> None:
    comparison = compare([
        side("a", along(10, 2, SIZES, segments=1, message_units=3)
             + along(11, 2, SIZES, segments=4, message_units=12)),
        side("b", along(12, 2, SIZES, segments=1, message_units=4)
             + along(13, 2, SIZES, segments=4, message_units=16)),
    ])  # fmt: skip
    page = unescape(presentation.render_file(comparison, {}))
    assert presentation.describe_pairing(comparison).capitalize() in page
    assert "8 of 12 rows have no partner; if runs are paired by segments, 0 have none." in page


def test_the_comparison_page_collapses_rare_reasons_why_rows_are_not_comparable() -> None:
    missing = (*SIZES, *SIZES, *range(1, 16))
    faults = {"faults": ["21345"]}
    ours = [priced_run(10, 2, m, **faults) for m in range(1, len(missing) + 1)]
    theirs = [priced_run(9, 2, m, missing=n, **faults) for m, n in enumerate(missing, start=1)]
    comparison = compare([side("ours", ours), side("theirs", theirs)])
    reasons = presentation.count_reasons(comparison)
    text = presentation.render_file(comparison, {})
    part = text.partition("Rows that are not comparable")[2].partition("<h2")[0]
    at_once, _, on_demand = part.partition("<details>")
    listed = [re.findall(r"<li>(.*?) <span", each) for each in (at_once, on_demand)]
    assert listed[0] + listed[1] == list(reasons)
    assert len(listed[0]) == 12
    assert f"{len(reasons) - 12} more reasons" in on_demand


def test_the_summary_of_a_comparison_counts_the_verdicts_of_all_rows() -> None:
    comparison = three()
    rows = comparison.complete.rows()
    for place, counted in enumerate(presentation.summarize(comparison)):
        assert counted["best"] == sum(row["best"] == counted["side"] for row in rows)
        if place:
            fallen = [row[f"verdict_{comparison.suffixes[counted['side']]}"] for row in rows]
            assert [counted[verdict] for verdict in presentation.VERDICTS] == [
                fallen.count(verdict) for verdict in presentation.VERDICTS
            ]


def test_each_version_that_computed_runs_is_listed_once_with_its_runs_and_dates() -> None:
    other = {**PROVENANCE, "version": "0.2.0", "dirty": True}
    later = datetime(2026, 11, 22, tzinfo=UTC)
    ours, theirs = along(10, 2, SIZES), along(7, 7, SIZES, provenance=other, finished_at=later)
    comparison = compare([side("ours", ours), side("theirs", theirs)])
    old, new = presentation.list_sources(comparison)
    assert (old["version"], old["runs"], old["host"]) == ("0.1.0", 4, "loom")
    assert (new["version"], new["dirty"]) == ("0.2.0", True)
    assert old["first"] == old["last"] < new["first"] == new["last"]
    text = shown(comparison).text
    for word in ("0.1.0", "0.2.0", PROVENANCE["revision"], "loom", "18.4"):
        assert str(word) in text


def test_texts_given_by_users_are_escaped_on_the_comparison_page() -> None:
    """Titles, commands and algorithm names are checked."""
    nasty = '</script><script>alert("x")</script> & <b>'
    ours = Side("a", tuple(along(10, 2, SIZES)), (f"starcast {nasty}",), nasty)
    theirs = along(7, 7, SIZES, algorithm=f"greedy{nasty}")
    read = shown(compare([ours, side("b", theirs)]))
    assert len(read.find("script")) == 2  # one script has the data, the other the code
    assert nasty in read.text


def test_a_comparison_of_failed_runs_has_a_page() -> None:
    failed = along(10, 2, (64,), status="failed", error="step 1: early")
    for other in (along(10, 2, (64,)), []):
        assert "not comparable" in shown(compare([side("a", failed), side("b", other)])).text


def test_a_comparison_page_without_differences_says_that_all_rows_are_the_same() -> None:
    runs = along(10, 2, SIZES)
    text = shown(compare([side("a", runs), side("a", runs)])).text
    assert "Nothing differs: all 4 rows are the same" in text


def test_a_comparison_page_across_topologies_states_the_size_and_bound_of_each_network() -> None:
    comparison = across()
    read = shown(comparison)
    assert "on networks of different size, so each change compares different networks" in read.text
    assert "No value is scaled" in read.text
    start = next(place for place, row in enumerate(read.rows) if "network" in row)
    cells = [row[read.rows[start].index("network")] for row in read.rows[start + 1 : start + 5]]
    s5, q7 = "S5: 120 nodes of degree 4, 240 links", "Q7: 128 nodes of degree 7, 448 links"
    assert cells == [s5, s5, q7, q7]
    axes = ", ".join(axis for axis in QUESTION if axis != "topology")
    assert f"Runs with the same {axes} that deliver all units" in read.text
    (panel,) = presentation.describe(comparison, profiles(comparison))["panels"]
    bounds = [bound["label"] for bound in panel["bounds"]]
    assert bounds == ["lower bound of S5", "lower bound of Q7"]
    # On S5, 8 steps use 1 + ... + 8 = 36 links, and each step has 480 links. On Q7, 9 steps use 45
    # links, and each step has 896 links.
    shares = {f"{100 * 36 / (8 * 480):.1f} %", f"{100 * 45 / (9 * 896):.1f} %"}
    assert shares <= {row[-1] for row in read.rows}
    assert "networks of different size" not in shown(three()).text


def test_a_notebook_shows_the_first_rows_of_a_long_comparison() -> None:
    sizes = range(100, 199)
    comparison = compare([side("a", along(10, 2, sizes)), side("b", along(7, 7, sizes))])
    table = tabulate(comparison)
    shown_in_notebook = ComparisonTable(
        table.columns, table.rows, table.note, comparison=comparison
    )._repr_html_()
    assert shown_in_notebook.count("<b>") == 60
    assert "60 of 99 rows" in shown_in_notebook


def test_the_title_of_a_comparison_page_names_up_to_three_sides_or_states_their_number() -> None:
    assert presentation.title_of(across()) == "sweep: 4 sides compared"
    assert presentation.title_of(three()) == (
        "sweep: multiple against recursive-substar against edge-disjoint"
    )
    two = compare([side("ours", along(10, 2, SIZES)), side("b", along(9, 2, SIZES))])
    assert presentation.title_of(two) == "ours against b"


def test_the_steps_of_equal_schedules_are_shown_once_and_without_faults_if_possible() -> None:
    """The steps of runs with faults are shown only if there is no run without faults."""
    slow, fast = three().sides, three(t_c=Fraction(2)).sides
    machines = compare([side("sweep", [run for each in (*slow, *fast) for run in each.runs])])
    described = presentation.describe(machines, profiles(machines))["panels"]
    assert [len(panel["profiles"]) for panel in described] == [3, 0]
    faults = [
        {"faults": [node], "seed": seed} for seed, node in enumerate(("21345", "32145", "12354"))
    ]
    few = [run for each in faults for run in along(10, 2, SIZES, **each)]
    both = [
        run for each in ({}, *faults[:2]) for run in along(7, 7, SIZES, algorithm="greedy", **each)
    ]
    comparison = compare([side("a", [*few, *along(10, 2, SIZES)]), side("b", both)])
    drawn = [(run.algorithm, run.faults) for run in profiled_runs(comparison)]
    assert drawn == [("multiple", ()), ("greedy", ())]
    partial = compare([side("a", few), side("b", both)])
    assert [(run.algorithm, run.faults) for run in profiled_runs(partial)] == [
        ("greedy", ()), ("multiple", ("12354",)),
    ]  # fmt: skip


def drawn(comparison: Comparison) -> Axes:
    """Plot the times of a comparison with a single panel, and return the axes."""
    (panel,) = panels(comparison)
    styles = plots.make_styles(curve.label for curve in panel.curves)
    found = crossovers.best_crossovers(crossovers.find_crossovers(panel))
    return plots.compose([partial(plots.plot_times, panel, styles, found)]).axes[0]


def marks(axes: Axes, gid: str) -> list[tuple[Any, ...]]:
    """Return the marked points of a curve, or of a crossover."""
    (line,) = [line for line in axes.lines if line.get_gid() == gid]
    return [tuple(point) for point in line.get_xydata()]  # type: ignore[arg-type, union-attr]


def test_points_are_marked_in_a_plot_at_the_stored_times_and_at_the_crossovers() -> None:
    comparison = three()
    axes = drawn(comparison)
    assert marks(axes, "multiple") == [(16, 1032), (256, 1512), (4096, 5396), (65536, 66836)]
    (legend,) = axes.figure.legends
    assert "multiple" in {text.get_text() for text in legend.get_texts()}
    (panel,) = panels(comparison)
    found = crossovers.best_crossovers(crossovers.find_crossovers(panel))
    assert len(found) >= 2
    for number, crossing in enumerate(found, start=1):
        assert marks(axes, f"crossing-{number}") == [(float(crossing.low), float(crossing.time))]  # type: ignore[arg-type]
    zero = compare([side("sweep", [*along(10, 2, (0, *SIZES)),
                                   *along(7, 7, (0, *SIZES), algorithm="greedy")])])  # fmt: skip
    assert len(marks(drawn(zero), "multiple")) == len(SIZES)


def test_crossovers_between_the_same_two_sizes_share_one_numbered_band() -> None:
    """Three curves cross a fourth between the message sizes 16 and 256."""
    ours = [priced_run(10, 2, m, segments=p) for p, m in enumerate(SIZES, start=1)]
    others = [
        priced_run(start, 5, m, segments=p, algorithm=f"a{start}")
        for start in (7, 8, 9)
        for p, m in enumerate(SIZES, start=5)
    ]
    axes = drawn(compare([side("a", [*ours, *others])]))
    (band,) = axes.patches
    assert [band.get_x(), band.get_x() + band.get_width()] == [16, 256]  # type: ignore[attr-defined]
    assert "1-3" in {text.get_text() for text in axes.texts}


def test_a_plot_across_topologies_has_a_bound_and_a_link_utilisation_for_each_topology() -> None:
    comparison = across()
    labels = {line.get_label() for line in drawn(comparison).lines}
    assert {"lower bound of S5", "lower bound of Q7", "S5 greedy", "Q7 binomial"} <= labels
    (panel,) = panels(comparison)
    styles = plots.make_styles(curve.label for curve in panel.curves)
    axes = plots.compose([partial(plots.plot_links, panel, profiles(comparison), styles)]).axes[0]
    assert axes.get_ylabel() == "directed links busy, % of the network's"
    heights = {patch.get_label(): list(patch.get_data().values) for patch in axes.patches}  # type: ignore[attr-defined]
    assert heights["Q7 binomial, p = 1"] == [used * 100 / 896 for used in range(1, 8)]


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_colours_of_curves_and_trees_differ_with_every_kind_of_colour_blindness(mode: int) -> None:
    style = (STATIC / "starcast.css").read_text()
    colours = re.findall(r"--tree-[0-9]: #([0-9a-f]{6})", style)[8 * mode : 8 * (mode + 1)]
    assert len(colours) == 8
    assert all(smallest_distance(colours, vision) > 7 for vision in COLOUR_VISION.values())


def test_every_curve_of_a_plot_has_its_own_style() -> None:
    styles = plots.make_styles(f"algorithm {place}" for place in range(40))
    assert len({json.dumps(style) for style in styles.values()}) == len(styles) == 40


@pytest.mark.parametrize("suffix", [".svg", pytest.param(".pdf", marks=pytest.mark.slow), ".PNG"])
def test_all_plots_are_written_to_one_reproducible_file(suffix: str) -> None:
    comparison = three()
    content = plots.plot_file(comparison, profiles(comparison), suffix)
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30, "svg.fonttype": "none"}):
        assert plots.plot_file(comparison, profiles(comparison), suffix) == content
    assert mpl.rcParams["svg.hashsalt"] != "starcast"
    if suffix == ".pdf":
        assert content.startswith(b"%PDF-")
        assert b"/Type /Font" in content
        assert b"/Subtype /Type3" not in content
    elif suffix == ".PNG":
        assert content.startswith(b"\x89PNG")
    else:
        root = ET.fromstring(content)  # noqa: S314 - we wrote it
        assert not list(root.iter("{http://www.w3.org/2000/svg}text"))  # letters are drawn as paths


def test_a_plot_is_as_wide_as_a_text_column_and_its_title_describes_the_runs() -> None:
    comparison = three()
    (panel,) = panels(comparison)
    styles = plots.make_styles(curve.label for curve in panel.curves)
    figure = plots.compose([
        partial(plots.plot_times, panel, styles, []),
        partial(plots.plot_links, panel, profiles(comparison), styles),
    ])  # fmt: skip
    assert figure.get_figwidth() == 3.3
    times, links = figure.axes
    assert times.get_position().y0 > links.get_position().y1
    for axes in (times, links):
        assert axes.get_title("left") == (
            "broadcast on S5, all-port, synchronous\n$T_s$ = 100, $T_c$ = 1"
        )


def test_long_titles_and_legends_are_wrapped_to_the_width_of_the_plot() -> None:
    comparison = three(
        topology="S10", root="centre", ports="one", execution="asynchronous",
        t_s=Fraction(1, 10**29), faults=("2134567890", "1234567890-2134567890@12"),
    )  # fmt: skip
    (panel,) = panels(comparison)
    panel = replace(panel, curves=tuple(
        replace(curve, label=f"{curve.label} (an experiment with a long name)")
        for curve in panel.curves
    ))  # fmt: skip
    styles = plots.make_styles(curve.label for curve in panel.curves)
    figure = plots.compose(2 * [partial(plots.plot_times, panel, styles, [])])
    figure.draw_without_rendering()
    (above, below), (legend, last) = figure.axes, figure.legends
    title = below.get_title("left")
    texts = below.findobj(Text)
    boxes = [text.get_window_extent() for text in texts if text.get_text() == title]
    boxes += [legend.get_window_extent(), last.get_window_extent()]
    assert len(boxes) == 3
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert "asynchronous" in title
    assert last.get_window_extent().y0 >= 0
    lowest = legend.get_window_extent().y0
    assert above.get_window_extent().y0 > lowest > boxes[0].y1 > below.get_window_extent().y1


def test_a_comparison_without_anything_to_plot_is_refused() -> None:
    single = compare([side("sweep", along(10, 2, (16,))), side("other", along(12, 2, (16,)))])
    with pytest.raises(InputError, match="nothing to plot") as refusal:
        plots.plot_file(single, {}, ".svg")
    assert refusal.value.hint
    with pytest.raises(InputError, match=r"must end in \.svg, \.pdf or \.png"):
        plots.check_plot(Path("plot.gif"))


def test_a_missing_matplotlib_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "starcast.comparison.plots")
    with pytest.raises(UnavailableError, match="matplotlib, which is not installed") as refusal:
        importlib.import_module("starcast.comparison.plots")
    assert "pip install 'matplotlib>=" in refusal.value.hint
