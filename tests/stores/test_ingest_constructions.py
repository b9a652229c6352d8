"""Every construction of the catalogue is stored in both stores and read back unchanged."""

import numpy as np
import pytest
from sqlalchemy import select

from starcast.ingest import Stores, ingest
from starcast.ingest.verification import check_artifact
from starcast.stores.database import artifact_rows, models
from starcast.stores.database.artifact_rows import describe_artifact, list_artifacts
from starcast.stores.database.sessions import open_session
from starcast.support.errors import InputError
from starcast.support.spec_syntax import format_spec, parse_spec
from starcast.topologies import topology
from starcast.trees import Forest, constructions, forest, plain_constructions
from starcast.trees.construction import CONSTRUCTIONS
from support import readback
from support.checks import assert_stored, check_nodes
from support.plans import plan

SPECS = (
    "S3",
    pytest.param("S4", marks=pytest.mark.slow),
    pytest.param("S5", marks=pytest.mark.slow),
    "S4,2",
    "Q3",
)


def words(spec: str) -> list[str]:
    """Return the spec of every construction of a topology, with arguments where needed."""
    trees = next(
        (
            name
            for name in ("multiple", "nk-multiple", "edge-disjoint-binomial")
            if name in constructions(spec)
        ),
        "",
    )
    arguments: dict[str, str | int] = {"base": trees, "i": 1}
    return [
        format_spec(
            name,
            {argument.name: arguments[argument.name] for argument in CONSTRUCTIONS[name].arguments},
        )
        for name in constructions(spec)
    ]


def same(one: Forest, other: Forest) -> bool:
    """Return whether two forests agree in all stored properties."""
    parts = ("topology", "root", "construction", "spanning", "id")
    return (
        all(getattr(one, name) == getattr(other, name) for name in parts)
        and dict(one.arguments) == dict(other.arguments)
        and np.array_equal(one.parent_port, other.parent_port)
    )


def from_postgresql(stores: Stores, artifact_id: str) -> Forest:
    """Return the forest that PostgreSQL stores."""
    with open_session(stores.engine) as session:
        return artifact_rows.load_forest(session, artifact_id)


@pytest.mark.parametrize("spec", SPECS)
def test_a_construction_is_stored_and_reads_back_equal(stores: Stores, spec: str) -> None:
    """Both stores return a valid forest, also for a root other than the identity."""
    network = topology(spec)
    root = network.nodes // 2 + 1
    stored_plan = plan(spec, words(spec), root=root)
    ingest(stores, stored_plan)
    assert_stored(stores, stored_plan)
    for word in words(spec):
        name, arguments = parse_spec(word)
        meant = forest(network, name, root, **arguments)
        for actual in (
            from_postgresql(stores, meant.id),
            readback.read_forest(stores.graph, meant.id),
        ):
            assert same(actual, meant)
            actual.verify()
            assert actual.load_histogram() == meant.load_histogram()
        check_artifact(stores, "forest", meant.id)


def test_the_spanning_property_is_stored(stores: Stores) -> None:
    """Both stores record whether the trees of a forest are spanning."""
    ingest(stores, plan("S4", "all"))
    partial = {name for name in plain_constructions("S4") if not forest("S4", name).spanning}
    assert {"shortest-path", "perfectly-balanced"} <= partial
    for name in plain_constructions("S4"):
        artifact_id = f"S4:{name}:1234"
        actual = (
            from_postgresql(stores, artifact_id).spanning,
            readback.read_forest(stores.graph, artifact_id).spanning,
        )
        assert actual == ((name not in partial),) * 2


def test_partial_trees_are_stored_with_their_own_numbers_of_nodes(stores: Stores) -> None:
    """PostgreSQL has height, leaves and size of each tree, Neo4j one relationship per edge."""
    ingest(stores, plan("S4", "perfectly-balanced"))
    original = forest("S4", "perfectly-balanced")
    with open_session(stores.engine) as session:
        rows = list(session.scalars(select(models.Tree).order_by(models.Tree.number)))
        assert [(row.height, row.leaves, row.size) for row in rows] == list(
            zip(
                original.heights.tolist(),
                original.leaves.tolist(),
                original.sizes.tolist(),
                strict=True,
            )
        )
        assert [
            np.count_nonzero(np.frombuffer(row.parent_port, dtype=np.uint8)) for row in rows
        ] == [size - 1 for size in original.sizes.tolist()]
        shown = describe_artifact(session, "forest", original.id)
        assert shown["sizes"] == original.sizes.tolist()
    edges = stores.graph.read(
        "MATCH ()-[r:TREE_EDGE]->() RETURN r.tree AS tree, count(*) AS edges ORDER BY tree"
    )
    assert [row["edges"] for row in edges] == [size - 1 for size in original.sizes.tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_all_selects_every_construction_that_needs_no_arguments(stores: Stores, spec: str) -> None:
    """The request is `starcast ingest SPEC --trees all --schedules all`."""
    stored_plan = plan(spec, "all", "all")
    forests = [artifact.id for artifact in stored_plan.artifacts if artifact.kind == "forest"]
    assert [each.split(":")[1] for each in forests] == list(plain_constructions(spec))
    ingest(stores, stored_plan)
    assert_stored(stores, stored_plan)


def test_constructions_with_arguments_have_a_normal_form() -> None:
    """Arguments may come in any order; a construction given twice is stored once."""
    text = (
        "greedy, dimension-change(base=multiple,i=2),dimension-change(base=multiple,i=2),"
        "label-change(base=greedy)"
    )
    ids = [artifact.id for artifact in plan("S4", text).artifacts]
    assert ids == [
        "S4",
        "S4:greedy:1234",
        "S4:dimension-change(base=multiple,i=2):1234",
        "S4:label-change(base=greedy):1234",
    ]
    assert [artifact.id for artifact in plan("S4", ["greedy", *text.split(", ")]).artifacts] == ids


@pytest.mark.parametrize(
    "text",
    [
        "dimension-change",
        "dimension-change(i=2)",
        "dimension-change(base=multiple,i=2",
        "dimension-change(base=multiple,i=two)",
        "dimension-change(base=multiple,i=3)",
        "label-change(base=dimension-change)",
        "greedy(i=2)",
        "greedy()x",
    ],
)
def test_invalid_arguments_are_refused_before_building(text: str) -> None:
    with pytest.raises(InputError) as caught:
        plan("S4", f"greedy,{text}")
    assert caught.value.hint


@pytest.mark.slow
def test_forests_of_the_same_construction_can_coexist(stores: Stores) -> None:
    """The arguments are part of the forest's id, and a property in the graph."""
    ingest(
        stores,
        plan("S4", "dimension-change(base=greedy,i=1),dimension-change(base=greedy,i=2),greedy"),
    )
    assert check_nodes(stores.graph, "Forest", ("construction", "arguments")) == {
        ("greedy", ""),
        ("dimension-change", "base=greedy,i=1"),
        ("dimension-change", "base=greedy,i=2"),
    }
    with open_session(stores.engine) as session:
        assert [row["id"] for row in list_artifacts(session, "forest", "S4")] == [
            "S4:dimension-change(base=greedy,i=1):1234",
            "S4:dimension-change(base=greedy,i=2):1234",
            "S4:greedy:1234",
        ]
