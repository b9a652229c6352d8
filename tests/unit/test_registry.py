"""The registries of constructions and algorithms, and the checks of their arguments."""

from dataclasses import replace

import pytest

from starcast.catalogue.entries import Argument, Registry
from starcast.collectives.algorithm import REGISTRIES
from starcast.support.errors import InputError
from starcast.topologies import topology
from starcast.trees.construction import CONSTRUCTIONS, Construction

GREEDY = CONSTRUCTIONS["greedy"]


@pytest.mark.parametrize(
    ("registry", "name", "close"),
    [(CONSTRUCTIONS, "gready", "greedy"), (REGISTRIES["alltoall"], "exakt", "exact")],
)
def test_the_error_for_an_unknown_construction_or_algorithm_suggests_the_closest_name(
    registry: Registry[Construction], name: str, close: str
) -> None:
    with pytest.raises(InputError) as refusal:
        registry.find(name)
    assert refusal.value.message == f"unknown {registry.noun} '{name}'"
    assert refusal.value.hint.startswith(f"did you mean '{close}'?")
    assert str(refusal.value) == f"{refusal.value.message} ({refusal.value.hint})"


def test_a_construction_is_refused_on_a_topology_that_it_does_not_support() -> None:
    with pytest.raises(InputError, match=r"not defined on Q4: it is defined on star graphs"):
        CONSTRUCTIONS.check_topology(GREEDY, topology("Q4"))
    smallest = CONSTRUCTIONS["perfectly-balanced"]
    assert smallest.unsupported_reason(topology("S2")) == "it is defined for n >= 3"
    assert smallest.supports(topology("S3"))


def test_arguments_of_a_construction_have_defaults_or_are_required() -> None:
    required = Argument("i", "a number of places", kind="index", maximum=lambda _: 3)
    entry = replace(GREEDY, arguments=(required, Argument("copies", "copies", lambda _: 2)))
    assert entry.resolve_arguments(topology("S4"), {"i": 3}) == {"i": 3, "copies": 2}
    assert entry.default_arguments(topology("S4")) == {"copies": 2}
    wrong: list[tuple[dict[str, object], str]] = [
        ({}, "needs the argument 'i'"),
        ({"i": 4}, "i is 4, which is out of range on S4"),
        ({"i": True}, "i is True, not an integer"),
        ({"i": 0, "copies": 0}, "copies is 0"),
        ({"i": 0, "copy": 1}, "has no argument 'copy'"),
    ]
    for arguments, message in wrong:
        with pytest.raises(InputError) as refusal:
            entry.resolve_arguments(topology("S4"), arguments)
        assert message in refusal.value.message
        assert refusal.value.hint


def test_the_hint_for_a_negative_index_argument_names_the_maximum_if_there_is_one() -> None:
    for maximum, hint in (
        (lambda _: 3, "use an integer from 0 to 3"),
        (None, "use an integer of 0 or more"),
    ):
        with pytest.raises(InputError) as refusal:
            Argument("i", "an index", kind="index", maximum=maximum).check(topology("S4"), -1)
        assert refusal.value.hint == hint


def test_a_registry_keeps_the_registration_order_and_refuses_duplicate_names() -> None:
    registry = Registry[Construction]("construction")
    other = replace(GREEDY, name="other")
    registry.register(other)
    registry.register(GREEDY)
    assert list(registry) == ["other", "greedy"]
    assert registry.find("other") is registry["other"] is other
    with pytest.raises(InputError, match=r"the construction 'greedy' already exists"):
        registry.register(replace(GREEDY, source="Doe 2026"))
    assert registry.find("greedy") is GREEDY
    assert len(registry) == 2


def test_the_hint_for_a_lower_case_topology_spec_is_the_upper_case_spec() -> None:
    with pytest.raises(InputError) as caught:
        topology("s6,3")
    assert caught.value.hint == "did you mean 'S6,3'?"
