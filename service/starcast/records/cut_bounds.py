"""Check certificates for lower bounds on the bisection width, in exact arithmetic.

A certificate proves a bound by a weighted sum of inequalities.

Let the vector y describe a bisection of N nodes: y_u is +1 or -1, depending on the half of node u,
and the sum of y is 0 (or +-1 if N is odd). For every integer vector b, let b y be the scalar
product of b and y. The square (b y)^2 is at least 0, and at least 1 if the sum of b is odd.
Automorphisms map bisections to bisections, so each inequality also holds for averages: let z be the
average of y_u y_v over all node pairs (u, v) of an orbit. Every inequality becomes an inequality
for the averages z, and the number of links between the halves is a linear function of these
averages. A certificate has a multiplier for each inequality; the multiplied inequalities are added.
Terms that do not cancel in the sum are bounded by their absolute values, since -1 <= z <= 1.

The arrays of a certificate are ``automorphisms`` [count, N], the images of the nodes; ``vectors``
[inequalities, N], the vectors b; ``multipliers`` [inequalities + 1], integers, the last of which
belongs to the sum of y; and ``denominator`` [1], by which the multipliers are divided.

Products of entries are added in 64 bits, which is exact: `quadratic_form` rejects a vector whose
sums could overflow. All other sums use Python's integers and fractions.
"""

from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from starcast.records.model import RESTORE
from starcast.support.errors import RejectedError
from starcast.topologies import Topology

#: Maximum number of nodes. Checking a certificate needs 30 bytes of memory per pair of nodes.
LARGEST = 1_000
#: Largest absolute value of an entry of a vector b.
MAX_ENTRY = 10**6


def certified_cut(
    graph: Topology,
    automorphisms: NDArray[np.int64],
    vectors: NDArray[np.int64],
    multipliers: NDArray[np.int64],
    denominator: int,
) -> int:
    """Return the lower bound that a certificate proves for the number of links in any bisection.

    The docstring of this module describes the arrays.

    Args:
        graph: the topology.
        automorphisms: the images of the nodes under each automorphism, which are checked.
        vectors: one vector b per inequality.
        multipliers: a non-negative multiplier per inequality, and a multiplier for the sum of y.
        denominator: the positive number by which the multipliers are divided.

    Raises:
        RejectedError: the topology or an entry of a vector is too large, `pair_orbits` rejects the
            automorphisms, a multiplier is negative, or the denominator is not positive.
    """
    if graph.nodes > LARGEST:
        raise _rejected(graph, f"the topology has more than {LARGEST:,} nodes")
    if vectors.min(initial=0) < -MAX_ENTRY or vectors.max(initial=0) > MAX_ENTRY:
        raise _rejected(graph, f"the absolute value of an entry of a vector exceeds {MAX_ENTRY:,}")
    orbit = pair_orbits(graph, automorphisms)
    if (multipliers[:-1] < 0).any():
        raise _rejected(graph, "a multiplier is negative")
    if denominator < 1:
        raise _rejected(graph, "its denominator is negative or zero")
    count = int(orbit.max()) + 1
    sizes = np.bincount(orbit.ravel(), minlength=count)
    linked = np.zeros(count, dtype=np.int64)
    nodes = np.arange(graph.nodes)
    for port in graph.ports:
        linked += np.bincount(orbit[nodes, graph.neighbours(port)], minlength=count)
    # Python integers are used, because multipliers reach 10**15, so that products exceed 64 bits.
    total = np.zeros(count, dtype=object)
    constant = 0
    for vector, multiplier in zip(vectors, multipliers[:-1].tolist(), strict=True):
        total += multiplier * quadratic_form(orbit, vector, count).astype(object)
        constant += multiplier * (int(vector.sum()) % 2)
    total += int(multipliers[-1]) * sizes.astype(object)
    constant += int(multipliers[-1]) * (graph.nodes % 2)
    # `linked` counts each link twice, once from each end. A link (u, v) is cut if y_u y_v = -1, so
    # it contributes (1 - y_u y_v) / 2 to the cut.
    bound = Fraction(graph.links, 2) + Fraction(constant, denominator)
    diagonal = int(orbit[0, 0])
    for number in range(count):
        rest = -Fraction(int(linked[number]), 4) - Fraction(total[number], denominator)
        bound += rest if number == diagonal else -abs(rest)
    return round_cut(graph, ceil(bound))


def round_cut(graph: Topology, value: int) -> int:
    """Round a lower bound up to the next number of cut links that parity allows in a bisection.

    A half of n nodes has degree * n link ends. A link inside the half has two of these ends, and a
    cut link has one. So if the number N of nodes is even, the number of cut links in every
    bisection has the same parity as degree * N / 2.
    """
    if graph.nodes % 2 == 0 and (value - graph.degree * graph.nodes // 2) % 2:
        return value + 1
    return value


def quadratic_form(
    orbit: NDArray[np.int64], vector: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Write (b y)^2 as a sum over orbits of node pairs; return its coefficients, int64 ``[count]``.

    The docstring of this module defines the vectors b and y.

    Args:
        orbit: the index of each node pair's orbit, ``[N, N]``.
        vector: the vector b.
        count: the number of orbits.

    Raises:
        OverflowError: a sum of products could exceed 64 bits.
    """
    # The square of the sum of absolute values is an upper bound on all sums of products.
    largest = sum(abs(entry) for entry in vector.tolist()) ** 2
    if largest > np.iinfo(np.int64).max:
        raise OverflowError("sums of products of a vector's entries might not fit into 64 bits")
    used = np.flatnonzero(vector)
    products = np.outer(vector[used], vector[used])
    coefficients = np.zeros(count, dtype=np.int64)
    np.add.at(coefficients, orbit[np.ix_(used, used)], products)
    return coefficients


def pair_orbits(graph: Topology, automorphisms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each node pair's orbit.

    The pairs (u, v) and (v, u) are in the same orbit, because the inequalities in the docstring of
    this module use only the product y_u y_v. All pairs (u, u) must be in a single orbit, that is,
    the automorphisms and their products must map any node to any other node.

    Returns:
        int64 ``[N, N]``.

    Raises:
        RejectedError: a row of ``automorphisms`` is not an automorphism, or the pairs (u, u) are in
            several orbits.
    """
    nodes = graph.nodes
    linked = np.zeros((nodes, nodes), dtype=bool)
    for port in graph.ports:
        linked[np.arange(nodes), graph.neighbours(port)] = True
    for images in automorphisms:
        # The maps are checked, because they come from a file.
        is_map = np.array_equal(np.sort(images), np.arange(nodes))
        if not is_map or not np.array_equal(linked[np.ix_(images, images)], linked):
            raise _rejected(graph, "one of its maps is not an automorphism")
    least = np.arange(nodes * nodes).reshape(nodes, nodes)
    while True:
        before = least.copy()
        # The pairs (u, v) and (v, u) are in one orbit, because y_u y_v is y_v y_u.
        np.minimum(least, least.T, out=least)
        for images in automorphisms:
            moved = np.ix_(images, images)
            least = np.minimum(least, least[moved])
            least[moved] = np.minimum(least[moved], least)
        least = least.ravel()[least]
        if np.array_equal(least, before):
            break
    _, orbit = np.unique(least, return_inverse=True)
    orbit = orbit.reshape(nodes, nodes).astype(np.int64)
    if len(np.unique(np.diagonal(orbit))) > 1:
        raise _rejected(graph, "the automorphisms do not map every node to every other node")
    return orbit


def _rejected(graph: Topology, reason: str) -> RejectedError:
    return RejectedError(
        f"the certificate for cuts of {graph.spec} is rejected: {reason}",
        hint=RESTORE,
    )
