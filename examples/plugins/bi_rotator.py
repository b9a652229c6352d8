"""Bi-rotator graphs: node x is linked to every x with its first k symbols rotated, either way."""

import starcast


@starcast.family(
    "bi-rotator",
    pattern=r"R(\d+)",
    source="Corbett 1992, in both directions",
    noun="bi-rotator graphs",
)
def bi_rotator(n):
    """Return the rotations of the first 2, 3, .., n positions to the left and to the right."""
    rotations = [[2, 1, *range(3, n + 1)]]
    for k in range(3, n + 1):
        rest = range(k + 1, n + 1)
        rotations += [[*range(2, k + 1), 1, *rest], [k, *range(1, k), *rest]]
    return rotations
