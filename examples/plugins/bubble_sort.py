"""Bubble-sort graphs: node x is linked to every x with two adjacent symbols exchanged."""

import starcast


@starcast.family(
    "bubble-sort",
    pattern=r"B(\d+)",
    source="Akers & Krishnamurthy 1989",
    noun="bubble-sort graphs",
)
def bubble_sort(n):
    """Return the exchanges of positions i and i+1 for i = 1..n-1."""
    return [[*range(1, i), i + 1, i, *range(i + 2, n + 1)] for i in range(1, n)]
