"""Fragopoulou & Akl 1993, section 5.2: scattering M messages per node."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import distance_sum, even_share
from starcast.claims.growth import factorial
from starcast.claims.papers.fragopoulou_akl.lower_bounds import shared_others
from starcast.claims.papers.fragopoulou_akl.scatter import (
    scatter_along,
    scatter_bytes,
    scatter_roots,
)
from starcast.claims.papers.fragopoulou_akl.tables import largest_branch_quotient
from starcast.claims.reference import necklaces
from starcast.claims.reference.lower_bound_counts import (
    check_not_beaten,
    count_from_node,
    unit_schedules,
)
from starcast.claims.reference.place_labels import node_labels, other_nodes
from starcast.claims.registry import check
from starcast.collectives.model import Schedule


def amounts(check: ClaimCheck) -> tuple[int, ...]:
    """Return values of M: few, around n-1, and multiples of n-1."""
    n = check.n
    return tuple(sorted({1, 2, 3, n - 2, n - 1, n, 2 * (n - 1)} - {0}))


@check("FA.M.balanced", bytes_per_node=scatter_bytes)
def balanced_scatter_of_messages(check: ClaimCheck) -> None:
    """Check that a scatter over the one balanced tree takes M ceil((n!-1)/(n-1)) steps."""
    forest = check.forest("balanced")
    for messages in amounts(check):
        schedule = scatter_along(check, forest, "balanced", messages=messages)
        check.takes(schedule, messages * even_share(check.n), M=messages)


@check("FA.M.near", bytes_per_node=scatter_bytes)
def near_balanced_scatter_of_messages(check: ClaimCheck) -> None:
    """Check steps and order of a scatter over the tree of Definition 13."""
    for messages in amounts(check):
        schedule = check.schedule("scatter", "near-balanced", messages=messages)
        check.takes(schedule, messages * necklaces.largest_branch(check.n), M=messages)
    check.order("steps / M ceil((n!-1)/(n-1))", largest_branch_quotient)


@check("FA.M.minimum", bytes_per_node=scatter_bytes)
def least_steps(check: ClaimCheck) -> None:
    """Check that no schedule takes fewer than ceil(M(n!-1)/(n-1)) steps."""
    n = check.n
    counts = count_from_node(check)
    check.equal("nodes other than the root", counts.others, int(factorial(n)) - 1)
    check.equal("links of the root", counts.links, n - 1)
    for messages in (1, 2, n - 1, n):
        schedules = unit_schedules(check, "scatter", messages=messages)
        check_not_beaten(check, schedules, shared_others(n, messages), "steps", M=messages)


@check("FA.M.perfect", bytes_per_node=scatter_bytes)
def perfectly_balanced_scatter(check: ClaimCheck) -> None:
    """Check paths, shares and steps of a scatter over the tree of Definition 15."""
    for messages in (check.n - 1, 2 * (check.n - 1)):
        for root in scatter_roots(check):
            schedule = check.schedule("scatter", "perfectly-balanced", messages=messages, root=root)
            simulation = check.execute(schedule)
            place = {"M": messages, "root": check.label(root), "of": schedule}
            _check_shares(check, schedule, messages, dict(place))
            check.equal("steps", simulation.steps, shared_others(check.n, messages), **place)


def _check_shares(
    check: ClaimCheck, schedule: Schedule, messages: int, place: dict[str, Any]
) -> None:
    """Check that messages use the trees of Definition 15, and the same number each of its trees."""
    forest = check.forest("perfectly-balanced", root=schedule.root)
    above = forest.parent_port[schedule.tree, schedule.receiver]
    label = node_labels(check, schedule.receiver)
    check.equal("type of the link to a node", schedule.port, above, node=label, **place)
    arrived = schedule.receiver == schedule.unit // messages
    shares = np.zeros(forest.parent_port.shape, dtype=np.int64)
    np.add.at(shares, (schedule.tree[arrived], schedule.receiver[arrived]), 1)
    inside = forest.parent_port > 0
    what = "messages of a node that come along a tree"
    stated = np.where(inside, messages // np.maximum(inside.sum(axis=0), 1), 0)
    place |= {"tree": lambda tree, _: tree, "node": lambda _, node: check.label(node)}
    check.equal(what, shares, stated, **place)


@check("FA.M.multiple")
def shares_are_integers(check: ClaimCheck) -> None:
    """Check that all shares M/k are integers only for multiples M of n-1."""
    degree = check.n - 1
    period = necklaces.periods(check)[1:]
    check.equal("remainder of n-1 by the period", degree % period, 0, node=other_nodes(check))
    k = degree // np.unique(period)
    messages = np.arange(1, 3 * degree + 1)
    integral = (messages[:, None] % k == 0).all(axis=1)
    check.equal("all shares are whole", integral, messages % degree == 0, M=messages)


@check("FA.S52-only", bytes_per_node=scatter_bytes)
def other_trees_take_longer(check: ClaimCheck) -> None:
    """Check that scatters along other trees than those of Definition 15 take more steps."""
    n = check.n
    perfect = check.schedule("scatter", "perfectly-balanced", messages=n - 1)
    shortest = check.reading(
        "no other trees take so few steps with the fewest transmissions too, M t_n"
    )
    correction = check.correction(
        "the balanced trees of section 5.1, numbered on over the messages, take as few steps for "
        "every M"
    )
    disjoint = check.forest("edge-disjoint")
    for messages in range(2, 2 * n - 1):
        in_turn = scatter_along(check, disjoint, "edge-disjoint-in-turn", messages=messages)
        balanced = check.schedule("scatter", "balanced", messages=messages)
        for schedule in (in_turn, balanced):
            if np.array_equal(links_used(schedule), links_used(perfect)):
                continue
            _check_longer(check, schedule, messages)
            transmissions = check.objects.simulation(schedule).transmissions
            if transmissions == messages * distance_sum(n):
                _check_longer(shortest, schedule, messages)
        correction.takes(balanced, shared_others(n, messages), M=messages)


def _check_longer(check: ClaimCheck, schedule: Schedule, messages: int) -> None:
    bound = shared_others(check.n, messages) + 1
    steps = check.execute(schedule).steps
    place = {"M": messages, "trees": schedule.algorithm, "of": schedule}
    check.at_least("steps along other trees", steps, bound, **place)


def links_used(schedule: Schedule) -> NDArray[np.int64]:
    """Return a number for each directed link that a schedule uses."""
    return np.unique(schedule.sender.astype(np.int64) * schedule.topology.n + schedule.port)
