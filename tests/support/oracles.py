"""The definitions node by node: slow, and independent of the array implementation.

A node is the tuple of its symbols, a tree maps every node but the root to its parent, a schedule is
a list of rows. References are to the definitions of Tseng & Sheu (A1 to A6) and of Sheu, Liaw &
Chen (B1, B2), all counted from 1. This module imports nothing from starcast.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import factorial, gcd, prod
from typing import NamedTuple

Node = tuple[int, ...]
Tree = dict[Node, Node]

SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyz"


# Permutations


def identity(n: int) -> Node:
    """The node 12..n."""
    return tuple(range(1, n + 1))


@cache
def nodes(n: int) -> tuple[Node, ...]:
    """All nodes of S_n in lexicographic order."""
    return tuple(permutations(range(1, n + 1)))


@cache
def ranks(n: int) -> dict[Node, int]:
    """Every node's index in lexicographic order."""
    return {node: rank for rank, node in enumerate(nodes(n))}


def rank_by_counting(node: Node) -> int:
    """Count the permutations before: for each position, the smaller symbols to its right."""
    return sum(
        sum(later < symbol for later in node[place + 1 :]) * factorial(len(node) - 1 - place)
        for place, symbol in enumerate(node)
    )


def node_by_counting(n: int, rank: int) -> Node:
    """The node of a rank, symbol by symbol."""
    left, node = list(range(1, n + 1)), []
    for place in range(n):
        index, rank = divmod(rank, factorial(n - 1 - place))
        node.append(left.pop(index))
    return tuple(node)


def label(node: Node) -> str:
    """The node as text, one character a symbol."""
    return "".join(SYMBOLS[symbol - 1] for symbol in node)


def node_of(text: str) -> Node:
    """The node that a label names."""
    return tuple(SYMBOLS.index(character) + 1 for character in text)


def compose(q: Node, x: Node) -> Node:
    """Translation of x by q: the symbol s becomes q_s."""
    return tuple(q[symbol - 1] for symbol in x)


def inverse(q: Node) -> Node:
    """The permutation that undoes q."""
    return tuple(q.index(symbol) + 1 for symbol in identity(len(q)))


def shift(x: Node, j: int) -> Node:
    """A1: rho^j(x), the label moved right by j places; a negative j moves it left."""
    n = len(x)
    return tuple(x[(place - j) % n] for place in range(n))


def cyclic_roots(n: int) -> list[Node]:
    """All n shifts of the identity."""
    return [shift(identity(n), j) for j in range(n)]


def derangements(n: int) -> int:
    """Count the permutations without fixed points by d_n = (n-1)(d_{n-1} + d_{n-2})."""
    before, now = 1, 0
    for size in range(2, n + 1):
        before, now = now, (size - 1) * (now + before)
    return now


# The star graph


def swap(node: Node, dimension: int) -> Node:
    """g_d: the symbols in the positions 1 and d change places."""
    moved = list(node)
    moved[0], moved[dimension - 1] = moved[dimension - 1], moved[0]
    return tuple(moved)


def dimension_between(a: Node, b: Node) -> int:
    """The dimension of the link between two neighbours."""
    (dimension,) = [d for d in range(2, len(a) + 1) if swap(a, d) == b]
    return dimension


def diameter(n: int) -> int:
    """D_n = floor(3(n-1)/2)."""
    return 3 * (n - 1) // 2


@cache
def distances(root: Node) -> dict[Node, int]:
    """Every node's distance from the root, by breadth-first search."""
    result, queue = {root: 0}, deque([root])
    while queue:
        node = queue.popleft()
        for dimension in range(2, len(root) + 1):
            neighbour = swap(node, dimension)
            if neighbour not in result:
                result[neighbour] = result[node] + 1
                queue.append(neighbour)
    return result


# Trees


def dif(v: Node, r: Node) -> int:
    """A1: the first position from 2 on in which v and r differ."""
    return min(k for k in range(2, len(r) + 1) if v[k - 1] != r[k - 1])


def alpha(v: Node, r: Node) -> int:
    """A1: the dimension of the link that leads from v towards r in L(r)."""
    return dif(v, r) if v[0] == r[0] else r.index(v[0]) + 1


@cache
def greedy(r: Node) -> Tree:
    """A1: L(r)."""
    return {v: swap(v, alpha(v, r)) for v in nodes(len(r)) if v != r}


def rerooted(tree: Tree, root: Node) -> Tree:
    """The same undirected links, all pointing to another root."""
    linked: dict[Node, list[Node]] = {}
    for child, parent in tree.items():
        linked.setdefault(child, []).append(parent)
        linked.setdefault(parent, []).append(child)
    parents: Tree = {}
    queue = deque([root])
    while queue:
        node = queue.popleft()
        for neighbour in linked[node]:
            if neighbour != parents.get(node):
                parents[neighbour] = node
                queue.append(neighbour)
    return parents


@cache
def multiple(r: Node) -> tuple[Tree, ...]:
    """A2: the trees L-hat(rho^i(r)), i = 1..n-1, each L(rho^i(r)) rooted again at r."""
    return tuple(rerooted(greedy(shift(r, i)), r) for i in range(1, len(r)))


def path_dimensions(r: Node, i: int) -> list[int]:
    """A2: the dimensions of p_i, by walking from r to rho^i(r) with alpha."""
    goal, node, crossed = shift(r, i), r, []
    while node != goal:
        crossed.append(alpha(node, goal))
        node = swap(node, crossed[-1])
    return crossed


def path_dimensions_by_cycles(n: int, i: int) -> list[int]:
    """A2: the same from the cycles C_k = (k, c(k), ..): tail(C_1), then each C_k and k."""
    crossed: list[int] = []
    for k in range(1, gcd(n, i) + 1):
        cycle, position = [k], (k - 1 + i) % n + 1
        while position != k:
            cycle.append(position)
            position = (position - 1 + i) % n + 1
        crossed += cycle[1:] if k == 1 else [*cycle, k]
    return crossed


def height_of_multiple(n: int) -> int:
    """A6: h = D_n + n + g - 2 with the largest proper divisor g of n; 1 for n = 2."""
    largest = max(d for d in range(1, n) if n % d == 0)
    return 1 if n == 2 else diameter(n) + n + largest - 2


@dataclass(frozen=True)
class Send:
    """A message of the Sheu-Liaw-Chen procedure, one step after the sender received it."""

    step: int
    sender: Node
    dimension: int
    receiver: Node
    rule: int


@cache
def recursive_substar_sends(source: Node) -> tuple[Send, ...]:
    """B1: the procedure as recursion with its arguments s, dim1, flag, dim2."""
    sends: list[Send] = []

    def broadcasting(s: Node, dim1: int, flag: bool, dim2: int, received: int) -> None:
        def send(dimension: int, dim1: int, flag: bool, dim2: int, rule: int) -> None:
            receiver = swap(s, dimension)
            sends.append(Send(received + 1, s, dimension, receiver, rule))
            broadcasting(receiver, dim1, flag, dim2, received + 1)

        if dim1 > 1:
            send(dim1, dim1 - 1, True, dim1 - 1, rule=1)
            for i in range(2, dim1):
                send(i, i - 1, False, dim1, rule=1)
        if not flag:
            for k in range(dim1 + 2, dim2 + 1):
                send(k, k - 1, True, k - 1, rule=2)

    n = len(source)
    broadcasting(source, n, True, n, 0)
    return tuple(sends)


def recursive_substar(source: Node) -> Tree:
    """B1: the sender of the message of each node."""
    return {send.receiver: send.sender for send in recursive_substar_sends(source)}


def informed_per_step(n: int) -> list[int]:
    """B1: the coefficients of P_n(z) = product of (1 + z + (i-2) z^2) for i = 2..n."""
    coefficients = [1]
    for i in range(2, n + 1):
        trees = [0] * (len(coefficients) + 2)
        for power, coefficient in enumerate(coefficients):
            for offset, factor in enumerate((1, 1, i - 2)):
                trees[power + offset] += coefficient * factor
        coefficients = trees
    while coefficients[-1] == 0:
        coefficients.pop()
    return coefficients


def label_change(x: Node, tree: Tree) -> Tree:
    """A4: LC(x, T), every node y becomes x o y."""
    return {compose(x, child): compose(x, parent) for child, parent in tree.items()}


# Measures of trees


def depths(tree: Tree, root: Node) -> dict[Node, int]:
    """Return every node's level; a cycle is a RuntimeError, another root a KeyError."""
    result = {root: 0}
    for start in tree:
        trail, node = [], start
        while node not in result:
            trail.append(node)
            if len(trail) > len(tree):
                raise RuntimeError(f"{label(start)} does not lead to {label(root)}")
            node = tree[node]
        result |= {
            member: above for above, member in enumerate(reversed(trail), start=result[node] + 1)
        }
    return result


def profile(tree: Tree, root: Node) -> list[int]:
    """Return the number of nodes on each level."""
    counts = Counter(depths(tree, root).values())
    return [counts[level] for level in range(max(counts) + 1)]


def leaves(tree: Tree, root: Node) -> set[Node]:
    """The nodes without children."""
    return ({root} | set(tree)) - set(tree.values())


def sizes(tree: Tree, root: Node) -> dict[Node, int]:
    """Return the number of nodes of every node's subtree, including itself."""
    counts = dict.fromkeys(depths(tree, root), 0)
    for start in counts:
        node = start
        counts[node] += 1
        while node != root:
            node = tree[node]
            counts[node] += 1
    return counts


def load(trees: Iterable[Tree]) -> Counter[tuple[Node, Node]]:
    """Return the number of trees that use each directed link, parent to child."""
    return Counter((parent, child) for tree in trees for child, parent in tree.items())


def load_histogram(trees: Sequence[Tree], n: int) -> dict[int, int]:
    """Return the number of directed links by load, including 0."""
    histogram = Counter(load(trees).values())
    histogram[0] = factorial(n) * (n - 1) - sum(histogram.values())
    return {amount: links for amount, links in sorted(histogram.items()) if links}


def is_spanning(tree: Tree, root: Node) -> bool:
    """Return whether every node leads to the root."""
    try:
        return len(depths(tree, root)) == factorial(len(root)) and root not in tree
    except (KeyError, RuntimeError):
        return False


# Schedules


@dataclass(frozen=True, order=True)
class Row:
    """One unit that crosses one directed link in one step."""

    step: int
    sender: Node
    port: int
    receiver: Node
    tree: int
    unit: tuple[int, int]  # tree, and number within the tree from 0


def pipelined(trees: Sequence[Tree], root: Node, segments: int) -> set[Row]:
    """A3, all-port: segment s of tree i crosses a link of level l in slot s + l (s from 0)."""
    return {
        Row(
            number + level,
            tree[child],
            dimension_between(tree[child], child),
            child,
            index,
            (index, number),
        )
        for index, tree in enumerate(trees)
        for child, level in depths(tree, root).items()
        if level
        for number in range(segments)
    }


def by_dimension(rows: Iterable[Row], n: int) -> set[Row]:
    """A3, one-port: every slot becomes n-1 sub-slots, and dimension a is served in the (a-1)st."""
    return {
        Row(
            (row.step - 1) * (n - 1) + row.port - 1,
            row.sender,
            row.port,
            row.receiver,
            row.tree,
            row.unit,
        )
        for row in rows
    }


def recursive_substar_one_port(source: Node, messages: int) -> set[Row]:
    """B2: one child per slot after receipt, Rule 2 before Rule 1; a message per n-1 slots."""
    served: dict[Node, list[Send]] = {}
    for send in recursive_substar_sends(source):
        served.setdefault(send.sender, []).append(send)
    received, queue, rows, n = {source: 0}, deque([source]), set(), len(source)
    while queue:
        node = queue.popleft()
        for turn, send in enumerate(
            sorted(served.get(node, []), key=lambda s: (-s.rule, s.dimension)), start=1
        ):
            received[send.receiver] = received[node] + turn
            queue.append(send.receiver)
            rows |= {
                Row(
                    received[node] + turn + number * (n - 1),
                    node,
                    send.dimension,
                    send.receiver,
                    0,
                    (0, number),
                )
                for number in range(messages)
            }
    return rows


# The simulator


class Plain(NamedTuple):
    """A row as a schedule's columns have it, with nodes for ranks."""

    step: int
    sender: Node
    port: int
    receiver: Node
    tree: int
    unit: int


# Costs


class Prices(NamedTuple):
    """Message size and costs, as exact fractions: m bytes, T_s per start-up, T_c per byte."""

    m: Fraction
    start_up: Fraction
    byte: Fraction


def ceil_div(part: int, total: int) -> int:
    """The quotient rounded up."""
    return -(-part // total)


def ceil_log2(value: int) -> int:
    """The least e with 2^e >= value."""
    exponent = 0
    while 2**exponent < value:
        exponent += 1
    return exponent


def lower_bound(n: int, ports: str, prices: Prices) -> Fraction:
    """A6, Lemma 1."""
    if ports == "all":
        return max(diameter(n) * prices.start_up, prices.m * prices.byte / (n - 1))
    start_ups = max(diameter(n), ceil_log2(factorial(n)))
    return max(start_ups * prices.start_up, prices.m * prices.byte)


def time_of_multiple(n: int, ports: str, segments: int, prices: Prices) -> Fraction:
    """A6 (3), and n-1 times that for one-port: (h+p-1)(T_s + a/p) with a = 2m T_c/(n-1)."""
    a = 2 * prices.m * prices.byte / (n - 1)
    slots = (height_of_multiple(n) + segments - 1) * (1 if ports == "all" else n - 1)
    return slots * (prices.start_up + a / segments)


def links_of_dimension(n: int, k: int) -> int:
    """B1: how many links of dimension k the broadcast tree has."""
    return (k - 1) * prod(range(k + 1, n + 1))
