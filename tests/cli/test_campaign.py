"""A short fault-injection campaign with a fixed seed; `make campaign` runs for some minutes.

There is one test case for each kind of action. An action that violates an invariant fails its case,
and can be reproduced from its kind, seed and number.
"""

import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from neo4j import Driver
from sqlalchemy import URL

from campaign import fuzz
from campaign.actions import KINDS, Entry, choose, perform, summarize
from campaign.floods import ATTACKS, attack
from campaign.output import Done, find_problems
from campaign.proxy import Fault, Proxy
from campaign.servers import Servers
from starcast.stores import GraphAddress
from starcast.stores.database import migrations, sessions
from starcast.support.errors import UnavailableError
from starcast.support.progress import Silent
from support.fix_servers import empty, new_database

pytestmark = pytest.mark.slow

SEED = 14
#: The number of inputs or actions of each kind.
SLICE = {
    "fuzzed input": 250,
    "fuzzed command": 40,
    "full output": 2,
    "kill": 2,
    "connection fault": 2,
    "crowd": 1,
    "flood": 1,
    "forgery": 4,
    "odd streams": 8,
    "odd session": 3,
}


@pytest.fixture(scope="module")
def servers(
    graph_address: GraphAddress,
    graph_driver: Driver,
    store_url: URL,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Servers]:
    """A separate database and a cleared graph, filled with the baseline data of a campaign."""
    empty(graph_address, graph_driver)
    with new_database(store_url) as url:
        engine = sessions.connect(url)
        migrations.upgrade(engine, Silent())
        engine.dispose()
        prepared = Servers(graph_address, url, tmp_path_factory.mktemp("campaign"))
        prepared.prepare()
        yield prepared
    empty(graph_address, graph_driver)


@pytest.mark.parametrize("kind", SLICE)
def test_campaign_actions_of_each_kind_violate_no_invariant(servers: Servers, kind: str) -> None:
    entry = perform(servers, SEED, 0, kind, SLICE[kind])
    assert entry.problems == ()
    assert sum(entry.results.values()) == SLICE[kind]


@pytest.mark.parametrize("name", ATTACKS)
def test_pages_load_during_an_attack_on_the_web_server(tmp_path: Path, name: str) -> None:
    """Attacks send many slow, large or malformed requests. The server has no databases."""
    nowhere = Servers(GraphAddress("bolt://127.0.0.1:1", "", ""), URL.create("x"), tmp_path)
    assert attack(nowhere, name, Random(14)) == []  # noqa: S311 - repeatable


def test_every_kind_of_campaign_action_that_needs_no_embedded_stack_is_tested() -> None:
    assert set(SLICE) == {name for name, kind in KINDS.items() if not kind.needs_home}


def test_changed_baseline_data_are_reported_as_a_problem(servers: Servers) -> None:
    """A campaign thus notices if one of its actions changes or deletes stored data."""
    baseline = servers.snapshot()
    assert servers.find_problems(baseline, finished=True) == []
    assert servers.find_problems("[]", finished=True) == ["the runs of the baseline changed"]
    assert servers.run("forest", "drop", "S4:greedy:1234").code == 0
    assert servers.find_problems(baseline, finished=True) == ["S4:greedy:1234 is lost"]
    servers.prepare()
    assert servers.find_problems(baseline, finished=True) == []


@pytest.mark.parametrize(
    ("code", "err", "problem"),
    [
        (None, "", "still running"),
        (1, "error: starcast itself failed: KeyError: 1\nhint: please report it\n", "an internal"),
        (0, "Traceback (most recent call last):\nKeyError", "a traceback"),
        (-11, "", "not documented"),
        (99, "", "not documented"),
        (2, "", "0 errors and 0 hints"),
        (2, "error: wrong\n", "1 error and 0 hints"),
        (2, "error: wrong\nerror: again\nhint: try\n", "2 errors and 1 hint"),
        (2, f"error: {'x' * 2_000}\nhint: try\n", "2007 characters"),
        (2, "error: \x1b[31mwrong\nhint: try\n", "control characters"),
    ],
)
def test_undocumented_exit_codes_and_error_messages_are_reported_as_problems(
    code: int | None, err: str, problem: str
) -> None:
    (found,) = find_problems(Done(("x",), code, "", err))
    assert problem in found


def test_documented_exit_codes_and_error_messages_are_not_reported_as_problems() -> None:
    for code, err in ((0, ""), (130, "interrupted\n"), (3, "error: none is stored\nhint: list\n")):
        assert find_problems(Done(("x",), code, "", err)) == []
    assert find_problems(Done(("x",), -9, "", ""), signals=frozenset({9})) == []
    assert find_problems(Done(("x",), -9, "", ""), signals=frozenset({15})) != []


def test_the_summary_of_a_campaign_counts_actions_results_and_problems() -> None:
    entries = [
        Entry(0, 7, "kill", "kill after 1 s: ingest S5", {"exit -9": 1}, (), 3.5),
        Entry(1, 7, "kill", "terminate", {"exit 130": 1}, ("S4 is lost",), 2.5),
    ]
    assert summarize(entries)[2:] == ["| kill | 2 | exit -9: 1, exit 130: 1 | 1 | 6 |"]


@pytest.mark.parametrize("kind", fuzz.TEXTS)
def test_example_texts_are_valid_before_fuzzing(tmp_path: Path, kind: str) -> None:
    """If an example were invalid, every changed copy would be refused, whatever the change."""
    # The servers that the URIs name refuse connections.
    refused = pytest.raises(UnavailableError) if "URI" in kind else nullcontext()
    with patch.object(fuzz, "damage", lambda _, text: text), refused:
        _, read = fuzz.READERS[kind](Random(1), tmp_path)  # noqa: S311 - repeatable
        read()


def test_a_campaign_action_is_determined_by_its_seed_and_number(tmp_path: Path) -> None:
    nowhere = Servers(GraphAddress("bolt://127.0.0.1:1", "", ""), URL.create("x"), tmp_path)
    first, second = (perform(nowhere, 3, 8, "fuzzed input", 1) for _ in range(2))
    assert (first.description, first.results) == (second.description, second.results)
    assert perform(nowhere, 3, 9, "fuzzed input", 1).description != first.description
    kinds = [choose(3, number, list(KINDS)) for number in range(200)]
    assert set(kinds) == set(KINDS)
    assert kinds == [choose(3, number, list(KINDS)) for number in range(200)]


@pytest.mark.parametrize(
    ("fault", "received"),
    [
        ("delay", [b"abcd", b"efgh"]),
        ("stall", [b"abcd", b"efgh"]),
        ("garble", [b"abcd", b"e3gh"]),
        ("cut", [b"abcd", b""]),
        ("reset", [b"abcd", b""]),
    ],
)
def test_a_proxy_fault_begins_after_the_given_number_of_bytes(
    fault: Fault, received: list[bytes]
) -> None:
    answers = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = Proxy(server.getsockname()[1], fault, 5, 0.01)
        with (
            socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as client,
            server.accept()[0] as connection,
        ):
            for data in (b"abcd", b"efgh"):
                connection.sendall(data)
                try:
                    answers.append(client.recv(1_000))
                except ConnectionError:
                    answers.append(b"")
        proxy.close()
    assert answers == received
