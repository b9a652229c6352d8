"""The command `starcast cost`: its tables in several formats, and optimal numbers of pieces."""

import re
from fractions import Fraction
from typing import Any

import pytest

from starcast import costs
from starcast.collectives.model import COLLECTIVES
from starcast.costs.presentation import COLUMNS
from starcast.costs.tables import CostProblem, build_table, execute_row
from starcast.topologies import topology
from support.fix_cli import Starcast
from support.latex_tables import read_table


def rows_of(starcast: Starcast, line: str) -> list[dict[str, Any]]:
    """Print a cost table as JSON and return its rows. The command must not write to stderr."""
    result = starcast(f"cost table {line} -f json")
    assert (result.code, result.err) == (0, "")
    rows: list[dict[str, Any]] = result.json
    return rows


def test_each_row_of_a_cost_table_has_its_cost_its_gap_and_its_simulated_cost(
    starcast: Starcast,
) -> None:
    words = "S4 --collective broadcast --ports all -m 1000 --t-s 7/2 --t-c 3"
    printed = rows_of(starcast, f"{words}")
    machine = costs.Machine(Fraction(7, 2), Fraction(3))
    problem = CostProblem(topology("S4"), "broadcast", "all", Fraction(1000), machine)
    rows = build_table(problem)
    assert [row["name"] for row in printed] == [row.name for row in rows]
    for shown, row in zip(printed, rows, strict=True):
        took = execute_row(problem, row, 10**6)
        simulated = [shown[f"simulated_{name}"] for name in ("steps", "time", "gap")]
        assert simulated == (
            [
                took.steps,
                pytest.approx(float(took.time)),
                round(float(took.time / row.bound.time), 3),
            ]
            if took
            else [None] * 3
        )
        assert shown["note"] == (row.note or None)
        if row.cost is None:
            assert row.name == "greedy-matching"
            assert [shown[name] for name in ("time", "bytes", "steps", "gap")] == [None] * 4
            continue
        assert row.gap is not None
        assert shown["time"] == pytest.approx(float(row.cost.time))
        assert shown["bytes"] == pytest.approx(float(row.cost.bytes))
        assert shown["lower_bound"] == pytest.approx(float(row.bound.time))
        assert shown["gap"] == round(float(row.gap), 3)
        assert (shown["start_ups"], shown["steps"]) == (int(row.cost.start_ups), row.cost.steps)
        for name in ("pieces", "cited", "source"):
            assert shown[name] == getattr(row, name)
        assert shown["transmissions"] == row.cost.transmissions
        # If fewer pieces are always better, the optimum over real numbers is 0 and printed as null.
        assert shown["real_pieces"] == (row.real_pieces or None)


def test_without_options_cost_table_prints_all_collectives_and_port_models(
    starcast: Starcast,
) -> None:
    """The rows of a collective are sorted by time, whatever their port model."""
    printed = rows_of(starcast, "S4 --no-simulate")
    assert list(dict.fromkeys(row["collective"] for row in printed)) == list(COLLECTIVES)
    rows = [row for row in printed if row["collective"] == "allgather"]
    assert {row["ports"] for row in rows} == {"all", "one"}
    times = [row["time"] for row in rows if row["time"] is not None]
    assert times == sorted(times)
    # Greedy schedules have no time without a simulation, so their rows come last.
    assert [row["name"] for row in rows[len(times) :]] == ["greedy", "greedy"]
    result = starcast("cost table S4 --no-simulate")
    assert all(f"{what} on S4, m = 65536" in result.out for what in COLLECTIVES)


def test_options_of_cost_table_set_segments_messages_copies_and_the_compared_hypercube(
    starcast: Starcast,
) -> None:
    options = "--segments 3 --messages 5 --copies 2 --no-simulate --t-s 1"
    rows = rows_of(starcast, f"S4 --collective broadcast --ports all {options}")
    pieces = {row["name"]: row["pieces"] for row in rows}
    assert (pieces["greedy"], pieces["edge-disjoint"]) == (3, 5)
    bounds = {row["name"]: row["lower_bound"] for row in rows}
    assert bounds["edge-disjoint"] == pytest.approx(2 * bounds["greedy"])
    assert bounds["lower bound, 2 copies"] == bounds["edge-disjoint"]
    assert bounds["lower bound"] == bounds["greedy"]
    words = "S4 --collective alltoall --ports all --messages 1 --no-simulate --hypercube 6"
    (cube,) = [row for row in rows_of(starcast, words) if row["name"].endswith("messages, Q6")]
    assert cube["steps"] == 2**5


def test_cost_table_executes_no_schedule_with_the_option_no_simulate(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("executed")

    monkeypatch.setattr("starcast.costs.tables.execute_row", fail)
    for row in rows_of(starcast, "S8 --no-simulate"):
        assert row["simulated_steps"] is None


def test_schedules_too_large_for_a_simulation_are_reported_on_stderr(starcast: Starcast) -> None:
    """On S5, the smallest alltoall of M messages per pair of nodes has 442 * M rows.

    The limit in this test is 500 rows.
    """
    words = "S5 --collective alltoall --ports all --messages 4 --max-rows 500"
    result = starcast(f"cost table {words} -f json")
    assert result.code == 0
    for row in result.json:
        assert row["simulated_steps"] == (row["steps"] if row["name"] == "necklace" else None)
    refusals = [line.partition(" rows")[0] for line in result.err.splitlines()]
    assert sorted(refusals) == [
        "not simulated: alltoall by edge-disjoint on S5 has 2,592",
        "not simulated: alltoall by exact on S5 has 1,768",
        "not simulated: alltoall by greedy on S5 has 212,160",
        "not simulated: alltoall by perfectly-balanced on S5 has 1,768",
    ]


def test_cost_tables_in_csv_and_markdown_have_the_row_names_of_the_table_in_json(
    starcast: Starcast,
) -> None:
    words = "S6,3 --collective broadcast --no-simulate"
    names = [row["name"] for row in rows_of(starcast, words)]
    written = starcast(f"cost table {words} -f csv").rows
    assert [row["name"] for row in written] == names
    lines = starcast(f"cost table {words} -f markdown").out.splitlines()
    assert [line.split(" | ")[3] for line in lines[2:]] == names


#: The start of the lines below a cost table. Each of these lines describes a source, and the rows
#: of the table refer to the source by the letters at the start.
BELOW = re.compile(r"[a-z]+\) ")


@pytest.mark.parametrize(
    "words",
    [
        "S7 --no-simulate",
        "S4",
        "S5,2",
        "S4 --copies 3",
        "S6,3 --no-simulate",
        "S12 --no-simulate --copies 11 -m 1e9",
        "Q5 --no-simulate",
    ],
)
def test_a_cost_table_fits_on_a_terminal_and_its_rows_refer_to_the_sources_below(
    starcast: Starcast, words: str
) -> None:
    result = starcast(f"cost table {words} --collective broadcast")
    lines = [line.rstrip() for line in result.out.splitlines()]
    # Lines below a table may be longer, since they are sentences.
    assert max(len(line) for line in lines if not BELOW.match(line)) <= 120
    listed = rows_of(starcast, f"{words} --collective broadcast")
    titles = [place for place, line in enumerate(lines) if line.startswith("broadcast on")]
    assert [lines[place].rpartition(", ")[2] for place in titles] == list(
        dict.fromkeys(f"{row['ports']}-port" for row in listed)
    )
    for first, last in zip(titles, [*titles[1:], len(lines)], strict=True):
        part = [line.strip() for line in lines[first:last]]
        rows = [row for row in listed if part[0].endswith(f"{row['ports']}-port")]
        sources = dict(line.split(" ", 1) for line in part if BELOW.match(line))
        shown = [line for line in part[3:] if re.search(r" {3,}[a-z]+\)$", line)]
        assert len(shown) == len(rows)
        for row, line in zip(rows, shown, strict=True):
            name, *_, number = re.split(r" {3,}", line)
            assert name == row["name"]
            reference = sources[number]
            assert reference.startswith(row["source"])
            assert reference.endswith(row["note"] or "")
            assert ("(cited)" in reference) == row["cited"]


def test_cost_table_shows_all_columns_with_the_option_all(starcast: Starcast) -> None:
    words = "S4 --collective broadcast"

    def head(option: str) -> list[str]:
        lines = starcast(f"cost table {words} {option}").out.splitlines()
        return re.split(r" {2,}", next(line for line in lines if "start_ups" in line).strip())

    short, full, unsimulated = map(head, ("", "--all", "--no-simulate"))
    columns = list(rows_of(starcast, words)[0])
    assert full == [name for name in columns if name not in {"topology", "collective"}]
    expected = "name pieces start_ups bytes time gap simulated_time simulated_gap ref"
    assert short == expected.split()
    assert unsimulated == [name for name in short if "simulated" not in name]


def test_cost_optimum_prints_the_optimum_over_real_numbers_and_over_integers(
    starcast: Starcast,
) -> None:
    (row,) = starcast("cost optimum S6 broadcast edge-disjoint -m 4096 --copies 2 -f json").json
    machine = costs.Machine(Fraction(100), Fraction(1))
    real, best = costs.optimal_pieces(
        topology("S6"), "broadcast", "edge-disjoint", "all", Fraction(4096), machine, copies=2
    )
    assert (row["argument"], row["optimum"]) == ("messages", best)
    assert row["real_optimum"] == pytest.approx(real)
    assert row["note"].startswith("one step too many")


def test_cost_table_writes_one_latex_table_per_collective_and_port_model(
    starcast: Starcast,
) -> None:
    words = "S4 --no-simulate"
    result = starcast(f"cost table {words} -f latex-wide")
    assert (result.code, result.err) == (0, "")
    tables = [read_table(f"% {text}".strip()) for text in result.out.split("% ") if text]
    assert len(tables) == 2 * len(COLLECTIVES)
    printed = rows_of(starcast, f"{words} --collective broadcast --ports one")
    (table,) = [
        each for each in tables if str(each.caption).startswith("broadcast on S4") and
        "one-port" in str(each.caption)
    ]  # fmt: skip
    assert table.columns[:2] == ["name", "pieces"]
    assert table.alignment.startswith("lr")
    assert [row[0] for row in table.rows] == [row["name"] for row in printed]
    assert (table.label, table.is_wide) == ("tab:cost-broadcast-S4-one", True)
    assert any(line.endswith("Tseng & Sheu 1997, Table 1 [13] (cited)") for line in table.below)
    assert {row[-1] for row in table.rows} == {line.split(" ")[0] for line in table.below}
    one = f"{words} --collective broadcast --ports one"
    everything = starcast(f"cost table {one} --all -f latex")
    assert read_table(everything.out).columns == [name.replace("_", " ") for name in COLUMNS]
