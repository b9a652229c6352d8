"""The papers' tables filled with executed runs, and compared with the papers' formulas.

The runs come from the experiment grids that reproduce the tables, limited to their two smallest
topologies and executed without a database.
"""

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import ceil, factorial, log2
from pathlib import Path
from typing import Any

import pytest
from starcast_papers.common.cost_tables import CITED, TimesTable

from starcast.comparison.listing import find_table, paper_rows, table_of
from starcast.costs.paper_tables import paper_tables
from starcast.experiments.design import examples, read_design
from starcast.experiments.execution import execute, price_run
from starcast.stores.database.models import Experiment
from starcast.support.errors import InputError, NotFoundError
from starcast.support.runs import Run
from starcast.topologies import count_nodes
from support.experiments import make_point

TABLE_1 = "tseng-sheu-1997-table-1"
REFERENCES = Path(__file__).parents[2] / "references.bib"


@cache
def runs(name: str) -> tuple[Run, ...]:
    """Return the runs of an experiment grid on its two smallest topologies."""
    groups = read_design(name).groups
    specs = {point.topology for group in groups for point in group}
    smallest = sorted(specs, key=count_nodes)[:2]
    executed: list[Run] = []
    for group in groups:
        if group[0].topology in smallest:
            execution = execute(group[0])
            executed += [price_run(point, execution) for point in group]
    return tuple(executed)


def tables(name: str) -> list[tuple[Any, list[dict[str, Any]]]]:
    return paper_rows(find_table(name), runs(name))


def test_paper_tables_and_their_experiment_grids_correspond_one_to_one() -> None:
    assert {name for name in examples() if "-table-" in name} == set(paper_tables())
    for name in paper_tables():
        design = read_design(name)
        assert table_of(Experiment(name="mine", grid=design.as_json())) == name
    for grid in ({}, read_design("crossovers-in-m").as_json()):
        with pytest.raises(InputError, match="does not belong to a table of a paper"):
            table_of(Experiment(name="mine", grid=grid))


@pytest.mark.parametrize("name", paper_tables())
def test_every_row_of_a_paper_table_has_an_executed_or_a_cited_time(name: str) -> None:
    table = find_table(name)
    cases = tables(name)
    assert cases
    assert len({case for case, _ in cases}) == len(cases)
    for _, rows in cases:
        for row in rows:
            assert list(row) == list(table.headings)
            assert "not executed" not in str(row)


@pytest.mark.parametrize("name", paper_tables())
def test_references_in_a_paper_table_are_keys_of_the_bibliography(name: str) -> None:
    keys = set(re.findall(r"^@\w+\{(\w+),", REFERENCES.read_text(), re.MULTILINE))
    table = find_table(name)
    if isinstance(table, TimesTable):
        for line in table.lines:
            assert line.reference in (keys if line.printed else {*keys, ""})


def test_table_1_of_tseng_and_sheu_is_reproduced() -> None:
    for case, rows in tables(TABLE_1):
        n, m = case.topology.n, case.message_bytes
        printed = [(row["model"], row["algorithm"]) for row in rows]
        assert printed == [
            ("all-port", "Sheu [16]"), ("all-port", "Day [7]"), ("all-port", "Ours"),
            ("one-port", "Misic [13]"), ("one-port", "Akl [2]"), ("one-port", "Mendia [12]"),
            ("one-port", "Sheu [17]"), ("one-port", "Qiu [14]"), ("one-port", "Ours"),
        ]  # fmt: skip
        by_name = {(row["model"][:3], row["algorithm"]): row for row in rows}
        phases = sum(ceil(log2(i)) for i in range(2, n + 1))
        for name, steps in (("Misic [13]", n * (n - 1) // 2), ("Akl [2]", phases)):
            row = by_name["one", name]
            assert row["basis"] == CITED
            assert (row["start_up_time"], row["transmission_time"]) == (steps * 100, steps * m)
        qiu = by_name["one", "Qiu [14]"]
        assert (qiu["basis"], qiu["overall_time"]) == (CITED, None)
        assert "only orders are given" in qiu["note"]
        assert qiu["reference"] == "qiu1995"
        day = by_name["all", "Day [7]"]
        segments = int(re.findall(r"(\d+) segments", day["basis"])[0])
        steps = 3 * (n - 1) // 2 + segments - 1
        assert day["overall_time"] == steps * (100 + m / segments)
        for row in rows:
            if row["overall_time"] is not None:
                total = row["start_up_time"] + row["transmission_time"]
                assert row["overall_time"] == total
    sizes = {(case.topology.spec, case.message_bytes) for case, _ in tables(TABLE_1)}
    assert sizes == {(spec, m) for spec in ("S4", "S5") for m in (1024, 16384)}


def test_table_2_of_tseng_and_sheu_is_reproduced() -> None:
    for case, rows in tables("tseng-sheu-1997-table-2"):
        n, m = case.topology.n, case.message_bytes
        share = Fraction(factorial(n) - 1, n - 1) * m
        diameter = 3 * (n - 1) // 2
        times = {(row["model"], row["algorithm"]): row["overall_time"] for row in rows}
        assert times["all-port", "Ours"] == times["all-port", "Frago. NL [8]"]
        assert times["all-port", "Ours"] == diameter * 100 + share
        assert times["one-port", "Misic [13]"] == (factorial(n) - 1) * (100 + m)
        assert times["one-port", "Ours"] == (n - 1) * (diameter * 100 + share)
        assert len(rows) == 5


@pytest.mark.parametrize(("table", "chen"), [(1, 2), (2, 0)])
def test_tables_of_li_chen_xiang_and_yao_are_reproduced(table: int, chen: int) -> None:
    for case, rows in tables(f"li-chen-xiang-yao-table-{table}"):
        assert [row["algorithm"] for row in rows].count("Y.S. Chen") == chen
        assert {row["basis"] for row in rows if row["algorithm"] == "optimal"} == {"lower bound"}
        assert {row["basis"] for row in rows if row["algorithm"] == "Y.S. Chen"} <= {CITED}
        for row in rows:
            if row["algorithm"] == "optimal":
                assert row["overall_time"] == max(row["start_up_time"], row["transmission_time"])
            if row["algorithm"] == "Y.S. Chen" and row["model"] == "All-model":
                d, m = case.topology.diameter, case.message_bytes
                degree = case.topology.degree
                assert row["overall_time"] == (2 * d - 1) * 100 + Fraction(4, degree) * m


def test_table_1_of_fragopoulou_and_akl_1993_has_four_rows_and_known_values_per_method() -> None:
    for case, rows in tables("fragopoulou-akl-1993-table-1"):
        n, many = case.topology.n, case.messages
        nodes = factorial(n)
        assert many == n - 1
        quantities = ["Method", "Time", "Messages", "Basis"]
        assert [row["quantity"] for row in rows] == 3 * quantities
        assert [row["model"] for row in rows] == ["SLA"] * 4 + ["MLA"] * 8
        sla = {row["quantity"]: row for row in rows[:4]}
        assert sla["Method"]["many_messages"] == "Hamiltonian cycle, M times"
        assert sla["Time"]["one_message"] == nodes - 1
        assert sla["Time"]["many_messages"] == many * (nodes - 1)
        assert sla["Messages"]["many_messages"] == many * nodes * (nodes - 1)
        mla = {row["quantity"]: row for row in rows[4:8]}
        assert mla["Time"]["one_message"] == ceil((nodes - 1) / (n - 1))
        assert mla["Messages"]["one_message"] == nodes * (nodes - 1)
        assert {row["many_messages"] for row in rows[8:]} == {None}


@pytest.mark.parametrize("table", [2, 3])
def test_tables_2_and_3_of_fragopoulou_and_akl_1993_are_reproduced(table: int) -> None:
    for case, rows in tables(f"fragopoulou-akl-1993-table-{table}"):
        nodes, total = case.topology.nodes, case.topology.distance_sum
        ports, many = case.topology.degree, case.messages
        steps, sent = (nodes - 1, total) if table == 2 else (total, nodes * total)
        sla = {row["quantity"]: row for row in rows[:4]}
        mla = {row["quantity"]: row for row in rows[4:8]}
        assert (sla["Time"]["one_message"], sla["Messages"]["one_message"]) == (steps, sent)
        assert sla["Time"]["many_messages"] == many * steps
        assert mla["Time"]["many_messages"] == ceil(many * steps / ports)
        assert mla["Messages"]["many_messages"] == many * sent
        assert mla["Basis"]["many_messages"] == "perfectly-balanced"
        assert mla["Messages"]["one_message"] == sent


@pytest.mark.parametrize("table", [1, 2, 3])
def test_tables_of_fragopoulou_and_akl_1996_show_executed_times_next_to_bounds(table: int) -> None:
    for case, rows in tables(f"fragopoulou-akl-1996-table-{table}"):
        t, many, copies = case.topology, case.messages, case.copies
        assert copies > 1
        single, copied, multinode, scattered, exchanged = rows
        start = t.diameter - 1
        assert single["time"] == ceil(many / t.degree) + start
        assert copied["time"] == ceil(many * copies / t.degree) + start
        assert multinode["time"] == max(ceil(many * copies * (t.nodes - 1) / t.degree), t.diameter)
        assert scattered["transmissions"] == many * copies * t.distance_sum
        assert exchanged["transmissions"] == many * copies * t.nodes * t.distance_sum
        executed = [row for row in rows if row["executed_time"] is not None]
        assert len(executed) == (2 if table == 3 else 5)
        for row in executed:
            assert row["executed_time"] >= row["time"]
            assert row["executed_transmissions"] >= row["transmissions"]


def test_filling_a_paper_table_is_refused_if_no_run_belongs_to_any_row() -> None:
    for name, executed in (("tseng-sheu-1997-table-2", runs(TABLE_1)), (TABLE_1, ())):
        with pytest.raises(NotFoundError, match="no synchronous run without faults has the"):
            paper_rows(find_table(name), executed)
    with pytest.raises(InputError, match="'tseng' is not a table of a paper"):
        find_table("tseng")


def test_runs_with_faults_do_not_count_as_executions_of_a_table_row() -> None:
    point = make_point("S4", "broadcast", "multiple", message_bytes=64, t_s=1)
    faulty = replace(point, faults=("2134",))
    with pytest.raises(NotFoundError):
        paper_rows(find_table(TABLE_1), [price_run(faulty, execute(faulty))])
    ((_, rows),) = paper_rows(find_table(TABLE_1), [price_run(point, execute(point))])
    bases = {row["algorithm"]: row["basis"] for row in rows if row["model"] == "all-port"}
    assert bases == {
        "Sheu [16]": "not executed", "Day [7]": "not executed", "Ours": "multiple"
    }  # fmt: skip
