"""Comparison of the array implementation with the oracles of the definitions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from starcast.collectives import Schedule, schedule
from starcast.errors import StarcastError
from starcast.simulator import Simulation, simulate
from starcast.trees import Forest, forest
from support import oracles

#: Every construction on S_n by name, as the page builds it.
PAGES: dict[str, Callable[[oracles.Node], Sequence[oracles.Tree]]] = {
    "greedy": lambda root: [oracles.greedy(root)],
    "multiple": oracles.multiple,
    "recursive-substar": lambda root: [oracles.recursive_substar(root)],
}


@contextmanager
def refused(*words: str, exit_code: int = 2) -> Iterator[pytest.ExceptionInfo[StarcastError]]:
    """Expect an error with a hint, this exit code, and these words in its message."""
    with pytest.raises(StarcastError) as refusal:
        yield refusal
    assert refusal.value.exit_code == exit_code
    assert refusal.value.hint
    for word in words:
        assert word in refusal.value.message


class Pair(NamedTuple):
    """A forest in both implementations."""

    n: int
    root: oracles.Node
    trees: Sequence[oracles.Tree]
    forest: Forest


def pair(n: int, construction: str, root: oracles.Node | None = None) -> Pair:
    """The forest of S_n with that root, from the array implementation and by the definition."""
    root = root or oracles.identity(n)
    built = forest(f"S{n}", construction, root=oracles.label(root))
    return Pair(n, root, PAGES[construction](root), built)


def roots(n: int) -> list[oracles.Node]:
    """All cyclic shifts of the identity, and two roots that are none."""
    every = oracles.nodes(n)
    return list(dict.fromkeys([*oracles.cyclic_roots(n), every[-1], every[len(every) // 3]]))


def ports_of(tree: oracles.Tree, root: oracles.Node) -> NDArray[np.uint8]:
    """A tree as the row of each node's port towards its parent, 0 at the root and outside."""
    return np.array(
        [
            oracles.dimension_between(x, tree[x]) if x in tree else 0
            for x in oracles.nodes(len(root))
        ],
        dtype=np.uint8,
    )


def tree_of(row: Iterable[int], n: int) -> oracles.Tree:
    """A row of ports towards parents as a tree, whether or not it is one."""
    return {
        x: oracles.swap(x, int(port)) for x, port in zip(oracles.nodes(n), row, strict=True) if port
    }


# Schedules

#: Every broadcast, with the name of its argument.
BROADCASTS = {"greedy": "segments", "multiple": "segments", "recursive-substar": "messages"}


@cache
def broadcast(
    n: int, algorithm: str, ports: str, share: int, root: oracles.Node | None = None
) -> Schedule:
    """The array implementation's schedule of a broadcast on S_n."""
    topology = oracles.label(root or oracles.identity(n))
    return schedule(
        f"S{n}",
        "broadcast",
        algorithm,
        ports=ports,
        root=topology,
        **{BROADCASTS[algorithm]: share},
    )


def page_rows(
    n: int, algorithm: str, ports: str, share: int, root: oracles.Node | None = None
) -> set[oracles.Row]:
    """Return the rows of the same broadcast by the definition."""
    source = root or oracles.identity(n)
    if algorithm == "recursive-substar" and ports == "one":
        return oracles.recursive_substar_one_port(source, share)
    rows = oracles.pipelined(PAGES[algorithm](source), source, share)
    return oracles.by_dimension(rows, n) if ports == "one" else rows


def plain_rows(plan: Schedule) -> list[oracles.Plain]:
    """The columns of a schedule row by row, with nodes for ranks."""
    every = oracles.nodes(plan.topology.n)
    columns = (plan.step, plan.sender, plan.port, plan.receiver, plan.tree, plan.unit)
    return [
        oracles.Plain(step, every[sender], port, every[receiver], tree, unit)
        for step, sender, port, receiver, tree, unit in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def numbered_rows(plan: Schedule) -> set[oracles.Row]:
    """The rows with each unit as its tree and its place among that tree's units."""
    plain = plain_rows(plan)
    units = {
        tree: sorted({row.unit for row in plain if row.tree == tree})
        for tree in {row.tree for row in plain}
    }
    place = {
        (tree, unit): number
        for tree, of_tree in units.items()
        for number, unit in enumerate(of_tree)
    }
    return {oracles.Row(*row[:5], (row.tree, place[row.tree, row.unit])) for row in plain}


def assert_complete(plan: Schedule) -> Simulation:
    """Assert that the simulator accepts a schedule and that it delivers everything."""
    run = simulate(plan)
    assert run.violation is None
    assert run.complete
    return run
