"""Execution of reductions by docs/definitions, with sets of contributing nodes.

For each tree and unit a node holds a partial sum, represented by the set of nodes whose
contributions are in it. Results depend on these sets, not only on their sizes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from oracles.schedule_rows import Row

REDUCTIONS = ("reduce", "reduce-scatter", "allreduce")


class Sums:
    """The partial sums by node, unit and tree.

    Each sum is initially the node's own contribution; only the given ``nodes`` contribute.
    """

    def __init__(self, nodes: Iterable[str], required: Iterable[str]) -> None:
        self.everyone = frozenset(nodes)
        self.required = frozenset(required)
        self.sets: dict[tuple[str, int, int], frozenset[str]] = {}
        self.trees: dict[int, set[int]] = {}
        #: Sums (node, unit, tree) replaced by a complete unit, which must not be added again.
        self.done: set[tuple[str, int, int]] = set()

    def held(self, node: str, unit: int, tree: int) -> frozenset[str]:
        """Return the nodes whose contributions are in a partial sum."""
        return self.sets.get((node, unit, tree), self.everyone & {node})

    def may_send(self, row: Row) -> bool:
        """Return whether the sender of a row has the complete unit, or a sum that is not empty."""
        if row.combine:
            return bool(self.held(row.sender, row.unit, row.tree))
        return self.is_complete(row.sender, row.unit)

    def is_complete(self, node: str, unit: int) -> bool:
        """Return whether a node has all required contributions to a unit in the sum of one tree."""
        trees = self.trees.get(unit, {0})
        return any(self.held(node, unit, tree) >= self.required for tree in trees)

    def execute(self, rows: Sequence[Row]) -> list[Row]:
        """Execute the rows of one step, and return those that count a contribution twice.

        A node sends the sum that it held before the step. A received complete unit replaces the
        partial sum.
        """
        for row in rows:
            self.trees.setdefault(row.unit, set()).add(row.tree)
        leaving = [self.held(row.sender, row.unit, row.tree) for row in rows]
        before = set(self.done)
        for row in rows:
            if not row.combine:
                self.sets[row.receiver, row.unit, row.tree] = self.everyone
                self.done.add((row.receiver, row.unit, row.tree))
        twice = []
        for row, arriving in zip(rows, leaving, strict=True):
            if row.combine:
                own = self.held(row.receiver, row.unit, row.tree)
                is_sent = (row.sender, row.unit, row.tree) in before
                if own & arriving or is_sent or (row.receiver, row.unit, row.tree) in self.done:
                    twice.append(row)
                self.sets[row.receiver, row.unit, row.tree] = own | arriving
        return twice


class Awaited:
    """The rows that each row waits for if packets start as soon as possible.

    A row whose receiver adds the unit waits until its sender has added all rows of the same unit
    and tree from earlier steps. A row that passes on a complete unit waits until its sender has
    this unit. The sender has the unit when one of its sums is complete or when it receives the
    complete unit, whichever is earlier in the order of steps.
    """

    def __init__(
        self,
        rows: Collection[Row],
        units: Iterable[int],
        nodes: Iterable[str],
        required: Iterable[str],
    ) -> None:
        self.required = frozenset(required)
        self.arrived: set[Row] = set()
        self.added: dict[tuple[str, int, int], list[Row]] = defaultdict(list)
        self.taken: dict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in rows:
            if row.combine:
                self.added[row.receiver, row.unit, row.tree].append(row)
            else:
                self.taken[row.receiver, row.unit].append(row)
        self.complete: dict[tuple[str, int], list[list[Row]]] = {}
        if len(self.required) == 1:
            self.complete = {(node, unit): [[]] for node in self.required for unit in units}
        sums = Sums(nodes, self.required)
        for _, step in groupby(sorted(rows, key=attrgetter("step", "tree")), attrgetter("step")):
            self._find_complete(sums, list(step))

    def _find_complete(self, sums: Sums, now: Sequence[Row]) -> None:
        """Record which rows complete a unit at a node in this step.

        Each alternative is a list of rows that must all arrive.
        """
        adding = [row for row in now if row.combine]
        sums.execute(adding)
        for row in adding:
            place = row.receiver, row.unit, row.tree
            if sums.held(*place) >= self.required:
                until = [other for other in self.added[place] if other.step <= row.step]
                self.complete.setdefault((row.receiver, row.unit), [until])
        for row in now:
            if not row.combine:
                pair = row.receiver, row.unit
                self.complete.setdefault(pair, [[other] for other in self.taken[pair]])

    def is_complete(self, node: str, unit: int) -> bool:
        """Return whether a node has the complete unit, computed by the node or received."""
        alternatives = self.complete.get((node, unit), [])
        return any(self.arrived.issuperset(rows) for rows in alternatives)

    def may_start(self, row: Row) -> bool:
        """Return whether all rows that this row waits for have arrived at its sender."""
        if not row.combine:
            return self.is_complete(row.sender, row.unit)
        added = self.added[row.sender, row.unit, row.tree]
        return all(other in self.arrived for other in added if other.step < row.step)
