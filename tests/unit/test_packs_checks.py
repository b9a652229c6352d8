"""The checks that starcast applies to a query file, and their errors, which name the file."""

from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.queries import Query
from starcast.queries.query import check_reads_only, check_statement, find_parameters
from starcast.support.errors import InputError, LimitError

FILE = Path("/packs/mine/question.cypher")


def query(body: str, parameters: str = "", columns: str = "a: something") -> Query:
    """Return a query with this body. By default, the body begins on line 6 of the file."""
    items, shown = (indent(f"\n{lines}", "//   ") for lines in (parameters, columns))
    given = items if parameters else " none"
    head = f"// title: T\n// question: Q?\n// parameters:{given}\n// columns:{shown}\n"
    return Query(FILE, f"{head}{body}\n")


def refusal(body: str, parameters: str = "", columns: str = "a: something") -> str:
    """Return the error message for a query, without the path, and check that it has a hint."""
    with pytest.raises(InputError) as caught:
        query(body, parameters, columns)
    assert caught.value.hint
    assert caught.value.message.startswith(f"{FILE}:")
    return caught.value.message.removeprefix(f"{FILE}:")


@pytest.mark.parametrize(
    "clause",
    [
        "CREATE (m)",
        "create (m)",
        "MERGE (m:Node {rank: 1})",
        "INSERT (m)",
        "SET n.rank = 1",
        "SET n:Node",
        "REMOVE n.rank",
        "DELETE n",
        "DETACH DELETE n",
        "NODETACH DELETE n",
        "FOREACH (x IN [1] | SET n.rank = x)",
        "LOAD CSV FROM 'file:///etc/passwd' AS row",
        "CALL db.labels() YIELD label",
        "CALL dbms.components() YIELD name",
        "CALL (n) { CREATE (m) }",
        "CALL (n) { RETURN 1 AS x } IN TRANSACTIONS",
        "CALL (n) { RETURN 1 AS x } IN 4 CONCURRENT TRANSACTIONS OF 10 ROWS",
        "CALL (n) { RETURN 1 AS x } IN (1+2) CONCURRENT TRANSACTIONS",
        "CALL (n) { RETURN 1 AS x } IN toInteger(n.rank) + [1, 2][0] CONCURRENT TRANSACTIONS",
        "CALL (n) { RETURN 1 AS x } in /* a comment */ $jobs concurrent transactions",
        "CREATE INDEX i FOR (n:Node) ON (n.rank)",
        "DROP INDEX i",
        "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
        "GRANT ROLE reader TO me",
        "CREATE// the space may be a comment\n(m)",
        "CREATE/**/(m)",
    ],
)
def test_clauses_that_write_load_files_or_call_procedures_are_refused(clause: str) -> None:
    assert refusal(f"MATCH (n:Node)\n{clause}\nRETURN n.rank AS a").startswith("7: ")


OLDER = """\
CYPHER 25
MATCH p = SHORTEST 2 ACYCLIC (:Node)-->*(:Node)
RETURN length(p) AS a

// before Neo4j 2026.05:
// MATCH (n:Node)
// // why
// RETURN n.rank AS a
"""


@pytest.mark.parametrize(
    ("version", "is_older"),
    [("5.26.30", True), ("2025.11.2", True), ("2026.04", True), ("2026.05.0", False),
     ("2026.08.1", False), ("2027.01.0", False), ("5.27-aura", True)],
)  # fmt: skip
def test_the_server_version_determines_which_statement_of_a_query_is_used(
    version: str, is_older: bool
) -> None:
    """A query file can contain a second statement for older versions of Neo4j."""
    found = query(OLDER)
    chosen = found.for_server(version)
    assert (chosen.header, chosen.name) == (found.header, found.name)
    assert ("CYPHER 25" not in chosen.cypher) == is_older
    if is_older:
        assert chosen.cypher.endswith("MATCH (n:Node)\n// why\nRETURN n.rank AS a")
        assert chosen.for_server(version) is chosen
    else:
        assert chosen is found
    plain = query("MATCH (n:Node) RETURN n.rank AS a")
    assert plain.for_server(version) is plain


def test_both_statements_of_a_query_are_checked() -> None:
    """A query file can contain a second statement for older versions of Neo4j."""
    writes = OLDER.replace("// RETURN n.rank AS a", "// DELETE n RETURN 1 AS a")
    assert "must be read-only: DELETE writes" in refusal(writes)
    unknown = OLDER.replace("// RETURN n.rank AS a", "// RETURN $x AS a")
    assert "the parameter $x is not declared" in refusal(unknown)
    unused = OLDER.replace("length(p)", "length(p) + $x")
    assert "'x' is declared but not used" in refusal(unused, "x (int): some number")


@pytest.mark.parametrize("prefix", ["CYPHER 25", "cypher 5", "// c\nCYPHER  25\n// c\n"])
def test_a_statement_may_begin_with_its_cypher_version(prefix: str) -> None:
    check_reads_only(f"{prefix} MATCH (n) RETURN n", FILE)
    for body in ("CREATE (n)", "EXPLAIN MATCH (n) RETURN n", "CYPHER 25 MATCH (n) RETURN n", ""):
        with pytest.raises(InputError, match="a query must begin with a reading clause"):
            check_reads_only(f"{prefix} {body}", FILE)


def test_names_strings_and_comments_that_resemble_writing_clauses_are_accepted() -> None:
    for body in [
        "MATCH (n:Node) WHERE n.created = 1 RETURN n.settings AS a",
        "MATCH (n:Node) WHERE n.`delete` = 'CREATE (m)' RETURN n.`remove` AS a",
        "MATCH (n:`Create`) RETURN n.rank AS a",
        "MATCH (n:Node) RETURN n {.rank, `set`: 1} AS a",
        "MATCH (`create`:Node) RETURN `create`.rank AS a",
        "MATCH (n:Node) // CREATE (m)\nRETURN n.rank /* SET n.rank = 1 */ AS a",
        'MATCH (n:Node) WHERE n.label = "DELETE \\" n" RETURN n.rank AS a',
        "MATCH (n:Node) CALL (n) { RETURN 1 AS x } RETURN x AS a",
        "MATCH (n:Node) CALL /* a comment */ { RETURN 1 AS x } RETURN x AS a",
        "MATCH (n:Node) WHERE COUNT { (n)--() } > 1 RETURN n.rank AS a",
        "MATCH (created:Node) RETURN created.rank AS a",
        "MATCH (n:Node) WITH n.load AS load RETURN load AS a",
        "MATCH (n:Node) RETURN n.rank AS a;",
        "MATCH (n:Node) RETURN n.rank AS a; // the end",
    ]:
        query(body)
    query("RETURN $set AS a", parameters="set (int): x")


def test_names_that_equal_a_writing_keyword_are_refused_without_backticks() -> None:
    """The names that starcast stores in the graph do not equal such keywords."""
    for body in [
        "MATCH (n:Node) RETURN n.set AS a",
        "MATCH (n:Create) RETURN n.rank AS a",
        "MATCH (n:Node) RETURN n {.rank, set: 1} AS a",
        "UNWIND [1, 2] AS transactions RETURN transactions AS a",
    ]:
        assert "read-only" in refusal(body)


def test_a_writing_clause_after_a_literal_or_comment_is_detected() -> None:
    """Quotation marks and comments are parsed, so they cannot hide the clause that follows."""
    for before in [
        "WITH 'a'", 'WITH "a"', "WITH n AS `a`", "WITH '\\\\'", "WITH '\\''", "WITH 'a' + '/*'",
        "WITH $p ", "/* '\" ` */", "/* // */", "// a '\n", "// a\r", "WITH '//'", "WITH '`'",
        "WITH n AS `'`", "WITH n AS ```a`",
    ]:  # fmt: skip
        body = f"MATCH (n:Node) {before}CREATE (m) RETURN n.rank AS a"
        assert "CREATE writes" in refusal(body, parameters="p (int): p"), body


@given(st.text(alphabet=st.characters(exclude_characters="'\\")))
def test_text_inside_a_string_is_accepted_even_if_it_contains_a_writing_clause(text: str) -> None:
    check_reads_only(f"RETURN '{text} CREATE (n)'", FILE)


@given(st.text(alphabet=st.sampled_from("'\"`/*\\$\n a;")))
def test_a_writing_clause_is_refused_after_any_text(text: str) -> None:
    """If the text leaves a string or comment open, the query is refused for this reason."""
    with pytest.raises(InputError):
        check_reads_only(f"RETURN {text}\nCREATE (n)", FILE)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("MATCH (n:Node) WITH n, 1. CREATE (m) RETURN n.rank AS a", "6: queries must be read-only"),
        ("MATCH (n:Node) \\u0043REATE (m) RETURN n.rank AS a", " Unicode escapes"),
        ("MATCH (n {label: '\\u0027}) CREATE (m) //'}) RETURN n.rank AS a", " Unicode escapes"),
        ("SHOW INDEXES YIELD name RETURN name AS a", "6: a query must begin with a reading clause"),
        ("EXPLAIN RETURN 1 AS a", "6: a query must begin with a reading clause"),
        ("USE system RETURN 1 AS a", "6: a query must begin with a reading clause"),
        ("CREATE (n)", "6: a query must begin with a reading clause"),
        ("", "7: a query must begin with a reading clause"),
        ("RETURN 1 AS a;\nRETURN 2 AS a;", "6: a query must be a single statement"),
        ("RETURN 'a AS a", "6: ' is not closed"),
        ("RETURN `a AS a", "6: ` is not closed"),
        ("RETURN 1 AS a /* b", "6: /* is not closed"),
        ("MATCH (n)\nWHERE n.rank = $x\nRETURN $x AS a", " the parameter $x is not declared"),
    ],
)
def test_the_error_for_an_invalid_statement_names_the_file_and_the_line(
    body: str, message: str
) -> None:
    """Errors that concern the whole statement name only the file."""
    assert refusal(body).startswith(message)


@pytest.mark.parametrize(
    ("body", "parameters", "columns", "message"),
    [
        ("MATCH (n:Node) WHERE n.label = '$y' RETURN $x AS a", "x (int): x\ny (int): y", "a: a",
         "the parameter 'y' is declared but not used"),
        ("UNWIND $disjoint_paths AS path RETURN path AS a, $topology AS b, $source AS c",
         "topology (topology): x\nsource (node): y", "a: a",
         "$disjoint_paths needs the parameter 'target', which is not declared"),
        ("RETURN 1 AS a", "", "a b", "columns: 'a b' is not a column declaration"),
    ],
    ids=["unused", "computed", "column"],
)  # fmt: skip
def test_the_error_for_an_invalid_header_names_the_file_and_the_declaration(
    body: str, parameters: str, columns: str, message: str
) -> None:
    assert refusal(body, parameters, columns) == f" {message}"


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        (f"RETURN {'(' * 101}1{')' * 101}", "more than 100 nested brackets"),
        (f"RETURN {'[' * 100_000}", "more than 100 nested brackets"),
        (f"{'CALL () {' * 101}RETURN 1 AS x", "more than 100 nested brackets"),
        (f"RETURN '{'x' * 10**6}'", "contains more than 1 MB"),
    ],
)
@pytest.mark.whole
def test_a_statement_that_is_too_long_or_too_deeply_nested_is_refused(
    statement: str, error: str
) -> None:
    with pytest.raises(LimitError, match=error):
        check_statement(statement, {}, FILE)


def test_brackets_side_by_side_or_in_strings_or_comments_are_not_counted_as_nested() -> None:
    text = f"RETURN {'([{' * 33}1{'}])' * 33} + '{'(' * 200}' + {'(1)+' * 200}1 // {'{' * 200}"
    assert check_statement(text, {}, FILE) == text


def test_a_statement_with_an_unpaired_surrogate_is_refused() -> None:
    with pytest.raises(InputError, match="the statement contains an unpaired surrogate"):
        check_statement("RETURN '\udc80' AS x", {}, FILE)


def test_query_parameters_are_found_only_outside_strings_and_comments() -> None:
    cypher = "RETURN $forest + $`my tree` + '$no' + $forest // $neither"
    assert find_parameters(cypher) == ["forest", "my tree"]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((), "the query has no RETURN clause"),
        (("a",), "the column 'b' is declared but not returned"),
        (("n.rank", "b"), "the column 'a' is declared but not returned"),
        (("a", "b", "c"), "the column 'c' is returned but not declared"),
        (("b", "a"), "the columns of RETURN and of the header are in different orders"),
    ],
)
def test_a_query_whose_columns_differ_from_the_declared_columns_is_refused(
    returned: tuple[str, ...], message: str
) -> None:
    declared = query("RETURN 1 AS a, 2 AS b", columns="a: a\nb: b")
    assert not list(declared.find_column_errors(("a", "b")))
    error = next(declared.find_column_errors(returned))
    assert error.message == f"{FILE}: {message}"
    assert error.hint
