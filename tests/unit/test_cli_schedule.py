"""The commands of `starcast schedule`: their output, remarks and exit codes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from starcast.collectives import algorithms, schedule
from starcast.collectives.algorithm import algorithms_on
from starcast.judges.simulator import Fault, simulate
from starcast.lab import Lab
from starcast.support.errors import InputError, RejectedError
from starcast.support.settings import Settings
from starcast.topologies import topology
from support.fix_cli import Starcast, printed, refused

pytestmark = pytest.mark.usefixtures("alone")


def test_algorithms_are_listed_with_their_arguments(starcast: Starcast) -> None:
    """The list can be limited to the algorithms on a topology, or to those of a collective."""
    assert len(printed(starcast("schedule algorithms --format json"))) == len(algorithms())
    on_q4 = printed(starcast("schedule algorithms Q4 --format json"))
    assert [row["algorithm"] for row in on_q4] == [
        algorithm.name for algorithm in algorithms_on(topology("Q4"))
    ]
    exchange = printed(starcast("schedule algorithms S5 --collective alltoall --format json"))
    exact = next(row for row in exchange if row["algorithm"] == "exact")
    assert (exact["ports"], exact["arguments"]) == (["all"], ["messages"])


@pytest.mark.parametrize(
    ("words", "options", "arguments"),
    [
        ("S5 alltoall exact", "", {}),
        (
            "S4 broadcast multiple",
            "--ports one --segments 3 --root 4321",
            {"ports": "one", "segments": 3, "root": "4321"},
        ),
        ("S4 scatter 'edge-disjoint(copies=2,messages=3)'", "", {"copies": 2, "messages": 3}),
        ("S4 allgather dimension-change", "--base necklace", {"base": "necklace"}),
        ("S4,2 allgather nk-greedy", "", {}),
    ],
)
def test_schedule_simulate_prints_the_results_of_the_simulation(
    starcast: Starcast, words: str, options: str, arguments: dict[str, Any]
) -> None:
    found = printed(starcast(f"schedule simulate {words} {options} --format json"))
    spec, collective, algorithm = words.partition("(")[0].replace("'", "").split()
    built = schedule(spec, collective, algorithm, **arguments)
    result = simulate(built)
    assert found["rows"] == len(built)
    for name in ("id", "units", "symmetric"):
        assert found[name] == getattr(built, name)
    for name in ("steps", "transmissions", "largest_packet"):
        assert found[name] == getattr(result, name)
    assert found["complete"] is True
    assert "missing" not in found


def test_units_missing_under_faults_are_not_an_error(starcast: Starcast) -> None:
    """The output states the number of missing units, which is 0 if a copy of each unit arrives."""
    words = "schedule simulate S4 broadcast 'edge-disjoint(copies=2)' -f json"
    survived = printed(starcast(f"{words} --fault 2134"))
    assert survived["complete"] is True
    assert survived["faults"] == ["2134"]
    cut = printed(starcast(f"{words} --fault 1234-2134 --fault 1234-3214 --fault 1234-4231"))
    assert cut["complete"] is False
    assert cut["missing"] == 23
    late = printed(starcast(f"{words} --fault 2134@9"))
    assert late["transmissions"] == 46
    at_root = starcast(f"{words} --fault 1234")
    assert printed(at_root)["missing"] == 23
    assert "node 1234 is the root and dead from the start" in at_root.err


def test_schedule_profile_prints_a_row_for_each_step(starcast: Starcast) -> None:
    found = printed(starcast("schedule profile S4 alltoall exact --format json"))
    result = simulate(schedule("S4", "alltoall", "exact"))
    assert [row["step"] for row in found] == list(range(1, result.steps + 1))
    assert [row["links_used"] for row in found] == result.links_used.tolist()


def test_a_schedule_file_can_be_given_instead_of_an_algorithm(
    starcast: Starcast, tmp_path: Path
) -> None:
    """The file may be CSV, GOAL or MSCCL XML. `schedule import` accepts any file name."""
    options = "--segments 2"
    for file, form in (("a.xml", "msccl-xml"), ("mine.csv", "csv"), ("mine.goal", "goal")):
        export = f"schedule export S4 broadcast multiple {options} --to {form} --out {file}"
        assert starcast(export).code == 0
        for command in ("simulate", "time", "profile", "rows"):
            meant = starcast(f"schedule {command} S4 broadcast multiple {options} -f json").json
            read = starcast(f"schedule {command} S4 broadcast {file} -f json").json
            if command in ("simulate", "time"):
                assert read.pop("id") == "S4:broadcast:rows:all::1234" != meant.pop("id")
            if form == "goal" and command == "rows":  # GOAL has no tree numbers
                read, meant = ([row | {"tree": 0} for row in rows] for rows in (read, meant))
            assert read == meant
    (tmp_path / "mine.csv").rename("mine.txt")
    target = "--topology S4 --collective broadcast"
    checked = printed(starcast(f"schedule import mine.txt {target} -f json"))
    assert checked == printed(starcast(f"schedule simulate S4 broadcast {file} -f json"))
    for name, hint in (("mine.txt", "correct the rows in mine.txt"), ("a.xml", "write the file")):
        rejected = starcast(f"schedule import {name} {target} --ports one")
        assert (rejected.code, rejected.out) == (6, "") or name == "mine.txt"
        assert rejected.code == 6
        assert "one-port: the sender already sends" in rejected.err
        assert f"hint: {hint}" in rejected.err
    assert "rank 0, thread block " in rejected.err
    drawn = starcast("schedule draw S4 broadcast a.xml --step 2 --out a.svg")
    assert (drawn.code, Path("a.svg").read_text()[:4]) == (0, "<svg")


def test_the_python_api_takes_and_returns_objects_where_the_shell_uses_text(
    starcast: Starcast,
) -> None:
    """The objects are topologies, ranks, faults and paths.

    A rejection by the simulator is part of the result instead of an exception.
    """
    faults = "--root 1342 --fault '#5' --fault 2134@2"
    words = f"schedule simulate S4 broadcast greedy {faults} -f json"
    s4, lab = topology("S4"), Lab(Settings.load)
    given = lab.simulate_schedule(s4, "broadcast", "greedy", root=3, fault=[5, Fault("2134", 2)])
    assert given == printed(starcast(words))
    for fault in ("2134@2", Fault("2134", 2)):
        one = lab.simulate_schedule(s4, "broadcast", "greedy", fault=fault)
        assert one["faults"] == ["2134@2"]
    expected = lab.simulate_schedule(s4, "broadcast", "greedy", fault=[5])
    ranks: tuple[Any, ...] = 5, np.int64(5)
    for rank in ranks:
        assert lab.simulate_schedule(s4, "broadcast", "greedy", fault=rank) == expected
    lab.export_schedule(s4, "broadcast", "multiple", to="csv").save("mine.csv")
    rejected = lab.profile_schedule(s4, "broadcast", Path("mine.csv"), ports="one")
    assert isinstance(rejected.failure, RejectedError)
    moving = lab.draw_schedule(s4, "broadcast", Path("mine.csv"), animate=True)
    with pytest.raises(InputError, match="an animation cannot be written"):
        moving.save("mine.png")
    drawn = [lab.draw_schedule(s4, "broadcast", "greedy", step=step) for step in (2, [2])]
    assert drawn[0].svg == drawn[1].svg
    with pytest.raises(InputError, match="no step 0"):
        lab.draw_schedule(s4, "broadcast", "greedy", step=0)


def test_labels_with_symbols_from_0_are_read_and_printed(
    starcast: Starcast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "schedule rows S3 broadcast greedy -f csv"
    from_1 = starcast(f"{command} --root 321")
    from_0 = starcast(f"{command} --root 210 --labels 0")
    ones, zeros = from_1.out, from_0.out
    shifted = [
        row
        | {end: row[end].translate(str.maketrans("123", "012")) for end in ("sender", "receiver")}
        for row in from_1.rows
    ]
    assert from_0.rows == shifted
    monkeypatch.setenv("STARCAST_LABELS", "0")
    assert starcast(f"{command} --root 210").out == zeros
    assert starcast(f"{command} --root 321 --labels 1").out == ones
    monkeypatch.delenv("STARCAST_LABELS")
    monkeypatch.setenv("starcast_labels", "0")
    assert starcast(f"{command} --root 210").out == zeros
    (tmp_path / "mine.csv").write_text(zeros)
    simulated = "schedule simulate S3 broadcast mine.csv"
    shown = printed(starcast(f"{simulated} --root 210 --fault 012 -f json"))
    assert (shown["id"], shown["faults"]) == ("S3:broadcast:rows:all::321", ["012"])
    monkeypatch.delenv("starcast_labels")
    monkeypatch.setenv("STARCAST_LABELS", "")
    error, hint = refused(starcast(simulated), 2)
    assert "mine.csv, line 2 has the invalid sender '210'" in error
    assert "--labels 0" in hint


TIMED = "schedule time S4 broadcast multiple --segments 4"


@pytest.mark.parametrize(
    ("options", "execution", "time"),
    [
        ("", "synchronous", 2444),
        ("--execution synchronous", "synchronous", 2444),
        ("--execution asynchronous", "asynchronous", 2124),
        ("--execution asynchronous --unit-bytes 32 --t-c 2", "asynchronous", 2124),
        ("--t-s 100/3 --t-c 1/3", "synchronous", "2444/3"),
    ],
)
def test_the_time_of_a_schedule_is_printed(
    starcast: Starcast, options: str, execution: str, time: int | str
) -> None:
    found = printed(starcast(f"{TIMED} {options} --format json"))
    assert (found["execution"], str(found["time"])) == (execution, str(time))
    assert len(found["critical_path"]) == found["critical_packets"] == 11
    assert str(time) in found["critical_path"][-1]


def test_the_list_of_undelivered_units_ends_with_the_number_of_omitted_units(
    starcast: Starcast,
) -> None:
    result = starcast("schedule simulate S4 broadcast greedy --fault 1234 -f json")
    assert result.code == 0
    (facts,) = result.json if isinstance(result.json, list) else [result.json]
    assert facts["undelivered"][-1] == f"and {facts['missing'] - 10} more"
    assert len(facts["undelivered"]) == 11


def test_exporting_an_experiment_to_a_zip_file_is_refused(starcast: Starcast) -> None:
    assert refused(starcast("experiment export mine --out mine.zip"), 2)[0] == (
        "the file format is JSON, but the file name ends in '.zip': mine.zip"
    )
