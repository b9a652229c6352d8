"""The command ``compare`` on stored runs: formats, order, crossovers, and the report."""

import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL

from starcast.support.text import format_value
from support.fix_cli import Starcast, refused
from support.fix_store import FilledDatabase
from support.latex_tables import compile_latex, read_table

GRID = "--topology S4 --segments 1 --segments 4 -m 16 -m 256 -m 4096"
ALGORITHMS = ("multiple", "recursive-substar")
#: Arguments of `compare`. Runs are matched by the number of segments per tree. The total number of
#: segments would not match, because `multiple` sends segments down three trees.
SIDES, SWEEP = "ours theirs --by segments", "sweep --by segments"
PAPER_PAGE = Path(__file__).parents[2] / "docs" / "for-a-paper.md"
#: Commands that together print all kinds of tables. Each table must fit on one page.
TABLES = (
    "compare ours theirs", "compare sizes --across topology", f"compare {SIDES} --all",
    "compare sweep --crossovers", "compare sweep --runs", "cost table S5 --collective broadcast",
    "cost table S5 --collective broadcast --ports all --all", "run list --experiment ours",
    "run steps 1", "experiment list", "experiment show sweep",
    "cost optimum S7 broadcast multiple", "topology show S5", "forest show S4 multiple",
    "schedule profile S4 broadcast multiple", "claims show TS.L5",
    "records list one-port-broadcast", "query list overlap/s",
    "claims list TS.L5 TS.L6 TS.T1.order",
)  # fmt: skip


@pytest.fixture
def stored(filled_database: FilledDatabase, starcast: Starcast) -> URL:
    """Store experiments ``ours``, ``theirs``, and ``sweep``, which has the algorithms of both."""

    def fill() -> None:
        for name, algorithms in (
            ("ours", ALGORITHMS[:1]),
            ("theirs", ALGORITHMS[1:]),
            ("sweep", ALGORITHMS),
        ):
            options = " ".join(f"--algorithm {algorithm}" for algorithm in algorithms)
            assert starcast(f"experiment run {name} {options} {GRID} --jobs 1").code == 0

    return filled_database("three experiments", fill)


@pytest.mark.usefixtures("stored")
def test_the_best_time_is_bold_in_tables_and_named_in_json_and_csv(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = starcast(f"compare {SIDES} -f json").json
    best = [format_value(row[f"time_{row['best']}"]) if row["best"] else None for row in rows]
    for row in filter(itemgetter("best"), rows):
        assert row[f"time_{row['best']}"] == min(row["time_ours"], row["time_theirs"])
    written = starcast(f"compare {SIDES} -f csv")
    assert "**" not in written.out
    assert [row["best"] for row in written.rows] == [row["best"] or "" for row in rows]
    _, _, *lines = starcast(f"compare {SIDES} -f markdown").out.splitlines()
    assert [re.findall(r"\*\*(\S+?)\*\*", line) for line in lines] == [
        [time] if time else [] for time in best
    ]
    assert "\x1b" not in starcast(f"compare {SIDES}").out
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm-256color"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)
    styled = starcast(f"compare {SIDES}").out
    assert re.findall(r"\x1b\[1m\s*([\d.]+)\s*\x1b\[0m", styled) == list(filter(None, best))


@pytest.mark.usefixtures("stored")
def test_the_legend_has_the_full_name_of_an_experiment_whose_name_ends_with_b(
    starcast: Starcast,
) -> None:
    assert starcast(f"experiment run runB --algorithm {ALGORITHMS[1]} {GRID} --jobs 1").code == 0
    assert "A = ours, B = runB" in starcast("compare ours runB").out


@pytest.mark.usefixtures("stored")
def test_crossovers_are_reported_with_the_table_and_listed_on_request(starcast: Starcast) -> None:
    """One algorithm is faster below a crossover, and the other above it."""
    rows = starcast(f"compare {SWEEP} --crossovers -f json").json
    assert rows
    for row in rows:
        assert (row["topology"], row["ports"]) == ("S4", "all")
        assert {row["first"], row["second"]} == set(ALGORITHMS)
        assert 16 <= row["message_bytes_from"] <= row["message_bytes_to"] <= 4096
        assert row["better_below"] != row["better_above"]
    (best,) = [
        row for row in rows if row["segments"].startswith("best") and "simulated" in row["figures"]
    ]
    (line,) = re.findall("^crossover.*", starcast(f"compare {SWEEP}").err, re.MULTILINE)
    assert f"{best['message_bytes']}: {best['better_below']} is better below" in line
    none = starcast(f"compare {SWEEP} --crossovers --where message_bytes=16")
    assert (none.out, none.err.count("no crossovers between 16 and 16 bytes")) == ("", 1)
    assert not starcast(f"compare {SWEEP} --crossovers --where message_bytes=16 -f latex").out
    table = starcast(f"compare {SWEEP} --crossovers").out
    assert "better_below" in table
    assert best["message_bytes"] in table
    low, high = (
        starcast(f"compare {SWEEP} --baseline sweep/multiple -f json --sort {order}").json[0]
        for order in ("message_bytes", "-message_bytes")
    )
    assert low["message_bytes"] < best["message_bytes_from"] < high["message_bytes"]


def _data(page: str) -> list[dict[str, Any]]:
    """Return the data of the plot panels in an HTML page."""
    text = page.partition('<script id="panels" type="application/json">')[2]
    panels: list[dict[str, Any]] = json.loads(text.partition("</script>")[0])
    return panels


@pytest.mark.usefixtures("stored")
def test_the_html_page_contains_times_curves_crossovers_and_commands(
    starcast: Starcast, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    result = starcast(f"compare {SWEEP} -f html --out {file}")
    assert (result.code, result.out) == (0, "")
    assert f"written to {file}" in result.err
    text = file.read_text(encoding="utf-8")
    words = {word.strip() for word in re.findall(r">([^<>]+)<", text)}
    for row in starcast(f"compare {SWEEP} -f json").json:
        times = [row[f"time_sweep_{name.replace('-', '_')}"] for name in ALGORITHMS]
        assert {format_value(time) for time in times} <= words
    repeat, elsewhere = re.findall(r"^ *(starcast experiment.*?) *$", result.err, re.MULTILINE)
    assert repeat == "starcast experiment reproduce sweep"
    assert elsewhere.startswith("starcast experiment run sweep")
    assert {repeat, elsewhere} <= words
    for row in starcast(f"compare {SWEEP} --crossovers -f json").json:
        assert row["message_bytes"] in words
    (panel,) = _data(text)
    assert {curve["label"] for curve in panel["curves"]} == set(ALGORITHMS)
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", text)


@pytest.mark.usefixtures("stored")
def test_the_html_page_shows_the_links_used_per_step_by_the_fastest_runs(
    starcast: Starcast,
) -> None:
    text = starcast(f"compare {SIDES} -f html").out
    (panel,) = _data(text)
    profiles = [{name: each[name] for name in ("run", "links_used")} for each in panel["profiles"]]
    for name in ("ours", "theirs"):
        runs = starcast(f"run list --experiment {name} -f json").json
        large = [run for run in runs if run["message_bytes"] == 4096]
        fastest = min(large, key=itemgetter("time"))
        steps = starcast("run", "steps", str(fastest["run"]), "-f", "json").json
        used = [step["links_used"] for step in steps]
        assert {"run": fastest["run"], "links_used": used} in profiles
        # S4 has 24 nodes with 3 ports each: 72 directed links.
        assert f"{100 * sum(used) / (72 * len(used)):.1f} %" in text


@pytest.mark.usefixtures("stored")
def test_option_out_requires_html_and_leaves_no_partial_file(
    starcast: Starcast, tmp_path: Path
) -> None:
    error, hint = refused(starcast(f"compare {SIDES} --out {tmp_path / 'page.html'}"), 2)
    assert "--out needs --format html, but the format is table" in error
    assert "add --format html" in hint
    folder = tmp_path / "none"
    for options in (f"-f html --out {folder / 'page.html'}", f"--plot {folder / 'plot.svg'}"):
        result = starcast(f"compare {SIDES} {options}")
        assert (result.code, "cannot be written" in result.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def networks(stored: URL, starcast: Starcast) -> URL:
    """Add an experiment, ``sizes``, on S4, Q4 and Q5."""
    grid = Path(__file__).with_name("sizes.toml")
    assert starcast(f"experiment run sizes --grid {grid} --jobs 1").code == 0
    return stored


@pytest.mark.usefixtures("networks")
def test_option_across_compares_the_topologies_selected_by_option_where(starcast: Starcast) -> None:
    apart = starcast("compare sizes")
    assert "--across topology compares them nevertheless" in apart.err
    words = "compare sizes --across topology --where topology=S4 --where topology=Q5"
    result = starcast(f"{words} -f json")
    rows = result.json
    assert [row["message_bytes"] for row in rows] == [16, 4096]
    for row in rows:
        star, cube = "sizes_S4_greedy", "sizes_Q5_binomial"
        for side, values in ((star, ["S4", 24, 3, 36]), (cube, ["Q5", 32, 5, 80])):
            names = ("topology", "nodes", "degree", "links")
            assert [row[f"{name}_{side}"] for name in names] == values
        assert row["change"] == pytest.approx(row[f"time_{cube}"] - row[f"time_{star}"])
        assert row["verdict"] == "worse"
        assert not any("Q4" in name for name in row)
    assert "across topology: networks of different size" in result.err
    table = starcast(words).out
    assert "A = sizes/S4 greedy, B = sizes/Q5 binomial" in table
    assert "S4: 24 nodes of degree 3, 36 links" in table
    assert "Q5: 32 nodes of degree 5, 80 links" in table
    page = starcast(f"{words} -f html").out
    assert "Q5: 32 nodes of degree 5, 80 links" in page
    assert "lower bound of Q5" in page
    rows = starcast("compare sizes --across topology -f json").json
    assert {name.removeprefix("time_") for name in rows[0] if name.startswith("time")} == {
        "sizes_S4_greedy", "sizes_Q4_binomial", "sizes_Q5_binomial",
    }  # fmt: skip


@pytest.mark.usefixtures("networks")
def test_compare_refuses_invalid_columns_and_conditions(starcast: Starcast) -> None:
    for words, code, message in (
        ("--sort speed", 2, "'speed' is not a column of this comparison"),
        ("--where topology=S9", 3, "no run of this comparison has topology = S9"),
        ("--where topology=S4 --where algorithm=binomial", 3, "'sizes' has no run with"),
        ("--where topology=S4", 2, "nothing to compare"),
    ):
        assert message in refused(starcast(f"compare sizes {words}"), code)[0]


@pytest.mark.usefixtures("networks")
@pytest.mark.parametrize("columns", [80, 100, 200])
def test_a_comparison_table_is_laid_out_to_fit_the_terminal(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    for name, value in (("TERM", "xterm"), ("COLUMNS", str(columns)), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = re.sub("\x1b\\[[0-9;]*m", "", starcast("compare sizes --across topology").out)
    lines = [line.rstrip() for line in out.splitlines()]
    assert max(map(len, lines)) <= columns
    head = next(line.split() for line in lines if "verdict" in line)
    assert ("side" in head) == (columns < 200)
    assert any("Q5 binomial" in line for line in lines)
    rows = starcast("compare sizes --across topology -f json").json
    times = {row[name] for row in rows for name in row if name.startswith("time")}
    assert {format_value(time) for time in times} <= set(out.split())


@pytest.mark.usefixtures("stored")
def test_a_latex_table_has_a_caption_and_the_same_rows_as_the_markdown_table(
    starcast: Starcast,
) -> None:
    result = starcast(f"compare {SIDES} -f latex")
    assert result.code == 0, result.err
    table = read_table(result.out)
    head, _, *lines = starcast(f"compare {SIDES} -f markdown").out.splitlines()
    assert len(table.columns) < len(head.strip("|").split("|"))
    assert {"time A", "time B", "change, %"} <= set(table.columns)
    assert len(table.rows) == len(lines)
    rows = starcast(f"compare {SIDES} -f json").json
    for marks, row in zip(table.bold, rows, strict=True):
        assert marks == ({f"time {'AB'[row['best'] == 'theirs']}"} if row["best"] else set())
    assert (table.caption, table.label) == ("ours against theirs", "tab:compare-ours-theirs")
    assert table.below[0] == "A = ours, B = theirs."
    assert "topology S4" in table.below[2]
    assert table.below[3] == "A row compares runs with equal message_bytes and segments."
    wide = read_table(starcast(f"compare {SIDES} -f latex-wide").out)
    assert set(table.columns) < set(wide.columns)
    everything = read_table(starcast(f"compare {SIDES} --all -f latex").out)
    assert {"change", "transmissions A"} <= set(everything.columns)
    crossovers = starcast(f"compare {SIDES} --crossovers -f latex")
    assert read_table(crossovers.out).rows


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("suffix", "magic"), [(".svg", b"<?xml"), (".pdf", b"%PDF-"), (".png", b"\x89PNG")]
)
def test_option_plot_writes_a_file_and_the_table_is_still_printed(
    starcast: Starcast, tmp_path: Path, suffix: str, magic: bytes
) -> None:
    listed = starcast(f"compare {SIDES} -f csv")
    out = tmp_path / f"plot{suffix}"
    result = starcast(f"compare {SIDES} -f csv --plot {out}")
    assert (result.code, result.out) == (0, listed.out)
    assert list(tmp_path.iterdir()) == [out]
    assert f"written to {out}" in result.err
    assert out.read_bytes().startswith(magic)


@pytest.mark.usefixtures("stored")
def test_option_runs_lists_the_compared_runs_in_fixed_columns(
    starcast: Starcast,
) -> None:
    rows = starcast(f"compare {SIDES} --runs -f csv").rows
    assert {row["side"] for row in rows} == {"ours", "theirs"}
    assert {len([each for each in rows if each["pair"] == row["pair"]]) for row in rows} == {2}
    named = starcast("compare sweep --runs -f csv").rows
    assert list(named[0]) == list(rows[0])
    assert starcast(f"compare {SIDES} --runs").out.count("theirs") == len(rows) // 2
    error, _ = refused(starcast(f"compare {SIDES} --runs --crossovers"), 2)
    assert error == "--crossovers and --runs cannot be combined"


@pytest.mark.usefixtures("stored")
def test_the_table_and_the_html_page_state_how_runs_are_matched(
    starcast: Starcast,
) -> None:
    rule = "a row compares runs with equal message_bytes and segments"
    lines = [line.strip() for line in starcast(f"compare {SIDES}").out.splitlines()]
    assert lines[:2] == ["A = ours, B = theirs", rule]
    assert rule.capitalize() in starcast(f"compare {SIDES} -f html").out


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
def test_the_option_plot_only_restricts_the_file_to_one_of_two_plots(
    starcast: Starcast, tmp_path: Path
) -> None:
    height = {}
    for name, option in (("time", "--plot-only time"), ("links", "--plot-only links"), ("all", "")):
        file = tmp_path / f"{name}.svg"
        assert starcast(f"compare {SIDES} --plot {file} {option}").code == 0
        found = re.search(r'height="([\d.]+)pt"', file.read_text(encoding="utf-8"))
        assert found is not None
        height[name] = float(found[1])
    assert height["all"] == pytest.approx(height["time"] + height["links"])
    error, _ = refused(starcast(f"compare {SIDES} --plot-only time"), 2)
    assert error == "--plot-only needs --plot"


@pytest.mark.slow
@pytest.mark.parametrize("options", ["twocolumn", "onecolumn"])
@pytest.mark.usefixtures("stored")
def test_commands_in_the_guide_for_authors_work_and_their_tables_fit_the_page(
    starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    """docs/for-a-paper.md has commands that write tables, and a document that includes them."""
    monkeypatch.chdir(tmp_path)
    page = PAPER_PAGE.read_text(encoding="utf-8").partition("## A site to cite")[0]
    for line in "".join(re.findall("```sh\n(.*?)```", page, re.DOTALL)).splitlines():
        command, _, file = line.removeprefix("starcast ").partition(" > ")
        result = starcast(command)
        assert result.code == 0, result.err
        if file:
            Path(file).write_text(result.out, encoding="utf-8")
    _, document = re.findall("```latex\n(.*?)```", page, re.DOTALL)
    tables = [f"\\input{{{file.stem}}}\n" for file in sorted(tmp_path.glob("*.tex"))]
    assert len(tables) == 5
    assert "Overfull" not in compile_latex("\n".join([document, *tables]), tmp_path, options)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["twocolumn", "onecolumn"])
@pytest.mark.usefixtures("networks")
def test_every_kind_of_latex_table_fits_the_page(
    starcast: Starcast, tmp_path: Path, options: str
) -> None:
    text = ""
    for words in TABLES:
        for output in ("latex", "latex-wide"):
            result = starcast(f"{words} -f {output}")
            assert result.code == 0, result.err
            text += f"{result.out}\n\n\\clearpage\n"
    assert "Overfull" not in compile_latex(text, tmp_path, options)


@pytest.mark.usefixtures("stored")
def test_an_experiment_on_the_grid_of_a_paper_table_reproduces_the_table(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "tseng-sheu-1997-table-1"
    words = f"--grid {name} --topology S4 --jobs 1"
    assert starcast(f"experiment run ts1 {words}").code == 0
    rows = starcast("cost table --experiment ts1 -f json").json
    assert [row["algorithm"] for row in rows[:3]] == ["Sheu [16]", "Day [7]", "Ours"]
    assert {(row["topology"], row["message_bytes"]) for row in rows} == {
        ("S4", 1024), ("S4", 16384)
    }  # fmt: skip
    assert {row["reference"] for row in rows if row["basis"] == "cited"} == {
        "misic1994", "akl1993", "mendia1992", "sheu1995", "qiu1995"
    }  # fmt: skip
    only = starcast("cost table --experiment ts1 --where message_bytes=1024 -f latex")
    table = read_table(only.out.strip())
    assert table.columns[:5] == [
        "Model", "Algorithm", "Start-up comp.", "Trans. comp.", "Overall complexity"
    ]  # fmt: skip
    assert [row[0] for row in table.rows] == ["all-port", "", "", "one-port", *[""] * 5]
    assert str(table.caption).startswith("Tseng & Sheu 1997, Table 1. Comparison of one-to-all")
    assert table.below == [
        "a) only orders are given: O(n^2 T_s + (n log n + m) T_c), with about n! segments"
    ]
    assert table.label == f"tab:{name}-S4-1024-100-1"
    monkeypatch.setenv("COLUMNS", "200")
    assert "Misic [13]" in starcast("cost table --experiment ts1").out
    assert "| Misic [13] |" in starcast("cost table --experiment ts1 -f markdown").out
    error, _ = refused(starcast("cost table --experiment ours"), 2)
    assert "does not belong to a table of a paper" in error
    given = starcast(f"cost table --experiment ours --table {name} -f json")
    executed = {row["basis"].split(",")[0] for row in given.json}
    assert executed == {"multiple", "not executed", "cited"}
    assert starcast("cost table --experiment ours --table x").code == 2
    assert starcast("cost table --experiment nothing").code == 3
    for computed in ("S4", "--t-s 3"):
        mixed = starcast(f"cost table {computed} --experiment ts1")
        assert (mixed.code, "applies only to computed costs" in mixed.err) == (2, True)
    assert (
        "add --experiment, or omit --table and --where"
        in starcast("cost table S4 --where t_s=1").err
    )
    assert "neither a topology nor" in starcast("cost table").err
