"""A lower bound for one-port broadcasts in (n,k)-stars, whose cliques slow them down.

The n-k+1 nodes of S_{n,k} that differ only in the first symbol form a clique. Every node has k-1
further links, each into another clique. A node that was informed across such a link cannot use that
link again, and in a clique whose nodes are all informed only the links out of it are of use. So a
broadcast grows more slowly than the degrees of the nodes alone would allow.

Proof. Give every node that was informed across a link a part of its own, with those whom it informs
within the clique, those whom they inform there, and so on. A part has at most n-k+1 nodes. Its
first node has k-2 links out that may inform somebody, and every other node k-1, as the root has.
`_more` takes the best of all ways in which such parts can grow, with as many parts as they like.

This settles S_{6,3}, S_{8,2}, S_{9,3}, S_{11,2}, S_{15,2} and S_{16,2}, where counting by degree is
one round too low.
"""

from functools import cache

from starcast.topologies import Topology

#: Nodes of a clique up to which the bound is computed. It takes a second there and minutes for
#: twice as many; cliques of that size have room for nearly all rounds and hold nobody up.
_MAX_CLIQUE = 20


def clique_bound(graph: Topology) -> int:
    """Return a number of rounds that no one-port broadcast in an (n,k)-star can fall below.

    Args:
        graph: S_{n,k}. For other topologies, and for cliques of more than 20 nodes, the bound is 0.

    Example:
        >>> from starcast import topology
        >>> clique_bound(topology("S8,2"))  # of 56 nodes, of which 6 rounds of doubling reach 64
        7
    """
    if graph.family != "nk-star" or graph.k is None or graph.n - graph.k >= _MAX_CLIQUE:
        return 0
    root = _single(graph.k - 1, graph.k - 1)
    rounds = 0
    while 1 + _more(graph.n - graph.k + 1, root, rounds) < graph.nodes:
        rounds += 1
    return rounds


@cache
def _more(size: int, free: tuple[int, ...], rounds: int) -> int:
    """Return the most nodes that the informed nodes of a part can inform.

    Args:
        size: nodes of a clique.
        free: at index l, the number of informed nodes with l links out that may inform somebody.
        rounds: the rounds that are left.
    """
    if rounds == 0:
        return 0
    links = len(free) - 1
    most = 0
    for senders in range(sum(free[1:]) + 1):
        inside = min(sum(free) - senders, size - sum(free))
        after = _send(free, senders)
        after[links] += inside
        # Each sender starts a part whose first node has used one of its links.
        outside = senders and senders * (1 + _more(size, _single(links - 1, links), rounds - 1))
        most = max(most, inside + outside + _more(size, tuple(after), rounds - 1))
    return most


def _single(free: int, links: int) -> tuple[int, ...]:
    """Return a part of one node with ``free`` of at most ``links`` links out."""
    return tuple(int(each == free) for each in range(links + 1))


def _send(free: tuple[int, ...], senders: int) -> list[int]:
    """Let nodes send out of the clique, those with most free links first.

    No other choice is better. Let two nodes have p < q free links, and let the first one send now:
    later it sends at most p - 1 times, and the second at most q times. If the second sends q times,
    there is a round in which it sends and the first does not, and they can change places in it. So
    p and q - 1 free links allow as much, and these are left if the second one sends now.
    """
    after = list(free)
    for links in range(len(free) - 1, 0, -1):
        sending = min(senders, free[links])
        senders -= sending
        after[links] -= sending
        after[links - 1] += sending
    return after
