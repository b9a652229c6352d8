"""Fragopoulou & Akl 1993, section 3.1: the tree of rotated Hamiltonian paths (Theorem 4)."""

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.providers import forests
from starcast.claims.reference import star_labels
from starcast.claims.reference.bfs import levels, parents
from starcast.claims.registry import check
from starcast.permutations import Ranks
from starcast.trees.model import Forest

_LARGEST_DRAWN = 6  # up to S_6 paths T_2 are drawn at random as well
_RANDOM_PATHS = 4
_TRIES = 400

trees = forests("rotated-hamiltonian")


@check("FA.T4", given=trees)
def rotated_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that R^(j-2) maps paths T_2 to Hamiltonian paths T_j, also those of the forest."""
    n = check.n
    rotations = star_labels.rotations(check)
    label_symbols = star_labels.symbols(check)
    paths = [path_of_forest(check, forest, 2)]
    if n <= _LARGEST_DRAWN:
        paths.extend(random_paths(check))
    for j in range(2, n + 1):
        members = np.flatnonzero(label_symbols[:, j - 1] == 1)
        for number, path in enumerate(paths):
            image = rotations[j - 2, path]
            place = {"j": j, "path": number}
            first = nodes.node_of_cycles(n, (1, j))
            check.equal("rank of the first node", int(image[0]), first, **place)
            check.equal("nodes of the path, sorted", np.sort(image), members, **place)
            adjacent = nodes.types_between(check, image[:-1], image[1:]) > 0
            check.true("consecutive nodes are neighbours", adjacent, **place)
        stated = rotations[j - 2, paths[0]]
        check.equal("node of T_j", path_of_forest(check, forest, j), stated, j=j, of=forest)


@check("FA.T4-types", given=trees)
def types_along_rotated_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that T_j crosses a link of type t_j(i) where T_2 crosses one of type i."""
    n = check.n
    ports = forest.parent_port[0].astype(np.int64)
    rotations = star_labels.rotations(check)
    path = np.concatenate([[0], path_of_forest(check, forest, 2)]).astype(np.int32)
    types = nodes.types_between(check, path[:-1], path[1:])
    step = np.arange(1, len(types) + 1)
    for j in range(2, n + 1):
        image = rotations[j - 2, path]
        crossed = nodes.types_between(check, image[:-1], image[1:])
        stated = rotated_types(n, j, types)
        place = {"j": j, "step": step, "of": forest}
        check.equal("type that T_2 crosses, rotated j-2 times", crossed, stated, **place)
        own = ports[path_of_forest(check, forest, j)]
        check.equal("type in T_j", own, stated, **place)


def path_of_forest(check: ClaimCheck, forest: Forest, j: int) -> Ranks:
    """Return T_j of the forest: the nodes with symbol 1 in position j, by their level."""
    level = levels(parents(check, forest.parent_port[0]), 0)
    in_position = star_labels.symbols(check)[:, j - 1] == 1
    members = np.flatnonzero(in_position).astype(np.int32)
    path: Ranks = members[np.argsort(level[members], kind="stable")]
    return path


def rotated_types(n: int, j: int, types: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return t_j(i) = (i+j-4) mod (n-1) + 2 for link types i."""
    return np.asarray((types + j - 4) % (n - 1) + 2)


def random_paths(check: ClaimCheck) -> NDArray[np.int32]:
    """Return random Hamiltonian paths from 213..n over the nodes with symbol 1 in position 2."""

    def create() -> NDArray[np.int32]:
        rng = np.random.default_rng(1993)
        attempts = (_random_path(check, rng) for _ in range(_TRIES))
        return np.array(list(islice(filter(None, attempts), _RANDOM_PATHS)), dtype=np.int32)

    return check.array("Hamiltonian paths drawn at random", create)


def _random_path(check: ClaimCheck, rng: np.random.Generator) -> list[int]:
    """Return a path that always continues to a node with the fewest exits; empty if it fails."""
    # Links of type 3..n keep symbol 1 in position 2.
    neighbours = check.neighbours[1:].T.tolist()
    path = [nodes.node_of_cycles(check.n, (1, 2))]
    in_position = star_labels.symbols(check)[:, 1] == 1
    unvisited = set(np.flatnonzero(in_position).tolist()) - set(path)
    while unvisited:
        candidates = [node for node in neighbours[path[-1]] if node in unvisited]
        if not candidates:
            return []
        exits = [len(unvisited.intersection(neighbours[node])) for node in candidates]
        fewest = min(exits)
        best = [node for node, count in zip(candidates, exits, strict=True) if count == fewest]
        path.append(int(rng.choice(best)))
        unvisited.remove(path[-1])
    return path
