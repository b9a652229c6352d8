"""Allgathers hop by hop, as the pages describe them, and a plain execution of collectives.

Slow, and independent of the array form: both sides share only the pages. tseng-sheu.md (A5) for
packets, fragopoulou-akl.md (A0, A2 to A4) for units, nk-star.md for S_{n,k}.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from support import oracles_multinode as multinode
from support import oracles_nk
from support.oracles import Node, Tree, depths, dimension_between, identity, swap
from support.oracles_balanced import v
from support.oracles_change import dimension_change
from support.oracles_edge_disjoint import rotate

Place = Hashable


class Hop(NamedTuple):
    """One unit that crosses one directed link in one step, on its way down a tree."""

    step: int
    sender: Place
    port: int
    receiver: Place
    tree: int
    unit: Hashable


# Execution


def for_all(
    hops: Iterable[Hop], sources: Iterable[Node], relabel: Callable[[Node, Place], Place]
) -> list[Hop]:
    """Return the identity's hops for every source q: relabelled nodes, units (q, unit)."""
    base = list(hops)
    return [
        Hop(
            hop.step,
            relabel(q, hop.sender),
            hop.port,
            relabel(q, hop.receiver),
            hop.tree,
            (q, hop.unit),
        )
        for q in sources
        for hop in base
    ]


# Packets: A5 of tseng-sheu.md, and nk-star.md


def algorithm_2(tree: Tree, n: int) -> set[Hop]:
    """Segment i of the identity goes down DC(i, T), over links of level t in step t."""
    return {
        hop
        for i in range(n - 1)
        for hop in downwards(dimension_change(i, tree, identity(n)), identity(n), i)
    }


def downwards(tree: Tree, root: Node, i: int) -> Iterator[Hop]:
    """One unit, of number i, down one tree of S_n."""
    level = depths(tree, root)
    for child, parent in tree.items():
        yield Hop(level[child], parent, dimension_between(parent, child), child, i, i)


def sub_steps(hops: Iterable[Hop], n: int) -> set[Hop]:
    """Section 5.2: each step becomes n-1 sub-steps, dimension a in the (a-1)st."""
    return {hop._replace(step=(hop.step - 1) * (n - 1) + hop.port - 1) for hop in hops}


def nk_source(trees: Sequence[Tree], x: Node, n: int) -> set[Hop]:
    """Return the hops of source x of S_{n,k}: LC(x, T) for all trees T, ports at the images."""
    q = oracles_nk.extension(x, n)
    hops = set()
    for i, tree in enumerate(trees):
        tree_by_child = {
            oracles_nk.relabel(q, child): oracles_nk.relabel(q, parent)
            for child, parent in tree.items()
        }
        level = depths(tree_by_child, x)
        hops |= {
            Hop(level[child], parent, oracles_nk.port_between(parent, child, n), child, i, (x, i))
            for child, parent in tree_by_child.items()
        }
    return hops


# Units: A2 to A4 of fragopoulou-akl.md


def rotated_hamiltonian(n: int, messages: int) -> set[Hop]:
    """A2: phase 1 of all copies in sequence, then one phase 2 for all.

    In phase 2 each type serves its leaves one per step, copy after copy.
    """
    length = max(send.step for send in multinode.phase_1(n))
    symbols = [2 + c % (n - 1) for c in range(messages)] if messages > 1 else [n]
    return {
        Hop(c * length + send.step, send.tail, send.type, send.head, c % (n - 1), c)
        for c in range(messages)
        for send in multinode.phase_1(n)
    } | set(joint_phase_2(n, symbols, messages * length))


def joint_phase_2(n: int, symbols: Sequence[int], after: int) -> Iterator[Hop]:
    """The parent of leaf u in copy c is across the position of the copy's symbol in u."""
    for i in range(2, n + 1):
        served = [
            (c, u) for c, s in enumerate(symbols) for u in multinode.leaves(n) if u[i - 1] == s
        ]
        for k, (c, u) in enumerate(served, start=1):
            yield Hop(after + k, swap(u, i), i, u, c % (n - 1), c)


def turned(x: Node, turns: int) -> Node:
    """R, some times."""
    for _ in range(turns):
        x = rotate(x)
    return x


def mbst_copies(n: int, messages: int) -> set[Hop]:
    """A3, copy c rotated c times: full steps in sequence, then the last steps of all copies.

    The last steps have one link per type and step.
    """
    numbers = multinode.mbst(n).numbers
    last = multinode.step(max(numbers.values()), n)
    hops, waiting = set(), []
    for c in range(messages):
        e = c % (n - 1)
        for x, m in sorted(numbers.items()):
            if m:
                i, child = multinode.rdim(v(m, n), e, n), turned(x, e)
                hop = Hop(c * (last - 1) + multinode.step(m, n), swap(child, i), i, child, e, c)
                if multinode.step(m, n) < last:
                    hops.add(hop)
                else:
                    waiting.append(hop)
    for i in range(2, n + 1):
        served = sorted(
            (hop for hop in waiting if hop.port == i), key=lambda hop: (hop.unit, hop.receiver)
        )
        hops |= {
            hop._replace(step=messages * (last - 1) + k) for k, hop in enumerate(served, start=1)
        }
    return hops


def cycle(n: int, messages: int) -> set[Hop]:
    """A4: the identity's messages in sequence along the Hamiltonian cycle without its last link."""
    types = multinode.cycle_types(n)[:-1]
    way = multinode.visited(identity(n), types)
    return {
        Hop(c * len(types) + t, way[t - 1], types[t - 1], way[t], 0, c)
        for c in range(messages)
        for t in range(1, len(types) + 1)
    }
