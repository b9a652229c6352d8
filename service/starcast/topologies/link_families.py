"""Families of topologies that are given by their links; most of them are not Cayley graphs.

Most functions yield links one by one, so that a huge topology is refused before its links fill the
memory. A link may be yielded from both of its ends.
"""

from collections.abc import Iterator
from itertools import accumulate, combinations, permutations, product
from math import prod
from random import Random
from string import ascii_lowercase, digits

from starcast.support.errors import InputError
from starcast.topologies.families import MAX_LINKS, family

#: The symbols in labels of de Bruijn and Kautz graphs.
_SYMBOLS = digits + ascii_lowercase
#: The maximum length of labels of de Bruijn and Kautz graphs. Graphs with longer labels have too
#: many links.
_LONGEST = 20

LabelPairs = Iterator[tuple[object, object]]


def _require(is_valid: bool, spec: str, hint: str) -> None:
    if not is_valid:
        raise InputError(f"{spec} is out of range", hint=hint)


@family("path", pattern=r"Path(\d+)", source="Harary 1969", noun="paths", sizes=range(2, 10_001))
def path(n: int) -> LabelPairs:
    """Yield the links of a path with n nodes."""
    for node in range(n - 1):
        yield node, node + 1


@family(
    "mesh", pattern=r"Mesh(\d+)x(\d+)(?:x(\d+))?", source="Dally & Seitz 1986",
    noun="mesh networks", spelling="Mesh4x5 or Mesh4x5x6 for a mesh network",
)  # fmt: skip
def mesh(*sides: int) -> LabelPairs:
    """Yield the links of a mesh. Labels are coordinates, all with the same number of digits."""
    _require(min(sides) > 1, f"Mesh{'x'.join(map(str, sides))}", "use sides of at least 2")
    width = len(str(max(sides) - 1))
    strides = [prod(sides[axis + 1 :]) for axis in range(len(sides))]
    axes = list(zip(strides, sides, strict=True))

    def label(node: int) -> str:
        return "".join(f"{node // stride % side:0{width}}" for stride, side in axes)

    for node in range(prod(sides)):
        for stride, side in axes:
            if node // stride % side + 1 < side:
                yield label(node), label(node + stride)


@family(
    "complete-bipartite", pattern=r"K(\d+),(\d+)", source="Harary 1969",
    noun="complete bipartite graphs", spelling="K3,4 for a complete bipartite graph",
)  # fmt: skip
def complete_bipartite(left: int, right: int) -> LabelPairs:
    """Yield a link from each of the nodes a1, a2, .. to each of the nodes b1, b2, .."""
    _require(min(left, right) > 0, f"K{left},{right}", "use two numbers of at least 1")
    for a in range(1, left + 1):
        for b in range(1, right + 1):
            yield f"a{a}", f"b{b}"


@family(
    "arrangement", pattern=r"A(\d+),(\d+)", source="Day & Tripathi 1992",
    noun="arrangement graphs", sizes=range(2, 36),
    spelling="A5,2 for an arrangement graph (n,k: labels of k of the n symbols, n at most 35)",
)  # fmt: skip
def arrangement(n: int, k: int) -> LabelPairs:
    """Yield the links between arrangements of k of n symbols that differ in one position."""
    _require(1 <= k < n, f"A{n},{k}", f"use a k from 1 to {n - 1}")
    symbols = _SYMBOLS[1 : n + 1]
    for node in permutations(symbols, k):
        for position, symbol in product(range(k), symbols):
            if symbol not in node:
                other = (*node[:position], symbol, *node[position + 1 :])
                yield "".join(node), "".join(other)


@family(
    "crossed-cube", pattern=r"CQ(\d+)", source="Efe 1992", noun="crossed cubes",
    sizes=range(2, 15),
)  # fmt: skip
def crossed_cube(d: int) -> LabelPairs:
    """Yield the links of a crossed cube; a link flips one bit and may flip bits to its right.

    The bits to the right of the flipped bit form pairs, beginning with the last two bits. In each
    pair whose right bit is 1, the left bit is flipped too.
    """
    for node, flipped in product(range(2**d), range(d)):
        other = node ^ 1 << flipped
        for low in range(0, flipped - 1, 2):
            other ^= (node >> low & 1) << low + 1
        yield f"{node:0{d}b}", f"{other:0{d}b}"


@family(
    "de-bruijn", pattern=r"DB(\d+),(\d+)", source="Bermond & Peyrat 1989",
    noun="de Bruijn graphs", sizes=range(2, 37),
    spelling="DB2,4 for a de Bruijn graph (words of length 4 over 2 symbols)",
)  # fmt: skip
def de_bruijn(symbols: int, length: int) -> LabelPairs:
    """Yield the links of a de Bruijn graph, from each word to its shifts.

    A shift of a word lacks the word's first symbol and ends with an additional symbol. A word is
    not linked to itself.
    """
    _require(
        1 <= length <= _LONGEST, f"DB{symbols},{length}", f"use 1 to {_LONGEST} symbols per word"
    )
    for word in product(_SYMBOLS[:symbols], repeat=length):
        for last in _SYMBOLS[:symbols]:
            if (other := (*word[1:], last)) != word:
                yield "".join(word), "".join(other)


@family(
    "kautz", pattern=r"KZ(\d+),(\d+)", source="Bermond & Peyrat 1989", noun="Kautz graphs",
    sizes=range(2, 36), spelling="KZ2,3 for a Kautz graph (words of length 3 over 2+1 symbols)",
)  # fmt: skip
def kautz(degree: int, length: int) -> LabelPairs:
    """Yield the links of a Kautz graph, from each word to its shifts.

    There are degree + 1 symbols; adjacent symbols of a word differ. A shift of a word lacks the
    word's first symbol and ends with an additional symbol.
    """
    _require(
        1 <= length <= _LONGEST, f"KZ{degree},{length}", f"use 1 to {_LONGEST} symbols per word"
    )
    # The first step chooses the first symbol. All later steps exclude 0, so that adjacent symbols
    # differ.
    for steps in product(range(degree + 1), *[range(1, degree + 1)] * (length - 1)):
        word = "".join(_SYMBOLS[place % (degree + 1)] for place in accumulate(steps))
        for last in _SYMBOLS[: degree + 1].replace(word[-1], ""):
            yield word, word[1:] + last


@family(
    "generalized-petersen", pattern=r"GP(\d+),(\d+)", source="Watkins 1969",
    noun="generalized Petersen graphs", sizes=range(3, 10_001),
    spelling="GP8,3 for a generalized Petersen graph",
)  # fmt: skip
def generalized_petersen(n: int, k: int) -> LabelPairs:
    """Yield the links of a generalized Petersen graph.

    Node u_i is linked to u_(i+1) and v_i, and node v_i to v_(i+k), with indices modulo n.
    """
    _require(1 <= k < n / 2, f"GP{n},{k}", "use a k of at least 1 and below n/2")
    for node in range(n):
        yield f"u{node}", f"u{(node + 1) % n}"
        yield f"u{node}", f"v{node}"
        yield f"v{node}", f"v{(node + k) % n}"


@family(
    "dragonfly", pattern=r"DF(\d+)(?:,(\d+))?", source="Kim, Dally, Scott & Abts 2008",
    noun="dragonfly networks", sizes=range(1, 14), switches="r",
    spelling="DF4 for a dragonfly network (h), DF4,4 for one with hosts (h, hosts per router)",
)  # fmt: skip
def dragonfly(h: int, *hosts: int) -> LabelPairs:
    """Yield the links of a dragonfly network, in which each router has h links to other groups.

    A group has 2h routers, all linked to one another, and each of the 2h^2 + 1 groups has one link
    to each other group. The link from group g to group g + j, modulo 2h^2 + 1, begins at router
    (j-1)//h of group g. If ``hosts`` is given, it is the number p of hosts at each router, and
    routers are switches. The network is balanced if p = h.
    """
    groups = 2 * h * h + 1
    if hosts:
        _require(0 < hosts[0] < 200, f"DF{h},{hosts[0]}", "use 1 to 199 hosts per router")
        for u, v in dragonfly(h):
            yield f"r{u}", f"r{v}"
        for group, router, host in product(range(groups), range(2 * h), range(hosts[0])):
            yield f"r{group}.{router}", f"h{group}.{router}.{host}"
        return
    for group in range(groups):
        for one, other in combinations(range(2 * h), 2):
            yield f"{group}.{one}", f"{group}.{other}"
        for ahead in range(1, groups):
            back = groups - ahead
            end = (group + ahead) % groups
            yield f"{group}.{(ahead - 1) // h}", f"{end}.{(back - 1) // h}"


@family(
    "fat-tree", pattern=r"FT(\d+)", source="Al-Fares, Loukissas & Vahdat 2008", noun="fat trees",
    spelling="FT4 for a fat tree (the ports of each switch, an even number up to 60)",
    sizes=range(2, 61), switches="ace",
)  # fmt: skip
def fat_tree(k: int) -> LabelPairs:
    """Yield the links of a fat tree of hosts (h) and k-port switches.

    The switches are on three levels: edge (e), aggregation (a) and core (c). The letters in
    parentheses are the first letters of labels.

    Each of the k pods has k/2 edge and k/2 aggregation switches. Each edge switch is linked to k/2
    hosts, and to all aggregation switches of the pod. Aggregation switch i of each pod is linked to
    the core switches i.0, i.1, ..
    """
    _require(k % 2 == 0, f"FT{k}", "use an even k, such as 4")
    for pod, one, other in product(range(k), range(k // 2), range(k // 2)):
        yield f"e{pod}.{one}", f"h{pod}.{one}.{other}"
        yield f"e{pod}.{one}", f"a{pod}.{other}"
        yield f"a{pod}.{one}", f"c{one}.{other}"


@family(
    "slim-fly", pattern=r"SF(\d+)", source="Besta & Hoefler 2014", noun="Slim Fly networks",
    spelling="SF5 for a Slim Fly network (q, an odd prime up to 53)", sizes=range(3, 54),
)  # fmt: skip
def slim_fly(q: int) -> LabelPairs:
    """Yield the links of a Slim Fly network, the McKay-Miller-Siran graph for an odd prime q.

    A node (s, x, y) is in half s, which is 0 or 1, in row x and in place y. Each half has its own
    set of powers of a primitive root modulo q. Within a row, two nodes are linked if their places
    differ, modulo q, by a number in the set of their half. Across the halves, (0, x, y) is linked
    to (1, m, c) if y = mx + c modulo q.
    """
    is_prime = all(q % divisor for divisor in range(2, q))
    _require(is_prime, f"SF{q}", "use an odd prime q, such as 5 or 7")
    # The powers of a primitive root are all numbers from 1 to q-1.
    roots = ([pow(root, exponent, q) for exponent in range(q - 1)] for root in range(2, q))
    powers = next(row for row in roots if len({*row}) == q - 1)
    # The set of distances must contain -d modulo q for each of its elements d. If q = 4w - 1, the
    # parity of the exponents is therefore reversed in the second half of the powers.
    half = (q - 1) // 2 if q % 4 == 3 else q
    even = {power for i, power in enumerate(powers) if i % 2 == (i >= half)}
    odd = {power * powers[1] % q for power in even}
    for x, y in product(range(q), repeat=2):
        for side, distances in enumerate((even, odd)):
            for distance in distances:
                if y + distance < q:  # the distance q - distance yields the other links
                    yield f"{side}.{x}.{y}", f"{side}.{x}.{y + distance}"
        for slope in range(q):
            yield f"0.{x}.{y}", f"1.{slope}.{(y - slope * x) % q}"


@family(
    "random-regular", pattern=r"RR(\d+),(\d+),(\d+)", source="Steger & Wormald 1999",
    noun="random regular graphs", sizes=range(4, 50_001),
    spelling="RR120,4,1 for a random regular graph (nodes, degree, seed)",
)  # fmt: skip
def random_regular(n: int, degree: int, seed: int) -> list[tuple[int, int]]:
    """Return the links of a random connected graph with n nodes of the given degree."""
    if not 3 <= degree < n or n * degree % 2 or n * degree > 2 * MAX_LINKS:
        raise InputError(
            f"starcast cannot build a random regular graph of {n:,} nodes with degree {degree}",
            hint=f"use a degree of at least 3 and below n, with n times the degree even and at most"
            f" {2 * MAX_LINKS:,}",
        )
    random = Random(seed)  # noqa: S311 - no secret depends on it
    # If most pairs of nodes must be linked, drawing the links rarely succeeds. Then the pairs
    # without a link are drawn instead of the links.
    drawn = min(degree, n - 1 - degree)
    while True:
        links = _pair_ends(n, drawn, random)
        if drawn < degree:
            links = {*combinations(range(n), 2)} - links
        if len(links) == n * degree // 2 and _is_connected(links, n):
            return sorted(links)


def _pair_ends(n: int, degree: int, random: Random) -> set[tuple[int, int]]:
    """Return the links that result from joining random pairs of link ends.

    Each node has ``degree`` link ends. If the last ends cannot be joined, because their nodes are
    equal or already linked, they are omitted, and the result has too few links.
    """
    links: set[tuple[int, int]] = set()
    ends = [node for node in range(n) for _ in range(degree)]
    while ends:
        # Of the methods of `Random`, only random() gives the same numbers in every Python version.
        ends = [end for _, end in sorted((random.random(), end) for end in ends)]
        rest: list[int] = []
        for pair in zip(ends[::2], ends[1::2], strict=True):
            one, other = sorted(pair)
            if one == other or (one, other) in links:
                rest += pair
            else:
                links.add((one, other))
        nodes = {*rest}
        if all(pair in links for pair in combinations(sorted(nodes), 2)):
            return links
        ends = rest
    return links


def _is_connected(links: set[tuple[int, int]], n: int) -> bool:
    adjacent: list[list[int]] = [[] for _ in range(n)]
    for one, other in links:
        adjacent[one].append(other)
        adjacent[other].append(one)
    reached = {0}
    queue = [0]
    for node in queue:
        new = {*adjacent[node]} - reached
        reached |= new
        queue += new
    return len(reached) == n
