"""Scatter by Rules 5 and 8 (Fragopoulou & Akl 1993, sections 5 and 6)."""

from collections import Counter
from itertools import pairwise
from math import factorial

import numpy as np
import pytest

from oracles import rotation, star_graph
from oracles import scatter as page
from oracles import scatter_trees as trees_page
from starcast.collectives import Schedule, algorithms
from starcast.collectives import schedule as build
from starcast.collectives.catalogue import find
from starcast.collectives.scatter import assign_trees, balanced_forest, build_scatter
from starcast.judges.simulator import simulate
from starcast.support.vocabulary import Ports
from starcast.topologies import as_topology
from starcast.trees import Forest
from starcast.trees import forest as build_forest
from starcast.trees.balanced import running_numbers
from starcast.trees.common import numbered_dimensions
from starcast.trees.metrics import root_ports
from support.meeting import assert_complete, plain_rows, ports_of, refused, roots, tree_of

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


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(3, 6), 1))
def test_messages_never_wait_and_paths_are_shortest(n: int, algorithm: str, messages: int) -> None:
    root = star_graph.nodes(n)[-2]
    flights = page.flights(plain_rows(schedule(n, algorithm, messages, root)))
    assert len(flights) == messages * (factorial(n) - 1)
    for unit, rows in flights.items():
        destination = star_graph.nodes(n)[unit // messages]
        assert [row.step for row in rows] == [*range(rows[0].step, rows[0].step + len(rows))]
        assert (rows[0].sender, rows[-1].receiver) == (root, destination)
        assert len(rows) == star_graph.distances(root)[destination]


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(3, 6), 1))
def test_the_root_sends_to_the_farthest_nodes_first_and_never_pauses(
    n: int, algorithm: str, messages: int
) -> None:
    """Rule 5 (all-port) uses all dimensions at once, Rule 8 (one-port) one after the other."""
    root = star_graph.identity(n)
    flights = page.flights(plain_rows(schedule(n, algorithm, messages)))
    sent = sorted((rows[0].step, rows[0].port, len(rows)) for rows in flights.values())
    assert all(row.sender == root for rows in flights.values() for row in rows[:1])
    queues = {
        port: [(step, hops) for step, p, hops in sent if p == port] for port in range(2, n + 1)
    }
    for queue in queues.values():
        assert all(before[1] >= after[1] for before, after in pairwise(queue))
    if algorithm == "one-port":
        assert [step for step, _, _ in sent] == [*range(1, len(sent) + 1)]
        assert [port for _, port, _ in sent] == sorted(port for _, port, _ in sent)
    else:
        assert all(
            [step for step, _ in queue] == [*range(1, len(queue) + 1)] for queue in queues.values()
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


@pytest.mark.parametrize("n", range(3, 8))
def test_the_balanced_scatter_meets_the_bound_for_every_number_of_messages(n: int) -> None:
    """No schedule is faster, since the root must send M(n!-1) units over n-1 links."""
    for messages in {1, 2, n - 2, n - 1, n, 2 * n - 3} - {0}:
        assert schedule(n, "balanced", messages).steps == star_graph.ceil_div(
            messages * (factorial(n) - 1), n - 1
        )


def test_each_subtree_receives_an_equal_number_of_messages() -> None:
    """Each subtree of Definition 15 gets M(n!-1)/(n-1) messages (pitfall 12).

    If the necklace of a node has p nodes, each copy of the node receives M p/(n-1) messages, not M.
    """
    for n in range(3, 7):
        messages = n - 1
        s = schedule(n, "perfectly-balanced", messages)
        first = s.sender == 0
        assert np.bincount(s.port[first])[2:].tolist() == [
            messages * (factorial(n) - 1) // (n - 1)
        ] * (n - 1)
        forest = s.forest
        assert forest is not None
        assert [int(np.count_nonzero(row)) for row in forest.parent_port] == [
            rotation.necklaces_counted(n)
        ] * (n - 1)
        last = s.receiver == s.unit // messages
        carried = Counter(zip(s.receiver[last].tolist(), s.tree[last].tolist(), strict=True))
        for (x, _), load in carried.items():
            assert load == rotation.period(star_graph.nodes(n)[x]) * messages // (n - 1)


def test_one_balanced_tree_for_all_messages_takes_longer() -> None:
    """With one tree, M messages take M ceil((n!-1)/(n-1)) steps (pitfall 16).

    With a different tree for each message, they take ceil(M(n!-1)/(n-1)).
    """
    for n in range(3, 7):
        messages = n - 1
        forest = build_forest(f"S{n}", "balanced")
        repeated = build_scatter(forest, "all", messages, algorithm="balanced")
        assert repeated.steps == messages * star_graph.ceil_div(factorial(n) - 1, n - 1)
        assert (
            schedule(n, "balanced", messages).steps
            == messages * (factorial(n) - 1) // (n - 1)
            < repeated.steps
        )


@pytest.mark.parametrize("n", range(3, 7))
def test_perfectly_balanced_trees_need_a_multiple_of_n_minus_1_messages(n: int) -> None:
    """A node that is alone on its necklace is in n-1 trees, each with M/(n-1) of its messages."""
    assert any(len(ring) == 1 for ring in rotation.necklaces(n))
    for messages in range(1, 2 * (n - 1)):
        if messages % (n - 1):
            with refused("perfectly-balanced", "multiple", str(messages)):
                schedule(n, "perfectly-balanced", messages)
            uneven = build_scatter(
                build_forest(f"S{n}", "perfectly-balanced"),
                "all",
                messages,
                algorithm="perfectly-balanced",
            )
            assert uneven.steps > messages * (factorial(n) - 1) / (n - 1)


@pytest.mark.parametrize("n", range(3, 9))
def test_the_trees_repeat_after_n_minus_1_messages(n: int) -> None:
    """A node has a number, which determines its subtree.

    The numbering of the nodes continues from message to message.
    """
    topology = as_topology(f"S{n}")
    hung = [
        numbered_dimensions(n, running_numbers(topology, copy))[1:].tolist()
        for copy in range(2 * (n - 1))
    ]
    assert hung[: n - 1] == hung[n - 1 :]
    begin = [int(running_numbers(topology, copy)[1:].min()) for copy in range(n)]
    assert begin == [1 + copy * (factorial(n - 1) - 1) for copy in range(n)]


@pytest.mark.parametrize("n", range(3, 7))
def test_the_forest_of_a_balanced_scatter_has_the_trees_of_all_messages(n: int) -> None:
    root = star_graph.nodes(n)[-1]
    for messages in (1, 2, n - 1, n + 3):
        forest = schedule(n, "balanced", messages, root).forest
        assert forest is not None
        forest.verify()
        expected = [
            ports_of(trees_page.balanced(root, copy), root) for copy in range(min(messages, n - 1))
        ]
        assert np.array_equal(forest.parent_port, np.stack(expected))


def test_links_that_several_balanced_trees_share_carry_no_messages_in_the_same_step() -> None:
    """A link that several trees share has the same level and the same subtree in each of them."""
    for n in range(3, 7):
        forest = balanced_forest(as_topology(f"S{n}"), n - 1)
        above, levels = root_ports(forest), forest.levels()
        first_place: dict[tuple[int, int], tuple[int, int]] = {}
        for tree, parents in enumerate(forest.parents().tolist()):
            for child, parent in enumerate(parents):
                if parent >= 0:
                    place = (int(above[tree, child]), int(levels[tree, child]))
                    assert first_place.setdefault((parent, child), place) == place


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


@pytest.mark.parametrize("algorithm", SCATTERS)
def test_the_forest_of_a_scatter_is_the_construction_that_its_algorithm_names(
    algorithm: str,
) -> None:
    entry = find("scatter", algorithm)
    for messages in (1, 4):
        if algorithm == "perfectly-balanced" and messages == 1:
            continue
        s = schedule(5, algorithm, messages, (5, 4, 3, 2, 1))
        name = entry.forest_construction(s.topology, s.ports, s.arguments)
        assert s.forest is not None
        if name is not None:
            assert s.forest.id == f"S5:{name}:54321"
            assert np.array_equal(
                s.forest.parent_port, build_forest("S5", name, root="54321").parent_port
            )
        else:
            assert (algorithm, messages) == ("balanced", 4)
        assert np.array_equal(s.forest.parents()[s.tree, s.receiver], s.sender)


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize(
    ("spec", "construction"),
    [
        ("S4", "greedy"),
        ("S4", "multiple"),
        ("S5", "recursive-substar"),
        ("S4", "hamiltonian-cycle"),
        ("S5,3", "nk-greedy"),
        ("Q4", "binomial"),
    ],
)
def test_a_scatter_can_follow_any_tree(spec: str, construction: str, ports: Ports) -> None:
    """Rule 5 takes one step per message for the largest subtree.

    Rule 8 takes one step per message for all subtrees.
    """
    topology = as_topology(spec)
    full_forest = build_forest(spec, construction)
    forest, messages = Forest(topology, full_forest.parent_port[:1]), 2
    s = build_scatter(forest, ports, messages, algorithm=construction)
    assert_complete(s)
    loads = (messages * forest.subtree_sizes()[0][forest.parents()[0] == 0]).tolist()
    assert s.steps == (max(loads) if ports == "all" else sum(loads))


def test_a_forest_that_omits_a_node_is_refused() -> None:
    """The tree `shortest-path` does not contain the nodes that start with 1."""
    with refused("1243", "none of its trees"):
        build_scatter(build_forest("S4", "shortest-path"), "all", 1, algorithm="shortest-path")


def test_messages_for_a_node_are_distributed_over_its_trees_in_turn() -> None:
    for messages in [1, 3, 4, 7]:
        forest = build_forest("S4", "perfectly-balanced")
        units = assign_trees(forest, messages)
        assert sorted(units.unit.tolist()) == [*range(messages, 24 * messages)]
        for tree, destination, unit in zip(*(column.tolist() for column in units), strict=True):
            own = [row for row in range(3) if forest.parent_port[row, destination]]
            x, number = divmod(unit, messages)
            assert x == destination
            assert tree == own[number % len(own)]


def test_a_scatter_records_its_name_port_model_root_units_and_id() -> None:
    for algorithm in SCATTERS:
        s = schedule(5, algorithm, 8, (5, 4, 3, 2, 1))
        ports = "one" if algorithm == "one-port" else "all"
        assert (s.collective, s.algorithm, s.ports, s.root, s.packets, s.symmetric) == (
            ("scatter", algorithm, ports, 119, False, False)
        )
        assert s.units == 120 * 8
        assert s.id == f"S5:scatter:{algorithm}:{ports}:messages=8:54321"
        assert s.expand() is s


def test_a_scatter_sends_one_message_or_n_minus_1_by_default() -> None:
    """The default is n-1 if the algorithm requires a multiple of n-1."""
    for algorithm in SCATTERS:
        expected = 4 if algorithm == "perfectly-balanced" else 1
        assert dict(build("S5", "scatter", algorithm).arguments) == {"messages": expected}
    assert {row.name for row in algorithms("scatter")} >= set(SCATTERS)


def test_invalid_scatter_arguments_are_refused() -> None:
    for algorithm in SCATTERS:
        wrong = "all" if algorithm == "one-port" else "one"
        with refused("port model"):
            build("S4", "scatter", algorithm, ports=wrong)
        for messages in (0, -3, 1.5, True, "3"):
            with refused("messages"):
                build("S4", "scatter", algorithm, messages=messages)  # type: ignore[arg-type]
        with refused("segments"):
            build("S4", "scatter", algorithm, segments=2)
        with refused("Q4"):
            build("Q4", "scatter", algorithm)
        if algorithm == "perfectly-balanced":
            with refused(algorithm, "S2"):
                build("S2", "scatter", algorithm)
