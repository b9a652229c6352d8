"""Searches: optimal results on small topologies, proofs of bounds, and limits."""

import multiprocessing
import random
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest

from starcast.records import Attempt, Record, verify, witness_value
from starcast.records.cut_bounds import certified_cut, round_cut
from starcast.records.model import CERTIFICATE
from starcast.search import (
    PROBLEMS,
    Budget,
    engines,
    find_problem,
    forests,
    hamiltonian,
    local_search,
    prove_again,
    search,
    verify_bound,
)
from starcast.search.bisection import BisectionWidth
from starcast.search.broadcast import OnePortBroadcast, counting_bound
from starcast.search.engines import Formula, solve
from starcast.search.faults import targets
from starcast.search.hamiltonian import HamiltonianDecomposition, two_factors
from starcast.search.symmetry import check_automorphism, fixing_root, link_list, orbits, rotation
from starcast.support.errors import InputError, LimitError, RejectedError, UnavailableError
from starcast.support.vocabulary import Engine
from starcast.topologies import topology
from support.formulas import pigeons
from support.recorder import Recorder

LIMITS = Budget(seconds=60)
#: Optimal values, known from exhaustive searches below or from textbooks.
VALUES = {
    ("one-port-broadcast", "S3"): 3,
    ("one-port-broadcast", "S4"): 5,
    ("one-port-broadcast", "S4,2"): 4,
    ("one-port-broadcast", "Q3"): 3,
    ("hamiltonian-decomposition", "S4"): 1,
    ("hamiltonian-decomposition", "Q4"): 2,
    ("hamiltonian-decomposition", "S4,2"): 1,
    ("edge-disjoint-trees", "S3"): 5,
    ("edge-disjoint-trees", "S4"): 6,
    ("edge-disjoint-trees", "Q3"): 4,
    ("congestion-trees", "S4"): 5,
    ("congestion-trees", "Q3"): 3,
    ("independent-trees", "Q3"): 1,
    ("independent-trees", "Q4"): 2,
    ("fault-diameter", "S3"): 4,
    ("fault-diameter", "S4"): 6,
    ("fault-diameter", "Q3"): 4,
    ("bisection-width", "S3"): 2,
    ("bisection-width", "Q3"): 4,
    ("bisection-width", "S4,2"): 4,
    ("fault-diameter", "P3"): 4,
    ("independent-trees", "P4"): 1,
    ("hamiltonian-decomposition", "P4"): 1,
    ("one-port-broadcast", "P4"): 5,
    ("one-port-broadcast", "AG4"): 4,
    ("one-port-broadcast", "T3x3"): 4,
    ("hamiltonian-decomposition", "AG4"): 2,
    ("hamiltonian-decomposition", "T3x3"): 2,
    ("bisection-width", "T3x4"): 6,
}


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile the local search in advance, since each test has a limit on processor time."""
    assert search("one-port-broadcast", "S5,2").tried


def settle(problem: str, spec: str, **arguments: Any) -> Record:
    """Search from scratch until the optimum is proven, and verify the resulting record."""
    record = search(problem, spec, Budget(seconds=120), **arguments)
    assert record.optimal
    verify(record)
    verify_bound(record)
    return record


@pytest.mark.parametrize(("problem", "spec"), VALUES)
def test_searches_on_small_topologies_find_and_prove_the_optimum(problem: str, spec: str) -> None:
    assert settle(problem, spec).value == VALUES[problem, spec]
    if (problem, spec) == ("edge-disjoint-trees", "S4"):
        assert settle("congestion-trees", spec, congestion=1).value == VALUES[problem, spec]


def as_graph(spec: str) -> "nx.Graph[int]":
    """Return a topology as a NetworkX graph."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_edges_from(link_list(topology(spec)).tolist())
    return graph


def test_optimal_values_equal_those_of_an_exhaustive_search() -> None:
    """The bisection width is a minimum over all halves of the nodes.

    The fault diameter is a maximum over all sets of degree - 1 faulty nodes.
    """
    for spec in ("S3", "Q3", "S4,2"):
        graph = as_graph(spec)
        halves = [half for half in combinations(sorted(graph), len(graph) // 2) if 0 in half]
        least = min(nx.cut_size(graph, half) for half in halves)
        assert settle("bisection-width", spec).value == least
    for spec in ("S4", "Q3"):
        greatest = 0
        for faults in combinations(sorted(as_graph(spec)), topology(spec).degree - 1):
            rest = as_graph(spec)
            rest.remove_nodes_from(faults)
            greatest = max(greatest, nx.diameter(rest))
        assert settle("fault-diameter", spec).value == greatest


def test_the_counting_bound_uses_the_largest_number_of_nodes_informed_in_each_round() -> None:
    """With degree 3, at most 1, 2, 4, 8, 14, 24 nodes are informed after 0, 1, 2, .. rounds.

    Every node but the root sends at most twice, since one of its neighbours has informed it.
    """
    assert [counting_bound(nodes, 3) for nodes in (1, 2, 3, 8, 9, 14, 15, 24, 25)] == (
        [0, 1, 2, 3, 4, 4, 5, 5, 6]
    )
    assert [counting_bound(count, n - 1) for n, count in ((5, 120), (6, 720), (7, 5040))] == (
        [8, 10, 13]
    )


@pytest.mark.parametrize("spec", ["S3", "S4", "S4,2", "S5", "S5,2", "S5,3", "Q3", "Q4"])
def test_the_automorphisms_fix_the_root_and_keep_the_distance_of_each_node_from_the_root(
    spec: str,
) -> None:
    """The automorphism `rotation` permutes the neighbours of the root in a single cycle.

    It does not exist on (n,k)-stars.
    """
    graph = topology(spec)
    maps = fixing_root(graph)
    for images in maps:
        assert images[0] == 0
        check_automorphism(graph, images)
    least = orbits(graph.nodes, maps)
    distances = graph.distances(0)
    assert (distances[least] == distances).all()
    if graph.family == "hypercube":
        assert len(np.unique(least)) == graph.n + 1
    assert targets(graph) == np.unique(least)[1:].tolist()
    turned = rotation(graph)
    assert (turned is None) == (graph.family == "nk-star")
    if turned is not None:
        neighbours = set(graph.table()[:, 0].tolist())
        node, visited = next(iter(neighbours)), set[int]()
        while node not in visited:
            visited.add(node)
            node = int(turned[node])
        assert visited == neighbours


def test_a_map_that_is_not_an_automorphism_is_rejected() -> None:
    graph = topology("S4")
    images = np.arange(graph.nodes)
    images[[0, 1]] = [1, 0]
    with pytest.raises(RejectedError, match="not an automorphism"):
        check_automorphism(graph, images)


@pytest.mark.parametrize("spec", ["S4", "S5", "S4,2", "S5,2", "S6,3", "Q4", "Q5"])
def test_every_link_is_in_exactly_one_of_the_2_factors_or_among_the_remaining_links(
    spec: str,
) -> None:
    """Each node has two links in a 2-factor."""
    graph = topology(spec)
    factors, rest = two_factors(graph)
    assert len(factors) == graph.degree // 2
    ends = [
        tuple(sorted((node, other)))
        for part in (*factors, rest)
        for node, others in enumerate(part)
        for other in others
    ]
    assert sorted(ends) == sorted(2 * [tuple(link) for link in link_list(graph).tolist()])


def test_an_at_most_constraint_limits_the_number_of_true_literals_to_its_bound() -> None:
    """The constraint `at_most_one` has its own encoding, which is tested too."""
    for bound, chosen in product((-1, 0, 1, 2, 3, 5), product((False, True), repeat=4)):
        formula = Formula()
        literals = formula.new(4).tolist()
        formula.at_most(literals, bound)
        for literal, is_chosen in zip(literals, chosen, strict=True):
            formula.add(literal if is_chosen else -literal)
        assert _is_satisfiable(formula) == (sum(chosen) <= bound)
    for count in (0, 1, 2, 9):
        formula = Formula()
        literals = formula.new(9).tolist()
        formula.at_most_one(literals)
        for literal in literals[:count]:
            formula.add(literal)
        assert _is_satisfiable(formula) == (count <= 1)


def _is_satisfiable(formula: Formula) -> bool:
    from pysat.solvers import Solver

    with Solver(name="cadical195", bootstrap_with=formula.clauses) as solver:
        return bool(solver.solve())


def test_searches_with_unknown_engines_problems_arguments_or_topologies_are_refused() -> None:
    with pytest.raises(InputError, match="unknown engine 'minisat'"):
        Budget(engine="minisat")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown problem 'bisection'") as caught:
        find_problem("bisection")
    assert "bisection-width" in caught.value.hint
    cases: list[tuple[str, str, dict[str, Any], str]] = [
        ("bisection-width", "S4", {"congestion": 2}, "has no argument 'congestion'"),
        ("congestion-trees", "S4", {"congestion": 0}, "congestion is 0"),
        ("congestion-trees", "S4", {"congestion": True}, "congestion is True"),
        ("congestion-trees", "S4", {"congestion": 2**31}, "congestion is 2147483648, but"),
        ("fault-diameter", "S2", {}, "not defined on S2"),
        ("fault-diameter", "X2", {}, "unknown topology"),
    ]
    for problem, spec, arguments, message in cases:
        with pytest.raises(InputError, match=message):
            search(problem, spec, **arguments)


def test_random_seeds_that_no_record_can_contain_are_refused() -> None:
    Budget(seed=2**31 - 2, jobs=2)
    for seed, jobs in ((-1, 1), (2**31, 1), (2**31 - 1, 2)):
        with pytest.raises(InputError, match=f"of all jobs, {seed} to {seed + jobs - 1}, must"):
            Budget(seed=seed, jobs=jobs)


def test_a_record_lists_only_the_newest_search_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starcast.search.running.MAX_ATTEMPTS", 1)
    first = search("fault-diameter", "S4", Budget(0))
    known = replace(first, tried=(Attempt("old", 3, "open", 1.0),))
    (attempt,) = search("fault-diameter", "S4", LIMITS, known).tried
    assert attempt.method != "old"


@pytest.mark.parametrize("engine", ["cadical", "cp-sat"])
def test_both_solvers_decide_whether_a_formula_is_satisfiable(engine: Engine) -> None:
    limits = Budget(seconds=60, engine=engine, jobs=2)
    assert solve(pigeons(5), limits, "pigeons").status == "unsatisfiable"
    formula = Formula()
    a, b = formula.new(2).tolist()
    formula.add(a, b)
    formula.add(-a)
    status, values = solve(formula, limits, "two variables")
    assert status == "satisfiable"
    assert values is not None
    assert values.tolist() == [False, False, True]


def test_a_bound_proven_by_theory_needs_no_proof_and_a_wrong_known_record_is_rejected() -> None:
    record = settle("one-port-broadcast", "S4")
    with pytest.raises(RejectedError, match="needs no proof"):
        prove_again(record)
    with pytest.raises(RejectedError, match="has the value 5, not 4"):
        search("one-port-broadcast", "S4", LIMITS, replace(record, value=4))


def test_a_search_continues_from_a_known_record() -> None:
    """The known value is improved, and the known bound keeps its proof."""
    settled = settle("bisection-width", "S4,2")
    in_rank_order = {"side": (np.arange(12) < 6).astype(np.uint8)}
    links_cut = witness_value("bisection-width", "S4,2", {}, in_rank_order)
    assert links_cut > 4
    half = replace(settled, witness=in_rank_order, value=links_cut)
    kept: list[Record] = []
    found = search("bisection-width", "S4,2", LIMITS, half, kept.append)
    assert (found.value, found.bound, found.proof) == (4, 4, settled.proof)
    assert [record.value for record in kept] == [4]
    assert search("bisection-width", "S4,2", LIMITS, settled) is settled


def test_a_better_bound_from_theory_replaces_a_known_bound_and_its_certificate() -> None:
    settled = settle("bisection-width", "S4")
    witness = {**settled.witness, "multipliers": 0 * settled.witness["multipliers"]}
    known = replace(
        settled, bound=0, reason="no halves without links between them", witness=witness
    )
    verify(known)
    found = search("bisection-width", "S4", replace(LIMITS, seconds=0), known)
    assert found.bound > 0
    verify(found)


def test_a_broadcast_can_take_more_than_255_rounds() -> None:
    found = search("one-port-broadcast", "Ring512", LIMITS)
    assert (found.value, found.bound) == (256, 256)
    verify(found)


def test_a_fault_diameter_is_not_defined_if_faults_can_disconnect_the_topology() -> None:
    with pytest.raises(InputError, match="4 faults can disconnect AQ3"):
        search("fault-diameter", "AQ3", LIMITS)


@pytest.mark.parametrize(("spec", "height"), [("Ring5", 4), ("Ring16", 15)])
def test_edge_disjoint_trees_of_a_ring_can_be_much_higher_than_its_diameter(
    spec: str, height: int
) -> None:
    found = search("edge-disjoint-trees", spec, LIMITS)
    assert (found.value, found.bound) == (height, height)


def test_an_improved_record_is_saved_before_the_search_ends() -> None:
    kept: list[Record] = []

    def keep(record: Record) -> None:
        kept.append(record)
        if len(kept) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search("fault-diameter", "S4", LIMITS, keep=keep)
    assert kept[1].bound == 6
    verify(kept[1])


def test_a_search_beyond_its_limits_is_refused_before_it_begins() -> None:
    """The topology has too many nodes, or the arrays or the formula exceed the memory limit."""
    for problem, spec, most in (
        ("one-port-broadcast", "S12", "40,000,000"),
        ("hamiltonian-decomposition", "S10", "500,000"),
    ):
        with pytest.raises(LimitError, match=f"only on topologies of at most {most} nodes"):
            search(problem, spec)
    for spec, needed in (("S10", 330), ("Q16", 7)):
        message = f"needs about {needed} MB of memory, but the limit is {needed - 1} MB"
        with pytest.raises(LimitError, match=message):
            search("one-port-broadcast", spec, Budget(memory=needed - 1))
    method = find_problem("edge-disjoint-trees")(topology("S7"), {}).methods()[-1]
    with pytest.raises(LimitError, match=r"needs about 359 MB of memory, but the limit is 200 MB"):
        method.run(9, Budget(seconds=60, memory=200))


@pytest.mark.slow
def test_a_search_continues_without_a_formula_that_exceeds_the_memory_limit() -> None:
    """On S6,4 the arrays of the search take less than 1 MB, and the formula takes more."""
    messages = Recorder()
    record = search("one-port-broadcast", "S6,4", Budget(memory=1, reporter=messages))
    assert (record.value, record.bound) == (9, 9)
    assert [attempt.method for attempt in record.tried] == [
        "rounds of maximum matchings, the last by exchanges"
    ]
    assert any(line.startswith("searching without a formula") for line in messages.lines)


@pytest.mark.slow
def test_a_broadcast_on_s10_takes_23_rounds_two_fewer_than_published() -> None:
    record = search("one-port-broadcast", "S10", Budget(seconds=30))
    assert (record.value, record.bound) == (23, 22)


@pytest.mark.parametrize(("spec", "rounds"), [("S4", 5), ("S5", 8), ("S5,3", 7), ("Q4", 4)])
def test_the_local_search_by_exchanges_finds_the_same_broadcast_for_the_same_seed(
    spec: str, rounds: int
) -> None:
    method = OnePortBroadcast(topology(spec), {}).methods()[0]
    found, again = (method.run(rounds, Budget(seconds=60, seed=3)) for _ in range(2))
    assert found.witness is not None
    assert again.witness is not None
    assert witness_value("one-port-broadcast", spec, {}, found.witness) == rounds
    for name, array in found.witness.items():
        np.testing.assert_array_equal(again.witness[name], array)


def test_the_local_search_by_exchanges_keeps_its_tree_consistent_and_obeys_the_time_limit() -> None:
    """The arrays of a tree agree after every step.

    The time limit is tested with a broadcast on S3 in two rounds, which does not exist.
    """
    table = np.ascontiguousarray(topology("S5").table().T.astype(np.int32))
    chance = np.random.default_rng(1)
    tree = local_search.matched_tree(table, 7, 4, chance)
    for _ in range(20):
        left = local_search.exchange(tree, 25, chance)
        missing = np.flatnonzero((tree.rounds == 0) & (np.arange(120) > 0))
        assert sorted(tree.missing[:left]) == missing.tolist()
        placed = np.flatnonzero(tree.rounds > tree.first)
        informers, slots = tree.informer[placed], tree.rounds[placed] - tree.first - 1
        np.testing.assert_array_equal(tree.child[informers, slots], placed)
        assert (tree.child >= 0).sum() == len(placed)
        is_informed = (informers == 0) | (tree.rounds[informers] > 0)
        assert (tree.rounds[informers] < tree.rounds[placed])[is_informed].all()
    assert OnePortBroadcast(topology("S3"), {}).methods()[0].run(2, Budget(0.1)).result == "open"


@pytest.mark.parametrize("spec", ["S4", "Q4", "S5,2"])
def test_each_round_of_a_broadcast_built_from_matchings_is_a_maximum_matching(spec: str) -> None:
    graph = topology(spec)
    table = np.ascontiguousarray(graph.table().T.astype(np.int32))
    tree = local_search.matched_tree(table, graph.nodes, 0, np.random.default_rng(2))
    for now in range(1, tree.rounds.max() + 1):
        pairs: nx.Graph[Any] = nx.Graph()
        informed = np.flatnonzero((tree.rounds < now) & (tree.informer >= 0)).tolist()
        pairs.add_edges_from(
            ((0, sender), (1, receiver))
            for sender in informed
            for receiver in table[sender].tolist()
            if receiver not in informed
        )
        most = len(nx.max_weight_matching(pairs, maxcardinality=True))
        assert (tree.rounds == now).sum() == most


@pytest.mark.parametrize("spec", ["S5", "S6"])
def test_hamiltonian_cycles_are_found_through_cycles_of_a_quotient_graph(spec: str) -> None:
    graph = topology(spec)
    method = HamiltonianDecomposition(graph, {}).methods()[0]
    found = method.run(graph.degree // 2, Budget(seconds=60))
    assert found.witness is not None
    value = witness_value("hamiltonian-decomposition", spec, {}, found.witness)
    assert value == graph.degree // 2


def test_a_quotient_graph_has_classes_of_equal_size_and_no_loops() -> None:
    graph = topology("S5")
    classes = hamiltonian.quotient(graph, random.Random(1))  # noqa: S311
    assert classes is not None
    assert np.bincount(classes).tolist() == [5] * 24
    for port in graph.ports:
        assert (classes[graph.neighbours(port)] != classes).all()
    assert hamiltonian.quotient(topology("S4,2"), random.Random(1)) is None  # noqa: S311


@pytest.mark.parametrize(("spec", "classes"), [("S5", 2), ("S4", 3), ("Q4", 2), ("S5,3", 3)])
def test_the_classes_of_a_quotient_have_equal_size_and_every_link_maps_to_the_quotient(
    spec: str, classes: int
) -> None:
    graph, chance = topology(spec), np.random.default_rng(1)
    *combined, undivided = forests.quotients(graph, classes, chance)
    assert combined
    assert np.array_equal(undivided.number, np.arange(graph.nodes))
    for each in combined:
        assert len(each.table) * (graph.nodes // len(each.table)) == graph.nodes
        for port in graph.ports:
            near = each.number[graph.neighbours(port)]
            assert (each.table[each.number] == near[:, None]).any(axis=1).all()
        labels = forests.random_labels(each, classes, chance)
        sizes = np.bincount(labels[each.number], minlength=classes)
        assert sizes.tolist() == [graph.nodes // classes] * classes


@pytest.mark.parametrize(("spec", "classes"), [("S4", 2), ("S4,2", 3), ("Q4", 2)])
def test_defects_are_extra_components_of_classes_and_acyclic_components_between_classes(
    spec: str, classes: int
) -> None:
    """Nodes are divided into classes, and links between two classes form a subgraph.

    Without defects, Araki's conditions for independent spanning trees are satisfied.
    """
    graph, chance = topology(spec), np.random.default_rng(3)
    everything = as_graph(spec)
    for _ in range(20):
        labels = chance.integers(0, classes, graph.nodes)
        labels[:classes] = np.arange(classes)
        expected = 0
        for number in range(classes):
            own = everything.subgraph(np.flatnonzero(labels == number).tolist())
            expected += nx.number_connected_components(own) - 1
        for pair in combinations(range(classes), 2):
            between = nx.Graph(everything.subgraph(np.flatnonzero(np.isin(labels, pair)).tolist()))
            same = [(u, v) for u, v in between.edges if labels[u] == labels[v]]
            between.remove_edges_from(same)
            parts = (between.subgraph(part) for part in nx.connected_components(between))
            expected += sum(map(nx.is_tree, parts))
        work = np.empty(graph.nodes * classes, np.int64), np.empty(graph.nodes * classes, bool)
        table = graph.table().T.astype(np.int64)
        assert local_search.count_defects(table, labels, classes, *work) == expected


@pytest.mark.slow
def test_a_solver_process_that_exceeds_its_memory_limit_ends_with_an_error() -> None:
    with pytest.raises(LimitError, match="needs more than 150 MB"):
        solve(pigeons(14), Budget(seconds=60, memory=150), "pigeons")


def fail(work: object, seed: int) -> None:
    raise ArithmeticError(f"{work} {seed}")


def test_an_error_in_a_solver_process_is_raised_in_the_main_process() -> None:
    with pytest.raises(ArithmeticError, match="this 3"):
        engines.race(fail, "this", Budget(seconds=60, seed=3), "nothing")


@pytest.mark.slow
def test_a_solver_process_ends_silently_if_the_pipe_for_its_result_is_closed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """An interrupted search closes the pipe."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    arguments = (sending, fail, "this", 3, LIMITS.memory)
    process = context.Process(target=engines._serve, args=arguments)
    receiving.close()
    process.start()
    process.join()
    assert process.exitcode == 0
    assert capfd.readouterr().err == ""


def test_the_error_for_a_missing_solver_library_names_it_and_the_packages_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_name: str) -> None:
        raise ImportError

    monkeypatch.setattr(engines, "import_module", missing)
    with pytest.raises(UnavailableError, match="needs the library 'pysat'") as caught:
        search("edge-disjoint-trees", "S4")
    assert "'ortools>=" in caught.value.hint


def test_search_problems_describe_their_question_formula_bound_and_proofs() -> None:
    for problem in PROBLEMS.values():
        texts = (problem.question, problem.variables, problem.constraints, problem.symmetry)
        assert all(texts)
        assert problem(topology("S4"), problem.arguments).bound().reason
    for name, parameters, statement in (
        ("one-port-broadcast", {}, "no one-port broadcast in 5 rounds"),
        ("edge-disjoint-trees", {}, "no arc-disjoint spanning trees of height 5"),
        ("congestion-trees", {"congestion": 2}, "no spanning trees of height 5 with congestion 2"),
        ("bisection-width", {}, "no halves with at most 5 links between them"),
    ):
        assert find_problem(name)(topology("S4"), parameters).statement(5) == statement


def certificate(spec: str) -> tuple[Any, Any, Any, int]:
    """Return automorphisms, vectors, multipliers and denominator of a bisection certificate."""
    evidence = BisectionWidth(topology(spec), {}).bound_cuts(0, Budget(seconds=60)).evidence
    maps, vectors, multipliers, denominator = (evidence[name] for name in CERTIFICATE)
    return maps, vectors.astype(np.int64), multipliers, int(denominator[0])


@pytest.mark.parametrize(("spec", "least"), [("S3", 2), ("S4", 8), ("Q3", 4), ("S4,2", 4)])
def test_cutting_planes_certify_a_bound_that_is_at_most_the_bisection_width(
    spec: str, least: int
) -> None:
    problem = BisectionWidth(topology(spec), {})
    value = certified_cut(problem.topology, *certificate(spec))
    assert problem.bound_cuts(0, Budget(seconds=60)).target == value - 1
    assert problem.bound().value <= value <= least


def test_a_wrong_bisection_certificate_does_not_prove_its_bound() -> None:
    """Multipliers that are too large prove a smaller bound.

    Negative multipliers and maps that are not automorphisms are rejected.
    """
    graph = topology("S4")
    maps, vectors, multipliers, scale = certificate("S4")
    assert certified_cut(graph, maps, vectors, 2 * multipliers, scale) < 8
    with pytest.raises(RejectedError, match="negative"):
        certified_cut(graph, maps, vectors, -np.abs(multipliers), scale)
    swapped = maps.copy()
    swapped[0, [0, 1]] = swapped[0, [1, 0]]
    with pytest.raises(RejectedError, match="not an automorphism"):
        certified_cut(graph, swapped, vectors, multipliers, scale)
    with pytest.raises(RejectedError, match="every node"):
        certified_cut(graph, maps[-1:], vectors, multipliers, scale)


def test_bisection_bounds_are_rounded_up_to_the_common_parity_of_all_bisection_cuts() -> None:
    graph = topology("S4,2")
    a, b = link_list(graph).T
    generator = np.random.default_rng(1)
    for _ in range(50):
        side = generator.permutation(np.arange(graph.nodes) % 2)
        cut = int((side[a] != side[b]).sum())
        assert round_cut(graph, cut) == cut
        assert round_cut(graph, cut - 1) == cut


def test_two_limits_that_lead_to_the_same_bound_have_the_same_formula() -> None:
    """On S5,2 every bisection cuts an even number of links, so the limits 6 and 7 give bound 8."""
    problem = BisectionWidth(topology("S5,2"), {})
    assert problem.rebuild(7, {}).sha256() == problem.rebuild(6, {}).sha256()
    assert problem.rebuild(8, {}).sha256() != problem.rebuild(6, {}).sha256()
