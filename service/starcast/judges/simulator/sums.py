"""Partial sums in a reduction: the number of contributions that each node has added.

For each tree and unit, a node holds a partial sum. At first, the sum of an endpoint is its own
contribution; the sum of a switch is empty, and cannot be sent. A row with ``combine`` adds the
sender's sum to the receiver's sum; other rows pass on a complete unit. A pair of unit and tree is a
*lane*. Lanes are independent of one another, except that a unit is complete at a node if its sum is
complete in any lane.

*Counting suffices.* The module stores only the number of contributions in each sum. The size of a
disjoint union is the sum of the sizes. So as long as no contribution is counted twice, these
numbers are exact, and a sum of the contributions of all endpoints is complete.

*No contribution is counted twice* in a lane in which each node sends its sum at most once, after it
has received all sums sent to it. The rows of such a lane form a forest, since the steps ascend from
each row to the next. The sum of a node contains the contributions of the nodes in its subtree, and
the sums of different children are disjoint. Other lanes, which can occur in schedules saved by
users, are executed with sets of contributions, one bit per node.

Faults only remove rows, which cannot make a set larger. So if a schedule counts no contribution
twice without faults, the same holds under faults.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from starcast.judges.simulator.ownership import Deliveries, Held, Postcondition
from starcast.judges.simulator.rows import Indices, Rows, Violation, repeats_previous
from starcast.support.arrays import Integers, Mask
from starcast.support.errors import LimitError
from starcast.topologies import memory

#: The maximum number of sums, and a lower maximum for schedules with few rows. Without the lower
#: maximum, a short file whose rows name trees with high numbers could fill the memory.
_MAX_SUMS, _MAX_SPARSE_SUMS = 2**31, 2**25
#: Maximum size in bytes of the sets of contributions of several lanes that are in memory at the
#: same time. A single lane may need more.
_BYTES_OF_SETS = 2**28
_COUNTED_TWICE = "counted twice: the arriving sum and the receiver's sum share a contribution"
_AFTER_COMPLETE = "counted twice: the sender or the receiver already has the complete unit"
_EMPTY = "the sender is a switch, and holds no contribution to the unit yet"
_INCOMPLETE = "the unit is passed on as complete, but the sender lacks contributions to it"


class Lanes:
    """The lanes of a reduction: the pairs of unit and tree. A node keeps a sum for each lane.

    If no unit uses several trees, there is one lane per unit.

    Attributes:
        of: int64 ``[rows]``, the index of each row's lane.
        count: the number of lanes.
        trees: the number of lanes per unit.
    """

    def __init__(self, postcondition: Postcondition, rows: Rows, end: int) -> None:
        unit = rows.unit[:end].astype(np.int64)
        tree = rows.tree[:end]
        first = np.zeros(postcondition.units, dtype=tree.dtype)
        first[unit] = tree
        has_copies = (first[unit] != tree).any()
        self.trees = int(tree.max(initial=0)) + 1 if has_copies else 1
        self.of: Indices = unit * self.trees + tree if has_copies else unit
        self.count = postcondition.units * self.trees
        limit = min(_MAX_SUMS, max(_MAX_SPARSE_SUMS, 8 * len(rows)))
        if postcondition.nodes * self.count > limit:
            raise LimitError(
                f"{self.count:,} partial sums on each of {postcondition.nodes:,} nodes are too many"
                " to simulate",
                hint="use fewer segments, messages or copies, or a smaller topology",
            )

    def cells(self, node: Integers, rows: slice | Indices) -> Indices:
        """Return, for each row, the array index of the given node's sum in the row's lane.

        Args:
            node: a node of each row, such as its sender.
            rows: the rows of the reduction, one per given node.
        """
        return np.asarray(node.astype(np.int64) * self.count + self.of[rows])


class Sums(Deliveries):
    """The partial sums after the first ``end`` rows of a reduction, computed step by step.

    Attributes:
        lanes: the lanes of the rows.
        executed: bool ``[end]``, the rows that are executed. An attempted row is not executed if it
            passes on a complete unit that its sender does not have, or adds an empty sum.
        summed: int32 ``[nodes * units]``, the step in which a node's sum of a unit becomes
            complete; 0 if the node's own contribution is the whole sum; `never` if the sum stays
            incomplete.
        lane: int64 ``[nodes * units]``, the lane of this complete sum.
        taken: int32 ``[nodes * units]``, the step in which each node first receives each complete
            unit, or `never`.

    Args:
        postcondition: the postcondition of the rows.
        rows: rows with valid nodes, ports and units, and without double counting.
        end: the number of rows to execute.
        counted: bool ``[nodes]``, the nodes whose contributions a complete sum must contain; by
            default all endpoints.
        attempted: bool ``[end]``, the rows to execute if possible, such as the rows whose links are
            up; by default all rows.
    """

    never = np.iinfo(np.int32).max

    def __init__(
        self,
        postcondition: Postcondition,
        rows: Rows,
        end: int,
        counted: Mask | None = None,
        attempted: Mask | None = None,
    ) -> None:
        super().__init__(postcondition, rows, end)
        self.lanes = Lanes(postcondition, rows, end)
        is_endpoint = np.arange(postcondition.nodes) < postcondition.endpoints
        self._counted = is_endpoint if counted is None else counted & is_endpoint
        # Only the sums of switches are empty at first.
        self._empty = None if is_endpoint.all() else np.repeat(~is_endpoint, self.lanes.count)
        self._combine = _combine(rows)
        self.executed = np.ones(end, dtype=bool) if attempted is None else attempted.copy()
        pairs = postcondition.nodes * postcondition.units
        self.taken = np.full(pairs, self.never, dtype=np.int32)
        self.summed = np.full(pairs, self.never, dtype=np.int32)
        self.lane = np.zeros(pairs, dtype=np.int64)
        self._size = np.repeat(self._counted.astype(np.int32), self.lanes.count)
        self._execute()

    def complete(self, node: Integers, unit: Integers) -> Indices:
        """Return the step after which each node has the complete unit, or `never`.

        Args:
            node: the ranks of nodes.
            unit: for each of these nodes, the number of a unit.
        """
        pair = node.astype(np.int64) * self.postcondition.units + unit
        return np.asarray(np.minimum(self.summed[pair], self.taken[pair]))

    def contributions(self) -> Indices:
        """Return the number of contributions to each unit in each node's largest sum at the end.

        If the node has received the complete unit, all contributions are counted. The result is
        int64 ``[nodes, units]``.
        """
        nodes, units = self.postcondition.nodes, self.postcondition.units
        size = self._size.reshape(nodes, units, self.lanes.trees).max(axis=2).astype(np.int64)
        size[self.taken.reshape(nodes, units) < self.never] = self._counted.sum()
        return np.asarray(size)

    def find_early_send(self) -> Violation | None:
        """Find the first row whose sender lacks the complete unit or the partial sum to send."""
        early = np.flatnonzero(~self.executed)
        if not len(early):
            return None
        row = int(early[0])
        return self.rows.violation(row, _EMPTY if self._combine[row] else _INCOMPLETE)

    def held_after(self, done: int) -> Held:
        """Return a function that checks whether nodes have complete units after ``done`` rows.

        These first rows of the schedule must form complete steps.
        """
        step = self.never if done >= len(self.rows) else int(self.rows.step[done])
        before = min(max(step, 1), self.never)
        return lambda node, unit: self.complete(node, unit) < before

    def _execute(self) -> None:
        rows, lanes = self.rows, self.lanes
        size = self._size
        goal = int(self._counted.sum())
        self._mark_complete(np.flatnonzero(size == goal), 0)
        # Steps are executed one by one, because each row's sum depends on all earlier steps.
        for part in _steps(rows, self.end):
            step = int(rows.step[part.start])
            index = np.flatnonzero(self.executed[part]) + part.start
            adds = self._combine[index]
            passed = index[~adds]
            has = self.complete(rows.sender[passed], rows.unit[passed]) < step
            self.executed[passed[~has]] = False
            passed = passed[has]
            added = self._drop_empty(index[adds])
            target = lanes.cells(rows.receiver[added], added)
            # If a node receives several sums in a step, `size[target] +=` would add only one of
            # them.
            np.add.at(size, target, size[lanes.cells(rows.sender[added], added)])
            self._mark_complete(target[size[target] == goal], step)
            pair = rows.receiver[passed].astype(np.int64) * self.postcondition.units
            pair += rows.unit[passed]
            self.taken[pair] = np.minimum(self.taken[pair], step)

    def _drop_empty(self, added: Indices) -> Indices:
        """Drop the rows of a step that send an empty sum; return the rows that remain.

        The sum of a switch is empty until it receives a contribution.
        """
        if self._empty is None:
            return added
        is_empty = self._empty[self.lanes.cells(self.rows.sender[added], added)]
        self.executed[added[is_empty]] = False
        added = added[~is_empty]
        self._empty[self.lanes.cells(self.rows.receiver[added], added)] = False
        return added

    def _mark_complete(self, sums: Indices, step: int) -> None:
        # If several lanes of a unit become complete in the same step, the lane with the lowest tree
        # is recorded, because it is written last. The order of the rows must not decide, because it
        # depends on the senders' ranks, which differ from source to source.
        node, lane = np.divmod(np.sort(sums)[::-1], self.lanes.count)
        pair = node * self.postcondition.units + lane // self.lanes.trees
        new = self.summed[pair] == self.never
        self.lane[pair[new]] = lane[new]
        self.summed[pair[new]] = step


def find_double_count(postcondition: Postcondition, rows: Rows, end: int) -> Violation | None:
    """Return the violation of the first row that counts a contribution twice, or None.

    Args:
        postcondition: the postcondition of the rows.
        rows: rows with valid nodes, ports and units.
        end: the number of rows to check.

    Raises:
        LimitError: there are too many partial sums, or the sets of contributions do not fit into
            memory.
    """
    lanes = Lanes(postcondition, rows, end)
    combine = _combine(rows)[:end]
    step = rows.step[:end]
    size = postcondition.nodes * lanes.count
    source = lanes.cells(rows.sender[:end], slice(end))
    target = lanes.cells(rows.receiver[:end], slice(end))
    never = Sums.never
    taken = np.full(size, never, dtype=np.int32)
    np.minimum.at(taken, target[~combine], step[~combine])
    after = combine & ((taken[source] < step) | (taken[target] <= step))
    violation = rows.violation(int(after.argmax()), _AFTER_COMPLETE) if after.any() else None
    sent = np.full(size, never, dtype=np.int32)
    sent[source[combine]] = step[combine]
    senders = np.sort(source[combine])
    twice = np.zeros(size, dtype=bool)
    twice[senders[repeats_previous(senders)]] = True
    irregular = combine & (twice[source] | (sent[target] <= step))
    # A lane is irregular if a node sends its sum twice, or receives a sum in or after the step in
    # which it sends its own. In all other lanes counting suffices; it needs less memory than sets
    # of contributions with one bit per node.
    if not irregular.any():
        return violation
    odd = np.unique(lanes.of[irregular])
    overlap = _find_overlap(postcondition, rows, lanes, np.flatnonzero(combine), odd)
    if overlap is None or (violation is not None and violation.row < overlap):
        return violation
    return rows.violation(overlap, _COUNTED_TWICE)


def _find_overlap(
    postcondition: Postcondition, rows: Rows, lanes: Lanes, added: Indices, odd: Indices
) -> int | None:
    """Find the first row that counts a contribution twice, by executing irregular lanes with sets.

    Each set contains the nodes whose contributions are in a sum.

    Args:
        postcondition: the postcondition of the rows.
        rows: the rows of the reduction.
        lanes: the lanes of the rows.
        added: the indices of all rows that add a sum.
        odd: the irregular lanes, which are executed: a node sends its sum twice, or receives a sum
            in or after the step in which it sends its own.

    Returns:
        The index of the first row that adds a contribution which is already in the receiver's sum,
        or None.

    Raises:
        LimitError: the sets do not fit into memory.
    """
    nodes = postcondition.nodes
    words = -(-nodes // 64)
    at_once = max(_BYTES_OF_SETS // (8 * words * nodes), 1)
    memory.require(
        8 * words * nodes * (min(at_once, len(odd)) + 1),
        f"the sets of contributions of {nodes:,} nodes",
        "let each node send its sum once, after all sums sent to it, or use a smaller topology",
    )
    own = np.zeros((nodes, words), dtype=np.uint64)
    endpoint = np.arange(postcondition.endpoints)
    own[endpoint, endpoint // 64] = np.uint64(1) << (endpoint % 64).astype(np.uint64)
    found = []
    for begin in range(0, len(odd), at_once):
        chosen = odd[begin : begin + at_once]
        of_lane = np.full(lanes.count, -1, dtype=np.int64)
        of_lane[chosen] = np.arange(len(chosen))
        index = added[of_lane[lanes.of[added]] >= 0]
        sets = np.tile(own, (len(chosen), 1))
        first = of_lane[lanes.of[index]] * nodes
        overlap = _add_sets(
            rows, index, first + rows.sender[index], first + rows.receiver[index], sets
        )
        if overlap is not None:
            found.append(overlap)
    return min(found, default=None)


def _add_sets(
    rows: Rows, index: Indices, source: Indices, target: Indices, sets: NDArray[np.uint64]
) -> int | None:
    """Add, for each row, the sender's set of contributors to the receiver's set.

    Args:
        rows: the rows of the reduction.
        index: the indices of the rows to execute, in the order of steps.
        source: the index in ``sets`` of each sender's set.
        target: the index in ``sets`` of each receiver's set.
        sets: the sets, one bit per node, uint64 ``[sets, words]``; modified in place.

    Returns:
        The index of the first row whose two sets have a node in common, or None.
    """
    step = rows.step[index]
    begins = np.flatnonzero(~repeats_previous(step)).tolist()
    for begin, end in pairwise([*begins, len(index)]):
        arriving = sets[source[begin:end]]
        order = np.argsort(target[begin:end], kind="stable")
        into = target[begin:end][order]
        starts = np.flatnonzero(~repeats_previous(into))
        position = np.arange(len(into)) - np.repeat(starts, np.diff(starts, append=len(into)))
        wrong = []
        # Sets that reach a node in the same step are added one by one, because they may overlap
        # each other.
        for turn in range(int(position.max()) + 1):
            chosen = order[position == turn]
            pair = target[begin:end][chosen]
            overlaps = (sets[pair] & arriving[chosen]).any(axis=1)
            wrong += chosen[overlaps].tolist()
            sets[pair] |= arriving[chosen]
        if wrong:
            return int(index[begin + min(wrong)])
    return None


def _combine(rows: Rows) -> Mask:
    if rows.combine is None:
        raise TypeError("the rows of a reduction must have the column 'combine'")
    return rows.combine


def _steps(rows: Rows, end: int) -> Iterator[slice]:
    begins = np.flatnonzero(~repeats_previous(rows.step[:end])).tolist()
    for begin, stop in pairwise([*begins, end]):
        yield slice(begin, stop)
