"""`starcast schedule`: algorithms, simulations, times and rows; output, remarks, exit codes."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from starcast.collectives import algorithms, schedule
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import COLUMNS
from starcast.judges.simulator import Fault, simulate
from starcast.judges.simulator import simgrid as external
from starcast.judges.simulator.simgrid import SimGridRun
from starcast.lab import Lab
from starcast.support.errors import InputError, RejectedError
from starcast.support.settings import Settings
from starcast.topologies import topology
from support.fix_cli import Result, Starcast


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run each test in its own folder, where no server can be reached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARCAST_HOME", str(tmp_path / "home"))


def rows(result: Result) -> list[dict[str, Any]]:
    """Return the rows of a JSON listing."""
    assert result.code == 0, result.err
    listed: list[dict[str, Any]] = json.loads(result.out)
    return listed


def properties(result: Result) -> dict[str, Any]:
    """Return the properties of a JSON object."""
    assert result.code == 0, result.err
    shown: dict[str, Any] = json.loads(result.out)
    return shown


def test_algorithms_are_listed_with_their_arguments(starcast: Starcast) -> None:
    """All algorithms can be listed, those on a topology, or those of a collective."""
    assert len(rows(starcast("schedule", "algorithms", "--format", "json"))) == len(algorithms())
    on_q4 = rows(starcast("schedule", "algorithms", "Q4", "--format", "json"))
    assert [row["algorithm"] for row in on_q4] == [
        rule.name for rule in algorithms_on(topology("Q4"))
    ]
    exchange = rows(
        starcast("schedule", "algorithms", "S5", "--collective", "alltoall", "--format", "json")
    )
    exact = next(row for row in exchange if row["algorithm"] == "exact")
    assert (exact["ports"], exact["arguments"]) == (["all"], ["messages"])
    refused = starcast("schedule", "algorithms", "--collective", "barrier")
    assert refused.code == 2
    assert "unknown collective 'barrier'" in refused.err


@pytest.mark.parametrize(
    ("words", "options", "arguments"),
    [
        (("S5", "alltoall", "exact"), (), {}),
        (("S4", "broadcast", "multiple"), ("--ports", "one", "--segments", "3", "--root", "4321"),
         {"ports": "one", "segments": 3, "root": "4321"}),
        (("S4", "scatter", "edge-disjoint(copies=2,messages=3)"), (), {"copies": 2, "messages": 3}),
        (("S4", "allgather", "dimension-change"), ("--base", "necklace"), {"base": "necklace"}),
        (("S4,2", "allgather", "nk-greedy"), (), {}),
    ],
)  # fmt: skip
def test_simulate_prints_the_results_of_the_simulation(
    starcast: Starcast,
    words: tuple[str, str, str],
    options: tuple[str, ...],
    arguments: dict[str, Any],
) -> None:
    found = properties(starcast("schedule", "simulate", *words, *options, "--format", "json"))
    built = schedule(*words[:2], words[2].partition("(")[0], **arguments)
    result = simulate(built)
    assert found["id"] == built.id
    assert (found["rows"], found["units"], found["symmetric"]) == (
        len(built),
        built.units,
        built.symmetric,
    )
    assert (found["steps"], found["transmissions"]) == (result.steps, result.transmissions)
    assert found["largest_packet"] == result.largest_packet
    assert found["complete"] is True
    assert "missing" not in found


def test_an_expanded_schedule_gives_the_same_results(starcast: Starcast) -> None:
    """Without ``--expand``, the rows of one source represent those of all sources."""
    one, every = (
        properties(
            starcast("schedule", "simulate", "S4", "allgather", "necklace", *more, "-f", "json")
        )
        for more in ((), ("--expand",))
    )
    assert every["rows"] == 24 * one["rows"]
    for name in ("steps", "transmissions", "largest_packet", "complete"):
        assert every[name] == one[name]


def test_units_missing_under_faults_are_not_an_error(starcast: Starcast) -> None:
    """Missing units are counted. If copies replace all of them, the schedule is complete."""
    words = ("schedule", "simulate", "S4", "broadcast", "edge-disjoint(copies=2)", "-f", "json")
    survived = properties(starcast(*words, "--fault", "2134"))
    assert survived["complete"] is True
    assert survived["faults"] == ["2134"]
    cut = properties(
        starcast(*words, "--fault", "1234-2134", "--fault", "1234-3214", "--fault", "1234-4231")
    )
    assert cut["complete"] is False
    assert cut["missing"] == 23
    late = properties(starcast(*words, "--fault", "2134@9"))
    assert late["transmissions"] == 46


def test_a_fault_at_the_root_is_allowed_and_reported(starcast: Starcast) -> None:
    result = starcast(
        "schedule", "simulate", "S4", "broadcast", "greedy", "--fault", "1234", "--format", "json"
    )
    assert properties(result)["missing"] == 23
    assert "node 1234 is the root and dead from the start" in result.err


def test_acknowledged_execution_loses_units_that_fixed_steps_deliver(
    starcast: Starcast,
) -> None:
    """With acknowledgements, the allgather follows section 4.4 of Fragopoulou & Akl 1996."""
    named = ("S4", "allgather", "edge-disjoint", "--copies", "3")
    words = ("schedule", "simulate", *named, "--fault", "2134", "-f", "json")
    assert properties(starcast(*words))["complete"] is True
    waiting = starcast(*words, "--acknowledged")
    assert properties(waiting)["complete"] is False
    assert "wait for an acknowledgement that never comes" in waiting.err


def test_a_profile_has_a_row_for_each_step(starcast: Starcast) -> None:
    found = rows(starcast("schedule", "profile", "S4", "alltoall", "exact", "--format", "json"))
    result = simulate(schedule("S4", "alltoall", "exact"))
    assert [row["step"] for row in found] == list(range(1, result.steps + 1))
    assert [row["links_used"] for row in found] == result.links_used.tolist()


def test_schedule_rows_prints_every_column_with_labels_of_nodes(starcast: Starcast) -> None:
    result = starcast("schedule", "rows", "S3", "alltoall", "exact", "--format", "csv")
    listed = list(csv.DictReader(io.StringIO(result.out)))
    built = schedule("S3", "alltoall", "exact")
    labels = built.topology.labels()
    assert list(listed[0]) == list(COLUMNS)
    assert [int(row["unit"]) for row in listed] == built.unit.tolist()
    assert [row["sender"] for row in listed] == labels[built.sender].tolist()
    every = starcast("schedule", "rows", "S3", "alltoall", "exact", "--expand", "-f", "csv").out
    assert len(every.splitlines()) == 6 * len(built) + 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("S5", "scatter", "perfectly-balanced", "--messages", "3"), "not a multiple of n-1 = 4"),
        (("S5", "broadcast", "edge-disjoint", "--copies", "5"), "copies is 5, more than 4"),
        (("S5", "broadcast", "multiple", "--segments", "0"), "segments is 0"),
        (("S5", "broadcast", "multiple", "--fault", "12354-12345"), "are not linked"),
        (("S5", "broadcast", "multiple", "--fault", "21345@0"), "the fault '21345' has step 0"),
        (("S5", "broadcast", "multiple", "--fault", "nowhere"), "nowhere"),
        (
            ("S5", "broadcast", "edge-disjoint(copies=2"),
            "unknown algorithm 'edge-disjoint(copies=2'",
        ),
        (("S4", "scatter", "balanced", "--acknowledged"), "is not an allgather"),
        (("S5", "alltoall", "exact", "--ports", "one"), "no port model 'one'"),
        (
            ("S5", "broadcast", "edge-disjoint(copies=2)", "--copies", "2"),
            "'copies' is given twice",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    starcast: Starcast, words: tuple[str, ...], named: str
) -> None:
    result = starcast("schedule", "simulate", *words)
    assert (result.code, result.out) == (2, "")
    assert named in result.err.splitlines()[0]
    assert result.err.splitlines()[-1].startswith("hint: ")


@pytest.mark.parametrize("name", ["topology", "collective", "algorithm", "ports", "root"])
def test_names_of_python_parameters_are_not_accepted_as_arguments_of_an_algorithm(
    starcast: Starcast, name: str
) -> None:
    result = starcast("schedule", "simulate", "S4", "broadcast", f"greedy({name}=1)")
    assert (result.code, result.out) == (2, "")
    assert f"'{name}'" in result.err


def test_a_file_with_rows_can_replace_an_algorithm(starcast: Starcast, tmp_path: Path) -> None:
    """The file may be CSV, GOAL or MSCCL XML; `import` takes a file of any name."""
    named, options = ("S4", "broadcast", "multiple"), ("--segments", "2")
    for file, form in (("a.xml", "msccl-xml"), ("mine.csv", "csv"), ("mine.goal", "goal")):
        export = ("schedule", "export", *named, *options, "--to", form, "--out", file)
        assert starcast(*export).code == 0
        for command in ("simulate", "time", "profile", "rows"):
            meant = json.loads(starcast("schedule", command, *named, *options, "-f", "json").out)
            read = json.loads(starcast("schedule", command, *named[:2], file, "-f", "json").out)
            if command in ("simulate", "time"):
                assert read.pop("id") == "S4:broadcast:rows:all::1234" != meant.pop("id")
            if form == "goal" and command == "rows":  # GOAL has no tree numbers
                read, meant = ([row | {"tree": 0} for row in rows] for rows in (read, meant))
            assert read == meant
    (tmp_path / "mine.csv").rename("mine.txt")
    target = ("--topology", named[0], "--collective", named[1])
    checked = properties(starcast("schedule", "import", "mine.txt", *target, "-f", "json"))
    assert checked == properties(starcast("schedule", "simulate", *named[:2], file, "-f", "json"))
    for name, hint in (("mine.txt", "correct the rows in mine.txt"), ("a.xml", "write the file")):
        rejected = starcast("schedule", "import", name, *target, "--ports", "one")
        assert (rejected.code, rejected.out) == (6, "") or name == "mine.txt"
        assert rejected.code == 6
        assert "one-port: the sender already sends" in rejected.err
        assert f"hint: {hint}" in rejected.err
    assert "rank 0, thread block " in rejected.err
    drawn = starcast("schedule", "draw", *named[:2], "a.xml", "--step", "2", "--out", "a.svg")
    assert (drawn.code, Path("a.svg").read_text()[:4]) == (0, "<svg")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("simulate", "S4", "broadcast", "mine.csv", "--copies", "2"),
            "--copies cannot be combined",
        ),
        (("simulate", "S4", "barrier", "mine.csv"), "unknown collective 'barrier'"),
        (("simulate", "S4", "broadcast", "mine.csv", "--ports", "two"), "'two' is not one of"),
        (("simulate", "S4", "broadcast", "none.csv"), "none.csv cannot be read"),
        (
            ("simulate", "S4", "broadcast", "mine.csv"),
            "mine.csv, line 3 has the invalid unit 'NaN'",
        ),
        (("simulate", "S3", "broadcast", "cut.goal"), "cut.goal, line"),
        (("simulate", "S4", "broadcast", "cut.goal"), "6 ranks, but the topology has 24 nodes"),
        (("import", "cut.goal", "--topology", "S3", "--collective", "broadcast"), "cut.goal, line"),
        (("import", "cut.xml", "--topology", "S3", "--collective", "broadcast"), "cut.xml: line 1"),
        (("import", "cut.goal", "--topology", "S3"), "--collective"),
    ],
)
def test_rows_that_cannot_be_read_are_refused(
    starcast: Starcast, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "mine.csv").write_text("step,sender,port,unit\n1,1234,2,0\n1,1234,3,NaN\n")
    goal = starcast("schedule", "export", "S3", "broadcast", "greedy", "--to", "goal").out
    (tmp_path / "cut.goal").write_text(goal[: len(goal) // 2])
    (tmp_path / "cut.xml").write_text("<!DOCTYPE algo SYSTEM 'other.xml'><algo/>")
    result = starcast("schedule", *words)
    assert (result.code, result.out) == (2, "")
    assert message in " ".join(result.err.split())


def test_the_python_api_takes_and_returns_objects_where_a_shell_has_text(
    starcast: Starcast,
) -> None:
    """The objects are topologies, ranks, faults and paths.

    A rejection by the simulator is part of the result instead of an exception.
    """
    faults = ("--root", "1342", "--fault", "#5", "--fault", "2134@2")
    words = ("schedule", "simulate", "S4", "broadcast", "greedy", *faults, "-f", "json")
    s4, lab = topology("S4"), Lab(Settings.load)
    given = lab.simulate_schedule(s4, "broadcast", "greedy", root=3, fault=[5, Fault("2134", 2)])
    assert given == properties(starcast(*words))
    lab.export_schedule(s4, "broadcast", "multiple", to="csv").save("mine.csv")
    rejected = lab.profile_schedule(s4, "broadcast", Path("mine.csv"), ports="one")
    assert isinstance(rejected.failure, RejectedError)
    moving = lab.draw_schedule(s4, "broadcast", Path("mine.csv"), animate=True)
    with pytest.raises(InputError, match="an animation cannot be written"):
        moving.save("mine.png")


def test_labels_from_0_are_read_and_printed(
    starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("schedule", "rows", "S3", "broadcast", "greedy", "-f", "csv")
    ones = starcast(*command, "--root", "321").out
    zeros = starcast(*command, "--root", "210", "--labels", "0").out
    shifted = [
        {**row, **{end: row[end].translate(str.maketrans("123", "012")) for end in ENDS}}
        for row in csv.DictReader(io.StringIO(ones))
    ]
    assert list(csv.DictReader(io.StringIO(zeros))) == shifted
    monkeypatch.setenv("STARCAST_LABELS", "0")
    assert starcast(*command, "--root", "210").out == zeros
    assert starcast(*command, "--root", "321", "--labels", "1").out == ones
    (tmp_path / "mine.csv").write_text(zeros)
    simulated = ("schedule", "simulate", "S3", "broadcast", "mine.csv")
    shown = properties(starcast(*simulated, "--root", "210", "--fault", "012", "-f", "json"))
    assert (shown["id"], shown["faults"]) == ("S3:broadcast:rows:all::321", ["012"])
    monkeypatch.setenv("STARCAST_LABELS", "")
    refused = starcast(*simulated)
    assert refused.code == 2
    assert "mine.csv, line 2 has the invalid sender '210'" in refused.err
    assert "--labels 0" in refused.err


ENDS = ("sender", "receiver")


@pytest.mark.parametrize("words", [("--labels", "2"), ("--labels", "x")])
def test_labels_must_begin_with_0_or_1(starcast: Starcast, words: tuple[str, str]) -> None:
    assert starcast("schedule", "rows", "S3", "broadcast", "greedy", *words).code == 2


TIMED = ("schedule", "time", "S4", "broadcast", "multiple", "--segments", "4")


@pytest.mark.parametrize(
    ("options", "execution", "time"),
    [
        ((), "synchronous", 2444),
        (("--execution", "synchronous"), "synchronous", 2444),
        (("--execution", "asynchronous"), "asynchronous", 2124),
        (("--execution", "asynchronous", "--unit-bytes", "32", "--t-c", "2"), "asynchronous", 2124),
        (("--t-s", "100/3", "--t-c", "1/3"), "synchronous", "2444/3"),
    ],
)
def test_the_time_of_a_schedule_is_printed(
    starcast: Starcast, options: tuple[str, ...], execution: str, time: int | str
) -> None:
    found = properties(starcast(*TIMED, *options, "--format", "json"))
    assert (found["execution"], str(found["time"])) == (execution, str(time))
    assert len(found["critical_path"]) == found["critical_packets"] == 11
    assert str(time) in found["critical_path"][-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--unit-bytes", "0"), "unit_bytes is 0"),
        (("--t-s", "-1"), "t_s is -1, a negative number"),
        (("--t-c", "x"), "t_c is 'x', which is not a valid number"),
        (("--execution", "clocked"), "'clocked' is not"),
        (("--with", "gem5"), "'gem5' is not"),
    ],
)
def test_invalid_options_of_schedule_time_are_refused(
    starcast: Starcast, options: tuple[str, ...], message: str
) -> None:
    refused = starcast(*TIMED, *options)
    assert refused.code == 2
    assert refused.out == ""
    assert message in refused.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "time"),
    [
        ((), "2444"),
        (("--execution", "asynchronous"), "2124"),
        (("--t-s", "100/3", "--t-c", "1/3"), "2444/3"),
        (("--fault", "2134"), "2060"),
    ],
)
def test_the_time_by_simgrid_is_printed(
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
    simgrid: Path | None,
    options: tuple[str, ...],
    time: str,
) -> None:
    monkeypatch.setenv("STARCAST_SIMGRID", str(simgrid or ""))
    printed = starcast(*TIMED, "--with", "simgrid", *options, "--format", "json")
    found = properties(printed)
    assert (str(found["time"]), str(found["simgrid_time"])) == (time, time)
    assert found["simgrid_version"].startswith("3.")


def test_a_time_that_differs_from_that_of_simgrid_is_printed_and_rejected(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SimGrid is replaced by a function that returns a wrong time."""
    monkeypatch.setenv("STARCAST_SIMGRID", "/installed/here")
    installations: list[Path] = []

    def run_late(*_: Any, installation: Path, **__: Any) -> SimGridRun:
        installations.append(installation)
        return SimGridRun("3.32.0", 2445, ())

    monkeypatch.setattr(external, "run_simgrid", run_late)
    refused = starcast(*TIMED, "--with", "simgrid", "--format", "json")
    assert installations == [Path("/installed/here")]
    assert refused.code == 6
    assert (json.loads(refused.out)["time"], json.loads(refused.out)["simgrid_time"]) == (
        2444,
        2445,
    )
    assert "is 2444 in starcast, but 2445 in SimGrid 3.32.0" in refused.err


def test_the_error_without_simgrid_names_the_package_to_install(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARCAST_SIMGRID", "/nonexistent/python")
    refused = starcast(*TIMED, "--with", "simgrid")
    assert (refused.code, refused.out) == (4, "")
    assert "SimGrid's Python module is not installed in /nonexistent/python" in refused.err
    assert "apt install python3-simgrid" in refused.err
