"""Schedules read from columns and from CSV files; errors are reported with their line."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import starcast
from starcast import (
    StarcastError,
    schedule,
    schedule_from_columns,
    schedule_from_csv,
    simulate,
    topology,
)
from starcast.collectives.columns import rank_labels
from starcast.collectives.model import COLUMNS, REDUCTIONS, Schedule
from starcast.support.errors import InputError
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies.permutations import labels_from
from support.meeting import refused

CASES: list[tuple[str, Collective, str, Ports, dict[str, int]]] = [
    ("S4", "broadcast", "multiple", "all", {"segments": 3}),
    ("S4", "broadcast", "greedy", "one", {"segments": 2}),
    ("S5,2", "broadcast", "nk-multiple", "all", {}),
    ("Q3", "broadcast", "binomial", "all", {}),
    ("S4", "scatter", "balanced", "all", {}),
    ("S4", "gather", "one-port", "one", {}),
    ("S3", "allgather", "necklace", "all", {}),
    ("S3", "alltoall", "exact", "all", {}),
    ("Mesh3x4", "allgather", "greedy", "all", {}),
]
HEADER = "step,sender,port,unit\n"
COMBINE = "step,sender,port,unit,combine\n"


def read_csv(folder: Path, content: str | bytes, spec: str, *words: Any) -> Schedule:
    """Write a file, and return the schedule that starcast reads from it."""
    file = folder / "mine.csv"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return schedule_from_csv(file, spec, *words)


def written(built: Schedule, nodes: str = "labels", columns: tuple[str, ...] = COLUMNS) -> str:
    """Return the text of a CSV file with the rows of a schedule in random order."""
    labels = built.topology.labels()
    values: dict[str, Any] = dict(built.columns._asdict())
    if nodes == "labels":
        values |= {name: labels[values[name]] for name in ("sender", "receiver")}
    rows = [",".join(map(str, row)) for row in zip(*(values[n] for n in columns), strict=True)]
    np.random.default_rng(5).shuffle(rows)
    return "\n".join([",".join(columns), *rows, ""])


@pytest.mark.parametrize("nodes", ["labels", "ranks"])
@pytest.mark.parametrize("columns", [COLUMNS, ("unit", "port", "sender", "step", "tree")])
@pytest.mark.parametrize(("spec", "collective", "algorithm", "ports", "arguments"), CASES)
def test_reading_the_written_rows_of_a_schedule_gives_the_same_schedule(
    tmp_path: Path,
    spec: str,
    collective: Collective,
    algorithm: str,
    ports: Ports,
    arguments: dict[str, int],
    columns: tuple[str, ...],
    nodes: str,
) -> None:
    root = "0" if collective in ("allgather", "alltoall") else "3"
    built = schedule(spec, collective, algorithm, ports, int(root), **arguments).expand()
    content = written(built, nodes, columns)
    read = read_csv(tmp_path, content, spec, collective, ports, int(root))
    for name, column in built.columns._asdict().items():
        assert np.array_equal(getattr(read, name), column), name
    assert (read.units, read.packets, read.ports) == (built.units, built.packets, ports)
    expected, result = simulate(built), simulate(read)
    assert result.complete
    assert (result.steps, result.transmissions) == (expected.steps, expected.transmissions)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("spec", ["S6", "S7,3", "Q8"])
def test_many_labels_looked_up_together_have_the_same_ranks_as_single_labels(
    spec: str, first: int
) -> None:
    """`rank_labels` looks up many labels together, but a few labels one by one."""
    t = topology(spec)
    with labels_from(first):
        labels = t.labels().tolist()
        texts = [*labels, *(label.upper() for label in labels), "", "x", "11" * t.n, "\u0661" * 6]
        ranks = rank_labels(t, texts)
        assert ranks == {label: t.rank(label) for label in labels}
        assert rank_labels(t, texts[5:9]) == {label: t.rank(label) for label in labels[5:9]}
    capitals = topology("S11").labels([0, 39_916_799]).tolist()
    assert rank_labels(topology("S11"), [text.upper() for text in capitals]) == {
        text.upper(): rank for text, rank in zip(capitals, (0, 39_916_799), strict=True)
    }


def test_a_rank_with_a_number_sign_can_be_mixed_with_labels(tmp_path: Path) -> None:
    """In a CSV column that contains labels, the rank 1 is written as #1."""
    for first, second in (("123", "#1"), ("#0", "132"), ("#0", "#1"), ("0", "1"), ("0", "#1")):
        content = f"{HEADER}1,{first},2,0\n2,{second},3,0\n"
        assert read_csv(tmp_path, content, "S3", "broadcast").sender.tolist() == [0, 1]


@pytest.mark.parametrize("collective", get_args(Collective))
def test_a_csv_schedule_without_rows_delivers_no_unit(tmp_path: Path, collective: Any) -> None:
    head = COMBINE if collective in REDUCTIONS else HEADER
    empty = read_csv(tmp_path, head, "S3", collective)
    assert (len(empty), starcast.simulate(empty).complete) == (0, False)


def test_a_unit_that_no_row_of_a_schedule_sends_is_counted() -> None:
    """In this scatter, the root keeps unit 23, so no row contains the largest unit number."""
    built = schedule("S4", "scatter", "balanced", "all", 23)
    columns = {name: getattr(built, name) for name in ("step", "sender", "port", "unit")}
    assert int(built.unit.max()) == 22
    assert schedule_from_columns(columns, "S4", "scatter", root=23).units == 24


@pytest.mark.parametrize(
    ("spec", "collective", "options"),
    [
        ("K4", "scatter", {"root": 3, "messages": 4}),
        ("K2", "scatter", {"root": 1, "messages": 2}),
        ("S3", "gather", {"root": 5, "messages": 7}),
        ("K2", "alltoall", {"messages": 5}),
        ("K4", "scatter", {"root": 1, "messages": 4}),
    ],
)
def test_units_that_the_last_node_keeps_are_counted_although_they_have_no_rows(
    tmp_path: Path, spec: str, collective: Any, options: dict[str, Any]
) -> None:
    built = schedule(spec, collective, "greedy", **options).expand()
    read = read_csv(tmp_path, written(built), spec, collective, "all", options.get("root", 0))
    assert read.units == built.units
    assert simulate(read).complete


def test_columns_of_labels_give_the_same_schedule_as_columns_of_ranks() -> None:
    built = schedule("S4", "broadcast", "multiple")
    columns = {name: getattr(built, name) for name in COLUMNS}
    labels = built.topology.labels()
    named = columns | {name: labels[columns[name]] for name in ("sender", "receiver")}
    by_rank = schedule_from_columns(columns, "S4", "broadcast")
    by_label = schedule_from_columns(named, built.topology, "broadcast", root="1234")
    for name in COLUMNS:
        assert np.array_equal(getattr(by_label, name), getattr(by_rank, name))
    objects = named | {"sender": named["sender"].astype(object)}  # as in data frames
    assert np.array_equal(schedule_from_columns(objects, "S4", "broadcast").sender, built.sender)
    assert starcast.simulate(by_label).complete


def test_schedule_columns_with_invalid_values_are_refused() -> None:
    """Otherwise, large values would overflow the smaller integer types of the schedule."""
    cases: list[Any] = [
        ({"step": [0]}, "'step' of a schedule has the invalid value 0"),
        ({"step": [2**32 + 1]}, "the invalid value 4294967297"),
        ({"unit": [-1]}, "'unit' of a schedule has the invalid value -1"),
        ({"receiver": [1], "port": [258]}, "'port' of a schedule has the invalid value 258"),
        ({"tree": [256]}, "'tree' of a schedule has the invalid value 256"),
        ({"sender": ["1243x"]}, "the label '1243x'"),
        ({"sender": [0.5]}, "dtype float64"),
        ({"sender": [0, 1]}, "differ in length"),
        ({"sender": [24], "receiver": [1]}, "S4 has no node of rank 24"),
        ({"receiver": [24]}, "S4 has no node of rank 24"),
        ({"port": [5], "receiver": [1]}, "uses port 5, which S4 does not have"),
        ({"units": 2.7}, "must be an integer, not 2.7"),
        ({"units": "x"}, "must be an integer, not 'x'"),
        ({"units": -1}, "needs at least 1 units, not -1"),
        ({"units": 1, "unit": [1]}, "needs at least 2 units, not 1"),
        ({"packets": "false"}, "packets must be true or false, not 'false'"),
    ]
    for changes, message in cases:
        columns = {"step": [1], "sender": [0], "port": [2], "unit": [0]} | changes
        with pytest.raises(InputError, match=message) as refusal:
            schedule_from_columns(columns, "S4", "broadcast")
        assert refusal.value.hint


@pytest.mark.whole
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no header line"),
        ("step,sender,port\n1,0,2\n", "line 1 has no column 'unit'"),
        ("step,sender,port,unit,time\n1,0,2,0,1\n", "line 1 has the unknown column 'time'"),
        ("step,step,sender,port,unit\n1,1,0,2,0\n", "line 1 names a column twice"),
        (HEADER + "1,0,2\n", "line 2 has 3 values for 4 columns"),
        (HEADER + "1,0,2,0\n\n1,0,2,0,7\n", "line 4 has 5 values"),
        (HEADER + "1,0,2,NaN\n", "line 2 has the invalid unit 'NaN'"),
        (HEADER + "1,0,2,-1\n", "line 2 has the invalid unit '-1'"),
        (HEADER + "1,0,2,1.5\n", "line 2 has the invalid unit '1.5'"),
        (HEADER + "1,0,2,\n", "line 2 has the invalid unit ''"),
        (HEADER + "1,0,2,\N{ARABIC-INDIC DIGIT ONE}\n", "line 2 has the invalid unit"),
        (HEADER + f"1,0,2,{'9' * 500}\n", "line 2 has the invalid unit '999"),
        (HEADER + "1,0,2,2147483648\n", "line 2 has the unit 2147483648"),
        (HEADER + "0,0,2,0\n", "line 2 has the step 0"),
        (HEADER + "1,0,5,0\n", "line 2 has the port 5"),
        (HEADER + "1,0,1,0\n", "line 2 has the port 1"),
        (HEADER + "1,0,2,0\n1,24,2,0\n", "line 3 has the invalid sender '24': S4 has no node"),
        (HEADER + "1,1234,2,0\n1,1233,2,0\n", "line 3 has the invalid sender '1233': the label"),
        (HEADER + "1,0,2,0\n1,NaN,2,0\n", "line 3 has the invalid sender 'NaN'"),
        (HEADER + "1,0,2,0\n1,-1,2,0\n", "line 3 has the invalid sender '-1'"),
        ('step,sender,port,unit\n1,"0,2,0\n', "is not CSV"),
        (HEADER + "x" * 10_000, "line 2 has more than 4096 characters"),
        ("step,sender,port,unit,receiver\n1,1234,2,0,4\n", "line 2 has the invalid receiver '4'"),
        ("step,sender,port,unit,tree\n1,1234,2,0,256\n", "line 2 has the tree 256"),
        (COMBINE + "1,0,2,0,0\n", "a schedule of a broadcast cannot have the column 'combine'"),
        (b"\xff\xfes\x00t\x00", "line 1 has no column 'step'"),
        (b"\xff\xfes\x00\x00\xdcb", "starts like a UTF-16 file but is not valid UTF-16"),
        (HEADER.encode() + b"1,0,2,\xe9\n", "line 2 is not UTF-8 text"),
    ],
)
def test_errors_in_a_csv_schedule_are_reported_with_their_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with refused(str(tmp_path / "mine.csv"), message) as refusal:
        read_csv(tmp_path, content, "S4", "broadcast")
    assert len(refusal.value.message) < 1_000 + len(str(tmp_path))


def test_a_missing_or_invalid_column_combine_of_a_reduction_is_reported(tmp_path: Path) -> None:
    for content, message in (
        (HEADER + "1,6,2,0\n", "mine.csv: a schedule of a reduce needs the column"),
        (COMBINE + "1,6,2,0,1\n1,2,3,0,2\n", "mine.csv, line 3 has the combine 2"),
        (COMBINE + "1,6,2,0,yes\n", "mine.csv, line 2 has the invalid combine 'yes'"),
    ):
        with refused(message):
            read_csv(tmp_path, content, "S4", "reduce")


def test_csv_schedules_may_have_a_byte_order_mark_carriage_returns_and_blanks(
    tmp_path: Path,
) -> None:
    content = b"\xef\xbb\xbfStep, sender ,port,unit\r\n1, 12, 2, 0\r\n\r\n"
    assert simulate(read_csv(tmp_path, content, "S2", "broadcast")).complete


def test_devices_folders_and_missing_files_are_refused_as_csv_schedules() -> None:
    for path in ["/dev/zero", "/tmp", "/nonexistent/mine.csv"]:
        with pytest.raises(InputError, match=path):
            schedule_from_csv(path, "S4", "broadcast")


def test_csv_schedules_with_too_many_units_or_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest unit number determines the number of units."""
    with pytest.raises(StarcastError, match="too many"):
        simulate(read_csv(tmp_path, HEADER + "1,0,2,2147483647\n", "S4", "broadcast"))
    monkeypatch.setattr("starcast.collectives.columns.MAX_ROWS", 2)
    with pytest.raises(StarcastError, match="more than 2 rows"):
        read_csv(tmp_path, HEADER + "1,0,2,0\n" * 3, "S4", "broadcast")
