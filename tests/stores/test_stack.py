"""The embedded stack, with real servers."""

import psycopg
from neo4j import GraphDatabase
from sqlalchemy import URL

from starcast.connections import GraphAddress


def test_both_servers_answer(clean_graph: GraphAddress, fresh_database: URL) -> None:
    """A new database is empty, and so is a cleaned graph."""
    with GraphDatabase.driver(clean_graph.uri, auth=(clean_graph.user, clean_graph.password)) as driver:
        assert driver.execute_query("MATCH (n) RETURN count(n) AS n").records[0]["n"] == 0
    plain = fresh_database.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert row == (0,)
