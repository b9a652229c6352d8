"""The result of a checker."""

from collections.abc import Mapping
from dataclasses import dataclass

from starcast.support.errors import RejectedError


@dataclass(frozen=True)
class Evidence:
    """The result of checking a property, with the measured values.

    Attributes:
        check: the name of the property.
        measured: the measured value, or one value per tree or port; see the checker.
        counterexample: None if the property holds. Otherwise the first place where it fails, given
            by ``tree``, ``node`` (label), ``link`` (``1234 -> 2134``), ``level`` or ``dimension``.
            It also has the values ``found`` and ``stated``, or the reason ``why``.
    """

    check: str
    measured: int | tuple[int, ...]
    counterexample: Mapping[str, int | str] | None = None

    @property
    def holds(self) -> bool:
        """True if the property holds, that is, if there is no counterexample."""
        return self.counterexample is None

    def require(self) -> None:
        """Raise an error unless the property holds.

        Raises:
            RejectedError: the property does not hold; the message contains the counterexample.
        """
        if self.counterexample is not None:
            place = ", ".join(f"{name} {value}" for name, value in self.counterexample.items())
            raise RejectedError(
                f"the check '{self.check}' fails: {place}", hint="correct the array of ports"
            )
