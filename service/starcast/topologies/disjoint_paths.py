"""Find internally disjoint paths between two nodes: no two of them share an inner node.

By Menger's theorem, the maximum number of such paths between nodes that are not adjacent is the
smallest number of nodes that separate them. This number is n-1 in the star graph S_n and d in the
hypercube Q_d (Akers & Krishnamurthy 1989). The paths are a minimum-cost flow in which every inner
node carries at most one unit. The flow is found by successive shortest paths: each node is split
into an entry and an exit, and a new path may cancel a part of an earlier path (Suurballe 1974).
"""

from heapq import heappop, heappush
from itertools import pairwise

from starcast.support.errors import InputError
from starcast.topologies.base import Topology

#: A side of a node: the node's rank, and `_ENTRY` or `_EXIT`.
_Side = tuple[int, bool]
_ENTRY, _EXIT = False, True


def find_disjoint_paths(topology: Topology, source: int, target: int) -> list[list[int]]:
    """Find a maximum number of internally disjoint paths, with minimum total length.

    S_n has n-1 such paths, each at most 4 links longer than the distance (Day & Tripathi 1994). A
    computation for all targets showed that in S_3 to S_6 this bound also holds for paths of minimum
    total length.

    Args:
        topology: the topology that contains the two nodes.
        source: rank of the first node of all paths.
        target: rank of the last node of all paths.

    Returns:
        Each path as a list of ranks, the shortest path first.

    Raises:
        InputError: source and target are equal.

    Example:
        >>> [len(path) - 1 for path in find_disjoint_paths(topology("S4"), 0, 1)]
        [3, 3, 5]
    """
    flow = _maximum_flow(topology, source, target)
    return sorted(flow.paths(), key=lambda path: (len(path), path))


def find_smallest_cut(topology: Topology, source: int, target: int) -> list[int]:
    """Find the fewest inner nodes whose removal separates two nodes.

    If a link joins the two nodes, it is removed too. The result then has one node fewer than
    there are disjoint paths.

    Args:
        topology: the topology that contains the two nodes.
        source: rank of one of the two nodes.
        target: rank of the other node.

    Returns:
        The ranks of the nodes in ascending order.

    Raises:
        InputError: source and target are equal.

    Example:
        >>> find_smallest_cut(topology("S4"), 0, 1)
        [6, 14, 21]
    """
    return sorted(_maximum_flow(topology, source, target).cut())


def _maximum_flow(topology: Topology, source: int, target: int) -> "_Flow":
    if source == target:
        raise InputError(
            f"source and target are both {topology.label(source)}: they must be different nodes",
            hint="choose another target",
        )
    flow = _Flow(topology, source, target)
    while flow.augment():
        pass
    return flow


class _Flow:
    """The disjoint paths found so far, stored as directed links, and the search for a further path.

    Each side (entry or exit) of a node has a price, which is a lower bound on the cost of a path
    from this side to the target. Initially the price is the distance. The search adjusts the costs
    of steps by the prices. Then no step has a negative cost, and the search visits few nodes.

    Attributes:
        reached: the sides that the last search visited.
    """

    def __init__(self, topology: Topology, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._distance = topology.distances(target)
        self._price: dict[_Side, int] = {}
        self._following: dict[int, set[int]] = {source: set()}
        self._before: dict[int, int] = {}
        self._tables = [topology.neighbours(port) for port in topology.ports]
        self.reached: set[_Side] = set()

    def paths(self) -> list[list[int]]:
        """Return the disjoint paths found so far, each as a list of ranks."""
        paths = []
        for node in self._following[self._source]:
            path = [self._source, node]
            while path[-1] != self._target:
                path += self._following[path[-1]]
            paths.append(path)
        return paths

    def cut(self) -> set[int]:
        """Return a minimum cut, which has one inner node of each path longer than one link.

        If the last search reached both sides of every inner node of a path, the cut has the last
        inner node of this path; otherwise, it has the first inner node without this property.
        """
        cut = set()
        for path in self.paths():
            for node, following in pairwise(path):
                if not {(following, _ENTRY), (following, _EXIT)} <= self.reached:
                    cut.add(node if following == self._target else following)
                    break
        return cut - {self._source}

    def augment(self) -> bool:
        """Increase the number of disjoint paths by one, at minimum cost, if a further path exists.

        Returns:
            Whether a further path exists.
        """
        start, end = (self._source, _EXIT), (self._target, _ENTRY)
        cost, previous = {start: 0}, dict[_Side, _Side]()
        heap, settled = [(0, start)], set[_Side]()
        self.reached = settled
        while heap and end not in settled:
            reached, side = heappop(heap)
            if side in settled:
                continue
            settled.add(side)
            for other, length in self._steps(side):
                total = reached + length + self._priced(other) - self._priced(side)
                if total < cost.get(other, total + 1):
                    cost[other], previous[other] = total, side
                    heappush(heap, (total, other))
        if end not in settled:
            return False
        # Only the prices of settled sides change. Reaching any other side costs at least as much as
        # reaching the end, so the prices of all other sides are still lower bounds.
        for side in settled:
            self._price[side] = self._priced(side) + cost[end] - cost[side]
        sides = [end]
        while sides[-1] != start:
            sides.append(previous[sides[-1]])
        self._add(sides[::-1])
        return True

    def _priced(self, side: _Side) -> int:
        return self._price.get(side, int(self._distance[side[0]]))

    def _steps(self, side: _Side) -> list[tuple[_Side, int]]:
        """Return the sides (entries or exits of nodes) that may follow ``side``, with costs."""
        node, is_exit = side
        if is_exit:
            used = self._following.get(node, ())
            steps = [
                ((other, _ENTRY), 1)
                for other in (int(table[node]) for table in self._tables)
                if other not in used and other != self._source
            ]
            return [*steps, ((node, _ENTRY), 0)] if node in self._before else steps
        if node not in self._before:
            return [((node, _EXIT), 0)]
        # The new path cancels the link by which another path reaches this node.
        before = self._before[node]
        return [((before, _EXIT), -1)] if before != self._source else []

    def _add(self, sides: list[_Side]) -> None:
        links = [(one, other) for one, other in pairwise(sides) if one[0] != other[0]]
        for (node, side), (before, _) in links:
            if side is _ENTRY:
                self._following[before].remove(node)
                del self._before[node]
        for (node, side), (other, _) in links:
            if side is _EXIT:
                self._following.setdefault(node, set()).add(other)
                if other != self._target:
                    self._before[other] = node
