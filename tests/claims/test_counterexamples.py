"""Counterexamples as Cypher."""

from starcast.claims.verdict import Verdict
from starcast.queries.counterexample import to_cypher


def test_every_counterexample_has_a_query(verdicts: dict[str, Verdict]) -> None:
    """The text names the topology, and the command that ingests it."""
    for one in verdicts.values():
        if one.counterexample is not None:
            assert "// starcast ingest " in to_cypher(one), one.claim


def test_the_tree_of_a_lemma_is_found_by_its_number(verdicts: dict[str, Verdict]) -> None:
    assert "tree: 1}" in to_cypher(verdicts["TS.L5"]), "i = 2 is the second tree"
