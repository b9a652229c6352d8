"""The bound by cliques of one-port broadcasts in (n,k)-stars."""

from collections.abc import Iterator
from itertools import product

import pytest

from starcast import topology
from starcast.records import load_all, shipped_folder
from starcast.search.broadcast import counting_bound
from starcast.search.clique_bound import _more, clique_bound

#: The free links of the nodes of a part, in ascending order.
Part = tuple[int, ...]


def all_rounds(part: Part, size: int, links: int) -> Iterator[tuple[Part, ...]]:
    """Yield what a part can become in a round: itself, then the parts that it starts.

    Every node is idle, informs a node of the clique, or sends across a free link.
    """
    for choices in product(("idle", "inside", "out"), repeat=len(part)):
        inside = choices.count("inside")
        senders = [free for free, choice in zip(part, choices, strict=True) if choice == "out"]
        if len(part) + inside > size or 0 in senders:
            continue
        after = [free - (choice == "out") for free, choice in zip(part, choices, strict=True)]
        yield tuple(sorted([*after, *[links] * inside])), *[(links - 1,)] * len(senders)


def most_informed(size: int, links: int, rounds: int) -> int:
    """Try all ways in which parts can grow, and return the most nodes that are informed."""
    reached: set[tuple[Part, ...]] = {((links,),)}
    for _ in range(rounds):
        reached = {
            tuple(sorted(part for parts in grown for part in parts))
            for state in reached
            for grown in product(*(set(all_rounds(part, size, links)) for part in state))
        }
    return max(sum(map(len, state)) for state in reached)


@pytest.mark.parametrize("links", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_no_way_to_grow_is_better(size: int, links: int) -> None:
    root = tuple(int(each == links) for each in range(links + 1))
    for rounds in range(5):
        assert 1 + _more(size, root, rounds) == most_informed(size, links, rounds)


def test_no_broadcast_is_better() -> None:
    shipped = load_all(shipped_folder())
    records = [record for record in shipped if record.problem == "one-port-broadcast"]
    assert len(records) > 30
    for record in records:
        assert clique_bound(topology(record.topology)) <= record.value


def test_cliques_settle_what_counting_leaves_open() -> None:
    for spec in ["S6,2", "S6,3", "S8,2", "S9,3", "S11,2"]:
        graph = topology(spec)
        assert clique_bound(graph) == counting_bound(graph.nodes, graph.degree) + 1


def test_stars_and_large_cliques_have_no_bound() -> None:
    assert clique_bound(topology("S5")) == 0
    assert clique_bound(topology("S24,2")) == 0
