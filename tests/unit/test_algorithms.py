"""The algorithms in the catalogue: their arguments, and whether their schedules are as declared."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.catalogue.entries import FAMILIES
from starcast.collectives import Schedule, algorithms, schedule
from starcast.collectives.algorithm import Algorithm, algorithms_on
from starcast.collectives.model import COLLECTIVES, MULTI_SOURCE
from starcast.judges.simulator import simulate
from starcast.topologies import topology
from starcast.trees import forest
from starcast.trees.construction import CONSTRUCTIONS
from support.meeting import refused

#: `make test` runs the first case of a test and one other case. The first topology is S4, because
#: several algorithms are equal on smaller stars.
SPECS = ("S4", "S2", "S3", "S5", "S3,1", "S4,2", "S4,3", "S5,3", "Q1", "Q3", "Q4")


def algorithms_with_ports(spec: str) -> list[tuple[Algorithm, str]]:
    """Return each algorithm that is defined on a topology, with each of its port models."""
    return [(entry, ports) for entry in algorithms_on(topology(spec)) for ports in entry.ports]


def build(spec: str, entry: Algorithm, ports: str, **arguments: Any) -> Schedule:
    """Return the schedule that an algorithm builds on a topology."""
    return schedule(spec, entry.collective, entry.name, ports, **arguments)


@pytest.mark.parametrize("spec", SPECS)
def test_schedules_are_complete_and_match_the_declarations_of_their_algorithms(
    spec: str,
) -> None:
    """Each schedule has the declared steps and transmissions.

    The rows of a schedule are sorted, and use only links of the schedule's trees.
    """
    for entry, ports in algorithms_with_ports(spec):
        assert_matches_declaration(spec, entry, ports)


def assert_matches_declaration(spec: str, entry: Algorithm, ports: str) -> None:
    """Check that a schedule is complete and has the properties that its algorithm declares."""
    network = topology(spec)
    plan, arguments = build(spec, entry, ports), entry.resolve_arguments(network, {})
    result = simulate(plan)
    assert result.violation is None
    assert result.complete
    assert result.steps == plan.steps
    assert len(plan) == entry.count(network, ports, arguments)
    assert (plan.collective, plan.algorithm, plan.ports) == (entry.collective, entry.name, ports)
    assert dict(plan.arguments) == arguments
    assert plan.symmetric <= (plan.collective in MULTI_SOURCE)
    order = np.lexsort((plan.unit, plan.tree, plan.port, plan.sender, plan.step))
    assert np.array_equal(order, np.arange(len(plan)))
    assert_rows_follow_the_forest(plan, entry.forest_construction(network, ports, plan.arguments))
    moved = build(spec, entry, ports, root=1)
    assert entry.id(network, ports, arguments, 1) == moved.id
    assert moved.id.endswith(":expanded") == (entry.sources(network, ports) > 1)


def assert_rows_follow_the_forest(plan: Schedule, along: str | None) -> None:
    """Check that every row of a schedule uses a link of its tree, if the schedule has a forest."""
    assert (plan.forest_id is None) == (along is None)
    if plan.forest is None:
        return
    plan.forest.verify()
    assert plan.forest_id is None or plan.forest_id.split(":")[1] == along
    ends = (plan.receiver, plan.sender)
    child, parent = reversed(ends) if plan.collective == "gather" else ends
    if plan.combine is not None:  # in a reduction, units travel towards the root
        child, parent = np.where(plan.combine, ends[::-1], ends)
    assert np.array_equal(plan.forest.parents()[plan.tree, child], parent)


def test_the_public_names_of_algorithms_and_arguments_do_not_change() -> None:
    """Other tools rely on the public names of algorithms and arguments."""
    both = "messages copies"
    table = {
        "broadcast": {
            "greedy": "segments", "multiple": "segments", "recursive-substar": "messages",
            "edge-disjoint": both, "nk-greedy": "segments", "nk-multiple": "segments",
            "binomial": "segments", "edge-disjoint-binomial": both, "optimal": "",
            "substar-doubling": "", "symbol-doubling": "", "optimal-substars": "",
            "forest": "base segments", "greedy-matching": "messages seed",
        },
        "allgather": {
            "hamiltonian-decomposition": "messages",
            "dimension-change": "base", "rotated-hamiltonian": "messages", "necklace": "messages",
            "hamiltonian-cycle": "messages", "edge-disjoint": both, "nk-greedy": "",
            "nk-multiple": "", "ring": "messages", "binomial": "",
            "forest": "base segments", "greedy": "messages seed",
        },
        "scatter": {
            "balanced": "messages", "near-balanced": "messages", "perfectly-balanced": "messages",
            "one-port": "messages", "edge-disjoint": both, "forest": "base messages",
            "greedy": "messages seed",
        },
        "alltoall": {
            "necklace": "", "perfectly-balanced": "messages", "exact": "messages",
            "one-port": "messages", "edge-disjoint": both, "greedy": "messages seed",
        },
    }  # fmt: skip
    table["gather"] = table["scatter"]
    table["reduce"] = table["broadcast"]
    table["reduce-scatter"] = table["allgather"]
    table["allreduce"] = table["broadcast"] | table["allgather"] | {"greedy": "segments"}
    result = {
        collective: {
            entry.name: " ".join(argument.name for argument in entry.arguments)
            for entry in algorithms(collective)
        }
        for collective in COLLECTIVES
    }
    assert result == table


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
        *(
            (("S5", "allgather", "dimension-change"), {"base": base}, "not a single spanning tree")
            for base in ("multiple", "shortest-path", 3)
        ),
        (("S5", "alltoall", "exact"), {"ports": "one"}, "no port model 'one'"),
        (("S5", "scatter", "one-port"), {"ports": "all"}, "no port model 'all'"),
        (("S5", "reduction", "exact"), {}, "unknown collective 'reduction'"),
        (("S5", "alltoall", "exakt"), {}, "unknown alltoall algorithm 'exakt'"),
        (("Q4", "alltoall", "exact"), {}, "not defined on Q4"),
        (("S5,2", "broadcast", "edge-disjoint"), {}, "not defined on S5,2"),
        (("S4,2", "allgather", "nk-greedy"), {"messages": 2}, "no argument 'messages'"),
        (("S4", "allgather", "nk-multiple"), {}, "not defined on S4"),
    ],
    ids=str,
)
def test_invalid_arguments_of_algorithms_are_refused(
    words: tuple[str, str, str], options: dict[str, Any], named: str
) -> None:
    """If the number of messages is invalid, the hint lists valid numbers, such as 4, 8 and 12."""
    with refused(*named.split()) as refusal:
        schedule(*words, **options)
    if options == {"messages": 6}:
        assert refusal.value.hint == "use 4, 8, 12, ... messages"


def test_the_default_port_model_depends_on_the_algorithm() -> None:
    assert schedule("S4", "broadcast", "multiple").ports == "all"
    assert schedule("S4", "allgather", "hamiltonian-cycle").ports == "one"


@given(
    st.sampled_from(algorithms_with_ports("S4")),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 23),
)
def test_schedules_are_complete_for_random_arguments_and_roots(
    case: tuple[Algorithm, str], share: int, copies: int, root: int
) -> None:
    entry, ports = case
    given_to = {argument.name for argument in entry.arguments}
    share *= 3 if entry.name == "perfectly-balanced" else 1
    asked = {"segments": share, "messages": share, "copies": copies}
    plan = build(
        "S4",
        entry,
        ports,
        root=root,
        **{name: value for name, value in asked.items() if name in given_to},
    )
    result = simulate(plan)
    assert result.violation is None
    assert result.complete
    assert len(plan) == entry.count(plan.topology, ports, plan.arguments)
    along = entry.forest_construction(plan.topology, ports, plan.arguments)
    assert_rows_follow_the_forest(plan, along)


def test_the_repr_of_a_catalogue_entry_shows_its_name_and_source() -> None:
    entries = [*algorithms(), *CONSTRUCTIONS.values(), *FAMILIES.values()]
    for entry in entries:
        assert repr(entry) == f"<{type(entry).__name__} {entry.name} ({entry.source})>"
        assert "lambda" not in repr(entry.arguments)


def test_the_number_of_segments_or_messages_of_an_algorithm_has_a_default() -> None:
    """The default is n-1 for algorithms that need a multiple of n-1 messages, and 1 for others."""
    for entry in algorithms():
        if entry.split_argument is not None and entry.supports(topology("S5")):
            expected = 4 if entry.name == "perfectly-balanced" else 1
            assert entry.default_arguments(topology("S5"))[entry.split_argument] == expected


@pytest.mark.parametrize("spec", ["S2", "S4", "S5,1", "S5,2", "S5,3", "S5,4", "S6,3"])
def test_broadcasts_have_packets_of_several_units_only_if_trees_share_links(spec: str) -> None:
    """Along a single tree, every packet has one unit."""
    prefix = "nk-" if "," in spec else ""
    assert not schedule(spec, "broadcast", f"{prefix}greedy", segments=2).packets
    many = schedule(spec, "broadcast", f"{prefix}multiple", segments=2)
    assert many.packets == (forest(spec, f"{prefix}multiple").congestion > 1)
