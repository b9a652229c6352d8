"""The optimal time of an alltoall without start-ups: the maximum concurrent flow.

Every node sends a flow of one message to every other node, and the largest flow on a directed link
is minimized (Shahrokhi & Matula 1990). The linear program is solved by HiGHS in floating-point
numbers; its dual solution gives every link a length. From these lengths, the bound is computed
exactly. Every message travels at least the distance between its source and its destination, so the
sum of all distances is at most the sum of all lengths, multiplied by the number of messages on the
busiest link. This inequality holds for any lengths, so the bound is valid even if the lengths are
imprecise.
"""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError, LimitError, UnavailableError
from starcast.support.installation import install_command
from starcast.support.progress import current_reporter, run_in_thread
from starcast.topologies import Topology
from starcast.topologies.flows import Arcs

#: Maximum number of variables of the linear program, one per source and directed link.
MAX_VARIABLES = 100_000
#: Number of variables above which a message warns that solving the linear program can take minutes.
_ANNOUNCED = 20_000
#: The links' lengths in the dual solution are scaled, so that the largest is this number, and then
#: rounded to integers.
_PRECISION = 10**6
SOURCE = "Shahrokhi & Matula 1990"


def least_busiest_link(topology: Topology) -> Fraction:
    """Return a lower bound on the number of messages on the busiest directed link in an alltoall.

    If messages may be divided among routes, an optimal alltoall attains the bound. The result can
    be slightly smaller than this optimum, because the solver's precision is limited, and much
    smaller if the solver fails.

    Raises:
        InputError: the topology has switches or links of different capacities.
        LimitError: the linear program is too large.
        UnavailableError: SciPy is not installed.
    """
    if topology.capacities is not None or topology.endpoints < topology.nodes:
        raise InputError(
            f"the linear program of an alltoall is not defined on {topology.spec}, which has "
            "switches or links of different capacities",
            hint="omit this bound",
        )
    variables = 2 * topology.links * topology.nodes
    if variables > MAX_VARIABLES:
        raise LimitError(
            f"the linear program of an alltoall on {topology.spec} has {variables:,} variables; at "
            f"most {MAX_VARIABLES:,} are supported",
            hint="choose a smaller topology, or omit this bound",
        )
    arcs = Arcs.of(topology)
    heads = np.arange(topology.nodes).repeat(topology.port_count)
    exists = arcs.tails != heads
    tails, heads = arcs.tails[exists], heads[exists]
    if variables > _ANNOUNCED:
        current_reporter().say(
            f"solving a linear program with {variables:,} variables, which can take minutes"
        )
    solved = run_in_thread(partial(_solve, topology.nodes, tails, heads))
    lengths = np.rint(solved * _PRECISION).astype(np.int64)
    total = int(_sum_distances(topology.nodes, tails, heads, lengths))
    # With unit lengths, the bound is the sum of all distances divided by the number of directed
    # links.
    units = np.ones_like(lengths)
    plain = Fraction(int(_sum_distances(topology.nodes, tails, heads, units)), len(tails))
    return max(plain, Fraction(total, max(1, int(lengths.sum()))))


def _solve(nodes: int, tails: NDArray[Any], heads: NDArray[Any]) -> NDArray[np.float64]:
    """Return the length of each directed link in the dual solution of the linear program.

    The lengths are scaled so that the largest length is 1. If the solver finds no solution, all
    lengths are 1.
    """
    try:
        from scipy.optimize import linprog  # noqa: PLC0415 - optional
        from scipy.sparse import coo_array, kron  # noqa: PLC0415
    except ImportError:
        raise UnavailableError(
            "the linear program of an alltoall needs SciPy, which is not installed",
            hint=f"install it with: {install_command('scipy')}",
        ) from None
    count = len(tails)
    number = np.arange(count)
    # For each source, a node's inflow minus its outflow is 1 message, or -(N-1) messages if the
    # node is the source.
    signs = np.r_[np.ones(count), -np.ones(count)]
    rows, columns = np.r_[heads, tails], np.r_[number, number]
    balance = coo_array((signs, (rows, columns)), shape=(nodes, count))
    # The variables are the flow from each source on each directed link, and the largest total flow
    # on a link.
    conservation = kron(coo_array(np.eye(nodes)), balance, format="csr")
    conservation.resize(nodes * nodes, nodes * count + 1)
    demand = np.ones((nodes, nodes))
    np.fill_diagonal(demand, 1 - nodes)
    load = kron(np.ones((1, nodes)), coo_array((np.ones(count), (number, number))), format="lil")
    load.resize(count, nodes * count + 1)
    load[:, nodes * count] = -1
    cost = np.zeros(nodes * count + 1)
    cost[-1] = 1
    solved = linprog(
        cost, A_ub=load.tocsr(), b_ub=np.zeros(count), A_eq=conservation, b_eq=demand.ravel(),
        method="highs-ipm",
    )  # fmt: skip
    lengths = np.maximum(-solved.ineqlin.marginals, 0) if solved.status == 0 else np.ones(count)
    largest: float = lengths.max()
    return np.asarray(lengths / largest if largest else np.ones(count))


def _sum_distances(
    nodes: int, tails: NDArray[Any], heads: NDArray[Any], lengths: NDArray[np.int64]
) -> int:
    """Return the sum of the distances of all ordered node pairs, given integer link lengths."""
    far = np.int64(lengths.sum() + 1)
    distances = np.full((nodes, nodes), far)
    np.fill_diagonal(distances, 0)
    while True:
        before = distances.copy()
        # Bellman & Ford, for all sources at once: each row is a node, each column a source.
        np.minimum.at(distances, heads, distances[tails] + lengths[:, None])
        if np.array_equal(before, distances):
            return int(distances.sum())
