"""Checks of Fragopoulou & Akl 1993, sections 1 to 3: the star graph, its rotation and translations.

The module also checks rules 2 to 4, which list, for each node, the links that lead closer to 12..n.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import cached
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import divide, factorial, harmonic, log2
from starcast.claims.registry import Memory, all_pairs, checks
from starcast.collectives.model import Schedule
from starcast.collectives.one_to_all import build_pipeline
from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import diameter

# Properties of nodes as arrays: cycles, necklaces, links of a type
#
# The functions follow the definitions in sections 3 and 3.1. They use only the neighbour table and
# the arrays of `CachedTopology`, not the constructions.


def link_types(check: ClaimCheck) -> NDArray[np.int64]:
    """Return the types of links, the numbers 2..n; other papers call them dimensions."""
    return np.arange(2, check.n + 1)


def node_and_type(check: ClaimCheck) -> dict[str, NDArray[np.int64]]:
    """Return the node and type of each value in an array ``[nodes, types]``.

    The result is a dictionary of keyword arguments for methods of `ClaimCheck`.
    """
    return {"node": check.ranks[:, None], "dimension": link_types(check)}


@cached
def cycle_minima(check: ClaimCheck) -> Perms:
    """Return the smallest symbol in the cycle that contains each symbol, uint8 ``[nodes, n]``.

    For a symbol in its own position, this is the symbol itself.
    """
    n = check.n
    labels = stars.symbols(check)
    # All cycles are followed at once, one symbol per round, so the loop has n rounds instead of
    # one traversal per node.
    least = np.broadcast_to(np.arange(1, n + 1, dtype=np.uint8), labels.shape).copy()
    for _ in range(n):  # a cycle has at most n symbols
        least = np.minimum(least, np.take_along_axis(least, labels.astype(np.intp) - 1, axis=1))
    return least


def displaced(check: ClaimCheck) -> NDArray[np.bool_]:
    """Return whether each symbol is in a cycle of two or more symbols, bool ``[nodes, n]``."""
    return np.asarray(stars.symbols(check) != np.arange(1, check.n + 1))


def cycle_counts(check: ClaimCheck) -> NDArray[np.int64]:
    """Return c(x), the number of cycles of two or more symbols, for every node x."""
    is_minimum = cycle_minima(check) == np.arange(1, check.n + 1)
    return np.asarray((is_minimum & displaced(check)).sum(axis=1))


def displaced_counts(check: ClaimCheck) -> NDArray[np.int64]:
    """Return s(x), the number of symbols in cycles of two or more symbols, for every node x."""
    return np.asarray(displaced(check).sum(axis=1))


def moves_of_rules(check: ClaimCheck) -> NDArray[np.bool_]:
    """Return which types of links rules 2, 3 and 4 list for each node, bool ``[nodes, types]``.

    For a node that starts with 1, rule 2 lists every type i such that symbol i is not in position
    i. For other nodes, rules 3 and 4 (a) list the type that equals the first symbol, and rule 4 (b)
    lists every type i such that symbol i is in a cycle of two or more symbols without 1.
    """
    first = stars.symbols(check)[:, :1]
    apart = displaced(check)[:, 1:] & (cycle_minima(check)[:, 1:] != 1)
    return np.asarray(apart | ((first != 1) & (first == link_types(check))))


def moves_closer(check: ClaimCheck) -> NDArray[np.bool_]:
    """Return whether each link leads closer to 12..n, by search, bool ``[nodes, types]``."""
    distance = check.distances()
    return np.asarray(distance[check.neighbours.T] < distance[:, None])


def cycle_notation(label: Perms) -> str:
    """Return the cycles of a node as text, such as ``(1 3)(2 4 5)``.

    In a cycle, each symbol s is followed by x_s, the symbol in position s of the label.
    """
    cycles = permutations.cycles(label.astype(np.int64) - 1)
    texts = [" ".join(str(index + 1) for index in cycle) for cycle in cycles if len(cycle) > 1]
    return "".join(f"({text})" for text in texts)


def node_of_cycles(n: int, *cycles: tuple[int, ...]) -> int:
    """Return the rank of the node of S_n that has the given cycles."""
    label = np.arange(1, n + 1, dtype=np.uint8)
    for cycle in cycles:
        label[np.array(cycle) - 1] = np.roll(cycle, -1)
    return int(permutations.rank(label[None, :])[0])


# Claims about the star graph


@checks("FA.S1-degree")
def degree_and_diameter_below_hypercube(check: ClaimCheck) -> None:
    """Check the degree and the diameter of S_n, and that both grow more slowly than on hypercubes.

    S_n is compared with the smallest hypercube that has at least n! nodes.
    """
    n = check.n
    check.equal("different neighbours of a node", check.degrees, n - 1, node=check.ranks)
    check.equal("diameter", check.diameter, diameter(n))
    check.order("(n-1) log2 n / log2 n!", lambda n: divide((n - 1) * log2(n), log2(factorial(n))))
    what = "floor(3(n-1)/2) log2 n / log2 n!"
    check.order(what, lambda n: divide(diameter(n) * log2(n), log2(factorial(n))))
    cube = check.at(f"Q{(check.nodes - 1).bit_length()}")
    measured = check.nodes <= cube.nodes < 2 * check.nodes
    check.true("the least hypercube with n! nodes has less than 2 n!", measured)
    check.equal("its degree", len(np.unique(cube.neighbours[:, 0])), cube.n)
    below = check.reading("both are less than log2 n! at every n")
    for name, value in (("degree", n - 1), ("diameter", diameter(n))):
        # The numbers are compared as powers of two, because log2 n! is irrational.
        place = {"found": 2**value, "stated": check.nodes}
        below.true(f"2 to the power of the {name} is less than n!", 2**value < check.nodes, **place)
    check.same_order("log2 n! / (n log2 n)", lambda n: divide(log2(factorial(n)), n * log2(n)))


@checks("FA.S1-substars")
def substars(check: ClaimCheck) -> None:
    """Check that nodes with the same last n-k symbols form n!/k! graphs S_k, for k = 1..n-1."""
    label_symbols = stars.symbols(check)
    neighbours = check.neighbours.T
    for k in range(1, check.n):
        size = factorial(k)
        suffixes = np.unique(label_symbols[:, k:], axis=0, return_inverse=True)[1].reshape(-1)
        # The first k symbols are renamed to a label of S_k; sorting twice gives each symbol's rank.
        order = np.argsort(np.argsort(label_symbols[:, :k], axis=1), axis=1)
        image = permutations.rank(order.astype(np.uint8) + np.uint8(1))
        check.equal("number of classes", len(np.unique(suffixes)), factorial(check.n) // size, k=k)
        check.equal("nodes of a class", np.bincount(suffixes), size, k=k)
        pairs = np.unique(suffixes.astype(np.int64) * size + image)
        check.equal("different nodes of S_k in a class", len(pairs), check.nodes, k=k)
        stays = suffixes[neighbours] == suffixes[:, None]
        inside = link_types(check) <= k
        place = {"k": k, "node": check.ranks[:, None]}
        check.equal("a link stays in the class", stays, inside, **place)
        if k > 1:
            stated = check.at(f"S{k}").neighbours.T[image]
            heads = image[neighbours[:, : k - 1]]
            check.equal("its image is a link of S_k", heads, stated, **place)


@checks("FA.d", given=ClaimCheck.roots)
def mean_distance(check: ClaimCheck, root: int) -> None:
    """Check the mean and the sum of the distances from a root of S_n against their closed forms."""
    n = check.n
    total = int(check.distances(root).sum(dtype=np.int64))
    mean = n + divide(2, n) + harmonic(n) - 4
    check.equal("mean of the distances", divide(total, check.nodes), mean, node=root)
    check.equal("sum of the distances", total, factorial(n) * mean, node=root)


@checks("FA.dist")
def distance_by_cycles(check: ClaimCheck) -> None:
    """Check the formula for the distance of a node from 12..n.

    If the node has c cycles of two or more symbols, which contain s symbols in total, the distance
    must be c + s, minus 2 if the node does not start with 1.
    """
    correction = np.where(stars.symbols(check)[:, 0] == 1, 0, 2)
    stated = cycle_counts(check) + displaced_counts(check) - correction
    check.equal("distance from 12..n", check.distances(), stated, node=check.ranks)


@checks("FA.ex")
def examples(check: ClaimCheck) -> None:
    """Check the paper's examples of a translation on S_3 and of a cycle notation on S_6."""
    label_symbols = stars.symbols(check)
    if check.n == 3:
        q = label_symbols[check.rank("312")]
        x = label_symbols[check.rank("213")]
        image = check.array("F_312(213)", lambda: permutations.compose(q, x))
        check.equal("F_312(213)", str(permutations.labels(image[None, :])[0]), "132", node="213")
        return
    example = check.array("341526", lambda: label_symbols[check.rank("341526")])
    check.equal("cycle notation", cycle_notation(example), "(1 3)(2 4 5)", node="341526")


@checks("FA.T3")
def rotation_keeps_links(check: ClaimCheck) -> None:
    """Check that the rotation R maps a link of type t to a link of type (t-1) mod (n-1) + 2."""
    rotated = stars.rotation(check)
    neighbours = check.neighbours.T
    image_types = (link_types(check) - 1) % (check.n - 1) + 2
    stated = neighbours[rotated][:, image_types - 2]
    place = node_and_type(check)
    check.equal("rank of the rotated neighbour", rotated[neighbours], stated, **place)
    check.equal("R is one to one", np.sort(rotated), check.ranks)


@checks("FA.T3-coordinates")
def rotation_by_coordinates(check: ClaimCheck) -> None:
    """Check the formula R(x) = r(x_1) r(x_n) r(x_2) .. r(x_{n-1}) for the rotation of a node x."""
    images = stars.rotation_function(check.n)[stars.symbols(check)].astype(np.uint8)
    columns = [images[:, 0], images[:, check.n - 1], images[:, 1 : check.n - 1]]
    stated = permutations.rank(np.column_stack(columns))
    check.equal("rank of R(x)", stars.rotation(check), stated, node=check.ranks)


# Translation, and disjoint translates (Theorems 1 and 2)


#: Allgather algorithms in which all sources use translates of one broadcast, and their port models.
REPEATED = (("rotated-hamiltonian", "all"), ("necklace", "all"), ("hamiltonian-cycle", "one"))
_SEED = 1993
_RANDOM_BROADCASTS = 2
#: The number of random sets of links that are tried.
_RANDOM_SETS = 24
#: The largest n for which all pairs of links are tried.
_EXHAUSTIVE = 4

#: A set of directed links (L_i in the paper), given by their tails and their types.
LinkEnds = tuple[NDArray[np.integer], NDArray[np.integer]]


def repeated_broadcasts(check: ClaimCheck) -> Iterator[Schedule]:
    """Yield the broadcast of source 12..n in each of the allgathers in `REPEATED`."""
    for algorithm, ports in REPEATED:
        yield check.schedule("allgather", algorithm, ports=ports)


@checks("FA.T1")
def translation_keeps_links_and_broadcasts(check: ClaimCheck) -> None:
    """Check that translations keep link types, and map broadcasts to valid broadcasts."""
    neighbours = check.neighbours.T
    random = [random_broadcast(check, seed) for seed in range(_RANDOM_BROADCASTS)]
    broadcasts = [*repeated_broadcasts(check), *random]
    for q in check.roots():
        image = stars.translation(check, q)
        what = "rank of the translated neighbour"
        check.equal(what, image[neighbours], neighbours[image], root=q, **node_and_type(check))
        check.equal("F_q(12..n)", int(image[0]), q, root=q)
        check.equal("F_q is one to one", np.sort(image), check.ranks, root=q)
        for broadcast in broadcasts:
            check.execute(translated_broadcast(broadcast, q, image))


@checks("FA.T2.sufficient", memory=Memory(4, power=0, of_pairs=all_pairs))
def different_types_have_disjoint_translates(check: ClaimCheck) -> None:
    """Check that two translations never map links of different types to a common link.

    For a set of links of different types, every directed link must be in at most one of the images
    of this set under all translations.
    """
    for schedule in repeated_broadcasts(check):
        chosen = []
        greatest = []
        for step in range(1, schedule.steps + 1):
            rows = schedule.step == step
            types = schedule.port[rows]
            if len(np.unique(types)) == len(types) > 0:
                chosen.append(step)
                greatest.append(int(translate_counts(check, (schedule.sender[rows], types)).max()))
        what = "translates that a link is in, at most"
        check.equal(what, greatest, 1, step=np.array(chosen), of=schedule)
    random = [int(translate_counts(check, links).max()) for links in random_links(check)]
    check.equal("translates that a link is in, at most, of sets drawn at random", random, 1)


@checks("FA.T2.necessary", memory=Memory(4, power=0, of_pairs=all_pairs))
def same_type_has_overlapping_translates(check: ClaimCheck) -> None:
    """Check that if two links have the same type, two translations map them to the same link."""
    for tails, dimension in link_pairs(check):
        counts = translate_counts(check, (tails, np.array([dimension, dimension])))
        place = {"nodes": ", ".join(check.labels(tails)), "dimension": dimension}
        check.true("two translates have a link in common", bool((counts > 1).any()), **place)
        twice = int(np.count_nonzero(counts == 2))
        check.equal("links in two translates", twice, check.nodes, **place)


def translated_broadcast(broadcast: Schedule, q: int, image: Ranks) -> Schedule:
    """Return the translation of a broadcast of source 12..n, which is a broadcast of source q.

    The array ``image`` contains the image of each node under the translation.
    """
    return replace(
        broadcast,
        collective="broadcast",
        root=q,
        sender=image[broadcast.sender],
        receiver=image[broadcast.receiver],
        symmetric=False,
        forest=None,
        units=1,
    )


def random_broadcast(check: ClaimCheck, seed: int) -> Schedule:
    """Return a broadcast down a random spanning tree, level by level."""
    tree = Forest(check.topology, check.random_tree(seed)[None])
    return build_pipeline(tree, "all", 1).complete(check.topology, "broadcast", f"drawn-{seed}")


def translate_counts(check: ClaimCheck, links: LinkEnds) -> NDArray[np.int64]:
    """Return how many images of a set of links under translations contain each directed link.

    Returns:
        int64 ``[nodes * types]``, by the rank of the link's tail, then by the link's type.
    """
    tails, types = links
    degree = check.n - 1
    images = stars.translations(check)[:, tails].astype(np.int64)
    # Translates of a link have the link's type, so tail and type identify each translate.
    codes = images * degree + (np.asarray(types, dtype=np.int64) - 2)
    return np.bincount(codes.ravel(), minlength=check.nodes * degree)


def random_links(check: ClaimCheck) -> Iterator[LinkEnds]:
    """Yield random sets of links of different types, of all sizes from 1 to n-1.

    The tails of a set's links are random and may be equal.
    """
    rng = np.random.default_rng(_SEED)
    for number in range(_RANDOM_SETS):
        size = number % (check.n - 1) + 1
        tails = rng.integers(0, check.nodes, size)
        yield tails, rng.permutation(link_types(check))[:size]


def link_pairs(check: ClaimCheck) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield pairs of links of one type, as two tails and the type; only a sample if n > 4."""
    count = check.nodes
    types = link_types(check)
    if check.n <= _EXHAUSTIVE:
        for pair in combinations(range(count), 2):
            for dimension in types:
                yield np.array(pair), int(dimension)
        return
    rng = np.random.default_rng(_SEED)
    for _ in range(_RANDOM_SETS):
        tails = np.sort(rng.choice(count, 2, replace=False))
        yield tails, int(rng.choice(types))


# Necklaces, and moves by rules 2 to 4 (section 3.2)


@checks("FA.T5")
def necklace_size_divides(check: ClaimCheck) -> None:
    """Check that the size of every necklace divides n-1, and check the paper's example on S_5.

    A necklace is an orbit of the rotation R.
    """
    n = check.n
    size = stars.return_times(check)
    check.true("the necklace is found", size > 0, node=check.ranks)
    check.equal("remainder of n-1 by its nodes", (n - 1) % np.maximum(size, 1), 0, node=check.ranks)
    if n == 5:
        example = "14325"
        node = check.rank(example)
        check.equal("rotations after which 14325 returns", int(size[node]), 2, node=example)
        notation = cycle_notation(stars.symbols(check)[node])
        check.equal("cycle notation", notation, "(2 4)", node=example)


@checks("FA.T6")
def necklaces_without_leading_1(check: ClaimCheck) -> None:
    """Check that necklaces (orbits of R) whose nodes do not start with 1 have n-1 nodes."""
    others = np.flatnonzero(stars.symbols(check)[:, 0] != 1)
    size = stars.return_times(check)[others]
    check.equal("nodes of the necklace", size, check.n - 1, node=others)


@checks("FA.T7")
def rotation_keeps_distance(check: ClaimCheck) -> None:
    """Check that a node x and its rotation R(x) are equally far from 12..n."""
    distance = check.distances()
    check.equal("distance of R(x)", distance[stars.rotation(check)], distance, node=check.ranks)


@checks("FA.R24")
def rules_list_moves_closer(check: ClaimCheck) -> None:
    """Check that a link leads closer to 12..n if and only if rules 2 to 4 list it."""
    closer = moves_closer(check)
    stated = moves_of_rules(check)
    check.equal("the link leads closer", closer, stated, **node_and_type(check))


@checks("FA.R4-effect")
def effect_of_rule_4(check: ClaimCheck) -> None:
    """Check how a link that rule 4 lists changes the cycles of a node with at least two cycles.

    `moves_of_rules` explains rule 4.
    """
    first = stars.symbols(check)[:, 0]
    tails = np.flatnonzero((first != 1) & (cycle_counts(check) > 1))
    _check_rule_4a(check, tails)
    for dimension in link_types(check):
        _check_rule_4b(check, tails, int(dimension))


def _check_rule_4a(check: ClaimCheck, tails: NDArray[np.int64]) -> None:
    """Check that each link of rule 4 (a) removes the node's first symbol from the cycle of 1."""
    leading = stars.symbols(check)[:, 0]
    first = leading[tails]
    minima = cycle_minima(check)
    cycles = cycle_counts(check)
    displaced = displaced_counts(check)
    heads = check.neighbours.T[tails, first - 2]
    #: Whether the cycle of 1 consists only of 1 and the node's first symbol.
    is_pair = (minima[tails] == 1).sum(axis=1) == 2

    check.equal("(a) cycles", cycles[heads], cycles[tails] - is_pair, node=tails)
    stated = displaced[tails] - 1 - is_pair
    check.equal("(a) symbols in cycles", displaced[heads], stated, node=tails)
    check.equal("(a) 1 is at the front", leading[heads] == 1, is_pair, node=tails)
    stated_minima = minima[tails].copy()
    stated_minima[np.arange(len(tails)), first - 1] = first
    unchanged = (minima[heads] == stated_minima).all(axis=1)
    check.true("(a) x_1 is taken out, no other symbol changes its cycle", unchanged, node=tails)


def _check_rule_4b(check: ClaimCheck, tails: NDArray[np.int64], dimension: int) -> None:
    """Check that each link of the given dimension that rule 4 (b) lists merges two cycles.

    One cycle contains 1, and the other contains the symbol that equals the dimension.
    """
    label_symbols = stars.symbols(check)
    minima = cycle_minima(check)
    cycles = cycle_counts(check)
    displaced = displaced_counts(check)
    index = dimension - 1
    apart = (minima[tails, index] != 1) & (label_symbols[tails, index] != dimension)
    tails = tails[apart]
    heads = check.neighbours.T[tails, dimension - 2]
    place = {"node": tails, "dimension": dimension}

    check.equal("(b) cycles", cycles[heads], cycles[tails] - 1, **place)
    check.equal("(b) symbols in cycles", displaced[heads], displaced[tails], **place)
    own = minima[tails, index][:, None]
    merged = np.where(minima[tails] == own, 1, minima[tails])
    as_stated = (minima[heads] == merged).all(axis=1)
    check.true("(b) two cycles are merged, others stay", as_stated, **place)
