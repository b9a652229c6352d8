"""Scatter by Rules 5 and 8 (Fragopoulou & Akl 1993, sections 5 and 6)."""

from math import factorial

import pytest

from oracles import rotation, star_graph
from oracles import scatter as page
from oracles import scatter_trees as trees_page
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.collectives.catalogue import find
from starcast.collectives.scatter import build_scatter
from starcast.judges.simulator import simulate
from starcast.trees import forest as build_forest
from starcast.trees.metrics import root_ports
from support.meeting import plain_rows, refused, roots, tree_of

SCATTERS = ("balanced", "near-balanced", "perfectly-balanced", "one-port")


def shares(n: int, algorithm: str, most: int) -> list[int]:
    """Return the numbers of messages that an algorithm accepts, from 1 to `most`."""
    return [m for m in range(1, most + 1) if algorithm != "perfectly-balanced" or m % (n - 1) == 0]


def cases(sizes: range, copies: int) -> list[tuple[int, str, int]]:
    """Return cases (n, algorithm, messages), with valid numbers up to `copies` (n-1) messages."""
    return [
        (n, algorithm, m)
        for n in sizes
        for algorithm in SCATTERS
        if n > 2 or algorithm != "perfectly-balanced"
        for m in shares(n, algorithm, max(copies * (n - 1), 1))
    ]


def steps(n: int, algorithm: str, messages: int) -> int:
    """Return the number of steps by Table 2, or by section A5 for `near-balanced`."""
    others = factorial(n) - 1
    return {
        "balanced": star_graph.ceil_div(messages * others, n - 1),
        "near-balanced": messages * rotation.necklaces_counted(n),
        "perfectly-balanced": messages * others // (n - 1),
        "one-port": messages * others,
    }[algorithm]


def schedule(
    n: int, algorithm: str, messages: int, root: star_graph.Node | None = None
) -> Schedule:
    """Return the schedule that starcast builds."""
    return build(
        f"S{n}",
        "scatter",
        algorithm,
        root=star_graph.label(root or star_graph.identity(n)),
        messages=messages,
    )


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(2, 5), 2))
def test_the_rows_equal_those_of_the_oracle_for_every_root(
    n: int, algorithm: str, messages: int
) -> None:
    """The test sends 1 to 2(n-1) messages. In `balanced`, message c uses tree c mod (n-1)."""
    for root in roots(n):
        rows = plain_rows(schedule(n, algorithm, messages, root))
        assert sorted(rows) == sorted(page.scatter(algorithm, root, messages))


@pytest.mark.parametrize(
    ("n", "algorithm", "messages"),
    [
        (5, "balanced", 1),
        (5, "balanced", 3),
        (5, "near-balanced", 2),
        (5, "perfectly-balanced", 4),
        (5, "one-port", 2),
        (5, "balanced", 9),
        (5, "perfectly-balanced", 8),
        (6, "balanced", 1),
        (6, "perfectly-balanced", 5),
        (6, "one-port", 1),
    ],
)
def test_the_rows_equal_those_of_the_oracle_on_larger_stars(
    n: int, algorithm: str, messages: int
) -> None:
    """The root of the scatter is the node with the highest rank."""
    root = star_graph.nodes(n)[-1]
    assert sorted(plain_rows(schedule(n, algorithm, messages, root))) == sorted(
        page.scatter(algorithm, root, messages)
    )


LARGEST = [(7, "near-balanced", 2), (7, "balanced", 7)]


@pytest.mark.parametrize(
    ("n", "algorithm", "messages"), [*cases(range(2, 7), 2), *cases(range(7, 8), 1), *LARGEST]
)
def test_steps_and_transmissions_of_scatter_and_gather_equal_the_formulas(
    n: int, algorithm: str, messages: int
) -> None:
    """A gather has as many rows as a scatter. Their number is known before they are built."""
    arguments = {"messages": messages}
    scatter = schedule(n, algorithm, messages)
    assert len(scatter) == messages * star_graph.distance_sum_formula(n)
    assert scatter.steps == steps(n, algorithm, messages)
    for collective in ("scatter", "gather"):
        last = build(f"S{n}", collective, algorithm, root=factorial(n) - 1, messages=messages)
        assert len(last) == len(scatter) == messages * star_graph.distance_sum(n)
        assert find(collective, algorithm).rows(last.topology, arguments) == len(last)
        run = simulate(last)
        assert run.violation is None
        assert run.complete
        assert (run.steps, run.largest_packet) == (scatter.steps, 1)
        assert run.transmissions == len(scatter)


def test_root_ports_are_found_by_following_parents() -> None:
    for root in ["1234", "4213"]:
        for construction in ["balanced", "perfectly-balanced", "multiple", "hamiltonian-cycle"]:
            forest, source = build_forest("S4", construction, root=root), star_graph.node_of(root)
            for row, above in zip(forest.parent_port, root_ports(forest), strict=True):
                tree = tree_of(row.tolist(), 4)
                expected = [
                    trees_page.branch_dimension(x, tree, source) if x in tree else 0
                    for x in star_graph.nodes(4)
                ]
                assert above.tolist() == expected


def test_a_forest_that_omits_a_node_is_refused() -> None:
    """The tree `shortest-path` does not contain the nodes that start with 1."""
    with refused("1243", "none of its trees"):
        build_scatter(build_forest("S4", "shortest-path"), "all", 1)
