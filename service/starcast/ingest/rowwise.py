"""Two sets of rows compared, and what differs said in the words of the topology: labels, ports, trees, steps.

A row is start, end and the columns of its type, as in `starcast.graph.row_samples`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.graph.row_samples import ODD, Table
from starcast.graph.schema import LINK, SEND, TREE_EDGE, Relationship, first_key
from starcast.topologies import Topology

#: Differing rows of each side that are looked at: two that differ in a port alone are one difference.
_LOOKED_AT = 1_000

#: Columns that say which one of several between the same ends a row is.
_CONTEXT = {LINK.name: (), TREE_EDGE.name: ("tree",), SEND.name: ("step", "tree", "unit")}


class Difference(NamedTuple):
    """One thing that differs: a sentence, and both values where there are."""

    what: str
    found: str
    expected: str


def differing(
    kind: Relationship, topology: Topology, meant: Table, found: Table
) -> tuple[list[Difference], int]:
    """The first differences of two sets of rows, and how many there are in all; where those are many, at most that many."""
    missing, additional = _apart(meant, found)
    first = list(_Words(kind, topology).say(missing[:_LOOKED_AT], additional[:_LOOKED_AT], meant))
    return first, len(first) + sum(max(0, len(rows) - _LOOKED_AT) for rows in (missing, additional))


def _apart(meant: Table, found: Table) -> tuple[Table, Table]:
    """The rows of each side that the other lacks, sorted; a row that stands twice too often is there twice."""
    rows = np.concatenate([meant, found])
    side = np.repeat([1, -1], [len(meant), len(found)])
    order = np.lexsort(rows.T[::-1])
    rows, side = rows[order], side[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(new)
    balance = np.add.reduceat(side, starts) if len(rows) else side
    groups = rows[starts]
    return np.repeat(groups, np.maximum(balance, 0), axis=0), np.repeat(
        groups, np.maximum(-balance, 0), axis=0
    )


class _Words:
    """Sentences about rows of one type."""

    def __init__(self, kind: Relationship, topology: Topology) -> None:
        self._kind, self._where = kind, topology

    def say(self, missing: Table, additional: Table, meant: Table) -> Iterator[Difference]:
        """Rows between the same ends are one row that was changed; of those, the pair that differs least."""
        others = defaultdict(list)
        for row in additional.tolist():
            others[row[0], row[1]].append(row)
        for row in missing.tolist():
            near = others[row[0], row[1]]
            if near:
                there = min(near, key=lambda other: self._distance(row, other))
                near.remove(there)
                yield self._changed(row, there)
            else:
                yield Difference(f"{self._named(row)} is missing", "", self._values(row))
        for row in sorted(row for rows in others.values() for row in rows):
            twice = bool((meant == np.array(row)).all(axis=1).any())
            words = "stands more than once" if twice else "should not be there"
            yield Difference(f"{self._named(row)} {words}", self._values(row), "")

    @staticmethod
    def _distance(one: Sequence[int], other: Sequence[int]) -> int:
        return sum(a != b for a, b in zip(one, other, strict=True))

    def _changed(self, meant: Sequence[int], found: Sequence[int]) -> Difference:
        names = [
            name
            for name, a, b in zip(self._kind.columns, meant[2:], found[2:], strict=True)
            if a != b
        ]
        there, right = self._column_values(found), self._column_values(meant)
        words = ", ".join(f"{name} {there[name]}, not {right[name]}" for name in names)
        pairs = (", ".join(f"{name} {values[name]}" for name in names) for values in (there, right))
        return Difference(f"{self._named(meant, without=names)}: {words}", *pairs)

    def _named(self, row: Sequence[int], without: Iterable[str] = ()) -> str:
        """``LINK 1234-2134``, ``TREE_EDGE of tree 2 from 1234 to 2134``; without the columns that are in doubt."""
        ends = [node_name(self._where, rank) for rank in row[:2]]
        if self._kind is LINK:
            return f"{self._kind.name} {'-'.join(ends)}"
        values = self._column_values(row)
        known = [
            f"{name} {values[name]}" for name in _CONTEXT[self._kind.name] if name not in without
        ]
        of = f" of {', '.join(known)}" if known else ""
        return f"{self._kind.name}{of} from {ends[0]} to {ends[1]}"

    def _values(self, row: Sequence[int]) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._column_values(row).items())

    def _column_values(self, row: Sequence[int]) -> dict[str, str]:
        listed = zip(self._kind.columns, row[2:], strict=True)
        return {name: "no integer" if value == ODD else str(value) for name, value in listed}


def node_name(topology: Topology, rank: int) -> str:
    """A node's label; where somebody gave it another key, that."""
    return (
        topology.label(rank)
        if 0 <= rank < topology.nodes
        else f"a node of key {rank + first_key(topology)}"
    )


def meant_nodes(topology: Topology, ranks: NDArray[np.int64]) -> list[list[Any]]:
    """Nodes as `starcast.graph.row_samples.nodes` reads them."""
    labels = topology.labels(ranks).tolist()
    first = first_key(topology)
    return [
        [first + rank, rank, label, topology.spec]
        for rank, label in zip(ranks.tolist(), labels, strict=True)
    ]


def node_differences(
    meant: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]]
) -> Iterator[Difference]:
    """Where the nodes of these keys are not as they should be."""
    if meant == found:
        return
    there = defaultdict(list)
    for row in found:
        there[row[0]].append(row)
    for row in meant:
        yield from _of_node(row, there[row[0]])


def _of_node(meant: Sequence[Any], found: Sequence[Sequence[Any]]) -> Iterator[Difference]:
    key, rank, label, _ = meant
    if len(found) != 1:
        words = "is missing" if not found else f"stands {len(found)} times"
        yield Difference(f"the node {label} (rank {rank}, key {key}) {words}", str(len(found)), "1")
        return
    for name, there, right in zip(
        ("rank", "label", "topology"), found[0][1:], meant[1:], strict=True
    ):
        if there != right:
            value = f"no {name}" if there is None else f"{name} {there}"
            yield Difference(f"the node {label}: {value}, not {right}", value, f"{name} {right}")


def strays(found: Sequence[Sequence[Any]]) -> Iterator[Difference]:
    """Nodes that should not be there."""
    for key, rank, label, topology in found:
        words = f"a node of key {key}, rank {rank} and label {label} should not be in {topology}"
        yield Difference(words, f"key {key}", "")
