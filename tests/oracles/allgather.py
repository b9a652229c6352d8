"""Allgather schedules built row by row, as docs/definitions describes them.

The allgathers of tseng-sheu.md (A5) and nk-star.md send packets of several units; the
allgathers of fragopoulou-akl.md (A2 to A4) send single units.
"""

from collections.abc import Sequence

from oracles import nk_star
from oracles.allgather_trees import cycle_types, mbst, phase_1, phase_2, step
from oracles.rooted_trees import Tree, translated
from oracles.rotation import r, rotate, v
from oracles.schedule_rows import Row, pipelined
from oracles.star_graph import Node, identity, swap, visited
from oracles.tseng_sheu import dimension_change


def algorithm_2(tree: Tree, n: int) -> set[Row]:
    """Return the rows of source 12..n in Algorithm 2 of Tseng & Sheu (A5 of tseng-sheu.md).

    Segment i travels down the i-th dimension change of the tree, one level per step.
    """
    trees = [dimension_change(i, tree, identity(n)) for i in range(n - 1)]
    return pipelined(trees, identity(n), [[i] for i in range(n - 1)])


def nk_source(trees: Sequence[Tree], x: Node, n: int) -> set[Row]:
    """Return the rows of source x in an allgather on S_{n,k}.

    Unit (x, i) travels down tree i, which is translated to x.
    """
    q = nk_star.extension(x, n)
    return pipelined(
        [translated(tree, q) for tree in trees],
        x,
        [[(x, i)] for i in range(len(trees))],
        lambda a, b: nk_star.port_between(a, b, n),
    )


def nk_all_sources(trees: Sequence[Tree], n: int) -> set[Row]:
    """Return the allgather rows of all sources of S_{n,k}, with units (source, tree number)."""
    k = len(next(iter(trees[0])))
    return {row for x in nk_star.nodes(n, k) for row in nk_source(trees, x, n)}


def rotated_hamiltonian(n: int, messages: int) -> set[Row]:
    """Return the rows of one source in the allgather along rotated Hamiltonian paths (A2).

    Phase 1 is executed once per message, then phase 2 once for all messages.
    """
    length = max(row.step for row in phase_1(n))
    symbols = [2 + c % (n - 1) for c in range(messages)] if messages > 1 else [n]
    first = {
        row._replace(step=c * length + row.step, tree=c % (n - 1), unit=c)
        for c in range(messages)
        for row in phase_1(n)
    }
    return first | set(phase_2(n, messages * length, symbols))


def mbst_copies(n: int, messages: int) -> set[Row]:
    """Return the rows of one source in the allgather along rotated copies of the tree MBST (A3).

    Copy c is rotated c times. The messages follow one another, each without its last step. All
    deferred rows of the last steps come at the end, with at most one link of each dimension per
    step.
    """
    numbers = mbst(n).numbers
    last = step(max(numbers.values()), n)
    rows, waiting = set(), []
    for c in range(messages):
        e = c % (n - 1)
        for x, m in sorted(numbers.items()):
            if m:
                i, child = r(v(m, n), n, e), rotate(x, e)
                row = Row(c * (last - 1) + step(m, n), swap(child, i), i, child, e, c)
                if step(m, n) < last:
                    rows.add(row)
                else:
                    waiting.append(row)
    for i in range(2, n + 1):
        served = sorted(
            (row for row in waiting if row.port == i), key=lambda row: (row.unit, row.receiver)
        )
        rows |= {
            row._replace(step=messages * (last - 1) + k) for k, row in enumerate(served, start=1)
        }
    return rows


def cycle(n: int, messages: int) -> set[Row]:
    """Return the rows of one source in the allgather along a Hamiltonian cycle (A4).

    The messages follow one another, and each crosses all links of the cycle but the last.
    """
    types = cycle_types(n)[:-1]
    way = visited(identity(n), types)
    return {
        Row(c * len(types) + t, way[t - 1], types[t - 1], way[t], 0, c)
        for c in range(messages)
        for t in range(1, len(types) + 1)
    }
