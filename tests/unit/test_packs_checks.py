"""The checks of a query file, and their errors with file and line."""

from pathlib import Path

import pytest

from starcast.errors import InputError
from starcast.queries import Query

FILE = Path("/packs/mine/question.cypher")


def query(body: str, parameters: str = "none", columns: str = "a: something") -> Query:
    """Return a query; with one column and no parameter its body begins on line 8."""
    listed = (
        f" {parameters}"
        if parameters == "none"
        else "".join(f"\n//   {line}" for line in parameters.split("\n"))
    )
    shown = "".join(f"\n//   {line}" for line in columns.split("\n"))
    return Query(
        FILE,
        f"// title: T\n// question: Q?\n// parameters:{listed}\n// columns:{shown}\n"
        f"// revision: 1\n// reference: R\n{body}\n",
    )


def refusal(body: str, parameters: str = "none", columns: str = "a: something") -> str:
    """Return the error message for a query, without the path; check that it has a hint."""
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
def test_writing_clauses_are_refused_anywhere(clause: str) -> None:
    assert refusal(f"MATCH (n:Node)\n{clause}\nRETURN n.rank AS a").startswith("9: ")


def test_words_that_only_look_like_writing_are_not_refused() -> None:
    for body in [
        "MATCH (n:Node) WHERE n.created = 1 RETURN n.set AS a",
        "MATCH (n:Node) WHERE n.delete = 'CREATE (m)' RETURN n.remove AS a",
        "MATCH (n:Create) RETURN n.rank AS a",
        "MATCH (n:Node|Delete)-[:SET|REMOVE]->() RETURN n.rank AS a",
        "MATCH (n:Node&!Merge) RETURN n.rank AS a",
        "MATCH (n:Node {set: 1, delete: 2}) RETURN n.rank AS a",
        "MATCH (`create`:Node) RETURN `create`.rank AS a",
        "MATCH (n:Node) // CREATE (m)\nRETURN n.rank /* SET n.rank = 1 */ AS a",
        'MATCH (n:Node) WHERE n.label = "DELETE \\" n" RETURN n.rank AS a',
        "MATCH (n:Node) CALL (n) { RETURN 1 AS x } RETURN x AS a",
        "MATCH (n:Node) CALL { RETURN 1 AS x } RETURN x AS a",
        "MATCH (n:Node) WHERE COUNT { (n)--() } > 1 RETURN n.rank AS a",
        "MATCH (n:Node) WHERE n.rank IN [1] RETURN n {.rank, set: 1} AS a",
        "MATCH (created:Node) RETURN created.rank AS a",
        "UNWIND [1, 2] AS transactions WITH transactions WHERE 1 IN [1] RETURN transactions AS a",
        "MATCH (n:Node) RETURN n.rank AS a;",
    ]:
        assert query(body).cypher.endswith(body.removesuffix(";"))


def test_a_number_that_ends_in_a_dot_does_not_hide_a_clause() -> None:
    assert "CREATE writes" in refusal("MATCH (n:Node) WITH n, 1. CREATE (m) RETURN n.rank AS a")


def test_unicode_escapes_cannot_hide_a_clause() -> None:
    assert "escapes" in refusal("MATCH (n:Node) \\u0043REATE (m) RETURN n.rank AS a")
    assert "escapes" in refusal(
        "MATCH (n:Node {label: '\\u0027}) CREATE (m) //'}) RETURN n.rank AS a"
    )


def test_a_query_must_begin_with_a_reading_clause() -> None:
    for body in [
        "SHOW INDEXES YIELD name RETURN name AS a",
        "EXPLAIN RETURN 1 AS a",
        "USE system RETURN 1 AS a",
        "CREATE (n)",
    ]:
        assert refusal(body).startswith("8: a query must begin")


def test_a_file_without_cypher_is_refused() -> None:
    assert "a query must begin with a reading clause" in refusal("")


def test_two_statements_are_refused() -> None:
    assert (
        refusal("RETURN 1 AS a;\nMATCH (n:Node) RETURN n.rank AS a;")
        == "8: a query must be a single statement"
    )


def test_unclosed_quotes_and_comments_are_refused() -> None:
    for body in ["RETURN 'a AS a", "RETURN `a AS a", "RETURN 1 AS a /* b"]:
        assert "is not closed" in refusal(body)


def test_a_parameter_that_is_not_declared_is_refused_on_its_line() -> None:
    assert (
        refusal("MATCH (n:Node)\nWHERE n.rank = $x\nRETURN $x AS a")
        == "9: the parameter $x is not declared"
    )


def test_a_parameter_that_is_not_used_is_refused_on_its_line() -> None:
    message = refusal(
        "MATCH (n:Node) WHERE n.label = '$y' RETURN $x AS a", parameters="x (int): x\ny (int): y"
    )
    assert message == "5: the parameter 'y' is declared but not used"


def test_a_column_that_is_not_returned_is_refused_on_its_line() -> None:
    assert (
        refusal("RETURN 1 AS a", columns="a: a\nb: b")
        == "6: the column 'b' is declared but not returned"
    )


def test_a_column_that_is_not_declared_is_refused_on_its_line() -> None:
    assert (
        refusal("WITH 1 AS a\nRETURN a, 2 AS b") == "9: the column 'b' is returned but not declared"
    )


def test_columns_have_the_declared_order() -> None:
    assert "another order" in refusal("RETURN 1 AS b, 2 AS a", columns="a: a\nb: b")


def test_every_column_has_a_name() -> None:
    for returned in ["n.rank", "*", "count(*)", "n.rank AS a, n.label", "$p"]:
        assert "has no name" in refusal(
            f"MATCH (n:Node) WHERE n.rank > $p RETURN {returned}", parameters="p (int): p"
        )


def test_every_branch_of_a_union_returns_the_columns() -> None:
    assert query("RETURN 1 AS a UNION ALL RETURN 2 AS a").columns[0].name == "a"
    assert (
        refusal("RETURN 1 AS a\nUNION\nRETURN 2 AS b")
        == "5: the column 'a' is declared but not returned"
    )


def test_a_query_that_returns_nothing_is_refused() -> None:
    assert "returns nothing" in refusal("MATCH (n:Node)\nCALL (n) { RETURN 1 AS a }")


def test_columns_are_found_whatever_the_expression() -> None:
    for body in [
        "MATCH (n:Node) RETURN DISTINCT n.rank AS a ORDER BY a SKIP 1 LIMIT 2",
        "MATCH (n:Node) WITH n.rank AS a RETURN a ORDER BY a, 1",
        "RETURN CASE 1 WHEN 1, 2 THEN 3 ELSE 4 END AS a",
        "RETURN [x IN [1, 2] WHERE x > 1 | x] AS a",
        "RETURN {b: 1, return: 2} AS a",
        "RETURN COLLECT { MATCH (n:Node) RETURN n.rank ORDER BY n.rank } AS a LIMIT 3",
        "RETURN size('a, b AS c') AS `a`",
        "RETURN reduce(s = 0, x IN [1, 2] | s + x) AS a",
    ]:
        assert [column.name for column in query(body).columns] == ["a"]


def test_a_column_may_be_called_like_a_clause() -> None:
    query("MATCH (n:Node) RETURN n.rank AS limit, 1 AS offset", columns="limit: l\noffset: o")


def test_case_after_a_bar_is_an_expression_in_lists_and_a_name_in_labels() -> None:
    query("RETURN [x IN [1, 2] | CASE WHEN x > 1 THEN 1 ELSE 2 END] AS a")
    query("MATCH (n:Node) RETURN [x IN n.list | CASE WHEN x > 1 THEN 1 ELSE 2 END] AS a")
    query("MATCH (n:Node|Case) RETURN n.rank AS a")
