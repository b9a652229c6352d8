"""`starcast claims` with and without servers: output and exit codes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from neo4j import Driver
from sqlalchemy import URL

from starcast import check, forest, schedule
from starcast.claims import Verdict, claims, storage
from starcast.ingest import Stores, ingest, parse_request
from starcast.queries.counterexample import to_cypher
from starcast.stores import GraphAddress
from starcast.stores.database import migrations, sessions
from starcast.stores.graph.connection import Graph
from starcast.support.errors import UnavailableError
from starcast.support.progress import Silent
from support.fix_cli import Result, Starcast, name_store, refused
from support.fix_servers import empty, new_database
from support.stored_runs import cells

LOOK = ("claims", "check", "TS.L5", "TS.h", "--sizes", "S4,S3")


@pytest.fixture
def alone(starcast: Starcast, tmp_path: Path) -> Starcast:
    """Return a function that runs commands without a server."""

    def call(line: str, *words: object) -> Result:
        return starcast(f"--home {tmp_path / 'nowhere'} {line}", *words)

    return call


@pytest.fixture
def stored(database: URL, starcast: Starcast) -> Starcast:
    """Return a function that runs commands on an empty database with the current schema."""
    del database
    return starcast


def rows(result: Result) -> dict[str, dict[str, Any]]:
    """Return the rows of a JSON listing by id."""
    assert result.code == 0, result.err
    return {row["id"]: row for row in result.json}


def test_claims_list_has_every_claim_in_the_order_of_the_papers(alone: Starcast) -> None:
    listed = rows(alone("claims list -f json"))
    assert list(listed) == list(claims())
    expected = {"paper": "Tseng & Sheu 1997", "number": "Lemma 5", "verdict": None}
    assert expected.items() <= listed["TS.L5"].items()
    some = rows(alone("claims list TS -f json"))
    assert list(some) == [name for name in claims() if name.startswith("TS.")]


def test_claims_show_prints_a_claim_and_the_sizes_on_which_it_is_verified(alone: Starcast) -> None:
    result = alone("claims show TS.L5 -f csv")
    facts = {row["property"]: row["value"] for row in result.rows}
    assert facts["statement"] == claims()["TS.L5"].statement
    assert facts["quick_sizes"].startswith("S3 S4 S5 S6")
    assert "verdict" not in facts
    assert result.err == (
        "stored verdicts are not shown: the stack is not running ('starcast up' starts it)\n"
    )


def test_claims_check_without_a_server_reports_once_that_nothing_is_stored(alone: Starcast) -> None:
    result = alone(*LOOK, "-f", "json")
    found = rows(result)
    expected = check("TS.L5", sizes=["S3", "S4"])
    assert found["TS.L5"]["verdict"] == expected.verdict == "fails"
    assert found["TS.L5"]["sizes"] == ["S3", "S4"]
    assert found["TS.L5"]["detail"] == expected.detail
    first, *notes = result.err.strip().splitlines()
    assert first.startswith("nothing is stored: ")
    assert "'starcast up'" in first
    assert "--no-store" in first
    assert re.fullmatch(r"TS: \d+ claims: .*1 fails", notes[-1])
    quiet = alone(*LOOK, "--no-store", "-f", "json")
    assert (quiet.out, quiet.err.strip().splitlines()) == (result.out, notes)


def test_claims_check_prints_details_and_the_number_of_claims_not_about_the_sizes(
    alone: Starcast,
) -> None:
    result = alone("claims check TS.h EDT.Tab3.broadcast-time --sizes S3 --no-store")
    assert result.code == 0
    assert f"TS.h: {check('TS.h', sizes=['S3']).detail}\n" in result.err
    assert "1 claim is omitted: it, or one of its parts, is not about these sizes" in result.err


def test_claims_show_prints_the_cypher_query_even_if_no_verdict_is_stored(alone: Starcast) -> None:
    assert alone("claims show TS.L5 --cypher").out == to_cypher(check("TS.L5")) + "\n"
    shown = alone("claims show TS.size --cypher")
    assert "has no counterexample" in refused(shown, 3, remarks=True)[0]


def test_verdicts_are_stored_listed_shown_and_reported(stored: Starcast, tmp_path: Path) -> None:
    first = stored(*LOOK, "-f", "json")
    assert "stored as verification run 1\n" in first.err
    assert list(rows(stored("claims", "list", "--verdict", "fails", "-f", "json"))) == ["TS.L5"]
    facts = stored("claims", "show", "TS.L5", "-f", "json").json
    assert (facts["verdict"], facts["run"], facts["verified_on"]) == ("fails", 1, ["S3", "S4"])
    assert facts["counterexample"] == "n = 3, i = 2: found 4, stated 5"
    assert facts["verified_by"].startswith("starcast ")
    query = to_cypher(check("TS.L5", sizes=["S3", "S4"]))
    assert stored("claims", "show", "TS.L5", "--cypher").out == f"{query}\n"
    page = stored("claims", "report").out
    assert page.startswith("# Claims\n\nVerification run: 1 (TS.L5 TS.h, S3 S4)")
    assert all(f"| {name} | " in page for name in rows(first))
    written = stored("claims", "report", "--run", "1", "--out", str(tmp_path / "page.html"))
    assert (written.code, written.out) == (0, "")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_verdicts_that_cannot_be_stored_are_still_printed(
    stored: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the connection is lost, nothing is stored, but the computed verdicts are printed."""
    lost = UnavailableError("the connection was lost", hint="start the server")
    monkeypatch.setattr(storage, "save_claim_run", Mock(side_effect=lost))
    result = stored(*LOOK, "-f", "json")
    assert result.code == 4
    assert [row["id"] for row in result.json] == ["TS.L5", "TS.h"]
    assert "nothing is stored\n" in result.err
    assert result.err.endswith("error: the connection was lost\nhint: start the server\n")


def test_claims_changed_lists_verdicts_that_differ_between_two_runs(stored: Starcast) -> None:
    assert "no verification run" in refused(stored("claims", "changed"), 3)[0]
    assert stored(*LOOK).code == 0
    assert "before run 1" in refused(stored("claims", "changed"), 3)[0]
    assert stored("claims", "check", "TS.L1", "TS.h", "--sizes", "S3").code == 0
    for runs in ((), ("1", "2")):
        result = stored("claims", "changed", *runs, "-f", "json")
        assert result.json == [{"id": "TS.L1", "before": "", "after": "holds as a bound"}]
        assert "1 claim of run 1 is not requested in run 2" in result.err
    reverse = stored("claims", "changed", "2", "1", "-f", "json")
    assert reverse.json == [{"id": "TS.L5", "before": "", "after": "fails"}]
    listed = stored("claims", "runs", "-f", "json").json
    found = cells(listed, "run", "claims", "at", "fails")
    assert found == [(1, "TS.L5 TS.h", "S3 S4", 1), (2, "TS.L1 TS.h", "S3", 0)]
    unknown = refused(stored("claims", "report", "--run", "9"), 3)
    assert unknown[0] == "no verification run 9 is stored"
    assert "no differences" in stored("claims", "changed", "1", "1").err


def test_without_a_database_schema_the_error_names_the_upgrade_command(
    starcast: Starcast, fresh_database: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, fresh_database)
    assert "starcast db upgrade" in refused(starcast(*LOOK), 6)[1]
    listed = starcast("claims list SLC")
    assert (listed.code, "starcast db upgrade" in listed.err) == (0, True)


# The test below runs the query for each kind of counterexample in Neo4j. Each query begins with a
# comment that gives the ingest command for the data that it needs.


def failed(place: dict[str, int | str], of: str = "") -> Verdict:
    """Return the verdict ``fails`` with a counterexample at `place` in the artifact named `of`."""
    counterexample = {**place, "found": "it's \\ so", "stated": 2}
    return Verdict("TS.L5", "fails", ("S4", "S4,2", "Q3"), counterexample, "", of=of)


FOREST = "S4:multiple:4321"
SCHEDULE = "S4:broadcast:multiple:all:segments=2:1234"


def sends(**columns: int) -> int:
    """Return the number of rows of SCHEDULE with the given column values."""
    planned = schedule("S4", "broadcast", "multiple", ports="all", segments=2)
    matches = [getattr(planned, name) == value for name, value in columns.items()]
    return int(np.all(matches, axis=0).sum())


#: Counterexamples of every kind. Each has a place, the id of the artifact (empty for a topology),
#: and the number of rows that the query finds.
PLACES: dict[str, tuple[dict[str, int | str], str, int]] = {
    "topology": ({"n": 4}, "", 1),
    "nk topology": ({"n": 4, "k": 2}, "", 1),
    "cube": ({"k": 3}, "", 1),
    "node": ({"n": 4, "node": "4321"}, "", 3),
    "nk node": ({"n": 4, "k": 2, "node": "12"}, "", 3),
    "two nodes": ({"n": 4, "node": "4321", "other": "1234"}, "", 6),
    "cube node": ({"k": 3, "node": "010"}, "", 3),
    "link": ({"n": 4, "link": "1234 -> 2134"}, "", 1),
    "cube link": ({"k": 3, "link": "000 -> 100"}, "", 1),
    "forest": ({"n": 4}, FOREST, 1),
    "link of a forest": ({"n": 4, "link": "1234 -> 2134"}, FOREST, 1),
    "tree": ({"n": 4, "tree": 1}, FOREST, 23),
    "node of a tree": ({"n": 4, "tree": 1, "node": "4321"}, FOREST, 1),
    "forest with arguments": ({"n": 4, "tree": 0}, "S4:dimension-change(base=greedy,i=2):1234", 23),
    "schedule": ({"n": 4}, SCHEDULE, 1),
    "step": ({"n": 4, "step": 2}, SCHEDULE, sends(step=2)),
    "node in a step": ({"n": 4, "step": 1, "node": "1234"}, SCHEDULE, sends(step=1, sender=0)),
    "tree of a schedule": ({"n": 4, "tree": 0}, SCHEDULE, sends(tree=0)),
    "link of a schedule": ({"n": 4, "link": "1234 -> 2134"}, SCHEDULE, sends(sender=0, port=2)),
    "nothing that an ingest builds": ({"n": 4, "node": "1234", "tree": 1}, "S4:array:1234", 3),
}


@pytest.fixture(scope="module")
def graph(store_url: URL, graph_address: GraphAddress, graph_driver: Driver) -> Iterator[Graph]:
    """Yield a graph filled by the ingest commands in the first comments of all queries."""
    queries = "\n".join(to_cypher(failed(place, of)) for place, of, _ in PLACES.values())
    commands = dict.fromkeys(re.findall("^// (starcast ingest .*)$", queries, re.MULTILINE))
    empty(graph_address, graph_driver)
    with new_database(store_url) as url, Graph.open(graph_address) as opened:
        engine = sessions.connect(url)
        migrations.upgrade(engine, Silent())
        for command in commands:
            _, _, spec, *flags = shlex.split(command)
            names = (flag.removeprefix("--") for flag in flags[::2])
            words = dict(zip(names, flags[1::2], strict=True))
            ingest(Stores(engine, opened, 1_000), parse_request(spec, **words))  # type: ignore[arg-type]
        yield opened
        engine.dispose()
    empty(graph_address, graph_driver)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLACES)
def test_the_query_of_a_counterexample_finds_it_in_the_graph(graph: Graph, kind: str) -> None:
    place, of, expected = PLACES[kind]
    query = to_cypher(failed(place, of))
    found = graph.read(query)
    assert len(found) == expected
    if kind == "link of a forest":
        load = forest("S4", "multiple", root="4321").load()
        assert len(found[0]["down"]) == load[0, 0]
    if kind == "tree":
        assert found[0]["level"] == forest("S4", "multiple", root="4321").heights[1]
