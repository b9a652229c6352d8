"""Times of ``starcast schedule simulate``: of both execution models, and of SimGrid."""

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import context
from starcast.errors import InputError, RejectedError
from starcast.support.text import pluralize
from starcast.vocabulary import ExternalSimulator

if TYPE_CHECKING:
    from starcast.collectives import Schedule
    from starcast.external import SimGridRun
    from starcast.simulator import CriticalSend, Fault, Timing

#: Packets of a critical path that are printed: the last ones.
_MOST_SENDS = 30

TimeOption = Annotated[
    bool, typer.Option("--time", help="Print the exact time, and the packets that decide it.")
]
WithOption = Annotated[
    ExternalSimulator | None,
    typer.Option(
        "--with", help="Compare the time with that of another simulator, which executes the rows."
    ),
]
ExecutionOption = Annotated[
    str | None,
    typer.Option(
        help=(
            "Execution model of --time: synchronous (step by step) or asynchronous (packets "
            "start as soon as they can; default: synchronous)."
        )
    ),
]
UnitBytesOption = Annotated[
    str | None, typer.Option(help="Bytes per unit of --time, such as 64, 2.5 or 23/3.")
]
StartUpOption = Annotated[str | None, typer.Option(help="T_s of --time, default 100.")]
ByteTimeOption = Annotated[str | None, typer.Option(help="T_c of --time, default 1.")]


def read_parameters(
    given: dict[str, str | None], execution: str | None, *, time: bool, excludes: bool
) -> dict[str, Any]:
    """Return the arguments of `starcast.timing` that are given as options.

    Raises:
        InputError: they are invalid, or cannot be combined with the other options.
    """
    from starcast.axes.values import read_number

    values: dict[str, Any] = {
        name: read_number(text, name) for name, text in given.items() if text is not None
    }
    if execution is not None:
        values["execution"] = execution
    if values and not time:
        option = next(iter(values)).replace("_", "-")
        raise InputError(f"--{option} belongs to --time, which is not given", hint="add --time")
    if time and excludes:
        raise InputError(
            "--time and --with cannot be combined with --acknowledged or --steps",
            hint="remove one of them",
        )
    return values


def compute(schedule: "Schedule", faults: "list[Fault]", parameters: dict[str, Any]) -> "Timing":
    """Return the times of a schedule."""
    from starcast import simulator

    return simulator.timing(schedule, faults=faults, **parameters)


def describe(timing: "Timing") -> dict[str, Any]:
    """Return the figures of a `Timing` by name."""
    known = timing.arrivals[timing.arrivals >= 0]
    return {
        "execution": timing.execution,
        "time": _exact(timing.time),
        "last_arrival": _exact(max(known.tolist(), default=0)),
        "greatest_link_busy": _exact(max(timing.link_busy.ravel().tolist(), default=0)),
        "critical_packets": len(timing.critical_path),
        "critical_path": [_describe_send(send) for send in timing.critical_path[-_MOST_SENDS:]],
    }


def run_simgrid(
    ctx: typer.Context,
    schedule: "Schedule",
    faults: "list[Fault]",
    parameters: dict[str, Any],
) -> "SimGridRun":
    """Execute a schedule by the SimGrid that the settings name."""
    from starcast import external

    installation = context.load_settings(ctx).simgrid
    return external.run_simgrid(schedule, faults=faults, installation=installation, **parameters)


def describe_simgrid(run: "SimGridRun") -> dict[str, Any]:
    """Return the figures of an execution by SimGrid by name."""
    return {"simgrid_time": _exact(run.time), "simgrid_version": run.version}


def check_clocks(schedule: "Schedule", timing: "Timing", run: "SimGridRun") -> None:
    """Check that SimGrid's clock says the time that starcast computes.

    Raises:
        RejectedError: the times differ.
    """
    if run.time != timing.time:
        raise RejectedError(
            f"{schedule.id} takes {timing.time} by starcast and {run.time} by SimGrid "
            f"{run.version}",
            hint="this is a defect of starcast or of SimGrid: please report it",
        )


def _exact(time: int | Fraction) -> int | str:
    """Return a time as JSON can hold it exactly."""
    return time if isinstance(time, int) else str(time)


def _describe_send(send: "CriticalSend") -> str:
    waits = f", waits for {send.waits_for}" if send.waits_for else ""
    times = f"{send.start} to {send.end}"
    units = pluralize(send.units, "unit")
    return f"step {send.step}: {send.sender} to {send.receiver}, {units}, {times}{waits}"
