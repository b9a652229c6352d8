"""The operations that execute schedules: simulate, time and check them, without a server."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from starcast.lab.connection import Connection
from starcast.lab.networks import AlgorithmOrFile, FileFormatOption, ScheduleOptions, build_schedule
from starcast.lab.signature import CollectiveName, NumberOption, Root, Shell, TopologyName
from starcast.support.errors import RejectedError, StarcastError
from starcast.support.table import Facts, Table, as_rows
from starcast.support.text import pluralize
from starcast.support.vocabulary import ExecutionModel, Ports

if TYPE_CHECKING:
    from fractions import Fraction

    from starcast.collectives import Schedule
    from starcast.judges.simulator import CriticalSend, Fault, FaultLike, Simulation

Faults = Annotated["Sequence[FaultLike] | str | int | Fault", Shell(Sequence[str])]
#: Maximum number of packets that are listed for a critical path; the last packets are listed.
_MAX_SENDS = 30


class Simulations(Connection):
    """Operations that execute schedules built by algorithms or read from files."""

    def simulate_schedule(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: AlgorithmOrFile,
        *,
        fault: Faults = (),
        acknowledged: bool = False,
        **options: Unpack[ScheduleOptions],
    ) -> Facts:
        """Build a schedule and execute it. No server is needed.

        A symmetric schedule is executed with the rows of all sources. With faults, sends from, to
        or over a faulty node or link are skipped, and the units that do not reach their
        destinations are counted. In a shell, the exit code is 6 if the schedule violates its port
        model, or if units are missing although there are no faults.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple or ``edge-disjoint(copies=2)``, or a schedule
                file, such as mine.csv.
            fault: a faulty node, such as 21345, or a faulty link, such as 12345-21345. The node or
                link fails from the start or, with @3 appended (21345@3), from step 3 on. Can be
                repeated.
            acknowledged: a node sends a unit to a child only after the previous child has
                acknowledged the unit; only for an allgather that traverses each tree depth first,
                such as ``edge-disjoint``.
            options: port model, root and other options of the schedule; see `ScheduleOptions`.

        Raises:
            InputError: a name, an argument or a fault is wrong, or the file cannot be read.
            LimitError: the schedule does not fit into memory.

        Example:
            >>> lab.simulate_schedule("S6", "alltoall", "exact")["complete"]
            True

            $ starcast schedule simulate S6 alltoall exact
            $ starcast schedule simulate S5 broadcast edge-disjoint --copies 2 --fault 21345
            $ starcast schedule simulate S4 allgather edge-disjoint --fault 2134 --acknowledged
            $ starcast schedule simulate S5 broadcast mine.csv --ports one --fault 21345@3
        """
        schedule = build_schedule(topology, collective, algorithm, options)
        faults = _faults(fault)
        result = self._simulate(schedule, faults, acknowledged=acknowledged)
        figures: dict[str, Any] = {
            "id": schedule.id,
            "symmetric": schedule.symmetric,
            "rows": len(schedule),
            "units": schedule.units,
            "steps": result.steps,
            "transmissions": result.transmissions,
            "largest_packet": result.largest_packet,
            "complete": result.complete,
        }
        if faults:
            figures["faults"] = [str(each) for each in faults]
        if result.missing:
            figures["missing"] = result.missing
            figures["undelivered"] = [
                f"unit {unit} at {label}" for label, unit in result.undelivered
            ]
            if more := result.missing - len(result.undelivered):
                figures["undelivered"].append(f"and {more:,} more")
        return Facts(figures, failure=_failure(schedule, algorithm, result, faults))

    def profile_schedule(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: AlgorithmOrFile,
        *,
        fault: Faults = (),
        acknowledged: bool = False,
        **options: Unpack[ScheduleOptions],
    ) -> Table:
        """Execute a schedule, and count the links in use in each step. No server is needed.

        A symmetric schedule is executed with the rows of all sources. In a shell, the exit code is
        6 if the schedule violates its port model, or if units are missing although there are no
        faults.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple or ``edge-disjoint(copies=2)``, or a schedule
                file, such as mine.csv.
            fault: a faulty node, such as 21345, or a faulty link, such as 12345-21345. The node or
                link fails from the start or, with @3 appended (21345@3), from step 3 on. Can be
                repeated.
            acknowledged: a node sends a unit to a child only after the previous child has
                acknowledged the unit; only for an allgather that traverses each tree depth first,
                such as ``edge-disjoint``.
            options: port model, root and other options of the schedule; see `ScheduleOptions`.

        Returns:
            A row per step: the number of directed links that carry a packet, and the number of
            units in the largest packet.

        Raises:
            InputError: a name, an argument or a fault is wrong, or the file cannot be read.
            LimitError: the schedule does not fit into memory.

        Example:
            >>> lab.profile_schedule("S4", "broadcast", "multiple")["links_used"]
            [3, 4, 7, 10, 13, 16, 10, 1]

            $ starcast schedule profile S4 broadcast multiple
        """
        schedule = build_schedule(topology, collective, algorithm, options)
        faults = _faults(fault)
        result = self._simulate(schedule, faults, acknowledged=acknowledged)
        columns = result.list_steps()
        failure = _failure(schedule, algorithm, result, faults)
        return Table(tuple(columns), as_rows(columns), failure=failure)

    def _simulate(
        self, schedule: "Schedule", faults: "list[Fault]", *, acknowledged: bool
    ) -> "Simulation":
        from starcast.judges.simulator import simulate, simulate_acknowledged

        if acknowledged:
            run = simulate_acknowledged(schedule, faults)
            self.reporter.say(
                f"{pluralize(len(run.stalled), 'traversal waits', 'traversals wait')} for an"
                " acknowledgement that never arrives"
            )
            result = run.simulation
        else:
            result = simulate(schedule, faults)
        for remark in result.remarks:
            self.reporter.say(remark)
        return result

    def time_schedule(
        self,
        topology: TopologyName,
        collective: CollectiveName,
        algorithm: AlgorithmOrFile,
        *,
        execution: ExecutionModel = "synchronous",
        unit_bytes: NumberOption = 64,
        t_s: NumberOption = 100,
        t_c: NumberOption = 1,
        fault: Faults = (),
        **options: Unpack[ScheduleOptions],
    ) -> Facts:
        """Compute the exact time that a schedule takes. No server is needed.

        The critical path consists of the packets that determine the time: each packet waits for the
        end of the previous packet. The last 30 packets of the path are listed.

        Args:
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            algorithm: an algorithm, such as multiple or ``edge-disjoint(copies=2)``, or a schedule
                file, such as mine.csv.
            execution: execution model: synchronous (step by step), or asynchronous (each packet
                starts as soon as it can).
            unit_bytes: bytes per unit, such as 64, 2.5 or 23/3.
            t_s: start-up time per packet (T_s in the papers), in any unit of time.
            t_c: time per byte (T_c in the papers), in the same unit as ``t_s``.
            fault: a faulty node, such as 21345, or a faulty link, such as 12345-21345. The node or
                link fails from the start or, with @3 appended (21345@3), from step 3 on. Can be
                repeated.
            options: port model, root and other options of the schedule; see `ScheduleOptions`.

        Returns:
            The total time, the time of the last arrival, the longest busy time of a link, and the
            critical path. A fractional time is a string, such as 2444/3.

        Raises:
            InputError: a name, a number or a fault is wrong, or the file cannot be read.
            LimitError: the schedule does not fit into memory.
            RejectedError: the schedule violates its port model, so it cannot be timed.

        Example:
            >>> lab.time_schedule("S4", "broadcast", "multiple", segments=4)["time"]
            2444

            $ starcast schedule time S4 broadcast multiple --segments 4 --execution asynchronous
            $ starcast schedule time S4 alltoall exact
        """
        from starcast.judges.simulator import timing
        from starcast.support.axes import read_number

        machine = {"unit_bytes": unit_bytes, "t_s": t_s, "t_c": t_c}
        # Numbers are checked before the schedule is built, which takes much longer.
        values = {name: read_number(value, name) for name, value in machine.items()}
        schedule = build_schedule(topology, collective, algorithm, options)
        faults = _faults(fault)
        times = timing(schedule, **values, execution=execution, faults=faults)
        failure = _failure(schedule, algorithm, times.simulation, faults)
        # Nodes that never receive all of their units have the time -1, which is not an arrival.
        arrivals = times.arrivals[times.arrivals >= 0].tolist()
        figures = {
            "id": schedule.id,
            "complete": times.simulation.complete,
            "execution": times.execution,
            "time": _exact(times.time),
            "last_arrival": _exact(max(arrivals, default=0)),
            "greatest_link_busy": _exact(max(times.link_busy.ravel().tolist(), default=0)),
            "critical_packets": len(times.critical_path),
            "critical_path": [_describe_send(send) for send in times.critical_path[-_MAX_SENDS:]],
        }
        return Facts(figures, failure=failure)

    def import_schedule(
        self,
        file: Annotated[Path, Shell(metavar="FILE")],
        *,
        topology: TopologyName,
        collective: CollectiveName,
        ports: Ports = "all",
        root: Root = None,
        file_format: FileFormatOption = None,
    ) -> Facts:
        """Read a schedule from a file, execute it and check it. No server is needed.

        In a shell, the exit code is 6 if the schedule violates the port model or leaves units
        undelivered. Commands that build a schedule, such as ``starcast schedule time``, accept the
        file instead of an algorithm.

        The format is detected from the beginning of the file or, failing that, from its suffix
        (.goal, .xml or .json; CSV for any other suffix).

        In MSCCL XML files and MSCCL++ plans, the id of a GPU is the rank of a node. The thread
        blocks are executed. If the thread blocks violate a rule, the error names the rank, thread
        block and step of the first violation.

        In a GOAL file, each process is the node of the same rank. A GOAL file written by starcast
        contains the units and steps of the schedule. In other files, each send carries one unit,
        and starts in the first step that the dependencies (``requires``) and the port model permit.
        The unit is determined from the sender and receiver, or from the tag.

        The first line of a CSV file names the columns: step, sender, port and unit, and optionally
        tree and receiver. A reduction also needs the column combine. ``starcast schedule rows -f
        csv`` writes such files. Values are separated by commas, semicolons or tabs. Nodes are given
        by labels or, if any sender in the file is not a label, by ranks; #6 is always the node of
        rank 6.

        Args:
            file: an MSCCL XML file, an MSCCL++ plan, a GOAL file, or a CSV file with the rows of a
                schedule.
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            collective: the collective: broadcast, allgather, scatter, gather, alltoall, reduce,
                reduce-scatter or allreduce.
            ports: port model that the schedule must obey: all (a node uses all ports in a step), or
                one (one port to send and one to receive).
            root: root: a label, or a rank such as #6 (default: the node of rank 0). In Python, the
                rank can also be an integer.
            file_format: format of the file (default: detected from the content or, failing that,
                from the suffix).

        Raises:
            InputError: a name is wrong, or the file cannot be read or contains an invalid value.
            LimitError: the rows do not fit into memory.
            RejectedError: the thread blocks or sends of the file do not execute the collective.

        Example:
            >>> lab.import_schedule("a.csv", topology="S4", collective="scatter").failure is None
            True

            $ starcast schedule import allgather.xml --topology S4 --collective allgather
            $ starcast schedule import plan.json --topology K8 --collective allreduce
            $ starcast schedule import tree.goal --topology Q5 --collective broadcast
            $ starcast schedule import mine.csv --topology S4 --collective scatter --ports one
            $ starcast schedule import sends.txt --topology Q5 --collective broadcast --from goal
        """
        options: ScheduleOptions = {"ports": ports, "root": root, "file_format": file_format}
        return self.simulate_schedule(topology, collective, Path(file), **options)


def _faults(faults: "Sequence[FaultLike] | str | int | Fault") -> "list[Fault]":
    from starcast.judges.simulator import Fault

    is_single = isinstance(faults, str | Fault) or not isinstance(faults, Iterable)
    given: Iterable[Any] = [faults] if is_single else faults  # type: ignore[assignment]
    parsed = (Fault.parse(each) if isinstance(each, str) else each for each in given)
    return [each if isinstance(each, Fault) else Fault(each) for each in parsed]


def _failure(
    schedule: "Schedule", algorithm: str | Path, result: "Simulation", faults: "Sequence[Fault]"
) -> StarcastError | None:
    """Return the error for a schedule that violates its port model or leaves units undelivered.

    Undelivered units are an error only in an execution without faults. The result is None if there
    is no error.
    """
    if result.violation is not None:
        problem = f"{schedule.id} is invalid: {result.violation}"
    # With faults, missing units are expected, so they are not an error.
    elif not (result.complete or faults):
        problem = f"{schedule.id} leaves {pluralize(result.missing, 'unit')} undelivered"
    else:
        return None
    from starcast.collectives.columns import ALGORITHM

    if schedule.algorithm == ALGORITHM:
        return RejectedError(problem, hint=f"correct the rows in {algorithm}")
    from starcast.catalogue.plugins import describe_used

    entry = (f"{schedule.collective} algorithm", schedule.algorithm)
    if plugins := describe_used(schedule.topology, entry, schedule.arguments):
        return RejectedError(problem, hint=f"correct the plug-in of {' and '.join(plugins)}")
    return RejectedError(problem, hint="this is a defect of starcast: please report it")


def _exact(time: "int | Fraction") -> int | str:
    """Return a time as a value that JSON represents exactly: an int, or a string such as 2444/3."""
    return time if isinstance(time, int) else str(time)


def _describe_send(send: "CriticalSend") -> str:
    waits = f", waits for {send.waits_for}" if send.waits_for else ""
    times = f"{send.start} to {send.end}"
    units = pluralize(send.units, "unit")
    return f"step {send.step}: {send.sender} to {send.receiver}, {units}, {times}{waits}"
