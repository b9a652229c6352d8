"""Schema declarations are well formed, and match the server's constraints and indexes exactly."""

import itertools
import re

import pytest

from starcast.stores.graph import schema
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.writer import BoltWriter
from starcast.topologies import topology
from starcast.topologies.stars import largest_k


@pytest.mark.whole
@pytest.mark.parametrize("element", schema.ELEMENTS, ids=lambda element: element.name)
def test_declarations_of_the_graph_schema_are_well_formed(element: schema.Element) -> None:
    """Names are valid in Cypher; indexes and relationships use declared properties and labels."""
    names = element.names
    assert all(re.fullmatch("[A-Za-z][A-Za-z_]*", name) for name in (element.name, *names))
    assert all(declared.meaning for declared in element.properties)
    assert len(set(names)) == len(names)
    assert {name for index in element.indexes for name in index.properties} <= set(names)
    assert element.artifact_property in {*names, None}
    if isinstance(element, schema.Relationship):
        assert {element.start, element.end} <= {label.name for label in schema.LABELS}


def test_the_server_has_the_declared_constraints_and_indexes(
    graph: Graph, bolt: BoltWriter
) -> None:
    """Creating the constraints and indexes a second time changes nothing."""
    bolt.prepare()
    constraints = graph.read("SHOW CONSTRAINTS YIELD labelsOrTypes, properties, type RETURN *")
    actual = {
        (row["labelsOrTypes"][0], tuple(row["properties"]))
        for row in constraints
        if "UNIQUE" in row["type"]
    }
    assert actual == {(label.name, (label.key,)) for label in schema.LABELS}
    others = graph.read(
        "SHOW INDEXES YIELD labelsOrTypes, properties, owningConstraint, type, state RETURN *"
    )
    plain = [row for row in others if row["owningConstraint"] is None and row["type"] == "RANGE"]
    indexed = {(row["labelsOrTypes"][0], tuple(row["properties"])) for row in plain}
    assert indexed == {
        (element.name, names) for element in schema.ELEMENTS for names in element.indexed
    }
    assert {row["state"] for row in others} == {"ONLINE"}


def test_topologies_have_disjoint_ranges_of_node_keys() -> None:
    """All keys are below 2^53, so floating-point numbers represent them exactly."""
    stars = [topology(f"S{n}") for n in range(2, 13)]
    nk_stars = [topology(f"S{n},{k}") for n in range(2, 36) for k in range(1, largest_k(n) + 1)]
    hypercubes = [topology(f"Q{d}") for d in range(1, 29)]
    letters = {"P": 13, "BP": 10, "B": 13, "BS": 13, "MB": 13, "CT": 13, "AG": 13}
    others = [topology(f"{word}{n}") for word, end in letters.items() for n in range(3, end)]
    others += [topology(f"T{a}x{b}") for a in range(2, 37) for b in range(2, 37)]
    spans = sorted(
        (schema.first_key(one), schema.first_key(one) + one.nodes)
        for one in (*stars, *nk_stars, *hypercubes, *others)
    )
    assert all(high <= low for (_, high), (low, _) in itertools.pairwise(spans))
    assert spans[-1][1] < 2**53
