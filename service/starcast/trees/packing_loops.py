"""The inner loops of `arc_disjoint.py`, compiled if numba is installed.

Arrays of directed links have the indices of `flows.Arcs`: the link that enters node v at port
number p has the index v * ports + p. Arrays of trees are flat: node v of tree i has the index
i * nodes + v. The array ``owner`` contains the number of each directed link's tree, or `FREE` for
an unused link, or `MISSING` if the node has no link at the port.
"""

from typing import Any

from starcast.support.optional_numba import jit

FREE, MISSING = -1, -2
#: Entries of ``source`` in `is_allowed` for a tree that needs no path, or has no path yet.
_DONE, _OPEN = -2, -1


@jit
def is_allowed(
    target: int,
    tree: int,
    ports: int,
    tails: Any,
    twins: Any,
    owner: Any,
    level: Any,
    workspaces: Any,
    stamp: int,
) -> tuple[bool, int]:
    """Return whether all trees can still be completed after a link is added to one of them.

    All trees can be completed if and only if, for every set of nodes, at least as many free links
    enter the set as there are trees without a node in the set (Edmonds 1973). Only sets that
    contain the target lose a link. By Menger's theorem, it is thus enough to find a path of free
    links to the target from each other tree that does not contain the target, such that no two
    paths share a link. The searches start at the target and prefer nodes close to the root, where
    all trees begin; a path may cancel parts of earlier paths.

    Args:
        target: the node that the link enters.
        tree: the tree to which the link was added.
        ports: the number of ports.
        tails: the node where each directed link begins.
        twins: the index of the opposite directed link, for each directed link.
        owner: the tree of each directed link.
        level: the level of each node in each tree, or -1.
        workspaces: eight arrays:
            ``has_flow``: whether a path uses each directed link; all 0 at first.
            ``source``: the node where the path of each tree starts, or `_DONE` or `_OPEN`.
            ``seen``: for each node, then each tree, the number of the last search that reached it.
            ``came``: how a search reached each node: the index of the directed link that leads on
            to the target; or -1 - (v * trees + i), if the path of tree i starts at this node, but
            may start at node v instead.
            ``distances``: the distance of each node from the root.
            ``top``: for each distance, the top of a stack of nodes to search from; all -1 at first.
            ``under``: the node below each node in its stack.
            ``used``: the directed links that have had flow.
        stamp: the number of searches so far.

    Returns:
        Whether all trees can be completed, and the new number of searches.
    """
    has_flow, source, seen, came, distances, top, under, used = workspaces
    trees = len(source)
    nodes = len(seen) - trees
    missing = 0
    for other in range(trees):
        source[other] = _OPEN
        if other == tree or level[other * nodes + target] >= 0:
            source[other] = _DONE
        else:
            missing += 1
    uses = 0
    while missing > 0:
        stamp += 1
        seen[target] = stamp
        closest = distances[target]
        under[target] = -1
        top[closest] = target
        first, start = -1, -1
        while first < 0:
            while closest < len(top) and top[closest] < 0:
                closest += 1
            if closest == len(top):
                break
            node = top[closest]
            top[closest] = under[node]
            for other in range(trees):
                if source[other] == _DONE or level[other * nodes + node] < 0:
                    continue
                if source[other] == _OPEN:
                    first, start = other, node
                    break
                # The other tree contains `node`, so its path may start here instead of at `begin`.
                # Another tree can then use the old path, so the search continues at `begin`.
                begin = source[other]
                if seen[nodes + other] != stamp:
                    seen[nodes + other] = stamp
                    if seen[begin] != stamp:
                        seen[begin] = stamp
                        came[begin] = -1 - (node * trees + other)
                        closest = min(closest, distances[begin])
                        under[begin] = top[distances[begin]]
                        top[distances[begin]] = begin
            if first >= 0:
                break
            for arc in range(node * ports, node * ports + ports):
                tail = tails[arc]
                is_open = owner[arc] == FREE and has_flow[arc] == 0
                if seen[tail] != stamp and (is_open or has_flow[twins[arc]] == 1):
                    seen[tail] = stamp
                    came[tail] = arc
                    closest = min(closest, distances[tail])
                    under[tail] = top[distances[tail]]
                    top[distances[tail]] = tail
        for distance in range(len(top)):
            top[distance] = -1
        if first < 0:
            break
        source[first] = start
        node = start
        while node != target:
            arc = came[node]
            if arc < 0:
                node = (-1 - arc) // trees
                source[(-1 - arc) % trees] = node
                continue
            if has_flow[twins[arc]] == 1:
                has_flow[twins[arc]] = 0
            else:
                has_flow[arc] = 1
                used[uses] = arc
                uses += 1
            node = arc // ports
        missing -= 1
    for use in range(uses):
        has_flow[used[use]] = 0
    return missing == 0, stamp


@jit
def grow(
    takers: Any,
    links: Any,
    ports: int,
    tails: Any,
    twins: Any,
    owner: Any,
    level: Any,
    workspaces: Any,
    stamp: int,
) -> int:
    """Add each candidate link to its tree if all trees can still be completed afterwards.

    Args:
        takers: for each candidate link, the number of the tree to which it may be added.
        links: the candidate links; each of them begins at a node of its tree.
        ports: the number of ports.
        tails: the node where each directed link begins.
        twins: the index of the opposite directed link, for each directed link.
        owner: the tree of each directed link; modified in place.
        level: the level of each node in each tree, or -1; modified in place.
        workspaces: the eight work arrays that `is_allowed` describes.
        stamp: the number of searches so far.

    Returns:
        The new number of searches.
    """
    nodes = len(tails) // ports
    for candidate in range(len(links)):
        tree, arc = takers[candidate], links[candidate]
        node = arc // ports
        if owner[arc] != FREE or level[tree * nodes + node] >= 0:
            continue
        owner[arc] = tree
        allowed, stamp = is_allowed(
            node, tree, ports, tails, twins, owner, level, workspaces, stamp
        )
        if allowed:
            level[tree * nodes + node] = level[tree * nodes + tails[arc]] + 1
        else:
            owner[arc] = FREE
    return stamp


@jit
def find_parent_link(tree: int, node: int, ports: int, owner: Any) -> int:
    """Return the directed link over which a tree reaches a node, or -1 if there is no such link.

    ``owner`` contains the number of each directed link's tree.
    """
    for arc in range(node * ports, node * ports + ports):
        if owner[arc] == tree:
            return arc
    return -1


@jit
def is_descendant(tree: int, node: int, other: int, ports: int, tails: Any, owner: Any) -> bool:
    """Return whether ``node`` is ``other`` or a descendant of ``other`` in a tree.

    The module's docstring describes ``owner``; ``tails`` contains the node where each directed link
    begins.
    """
    while node != other:
        arc = find_parent_link(tree, node, ports, owner)
        if arc < 0:
            return False
        node = tails[arc]
    return True


@jit
def move_subtree(
    tree: int,
    arc: int,
    old: int,
    ports: int,
    tails: Any,
    twins: Any,
    owner: Any,
    level: Any,
    below: Any,
    stack: Any,
) -> None:
    """Update levels and subtree heights after a node's parent link in a tree was replaced.

    Args:
        tree: the tree.
        arc: the new parent link.
        old: the old parent link.
        ports: the number of ports.
        tails: the node where each directed link begins.
        twins: the index of the opposite directed link, for each directed link.
        owner: the tree of each directed link, after the change.
        level: the level of each node in each tree; modified in place.
        below: the height of each node's subtree in each tree; modified in place.
        stack: workspace, ``[nodes]``.
    """
    nodes = len(stack)
    node = arc // ports
    shift = level[tree * nodes + tails[arc]] + 1 - level[tree * nodes + node]
    stack[0] = node
    count = 1
    while count > 0:
        count -= 1
        node = stack[count]
        level[tree * nodes + node] += shift
        for entering in range(node * ports, node * ports + ports):
            if owner[twins[entering]] == tree:
                stack[count] = tails[entering]
                count += 1
    for changed in (old, arc):
        link = changed
        while link >= 0:
            node = tails[link]
            height = 0
            for entering in range(node * ports, node * ports + ports):
                if owner[twins[entering]] == tree:
                    height = max(height, below[tree * nodes + tails[entering]] + 1)
            if height == below[tree * nodes + node]:
                break
            below[tree * nodes + node] = height
            link = find_parent_link(tree, node, ports, owner)


@jit
def lower_trees(
    first: int,
    last: int,
    ports: int,
    tails: Any,
    twins: Any,
    owner: Any,
    level: Any,
    below: Any,
    stack: Any,
) -> int:
    """Reduce the heights of trees by exchanging parent links.

    A node's parent links in two trees are exchanged, or its parent link in a tree is replaced by a
    free link, if this reduces the largest level in the subtrees that move.

    Args:
        first: the first node whose links may be exchanged.
        last: the node after the last of these nodes.
        ports: the number of ports.
        tails: the node where each directed link begins.
        twins: the index of the opposite directed link, for each directed link.
        owner: the tree of each directed link; modified in place.
        level: the level of each node in each tree; modified in place.
        below: the height of each node's subtree in each tree; modified in place.
        stack: workspace, ``[nodes]``.

    Returns:
        The number of exchanges.
    """
    nodes = len(stack)
    exchanges = 0
    for node in range(first, last):
        for one in range(node * ports, node * ports + ports):
            for two in range(node * ports, node * ports + ports):
                tree, other = owner[one], owner[two]
                # To compare each pair of links only once, `one` must be a link of a tree, and `two`
                # a free link or, in another tree, a link with a higher index.
                if tree < 0 or other < FREE or other == tree or (other >= 0 and two < one):
                    continue
                mine, its = tree * nodes, other * nodes
                now = level[mine + node] + below[mine + node]
                then = level[mine + tails[two]] + 1 + below[mine + node]
                if other >= 0:
                    now = max(now, level[its + node] + below[its + node])
                    then = max(then, level[its + tails[one]] + 1 + below[its + node])
                if then >= now or is_descendant(tree, tails[two], node, ports, tails, owner):
                    continue
                if other >= 0 and is_descendant(other, tails[one], node, ports, tails, owner):
                    continue
                owner[one], owner[two] = other, tree
                move_subtree(tree, two, one, ports, tails, twins, owner, level, below, stack)
                if other >= 0:
                    move_subtree(other, one, two, ports, tails, twins, owner, level, below, stack)
                exchanges += 1
    return exchanges
