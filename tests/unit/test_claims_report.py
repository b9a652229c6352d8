"""Evidence as JSON, reports on claims, and Cypher queries for counterexamples."""

import json
import re
from dataclasses import replace

import pytest

from starcast.claims import Verdict, report, select_claims, storage, verify
from starcast.claims.check import Aside, Evidence, Finding
from starcast.lab import Lab
from starcast.queries.counterexample import _literal, to_cypher
from starcast.support.errors import InputError, NotFoundError
from starcast.support.html import inline_html
from starcast.support.settings import Settings
from starcast.trees.construction import CONSTRUCTIONS
from support.html_page import Page

PLACE: dict[str, int | str] = {"n": 3, "link": "123 -> 213", "i": 1, "found": 4, "stated": "5/2"}


@pytest.fixture(scope="module")
def verdicts() -> tuple[Verdict, ...]:
    """Return the verdicts on two claims, of which TS.L5 fails on S3."""
    return verify.verify_claims(select_claims(["TS.L5", "TS.h"]), sizes=["S3", "S4"], jobs=1)


def failed(
    place: dict[str, int | str], of: str = "", sizes: tuple[str, ...] = ("S3", "S4")
) -> Verdict:
    """Return the verdict 'fails' with a counterexample at the given place."""
    return Verdict("TS.L5", "fails", sizes, {**place, "found": 1, "stated": 2}, "", of=of)


@pytest.mark.parametrize("sizes", ["", []])
def test_checking_a_claim_on_an_empty_list_of_topologies_is_refused(sizes: str | list[str]) -> None:
    with pytest.raises(InputError, match="the list of topologies is empty"):
        Lab(Settings.load).check_claims("TS.L5", sizes=sizes, store=False)


def test_evidence_converted_to_json_and_back_keeps_its_values_and_their_order(
    verdicts: tuple[Verdict, ...],
) -> None:
    finding = Finding("height", "=", 3, "4, 5", PLACE, "S3:multiple:123")
    aside = Aside("instead", "other", (replace(finding, counterexample=None),))
    evidence_of_lemma = Evidence("TS.L5", "S3", (finding,), (aside,), 0.5, "why")
    for one in (evidence_of_lemma, *(found for verdict in verdicts for found in verdict.evidence)):
        # PostgreSQL does not keep the order of JSON keys.
        text = json.dumps(storage.evidence_to_json(one), sort_keys=True)
        again = storage.evidence_from_json(one.claim, one.size, one.seconds, json.loads(text))
        assert (again, again.seconds) == (one, one.seconds)
        for old, new in zip(one.findings, again.findings, strict=True):
            assert list(old.counterexample or ()) == list(new.counterexample or ())


def test_the_html_page_of_claims_is_well_formed_and_self_contained(
    verdicts: tuple[Verdict, ...],
) -> None:
    page = report.html(verdicts, {"Ledger": "7 <&>"})
    read = Page(page)
    rows = [row for row in read.find("tr") if row.get("id")]
    assert [row.get("id") for row in rows] == [verdict.claim for verdict in verdicts]
    assert [row.get("data-verdict") for row in rows] == [verdict.verdict for verdict in verdicts]
    links = {link.get("href", "").removeprefix("#") for link in read.find("a")}
    assert links <= {verdict.claim for verdict in verdicts}
    assert read.external_references() == []
    assert "7 &lt;&amp;&gt;" in page
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"url\(|@import|https?://|unsafe-inline", page)
    assert page.count("<script") == 1


def test_the_html_page_of_claims_escapes_text_and_converts_inline_markdown() -> None:
    assert (
        inline_html("a < b, `x|y` & *as printed*")
        == "a &lt; b, <code>x|y</code> &amp; <em>as printed</em>"
    )
    assert inline_html("`2*n` and `3*n`") == "<code>2&#42;n</code> and <code>3&#42;n</code>"
    assert report._escaped("a < b | c * d * e") == "a &lt; b \\| c \\* d \\* e"


def test_formulas_of_claims_are_shown_with_subscripts_exponents_and_symbols() -> None:
    """No claim shows plain-text notation such as t_s outside code and column names."""
    assert inline_html("\u03b1_2(x) on S_{n-1}, `t_s`, message_bytes, 2^(k-1) T_s, n!^2") == (
        "\u03b1<sub>2</sub>(x) on S<sub>n-1</sub>, <code>t_s</code>, message_bytes,"
        " 2<sup>k-1</sup> T<sub>s</sub>, n!<sup>2</sup>"
    )
    for claim in select_claims([]):
        for text in (claim.statement, claim.notation, claim.reading):
            shown = re.sub("<code>.*?</code>", "", inline_html(text))
            assert not re.search(r"[_^]", shown), claim.id
            assert not re.search(r"-hat|\b(rho|alpha|phi)(\b|_)", text), claim.id


def test_descriptions_shown_in_terminals_use_greek_letters_in_tree_names(
    verdicts: tuple[Verdict, ...],
) -> None:
    """A terminal cannot typeset formulas, and L-hat(rho^i(r)) is hard to read."""
    texts = [each.description for each in CONSTRUCTIONS.values()] + [
        each.detail for each in verdicts
    ]
    assert not [text for text in texts if re.search(r"-hat|\brho\b", text)]


def test_a_verdict_on_an_unknown_claim_has_no_report_row(verdicts: tuple[Verdict, ...]) -> None:
    assert len(report.rows([*verdicts, Verdict("TS.none", "holds", (), None, "")])) == len(verdicts)


# The tests below compare the texts of queries. `tests/cli/test_claims.py` executes such queries.


def test_strings_in_cypher_queries_are_quoted() -> None:
    assert _literal("a'b\\c\nd") == r"'a\'b\\c\nd'"


def test_only_a_counterexample_with_a_location_has_a_cypher_query() -> None:
    with pytest.raises(NotFoundError, match=r"TS.L5 has no counterexample: the verdict is 'holds'"):
        to_cypher(Verdict("TS.L5", "holds", ("S3",), None, ""))
    with pytest.raises(NotFoundError, match="does not name its topology"):
        to_cypher(failed({"n": 9}))


@pytest.mark.parametrize(
    ("place", "sizes", "spec"),
    [
        ({"n": 4}, ("S3", "S4"), "S4"),
        ({"n": 4, "k": 2}, ("S4,1", "S4,2"), "S4,2"),
        ({"k": 3}, ("Q2", "Q3"), "Q3"),
        ({"n": 4, "k": 1}, ("S3", "S4"), "S4"),  # star graphs have no k in their size
    ],
)
def test_the_cypher_query_for_a_counterexample_uses_its_topology(
    place: dict[str, int | str], sizes: tuple[str, ...], spec: str
) -> None:
    text = to_cypher(failed(place, sizes=sizes))
    assert f"// starcast ingest {spec}\n" in text
    assert f"(topology:Topology {{spec: '{spec}'}})" in text


def test_the_cypher_query_names_the_ingest_command_for_the_forest_or_schedule() -> None:
    tree = to_cypher(failed({"n": 4, "tree": 0}, "S4:multiple:4321"))
    assert "\n// starcast ingest S4 --trees multiple --root 4321\n" in tree
    name = "S4:broadcast:multiple:one:segments=2:1234"
    scheduled = to_cypher(failed({"n": 4, "step": 1}, name))
    command = "starcast ingest S4 --schedules 'broadcast:multiple(segments=2)' --ports one"
    assert f"\n// {command}\n" in scheduled
    assert f"SEND {{schedule: '{name}', step: 1}}" in scheduled


def test_the_query_for_a_counterexample_without_an_artifact_shows_only_the_topology() -> None:
    text = to_cypher(failed({"n": 4, "node": "4321"}, "S4:array:1234"))
    assert (
        "// of S4:array:1234, which cannot be ingested, so the query shows only the location in "
        "the topology\n// starcast ingest S4\n" in text
    )
    assert "TREE_EDGE" not in text
