"""Records: the witness of every record is checked, and damaged or worse records are rejected."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations
from math import ceil, gcd, log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from starcast import forest, schedule, simulate
from starcast.collectives.algorithm import algorithms_on
from starcast.records import (
    PROBLEM_NAMES,
    Proof,
    Record,
    find_record,
    is_better,
    load_all,
    load_record,
    path_of,
    published_values,
    shipped_folder,
    shipped_record,
    verify,
)
from starcast.records.files import load_files
from starcast.records.lrat import CHECKER
from starcast.records.model import PROBLEMS, combine_records
from starcast.search import Budget, check_record, find_problem, save_record, verify_bound
from starcast.support.errors import InputError, NotFoundError, RejectedError
from starcast.topologies import topology
from support.record_files import put_record

SHIPPED = list(load_all(shipped_folder()))
by_id = pytest.mark.parametrize("record", SHIPPED, ids=[record.id for record in SHIPPED])
#: Known optimal values, found independently of this code.
SETTLED = {
    "one-port-broadcast": {"S3": 3, "S4": 5, "S5": 8, "S6": 10, "S7": 13, "S8": 16, "S9": 19},
    "hamiltonian-decomposition": {"S5": 2, "S6": 2, "S7": 3, "S8": 3},
    "edge-disjoint-trees": {"S4": 6, "S5": 8},
    "independent-trees": {"S4": 1, "S5": 2, "S6": 2, "S7": 3},
    "fault-diameter": {"S4": 6, "S5": 7},
    "bisection-width": {"S4": 8, "S5": 40, "S5,2": 8, "S6": 216},
}


PUBLISHED = published_values()


@by_id
def test_a_record_is_at_least_as_good_as_the_published_value(record: Record) -> None:
    if record.id in PUBLISHED:
        sign = 1 if PROBLEMS[record.problem] == "least" else -1
        assert sign * record.value <= sign * PUBLISHED[record.id].value


def test_published_values_cite_the_bibliography_and_name_each_record_once() -> None:
    root = Path(__file__).parents[2]
    keys = set(re.findall(r"^@\w+\{(\w+),$", (root / "references.bib").read_text(), re.MULTILINE))
    for each in PUBLISHED.values():
        assert {each.source, *each.also, *re.findall(r"[a-z]+\d{4}", each.read)} <= keys
    lines = re.findall(
        r'^"(.*)" = \d+$', (root / "records/published.toml").read_text(), re.MULTILINE
    )
    assert sorted(lines) == sorted(PUBLISHED)


@pytest.mark.parametrize("record_id", [name for name in PUBLISHED if "S1" not in name])
def test_a_published_value_equals_its_formula_or_an_executed_schedule(record_id: str) -> None:
    """Values that were read in citations or abstracts follow the formulas of the papers, too."""
    problem, spec, *_ = record_id.split(":")
    graph, each = topology(spec), PUBLISHED[record_id]
    names = [algorithm.name for algorithm in algorithms_on(graph, "broadcast")]
    totient = sum(gcd(i, graph.n) == 1 for i in range(graph.n))
    expected: dict[str, Callable[[], int]] = {
        "sheu1995": lambda: sum(ceil(log2(i)) for i in range(2, graph.n + 1)),
        "farley1979": lambda: ceil(log2(graph.n)),
        "li2007": lambda: min(
            schedule(graph, "broadcast", name, "one").steps
            for name in names
            if name.startswith("nk-")
        ),
        "derakhshan2014": lambda: max(2 * totient // 9, graph.n // 5),
        "derakhshan2015": lambda: totient // 2,
        "aubert1982": lambda: graph.n // 2,
        "fragopoulou1996": lambda: forest(graph, "edge-disjoint").height,
        "johnsson1989": lambda: forest(graph, "edge-disjoint-binomial").height,
        "tseng1997": lambda: forest(graph, "multiple").height,
        "pai2019": lambda: 2,
        "fragopoulou1993": lambda: 1,
        "hussak2010": lambda: graph.degree // 2,
        "hsu2003": lambda: 1,
    }
    assert each.value == expected[each.source]()
    assert problem in PROBLEM_NAMES


#: Maximum length, in bytes, of an LRAT proof that the tests regenerate. Longer proofs, for S6, take
#: up to half a minute each; ``starcast records verify`` regenerates them (docs/records.md).
MAX_BYTES = 500_000
PROVEN = [record for record in SHIPPED if record.proof and record.proof.proof_bytes < MAX_BYTES]


@pytest.mark.parametrize("record", PROVEN, ids=[record.id for record in PROVEN])
def test_a_short_proof_of_a_record_is_regenerated_and_accepted(record: Record) -> None:
    checked = check_record(record, Budget(seconds=60))
    assert (checked.verification, checked.reason) == ("verified", "")
    assert record.proof is not None
    assert checked.proof is not None
    assert record.proof.format == "LRAT"
    assert checked.proof.sha256 == record.proof.proof_sha256
    assert checked.proof.size == record.proof.proof_bytes
    assert CHECKER in checked.proof.checker


@by_id
def test_a_record_that_comes_with_starcast_passes_every_check_except_that_of_its_proof(
    record: Record,
) -> None:
    """If the bound has a proof, the record is not called verified: the proof is not regenerated."""
    expected = "verified" if record.proof is None else "not made again"
    assert check_record(record).verification == expected


def test_problems_with_a_known_optimum_have_an_optimal_record() -> None:
    for problem, values in SETTLED.items():
        for spec, value in values.items():
            record = shipped_record(problem, spec)
            assert (record.value, record.optimal) == (value, True)


def test_an_automorphism_of_s7_maps_the_hamiltonian_cycles_of_its_record_to_each_other() -> None:
    nodes = list(permutations(range(7)))
    rank = {node: number for number, node in enumerate(nodes)}
    # The map moves position x to position 2x modulo 7, and the inverse of 2 is 4.
    image = [rank[tuple(node[4 * x % 7] for x in range(7))] for node in nodes]
    graph = topology("S7")
    table = {port: graph.neighbours(port).tolist() for port in graph.ports}
    cycles = []
    for ports in shipped_record("hamiltonian-decomposition", "S7").witness["ports"].tolist():
        path = [0]
        for port in ports:
            path.append(table[port][path[-1]])
        cycles.append({frozenset(link) for link in pairwise(path)})
    first, second, third = cycles
    assert {frozenset(image[node] for node in link) for link in first} == second
    assert {frozenset(image[node] for node in link) for link in second} == third


def test_numbers_on_the_record_pages_follow_from_records_and_topologies() -> None:
    pages = Path(__file__).parents[2] / "docs" / "records"
    text = {name: " ".join((pages / f"{name}.md").read_text().split()) for name in PROBLEM_NAMES}
    broadcast = [shipped_record("one-port-broadcast", f"S{n}").value for n in range(3, 10)]
    cited = [PUBLISHED[f"one-port-broadcast:S{n}"].value for n in range(3, 10)]
    assert f"i = 2..n: {', '.join(map(str, cited))} on S_3 to S_9" in text["one-port-broadcast"]
    found = f"S_3 to S_9 are {', '.join(map(str, broadcast[:-1]))} and {broadcast[-1]},"
    assert found in text["one-port-broadcast"]
    gains = [most - least for most, least in zip(cited, broadcast, strict=True)]
    assert gains == [0, 0, 0, 1, 1, 1, 2]
    s7, s8 = topology("S7"), topology("S8")
    needed = shipped_record("independent-trees", "S7").value * (s7.nodes - 1)
    assert f"{needed:,} of its {s7.links:,} links" in text["independent-trees"]
    assert f"each class has {s7.nodes // 3:,} nodes" in text["independent-trees"]
    assert f"{s8.nodes // 7:,} nodes and no loops" in text["hamiltonian-decomposition"]
    assert f"the {3 * s8.nodes // 6:,} cycles" in text["hamiltonian-decomposition"]
    halves = [shipped_record("bisection-width", f"S{n}").value for n in (4, 6, 5)]
    assert "{} on S_4 and {} on S_6. On S_5".format(*halves) in text["bisection-width"]
    assert f"found halves with {halves[2]} links between them." in text["bisection-width"]
    second = find_problem("bisection-width")(topology("S6"), {}).bound().value
    assert f"the bound by the second eigenvalue is only {second}." in text["bisection-width"]


def test_every_problem_has_a_record_that_comes_with_starcast() -> None:
    assert {record.problem for record in SHIPPED} == set(PROBLEM_NAMES)


def test_record_files_are_smaller_than_300_kb() -> None:
    sizes = {path.name: path.stat().st_size for path in shipped_folder().rglob("*.*")}
    assert max(sizes.values()) < 300_000


#: Parts of wrong witnesses: a walk around six nodes, trees that share links, and a cycle and a tree
#: of correct records, which the test uses twice.
HEXAGON = np.array([[2, 3] * 12], dtype=np.uint8)
GREEDY = np.stack([forest("S4", "greedy").parent_port[0]] * 3)
SHARING = forest("S5", "edge-disjoint").parent_port[:2]
CYCLE = shipped_record("hamiltonian-decomposition", "S5").witness["ports"][0]
TREE = shipped_record("independent-trees", "S5").witness["parent_port"][0]
NO_INTEGERS = "does not contain integers"


def test_a_record_with_a_changed_witness_is_rejected() -> None:
    """One entry of an array of the witness is changed, or the whole array is replaced."""
    every = None
    cases: list[tuple[str, str, str, Any, Any, str]] = [
        ("one-port-broadcast", "S4", "round", 5, 1, "sends"),
        ("one-port-broadcast", "S4", "parent_port", 5, 9, "not a port"),
        ("one-port-broadcast", "S4", "round", 0, 1, "root is informed"),
        ("hamiltonian-decomposition", "S4", "ports", (0, 3), 9, "not a port"),
        ("hamiltonian-decomposition", "S4", "ports", every, HEXAGON, "not a Hamiltonian cycle"),
        ("hamiltonian-decomposition", "S5", "ports", every, np.stack([CYCLE] * 2), "share a link"),
        ("edge-disjoint-trees", "S4", "parent_port", (0, 0), 2, "root has a parent"),
        ("edge-disjoint-trees", "S4", "parent_port", (0, 5), 0, "spanning"),
        ("edge-disjoint-trees", "S4", "parent_port", every, GREEDY, "congestion"),
        ("independent-trees", "S4", "parent_port", (0, 5), 0, "spanning"),
        ("independent-trees", "S5", "parent_port", every, np.stack([TREE] * 2), "share a link"),
        ("independent-trees", "S5", "parent_port", every, SHARING, "share a link"),
        ("fault-diameter", "S4", "pair", 1, 0, "listed twice"),
        ("fault-diameter", "S4", "faults", 0, 99, "does not exist"),
        ("fault-diameter", "S4", "paths", (0, 1), 0, "not adjacent"),
        ("bisection-width", "S4", "side", 3, 2, "neither"),
        ("bisection-width", "S4", "side", slice(0, 9), 1, "size"),
        ("one-port-broadcast", "S4", "round", every, np.full(24, 2**63, np.uint64), "too large"),
        ("one-port-broadcast", "S4", "round", every, np.arange(24) * (2**63 // 24), "sends|value"),
        ("one-port-broadcast", "S4", "round", every, np.arange(24.0), NO_INTEGERS),
        ("fault-diameter", "S4", "pair", every, np.array([0, 2**64 - 1], np.uint64), "too large"),
        ("fault-diameter", "S4", "paths", every, np.zeros((3, 0), np.int64), "no nodes"),
        ("fault-diameter", "S4", "more", every, np.zeros(3), "cannot have an array 'more'"),
        ("bisection-width", "S4", "vectors", every, np.zeros((3, 24)), NO_INTEGERS),
        ("bisection-width", "S4", "vectors", every, np.zeros((3, 23), np.int64), "wrong shape"),
        ("bisection-width", "S4", "denominator", every, np.zeros(0, np.int64), "wrong shape"),
    ]
    for problem, spec, name, place, value, reason in cases:
        record = shipped_record(problem, spec)
        array = value
        if place is not every:
            array = record.witness[name].copy()
            array[place] = value
        with pytest.raises(RejectedError, match=reason):
            verify(replace(record, witness={**record.witness, name: array}))


def test_a_record_whose_value_contradicts_its_witness_or_bound_is_rejected() -> None:
    record = shipped_record("one-port-broadcast", "S4")
    with pytest.raises(RejectedError, match="has the value 5, not 4"):
        verify(replace(record, value=4, bound=4))
    with pytest.raises(RejectedError, match="contradicts the bound"):
        verify(replace(record, bound=6))


def test_a_record_with_a_bound_that_neither_theory_nor_evidence_supports_is_rejected() -> None:
    record = shipped_record("one-port-broadcast", "S7,3")
    with pytest.raises(RejectedError, match="without a proof"):
        verify_bound(replace(record, bound=9))
    faults = shipped_record("fault-diameter", "S4")
    fewer = {**faults.witness, "paths": faults.witness["paths"][1:]}
    with pytest.raises(RejectedError, match="another formula"):
        verify_bound(replace(faults, witness=fewer))
    cuts = shipped_record("bisection-width", "S4")
    smaller = {**cuts.witness, "multipliers": cuts.witness["multipliers"] // 2}
    with pytest.raises(RejectedError, match="its inequalities prove"):
        verify(replace(cuts, witness=smaller))


def test_a_bound_whose_formula_allows_a_negative_number_of_links_is_verified() -> None:
    """Every bisection of K6 cuts an odd number of links, so a limit of 0 is rounded down to -1."""
    problem = find_problem("bisection-width")(topology("K6"), {})
    formula = problem.rebuild(0, {})
    statement = problem.statement(0)
    proof = Proof(statement, "LRAT", formula.sha256(), "1" * 64, 10, CHECKER, "")
    side = np.array([0, 0, 0, 1, 1, 1])
    record = Record("bisection-width", "K6", 9, 1, statement, {"side": side}, proof=proof)
    assert check_record(record, Budget(60)).verification == "verified"
    other = replace(proof, formula_sha256="0" * 64)
    with pytest.raises(RejectedError, match="belongs to another formula"):
        check_record(replace(record, proof=other))


def test_a_saved_record_is_loaded_unchanged(tmp_path: Path) -> None:
    for record in SHIPPED:
        path = put_record(tmp_path, record)
        read = load_record(path)
        assert read.fields() == record.fields()
        assert read.witness.keys() == record.witness.keys()
        for name, array in record.witness.items():
            assert np.array_equal(array, read.witness[name])


def test_a_record_is_not_replaced_by_a_worse_record(tmp_path: Path) -> None:
    record = shipped_record("one-port-broadcast", "S4")
    rounds = record.witness["round"]
    late = {**record.witness, "round": rounds + (rounds == rounds.max())}
    path = save_record(tmp_path, replace(record, value=6, witness=late))
    assert load_record(path).value == 6
    assert load_record(save_record(tmp_path, record)).value == 5
    for each in (replace(record, value=6, witness=late), replace(record, tried=())):
        assert not is_better(each, record)
        save_record(tmp_path, each)
        assert load_record(path).fields() == record.fields()
    assert not is_better(replace(record, bound=4), record)
    assert len(list(path.parent.glob("*.npz"))) == 1


def test_in_maximization_problems_records_with_larger_values_or_smaller_bounds_are_better() -> None:
    record = shipped_record("fault-diameter", "S4")
    assert is_better(record, replace(record, value=5))
    assert is_better(record, replace(record, bound=7))
    assert not is_better(replace(record, bound=7), record)
    worse = replace(record, value=5, bound=7)
    for records in ([worse, record], [record, worse]):
        combined = combine_records(records)
        assert (combined.value, combined.bound) == (record.value, record.bound)


def test_the_better_of_two_records_with_the_same_id_is_listed(tmp_path: Path) -> None:
    record = shipped_record("one-port-broadcast", "S4")
    put_record(tmp_path / "a", replace(record, value=6))
    put_record(tmp_path / "b", record)
    folders = [tmp_path / "a", tmp_path / "b"]
    assert [each.value for each in load_files(folders)] == [5]
    assert [each.value for each in load_files(folders[::-1])] == [5]
    found = find_record(folders, "one-port-broadcast", "S4")
    assert found is not None
    assert found.value == 5


def test_a_broadcast_record_that_informs_a_leaf_in_a_wrong_round_is_rejected() -> None:
    """Either a node sends twice in a round, or the round is too large for 64-bit arithmetic."""
    record = shipped_record("one-port-broadcast", "S4")
    rounds = record.witness["round"].astype(np.int64)
    ports = record.witness["parent_port"]
    nodes = np.arange(1, 24)
    senders = topology("S4").step(ports[1:], nodes).tolist()
    leaf, other = next(
        (a, b)
        for a, b in permutations(nodes.tolist(), 2)
        if senders[a - 1] == senders[b - 1] and a not in senders
    )
    for wrong, reason in (
        (rounds[other], "a node sends twice in a round"),
        (2**63 - 1, "a round is too large"),
    ):
        rounds[leaf] = wrong
        with pytest.raises(RejectedError, match=reason):
            verify(replace(record, witness={**record.witness, "round": rounds}))


def test_a_fault_diameter_bound_without_complete_paths_is_rejected() -> None:
    record = shipped_record("fault-diameter", "S4")
    for paths, reason in (
        (np.array([[0]]), "does not end"),
        (np.empty((0, 3), np.int64), "the record has no paths"),
    ):
        changed = replace(record, witness={**record.witness, "paths": paths})
        verify(changed)
        with pytest.raises(RejectedError, match=reason):
            verify_bound(changed)
    without = {name: each for name, each in record.witness.items() if name != "paths"}
    with pytest.raises(RejectedError, match="the record has no paths"):
        verify_bound(replace(record, witness=without))


def test_a_record_on_a_topology_that_is_too_large_is_rejected() -> None:
    record = shipped_record("one-port-broadcast", "S4")
    with pytest.raises(RejectedError, match="more than 40,000,000 nodes"):
        verify(replace(record, topology="S12"))


def _shipped_for(problem: str) -> list[str]:
    return [record.topology for record in SHIPPED if record.problem == problem and record.optimal]


@pytest.mark.parametrize("spec", _shipped_for("one-port-broadcast"))
def test_the_broadcast_algorithm_optimal_takes_the_number_of_rounds_in_its_record(
    spec: str,
) -> None:
    plan = schedule(spec, "broadcast", "optimal")
    result = simulate(plan)
    assert (result.violation, result.complete) == (None, True)
    assert result.steps == shipped_record("one-port-broadcast", spec).value


@pytest.mark.parametrize("messages", [1, 2, 3, 4])
@pytest.mark.parametrize("spec", ["S4", "S5"])
def test_an_allgather_on_hamiltonian_cycles_reaches_the_bound_for_odd_n(
    spec: str, messages: int
) -> None:
    """The number of messages must be a multiple of the number of cycles."""
    network = topology(spec)
    plan = schedule(spec, "allgather", "hamiltonian-decomposition", messages=messages)
    result = simulate(plan)
    assert (result.violation, result.complete) == (None, True)
    cycles = network.degree // 2
    most = -(-messages // cycles)
    assert result.steps == -(-most * (network.nodes - 1) // 2)
    if network.degree == 2 * cycles and messages % cycles == 0:
        assert result.steps == -(-messages * (network.nodes - 1) // network.degree)


def test_the_construction_optimal_edge_disjoint_has_the_height_stated_in_its_record() -> None:
    for spec in _shipped_for("edge-disjoint-trees"):
        trees = forest(spec, "optimal-edge-disjoint", root=1)
        trees.verify()
        assert trees.height == shipped_record("edge-disjoint-trees", spec).value
        assert trees.congestion == 1


def test_algorithms_that_use_records_are_defined_only_if_a_record_exists() -> None:
    names = {algorithm.name for algorithm in algorithms_on(topology("S7,6"))}
    assert "optimal" not in names
    with pytest.raises(InputError, match="starcast has no record of one-port-broadcast on S7,6"):
        schedule("S7,6", "broadcast", "optimal")
    with pytest.raises(InputError, match="no record of edge-disjoint-trees"):
        forest("S8", "optimal-edge-disjoint")
    with pytest.raises(NotFoundError, match="starcast has no record of one-port-broadcast on S10"):
        shipped_record("one-port-broadcast", "S10")


def test_the_file_path_of_a_record_names_problem_topology_and_arguments() -> None:
    path = path_of(Path("records"), "congestion-trees", "S6,3", {"congestion": 3})
    assert path == Path("records/congestion-trees/S6,3-congestion-3.json")
