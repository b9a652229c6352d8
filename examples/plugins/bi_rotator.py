"""Bi-rotator graphs: a link rotates the first k symbols of a node one place left or right."""

import starcast


@starcast.family(
    "bi-rotator",
    pattern=r"R(\d+)",
    source="Corbett 1992, in both directions",
    noun="bi-rotator graphs",
)
def bi_rotator(n):
    """Return one permutation per link: the first 2, 3, .., n symbols rotated left or right."""
    rotations = [[2, 1, *range(3, n + 1)]]
    for k in range(3, n + 1):
        rest = range(k + 1, n + 1)
        rotations += [[*range(2, k + 1), 1, *rest], [k, *range(1, k), *rest]]
    return rotations
