"""Typed query parameters: values given as text or as Python values, and errors."""

import re
from collections import deque
from contextlib import suppress
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import partial
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import network
from starcast.lab import Lab
from starcast.queries.parameters import KINDS, Parameter, Type, bind, convert_value
from starcast.support.errors import InputError
from starcast.support.settings import Settings
from support.fix_cli import Starcast, refused

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def declared(name: str, written: str, *default: object) -> Parameter:
    kind = Type.parse(written)
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
        ("node", "Berlin", "Berlin"),
        ("link", "Berlin-Rome", "Berlin-Rome"),
        ("pattern", "****A", "****A"),
        ("forest", "S10:multiple:123456789A", "S10:multiple:123456789a"),
        ("list of forest", "S4:multiple:1234", ["S4:multiple:1234"]),
        ("list of int", "1,2,3", [1, 2, 3]),
        ("list of int", (1, 2), [1, 2]),
        ("list of int", "", []),
        ("list of node", "12,21", ["12", "21"]),
        ("list of node", "", []),
        ("link", "12-21", "12-21"),
        ("list of link", "12-21,2a-a2,2A-A2", ["12-21", "2a-a2", "2A-A2"]),
        ("list of link", [], []),
    ],
)
def test_a_parameter_value_of_the_declared_type_is_accepted(
    written: str, given_value: object, value: object
) -> None:
    accepted = bound(written, given_value)
    assert accepted == value
    assert type(accepted) is type(value)


#: Invalid values of each type.
WRONG: dict[str, list[object]] = {
    "int": ["7.0", "seven", "", "٣", 7.0, True],
    "int >= 1": ["0"],
    "float": ["nan", "inf", "1,5", True],
    "float >= 1": ["0.5"],
    "string": [7],
    "boolean": ["yes", 1],
    "tree": ["-1"],
    "node": [12345],
    "link": ["12", "12-", "12-21-12", "12 - 21"],
    "list of int": ["1,,2", 1],
    "list of int >= 2": ["2,1"],
}


@pytest.mark.parametrize("written", WRONG)
def test_the_error_for_a_value_of_the_wrong_type_states_what_is_expected(written: str) -> None:
    for wrong in WRONG[written]:
        with pytest.raises(InputError, match="the parameter 'x' must be ") as caught:
            bound(written, wrong)
        assert KINDS[re.sub(r"list of | >=.*", "", written)].expected in caught.value.message
        assert repr(wrong) in caught.value.message
        assert "some meaning" in caught.value.hint


def test_an_unknown_type_in_a_declaration_is_refused() -> None:
    for written in ["integer", "list of list of int", "string >= 1", "int>=1", "List of int", ""]:
        with pytest.raises(InputError, match=f"'{written}' is not a valid type") as caught:
            Type.parse(written)
        assert ", ".join(KINDS) in caught.value.hint


def test_a_parameter_type_is_formatted_as_it_was_declared_and_accepts_its_sample_value() -> None:
    for name in KINDS:
        for written in (name, f"list of {name}"):
            kind = Type.parse(written)
            assert str(kind) == written
            assert kind.value(kind.sample()) == kind.sample()
    assert repr(Type.parse("float >= 1").sample()) == "1.0"


def test_the_error_for_a_missing_parameter_states_what_is_expected() -> None:
    with pytest.raises(InputError, match="the parameter 'least' is missing") as caught:
        bind([declared("least", "int >= 1")], {})
    assert "least=VALUE, an integer of at least 1" in caught.value.hint


def test_the_error_for_an_unknown_parameter_suggests_a_similar_name() -> None:
    forest, least = declared("forest", "forest"), declared("least", "int", 2)
    with pytest.raises(InputError, match="the query has no parameter 'forrest'") as caught:
        bind([forest, least], {"forrest": "S4:multiple:1234"})
    assert caught.value.hint == "did you mean 'forest'? the parameters are forest, least"
    with pytest.raises(InputError, match="no parameter 'x'") as caught:
        bind([], {"x": 1})
    assert caught.value.hint == "remove the parameter"


def test_a_given_parameter_value_overrides_the_default() -> None:
    least = declared("least", "int", 2)
    assert bind([least], {}) == {"least": 2}
    assert bind([least], {"least": "3"}) == {"least": 3}


def test_the_default_of_a_parameter_must_have_the_declared_type() -> None:
    with pytest.raises(InputError, match="'least' must be an integer, not 'two'"):
        declared("least", "int", "two")


ON_TOPOLOGY = [declared("topology", "topology"), declared("node", "node")]


def test_a_node_parameter_must_belong_to_the_topology_that_another_parameter_names() -> None:
    assert bind(ON_TOPOLOGY, {"topology": "S4", "node": "4321"})["node"] == "4321"
    ten = bind(ON_TOPOLOGY, {"topology": "S10", "node": "A987654321"})
    assert ten["node"] == "a987654321"
    for label in ("4322", "54321"):
        with pytest.raises(InputError, match=f"'{label}'"):
            bind(ON_TOPOLOGY, {"topology": "S4", "node": label})
    for spec in ["S0", "S13", "T4", "S5,9", ""]:
        with pytest.raises(InputError):
            bind(ON_TOPOLOGY, {"topology": spec, "node": "4321"})


def test_labels_in_the_wrong_case_are_replaced_by_the_labels_in_the_graph() -> None:
    """The server compares strings exactly, so it would find no node of this label."""
    parameters = [*ON_TOPOLOGY, declared("dead", "list of link", [])]
    ring = network([("Oslo", "Bergen"), ("Bergen", "stavanger"), ("stavanger", "Oslo")])
    for spec, node, stored, link, stored_link in [
        ("FT4", "A0.0", "a0.0", "A0.0-E0.0", "a0.0-e0.0"),
        (ring.spec, "oslo", "Oslo", "BERGEN-oslo", "Bergen-Oslo"),
        ("S10", "A987654321", "a987654321", "123456789A-213456789a", "123456789a-213456789a"),
    ]:
        found = bind(parameters, {"topology": spec, "node": node, "dead": link})
        assert (found["node"], found["dead"]) == (stored, [stored_link])


def test_nodes_and_ends_of_links_may_be_given_by_their_ranks() -> None:
    parameters = [*ON_TOPOLOGY, declared("dead", "list of link", [])]
    found = bind(parameters, {"topology": "S4", "node": "#6", "dead": "#0-2134,#6-#0"})
    assert (found["node"], found["dead"]) == ("2134", ["1234-2134", "2134-1234"])
    with pytest.raises(InputError, match="S4 has no node of rank 24"):
        bind(parameters, {"topology": "S4", "node": "#24"})


@pytest.mark.parametrize("kind", ["forest", "schedule"])
def test_a_node_parameter_must_belong_to_the_topology_of_the_given_forest_or_schedule(
    kind: str,
) -> None:
    parameters = [declared("artifact", kind), declared("nodes", "list of node")]
    values = {"artifact": "S3:multiple:123", "nodes": "213,321"}
    assert bind(parameters, values)["nodes"] == ["213", "321"]
    with pytest.raises(InputError, match="'214'"):
        bind(parameters, {**values, "nodes": "213,214"})


def test_a_node_parameter_may_belong_to_any_of_several_given_topologies() -> None:
    parameters = [*ON_TOPOLOGY, declared("second", "topology")]
    assert bind(parameters, {"topology": "S3", "second": "S4", "node": "4321"})["node"] == "4321"
    with pytest.raises(InputError, match="'54321'"):
        bind(parameters, {"topology": "S3", "second": "S4", "node": "54321"})


def test_the_ends_of_a_link_parameter_must_be_adjacent_and_may_be_in_either_order() -> None:
    parameters = [declared("topology", "topology"), declared("dead", "list of link", [])]
    for spec, link, other in [
        ("S4", "1234-2134", "1234-1243"),
        ("S5,2", "12-32", "12-23"),
        ("Q3", "000-010", "000-011"),
        ("S10", "123456789a-213456789a", "123456789a-132456789a"),
    ]:
        first, second = link.split("-")
        both = [link, f"{second}-{first}"]
        assert bind(parameters, {"topology": spec, "dead": ",".join(both)})["dead"] == both
        assert bind(parameters, {"topology": spec, "dead": ""})["dead"] == []
        assert bind(parameters, {"topology": spec})["dead"] == []
        with pytest.raises(InputError, match=f"'{other}' is not a link of {spec}") as caught:
            bind(parameters, {"topology": spec, "dead": f"{link},{other}"})
        assert second in caught.value.hint


def test_both_ends_of_a_link_parameter_must_be_nodes() -> None:
    parameters = [declared("forest", "forest"), declared("dead", "link")]
    for wrong, end in {"1234-2135": "'2135'", "12345-21345": "'12345'"}.items():
        with pytest.raises(InputError, match=end):
            bind(parameters, {"forest": "S4:multiple:1234", "dead": wrong})


def test_a_label_pattern_must_have_the_length_and_symbols_of_node_labels() -> None:
    parameters = [declared("topology", "topology"), declared("members", "pattern")]
    assert bind(parameters, {"topology": "S4", "members": "**3*"})["members"] == "**3*"
    for spec, pattern in {"S5,2": "3*", "S9,4": "5*6*", "Q3": "1*0"}.items():
        assert bind(parameters, {"topology": spec, "members": pattern})["members"] == pattern
    for wrong in ("**3", "**5*", "**?*", ""):
        with pytest.raises(InputError, match="is not a label pattern of S4"):
            bind(parameters, {"topology": "S4", "members": wrong})


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_integer_of_64_bits_is_accepted_as_text(number: int) -> None:
    assert bound("int", str(number)) == number


@given(st.sampled_from(sorted(KINDS)), st.text())
def test_any_text_given_as_a_parameter_is_accepted_or_raises_an_input_error(
    name: str, text: str
) -> None:
    """No other exception is raised. An accepted value is accepted again unchanged."""
    kind = Type.parse(name)
    with suppress(InputError):
        value = bound(name, text)
        assert kind.value(value) == value


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def _endless() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


class Word(StrEnum):
    """An enumeration whose members are instances of a subclass of `str`."""

    BIG = "big"


@pytest.mark.parametrize(
    ("given_value", "value"),
    [
        (-(2**63), -(2**63)),
        (2**63 - 1, 2**63 - 1),
        (True, True),
        (None, None),
        (b"x", b"x"),
        (Word.BIG, "big"),
        ((1, (2,)), [1, [2]]),
        ({2, 1}, [1, 2]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (range(3), [0, 1, 2]),
        (deque([1]), [1]),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.float32(1.5), 1.5),
        (np.str_("x"), "x"),
        (np.array([[1, 2]], dtype=np.uint8), [[1, 2]]),
        (np.array([{1}, "a"], dtype=object), [[1], "a"]),
        (date(2026, 1, 1), date(2026, 1, 1)),
        (np.datetime64("2026-01-01"), np.datetime64("2026-01-01")),
        (_nested(99), _nested(99)),
    ],
)
@pytest.mark.whole
def test_a_parameter_value_is_converted_to_a_type_that_the_neo4j_driver_accepts(
    given_value: object, value: object
) -> None:
    converted = convert_value("x", given_value)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (2**63, "contains an integer of 65 bits, but the integers of Neo4j have 64"),
        (-(2**63) - 1, "contains an integer of 65 bits, but the integers of Neo4j have 64"),
        ([10**5_000], "contains an integer of 16,611 bits, but the integers of Neo4j have 64"),
        (np.uint64(2**64 - 1), "contains an integer of 65 bits, but the integers of Neo4j have 64"),
        (
            "a\udc80",
            r"contains an unpaired surrogate, which is not a character: 'a\udc80'",
        ),
        ({"\ud800": 1}, r"contains an unpaired surrogate, which is not a character: '\ud800'"),
        ({1: 2}, "contains the key 1, which is not text"),
        ([{None: 2}], "contains the key None, which is not text"),
        (_nested(100), "is nested more than 100 levels deep"),
        (_endless(), "is nested more than 100 levels deep"),
        (Decimal("1.5"), "is of type Decimal, which Neo4j does not have"),
        (iter([1]), "is of type list_iterator, which Neo4j does not have"),
        (Path("x"), f"is of type {type(Path()).__name__}, which Neo4j does not have"),
        (1j, "is of type complex, which Neo4j does not have"),
        ([memoryview(b"x")], "is of type memoryview, which Neo4j does not have"),
    ],
)
@pytest.mark.whole
def test_a_value_that_neo4j_does_not_support_is_refused(value: object, problem: str) -> None:
    """The message is the same whether or not the query declares a type for the parameter."""
    typed = declared("x", "list of string")
    for convert in (partial(convert_value, "x"), typed.value):
        with pytest.raises(InputError) as caught:
            convert(value)
        assert caught.value.message == f"the parameter 'x' {problem}"


def test_list_parameters_can_be_given_as_arrays_or_sets() -> None:
    assert bound("list of int", np.array([1, 2])) == [1, 2]
    assert bound("list of node", {"21", "12"}) == ["12", "21"]
    assert bound("int", np.int32(7)) == 7


def test_an_integer_of_65_bits_is_refused_as_a_number_and_as_text() -> None:
    for value in (2**63, str(2**63)):
        with pytest.raises(InputError, match="'x' contains an integer of 65 bits"):
            bound("int", value)


TOO_LARGE = (
    "the parameter 'min_load' contains an integer of 65 bits, but the integers of Neo4j have 64"
)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("9223372036854775808", TOO_LARGE),
        ("2.5", "the parameter 'min_load' must be an integer of at least 1, not '2.5'"),
    ],
)
def test_an_invalid_value_gives_the_same_message_in_shell_python_and_web(
    starcast: Starcast, client: "TestClient", tmp_path: Path, value: str, sentence: str
) -> None:
    query, given_value = "overlap/shared-links", {"forest": "S4:multiple:1234", "min_load": value}
    words = [f"{name}={text}" for name, text in given_value.items()]
    error, hint = refused(starcast(f"--home {tmp_path} query run {query}", *words), 2)
    assert error == sentence
    with pytest.raises(InputError) as caught:
        Lab(Settings.load).query(query, given_value)
    assert (caught.value.message, caught.value.hint) == (error, hint)
    problem = client.get(f"/api/v1/queries/{query}/answer", params=given_value).json()
    assert (problem["status"], problem["detail"], problem["hint"]) == (422, error, hint)
    page = client.get(f"/queries/{query}", params=given_value).text
    assert sentence in unescape(page)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("x:=9223372036854775808", "the parameter 'x' contains an integer of 65 bits"),
        ('x:=["\\ud800"]', "the parameter 'x' contains an unpaired surrogate"),
        ("x=\udc80", "the parameter 'x' contains an unpaired surrogate"),
        (f"x:={'[' * 101}{']' * 101}", "the parameter 'x' is nested more than 100 levels deep"),
    ],
)
@pytest.mark.whole
def test_invalid_parameter_values_are_refused_before_connecting_to_a_server(
    starcast: Starcast, tmp_path: Path, words: str, sentence: str
) -> None:
    command = f"--home {tmp_path} query ask 'RETURN $x AS x'"
    assert refused(starcast(command, words), 2)[0].startswith(sentence)
