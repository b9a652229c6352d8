"""What belongs to a topology: its nodes, its links and the patterns of its labels.

Checked before the server is asked: it would answer with nothing, which says nothing.
"""

from collections.abc import Callable

from starcast.errors import InputError
from starcast.topologies import Topology


def _check_node(place: Topology, label: str) -> InputError | None:
    try:
        place.rank(label)
    except InputError as error:
        return error
    return None


def _check_link(place: Topology, link: str) -> InputError | None:
    one, _, other = link.partition("-")
    refused = _check_node(place, one) or _check_node(place, other)
    if refused:
        return refused
    near = place.labels(
        [int(place.neighbours(port, [place.rank(one)])[0]) for port in place.ports]
    ).tolist()
    if other in near:
        return None
    return InputError(
        f"'{link}' is no link of {place.spec}: the two nodes are not adjacent",
        hint=f"{one} is adjacent to {', '.join(near)}",
    )


def _check_pattern(place: Topology, pattern: str) -> InputError | None:
    example = place.label(0)
    symbols = set(example) | set(place.label(place.nodes - 1))
    if len(pattern) == len(example) and set(pattern) <= symbols | {"*"}:
        return None
    return InputError(
        f"'{pattern}' is no pattern of labels of {place.spec}",
        hint=f"write {len(example)} signs, each * or one of {' '.join(sorted(symbols))}",
    )


#: What is wrong with a value in a topology, or None, for the types that belong to one.
CHECKS: dict[str, Callable[[Topology, str], InputError | None]] = {
    "node": _check_node,
    "link": _check_link,
    "pattern": _check_pattern,
}
