"""All ways in which a one-port broadcast can spread through the cliques of an (n,k)-star.

A broadcast enters a clique at one node. A part is the set of nodes of the clique that are informed
from this node, directly or indirectly. A node informed across a link between cliques cannot use
this link again.
"""

from collections.abc import Iterator
from itertools import product

#: For each node of a part, the number of unused links to other cliques; sorted in ascending order.
Part = tuple[int, ...]


def all_rounds(part: Part, size: int, links: int) -> Iterator[tuple[Part, ...]]:
    """Yield the possible results of a round: the part afterwards, and new parts in other cliques.

    In a round each node is idle, informs a node of its clique, or sends to another clique. A clique
    has ``size`` nodes, and each node has ``links`` links to other cliques.
    """
    for choices in product(("idle", "inside", "out"), repeat=len(part)):
        inside = choices.count("inside")
        senders = [free for free, choice in zip(part, choices, strict=True) if choice == "out"]
        if len(part) + inside > size or 0 in senders:
            continue
        after = [free - (choice == "out") for free, choice in zip(part, choices, strict=True)]
        yield tuple(sorted([*after, *[links] * inside])), *[(links - 1,)] * len(senders)


def most_informed(size: int, links: int, rounds: int) -> int:
    """Return the maximum number of nodes that a broadcast can inform in a number of rounds."""
    reached: set[tuple[Part, ...]] = {((links,),)}
    for _ in range(rounds):
        reached = {
            tuple(sorted(part for parts in grown for part in parts))
            for state in reached
            for grown in product(*(set(all_rounds(part, size, links)) for part in state))
        }
    return max(sum(map(len, state)) for state in reached)
