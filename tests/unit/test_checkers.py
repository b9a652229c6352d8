"""The forest checkers, compared with `Forest` and brute force, and applied to corrupted arrays."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from inspect import isfunction
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from starcast.records import checkers
from starcast.topologies import Topology, ports_towards, topology
from starcast.trees import Forest, constructions, forest, plain_constructions
from support.examples import max_examples
from support.meeting import refused
from unit.test_forest import verify_in_both_ways


class Case(NamedTuple):
    """A construction on a topology, with its arguments."""

    spec: str
    construction: str
    arguments: tuple[tuple[str, str | int], ...] = ()

    def build(self, root: int = 0) -> Forest:
        """Return the forest that the construction builds with the given root."""
        return build_case(self, root)


@cache
def build_case(case: Case, root: int) -> Forest:
    """Return the forest of a case. Every forest is built only once."""
    return forest(case.spec, case.construction, root=root, **dict(case.arguments))


def specs(largest: int) -> list[str]:
    """Return the specs of all S_n, S_{n,k} and Q_n with n up to ``largest``."""
    stars = [f"S{n}" for n in range(2, largest + 1)]
    nk_stars = [f"S{n},{k}" for n in range(2, largest + 1) for k in range(1, n)]
    return [*stars, *nk_stars, *(f"Q{d}" for d in range(1, largest + 1))]


def cases(spec: str, changing: int | None = None) -> Iterator[Case]:
    """Yield every construction on a topology, including label and dimension changes.

    Label and dimension changes are applied to the first ``changing`` constructions without
    arguments (default: to all). Dimension changes shift by 1 and by n-2.
    """
    for construction in constructions(spec):
        if construction in plain_constructions(spec):
            yield Case(spec, construction)
            continue
        for tree in plain_constructions(spec)[:changing]:
            if construction == "label-change":
                yield Case(spec, construction, (("base", tree),))
            elif construction == "dimension-change":
                for i in sorted({min(1, topology(spec).n - 2), topology(spec).n - 2}):
                    yield Case(spec, construction, (("base", tree), ("i", i)))
            else:
                raise AssertionError(f"specify the arguments of '{construction}'")


def few_roots(spec: str) -> list[int]:
    """Return the ranks of the identity, the last node and a node between them."""
    nodes = topology(spec).nodes
    return sorted({0, nodes // 3, nodes - 1})


def parts(trees: Forest) -> tuple[Any, NDArray[np.uint8], int]:
    """Return the arguments of a checker: topology, parent ports and root of a forest."""
    return trees.topology, trees.parent_port, trees.root


SMALL = [
    case for spec in specs(6) for case in cases(spec, changing=None if spec in specs(5) else 3)
]
LARGER = [case for spec in specs(7) if spec not in specs(6) for case in cases(spec, changing=2)]
TINY = [case for spec in ("S3", "S4", "S3,1", "S4,2", "S4,3", "Q2", "Q3") for case in cases(spec)]


def name(case: Case) -> str:
    """Return the pytest id of a case."""
    return ":".join(
        [case.spec, case.construction, *(f"{key}={value}" for key, value in case.arguments)]
    )


#: `make test` runs the first case of a test and one other case. The first topology is S4, because
#: several constructions are equal on smaller stars.
EVERY_SPEC = sorted(dict.fromkeys(case.spec for case in [*SMALL, *LARGER]), key="S4".__ne__)


@pytest.mark.parametrize(
    "spec",
    [pytest.param(spec, marks=pytest.mark.slow if spec == "S5" else ()) for spec in EVERY_SPEC],
)
def test_checkers_accept_every_construction_and_agree_with_the_class_forest(spec: str) -> None:
    """Every forest is accepted as rooted. It is accepted as spanning if no tree is partial."""
    for case in [*SMALL, *LARGER]:
        if case.spec == spec:
            assert_is_a_forest(case)


def assert_is_a_forest(case: Case) -> None:
    """Check the forests of a construction at a few roots."""
    small = case not in LARGER
    for root in few_roots(case.spec) if small else [topology(case.spec).nodes - 1]:
        trees = case.build(root)
        result = checkers.rooted(*parts(trees))
        assert result.holds
        assert result.measured == tuple(trees.sizes.tolist())
        assert checkers.spanning(*parts(trees)).holds == (min(trees.sizes) == trees.topology.nodes)
        assert checkers.spanning(*parts(trees)).holds >= trees.spanning
        assert checkers.height(*parts(trees), trees.height).measured == tuple(
            trees.heights.tolist()
        )
        assert np.array_equal(checkers.loads(*parts(trees)), trees.load())
        trees.verify()
    if small:
        measurements_agree(trees)


def measurements_agree(trees: Forest) -> None:
    """Check that the checkers measure the same values as `Forest`.

    The height and the congestion are accepted as limits, but smaller limits are not.
    """
    t, ports, root = parts(trees)
    assert checkers.height(t, ports, root, trees.height).holds
    assert not checkers.height(t, ports, root, trees.height - 1).holds
    assert checkers.shortest_paths(t, ports, root).holds == trees.is_shortest_path
    assert checkers.edge_disjoint(t, ports, root).holds == trees.is_edge_disjoint
    assert checkers.congestion(t, ports, root, trees.congestion).measured == trees.congestion
    assert not checkers.congestion(t, ports, root, trees.congestion - 1).holds
    children = [int(t.neighbours(port, [root])[0]) for port in t.ports]
    hung = np.where(trees.parents()[:, children] == root, trees.subtree_sizes()[:, children], 0)
    assert np.array_equal(checkers.branch_sizes(t, ports, root), hung)
    assert (
        checkers.level_dimensions(t, ports, root).sum(axis=1)[1:].tolist()
        == trees.level_profile().sum(axis=0)[1:].tolist()
    )


@cache
def around(spec: str) -> dict[int, list[int]]:
    """Return, for each port, a list with every node's neighbour across this port."""
    return {port: topology(spec).neighbours(port).tolist() for port in topology(spec).ports}


def climbs(trees: Forest, tree: int) -> dict[int, list[int]]:
    """Return the path from the root to every node of a tree, found by following parents."""
    row, across, result = trees.parent_port[tree].tolist(), around(trees.topology.spec), {}
    for node in range(trees.topology.nodes):
        path = [node]
        while row[path[-1]]:
            path.append(across[row[path[-1]]][path[-1]])
            assert len(path) <= trees.topology.nodes
        if path[-1] == trees.root:
            result[node] = path[::-1]
    return result


@pytest.mark.parametrize("spec", list(dict.fromkeys(case.spec for case in TINY)))
def test_checkers_measure_the_same_levels_dimensions_and_disjoint_paths_as_brute_force(
    spec: str,
) -> None:
    """Brute force follows the path to each node separately."""
    for case in TINY:
        if case.spec == spec:
            levels_and_dimensions_agree(case.build(few_roots(case.spec)[-1]))
            for root in few_roots(case.spec):
                disjoint_paths_agree(case.build(root))


def levels_and_dimensions_agree(trees: Forest) -> None:
    """Compare heights, detours and dimensions with counts along the path to every node."""
    t, walked = trees.topology, [climbs(trees, tree) for tree in range(trees.trees)]
    heights = tuple(max(len(path) for path in paths.values()) - 1 for paths in walked)
    assert checkers.height(*parts(trees), 0).measured == heights
    over = tuple(
        max(len(path) - 1 - int(t.distances(trees.root)[node]) for node, path in paths.items())
        for paths in walked
    )
    assert checkers.shortest_paths(*parts(trees)).measured == over
    across = {
        (node, int(head)): port for port in t.ports for node, head in enumerate(t.neighbours(port))
    }
    counted = Counter(
        (len(path) - 1, across[path[-2], path[-1]])
        for paths in walked
        for path in paths.values()
        if len(path) > 1
    )
    result = checkers.level_dimensions(*parts(trees))
    assert result.shape == (max(heights) + 1, t.degree)
    assert {
        (level, t.ports[column]): int(result[level, column])
        for level, column in np.argwhere(result)
    } == counted


def shared(paths: list[list[int]], apart: str) -> int:
    """Return the maximum number of paths that share a link.

    If ``apart`` is "nodes", inner nodes are counted instead of links. The link of a path without
    inner nodes is counted in both cases.
    """
    met: Counter[Any] = Counter()
    for path in paths:
        links = {frozenset(link) for link in pairwise(path)}
        met.update(links if apart == "links" or len(path) == 2 else set(path[1:-1]))
    return max(met.values(), default=1)


def disjoint_paths_agree(trees: Forest) -> None:
    """Compare `disjoint_paths` with brute force.

    For each node, brute force counts how many trees reach it over a common link or inner node.
    """
    walked = [climbs(trees, tree) for tree in range(trees.trees)]
    ends = [node for node in range(trees.topology.nodes) if node != trees.root]
    places: tuple[Literal["nodes", "links"], ...] = ("nodes", "links")
    for apart in places:
        meeting = {
            node: shared([paths[node] for paths in walked if node in paths], apart) for node in ends
        }
        result = checkers.disjoint_paths(*parts(trees), apart)
        assert result.measured == max(meeting.values())
        assert result.holds == (max(meeting.values()) == 1)
        if result.counterexample is not None:
            first = min(node for node in ends if meeting[node] > 1)
            assert result.counterexample["node"] == trees.topology.label(first)
            assert str(result.counterexample["why"]).endswith(
                tuple(f"tree {other}" for other in range(trees.trees))
            )


def test_the_checker_of_disjoint_paths_gives_the_same_evidence_in_small_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trees = [forest("S4", "multiple", root=5), forest("S4", "edge-disjoint", root=5)]
    complete = [checkers.disjoint_paths(*parts(item)) for item in trees]
    monkeypatch.setattr(checkers, "_CELLS", 1)
    assert [checkers.disjoint_paths(*parts(item)) for item in trees] == complete


def test_trees_on_s5_have_the_properties_that_the_papers_state() -> None:
    """Claims check the same properties on other stars."""
    trees = parts(forest("S5", "edge-disjoint", root=5))
    assert checkers.shortest_paths(*trees, detour=4).holds
    assert not checkers.shortest_paths(*trees, detour=3).holds
    balanced, equal = (parts(forest("S5", f"{name}balanced")) for name in ("", "perfectly-"))
    assert checkers.balance(*balanced).holds
    assert not checkers.balance(*balanced, slack=0).holds
    assert checkers.balance(*equal, slack=0).holds


CORRUPTED = [
    Case(spec, construction)
    for spec in ("S3", "S4", "S5", "S4,1", "S4,2", "S5,3", "Q1", "Q3", "Q4")
    for construction in plain_constructions(spec)
]


class Corrupted(NamedTuple):
    """A forest, a copy of its array with one changed parent port, and the place of this change."""

    trees: Forest
    tree: int
    node: int
    ports: NDArray[np.uint8]


def corrupt(case: Case, data: st.DataObject) -> Corrupted:
    """Change one parent port of a forest to another port, to 0, or to an unknown port."""
    t = topology(case.spec)
    trees = case.build(data.draw(st.sampled_from(few_roots(case.spec))))
    tree, node = data.draw(st.integers(0, trees.trees - 1)), data.draw(st.integers(0, t.nodes - 1))
    entry = data.draw(st.sampled_from([0, 1, *t.ports, t.ports[-1] + 1, 255]))
    assume(entry != trees.parent_port[tree, node])
    ports = trees.parent_port.copy()
    ports[tree, node] = entry
    return Corrupted(trees, tree, node, ports)


def lost_nodes(trees: Forest, row: list[int]) -> list[str]:
    """Return the labels of the nodes that have a parent port, but no path to the root.

    If the root has a parent port, its label is also returned.
    """
    across = around(trees.topology.spec)
    lost = list[str]()
    for start in range(len(row)):
        node, steps = start, 0
        while row[node] in across and steps <= len(row):
            node, steps = across[row[node]][node], steps + 1
        if row[start] and (row[node] or node != trees.root):
            lost.append(trees.topology.label(start))
    return lost


@pytest.mark.parametrize("case", CORRUPTED, ids=name)
@max_examples(25)
@given(st.data())
def test_the_checkers_detect_a_changed_parent_port(case: Case, data: st.DataObject) -> None:
    """Either the error names the changed tree, or the load of the old or the new link changes."""
    trees, tree, node, ports = corrupt(case, data)
    rooted = checkers.rooted(trees.topology, ports, trees.root)
    spanning = checkers.spanning(trees.topology, ports, trees.root)
    lost = lost_nodes(trees, ports[tree].tolist())
    assert rooted.holds == (not lost)
    missing = ports == 0
    missing[:, trees.root] = False
    assert spanning.holds == (rooted.holds and not missing.any())
    judged = Forest(trees.topology, ports, trees.root, spanning=trees.spanning)
    evidence = spanning if trees.spanning else rooted
    if evidence.holds:
        verify_in_both_ways(judged)
    else:
        with refused(f"tree {tree}", exit_code=6) as refusal:
            verify_in_both_ways(judged)
        outside = topology(case.spec).labels(np.flatnonzero(missing[tree])).tolist()
        assert any(f"node {label} " in refusal.value.message for label in [*lost, *outside])
        with refused(evidence.check, exit_code=6):
            evidence.require()
    if not rooted.holds:
        assert rooted.counterexample is not None
        assert rooted.counterexample["tree"] == tree
        return
    before, after = checkers.loads(*parts(trees)), checkers.loads(trees.topology, ports, trees.root)
    assert set(np.unique(after - before).tolist()) <= {-1, 0, 1}
    assert np.count_nonzero(after - before) == sum(
        int(row[tree, node] != 0) for row in (trees.parent_port, ports)
    )


@pytest.mark.parametrize("spec", ["S3", "S4", "S5", "Q2", "Q4"])
@given(st.data())
def test_edge_disjoint_trees_with_a_changed_parent_port_are_rejected(
    spec: str, data: st.DataObject
) -> None:
    """The trees use every directed link except those into the root.

    A changed parent port therefore uses a link of another tree, or the tree is no longer spanning.
    """
    case = Case(spec, "edge-disjoint" if spec[0] == "S" else "edge-disjoint-binomial")
    trees, _, _, ports = corrupt(case, data)
    topology = (trees.topology, ports, trees.root)
    assert not (checkers.spanning(*topology).holds and checkers.edge_disjoint(*topology).holds)


def test_every_measurement_of_the_checkers_rejects_an_invalid_forest() -> None:
    """The forest is invalid because the root of its last tree has a parent."""
    for case in CORRUPTED:
        trees = case.build(few_roots(case.spec)[-1])
        ports = trees.parent_port.copy()
        ports[-1, trees.root] = trees.topology.ports[0]
        for measure in MEASURES.values():
            with refused(f"tree {trees.trees - 1}", "the root has a parent", exit_code=6):
                measure(trees.topology, ports, trees.root)


#: The measurements of the checkers. The checkers `rooted` and `spanning`, which decide whether an
#: array is a forest, are omitted.
MEASURES: dict[str, Callable[[Any, NDArray[np.uint8], int], Any]] = {
    "height": lambda t, ports, root: checkers.height(t, ports, root, 0).measured,
    "shortest paths": lambda t, ports, root: checkers.shortest_paths(t, ports, root).measured,
    "branch sizes": lambda t, ports, root: checkers.branch_sizes(t, ports, root).tolist(),
    "balance": lambda t, ports, root: checkers.balance(t, ports, root).measured,
    "loads": lambda t, ports, root: Counter(checkers.loads(t, ports, root).ravel().tolist()),
    "congestion": lambda t, ports, root: checkers.congestion(t, ports, root, 0).measured,
    "edge-disjoint": lambda t, ports, root: checkers.edge_disjoint(t, ports, root).measured,
    "node-disjoint paths": lambda t, ports, root: checkers.disjoint_paths(t, ports, root).measured,
    "link-disjoint paths": lambda t, ports, root: (
        checkers.disjoint_paths(t, ports, root, "links").measured
    ),
    "dimensions": lambda t, ports, root: checkers.level_dimensions(t, ports, root).tolist(),
}


def test_the_tests_of_the_forest_checkers_cover_every_checker() -> None:
    functions = {
        name
        for name, member in vars(checkers).items()
        if isfunction(member) and member.__module__ == checkers.__name__ and name[0] != "_"
    }
    named = {item.replace("-", " ") for item in MEASURES} | {"rooted", "spanning"}
    assert {function.replace("_", " ") for function in functions} - named == {
        "disjoint paths",
        "level dimensions",
    }


def changed(
    spec: str, construction: str, tree: int, **entries: int
) -> tuple[Any, NDArray[np.uint8], int]:
    """Return the checker arguments for a forest with some changed parent ports.

    Each keyword is an underscore and the label of a node. The value is the new port of this node.
    """
    trees = forest(spec, construction)
    ports = trees.parent_port.copy()
    for label, entry in entries.items():
        ports[tree, trees.topology.rank(label[1:])] = entry
    return trees.topology, ports, trees.root


@pytest.mark.parametrize(
    ("trees", "node", "why"),
    [
        (changed("S4", "greedy", 0, _1234=2), "1234", "the root has a parent"),
        (changed("S4", "greedy", 0, _2134=5), "1324", "2134 has the entry 5, which is not a port"),
        (changed("S4", "greedy", 0, _2134=0), "1324", "2134 is not in the tree"),
        (changed("S4", "greedy", 0, _3124=2), "1324", "1324 is on a cycle"),
    ],
)
def test_checkers_report_the_node_and_the_reason_for_which_they_reject_a_forest(
    trees: tuple[Any, NDArray[np.uint8], int], node: str, why: str
) -> None:
    result = checkers.rooted(*trees)
    assert result.counterexample is not None
    assert result.counterexample["node"] == node
    assert result.counterexample["why"] == why
    with refused("rooted", node, exit_code=6):
        result.require()
    with refused(node, exit_code=6):
        checkers.loads(*trees)


def test_the_spanning_checker_reports_a_node_that_is_not_reached() -> None:
    ports = forest("S4", "greedy").parent_port.copy()
    leaf = int(
        np.flatnonzero(np.bincount(forest("S4", "greedy").parents()[0, 1:], minlength=24) == 0)[0]
    )
    ports[0, leaf] = 0
    label = topology("S4").label(leaf)
    assert checkers.rooted(topology("S4"), ports, 0).holds
    result = checkers.spanning(topology("S4"), ports, 0)
    assert result.measured == (23,)
    assert result.counterexample == {"tree": 0, "node": label, "why": f"{label} is not in the tree"}


def test_counterexamples_of_checkers_locate_the_violation() -> None:
    trees = parts(forest("S4", "multiple"))
    deep = checkers.height(*trees, 7).counterexample
    assert deep is not None
    assert (deep["tree"], deep["found"], deep["stated"]) == (1, 8, 7)
    assert forest("S4", "multiple").levels()[1, topology("S4").rank(str(deep["node"]))] == 8
    link = checkers.congestion(*trees, 1).counterexample
    assert link is not None
    tail, head = (topology("S4").rank(label) for label in str(link["link"]).split(" -> "))
    users = [
        tree
        for tree, parents in enumerate(forest("S4", "multiple").parents())
        if parents[head] == tail
    ]
    assert (len(users), users[1]) == (link["found"], link["tree"])
    assert checkers.balance(*trees).counterexample == {
        "link": "1234 -> 2134",
        "found": 24,
        "stated": 23,
    }
    longer = checkers.shortest_paths(*trees).counterexample
    assert longer is not None
    node = topology("S4").rank(str(longer["node"]))
    assert forest("S4", "multiple").levels()[int(longer["tree"]), node] == longer["found"]
    assert topology("S4").distances()[node] == longer["stated"]


def test_two_paths_that_consist_of_the_same_single_link_are_not_disjoint() -> None:
    """Paths of a single link have no inner node, so they share only this link."""
    ports = np.repeat(forest("S3", "greedy").parent_port, 2, axis=0)
    result = checkers.disjoint_paths(topology("S3"), ports, 0).counterexample
    assert result == {
        "tree": 1,
        "node": "132",
        "why": "the path passes 312, like the path of tree 0",
    }
    near = np.zeros((2, 6), dtype=np.uint8)
    near[:, topology("S3").rank("213")] = 2
    assert checkers.disjoint_paths(topology("S3"), near, 0).counterexample == {
        "tree": 1,
        "node": "213",
        "why": "the path is the direct link, like the path of tree 0",
    }


def test_two_paths_that_use_links_in_opposite_directions_are_edge_disjoint() -> None:
    """The two paths around S_3 use its links in opposite directions."""
    t = topology("S3")
    around = np.zeros((2, 6), dtype=np.uint8)
    for tree, turn in enumerate(((2, 3, 2, 3, 2), (3, 2, 3, 2, 3))):
        node = 0
        for port in turn:
            node = int(t.neighbours(port, [node])[0])
            around[tree, node] = port
    assert checkers.edge_disjoint(t, around, 0).measured == 1
    assert checkers.disjoint_paths(t, around, 0, "links").holds
    assert checkers.height(t, around, 0, 5).measured == (5, 5)


def _path_tree(graph: Topology, cells: list[tuple[int, int]]) -> NDArray[np.uint8]:
    """Return the parent ports of a path through cells of T250x250; its last cell is the root."""
    nodes = [row * 250 + column for row, column in cells]
    parents = np.full(graph.nodes, -1)
    parents[nodes[:-1]] = nodes[1:]
    return ports_towards(graph, parents)


def test_a_shared_link_is_found_on_a_topology_with_more_than_46340_nodes() -> None:
    """Link numbers can reach the square of the number of nodes, which exceeds the range of int32.

    The paths from (150, 100) cross the link between (150, 102) and (151, 102) in both directions.
    """
    graph = topology("T250x250")
    down = [(row, 102) for row in range(151, 250)] + [(0, column) for column in range(102, -1, -1)]
    up = [(150, column) for column in range(102, 250)] + [(row, 0) for row in range(150, -1, -1)]
    first = [(150, 100), (150, 101), (150, 102), *down]
    second = [(150, 100), (151, 100), (151, 101), (151, 102), *up]
    trees = np.stack([_path_tree(graph, first), _path_tree(graph, second)])
    result = checkers.disjoint_paths(graph, trees, 0, "links")
    assert result.measured == 2
    assert "shares the link 150102 - 151102 with" in str(result.counterexample)


def test_checkers_treat_a_port_without_a_link_as_neither_a_branch_nor_a_parent() -> None:
    """The corners of a mesh have two links each. The other ports of a corner have no link."""
    graph = topology("Mesh3x3")
    row = ports_towards(graph, np.array([-1, 0, 1, 0, 3, 2, 3, 6, 5]))
    assert sorted(checkers.branch_sizes(graph, row[None], 0)[0]) == [0, 0, 4, 4]
    assert checkers.balance(graph, row[None], 0).holds
    lopsided = ports_towards(graph, np.array([-1, 0, 1, 0, 1, 2, 3, 4, 5]))
    assert checkers.balance(graph, lopsided[None], 0).counterexample == {
        "link": "00 -> 01", "found": 6, "stated": 3,
    }  # fmt: skip
    missing = next(port for port in graph.ports if graph.neighbours(port)[8] == 8)
    row[8] = missing
    assert checkers.UncheckedForest(graph, row[None], 0).trees[0].parents[8] == -1
    reason = f"22 has the entry {missing}, which is not a port"
    place = {"tree": 0, "node": "22", "why": reason}
    assert checkers.spanning(graph, row[None], 0).counterexample == place


@pytest.mark.parametrize("shape", [(24,), (0, 24), (1, 23), (1, 1, 24)])
def test_checkers_refuse_an_array_of_a_wrong_shape(shape: tuple[int, ...]) -> None:
    for checker in (checkers.rooted, checkers.spanning, *MEASURES.values()):
        with refused(str(list(shape))):
            checker(topology("S4"), np.zeros(shape, dtype=np.uint8), 0)


@pytest.mark.parametrize("root", [-1, 24])
def test_checkers_refuse_an_unknown_root(root: int) -> None:
    with refused(str(root)):
        checkers.rooted(topology("S4"), forest("S4", "greedy").parent_port, root)
