"""Counterexamples as Cypher."""

from starcast.claims.verdict import Verdict
from starcast.queries.counterexample import cypher


def test_every_counterexample_has_a_query(verdicts: dict[str, Verdict]) -> None:
    """The text names the topology, and the command that ingests it."""
    for verdict in verdicts.values():
        if verdict.counterexample is not None:
            assert "// starcast ingest " in cypher(verdict), verdict.claim


def test_the_query_names_the_tree_by_its_number(verdicts: dict[str, Verdict]) -> None:
    assert "tree: 1}" in cypher(verdicts["TS.L5"]), "i = 2 is the second tree"
