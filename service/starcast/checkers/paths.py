"""Whether the paths from the root to a node, one in each tree, keep apart."""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from starcast.checkers.evidence import Evidence
from starcast.checkers.shape import forest
from starcast.checkers.traversal import Grown, Ports, Walk
from starcast.topologies import Topology

_CELLS = 4_000_000  # steps of paths at a time: some 100 MB with what sorting takes


def disjoint_paths(
    topology: Topology, parent_port: Ports, root: int, apart: Literal["nodes", "links"] = "nodes"
) -> Evidence:
    """The paths from the root to a node through the trees that have it share nothing, for every node.

    Apart by "nodes": no node but the two ends, nor the direct link between them. Apart by "links": no link, whatever the
    direction, so that a broken link breaks one path at most. Measured: how many paths to one node meet in one place at most.

    Raises:
        RejectedError: the array is no forest.
    """
    walk, trees = forest(topology, parent_port, root)
    deepest = max(int(tree.levels.max()) for tree in trees)
    together = max(1, _CELLS // (len(trees) * max(deepest, 1)))
    most, first = 1, None
    for start in range(0, topology.nodes if len(trees) > 1 else 0, together):
        ends = np.arange(start, min(start + together, topology.nodes))
        steps = np.concatenate([_steps(walk, tree, ends, apart) for tree in trees])
        shared = _repeats(steps)
        most = max(most, int(shared.max()))
        if first is None and most > 1:
            first = _place(walk, trees, int(ends[np.flatnonzero(shared > 1)[0]]), apart)
    return Evidence(f"paths disjoint by {apart}", most, first)


def _steps(walk: Walk, tree: Grown, ends: NDArray[np.int64], apart: str) -> NDArray[np.int64]:
    """What the paths to these nodes pass, int64 ``[height, ends]``; -1 where the path is over.

    By nodes: the interior nodes, and the root for a path that has none. By links: both ends of each link as one number.
    """
    nodes, at = walk.topology.nodes, np.where(tree.levels[ends] > 0, ends, walk.root)
    passed = []
    for step in range(int(tree.levels[ends].max())):
        on = at != walk.root
        above = np.where(on, tree.parents[at], walk.root)
        if apart == "links":
            crossed = np.minimum(at, above) * nodes + np.maximum(at, above)
            passed.append(np.where(on, crossed, -1))
        else:
            passed.append(np.where(on & ((above != walk.root) | (step == 0)), above, -1))
        at = above
    return np.array(passed, dtype=np.int64).reshape(len(passed), len(ends))


def _repeats(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """In each column, how often the most frequent number that is not negative occurs; 1 where none occurs twice."""
    ordered = np.sort(steps, axis=0)
    run = np.ones(steps.shape[1], dtype=np.int64)
    most = run.copy()
    for before, here in pairwise(ordered):
        run = np.where((here == before) & (here >= 0), run + 1, 1)
        np.maximum(most, run, out=most)
    return most


def _place(walk: Walk, trees: list[Grown], end: int, apart: str) -> dict[str, int | str]:
    passed: dict[int, int] = {}
    for number, tree in enumerate(trees):
        for step in _steps(walk, tree, np.array([end]), apart)[:, 0].tolist():
            if step >= 0 and step in passed:
                return {
                    "tree": number,
                    "node": walk.label(end),
                    "why": _why(walk, step, passed[step], apart),
                }
            passed[step] = number
    raise AssertionError(f"the paths to {end} were found to meet")


def _why(walk: Walk, step: int, other: int, apart: str) -> str:
    if apart == "links":
        a, b = divmod(step, walk.topology.nodes)
        return (
            f"the path shares the link {walk.label(a)} - {walk.label(b)} with that of tree {other}"
        )
    what = "is the direct link" if step == walk.root else f"passes {walk.label(step)}"
    return f"the path {what}, as that of tree {other}"
