"""What sending costs on a machine, and a cost with its exact time."""

from dataclasses import dataclass
from fractions import Fraction

from starcast.errors import InputError


@dataclass(frozen=True)
class Machine:
    """What sending costs: ``T_s`` to start a packet up, ``T_c`` a byte; any one unit of time."""

    T_s: Fraction
    T_c: Fraction

    def __post_init__(self) -> None:
        for name in ("T_s", "T_c"):
            if getattr(self, name) < 0:
                raise InputError(
                    f"{name} is {getattr(self, name)}, a negative time",
                    hint="give a time of 0 or more",
                )


@dataclass(frozen=True)
class Cost:
    """A cost with its exact time.

    Attributes:
        steps: how many steps (slots, sub-slots) it takes, None where a source speaks of time only.
        start_ups: coefficient of T_s.
        bytes: coefficient of T_c.
        transmissions: units times links, None where that is not known.
        time: start_ups * T_s + bytes * T_c; of a bound, the greatest of its terms.
        source: paper and number.
        note: of a closed form, in a few words how an execution differs from it; empty where it does not.
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
    """A closed form at its arguments, before message and machine: (start-ups) T_s + (bytes for each of m) m T_c.

    Attributes:
        start_ups: coefficient of T_s.
        bytes_per_m: the bytes that follow one another, as a multiple of m: coefficient of m T_c.
        transmissions: units times links, None where that is not known.
        source: paper and number.
        steps, note: as in `Cost`.
    """

    start_ups: int
    bytes_per_m: Fraction
    transmissions: int | None
    source: str
    steps: int | None
    note: str = ""

    def priced(self, m: Fraction, machine: Machine) -> Cost:
        """The cost for a message of m bytes."""
        carried = self.bytes_per_m * Fraction(m)
        return Cost(
            steps=self.steps,
            start_ups=Fraction(self.start_ups),
            bytes=carried,
            transmissions=self.transmissions,
            time=Fraction(self.start_ups * machine.T_s + carried * machine.T_c),
            source=self.source,
            note=self.note,
        )


def stepwise(
    steps: int, packet: Fraction | int, transmissions: int | None, source: str, note: str = ""
) -> Form:
    """The form of steps that all last as long: steps (T_s + packet m T_c), the packet as a multiple of the message."""
    return Form(steps, Fraction(steps * packet), transmissions, source, steps, note)


def check_message(m: Fraction) -> None:
    """Accept a message's length in bytes.

    Raises:
        InputError: it is negative.
    """
    if m < 0:
        raise InputError(f"a message of {m} bytes cannot be", hint="give m of 0 or more")
