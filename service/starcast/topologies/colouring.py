"""Proper edge colourings of a graph: links that share a node have different colours.

Every graph with maximum degree D has such a colouring with at most D+1 colours (Vizing 1964). The
algorithm of Misra & Gries (1992) finds one; the result depends only on the list of links.
"""

from collections.abc import Sequence

#: The entry of `_Colouring.ends` for a colour that no link of the node has.
_FREE = -1


def colour_links(nodes: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """Return a proper colouring of links, with at most one colour more than the minimum.

    Args:
        nodes: the number of nodes.
        links: pairs of different nodes; every pair occurs once.

    Returns:
        The colour of each link, from 0 on. At most D+1 colours occur, for maximum degree D.

    Example:
        >>> colour_links(3, [(0, 1), (0, 2), (1, 2)])
        [0, 1, 2]
    """
    degrees = [0] * nodes
    for u, v in links:
        degrees[u] += 1
        degrees[v] += 1
    colouring = _Colouring(nodes, max(degrees, default=0) + 1)
    for u, v in links:
        colouring.add(u, v)
    return [colouring.ends[u].index(v) for u, v in links]


class _Colouring:
    """A proper colouring to which links are added one by one.

    Attributes:
        ends: for each node and colour, the other end of the node's link with this colour, or -1.
        free: for each node, an integer with a bit for every colour that no link of the node has.
    """

    def __init__(self, nodes: int, colours: int) -> None:
        self.ends = [[_FREE] * colours for _ in range(nodes)]
        self.free = [(1 << colours) - 1] * nodes

    def add(self, u: int, v: int) -> None:
        """Colour the link from u to v; recolour other links if no colour is free at both ends."""
        if common := self.free[u] & self.free[v]:
            self._set(u, v, _lowest_bit(common))
            return
        fan = self._find_fan(u, v)
        free, last = _lowest_bit(self.free[u]), _lowest_bit(self.free[fan[-1]])
        self._exchange(u, free, last)
        # The exchange may have changed the colour of a link in the fan. Then only the beginning of
        # the list is still a fan.
        end = next(
            index
            for index, node in enumerate(fan)
            if self.ends[node][last] == _FREE and self._is_fan(u, fan[: index + 1])
        )
        self._rotate(u, fan[: end + 1], last)

    def _find_fan(self, u: int, v: int) -> list[int]:
        """Return a maximal fan of u that begins with v.

        A fan is a list of neighbours of u. Only the link to the first neighbour is not coloured;
        the colour of every other link is free at the preceding neighbour.
        """
        fan, rest = [v], {end: colour for colour, end in enumerate(self.ends[u]) if end != _FREE}
        while True:
            at_last = self.ends[fan[-1]]
            following = next(
                (end for end, colour in rest.items() if at_last[colour] == _FREE), None
            )
            if following is None:
                return fan
            fan.append(following)
            del rest[following]

    def _is_fan(self, u: int, fan: Sequence[int]) -> bool:
        colours = [self.ends[u].index(node) for node in fan[1:]]
        return all(self.ends[node][c] == _FREE for node, c in zip(fan, colours, strict=False))

    def _exchange(self, u: int, free: int, other: int) -> None:
        """Exchange two colours on the longest path from u whose links have only these two colours.

        No link of u has the colour ``free``, so the path begins with a link of colour ``other``.
        """
        path, colour = [u], other
        while (end := self.ends[path[-1]][colour]) != _FREE:
            path.append(end)
            colour = free + other - colour
        for node in path:
            row = self.ends[node]
            row[free], row[other] = row[other], row[free]
            # Inner nodes of the path have links of both colours, so their free colours stay the
            # same.
            if (row[free] == _FREE) != (row[other] == _FREE):
                self.free[node] ^= 1 << free | 1 << other

    def _rotate(self, u: int, fan: Sequence[int], colour: int) -> None:
        """Give each link in a fan the next link's colour, and give ``colour`` to the last link."""
        colours = [*(self.ends[u].index(node) for node in fan[1:]), colour]
        for node, old in zip(fan[1:], colours, strict=False):
            self.ends[node][old] = _FREE
            self.free[node] |= 1 << old
        for node, new in zip(fan, colours, strict=True):
            self._set(u, node, new)

    def _set(self, u: int, v: int, colour: int) -> None:
        self.ends[u][colour], self.ends[v][colour] = v, u
        self.free[u] &= ~(1 << colour)
        self.free[v] &= ~(1 << colour)


def _lowest_bit(number: int) -> int:
    return (number & -number).bit_length() - 1
