"""The report of a comparison: self-contained, complete, and its plots show the stored figures."""

import importlib
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from html.parser import HTMLParser
from math import isclose, log10
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from starcast.comparison import crossovers, page_svg, panel_plots, plots, report
from starcast.comparison.compare import Comparison, compare
from starcast.comparison.curves import Panel, panels
from starcast.comparison.matching import Side
from starcast.database.models import Run
from starcast.errors import InputError, UnavailableError
from starcast.progress import Silent
from support.stored_runs import PROVENANCE, along, priced_run, side


@pytest.fixture(scope="module", autouse=True)
def fonts() -> None:
    """Matplotlib's list of the fonts of this machine: it takes seconds in a new home."""
    importlib.import_module("matplotlib.font_manager")


SIZES = (16, 256, 4096, 65536)
WRITTEN = datetime(2026, 11, 21, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """A page as its tags, texts of cells and SVG documents; every element must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        self.svgs = re.findall(r"<svg.*?</svg>", text, re.DOTALL)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an empty element."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that it closes the element opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Record text, and the text of its cell."""
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def three(**changes: Any) -> Comparison:
    """Return three algorithms with 1 and 4 segments that cross."""
    runs = [
        *along(10, 2, SIZES, segments=1, **changes), *along(13, 1, SIZES, segments=4, **changes),
        *along(7, 7, SIZES, segments=1, algorithm="recursive-substar", **changes),
        *along(10, 4, SIZES, segments=4, algorithm="recursive-substar", **changes),
        *along(15, Fraction(1, 2), SIZES, segments=1, algorithm="edge-disjoint", **changes),
    ]  # fmt: skip
    return compare([side("sweep", runs)])


def profiles(comparison: Comparison) -> dict[int, list[int]]:
    """Return invented numbers of links used: 1, 2, 3, ... per step."""
    return {run.id: list(range(1, steps(run) + 1)) for run in panel_plots.profiled_runs(comparison)}


def steps(run: Run) -> int:
    return int(run.costs[0].steps or 0)


def page(comparison: Comparison, **options: Any) -> str:
    return report.render_report(comparison, profiles(comparison), WRITTEN, **options)


def drawn(panel: Panel, marked: Sequence[crossovers.Crossing] = ()) -> ET.Element:
    return parsed(
        plots.plot_times(
            panel, page_svg.Styles(curve.label for curve in panel.curves), marked
        ).inline("plot")
    )


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - we wrote it


def marks(svg: ET.Element, gid: str) -> list[tuple[float, float]]:
    """Return the places of the marks of a group in the picture."""
    (group,) = [each for each in svg.iter(f"{SVG}g") if each.get("id") == f"plot-{gid}"]
    return [(float(use.get("x", "")), float(use.get("y", ""))) for use in group.iter(f"{SVG}use")]


def titles(svg: ET.Element, gid: str) -> list[str]:
    (group,) = [each for each in svg.iter(f"{SVG}g") if each.get("id") == f"plot-{gid}"]
    return [title.text or "" for title in group.iter(f"{SVG}title")]


def test_the_page_is_one_well_formed_file_without_external_resources() -> None:
    text = page(three())
    tags = Page(text).tags
    for tag, attributes in tags:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
        for name in ("src", "href", "xlink:href", "action", "data", "poster"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    rest = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", rest)
    policy = next(
        attributes
        for _, attributes in tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in str(policy["content"])
    assert "prefers-color-scheme: dark" in text


def test_ids_are_unique_and_every_reference_has_a_target() -> None:
    """Two plots of the same kind repeat matplotlib's own ids, which must not collide."""
    text = page(
        compare(
            [
                side(
                    "two",
                    [
                        *three().sides[0].runs,
                        *along(9, 3, SIZES, t_s=Fraction(7), algorithm="greedy"),
                    ],
                )
            ]
        )
    )
    ids = [str(attributes["id"]) for _, attributes in Page(text).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = re.findall(r'href="#([^"]+)"', text) + re.findall(r"url\(#([^)]+)\)", text)
    assert used
    assert set(used) <= set(ids)


@pytest.mark.parametrize("everything", [False, True])
def test_every_row_every_side_and_every_command_is_on_the_page(everything: bool) -> None:
    comparison = three()
    shown = Page(page(comparison, everything=everything))
    lettered = comparison.with_letters()
    columns = lettered.columns(everything=everything)
    start = next(place for place, row in enumerate(shown.rows) if row == columns)
    rows = lettered.rows(everything=everything)
    assert len(rows) == 8
    for row, cells in zip(rows, shown.rows[start + 1 :], strict=False):
        for name, cell in zip(columns, cells, strict=True):
            rounded = name.startswith("gap") and row[name] is not None
            value = round(float(row[name]), 3) if rounded else row[name]
            assert cell.strip().endswith(report.as_cell(value)), name
    text = " ".join(shown.words)
    for each in comparison.sides:
        assert each.name in text
        assert all(command in text for command in (each.repeat, *each.commands))
    assert text.index("starcast experiment reproduce") < text.index("starcast experiment run")


def test_many_sides_are_stacked_and_none_of_their_lines_is_lost() -> None:
    sides = [
        side(name, along(steps, 2, SIZES, algorithm="multiple"))
        for name, steps in zip("abcde", range(5, 10), strict=True)
    ]
    comparison = compare(sides)
    rows = Page(page(comparison)).rows
    start = rows.index(
        ["message_bytes", "side", "steps", "time", "change", "change_percent", "verdict", "gap"]
    )
    block = rows[start + 1 : start + 1 + 5 * len(SIZES)]
    assert [row[-7].strip() for row in block] == list("abcde") * len(SIZES)
    assert [row[0] for row in block[::5]] == [str(m) for m in SIZES]
    assert [len(row) for row in block[:5]] == [8, 7, 7, 7, 7]
    assert block[1][-2].split() == ["▲", "worse"]


def test_the_best_of_each_row_is_strong_and_no_other() -> None:
    comparison = three()
    text = page(comparison)
    strong = re.findall(r'<td class="number best"><strong>([^<]+)</strong></td>', text)
    ends = comparison.suffixes
    best = [row[f"time_{ends[row['best']]}"] for row in comparison.rows() if row["best"]]
    assert strong == [report.as_cell(time) for time in best]
    assert len(best) == 8


def test_verdicts_are_words_and_signs_not_colours_alone() -> None:
    text = page(three())
    for verdict in ("better", "worse"):
        assert re.search(
            rf'<td class="verdict {verdict}">{report.SIGNS[verdict]} {verdict}</td>', text
        )


def test_rows_that_are_not_comparable_have_a_reason() -> None:
    text = page(
        compare(
            [side("ours", along(10, 2, SIZES)), side("theirs", along(7, 7, SIZES, ports="one"))]
        )
    )
    assert "different ports (all, one)" in text
    assert "not comparable" in text


@pytest.mark.slow
def test_all_reasons_are_on_the_page_and_rare_ones_are_folded() -> None:
    sizes = range(1, 16)
    missing = (*SIZES, *SIZES, *sizes)
    ours = side(
        "ours", [priced_run(10, 2, m, faults=["21345"]) for m in range(1, len(missing) + 1)]
    )
    theirs = side("theirs", [
        priced_run(9, 2, m, faults=["21345"], missing=lost)
        for m, lost in enumerate(missing, start=1)
    ])  # fmt: skip
    reasons = report.count_reasons(compare([ours, theirs]))
    text = page(compare([ours, theirs]))
    at_once, _, on_demand = (
        text.partition("Rows that are not comparable")[2]
        .partition('id="legend"')[0]
        .partition("<details>")
    )
    listed = [re.findall(r"<li>(.*?) <span", part) for part in (at_once, on_demand)]
    assert listed[0] + listed[1] == list(reasons)
    assert len(listed[0]) == 12
    assert f"{len(reasons) - 12} more reasons" in on_demand
    assert "more reason" not in page(
        compare([side("a", along(10, 2, SIZES)), side("b", along(7, 7, SIZES, ports="one"))])
    )


def test_the_summary_counts_the_verdicts_of_the_rows() -> None:
    comparison = three()
    rows = comparison.rows(everything=True)
    for place, counted in enumerate(report.count_verdicts(comparison)):
        assert counted["best"] == sum(row["best"] == counted["side"] for row in rows)
        if place:
            fallen = [row[f"verdict_{comparison.suffixes[counted['side']]}"] for row in rows]
            assert {verdict: counted[verdict] for verdict in report.VERDICTS} == {
                verdict: fallen.count(verdict) for verdict in report.VERDICTS
            }


def test_provenance_is_listed_once_for_each_source_with_its_runs_and_dates() -> None:
    other = {**PROVENANCE, "version": "0.2.0", "dirty": True}
    later = datetime(2026, 11, 22, tzinfo=UTC)
    ours, theirs = along(10, 2, SIZES), along(7, 7, SIZES, provenance=other, finished_at=later)
    comparison = compare([side("ours", ours), side("theirs", theirs)])
    old, new = report.list_sources(comparison)
    assert (old["version"], old["runs"], old["host"], new["version"], new["dirty"]) == (
        "0.1.0",
        4,
        "loom",
        "0.2.0",
        True,
    )
    assert old["first"] < old["last"] or old["first"] == old["last"] < new["first"] == later
    text = " ".join(Page(page(comparison)).words)
    for word in ("0.1.0", "0.2.0", PROVENANCE["revision"], "loom", "18.4"):
        assert str(word) in text


def test_names_from_outside_are_text_not_markup() -> None:
    """Titles and commands of experiments are escaped."""
    nasty = '<script>alert("x")</script> & <b>'
    ours = Side("a", tuple(along(10, 2, SIZES)), (f"starcast {nasty}",), nasty)
    text = page(compare([ours, side("b", along(7, 7, SIZES, algorithm=f"greedy{nasty}"))]))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    Page(text)


@pytest.mark.slow
def test_the_same_figures_give_the_same_page_whatever_the_settings_of_matplotlib() -> None:
    comparison = three()
    before = page(comparison)
    with mpl.rc_context(
        {"axes.facecolor": "red", "font.size": 30, "svg.fonttype": "path", "axes.grid": False}
    ):
        assert page(comparison) == before
    assert mpl.rcParams["svg.hashsalt"] != "starcast"


def test_the_marks_of_a_plot_are_at_the_stored_figures() -> None:
    """Places in the picture are linear in log m and log time, with one scale for all curves."""
    (panel,) = panels(three())
    svg = drawn(panel)
    figures = [(spot.message_bytes, spot.time) for curve in panel.curves for spot in curve.spots()]
    shown = [mark for place in range(len(panel.curves)) for mark in marks(svg, f"curve-{place}")]
    assert len(shown) == len(figures) == 3 * len(SIZES)
    for axis, flipped in ((0, 1), (1, -1)):
        known = sorted(
            (log10(figure[axis]), mark[axis] * flipped)
            for figure, mark in zip(figures, shown, strict=True)
        )
        (low, start), (high, end) = known[0], known[-1]
        scale = (end - start) / (high - low)
        assert scale > 0
        assert all(
            isclose(place, start + (value - low) * scale, abs_tol=1e-3) for value, place in known
        )


def test_a_plot_shows_the_best_segments_at_each_message_size() -> None:
    """Multiple takes 1000 + 2m with 1 segment and 1300 + m with 4 segments: they cross at 300."""
    (panel,) = panels(three())
    (place,) = [place for place, curve in enumerate(panel.curves) if curve.label == "multiple"]
    assert titles(drawn(panel), f"curve-{place}") == [
        "multiple: m = 16, time 1032, p = 1, 10 steps",
        "multiple: m = 256, time 1512, p = 1, 10 steps",
        "multiple: m = 4096, time 5396, p = 4, 13 steps",
        "multiple: m = 65536, time 66836, p = 4, 13 steps",
    ]


def test_a_crossing_is_marked_where_the_curves_meet() -> None:
    (panel,) = panels(three())
    found = crossovers.best_crossovers(crossovers.find_crossovers(panel))
    svg = drawn(panel, found)
    assert len(found) >= 2
    ((left, _), *_, (right, _)) = marks(svg, "curve-0")
    for number, crossing in enumerate(found, start=1):
        ((x, _),) = marks(svg, f"crossing-{number}")
        expected = left + (right - left) * log10(crossing.low / SIZES[0]) / log10(
            SIZES[-1] / SIZES[0]
        )
        assert isclose(x, expected, abs_tol=1e-3)
        assert crossing.below in titles(svg, f"crossing-{number}")[0]


def test_a_crossover_between_two_stored_sizes_is_a_band() -> None:
    ours = [priced_run(10, 2, m, segments=p) for p, m in enumerate(SIZES, start=1)]
    theirs = [
        priced_run(3, 5, m, segments=p, algorithm="greedy") for p, m in enumerate(SIZES, start=5)
    ]
    (panel,) = panels(compare([side("a", ours), side("b", theirs)]))
    (found,) = crossovers.best_crossovers(crossovers.find_crossovers(panel))
    svg = drawn(panel, [found])
    (band,) = [each for each in svg.iter(f"{SVG}g") if each.get("id") == "plot-crossing-1"]
    (path,) = band.iter(f"{SVG}path")
    columns = {float(x) for x in re.findall(r"[ML] (\S+) \S+", str(path.get("d")))}
    shown = [x for x, _ in marks(svg, "curve-0")]
    assert [round(min(columns), 2), round(max(columns), 2)] == [
        round(shown[0], 2),
        round(shown[1], 2),
    ]


def test_every_curve_looks_different_and_alike_in_all_plots() -> None:
    labels = [f"algorithm {place}" for place in range(40)]
    styles = page_svg.Styles(labels)
    assert len({json.dumps(styles.of(label)) for label in labels}) == len(labels)
    assert page_svg.Styles([*labels, *labels]).of(labels[7]) == styles.of(labels[7])


def test_plots_have_descriptions_for_screen_readers() -> None:
    svgs = Page(page(three())).svgs
    assert len(svgs) == 2
    for text in svgs:
        svg = parsed(text)
        named = str(svg.get("aria-labelledby")).split()
        texts = {
            each.get("id"): each.text for each in svg if each.tag in {f"{SVG}title", f"{SVG}desc"}
        }
        assert svg.get("role") == "img"
        assert all(texts[name] for name in named)
        assert "var(--ink" in text
        assert re.search(r"<text|<tspan", text)


def test_links_busy_are_drawn_for_the_fastest_run_of_each_at_the_greatest_common_m() -> None:
    comparison = three()
    (panel,) = panels(comparison)
    chosen = {
        curve.label: (int(run.message_bytes), run.segments) for curve, run in panel.profiled()
    }
    assert chosen == {
        "multiple": (65536, 4),
        "recursive-substar": (65536, 4),
        "edge-disjoint": (65536, 1),
    }
    text = plots.plot_links(panel, profiles(comparison), page_svg.Styles(chosen)).inline("links")
    description = parsed(text).findtext(f"{SVG}desc") or ""
    # 1 + ... + 13 = 91 of 13 steps with 480 directed links.
    assert (
        f"multiple, p = 4: 13 steps, {100 * 91 / (13 * 480):.1f} % of the links busy on average"
        in description
    )
    assert "all 480 directed links" in text


@pytest.mark.slow
def test_the_same_steps_are_drawn_once_for_several_machines() -> None:
    slow, fast = three(), three(t_c=Fraction(2))
    both = compare(
        [
            side(
                "sweep",
                [
                    run
                    for comparison in (slow, fast)
                    for each in comparison.sides
                    for run in each.runs
                ],
            )
        ]
    )
    assert len(panels(both)) == 2
    assert len(Page(page(both)).svgs) == 3


def test_a_single_message_size_gives_a_table_and_no_plot_of_times() -> None:
    comparison = compare(
        [side("a", along(10, 2, (64,))), side("b", along(7, 7, (64,), algorithm="greedy"))]
    )
    assert Page(report.render_report(comparison, {}, WRITTEN)).svgs == []
    assert len(comparison.rows()) == 1


def test_a_message_of_0_bytes_is_not_on_a_logarithmic_axis() -> None:
    (panel,) = panels(
        compare(
            [
                side("a", along(10, 2, (0, *SIZES))),
                side("b", along(7, 7, (0, *SIZES), algorithm="greedy")),
            ]
        )
    )
    assert len(marks(drawn(panel), "curve-0")) == len(SIZES)


def test_a_comparison_without_any_figures_is_a_page_too() -> None:
    failed = along(10, 2, (64,), status="failed", error="step 1: early")
    for sides in (
        [side("a", failed), side("b", along(10, 2, (64,)))],
        [side("a", failed), side("b", [])],
    ):
        text = page(compare(sides))
        Page(text)
        assert "not comparable" in text


def test_a_page_without_differences_says_so() -> None:
    runs = along(10, 2, SIZES)
    assert "Nothing differs: all 4 rows are the same" in page(
        compare([side("a", runs), side("a", runs)])
    )


def across() -> Comparison:
    """Two algorithms on each of two networks, of which those on S5 and on Q7 cross."""
    runs = [
        *along(6, 5, SIZES, topology="S5", algorithm="greedy"), *along(8, 2, SIZES, topology="S5",
        algorithm="edge-disjoint"),
        *along(7, 4, SIZES, topology="Q7", algorithm="binomial"),
        *along(9, 1, SIZES, topology="Q7", algorithm="edge-disjoint-binomial", bound=7),
    ]  # fmt: skip
    return compare([side("sweep", runs)], across=["topology"])


@pytest.mark.slow
def test_a_page_across_topologies_states_the_size_of_each_network() -> None:
    shown = Page(page(across()))
    text = " ".join(" ".join(shown.words).split())
    assert "the sides run on networks of different size, so a change is a change between" in text
    assert "Nothing is normalised" in text
    start = next(place for place, row in enumerate(shown.rows) if "network" in row)
    cells = [row[shown.rows[start].index("network")] for row in shown.rows[start + 1 : start + 5]]
    assert (
        cells
        == ["S5: 120 nodes of degree 4, 240 links"] * 2
        + ["Q7: 128 nodes of degree 7, 448 links"] * 2
    )
    assert (
        "Runs with the same collective, ports, execution, t_s, t_c, message_bytes, faults that"
        " deliver" in text
    )
    plain = " ".join(Page(page(three())).words)
    assert "networks of different size" not in plain
    assert "Runs with the same topology, collective, ports" in " ".join(plain.split())


def test_a_plot_across_topologies_has_a_bound_for_each_and_shares_of_each_ones_links() -> None:
    comparison = across()
    (panel,) = panels(comparison)
    svg = drawn(panel, crossovers.best_crossovers(crossovers.find_crossovers(panel)))
    words = {each.text for each in svg.iter(f"{SVG}text")}
    assert {"lower bound of S5", "lower bound of Q7", "S5 greedy", "Q7 binomial"} <= words
    ids = [str(each.get("id")) for each in svg.iter() if each.get("id")]
    assert {"plot-bound-S5", "plot-bound-Q7"} <= set(ids)
    assert len(ids) == len(set(ids))
    styles = page_svg.Styles(curve.label for curve in panel.curves)
    text = plots.plot_links(panel, profiles(comparison), styles).inline("links")
    # 1 + ... + 8 = 36 of 8 steps with 480 directed links; 1 + ... + 9 = 45 of 9 with 896.
    assert (
        f"S5 edge-disjoint, p = 1: 8 steps, {100 * 36 / (8 * 480):.1f} %"
        " of the links busy on average" in text
    )
    assert (
        f"Q7 edge-disjoint-binomial, p = 1: 9 steps, {100 * 45 / (9 * 896):.1f} %"
        " of the links busy on average" in text
    )
    assert "% of the network's" in text
    assert len(Page(page(comparison)).svgs) == 2


def test_crossovers_between_the_same_sizes_share_a_band_and_its_numbers() -> None:
    ours = [priced_run(10, 2, m, segments=p) for p, m in enumerate(SIZES, start=1)]
    others = [
        [
            priced_run(start, 5, m, segments=p, algorithm=f"a{start}")
            for p, m in enumerate(SIZES, start=5)
        ]
        for start in (7, 8, 9)
    ]
    (panel,) = panels(compare([side("a", [*ours, *(run for each in others for run in each)])]))
    found = crossovers.best_crossovers(crossovers.find_crossovers(panel))
    bands = {(crossing.low, crossing.high) for crossing in found}
    assert len(found) == 3
    assert len(bands) == 1
    svg = drawn(panel, found)
    assert [
        str(each.get("id")) for each in svg.iter(f"{SVG}g") if "crossing" in str(each.get("id"))
    ] == ["plot-crossing-1"]
    assert "1-3" in {each.text for each in svg.iter(f"{SVG}text")}


def test_the_title_of_many_parts_names_their_experiment() -> None:
    assert report.report_title(across()) == "sweep: 4 sides compared"
    assert (
        report.report_title(three())
        == "sweep: multiple against recursive-substar against edge-disjoint"
    )
    assert (
        report.report_title(
            compare([side("ours", along(10, 2, SIZES)), side("b", along(9, 2, SIZES))])
        )
        == "ours against b"
    )


def test_long_names_are_in_the_summary_and_not_in_the_heads_of_columns() -> None:
    rows = Page(page(three())).rows
    start = next(place for place, row in enumerate(rows) if "verdict_B" in row)
    assert not any("recursive-substar" in cell for cell in rows[start])
    summary = [row[:2] for row in rows[1:4]]
    assert summary == [
        ["A", "sweep/multiple (baseline)"],
        ["B", "sweep/recursive-substar"],
        ["C", "sweep/edge-disjoint"],
    ]


def test_gaps_have_three_decimals() -> None:
    comparison = compare(
        [side("a", along(10, 2, SIZES, bound=3)), side("b", along(7, 7, SIZES, bound=3))]
    )
    rows = Page(page(comparison)).rows
    start = next(place for place, row in enumerate(rows) if "gap_A" in row)
    cells = [row[rows[start].index("gap_A")] for row in rows[start + 1 : start + 5]]
    assert cells == [f"{float(row['gap_a']):.3f}".rstrip("0") for row in comparison.rows()]
    assert "3.44" in cells


@pytest.mark.slow
def test_the_same_schedules_are_drawn_once_and_preferably_without_faults() -> None:
    """Steps are drawn without faults, and with faults only if they are not drawn yet."""
    faults = [
        {"faults": [node], "seed": seed} for seed, node in enumerate(("21345", "32145", "12354"))
    ]
    few = [run for each in faults for run in along(10, 2, SIZES, **each)]
    both = [
        run for each in ({}, *faults[:2]) for run in along(7, 7, SIZES, algorithm="greedy", **each)
    ]
    comparison = compare([side("a", [*few, *along(10, 2, SIZES)]), side("b", both)])
    drawn = panel_plots.profiled_runs(comparison)
    assert [(run.algorithm, run.faults) for run in drawn] == [("multiple", []), ("greedy", [])]
    assert sum("Links busy" in svg for svg in Page(page(comparison)).svgs) == 1
    partial = compare([side("a", few), side("b", both)])
    assert [(run.algorithm, run.faults) for run in panel_plots.profiled_runs(partial)] == [
        ("greedy", []), ("multiple", ["12354"]),
    ]  # fmt: skip


# Files


@pytest.mark.parametrize("suffix", [".svg", pytest.param(".pdf", marks=pytest.mark.slow), ".SVG"])
def test_every_plot_of_the_report_is_a_file_with_the_number_of_its_panel(suffix: str) -> None:
    comparison = three()
    out = Path("folder") / f"plot{suffix}"
    files = panel_plots.plot_files(comparison, profiles(comparison), out, Silent())
    assert set(files) == {
        Path("folder") / f"plot-times-1{suffix}",
        Path("folder") / f"plot-links-1{suffix}",
    }
    again = panel_plots.plot_files(comparison, profiles(comparison), out, Silent())
    assert files == again
    for content in files.values():
        if suffix == ".pdf":
            assert content.startswith(b"%PDF-")
            assert content.rstrip().endswith(b"%%EOF")
            assert b"/Type /Font" in content
            assert b"/Subtype /Type3" not in content
        else:
            root = parsed(content.decode())
            assert root.get("width")
            assert b"var(--" not in content
            assert not list(root.iter(f"{SVG}text"))  # text is drawn: no font is needed


def test_a_single_plot_has_the_name_of_the_file() -> None:
    files = panel_plots.plot_files(three(), {}, Path("plot.svg"), Silent())
    assert list(files) == [Path("plot.svg")]


def test_a_comparison_without_plots_is_refused() -> None:
    single = compare([side("sweep", along(10, 2, (16,), segments=1)),
                      side("other", along(12, 2, (16,), segments=1))])  # fmt: skip
    with pytest.raises(InputError, match="nothing to plot") as refusal:
        panel_plots.plot_files(single, {}, Path("plot.svg"), Silent())
    assert refusal.value.hint


def test_a_missing_matplotlib_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("sys.path", [path for path in sys.path if "site-packages" not in path])
    monkeypatch.delitem(sys.modules, "starcast.comparison.plots")
    monkeypatch.delattr("starcast.comparison.plots")
    with pytest.raises(UnavailableError, match="matplotlib, which is not installed") as refusal:
        panel_plots.plot_files(three(), {}, Path("plot.svg"), Silent())
    assert "starcast[reports]" in (refusal.value.hint or "")
