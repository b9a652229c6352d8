"""Cypher queries that show the counterexamples of claims in Neo4j."""

from starcast.claims.verdict import Verdict
from starcast.queries.counterexample import to_cypher


def test_every_counterexample_has_a_query(verdicts: dict[str, Verdict]) -> None:
    """Every query contains a comment with the command that ingests the topology it needs."""
    for one in verdicts.values():
        if one.counterexample is not None:
            assert "// starcast ingest " in to_cypher(one), one.claim


def test_queries_number_trees_from_0_although_the_papers_number_them_from_1(
    verdicts: dict[str, Verdict],
) -> None:
    assert "tree: 1}" in to_cypher(verdicts["TS.L5"]), "tree i = 2 of the lemma has number 1"
