"""Every algorithm of the catalogue: what it declares is so, what it is given is checked, and its schedule keeps its promise."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.collectives import Schedule, algorithms, schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import COLLECTIVES, COLUMNS, MULTI_SOURCE
from starcast.errors import StarcastError
from starcast.simulator import simulate
from starcast.topologies import topology
from starcast.trees.catalogue import single_trees
from support.meeting import refused

SPECS = ("S2", "S3", "S4", "S5", "S3,1", "S4,2", "S4,3", "S5,3", "Q1", "Q3", "Q4")


def cases(*specs: str) -> list[Any]:
    """Each algorithm on each topology that it is defined on, under each of its port models."""
    return [
        pytest.param(spec, rule, ports, id=f"{spec}-{rule.collective}-{rule.name}-{ports}")
        for spec in specs
        for rule in algorithms_on(topology(spec))
        for ports in rule.ports
    ]


every_case = pytest.mark.parametrize(("spec", "rule", "ports"), cases(*SPECS))


def made_by(spec: str, rule: Algorithm, ports: str, **arguments: Any) -> Schedule:
    """Its schedule there."""
    return schedule(spec, rule.collective, rule.name, ports, **arguments)


def listed(made: Schedule) -> list[tuple[int, ...]]:
    """All rows, sorted."""
    return sorted(zip(*(getattr(made, name).tolist() for name in COLUMNS), strict=True))


@every_case
def test_it_keeps_its_promise_and_has_the_rows_that_were_counted(
    spec: str, rule: Algorithm, ports: str
) -> None:
    where = topology(spec)
    made = made_by(spec, rule, ports)
    result = simulate(made)
    assert result.violation is None
    assert result.complete
    assert result.steps == made.steps
    assert len(made) == rule.count(where, ports, rule.resolve_arguments(where, {}))
    assert (made.collective, made.algorithm, made.ports) == (rule.collective, rule.name, ports)
    assert dict(made.arguments) == rule.resolve_arguments(where, {})
    assert made.symmetric <= (made.collective in MULTI_SOURCE)


@every_case
def test_its_id_is_known_before_it_is_built(spec: str, rule: Algorithm, ports: str) -> None:
    made = made_by(spec, rule, ports, root=1)
    assert rule.id(made.topology, ports, rule.resolve_arguments(made.topology, {}), 1) == made.id
    assert made.id.endswith(":expanded") == (rule.sources(made.topology, ports) > 1)


@every_case
def test_the_rows_stand_in_the_one_order(spec: str, rule: Algorithm, ports: str) -> None:
    """By step, sender, port, tree and unit: two schedules can be compared column by column."""
    made = made_by(spec, rule, ports)
    order = np.lexsort((made.unit, made.tree, made.port, made.sender, made.step))
    assert np.array_equal(order, np.arange(len(made)))


@pytest.mark.parametrize(("spec", "rule", "ports"), cases("S4", "S4,2", "Q3"))
def test_at_another_root_it_is_as_good_and_goes_over_the_translated_links(
    spec: str, rule: Algorithm, ports: str
) -> None:
    where = topology(spec)
    root = where.nodes - 2
    made, there = made_by(spec, rule, ports), made_by(spec, rule, ports, root=where.label(root))
    result = simulate(there)
    assert result.complete
    if rule.sources(where, ports) > 1:  # all sources are written out: there is no root to move
        assert listed(made) == listed(there)
        return
    assert there.root == root
    image = where.translation(root)
    moved = sorted(zip(made.step, image[made.sender], image[made.receiver], made.tree, strict=True))
    if ports == "all" or where.translation_keeps_ports:  # else the sub-slot follows the real port
        assert moved == sorted(
            zip(there.step, there.sender, there.receiver, there.tree, strict=True)
        )


@pytest.mark.parametrize(("spec", "rule", "ports"), cases("S3", "S4", "S3,1", "S4,2"))
def test_written_out_for_all_sources_it_takes_the_same(
    spec: str, rule: Algorithm, ports: str
) -> None:
    """Steps, transmissions, links and packets; from another source too."""
    made = made_by(spec, rule, ports)
    if not made.symmetric:
        assert made.expand() is made
        return
    one, all_together = simulate(made), simulate(made.expand())
    assert all_together.complete
    for name in ("steps", "transmissions", "largest_packet"):
        assert getattr(one, name) == getattr(all_together, name)
    assert np.array_equal(one.links_used, all_together.links_used)
    assert np.array_equal(one.packet_sizes, all_together.packet_sizes)
    assert made.expand().units == made.units * made.topology.nodes
    other = made_by(spec, rule, ports, root=2)
    assert other.id != made.id
    assert (
        (other.expand().id, other.expand().root)
        == (made.expand().id, 0)
        == (f"{made.id.rpartition(':')[0]}:expanded", 0)
    )
    assert listed(other.expand()) == listed(made.expand())


@every_case
def test_along_names_the_forest_whose_trees_it_numbers(
    spec: str, rule: Algorithm, ports: str
) -> None:
    """Every row goes down a link of its tree, or up in a gather; where along is None the stack is the schedule's own."""
    made = made_by(spec, rule, ports)
    along = rule.forest_construction(made.topology, ports, made.arguments)
    assert (made.forest_id is None) == (along is None)
    if made.forest is None:
        return
    made.forest.verify()
    assert made.forest_id is None or made.forest_id.split(":")[1] == along
    child, parent = (
        (made.sender, made.receiver)
        if made.collective == "gather"
        else (made.receiver, made.sender)
    )
    assert np.array_equal(made.forest.parents()[made.tree, child], parent)


def test_every_collective_of_the_design_s_table_is_there() -> None:
    """The names that other tools rely on, with their arguments (design, section 3)."""
    table = {
        "broadcast": {
            "greedy": "segments", "multiple": "segments", "recursive-substar": "messages", "edge-disjoint": "messages copies",
            "nk-greedy": "segments", "nk-multiple": "segments", "binomial": "segments",
            "edge-disjoint-binomial": "messages copies",
        },
        "allgather": {
            "dimension-change": "tree", "rotated-hamiltonian": "messages", "necklace": "messages",
            "hamiltonian-cycle": "messages", "edge-disjoint": "messages copies", "nk-greedy": "", "nk-multiple": "",
        },
        "scatter": {
            "balanced": "messages", "near-balanced": "messages", "perfectly-balanced": "messages", "one-port": "messages",
            "edge-disjoint": "messages copies",
        },
        "alltoall": {
            "necklace": "", "perfectly-balanced": "messages", "exact": "messages", "one-port": "messages",
            "edge-disjoint": "messages copies",
        },
    }  # fmt: skip
    table["gather"] = table["scatter"]
    found = {
        collective: {
            rule.name: " ".join(one.name for one in rule.arguments)
            for rule in algorithms(collective)
        }
        for collective in COLLECTIVES
    }
    assert found == table


@pytest.mark.parametrize(
    ("words", "options", "named"),
    [
        (("S5", "scatter", "perfectly-balanced"), {"messages": 6}, "multiple of 4"),
        (("S5", "alltoall", "perfectly-balanced"), {"messages": 1}, "multiple of 4"),
        (("S5", "broadcast", "edge-disjoint"), {"copies": 5}, "copies is 5"),
        (("S5", "broadcast", "edge-disjoint"), {"copies": 0}, "copies is 0"),
        (("S5", "broadcast", "multiple"), {"segments": 0}, "segments is 0"),
        (("S5", "alltoall", "exact"), {"messages": -1}, "messages is -1"),
        (("S5", "alltoall", "exact"), {"segments": 2}, "no argument 'segments'"),
        (("S5", "alltoall", "necklace"), {"messages": 2}, "no argument 'messages'"),
        (("S5", "allgather", "dimension-change"), {"tree": "multiple"}, "no single spanning tree"),
        (
            ("S5", "allgather", "dimension-change"),
            {"tree": "shortest-path"},
            "no single spanning tree",
        ),
        (("S5", "allgather", "dimension-change"), {"tree": 3}, "no single spanning tree"),
        (("S5", "alltoall", "exact"), {"ports": "one"}, "no port model 'one'"),
        (("S5", "scatter", "one-port"), {"ports": "all"}, "no port model 'all'"),
        (("S5", "reduce", "exact"), {}, "unknown collective 'reduce'"),
        (("S5", "alltoall", "exakt"), {}, "'exakt' is no alltoall algorithm"),
        (("Q4", "alltoall", "exact"), {}, "not defined on Q4"),
        (("S5,2", "broadcast", "edge-disjoint"), {}, "not defined on S5,2"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_in_a_sentence(
    words: tuple[str, str, str], options: dict[str, Any], named: str
) -> None:
    with refused(*named.split()):
        schedule(*words, **options)


def test_a_refusal_says_what_would_do() -> None:
    with pytest.raises(StarcastError) as refusal:
        schedule("S5", "scatter", "perfectly-balanced", messages=6)
    assert refusal.value.hint == "give messages 4, 8, 12, ..."


def test_the_port_model_is_the_algorithm_s_own_unless_said() -> None:
    assert schedule("S4", "broadcast", "multiple").ports == "all"
    assert schedule("S4", "allgather", "hamiltonian-cycle").ports == "one"


@pytest.mark.parametrize("tree", single_trees("S4"))
def test_dimension_change_takes_every_single_spanning_tree(tree: str) -> None:
    made = schedule("S4", "allgather", "dimension-change", base=tree)
    assert simulate(made).complete
    assert made.id == f"S4:allgather:dimension-change:all:base={tree}:1234"


@given(st.sampled_from(cases("S4")), st.integers(1, 4), st.integers(1, 3), st.integers(0, 23))
def test_with_any_arguments_and_root_it_keeps_its_promise(
    case: Any, share: int, copies: int, root: int
) -> None:
    spec, rule, ports = case.values
    given_to = {one.name for one in rule.arguments}
    share *= 3 if rule.name == "perfectly-balanced" else 1
    asked = {"segments": share, "messages": share, "copies": copies}
    made = made_by(
        spec,
        rule,
        ports,
        root=root,
        **{name: value for name, value in asked.items() if name in given_to},
    )
    result = simulate(made)
    assert result.violation is None
    assert result.complete
    assert len(made) == rule.count(made.topology, ports, made.arguments)
