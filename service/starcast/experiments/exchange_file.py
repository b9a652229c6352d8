"""The format of experiment files, and the functions that read and check them.

Everything in a file is checked like user input: names, grids and points must be valid, the runs
must belong to the grids, and their figures must agree with the papers' formulas and the lower
bounds. Runs are parsed one at a time, so reading a file takes little more memory than its text.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self, overload

import pydantic

from starcast import costs
from starcast.catalogue.origin import find_changed
from starcast.experiments.design import Design, check_name
from starcast.experiments.execution import bound_cost, formula_costs
from starcast.experiments.point import Point
from starcast.experiments.run_records import MAX_KEYS, CostRecord, Moment, RunRecord, StrictRecord
from starcast.support.errors import InputError, LimitError, RejectedError, StarcastError
from starcast.support.limited import MB, read_bytes
from starcast.support.limited_json import JsonCursor
from starcast.topologies import as_topology, count_nodes

FORMAT: Literal["starcast experiments 1"] = "starcast experiments 1"
#: Maximum size of a decompressed file in bytes, enough for more than 100 000 runs.
_MAX_BYTES = 160 * MB
_MAX_RUNS = 500_000
_MAX_EXPERIMENTS = 10_000


class _Header(StrictRecord):
    """The fields of an experiment in a file, without its runs."""

    name: str
    grid: dict[str, Any]
    points: Annotated[int, pydantic.Field(ge=1)] | None
    created_at: Moment


class ExperimentRecord(_Header):
    """An experiment as written to a file."""

    runs: list[RunRecord]


class _FileHeader(StrictRecord):
    format: Literal["starcast experiments 1"]
    created_at: Moment
    starcast: str


class FileRecord(_FileHeader):
    """The content of an experiment file."""

    experiments: list[ExperimentRecord]


@dataclass(frozen=True)
class IncomingExperiment:
    """An experiment that was read and checked.

    Attributes:
        name: the name of the experiment.
        grid: its design as JSON values; empty for single runs.
        points: the number of points in the design; None for single runs.
        created_at: when the experiment was created.
        runs: its runs. Runs in a file are parsed again whenever they are needed.
    """

    name: str
    grid: dict[str, Any]
    points: int | None
    created_at: datetime
    runs: Sequence[RunRecord]

    def check(self) -> Self:
        """Check that the experiment could have been stored by this version of starcast.

        Raises:
            RejectedError: the figures of a run contradict formulas, bounds or each other.
            StarcastError: a name, a grid or a point is not valid.
            pydantic.ValidationError: a run does not match the schema.
        """
        check_name(self.name)
        allowed = self._design_points()
        seen = set()
        for run in self.runs:
            point = run.point
            if point in seen:
                raise InputError("it holds two runs of the same point")
            seen.add(point)
            if allowed is not None and point not in allowed:
                raise InputError(f"its grid has no point with the command '{point.command()}'")
            self._check_source(run)
            check_figures(point, run)
        if not seen:
            raise InputError("it has no runs")
        if self.points is not None and len(seen) > self.points:
            raise InputError(f"it has {len(seen)} runs, but only {self.points} points")
        return self

    def _check_source(self, run: RunRecord) -> None:
        """Check that loaded plug-ins have the same source code as when the run was executed."""
        if changed := find_changed(run.provenance.get("plugins", {})):
            raise RejectedError(
                f"a run was made with another version of the plug-in that defines '{changed[0]}'"
            )

    def _design_points(self) -> set[Point] | None:
        """Return the points of the grid, or None if there is no grid or a plug-in is missing."""
        if not self.grid or any(run.needs_plugin for run in self.runs):
            return None
        points = set(Design.from_json(self.grid).points())
        if self.points not in {None, len(points)}:
            raise InputError(f"its grid has {len(points)} points, but it states {self.points}")
        return points


class _Runs(Sequence[RunRecord]):
    """The runs of an experiment in a file. Only their text is kept; a run is parsed on access."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._places = array("q")

    def add(self, start: int, end: int) -> None:
        """Add the run whose JSON text lies in the given range of bytes."""
        if len(self) == _MAX_RUNS:
            raise LimitError(
                f"an experiment in the file holds more than {_MAX_RUNS:,} runs",
                hint="export fewer experiments",
            )
        self._places.extend((start, end))

    def __len__(self) -> int:
        return len(self._places) // 2

    @overload
    def __getitem__(self, place: int) -> RunRecord: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RunRecord]: ...
    def __getitem__(self, place: int | slice) -> RunRecord | Sequence[RunRecord]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        if not 0 <= place < len(self):
            raise IndexError(place)
        start, end = self._places[2 * place : 2 * place + 2]
        return RunRecord.model_validate(JsonCursor(self._data[start:end]).value())


def read_file(file: Path) -> list[IncomingExperiment]:
    """Read the experiments of a file, and check everything in it.

    Raises:
        InputError: the file cannot be read or is not valid.
        RejectedError: the figures of a run contradict formulas, bounds or each other.
        LimitError: the file is larger than any experiment file can be.
    """
    try:
        data = read_bytes(file, _MAX_BYTES)
    except ValueError as error:
        raise invalid(file, str(error)) from None
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {(error.strerror or str(error)).lower()}",
            hint="name a file that 'starcast experiment export' has written",
        ) from None
    try:
        return _read_experiments(file, JsonCursor(data))
    except pydantic.ValidationError as error:
        raise invalid(file, describe(error)) from None
    except ValueError as error:
        raise invalid(file, str(error)) from None
    except LimitError as error:
        raise LimitError(f"{file} cannot be imported: {error.message}", hint=error.hint) from None


def read_records(
    name: str, design: Design, records: Sequence[Mapping[str, Any]]
) -> IncomingExperiment:
    """Build an experiment from the JSON values of its runs, and check it.

    Args:
        name: the name of the experiment.
        design: the design with its points.
        records: the runs as JSON values.

    Raises:
        InputError: a run is damaged, or does not belong to the design.
        RejectedError: the figures of a run contradict formulas, bounds or each other.
    """
    try:
        runs = [RunRecord.model_validate(record) for record in records]
    except pydantic.ValidationError as error:
        raise InputError(
            f"a run is damaged: {describe(error)}", hint="run the shards again"
        ) from None
    if not runs:
        raise InputError("the shards hold no runs", hint="run the shards again")
    created_at = min(run.started_at for run in runs)
    points = len(design.points())
    experiment = IncomingExperiment(name, design.as_json(), points, created_at, runs)
    try:
        return experiment.check()
    except InputError as error:
        raise InputError(
            f"the shards of '{name}' are not valid: {error.message}", hint="run the shards again"
        ) from None


def _read_experiments(file: Path, cursor: JsonCursor) -> list[IncomingExperiment]:
    fields: dict[str, Any] = {}
    experiments: list[IncomingExperiment] = []
    for key in cursor.members():
        if key in fields:
            raise ValueError(f"the key '{key}' is given twice")
        if key != "experiments":
            fields[key] = _few_fields(fields, cursor.value())
            if key == "format" and fields[key] != FORMAT:
                raise ValueError(f"its format is {fields[key]!r}; this version reads '{FORMAT}'")
            continue
        fields[key] = None
        for _ in cursor.items():
            if len(experiments) == _MAX_EXPERIMENTS:
                raise LimitError(
                    f"the file holds more than {_MAX_EXPERIMENTS:,} experiments",
                    hint="export fewer experiments",
                )
            experiments.append(_checked(file, _read_experiment(cursor)))
    cursor.end()
    if "experiments" not in fields:
        raise ValueError("experiments: Field required")
    del fields["experiments"]
    _FileHeader.model_validate(fields)
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise ValueError("two experiments have the same name")
    return experiments


def _read_experiment(cursor: JsonCursor) -> IncomingExperiment:
    fields: dict[str, Any] = {}
    runs: _Runs | None = None
    for key in cursor.members():
        if key == "runs" and runs is None:
            runs = _Runs(cursor.data)
            for _ in cursor.items():
                cursor.skip_blanks()
                start = cursor.position
                cursor.value()
                runs.add(start, cursor.position)
            continue
        if key in fields or key == "runs":
            raise ValueError(f"the key '{key}' is given twice")
        fields[key] = _few_fields(fields, cursor.value())
    header = _Header.model_validate(fields)
    if runs is None:
        raise ValueError("runs: Field required")
    return IncomingExperiment(**dict(header), runs=runs)


def _few_fields(fields: dict[str, Any], value: Any) -> Any:
    """Return the value of a new field, after checking that the object does not have too many."""
    if len(fields) >= MAX_KEYS:
        raise ValueError(f"more than {MAX_KEYS} keys")
    return value


def _checked(file: Path, experiment: IncomingExperiment) -> IncomingExperiment:
    subject = f"experiment '{experiment.name}'"
    try:
        return experiment.check()
    except RejectedError as error:
        raise RejectedError(
            f"{subject} in {file}: {error.message}",
            hint="nothing was stored; ask for the file again, or run the experiment here",
        ) from None
    except StarcastError as error:
        raise invalid(file, f"{subject}: {error.message}") from None


def describe(error: pydantic.ValidationError) -> str:
    """Return the first reason why a record is not valid, with the place in the record."""
    details = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, details["loc"]))
    reason = details["msg"].removeprefix("Value error, ")
    return f"{place}: {reason}" if place else reason


def invalid(file: Path, reason: str) -> InputError:
    """Return the error that reports why a file is not valid."""
    return InputError(
        f"{file} is not a valid file of experiments: {reason}",
        hint="name a file that 'starcast experiment export' has written; nothing was stored",
    )


def iterate(experiments: Sequence[IncomingExperiment]) -> Iterator[tuple[str, RunRecord]]:
    """Yield every run of the experiments, together with the name of its experiment."""
    for experiment in experiments:
        for run in experiment.runs:
            yield experiment.name, run


# Checking the figures of runs computed elsewhere, without executing them
#
# The closed form and the lower bound of a point are computed again. The simulated figures must
# follow from the step profile and the unit size. Without faults, no schedule can be better than the
# lower bound.


_FIGURES = ("steps", "start_ups", "transmissions", "bytes", "time")
#: The figures that have lower bounds, which hold for executions without faults.
_BOUNDED = ("steps", "transmissions", "time")


def check_figures(point: Point, run: RunRecord) -> None:
    """Check that the figures of a run agree with the formulas, the bounds and each other.

    Args:
        point: the point of the run.
        run: the run.

    Raises:
        InputError: the run has costs, a profile or an error that do not fit its status.
        RejectedError: a figure contradicts a formula, a bound or another figure.
    """
    stated: dict[str, CostRecord] = {cost.kind: cost for cost in run.costs}
    formulas = _known_costs(point, run, stated.get("lower bound")) if run.costs else {}
    complete = run.status == "complete"
    kinds = sorted([*formulas, "simulated"]) if complete else []
    if complete == bool(run.error) or sorted(cost.kind for cost in run.costs) != kinds:
        raise InputError("a run has costs or an error message that contradict its status")
    if not complete:
        if run.profile:
            raise InputError("a failed run cannot have a profile")
        return
    judge = _Judge(point)
    for kind, formula in formulas.items():
        for name in _FIGURES:
            judge.compare(f"{kind}, {name}", getattr(stated[kind], name), getattr(formula, name))
    judge.check_simulated(stated["simulated"], run.profile)
    if not point.faults:
        judge.compare("missing units", run.missing, 0)
        judge.check_bound(stated["simulated"], formulas["lower bound"])


def _known_costs(
    point: Point, run: RunRecord, bound: CostRecord | None
) -> Mapping[str, costs.Cost | CostRecord]:
    """Return the costs that can be computed without an execution, by kind.

    These are the closed form and the lower bound. An algorithm of a plug-in has only the lower
    bound. If the plug-in is not loaded, it is unknown whether the algorithm takes messages; the
    lower bound in the run shows it. If the topology is defined by the plug-in too, its bound cannot
    be computed, so the given bound is returned.
    """
    if not run.needs_plugin:
        return formula_costs(point)
    if bound is None or not count_nodes(point.topology):
        return {"lower bound": bound} if bound else {}
    return {"lower bound": bound_cost(point, takes_messages=bound.transmissions is not None)}


class _Judge:
    """Checks of the figures of a point, which raise `RejectedError` for a contradiction."""

    def __init__(self, point: Point) -> None:
        self._point = point

    def compare(self, figure: str, stated: object, expected: object) -> None:
        """Reject the run if one of its figures differs from the expected value."""
        if stated != expected:
            self._reject(f"{figure} is {_shown(stated)} and must be {_shown(expected)}")

    def check_simulated(self, cost: CostRecord, profile: Sequence[tuple[int, ...]]) -> None:
        """Check the simulated figures, which follow from the step profile and the unit size."""
        packets = sum(row[1] for row in profile)
        largest = sum(row[2] for row in profile)
        # A packet has at least one unit, and no more units than the largest packet of its step.
        most_units = sum(row[1] * row[2] for row in profile)
        for links, sent, units in profile:
            # A busy link carries one packet in a step, so there are as many packets as busy links.
            if links != sent or (sent == 0) != (units == 0):
                self._reject(
                    f"a step cannot have {links} links with {sent} packets of up to {units} units"
                )
        self.compare("simulated, steps", cost.steps, len(profile))
        if cost.transmissions is None or not packets <= cost.transmissions <= most_units:
            self._reject(
                f"simulated, transmissions is {_shown(cost.transmissions)}, but its profile allows"
                f" only {packets} to {most_units}"
            )
        if cost.start_ups is None or cost.bytes is None:
            self._reject("its execution has no start-ups or bytes")
        if self._point.execution == "synchronous":
            self.compare("simulated, start_ups", cost.start_ups, len(profile))
            self._check_bytes(cost.bytes, largest)
        time = cost.start_ups * self._point.t_s + cost.bytes * self._point.t_c
        self.compare("simulated, time", cost.time, time)

    def check_bound(self, cost: CostRecord, bound: costs.Cost | CostRecord) -> None:
        """Reject the run if one of its figures is smaller than the lower bound."""
        for name in _BOUNDED:
            least, stated = getattr(bound, name), getattr(cost, name)
            if least is not None and stated < least:
                self._reject(
                    f"simulated, {name} is {_shown(stated)}, below the bound {_shown(least)}"
                )

    def _check_bytes(self, stated: Fraction, units: int) -> None:
        """Check the bytes of a number of units; all units are equal parts of the message."""
        point = self._point
        if (point.collective, point.algorithm) in costs.FORMS:
            unit = costs.unit_bytes(
                as_topology(point.topology),
                point.collective,
                point.algorithm,
                point.message_bytes,
                **point.arguments,
            )
            self.compare("simulated, bytes", stated, units * unit)
            return
        # Without a closed form, the unit size is unknown, but it must divide the message size.
        sent = units * point.message_bytes
        if (stated == 0) != (sent == 0) or (stated and (sent / stated).denominator != 1):
            self._reject(f"simulated, bytes is {_shown(stated)}, not a multiple of a unit")

    def _reject(self, contradiction: str) -> NoReturn:
        raise RejectedError(
            f"a run with the command '{self._point.command()}' contradicts itself or a formula:"
            f" {contradiction}",
            hint="nothing was stored; to check the run, repeat it on this machine with the command"
            " above",
        )


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)
