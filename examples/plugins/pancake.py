"""Pancake graphs: node x is linked to every x with its first k symbols reversed (k = 2..n)."""

import starcast


@starcast.family(
    "pancake",
    pattern=r"P(\d+)",
    source="Akers & Krishnamurthy 1989",
    noun="pancake graphs",
)
def pancake(n):
    """Return the reversals of the first 2, 3, .., n positions."""
    return [[*range(k, 0, -1), *range(k + 1, n + 1)] for k in range(2, n + 1)]
