"""The format of experiment files, and the functions that read and check them.

Everything in a file is checked like user input: names, grids and parameters of runs must be valid,
the runs must belong to the grids, and their results must agree with the papers' formulas and the
lower bounds. Runs are parsed one at a time, so reading a file takes little more memory than the
file's size.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic

from starcast import costs
from starcast.catalogue.plugins import find_changed, find_missing
from starcast.collectives.algorithm import REGISTRIES
from starcast.experiments.design import Design, check_name
from starcast.experiments.execution import bound_cost, formula_costs
from starcast.experiments.point import Point
from starcast.judges.simulator.simulation import Profile
from starcast.support.axes import AXES, POINT_AXES, Axis
from starcast.support.errors import InputError, LimitError, RejectedError, StarcastError, unreadable
from starcast.support.json_files import (
    MAX_KEYS,
    Count,
    JsonCursor,
    Moment,
    StrictRecord,
    check_keys,
    describe_error,
)
from starcast.support.limited import MB, read_bytes
from starcast.support.runs import FIGURES, RUN_FIELDS, Run, RunCost
from starcast.support.text import pluralize
from starcast.support.vocabulary import MAX_NAME, parse_spec
from starcast.topologies import as_topology, count_nodes
from starcast.topologies.network_records import NetworkRecord
from starcast.topologies.networks import find_network
from starcast.trees.construction import CONSTRUCTIONS

_BIGINT = 2**63 - 1
_RATIONAL = re.compile(r"\d{1,200}(/[1-9]\d{0,200})?", re.ASCII)


def _read_rational(value: object) -> Fraction:
    # `RunRecord.of` passes the fractions of a stored run. In files, rational numbers are strings.
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise ValueError("not a nonnegative rational number, written as a string such as '23/3'")
    return Fraction(value)


def _check_plugins(provenance: dict[str, Any]) -> dict[str, Any]:
    _PLUGINS.validate_python(provenance.get("plugins", {}))
    return provenance


_Rational = Annotated[
    Fraction,
    pydantic.PlainValidator(_read_rational),
    pydantic.PlainSerializer(str),
]


class _Plugin(StrictRecord):
    """A plug-in that was used to execute a run."""

    module: str
    version: str
    sha256: Annotated[str, pydantic.Field(pattern=r"^([0-9a-f]{64})?$")]


class CostRecord(StrictRecord):
    """A cost of a run: closed form, simulated cost, or lower bound."""

    kind: Literal["closed form", "simulated", "lower bound"]
    steps: Count | None
    start_ups: _Rational | None
    transmissions: Count | None
    bytes: _Rational | None
    time: _Rational
    source: str


_PLUGINS = pydantic.TypeAdapter(Annotated[dict[str, _Plugin], pydantic.BeforeValidator(check_keys)])


def _axis_field(axis: Axis) -> tuple[Any, Any]:
    """Return the type and the default of the field that `RunRecord` has for an axis.

    A field with a default is optional: files written by versions without the axis lack it.
    """
    kinds: dict[Any, Any] = {
        Fraction: _Rational,
        int: Annotated[int, pydantic.Field(ge=axis.least, le=2 ** (axis.bits - 1) - 1)],
        # With FailFast, validation stops at the first invalid element; otherwise a long list could
        # cause as many errors as it has elements.
        Sequence[str]: Annotated[list[str], pydantic.FailFast()],
    }
    kind = Literal[axis.words] if axis.words else kinds.get(axis.type, axis.type)
    return kind, axis.usual if axis.has_usual else ...


if TYPE_CHECKING:
    _Axes = StrictRecord
else:
    # The class needs a field for each axis in `AXES`, so the class is created dynamically.
    _Axes = pydantic.create_model(
        "_Axes",
        __base__=StrictRecord,
        **{name: _axis_field(axis) for name, axis in AXES.items()},
    )


class RunRecord(_Axes):
    """A run in an experiment file, with its costs and its step profile."""

    message_units: Annotated[int, pydantic.Field(ge=1, le=_BIGINT)] | None = None
    missing: Count
    status: Literal["complete", "failed"]
    error: str | None
    timings: Annotated[dict[str, float], pydantic.BeforeValidator(check_keys)]
    provenance: Annotated[dict[str, Any], pydantic.AfterValidator(_check_plugins)]
    started_at: Moment
    finished_at: Moment
    costs: Annotated[list[CostRecord], pydantic.FailFast()]
    #: One row per step: links used, packets sent, and units in the largest packet.
    profile: Annotated[list[tuple[Count, Count, Count]], pydantic.FailFast()]

    @classmethod
    def of(cls, run: Run, profile: Profile) -> Self:
        """Return the record of a run and its step profile."""
        values = {name: getattr(run, name) for name in RUN_FIELDS}
        values |= {"costs": run.costs, "profile": profile}
        return cls.model_validate(values, from_attributes=True)

    @property
    def run(self) -> Run:
        """The run as a `Run`, which has no step profile."""
        values = {name: getattr(self, name) for name in RUN_FIELDS}
        return Run(**values, costs=tuple(RunCost(**dict(cost)) for cost in self.costs))

    @property
    def point(self) -> Point:
        """The parameters of the run as a `Point`, which is checked unless `needs_plugin` is true.

        Raises:
            StarcastError: a name or a number in the point is invalid.
        """
        if self.needs_plugin:
            return Point.of(self)
        point = Point(**{axis: getattr(self, axis) for axis in POINT_AXES})
        for axis in AXES.keys() - set(POINT_AXES):
            value = getattr(self, axis)
            if value != getattr(point, axis):
                raise InputError(
                    f"a run of {point.algorithm} has {axis} = {value}, but its other parameters"
                    f" require {getattr(point, axis)}"
                )
        return point

    @property
    def needs_plugin(self) -> bool:
        """Whether a plug-in that is not loaded defines the run's topology, algorithm or base.

        Raises:
            StarcastError: the algorithm is malformed; it must be a name, optionally with arguments
                in parentheses.
        """
        point = Point.of(self)
        is_known = (
            count_nodes(point.topology) > 0
            and parse_spec(point.algorithm, "algorithm")[0] in REGISTRIES[point.collective]
            and (point.base is None or point.base in CONSTRUCTIONS)
        )
        return not is_known and bool(find_missing(self.provenance.get("plugins", {})))


FORMAT: Literal["starcast experiments 1"] = "starcast experiments 1"
#: Maximum size of a decompressed file in bytes, enough for more than 100 000 runs.
_MAX_BYTES = 160 * MB
_MAX_RUNS = 500_000
_MAX_EXPERIMENTS = 10_000


class ExperimentRecord(StrictRecord):
    """An experiment in a file.

    Attributes:
        name: the name of the experiment.
        grid: the design as JSON values; empty if the experiment consists of single runs.
        points: the number of points in the design; None for single runs.
        created_at: the time at which the experiment was created.
        runs: the runs of the experiment. Runs in a file are parsed again whenever they are needed.
    """

    name: str
    grid: dict[str, Any]
    points: Annotated[int, pydantic.Field(ge=1)] | None
    created_at: Moment
    # The list is not validated, because that would keep all parsed runs in memory; `check`
    # validates each run.
    runs: pydantic.SkipValidation[Sequence[RunRecord]]

    def check(self) -> None:
        """Check that the experiment could have been stored by this version of starcast.

        Raises:
            RejectedError: the results of a run contradict formulas, bounds or each other, or a
                loaded plug-in differs from the plug-in that the run used.
            StarcastError: a name, a grid or a parameter of a run is invalid, there are no runs, or
                the runs do not match the grid.
            pydantic.ValidationError: a run does not match the schema.
        """
        # Only the beginning of a long name is checked, because earlier versions allowed longer
        # names, and an import can replace the name.
        check_name(self.name[:MAX_NAME])
        allowed = self._design_points()
        seen = set()
        for run in self.runs:
            point = run.point
            if point in seen:
                raise InputError("two runs have the same parameters")
            seen.add(point)
            if allowed is not None and point not in allowed:
                raise InputError(f"the grid does not contain the run '{point.command()}'")
            if changed := find_changed(run.provenance.get("plugins", {})):
                raise RejectedError(
                    "a run was made with another version of the plug-in that defines"
                    f" '{changed[0]}'"
                )
            check_figures(point, run)
        if not seen:
            raise InputError("the experiment has no runs")
        if self.points is not None and len(seen) > self.points:
            runs, points = pluralize(len(seen), "run"), pluralize(self.points, "point")
            raise InputError(f"the experiment has {runs}, but only {points}")

    def _design_points(self) -> set[Point] | None:
        """Return the points of the grid, or None if there is no grid or a run needs a plug-in."""
        if not self.grid or any(run.needs_plugin for run in self.runs):
            return None
        points = set(Design.from_json(self.grid).points())
        if self.points not in {None, len(points)}:
            count = pluralize(len(points), "point")
            raise InputError(f"the grid has {count}, but 'points' is {self.points}")
        return points


class FileRecord(StrictRecord):
    """The content of an experiment file.

    Attributes:
        format: the kind of file and the version of its format.
        created_at: the time at which the file was written.
        starcast: the version of starcast that wrote the file.
        networks: the networks on which runs were executed.
        experiments: the experiments in the file.
    """

    format: Literal["starcast experiments 1"]
    created_at: Moment
    starcast: str
    # The networks come before the runs, because runs are checked while the file is read, and the
    # check needs the networks.
    networks: list[NetworkRecord] = pydantic.Field(default_factory=list)
    experiments: list[ExperimentRecord]


class _Runs(Sequence[RunRecord]):
    """The runs of an experiment in a file, kept as JSON text; each run is parsed when accessed."""

    def __init__(self, cursor: JsonCursor) -> None:
        self._data, self._starts, self._ends = cursor.data, array("q"), array("q")
        for _ in _limited(cursor.items(), _MAX_RUNS, "an experiment in the file", "runs"):
            cursor.skip_blanks()
            self._starts.append(cursor.position)
            cursor.value()
            self._ends.append(cursor.position)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: Any) -> Any:  # `place` is never a slice
        cursor = JsonCursor(self._data[self._starts[place] : self._ends[place]])
        return RunRecord.model_validate(cursor.value())


def read_file(file: Path) -> list[ExperimentRecord]:
    """Read the experiments of a file, and check everything in the file.

    Raises:
        InputError: the file cannot be read or is invalid.
        RejectedError: the results of a run contradict formulas, bounds or each other, or a loaded
            plug-in differs from the plug-in that the run used.
        LimitError: the file, or a list in the file, exceeds the limits of experiment files.
    """
    try:
        data = read_bytes(file, _MAX_BYTES)
    except ValueError as error:
        raise invalid(file, str(error)) from None
    except OSError as error:
        hint = "name a file that 'starcast experiment export' has written"
        raise unreadable(file, error, hint) from None
    try:
        return _read_experiments(file, JsonCursor(data))
    # Errors of pydantic are ValueErrors too.
    except ValueError as error:
        raise invalid(file, describe_error(error)) from None
    except LimitError as error:
        raise LimitError(f"{file} cannot be imported: {error.message}", hint=error.hint) from None


def _read_experiments(file: Path, cursor: JsonCursor) -> list[ExperimentRecord]:
    def read_format() -> Any:
        value = cursor.value()
        if value != FORMAT:
            raise ValueError(
                f"the format is {value!r}, but this version of starcast reads '{FORMAT}'"
            )
        return value

    def read_list() -> list[ExperimentRecord]:
        numbers = _limited(cursor.items(), _MAX_EXPERIMENTS, "the file", "experiments")
        return [_read_experiment(file, cursor) for _ in numbers]

    def read_networks() -> list[NetworkRecord]:
        networks = pydantic.TypeAdapter(list[NetworkRecord]).validate_python(cursor.value())
        for network in networks:
            try:
                network.restore()
            except StarcastError as error:
                raise invalid(file, error.message) from None
        return networks

    readers = {"format": read_format, "networks": read_networks, "experiments": read_list}
    fields = _read_object(cursor, readers)
    cursor.end()
    experiments = FileRecord.model_validate(fields).experiments
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise ValueError("two experiments have the same name")
    return experiments


def _read_experiment(file: Path, cursor: JsonCursor) -> ExperimentRecord:
    fields = _read_object(cursor, {"runs": lambda: _Runs(cursor)})
    experiment = ExperimentRecord.model_validate(fields)
    subject = f"experiment '{experiment.name}'"
    try:
        experiment.check()
    except RejectedError as error:
        raise RejectedError(
            f"{subject} in {file}: {error.message}",
            hint="export the file again, or run the experiment on this machine; nothing was stored",
        ) from None
    except StarcastError as error:
        raise invalid(file, f"{subject}: {error.message}") from None
    return experiment


def _read_object(cursor: JsonCursor, readers: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Return the fields of the JSON object at the cursor.

    Args:
        cursor: the position in the text.
        readers: functions that read the values of some fields, keyed by field name. All other
            values are read as plain JSON.
    """
    fields: dict[str, Any] = {}
    for key in cursor.members():
        if key in fields:
            raise ValueError(f"the key '{key}' is given twice")
        if len(fields) == MAX_KEYS:
            raise ValueError(f"an object has more than {MAX_KEYS} keys")
        fields[key] = readers.get(key, cursor.value)()
    return fields


def _limited(items: Iterator[None], most: int, owner: str, noun: str) -> Iterator[None]:
    """Yield the items of an iterator, and raise a LimitError if there are too many.

    Args:
        items: an iterator that yields None before each element of a list in the file.
        most: the maximum number of elements.
        owner: the name of the object that contains the list, for the error message.
        noun: the plural noun for the elements, for the error message.
    """
    for number, _ in enumerate(items):
        if number == most:
            raise LimitError(
                f"{owner} has more than {most:,} {noun}", hint="export fewer experiments"
            )
        yield


def invalid(file: Path, reason: str) -> InputError:
    """Return the error for an invalid experiment file."""
    return InputError(
        f"{file} is not a valid experiment file: {reason}",
        hint="name a file that 'starcast experiment export' has written; nothing was stored",
    )


# Results of runs that were computed elsewhere are checked without executing the runs. The closed
# form and the lower bound are computed again. The simulated costs must agree with the step profile
# and the unit size. Without faults, the simulated costs in `_BOUNDED` cannot be less than the lower
# bound.

#: The simulated costs that cannot be less than the lower bound, unless there are faults.
_BOUNDED = ("steps", "transmissions", "time")


def check_figures(point: Point, run: RunRecord) -> None:
    """Check that the results of a run agree with the formulas, the bounds and each other.

    Args:
        point: the parameters of the run.
        run: the run in the file.

    Raises:
        InputError: a failed run has costs or a step profile, or lacks an error; or a complete run
            has an error, or other kinds of cost than expected.
        RejectedError: a result contradicts a formula, a bound or another result.
    """
    stated: dict[str, CostRecord] = {cost.kind: cost for cost in run.costs}
    formulas = _known_costs(point, run, stated.get("lower bound")) if run.costs else {}
    complete = run.status == "complete"
    kinds = sorted([*formulas, "simulated"]) if complete else []
    if complete == bool(run.error) or sorted(cost.kind for cost in run.costs) != kinds:
        raise InputError("the status of a run does not match its costs or its error message")
    if not complete:
        if run.profile:
            raise InputError("a failed run cannot have a step profile")
        return
    if contradiction := next(_find_contradictions(point, run, stated, formulas), None):
        raise RejectedError(
            f"the run '{point.command()}' has inconsistent figures: {contradiction}",
            hint="repeat the run on this machine with the command above; nothing was stored",
        )


def _known_costs(
    point: Point, run: RunRecord, bound: CostRecord | None
) -> Mapping[str, costs.Cost | CostRecord]:
    """Return the costs that can be computed without an execution, keyed by kind of cost.

    These are the lower bound and, if one is defined, the closed form. If the run needs a plug-in
    that is not loaded, the result contains only a lower bound, or is empty if the file has no lower
    bound. To compute this bound, the algorithm is assumed to send unit messages if the bound in the
    file includes transmissions. If the topology is unknown too, the bound in the file is returned.

    Args:
        point: the parameters of the run.
        run: the run in the file.
        bound: the run's lower bound in the file; None if the file has no bound.
    """
    if not run.needs_plugin:
        return formula_costs(point)
    if bound is None or not count_nodes(point.topology):
        return {"lower bound": bound} if bound else {}
    return {"lower bound": bound_cost(point, takes_messages=bound.transmissions is not None)}


def _find_contradictions(
    point: Point,
    run: RunRecord,
    stated: Mapping[str, CostRecord],
    formulas: Mapping[str, costs.Cost | CostRecord],
) -> Iterator[str]:
    """Yield a description of every contradiction in the results of a complete run.

    Args:
        point: the parameters of the run.
        run: the run in the file.
        stated: the costs in the file, keyed by kind.
        formulas: the costs that were computed again, keyed by kind.
    """
    for kind, formula in formulas.items():
        for name in FIGURES:
            yield from _differs(
                f"{kind}, {name}", getattr(stated[kind], name), getattr(formula, name)
            )
    simulated = stated["simulated"]
    yield from _check_simulated(point, simulated, run.profile)
    if point.faults:
        return
    yield from _differs("missing units", run.missing, 0)
    for name in _BOUNDED:
        least, figure = getattr(formulas["lower bound"], name), getattr(simulated, name)
        if least is not None and figure < least:
            yield f"simulated, {name} is {_shown(figure)}, below the bound {_shown(least)}"


def _check_simulated(point: Point, cost: CostRecord, profile: Profile) -> Iterator[str]:
    """Yield contradictions between the simulated cost, the step profile and the unit size."""
    packets = sum(row[1] for row in profile)
    largest = sum(row[2] for row in profile)
    # A packet has at least one unit, and at most as many units as the largest packet of its step.
    most_units = sum(row[1] * row[2] for row in profile)
    for links, sent, units in profile:
        # A busy link carries one packet in a step, so the number of packets equals the number of
        # busy links.
        if links != sent or (sent == 0) != (units == 0):
            yield f"a step cannot have {links} links with {sent} packets of up to {units} units"
    yield from _differs("simulated, steps", cost.steps, len(profile))
    if cost.transmissions is None or not packets <= cost.transmissions <= most_units:
        yield (
            f"simulated, transmissions is {_shown(cost.transmissions)}, but the step profile allows"
            f" only {packets} to {most_units}"
        )
    if cost.start_ups is None or cost.bytes is None:
        yield "the simulated cost has no start-ups or bytes"
        return
    network = find_network(point.topology)
    if point.execution == "synchronous":
        yield from _differs("simulated, start_ups", cost.start_ups, len(profile))
        # If links have different capacities, the largest packet need not take the longest time.
        if network is None or network.has_equal_links:
            yield from _check_bytes(point, cost.bytes, largest)
    time = cost.start_ups * point.t_s + cost.bytes * point.t_c
    latencies = None if network is None else network.latencies
    most = 0 if latencies is None else int(latencies.max())
    # Each packet on the critical path is also delayed by the latency of its link.
    if not time <= cost.time <= time + cost.start_ups * most:
        yield from _differs("simulated, time", cost.time, time)


def _check_bytes(point: Point, stated: Fraction, units: int) -> Iterator[str]:
    """Yield a contradiction if ``units`` equal units cannot have ``stated`` bytes in total."""
    if (point.collective, point.algorithm) in costs.FORMS:
        unit = costs.unit_bytes(
            as_topology(point.topology),
            point.collective,
            point.algorithm,
            point.message_bytes,
            **point.arguments,
        )
        yield from _differs("simulated, bytes", stated, units * unit)
        return
    # Without a closed form, the unit size is unknown, but it must divide the message size.
    sent = units * point.message_bytes
    if (stated == 0) != (sent == 0) or (stated and (sent / stated).denominator != 1):
        yield f"simulated, bytes is {_shown(stated)}, which is impossible with equal units"


def _differs(figure: str, stated: object, expected: object) -> Iterator[str]:
    if stated != expected:
        yield f"{figure} is {_shown(stated)}, but must be {_shown(expected)}"


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)
