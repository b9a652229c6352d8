"""The inner loop of `flows.py`, compiled if numba is installed."""

from typing import Any

from starcast.support.optional_numba import jit


@jit
def push_flow(
    target: int,
    limit: int,
    ports: int,
    tails: Any,
    twins: Any,
    left: Any,
    supply: Any,
    distance: Any,
    queue: Any,
    turn: Any,
) -> int:
    """Send as much flow as possible, up to a limit, from the supplies of nodes to a target.

    Blocking flows of shortest paths are added until no path is left or the limit is reached (Dinic
    1970). Paths are found backwards, from the target to a node with supply. The directed links that
    enter node v have the indices v * ports .. v * ports + ports - 1.

    Args:
        target: the node that receives the flow.
        limit: the flow at which the search stops.
        ports: the number of ports.
        tails: the node where each directed link begins, ``[nodes * ports]``.
        twins: the index of the opposite directed link, ``[nodes * ports]``.
        left: the remaining capacity of each directed link, ``[nodes * ports]``; modified in place.
        supply: the flow that each node can still send, ``[nodes]``; 0 at the target; modified in
            place.
        distance: set to each node's distance to the target over links with remaining capacity, or
            -1 if no such path exists; ``[nodes]``.
        queue: workspace, ``[nodes]``.
        turn: workspace, ``[nodes]``.

    Returns:
        The total flow that was sent.
    """
    nodes = len(supply)
    total = 0
    while True:
        for node in range(nodes):
            distance[node] = -1
            turn[node] = node * ports
        distance[target] = 0
        queue[0] = target
        head, end, is_reached = 0, 1, False
        while head < end:
            node = queue[head]
            head += 1
            is_reached = is_reached or supply[node] > 0
            for arc in range(node * ports, node * ports + ports):
                if left[arc] > 0 and distance[tails[arc]] < 0:
                    distance[tails[arc]] = distance[node] + 1
                    queue[end] = tails[arc]
                    end += 1
        if not is_reached or total >= limit:
            return total
        # From here on, `queue` contains the links of a path to the target. For each node, `turn`
        # contains the next entering link to try.
        length, node = 0, target
        while total < limit:
            if supply[node] > 0:
                amount = min(supply[node], limit - total)
                for index in range(length):
                    amount = min(amount, left[queue[index]])
                supply[node] -= amount
                total += amount
                for index in range(length):
                    left[queue[index]] -= amount
                    left[twins[queue[index]]] += amount
                length, node = 0, target
            elif turn[node] < node * ports + ports:
                arc = turn[node]
                if left[arc] > 0 and distance[tails[arc]] == distance[node] + 1:
                    queue[length] = arc
                    length += 1
                    node = tails[arc]
                else:
                    turn[node] += 1
            elif length > 0:
                # No path continues from this node, so its link towards the target is skipped from
                # now on.
                length -= 1
                node = queue[length] // ports
                turn[node] += 1
            else:
                break
