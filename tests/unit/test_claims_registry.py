"""The data files of claims and the registration of checks; errors contain the claim's id."""

from collections.abc import Iterator
from typing import Any

import pytest

from starcast import StarcastError, topology
from starcast.claims import catalogue, lower_bound_counts, registry
from starcast.claims.cached_topology import CachedTopology, ObjectCache
from starcast.claims.catalogue import Paper, parse_entry, parse_sizes
from starcast.claims.check import ClaimCheck
from starcast.claims.registry import executions, forests
from starcast.trees.model import Forest

PAPER = Paper("TS", "Tseng & Sheu 1997", (), "", 1997, "")
ENTRY: dict[str, Any] = {
    "id": "TS.X1",
    "number": "Lemma 1",
    "statement": "a\n statement",
    "notation": "A statement.",
    "sizes": {"family": "star", "quick": 4, "full": 5, "deep": 6},
}


@pytest.fixture
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the test with a copy of the registered checks and without cached claims."""
    list(catalogue.claims())  # imports all checks, which registers them
    monkeypatch.setattr(registry, "_CHECKS", dict(registry.registered_checks()))
    catalogue.claims.cache_clear()
    yield
    catalogue.claims.cache_clear()


def test_line_breaks_in_a_statement_are_removed() -> None:
    entry = parse_entry(ENTRY, PAPER)
    assert (entry.statement, entry.parts) == ("a statement", ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "NK.L1"}, "the id of claim 'NK.L1' does not begin with 'TS.'"),
        ({"words": ""}, "claim TS.X1 has unknown keys: words"),
        ({"record": "optimal-trees"}, "claim TS.X1 points to the records of an unknown problem"),
        ({"sizes": {"family": "torus"}}, "claim TS.X1 has unknown family 'torus'"),
        ({"sizes": {"family": "star", "quick": 4}}, "claim TS.X1 has malformed sizes"),
        ({"sizes": {"only": ["S4,9"]}}, "claim TS.X1 has a malformed size"),
    ],
)
def test_a_malformed_entry_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(StarcastError, match=message):
        parse_entry({**ENTRY, **change}, PAPER)


def test_an_entry_without_a_required_key_is_refused() -> None:
    entry = {key: value for key, value in ENTRY.items() if key != "notation"}
    with pytest.raises(StarcastError, match=r"claim TS.X1 has no notation"):
        parse_entry(entry, PAPER)


def test_sizes_are_given_by_a_family_or_a_list() -> None:
    family = {"family": "star", "quick": 4, "full": 5, "deep": 5, "omit": ["S4"]}
    assert parse_sizes("TS.X1", family).full == ("S3", "S5")
    assert parse_sizes("TS.X1", {"only": ["S4"]}).quick == ("S4",)


@pytest.mark.usefixtures("empty_registry")
def test_a_check_without_a_claim_is_refused() -> None:
    registry.checks("TS.X1")(lambda _: None)
    with pytest.raises(StarcastError, match=r"checks without a claim in claims\.toml: TS.X1"):
        catalogue.claims()


@pytest.mark.usefixtures("empty_registry")
def test_a_claim_without_a_check_is_refused() -> None:
    del registry._CHECKS["TS.L5"]
    with pytest.raises(StarcastError, match=r"claim TS.L5 has no check"):
        catalogue.claims()


@pytest.mark.usefixtures("empty_registry")
def test_a_second_check_of_a_claim_is_refused() -> None:
    with pytest.raises(StarcastError, match=r"claim TS.L5 has two checks"):
        registry.checks("TS.L5")(lambda _: None)


@pytest.mark.usefixtures("empty_registry")
def test_a_check_that_takes_forests_is_called_once_for_every_forest() -> None:
    roots = []

    @registry.checks("TS.X1", given=forests("multiple", roots=2))
    def record_root(check: ClaimCheck, forest: Forest) -> None:
        roots.append((check.topology.spec, forest.root))

    registered = registry.registered_checks()["TS.X1"]
    registered.check(ClaimCheck(topology("S3"), ObjectCache()))
    assert roots == [("S3", root) for root in range(6)]
    assert registered.section == record_root.__module__


def test_schedules_that_are_too_large_are_not_compared_with_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The allgather `ring` of S_7 would have 25 million rows, and more for several messages."""
    network = CachedTopology(topology("S7"), ObjectCache())
    requested: list[str] = []
    monkeypatch.setattr(network, "schedule", lambda *names, **_: requested.append(names[1]))
    list(lower_bound_counts.catalogue_schedules(network, "allgather", "all", (0,)))
    assert "ring" not in requested
    assert "necklace" in requested


def test_every_executed_schedule_adds_a_finding_to_the_evidence() -> None:
    check = ClaimCheck(topology("S4"), ObjectCache())
    found = list(executions("broadcast", "recursive-substar", messages=(1, 2))(check))
    assert [execution.messages for execution in found] == [1, 2]
    assert [finding.met for finding in check.evidence("TS.X1").findings] == [True, True]


def test_claims_of_optimality_point_to_the_records_of_their_problem() -> None:
    claims = catalogue.claims()
    assert claims["EDT.depth"].record == "edge-disjoint-trees"
    assert claims["SLC.LB-oneport"].record == "one-port-broadcast"
    assert parse_entry(ENTRY, PAPER).record == ""
