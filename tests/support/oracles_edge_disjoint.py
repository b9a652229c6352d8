"""SPT, SPG and EDT of definitions/edge-disjoint-trees.md node by node.

Slow, and independent of the array implementation. Symbols are counted from 1, subtrees are l = 2..n
(Fragopoulou & Akl 1996, Def. 6 to 8).
"""

from collections.abc import Callable, Mapping, Sequence

from support.oracles import Node, Tree, compose, identity, inverse, nodes, swap

#: fmr, or another reading of its definition: maps a node and k to a position.
FirstMisplaced = Callable[[Node, int], int]


def position(x: Node, symbol: int) -> int:
    """Return the position of the symbol."""
    return x.index(symbol) + 1


def dimensions(x: Node) -> range:
    """2..n."""
    return range(2, len(x) + 1)


def in_front(x: Node, symbol: int) -> Node:
    """nbr(x, s): the neighbour whose first symbol is s."""
    return swap(x, position(x, symbol))


def is_adjacent(x: Node) -> bool:
    """Return whether the node is a neighbour of I."""
    return identity(len(x)) in [swap(x, d) for d in dimensions(x)]


# Rotation


def r(i: int, n: int) -> int:
    """1 stays, 2..n-1 move up, n becomes 2."""
    if i == 1:
        return 1
    return i + 1 if i < n else 2


def rotate(x: Node) -> Node:
    """R(x): the symbol r(x_j) in position r(j)."""
    n, turned = len(x), [0] * len(x)
    for j, symbol in enumerate(x, start=1):
        turned[r(j, n) - 1] = r(symbol, n)
    return tuple(turned)


# The shortest-path tree and graph


def right_of(k: int, n: int) -> list[int]:
    """The positions k+1, .., n, 2, .., k-1, k in this order."""
    order, at = [], k
    for _ in range(n - 1):
        at = r(at, n)
        order.append(at)
    return order


def fmr(x: Node, k: int) -> int:
    """The first position to the right of k that has a misplaced symbol."""
    return next(j for j in right_of(k, len(x)) if x[j - 1] != j)


def p(x: Node, first_misplaced: FirstMisplaced = fmr) -> int:
    """The dimension towards the SPT parent, for x outside S^1."""
    k = position(x, 1)
    return x[0] if x[0] != k else first_misplaced(x, k)


def spt_parent(x: Node) -> Node | None:
    """The parent in SPT; None for the nodes of S^1, I among them."""
    return None if x[0] == 1 else swap(x, p(x))


def c1(x: Node) -> set[int]:
    """C1: the dimensions that lead to the children in SPT."""
    k = position(x, 1)
    at_home = {j for j in dimensions(x) if x[j - 1] == j}
    if x[0] == k:
        return at_home
    j = position(x, k)
    return at_home | ({j} if x[0] != j and fmr(x, k) == j else set())


def c2(x: Node) -> set[int]:
    """C2: the other dimensions within S^k."""
    return set(dimensions(x)) - {position(x, 1)} - c1(x)


def spt_children(x: Node) -> set[Node]:
    """The children in SPT; the other nodes of S^1 have none."""
    if x[0] == 1:
        return {swap(x, d) for d in dimensions(x)} if x == identity(len(x)) else set()
    return {swap(x, j) for j in c1(x)}


def spg_parent(x: Node, tree: int) -> Node | None:
    """The parent in subtree l of SPG, None where there is none."""
    if x[0] == 1:
        return None if x == identity(len(x)) else swap(x, tree)
    return spt_parent(x) if position(x, 1) == tree else None


def spg_children(x: Node, tree: int) -> set[Node]:
    """The children in subtree l of SPG."""
    if x == identity(len(x)):
        return {swap(x, tree)}
    if position(x, 1) != tree:
        return set()
    return spt_children(x) | (set() if is_adjacent(x) else {swap(x, tree)})


# The edge-disjoint trees


def edt_parent(x: Node, tree: int, first_misplaced: FirstMisplaced = fmr) -> Node | None:
    """The parent in subtree l of EDT, None for I."""
    if x == identity(len(x)):
        return None
    if x[0] == 1:
        return swap(x, tree)
    k, a = position(x, 1), x[0]
    q = x[p(x, first_misplaced) - 1]
    if tree == k:
        symbol = q
    elif a == k:
        symbol = 1 if tree == q else tree
    elif q == k:
        symbol = 1 if tree == a else tree
    else:
        symbol = {a: 1, q: k}.get(tree, tree)
    return in_front(x, symbol)


def edt_children(x: Node, tree: int) -> set[Node]:
    """The children in subtree l of EDT, by the definition dimensions."""
    return {swap(x, d) for d in edt_child_dimensions(x, tree)}


def edt_child_dimensions(x: Node, tree: int) -> set[int]:
    """The dimensions that lead to the children in subtree l of EDT."""
    if x == identity(len(x)):
        return {tree}
    k = position(x, 1)
    if k == 1:
        m = position(x, tree)
        return set() if m == tree else {m} | run_left_of(x, m)
    if tree == k:
        return c1(x) | (set() if is_adjacent(x) else {k})
    if x[0] == tree:
        return c2(x)
    if x[0] == k:
        b = position(x, tree)
        return set() if b == tree else {position(x, b)}
    return set()


def run_left_of(x: Node, m: int) -> set[int]:
    """The maximal run of correctly placed positions immediately left of m, cyclic on 2..n."""
    run: set[int] = set()
    for j in reversed(right_of(m, len(x))[:-1]):
        if x[j - 1] != j:
            break
        run.add(j)
    return run


# Trees at any root


def spt(root: Node) -> list[Tree]:
    """SPT as a list of one partial tree."""
    return [translated({x: spt_parent(x) for x in nodes(len(root))}, root)]


def spg(root: Node) -> list[Tree]:
    """The n-1 subtrees of SPG, partial."""
    return [
        translated({x: spg_parent(x, tree) for x in nodes(len(root))}, root)
        for tree in dimensions(root)
    ]


def edt(root: Node, parent: Callable[[Node, int], Node | None] = edt_parent) -> list[Tree]:
    """The n-1 subtrees of EDT; ``parent`` may be another reading of Def. 8."""
    return [
        translated({x: parent(x, tree) for x in nodes(len(root))}, root)
        for tree in dimensions(root)
    ]


def translated(parents: Mapping[Node, Node | None], root: Node) -> Tree:
    """T_h(parent(T_h^-1(x))) for every node x that has a parent, from the parents at I."""
    back = inverse(root)
    above = {x: parents[compose(back, x)] for x in nodes(len(root))}
    return {x: compose(root, y) for x, y in above.items() if y is not None}


def path(tree: Tree, x: Node) -> list[Node]:
    """The chain of parents from a node to its end; an endless chain is a RuntimeError."""
    chain = [x]
    while chain[-1] in tree:
        chain.append(tree[chain[-1]])
        if len(chain) > len(tree) + 1:
            raise RuntimeError(f"{x} leads into a cycle")
    return chain


def unreached(trees: Sequence[Tree], root: Node) -> int:
    """The number of pairs (node, subtree) in which the node does not lead to the root."""
    missing = 0
    for tree in trees:
        leads = {root: True}
        for x in nodes(len(root)):
            chain = [x]
            while chain[-1] not in leads and chain[-1] in tree and tree[chain[-1]] not in chain:
                chain.append(tree[chain[-1]])
            end = leads.get(chain[-1], False)
            leads |= dict.fromkeys(chain, end)
        missing += sum(not result for result in leads.values())
    return missing


def depth_first(trees: Sequence[Tree], root: Node) -> list[list[tuple[Node, Node]]]:
    """The links (parent, child) of every subtree, depth first, children in the order phi_k."""
    orders = []
    for k, tree in enumerate(trees, start=2):
        children: dict[Node, set[Node]] = {}
        for child, above in tree.items():
            children.setdefault(above, set()).add(child)
        phi = [k, *right_of(k, len(root))[:-1]]
        order, waiting = [], [(root, root)]
        while waiting:
            link = waiting.pop()
            order.append(link)
            below = children.get(link[1], set())
            waiting += [
                (link[1], swap(link[1], d)) for d in reversed(phi) if swap(link[1], d) in below
            ]
        orders.append(order[1:])
    return orders
