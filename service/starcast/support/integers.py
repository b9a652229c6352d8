"""Arithmetic of whole numbers."""

import numpy as np

from starcast.errors import InputError


def ceil_div(numerator: int, denominator: int) -> int:
    """The least whole number that is not below numerator / denominator, for a positive denominator."""
    return -(-numerator // denominator)


def count(name: str, given: object, most: int | None = None, where: str = "") -> int:
    """A number of segments, messages or copies, as given: a whole number of at least 1, and at most ``most``.

    Raises:
        InputError: it is none; the sentence says ``where``, such as on S5, there are no more.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise InputError(f"{name} is {given!r}, not a whole number of at least 1", hint=f"give {name} 1 or more")
    if most is not None and given > most:
        raise InputError(f"{name} is {given}, more than {most}{where and f' {where}'}", hint=f"give {name} from 1 to {most}")
    return int(given)
