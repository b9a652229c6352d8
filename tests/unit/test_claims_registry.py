"""The data files of claims, and the registration of checks. Errors name the file and the line."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from starcast_papers.common import lower_bound_counts

from starcast import network, schedule, topology
from starcast.claims import catalogue, registry
from starcast.claims.cached_topology import CachedTopology, ObjectCache
from starcast.claims.catalogue import Claim, Paper
from starcast.claims.check import ClaimCheck
from starcast.claims.pack_file import read_pack_file
from starcast.claims.registry import executions, forests
from starcast.support.errors import InputError
from starcast.trees.model import Forest

PAPER = Paper("MINE", "Mine 2026", (), "", 2026, "")
FILE = """\
[paper]
citation = "Mine 2026"
year = 2026

[[claim]]
id = "MINE.X1"
number = "Lemma 1"
statement = \"\"\"
a
 statement\"\"\"
notation = "A statement"
sizes = { family = "star", quick = 4, full = 5, deep = 6 }
"""
ReadClaims = Callable[[str], dict[str, Claim]]


@pytest.fixture
def read(tmp_path: Path) -> ReadClaims:
    """Return a function that writes a text to the file mine/claims.toml and reads its claims."""
    path = tmp_path / "mine" / "claims.toml"
    path.parent.mkdir()

    def read_text(text: str) -> dict[str, Claim]:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return catalogue.read_claims(read_pack_file(path), PAPER)

    return read_text


def test_line_breaks_in_the_statement_of_a_claim_are_removed(read: ReadClaims) -> None:
    claim = read(FILE)["MINE.X1"]
    assert (claim.statement, claim.notation, claim.parts) == ("a statement", "A statement.", ())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("year = 2026", "yaer = 2026", ":3: the paper has the unknown key 'yaer'"),
        ("year = 2026", 'year = "then"', ":3: 'year' of the paper: Input should be"),
        ("year = 2026", "year =", ":3: Invalid value"),
        ("[[claim]]", "[[other]]", ":5: the file has the unknown key 'other'"),
        (FILE.partition("\n\n")[2], "", ":1: the file has no 'claim'"),
        ('family = "star", quick = 4, full = 5, deep = 6', 'only = ["S4"], quick = ["S5"]',
         ":12: claim MINE.X1: 'sizes' has keys that are not a valid"),
        ("deep = 6", "deep = 60000", ":12: 'deep' of the table of sizes of claim MINE.X1: "),
        ("Mine 2026", "\udcff", ":2: line 2 is not valid UTF-8"),
        ("[[claim]]", "[claim]", ":5: 'claim' of the file: begin each claim with [[claim]]"),
        (FILE, 'claim = ["a"]\n[paper]\ncitation = "A"\nyear = 1',
         ":1: 'claim' of the file: begin each claim with [[claim]]"),
        ("quick = 4", 'quick = "S4"', ":12: 'quick' of the table of sizes of claim MINE.X1: write"),
        ('"Mine 2026"', '" "', ":2: 'citation' of the paper: it is empty"),
        ("MINE.X1", "MINE X1", ":6: 'id' of claim MINE X1: write the paper's key, a dot, and"),
        ("year =", 'authors = "Ada"\nyear =', ":3: 'authors' of the paper: write a list"),
        ("[[claim]]", "[[claims]]", ":5: the file has the unknown key 'claims'"),
        ("MINE.X1", "NK.L1", ":6: the id of claim 'NK.L1' does not begin with 'MINE.'"),
        ("notation =", "words =", ":11: claim MINE.X1 has the unknown key 'words'"),
        ('number = "Lemma 1"', "", ":5: claim MINE.X1 has no 'number'"),
        ('notation = "A statement"', "", ":12: claim MINE.X1: the key 'notation' or the key"),
        ("notation", 'record = "best"\nnotation', ":11: 'record' of claim MINE.X1: unknown"),
        ('"star"', '"torus"', ":12: claim MINE.X1: 'sizes' with the key 'family' must name one"),
        (", deep = 6", "", ":12: claim MINE.X1: 'sizes' with the key 'family' must name one"),
        ("deep = 6", "deap = 6", ":12: the table of sizes of claim MINE.X1 has the"),
        ('family = "star", quick = 4, full = 5, deep = 6', 'only = ["S4,9"]',
         ":12: claim MINE.X1: "),
        ("deep = 6", 'deep = 6, omit = ["S4,9"]', ":12: claim MINE.X1: "),
        ("deep = 6", 'deep = 6, beyond = ["S4"]',
         ":12: claim MINE.X1: the size S4 is both within and beyond the scope of the claim"),
        ("deep = 6", "deep = 6, least = 5", ":12: claim MINE.X1: the level quick has no sizes"),
        ("notation", "conjunction = true\nnotation", ":5: claim MINE.X1 is a conjunction, but no"),
    ],
)  # fmt: skip
def test_the_error_for_a_malformed_claims_file_names_the_line(
    old: str, new: str, message: str, read: ReadClaims
) -> None:
    with pytest.raises(InputError) as caught:
        read(FILE.replace(old, new))
    assert f"claims.toml{message}" in caught.value.message


def test_a_claim_that_is_declared_twice_is_refused(read: ReadClaims) -> None:
    with pytest.raises(InputError, match=r"claims\.toml:14: claim MINE.X1 is declared twice"):
        read(FILE + FILE.partition("\n\n")[2])


def test_a_conjunction_within_a_conjunction_is_replaced_by_its_parts(read: ReadClaims) -> None:
    """A conjunction is a claim that consists of other claims."""
    claim = FILE.partition("\n\n")[2]
    whole = '[[claim]]\nid = "{}"\nnumber = "1"\nstatement = "s"\nconjunction = true\n'
    names = ("MINE.X1.a.b", "MINE.X1.c")
    text = "".join(claim.replace("MINE.X1", name) for name in names)
    text = whole.format("MINE.X1") + whole.format("MINE.X1.a") + text
    claims = read(FILE.partition("\n\n")[0] + "\n\n" + text)
    assert claims["MINE.X1"].parts == names
    assert claims["MINE.X1"].sizes == claims["MINE.X1.c"].sizes
    assert claims["MINE.X1.a"].parts == names[:1]


@pytest.mark.parametrize(
    ("sizes", "full", "deep"),
    [
        ('family = "star", quick = 4, full = 5, deep = 5, omit = ["S4"]', "S3 S5", "S3 S5"),
        ('only = ["S4"]', "S4", "S4"),
        ('quick = ["P4"], full = ["P5", "P6"]', "P4 P5 P6", "P4 P5 P6"),
        ('quick = ["P4"], deep = ["P5"]', "P4", "P4 P5"),
        ('quick = ["P4", "P4"], full = ["P4", "P5"]', "P4 P5", "P4 P5"),
    ],
)
def test_the_sizes_of_a_claim_are_given_by_a_family_or_one_list_or_a_list_per_level(
    sizes: str, full: str, deep: str, read: ReadClaims
) -> None:
    text = FILE.replace('family = "star", quick = 4, full = 5, deep = 6', sizes)
    found = read(text)["MINE.X1"].sizes
    assert (" ".join(found.full), " ".join(found.deep)) == (full, deep)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return this test module. Checks that a test registers in it are removed after the test."""
    this = sys.modules[__name__]
    monkeypatch.setattr(this, registry._CHECKS, {}, raising=False)
    return this


def test_registering_two_checks_for_one_claim_is_refused(module: ModuleType) -> None:
    registry.checks("MINE.X1")(lambda _: None)
    assert registry.registered_checks(module.__name__).keys() == {"MINE.X1"}
    with pytest.raises(InputError, match=r"test_claims_registry.py:\d+: claim MINE.X1 has two"):
        registry.checks("MINE.X1")(lambda _: None)


def test_a_check_that_takes_forests_is_called_once_for_every_forest(module: ModuleType) -> None:
    roots = []

    @registry.checks("MINE.X1", given=forests("multiple", roots=2))
    def record_root(check: ClaimCheck, forest: Forest) -> None:
        roots.append((check.topology.spec, forest.root))

    registered = registry.registered_checks(module.__name__)["MINE.X1"]
    registered.check(ClaimCheck(topology("S3"), ObjectCache()))
    assert roots == [("S3", root) for root in range(6)]
    assert registered.section == record_root.__module__


def test_schedules_that_are_too_large_are_not_compared_with_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The allgather `ring` of S_7 would have 25 million rows, or more for several messages."""
    network = CachedTopology(topology("S7"), ObjectCache())
    requested: list[str] = []
    monkeypatch.setattr(network, "schedule", lambda *names, **_: requested.append(names[1]))
    list(lower_bound_counts.catalogue_schedules(network, "allgather", "all", (0,)))
    assert "ring" not in requested
    assert "necklace" in requested


@pytest.mark.parametrize("spec", ["RR20,3,1", "FT4"])
def test_the_cached_diameter_of_an_irregular_network_equals_its_diameter(spec: str) -> None:
    network = CachedTopology(topology(spec), ObjectCache())
    assert network.diameter == topology(spec).diameter


def test_a_port_without_a_link_does_not_count_as_a_neighbour() -> None:
    square_with_a_leaf = CachedTopology(
        network([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)]), ObjectCache()
    )
    assert square_with_a_leaf.degrees.tolist() == [3, 2, 2, 2, 1]


def test_switches_do_not_count_in_the_number_of_units_per_message() -> None:
    check = ClaimCheck(topology("FT4"), ObjectCache())
    execution = registry.execute(check, "allgather", "greedy")
    assert execution.share == execution.steps


@pytest.mark.parametrize(
    ("collective", "algorithm", "share"),
    [("alltoall", "exact", 21), ("reduce", "greedy", 4), ("allreduce", "greedy", 8)],
)
def test_the_share_of_an_execution_counts_the_units_of_one_message(
    collective: str, algorithm: str, share: int
) -> None:
    check = ClaimCheck(topology("S4"), ObjectCache())
    assert registry.execute(check, collective, algorithm).share == share


def test_the_used_links_of_a_schedule_are_listed_by_port_on_every_topology() -> None:
    binomial = schedule("Q3", "broadcast", "binomial")
    used = registry.used_links(binomial)
    sends = {*zip(binomial.sender.tolist(), binomial.port.tolist(), strict=True)}
    assert {(node, slot + 1) for node, slot in np.argwhere(used).tolist()} == sends


def test_every_executed_schedule_adds_a_finding_to_the_evidence() -> None:
    check = ClaimCheck(topology("S4"), ObjectCache())
    found = list(executions("broadcast", "recursive-substar", messages=(1, 2))(check))
    assert [execution.messages for execution in found] == [1, 2]
    assert [finding.met for finding in check.evidence("TS.X1").findings] == [True, True]


def test_optimality_claims_name_their_search_problem() -> None:
    """Records of this search problem contain the best known values for the subject of the claim."""
    claims = catalogue.claims()
    assert claims["EDT.depth"].record == "edge-disjoint-trees"
    assert claims["SLC.LB-oneport"].record == "one-port-broadcast"
