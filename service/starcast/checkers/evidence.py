"""What a checker found out."""

from collections.abc import Mapping
from dataclasses import dataclass

from starcast.errors import RejectedError


@dataclass(frozen=True)
class Evidence:
    """A judgement with what was measured.

    Args:
        check: the checker's name.
        measured: the measured value, or one a tree or a port; the checker says which.
        counterexample: None if it holds. Else the first place where it does not, by ``tree``, ``node`` (label), ``link``
            (``1234 -> 2134``), ``level`` or ``dimension``, and what is wrong there: ``found`` and ``stated``, or ``why``.
    """

    check: str
    measured: int | tuple[int, ...]
    counterexample: Mapping[str, int | str] | None = None

    @property
    def holds(self) -> bool:
        """Whether no counterexample was found; all places were looked at."""
        return self.counterexample is None

    def require(self) -> None:
        """Go on only if it holds.

        Raises:
            RejectedError: it does not; the message names the counterexample.
        """
        if self.counterexample is not None:
            place = ", ".join(f"{name} {value}" for name, value in self.counterexample.items())
            raise RejectedError(
                f"the check '{self.check}' fails: {place}",
                hint="mend the array of ports, or state less",
            )
