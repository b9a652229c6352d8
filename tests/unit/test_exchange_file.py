"""Experiment files: results that contradict a formula, a bound or each other are refused."""

import copy
import gzip
import json
import re
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from starcast.collectives.algorithm import REGISTRIES
from starcast.experiments.design import Design, Grid
from starcast.experiments.exchange_file import FORMAT, RunRecord, check_figures, read_file
from starcast.experiments.execution import execute, price_run
from starcast.experiments.point import Point
from starcast.support.errors import InputError, RejectedError, StarcastError
from support.experiments import make_point

GRID = Grid({
    "topology": "S3", "algorithm": ["multiple", "forest(base=greedy)"], "segments": 2,
    "message_bytes": ["23/3"], "execution": ["synchronous", "asynchronous"],
    "faults": ["none", "213"],
})  # fmt: skip


def record(point: Point) -> dict[str, Any]:
    """Execute an experiment point and return its run in the form that is stored in a file."""
    execution = execute(point)
    run = price_run(point, execution)
    return RunRecord.of(run, execution.profile).model_dump(mode="json")


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
    """Write an experiment file, and return its path."""
    file = folder / "file.json"
    file.write_text(json.dumps(content))
    return file


GONE = object()


def put(content: Any, path: str, value: Any) -> None:
    """Set a value in the content of a file.

    The value GONE deletes the old value. A function computes the new value from the old value.

    In the path, ``experiment`` stands for the first experiment, ``run`` for its first run, and a
    kind of cost, such as ``simulated``, for the cost of this kind.
    """
    short = {"experiment": "experiments.0", "run": "experiments.0.runs.0"}
    first, dot, rest = path.partition(".")
    *parents, last = (short.get(first, first) + dot + rest).split(".")
    for key in parents:
        if key in ("simulated", "closed form", "lower bound"):
            content = next(each for each in content["costs"] if each["kind"] == key)
        else:
            content = content[int(key) if key.isdecimal() else key]
    place = int(last) if last.isdecimal() else last
    if value is GONE:
        del content[place]
    else:
        content[place] = value(content[place]) if callable(value) else value


def twice(items: list[Any]) -> list[Any]:
    """Return a list with a copy of its first item at the end."""
    return [*items, items[0]]


def test_an_experiment_file_is_read_back_unchanged_even_if_compressed_or_indented(
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


def beat_the_bound(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run whose numbers agree with each other but are below the lower bound."""
    profile = run["profile"][:1]
    sent = profile[0][2] * Fraction(run["message_bytes"]) / 4  # 2 trees with 2 segments each
    time = Fraction(run["t_s"]) + sent * Fraction(run["t_c"])
    figures = {"steps": 1, "start_ups": "1", "bytes": str(sent), "time": str(time)}
    changed = {"simulated": {**figures, "transmissions": 2}}
    costs = [each | changed.get(each["kind"], {}) for each in run["costs"]]
    return {**run, "profile": profile, "costs": costs}


#: For each case: the path of a value in a file, the new value, and a part of the error message.
CONTRADICTIONS: list[tuple[str, Any, str]] = [
    ("run.simulated.time", "1", "simulated, time is 1"),
    ("experiment.runs.0", beat_the_bound, "below the bound"),
    ("run.simulated.steps", 1, "simulated, steps is 1"),
    ("run.simulated.start_ups", "1", "start_ups is 1"),
    ("run.simulated.bytes", "7", "bytes is 7"),
    ("run.simulated.bytes", None, "no start-ups or bytes"),
    ("run.simulated.transmissions", 1, "transmissions is 1"),
    ("run.simulated.transmissions", 10**6, "transmissions is 1000000"),
    ("run.closed form.time", "1", "closed form, time"),
    ("run.closed form.steps", None, "steps is nothing"),
    ("run.lower bound.time", "1", "lower bound, time is 1"),
    ("run.lower bound.bytes", "1/7", "lower bound, bytes"),
    ("run.missing", 3, "missing units is 3"),
    ("run.profile", [], "simulated, steps"),
    ("run.profile.0.0", 9, "a step cannot have 9 links"),
    ("run.profile.0.2", 0, "up to 0 units"),
]


@pytest.mark.parametrize(("path", "value", "words"), CONTRADICTIONS)
def test_a_run_with_contradictory_numbers_is_refused_with_a_one_line_message(
    written: dict[str, Any], tmp_path: Path, path: str, value: Any, words: str
) -> None:
    content = copy.deepcopy(written)
    put(content, path, value)
    with pytest.raises(RejectedError, match=words) as refused:
        read_file(write(tmp_path, content))
    assert "\n" not in refused.value.message
    assert refused.value.hint


FAILED = {"status": "failed", "error": "it failed", "costs": []}

#: For each case: the path of a value in a file, the new value, and a part of the error message.
INVALID: list[tuple[str, Any, str]] = [
    ("format", "starcast experiments 2", "starcast reads 'starcast experiments 1'"),
    ("format", GONE, "format: Field required"),
    ("experiments", GONE, "experiments: Field required"),
    ("experiments", twice, "two experiments have the same name"),
    ("more", 1, "more"),
    ("experiment.runs", GONE, "runs: Field required"),
    ("experiment.runs", [], "the experiment has no runs"),
    ("experiment.runs", twice, "two runs have the same parameters"),
    ("experiment.name", "../x", "not a valid name"),
    ("experiment.grid", {"topology": "S99"}, "the grid has no"),
    ("experiment.points", 3, f"the grid has {len(GRID.points())} points, but 'points' is 3"),
    ("experiments.0", lambda each: {**each, "points": 3, "grid": {}}, "but only 3 points"),
    ("run.message_bytes", "65", "the grid does not contain the run"),
    ("run.topology", "NONSENSE", "unknown topology"),
    ("run.algorithm", "nonsense", "unknown broadcast"),
    ("run.faults", ["99999"], "99999"),
    ("run.messages", 7, "has messages = 7"),
    ("run.t_s", "1/0", "t_s: not a nonnegative rational number"),
    ("run.t_s", "9" * 5_000, "not a nonnegative rational number"),
    ("run.status", "failed", "the status of a run does not match"),
    ("run.error", "it failed", "the status of a run does not match"),
    ("run.costs", [], "the status of a run does not match"),
    ("run.costs.0.time", "-1", "costs.0.time"),
    ("run.costs.0", GONE, "the status of a run does not match"),
    ("run.costs", twice, "the status of a run does not match"),
    ("run.profile", [[1, 2]], "profile.0"),
    ("experiment.runs.0", lambda run: {**run, **FAILED}, "a failed run cannot have a step profile"),
    ("run.timings.build", float("nan"), "NaN is not a valid JSON number"),
    ("run.provenance.host", "a\0b", "NUL character"),
    ("run.provenance.host", "\ud800", "surrogates"),
    ("run.started_at", "0001-01-01T00:00:00Z", "started"),
    ("run.started_at", "2026-11-22T12:00:00", "started"),
    ("experiment.runs.0", lambda run: run | {str(n): 1 for n in range(100)}, "64 keys"),
]


@pytest.mark.whole
@pytest.mark.parametrize(("path", "value", "words"), INVALID)
def test_an_invalid_experiment_file_is_refused_with_a_one_line_message(
    written: dict[str, Any], tmp_path: Path, path: str, value: Any, words: str
) -> None:
    content = copy.deepcopy(written)
    put(content, path, value)
    with pytest.raises(InputError, match=re.escape(words)) as refused:
        read_file(write(tmp_path, content))
    assert "is not a valid experiment file: " in refused.value.message
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
def test_an_experiment_file_with_an_invalid_structure_is_refused(
    written: dict[str, Any], tmp_path: Path, old: str, new: str, words: str
) -> None:
    file = write(tmp_path, written)
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        read_file(file)


@pytest.mark.parametrize(
    ("collective", "spec"),
    [
        *((collective, "S3") for collective in REGISTRIES),
        *(("broadcast", "S4,2"), ("allgather", "S4,2"), ("broadcast", "Q2")),
    ],
)
def test_the_check_of_experiment_files_accepts_runs_that_starcast_executed(
    collective: str, spec: str
) -> None:
    """Every algorithm is executed in both execution models, with and without faults."""
    accepted = 0
    for algorithm, ports, execution, (segments, size), faults in product(
        REGISTRIES[collective],
        ("all", "one"),
        ("synchronous", "asynchronous"),
        ((1, Fraction(0)), (3, Fraction(23, 3))),
        ((), ("213",)) if spec == "S3" else ((),),
    ):
        try:
            point = make_point(
                spec, collective, algorithm, ports, segments, size, 100, Fraction(1, 7),
                faults=faults, execution=execution,
            )  # fmt: skip
        except StarcastError:
            continue
        check_figures(point, RunRecord.model_validate(record(point)))
        accepted += 1
    assert accepted >= 4
