"""Typed parameters: what is accepted as text and as Python values, and what is refused with which words."""

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.errors import InputError
from starcast.queries.parameters import EXPECTED, Parameter, Type, bind


def declared(name: str, written: str, *default: object) -> Parameter:
    kind = Type.parse(written)
    assert kind is not None
    return Parameter(
        name, kind, "some meaning", default[0] if default else None, required=not default
    )


def bound(written: str, value: object) -> Any:
    return bind([declared("x", written)], {"x": value})["x"]


@pytest.mark.parametrize(
    ("written", "given_value", "value"),
    [
        ("int", "-7", -7),
        ("int", " 7 ", 7),
        ("int", 7, 7),
        ("int >= 0", "0", 0),
        ("float", "2.5e-3", 0.0025),
        ("float", 2, 2.0),
        ("float >= 1", "1", 1.0),
        ("string", "a b, 'c'", "a b, 'c'"),
        ("string", "", ""),
        ("boolean", "TRUE", True),
        ("boolean", False, False),
        ("tree", "0", 0),
        ("node", "54321", "54321"),
        ("list of int", "1,2,3", [1, 2, 3]),
        ("list of int", (1, 2), [1, 2]),
        ("list of int", "", []),
        ("list of node", "12,21", ["12", "21"]),
        ("list of node", "", []),
        ("link", "12-21", "12-21"),
        ("list of link", "12-21,2a-a2", ["12-21", "2a-a2"]),
        ("list of link", [], []),
    ],
)
def test_a_value_of_the_type_is_taken(written: str, given_value: object, value: object) -> None:
    taken = bound(written, given_value)
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("int", "7.0"),
        ("int", "seven"),
        ("int", ""),
        ("int", "٣"),
        ("int", 7.0),
        ("int", True),
        ("int", str(2**63)),
        ("int >= 1", "0"),
        ("float", "nan"),
        ("float", "inf"),
        ("float", "1,5"),
        ("float", True),
        ("float >= 1", "0.5"),
        ("string", 7),
        ("boolean", "yes"),
        ("boolean", 1),
        ("tree", "-1"),
        ("node", 12345),
        ("link", "12"),
        ("link", "12-"),
        ("link", "12-21-12"),
        ("link", "12 - 21"),
        ("list of int", "1,,2"),
        ("list of int", 1),
        ("list of int >= 2", "2,1"),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_is_expected(
    written: str, wrong: object
) -> None:
    with pytest.raises(InputError, match="the parameter 'x' is ") as refused:
        bound(written, wrong)
    assert EXPECTED[re.sub(r"list of | >=.*", "", written)] in refused.value.message
    assert repr(wrong) in refused.value.message
    assert "some meaning" in refused.value.hint


@pytest.mark.parametrize(
    "written", ["integer", "list of list of int", "string >= 1", "int>=1", "List of int", ""]
)
def test_what_is_no_type_is_none(written: str) -> None:
    assert Type.parse(written) is None


@pytest.mark.parametrize("name", EXPECTED)
def test_every_type_is_written_as_it_is_read_and_has_a_sample_of_itself(name: str) -> None:
    for written in (name, f"list of {name}"):
        kind = Type.parse(written)
        assert kind is not None
        assert str(kind) == written
        assert kind.value(kind.sample()) == kind.sample()


def test_a_missing_parameter_is_named_with_what_is_expected() -> None:
    with pytest.raises(InputError, match="the parameter 'least' is missing") as refused:
        bind([declared("least", "int >= 1")], {})
    assert "least=VALUE: an integer that is 1 or more" in refused.value.hint


def test_an_unknown_parameter_is_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match="the query has no parameter 'forrest'") as refused:
        bind(
            [declared("forest", "forest"), declared("least", "int", 2)],
            {"forrest": "S4:multiple:1234"},
        )
    assert refused.value.hint == "did you mean 'forest'? it takes forest, least"


def test_an_unknown_parameter_of_a_query_without_any_says_so() -> None:
    with pytest.raises(InputError, match="no parameter 'x'") as refused:
        bind([], {"x": 1})
    assert refused.value.hint == "it takes none"


def test_a_default_stands_in_and_a_given_value_beats_it() -> None:
    least = declared("least", "int", 2)
    assert bind([least], {}) == {"least": 2}
    assert bind([least], {"least": "3"}) == {"least": 3}


def test_a_default_of_another_type_cannot_be_declared() -> None:
    with pytest.raises(InputError, match="'least' is an integer, not 'two'"):
        declared("least", "int", "two")


PLACED = [declared("topology", "topology"), declared("node", "node")]


def test_a_node_is_one_of_the_topology_that_is_named() -> None:
    assert bind(PLACED, {"topology": "S4", "node": "4321"})["node"] == "4321"
    with pytest.raises(InputError, match="'4322'"):
        bind(PLACED, {"topology": "S4", "node": "4322"})
    with pytest.raises(InputError, match="'54321'"):
        bind(PLACED, {"topology": "S4", "node": "54321"})


@pytest.mark.parametrize("kind", ["forest", "schedule"])
def test_a_node_is_one_of_the_topology_of_the_forest_or_schedule(kind: str) -> None:
    parameters = [declared("thing", kind), declared("nodes", "list of node")]
    assert bind(parameters, {"thing": "S3:multiple:123", "nodes": "213,321"})["nodes"] == [
        "213",
        "321",
    ]
    with pytest.raises(InputError, match="'214'"):
        bind(parameters, {"thing": "S3:multiple:123", "nodes": "213,214"})


@pytest.mark.parametrize("spec", ["S0", "S13", "T4", "S5,9", ""])
def test_a_topology_that_cannot_be_is_refused(spec: str) -> None:
    with pytest.raises(InputError):
        bind(PLACED, {"topology": spec, "node": "4321"})


def test_a_node_may_belong_to_any_of_several_topologies() -> None:
    parameters = [
        declared("one", "topology"),
        declared("other", "topology"),
        declared("node", "node"),
    ]
    assert bind(parameters, {"one": "S3", "other": "S4", "node": "4321"})["node"] == "4321"
    with pytest.raises(InputError, match="'54321'"):
        bind(parameters, {"one": "S3", "other": "S4", "node": "54321"})


@pytest.mark.parametrize(
    ("spec", "link", "other"),
    [
        ("S4", "1234-2134", "1234-1243"),
        ("S5,2", "12-32", "12-23"),
        ("Q3", "000-010", "000-011"),
        ("S10", "123456789a-213456789a", "123456789a-132456789a"),
    ],
)
def test_a_link_joins_two_nodes_that_are_adjacent_in_either_order(
    spec: str, link: str, other: str
) -> None:
    parameters = [declared("topology", "topology"), declared("dead", "list of link", [])]
    turned = "-".join(reversed(link.split("-")))
    assert bind(parameters, {"topology": spec, "dead": f"{link},{turned}"})["dead"] == [
        link,
        turned,
    ]
    assert (
        bind(parameters, {"topology": spec, "dead": ""})["dead"]
        == bind(parameters, {"topology": spec})["dead"]
        == []
    )
    with pytest.raises(InputError, match=f"'{other}' is no link of {spec}") as refused:
        bind(parameters, {"topology": spec, "dead": f"{link},{other}"})
    assert link.split("-")[1] in refused.value.hint


def test_both_ends_of_a_link_are_nodes() -> None:
    parameters = [declared("forest", "forest"), declared("dead", "link")]
    for wrong, end in {"1234-2135": "'2135'", "12345-21345": "'12345'"}.items():
        with pytest.raises(InputError, match=end):
            bind(parameters, {"forest": "S4:multiple:1234", "dead": wrong})


def test_a_pattern_has_the_length_and_the_symbols_of_the_labels() -> None:
    parameters = [declared("topology", "topology"), declared("members", "pattern")]
    assert bind(parameters, {"topology": "S4", "members": "**3*"})["members"] == "**3*"
    for wrong in ("**3", "**5*", "**?*", ""):
        with pytest.raises(InputError, match="no pattern of labels of S4"):
            bind(parameters, {"topology": "S4", "members": wrong})


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_integer_that_the_server_can_hold_is_read_back(number: int) -> None:
    assert bound("int", str(number)) == number


@given(st.sampled_from(sorted(EXPECTED)), st.text())
def test_whatever_is_typed_is_a_value_of_the_type_or_one_of_our_errors(
    name: str, text: str
) -> None:
    """Nothing else is ever raised, and what is taken is taken again as it is."""
    kind = Type.parse(name)
    assert kind is not None
    with suppress(InputError):
        value = bound(name, text)
        assert kind.value(value) == value
