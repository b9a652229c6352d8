"""What the papers state beside what is measured: the values by hand, and where the two part."""

import re
from math import factorial

import numpy as np
import pytest

from starcast.topologies import topology
from starcast.trees import Forest, constructions, forest, plain_constructions
from starcast.trees.catalogue import CONSTRUCTIONS
from starcast.trees.metrics import measures
from starcast.trees.stated import OURS, derangements, multiple_height, stated

SPECS = (
    "S2",
    "S3",
    "S4",
    "S5",
    "S6",
    "S3,1",
    "S4,1",
    "S4,2",
    "S4,3",
    "S5,2",
    "S5,3",
    "S6,2",
    "S6,4",
    "Q1",
    "Q2",
    "Q3",
    "Q5",
)
CASES = [(spec, name) for spec in SPECS for name in plain_constructions(spec)]

#: Where a statement of a paper is not so, with what is measured; all others hold.
PARTINGS = {
    ("S2", "multiple", "heights"): [1],
    ("S3", "multiple", "heights"): [5, 4],
    ("S5,3", "nk-multiple", "heights"): [8, 9, 9, 7],
    ("Q1", "edge-disjoint-binomial", "heights"): [1],
}


def words(spec: str, construction: str, **arguments: str | int) -> dict[str, str]:
    """The words of all statements, by measure."""
    return {one.measure: one.words for one in stated(forest(spec, construction, **arguments))}


@pytest.mark.parametrize(("spec", "construction"), CASES)
def test_a_statement_holds_but_where_it_is_known_not_to(spec: str, construction: str) -> None:
    made = forest(spec, construction, topology(spec).nodes - 1)
    found = measures(made)
    for one in stated(made):
        parting = PARTINGS.get((spec, construction, one.measure))
        assert one.holds(found[one.measure]) is (parting is None), one
        if parting is not None:
            assert found[one.measure] == parting


def test_every_construction_has_statements_and_each_names_a_paper_and_its_place() -> None:
    papers = re.compile(
        rf"({OURS}: .+|Johnsson & Ho 1989|.+ (1993|1996|1997|Yao), (Def\.|Lemma|Theorem|section|algorithm) [\d.]+)"
    )
    for name in constructions():
        if CONSTRUCTIONS[name].arguments:
            continue
        spec = {"star": "S5", "nk-star": "S5,3", "hypercube": "Q4"}[CONSTRUCTIONS[name].families[0]]
        statements = stated(forest(spec, name))
        assert statements
        assert all(papers.fullmatch(one.source) for one in statements), [
            one.source for one in statements
        ]
        assert len({one.measure for one in statements}) == len(statements)


def test_the_numbers_that_the_papers_give() -> None:
    assert words("S5", "multiple") | {"spanning": ""} == {
        "trees": "4", "spanning": "", "heights": "10 10 10 10", "congestion": "at most 2",
    }  # fmt: skip
    assert words("S6", "multiple")["heights"] == "12 13 14 13 12"
    assert words("S5", "recursive-substar")["heights"] == "7"
    assert (words("S5", "greedy")["heights"], words("S5", "greedy")["leaves"]) == ("6", "44")
    assert words("S5", "balanced")["branches"] == "30 or one less"
    assert words("S5", "shortest-path")["branches"] == "24 24 24 24"
    assert words("S5", "edge-disjoint")["heights"] == "at most 10"
    assert words("S6,3", "nk-multiple")["heights"] == "8 to 10"
    assert words("Q4", "binomial")["branches"] == "1 2 4 8"


def test_a_value_that_is_off_is_told() -> None:
    by_measure = {one.measure: one for one in stated(forest("S5", "multiple"))}
    assert by_measure["heights"].holds([10, 10, 10, 10])
    assert not by_measure["heights"].holds([10, 10, 10, 11])
    assert by_measure["congestion"].holds(1)
    assert not by_measure["congestion"].holds(3)
    assert not by_measure["spanning"].holds(False)
    edge = {one.measure: one for one in stated(forest("S5", "edge-disjoint"))}
    assert not edge["heights"].holds([8, 8, 11, 8])
    balanced = {one.measure: one for one in stated(forest("S4", "balanced"))}
    assert balanced["branches"].holds([[8, 8, 7]])
    assert not balanced["branches"].holds([[9, 7, 7]])
    equal = {one.measure: one for one in stated(forest("S4", "perfectly-balanced"))}
    assert not equal["sizes"].holds([8, 8, 9])


def test_changed_trees_keep_what_is_stated_of_them() -> None:
    assert words("S6", "label-change", base="multiple") == words("S6", "multiple")
    made = forest("S6", "dimension-change", 99, base="multiple", i=3)
    found = measures(made)
    assert all(one.holds(found[one.measure]) for one in stated(made))


def test_nothing_is_stated_of_an_array_of_one_s_own() -> None:
    assert stated(Forest(topology("S3"), forest("S3", "greedy").parent_port)) == ()


@pytest.mark.parametrize("n", range(1, 8))
def test_derangements(n: int) -> None:
    from itertools import permutations

    assert derangements(n) == sum(
        all(symbol != place for place, symbol in enumerate(one)) for one in permutations(range(n))
    )


def test_the_height_of_one_of_the_multiple_trees() -> None:
    assert [multiple_height(8, i) for i in range(1, 8)] == [17, 18, 17, 20, 17, 18, 17]


# The measures themselves


@pytest.mark.parametrize(("spec", "construction"), CASES)
def test_measures_are_those_of_the_forest_and_plain(spec: str, construction: str) -> None:
    made = forest(spec, construction, topology(spec).nodes // 3)
    found = measures(made)
    assert found["trees"] == made.trees
    assert found["sizes"] == made.sizes.tolist()
    assert found["heights"] == made.heights.tolist()
    assert found["leaves"] == made.leaves.tolist()
    assert found["congestion"] == made.congestion
    assert found["links by load"] == made.load_histogram()
    assert found["shortest path"] is made.is_shortest_path()
    assert found["edge-disjoint"] is made.is_edge_disjoint()
    width = made.height + 1
    assert [
        row + [0] * (width - len(row)) for row in found["levels"]
    ] == made.level_profile().tolist()
    assert type(found["spanning"]) is bool


@pytest.mark.parametrize(("spec", "construction"), CASES)
def test_branches_are_the_subtrees_at_the_root(spec: str, construction: str) -> None:
    made = forest(spec, construction, topology(spec).nodes // 3)
    sizes, parents = made.subtree_sizes(), made.parents()
    children = [made.topology.neighbours(port, [made.root])[0] for port in made.topology.ports]
    expected = [
        [int(sizes[tree, child]) for child in children if parents[tree, child] == made.root]
        for tree in range(made.trees)
    ]
    assert measures(made)["branches"] == expected
    assert [sum(row) + 1 for row in expected] == made.sizes.tolist()


@pytest.mark.parametrize(
    ("spec", "construction"), [case for case in CASES if topology(case[0]).nodes <= factorial(5)]
)
def test_subtree_sizes_are_those_of_walking_up_from_every_node(
    spec: str, construction: str
) -> None:
    made = forest(spec, construction)
    for tree, parents in enumerate(made.parents()):
        expected = np.zeros(made.topology.nodes, dtype=int)
        for node in np.flatnonzero(made.members()[tree]).tolist():
            above = node
            while above >= 0:
                expected[above] += 1
                above = int(parents[above])
        assert made.subtree_sizes()[tree].tolist() == expected.tolist()


def test_nothing_is_stated_of_a_forest_whose_name_does_not_fit_it() -> None:
    """A file, or an array of one's own, may bear any name."""
    for spec, real, claimed in (
        ("S4", "greedy", "label-change"),
        ("Q1", "binomial", "balanced"),
        ("Q3", "binomial", "nk-greedy"),
    ):
        assert stated(Forest(topology(spec), forest(spec, real).parent_port, 0, claimed)) == ()
