"""The cost model: machines, given by the time to send a packet, and exact costs of collectives."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from starcast.collectives.model import Schedule
from starcast.judges.simulator import Simulation, simulate, timing
from starcast.judges.simulator.faults import FaultLike
from starcast.support.errors import InputError


@dataclass(frozen=True)
class Machine:
    """A machine, given by the time that it needs to send a packet, in any unit of time.

    Attributes:
        t_s: T_s, the start-up time of a packet.
        t_c: T_c, the time per byte.

    Raises:
        InputError: a time is negative.
    """

    t_s: Fraction
    t_c: Fraction

    def __post_init__(self) -> None:
        for name in ("t_s", "t_c"):
            time = getattr(self, name)
            if time < 0:
                raise InputError(
                    f"{name} is {time}, a negative time", hint="give a time of 0 or more"
                )


@dataclass(frozen=True)
class Cost:
    """The cost of a collective, with its exact time.

    Attributes:
        steps: the number of steps (slots, sub-slots); None if the source states only a time.
        start_ups: the coefficient of T_s.
        bytes: the coefficient of T_c.
        transmissions: number of times that a unit crosses a link; None if unknown.
        time: ``start_ups * T_s + bytes * T_c``; for a lower bound, the larger of these two terms.
        source: paper and number.
        note: how an execution differs from a closed form; empty if it does not differ.
    """

    steps: int | None
    start_ups: Fraction
    bytes: Fraction
    transmissions: int | None
    time: Fraction
    source: str
    note: str = ""


@dataclass(frozen=True)
class Form:
    """A cost formula (closed form) for given arguments: the time as a function of m, T_s and T_c.

    The time is start_ups * T_s + bytes_per_m * m * T_c.

    Attributes:
        start_ups: the coefficient of T_s.
        bytes_per_m: the coefficient of m T_c: how many bytes are sent one after another per byte of
            the message.
        transmissions: number of times that a unit crosses a link; None if unknown.
        source: paper and number.
        steps: as in `Cost`.
        note: as in `Cost`.
    """

    start_ups: int
    bytes_per_m: Fraction
    transmissions: int | None
    source: str
    steps: int | None
    note: str = ""

    def price(self, message_bytes: Fraction, machine: Machine) -> Cost:
        """Return the cost of a message of a given length on a machine."""
        sent = self.bytes_per_m * Fraction(message_bytes)
        return Cost(
            steps=self.steps,
            start_ups=Fraction(self.start_ups),
            bytes=sent,
            transmissions=self.transmissions,
            time=Fraction(self.start_ups * machine.t_s + sent * machine.t_c),
            source=self.source,
            note=self.note,
        )


def stepwise_form(
    steps: int, packet: Fraction | int, transmissions: int | None, source: str, note: str = ""
) -> Form:
    """Return the cost formula for steps of equal length: steps * (T_s + packet * m * T_c).

    Args:
        steps: the number of steps.
        packet: the size of a packet as a multiple of the message.
        transmissions: as in `Form`.
        source: as in `Form`.
        note: as in `Form`.
    """
    return Form(steps, Fraction(steps * packet), transmissions, source, steps, note)


@dataclass(frozen=True)
class CriticalWork:
    """The work on the critical path of an asynchronous execution.

    The packets on the path follow one another without a pause, so the total time is the sum of
    their durations.

    Attributes:
        packets: the number of packets on the path.
        units: the number of units in these packets.
    """

    packets: int
    units: int


def execute_in_model(
    schedule: Schedule,
    unit: Fraction,
    machine: Machine,
    execution: str,
    faults: Iterable[FaultLike] = (),
) -> tuple[Simulation, CriticalWork | None]:
    """Execute a schedule in an execution model.

    Args:
        unit: bytes per unit; 0 for a message of 0 bytes.
        machine: T_s and T_c, which determine which packets wait.
        execution: the execution model, as in `starcast.timing`.
        faults: as in `starcast.simulate`.

    Returns:
        The simulation and, for an asynchronous execution, the work on the critical path, which
        determines the time. A synchronous execution depends neither on the size of a unit nor on
        the machine.

    Raises:
        RejectedError: the schedule violates its port model, in an asynchronous execution; in a
            synchronous execution, the simulation reports the violation instead.
        LimitError: the execution does not fit into memory.
    """
    if execution == "synchronous":
        return simulate(schedule, faults), None
    result = timing(schedule, 1, machine.t_s, unit * machine.t_c, "asynchronous", faults)
    path = result.critical_path
    return result.simulation, CriticalWork(len(path), sum(send.units for send in path))


def price_simulation(
    simulation: Simulation, unit: Fraction, machine: Machine, critical: CriticalWork | None = None
) -> Cost:
    """Return the cost of an execution.

    In the synchronous model each step lasts as long as its largest packet.

    Args:
        simulation: the simulation of the execution.
        unit: bytes per unit; see `starcast.costs.unit_bytes`.
        machine: T_s and T_c.
        critical: the work on the critical path, if the execution was asynchronous.
    """
    if critical is None:
        critical = CriticalWork(simulation.steps, int(simulation.packet_sizes.sum()))
        source = "simulated"
    else:
        source = "simulated, asynchronous"
    sent = critical.units * Fraction(unit)
    return Cost(
        steps=simulation.steps,
        start_ups=Fraction(critical.packets),
        bytes=sent,
        transmissions=simulation.transmissions,
        time=critical.packets * machine.t_s + sent * machine.t_c,
        source=source,
    )


def check_message(message_bytes: Fraction) -> None:
    """Check the length of a message.

    Raises:
        InputError: the length is negative.
    """
    if message_bytes < 0:
        raise InputError(
            f"message_bytes is {message_bytes}, a negative length", hint="give 0 bytes or more"
        )
