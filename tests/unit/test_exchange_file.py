"""Experiment files: results that contradict a formula, a bound or each other are refused."""

import copy
import gzip
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from starcast.collectives.algorithm import REGISTRIES
from starcast.experiments.design import Design, Grid
from starcast.experiments.exchange import record_run
from starcast.experiments.exchange_file import FORMAT, check_figures, read_file
from starcast.experiments.execution import execute, price_run
from starcast.experiments.point import Point
from starcast.experiments.run_records import RunRecord
from starcast.support.errors import InputError, RejectedError, StarcastError
from support.experiments import make_point

GRID = Grid({
    "topology": "S3", "algorithm": ["multiple", "forest(base=greedy)"], "segments": 2,
    "message_bytes": ["23/3"], "execution": ["synchronous", "asynchronous"],
    "faults": ["none", "213"],
})  # fmt: skip

Change = Callable[[dict[str, Any]], object]


def record(point: Point) -> dict[str, Any]:
    """Execute an experiment point and return its run in the form that a file has."""
    execution = execute(point)
    return record_run(price_run(point, execution), execution.profile)


def _is_special(point: Point) -> bool:
    return bool(point.faults) or (point.algorithm, point.execution) != ("multiple", "synchronous")


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """The content of an experiment file whose first run is synchronous and has no faults."""
    moment = datetime.now(UTC).isoformat()
    points = sorted(GRID.points(), key=_is_special)
    experiment = {
        "name": "a", "grid": Design((GRID,)).as_json(), "points": len(points),
        "created_at": moment, "runs": [record(each) for each in points],
    }  # fmt: skip
    return {
        "format": FORMAT, "created_at": moment, "starcast": "0.1.0", "experiments": [experiment],
    }  # fmt: skip


def write(folder: Path, content: object) -> Path:
    """Write an experiment file."""
    file = folder / "file.json"
    file.write_text(json.dumps(content))
    return file


def cost(run: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the cost of a run of the given kind, such as "simulated"."""
    found: dict[str, Any] = next(each for each in run["costs"] if each["kind"] == kind)
    return found


def test_a_file_is_read_back_unchanged_even_if_it_is_compressed_or_indented(
    written: dict[str, Any], tmp_path: Path
) -> None:
    file = write(tmp_path, written)
    packed = tmp_path / "file.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    for each in (file, packed):
        (experiment,) = read_file(each)
        assert (experiment.name, experiment.points) == ("a", len(GRID.points()))
        assert [run.model_dump(mode="json") for run in experiment.runs] == [
            RunRecord.model_validate(run).model_dump(mode="json")
            for run in written["experiments"][0]["runs"]
        ]
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(written, indent=3))
    assert len(read_file(pretty)[0].runs) == len(GRID.points())


def _beat_the_bound(run: dict[str, Any]) -> None:
    """Change a run so that its numbers agree with each other but are below the lower bound."""
    run["profile"] = run["profile"][:1]
    units = Fraction(run["message_bytes"]) / 4  # 2 trees with 2 segments each
    sent = run["profile"][0][2] * units
    time = Fraction(run["t_s"]) + sent * Fraction(run["t_c"])
    cost(run, "simulated").update(
        steps=1, start_ups="1", bytes=str(sent), time=str(time), transmissions=2
    )


CONTRADICTIONS: dict[str, tuple[Change, str]] = {
    "a time of 1": (lambda run: cost(run, "simulated").update(time="1"), "simulated, time is 1"),
    "a fast run": (_beat_the_bound, "below the bound"),
    "steps": (lambda run: cost(run, "simulated").update(steps=1), "simulated, steps is 1"),
    "start-ups": (lambda run: cost(run, "simulated").update(start_ups="1"), "start_ups is 1"),
    "bytes": (lambda run: cost(run, "simulated").update(bytes="7"), "bytes is 7"),
    "no bytes": (lambda run: cost(run, "simulated").update(bytes=None), "no start-ups or bytes"),
    "transmissions": (
        lambda run: cost(run, "simulated").update(transmissions=1),
        "transmissions is 1",
    ),
    "too many transmissions": (
        lambda run: cost(run, "simulated").update(transmissions=10**6),
        "transmissions is 1000000",
    ),
    "a closed form": (lambda run: cost(run, "closed form").update(time="1"), "closed form, time"),
    "its steps": (lambda run: cost(run, "closed form").update(steps=None), "steps is nothing"),
    "a bound": (lambda run: cost(run, "lower bound").update(time="1"), "lower bound, time is 1"),
    "its bytes": (lambda run: cost(run, "lower bound").update(bytes="1/7"), "lower bound, bytes"),
    "missing units": (lambda run: run.update(missing=3), "missing units is 3"),
    "no profile": (lambda run: run.update(profile=[]), "simulated, steps"),
    "links": (lambda run: run["profile"][0].__setitem__(0, 9), "a step cannot have 9 links"),
    "packets without units": (lambda run: run["profile"][0].__setitem__(2, 0), "up to 0 units"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_run_with_contradictory_numbers_is_refused_in_one_sentence(
    written: dict[str, Any], tmp_path: Path, name: str
) -> None:
    change, words = CONTRADICTIONS[name]
    content = copy.deepcopy(written)
    change(content["experiments"][0]["runs"][0])
    with pytest.raises(RejectedError, match=words) as refused:
        read_file(write(tmp_path, content))
    assert "\n" not in refused.value.message
    assert refused.value.hint


def first(content: dict[str, Any]) -> dict[str, Any]:
    """Return the first run of a file."""
    run: dict[str, Any] = content["experiments"][0]["runs"][0]
    return run


def experiment(content: dict[str, Any]) -> dict[str, Any]:
    """Return the first experiment of a file."""
    found: dict[str, Any] = content["experiments"][0]
    return found


#: Changes of a file's content, and a part of the error.
INVALID: dict[str, tuple[Change, str]] = {
    "another format": (
        lambda file: file.update(format="starcast experiments 2"),
        "this version reads 'starcast experiments 1'",
    ),
    "no format": (lambda file: file.pop("format"), "format: Field required"),
    "no experiments": (lambda file: file.pop("experiments"), "experiments: Field required"),
    "an unknown key": (lambda file: file.update(more=1), "more"),
    "no list of runs": (lambda file: experiment(file).pop("runs"), "runs: Field required"),
    "no runs": (lambda file: experiment(file).update(runs=[]), "it has no runs"),
    "a name": (lambda file: experiment(file).update(name="../x"), "not a valid name"),
    "a name twice": (
        lambda file: file["experiments"].append(experiment(file)),
        "two experiments have the same name",
    ),
    "a grid": (lambda file: experiment(file).update(grid={"topology": "S99"}), "the grid has no"),
    "another number of points": (
        lambda file: experiment(file).update(points=3),
        f"its grid has {len(GRID.points())} points, but it states 3",
    ),
    "fewer points than runs": (
        lambda file: experiment(file).update(points=3, grid={}),
        "but only 3 points",
    ),
    "a run outside the grid": (
        lambda file: first(file).update(message_bytes="65"),
        "its grid has no point",
    ),
    "the same run twice": (
        lambda file: experiment(file)["runs"].append(first(file)),
        "two runs of the same point",
    ),
    "a topology": (lambda file: first(file).update(topology="NONSENSE"), "unknown topology"),
    "an algorithm": (lambda file: first(file).update(algorithm="nonsense"), "unknown broadcast"),
    "a fault": (lambda file: first(file).update(faults=["99999"]), "99999"),
    "messages": (lambda file: first(file).update(messages=7), "has messages = 7"),
    "a number": (lambda file: first(file).update(t_s="1/0"), "t_s: not a rational number"),
    "a huge number": (lambda file: first(file).update(t_s="9" * 5_000), "not a rational number"),
    "a status": (lambda file: first(file).update(status="failed"), "contradict its status"),
    "an error": (lambda file: first(file).update(error="it failed"), "contradict its status"),
    "no costs": (lambda file: first(file).update(costs=[]), "contradict its status"),
    "a cost": (lambda file: first(file)["costs"][0].update(time="-1"), "costs.0.time"),
    "a profile": (lambda file: first(file).update(profile=[[1, 2]]), "profile.0"),
    "a failed run with a profile": (
        lambda file: first(file).update(status="failed", error="it failed", costs=[]),
        "a failed run cannot have a profile",
    ),
    "no closed form": (lambda file: first(file)["costs"].pop(0), "contradict its status"),
    "a cost twice": (
        lambda file: first(file)["costs"].append(first(file)["costs"][0]),
        "contradict its status",
    ),
    "NaN": (lambda file: first(file)["timings"].update(build=float("nan")), "NaN is not a number"),
    "a NUL character": (
        lambda file: first(file)["provenance"].update(host="a\0b"),
        "NUL character",
    ),
    "half a character": (
        lambda file: first(file)["provenance"].update(host="\ud800"),
        "surrogates",
    ),
    "the year 1": (lambda file: first(file).update(started_at="0001-01-01T00:00:00Z"), "started"),
    "no time zone": (lambda file: first(file).update(started_at="2026-11-22T12:00:00"), "started"),
    "many keys": (lambda file: first(file).update({str(n): 1 for n in range(100)}), "64 keys"),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_file_is_refused_in_one_sentence(
    written: dict[str, Any], tmp_path: Path, name: str
) -> None:
    change, words = INVALID[name]
    content = copy.deepcopy(written)
    change(content)
    with pytest.raises(InputError, match=re.escape(words)) as refused:
        read_file(write(tmp_path, content))
    assert "is not a valid file of experiments: " in refused.value.message
    assert "\n" not in refused.value.message
    assert len(refused.value.message) < 600


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"name"', '"name": "x", "name"', "given twice"),
        ('"runs"', '"runs": [], "runs"', "given twice"),
        ('"format"', '"experiments": [], "format"', "given twice"),
        ('"runs": [', '"runs": [1,', "Input should be a valid dict"),
        ('"starcast": "0.1.0"', '"starcast": "0.1.0",', "incomplete or damaged"),
    ],
)
def test_a_file_with_an_invalid_structure_is_refused(
    written: dict[str, Any], tmp_path: Path, old: str, new: str, words: str
) -> None:
    file = write(tmp_path, written)
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        read_file(file)


def _points(collective: str, algorithm: str, spec: str) -> list[Point]:
    found = []
    for ports in ("all", "one"):
        for execution in ("synchronous", "asynchronous"):
            for segments, size in ((1, Fraction(0)), (3, Fraction(23, 3))):
                for faults in ((), ("213",)) if spec == "S3" else ((),):
                    try:
                        point = make_point(
                            spec, collective, algorithm, ports, segments, size, 100,
                            Fraction(1, 7), faults=faults, execution=execution,
                        )  # fmt: skip
                    except StarcastError:
                        continue
                    found.append(point)
    return found


@pytest.mark.parametrize(
    ("collective", "spec"),
    [
        *((collective, "S3") for collective in REGISTRIES),
        *(("broadcast", "S4,2"), ("allgather", "S4,2"), ("broadcast", "Q2")),
    ],
)
def test_runs_that_starcast_executed_are_accepted(collective: str, spec: str) -> None:
    """Every algorithm is executed in both execution models, with and without faults."""
    accepted = 0
    for algorithm in REGISTRIES[collective]:
        for point in _points(collective, algorithm, spec):
            run = RunRecord.model_validate(record(point))
            check_figures(point, run)
            accepted += 1
    assert accepted >= 4
