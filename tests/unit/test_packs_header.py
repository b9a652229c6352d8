"""The header of a query file: parsing a valid header, and errors in invalid headers."""

import re
from itertools import dropwhile

import pytest

from starcast.queries.parameters import Parameter, Type
from starcast.queries.query import Column, parse_header
from starcast.support.errors import InputError

VALID = """\
// title: A title
// question: How many?
// parameters:
//   forest (forest): id of the forest,
//     as printed by 'starcast forest list'
//   least (int >= 1, default 2): fewest (of all)
//   ends (list of node, default ["12", "21"]): some nodes
//   dead (list of link, default []): some links
// columns:
//   load: how many trees: all of them
//   nodes (list of node): a path
//   links: how many links
// cost: 3 s on S8
// revision: 12
// reference: Tseng & Sheu 1997, Def. 2

MATCH ...
"""


def refusal(text: str) -> str:
    """Return the error message for a header, and check that it has a hint."""
    with pytest.raises(InputError) as caught:
        parse_header(text)
    assert caught.value.hint
    return caught.value.message


def test_a_valid_header_is_parsed_completely() -> None:
    header = parse_header(VALID)
    assert header.title == "A title"
    assert header.question == "How many?"
    assert header.parameters == (
        Parameter(
            "forest", Type("forest"), "id of the forest, as printed by 'starcast forest list'"
        ),
        Parameter("least", Type("int", least=1), "fewest (of all)", 2, required=False),
        Parameter("ends", Type("node", many=True), "some nodes", ["12", "21"], required=False),
        Parameter("dead", Type("link", many=True), "some links", [], required=False),
    )
    assert header.columns == (
        Column("load", "how many trees: all of them"),
        Column("nodes", "a path", Type("node", many=True)),
        Column("links", "how many links"),
    )
    assert header.cost == "3 s on S8"
    assert header.revision == 12
    assert header.reference == "Tseng & Sheu 1997, Def. 2"


def without(field: str) -> str:
    """Return the valid header without a field and its items."""
    head, _, rest = VALID.partition(f"// {field}:")
    lines = rest.splitlines()[1:]
    return head + "\n".join(dropwhile(lambda line: line.startswith("//  "), lines))


def test_a_header_may_omit_cost_or_revision_or_reference_and_declare_no_parameters() -> None:
    assert parse_header(without("cost")).cost == ""
    assert parse_header(without("revision")).revision == 1
    assert parse_header(without("reference")).reference == ""
    text = without("parameters").replace("// columns:", "// parameters: none\n// columns:")
    assert parse_header(text).parameters == ()


def test_an_indented_line_continues_the_field_of_the_previous_line() -> None:
    header = parse_header(VALID.replace("// question: How many?", "// question: How\n//     many?"))
    assert header.question == "How many?"


def test_title_and_question_are_required_and_empty_fields_are_refused() -> None:
    assert refusal(without("title")) == "the header has no field 'title'"
    assert refusal(without("question")) == "the header has no field 'question'"
    for field in ["title", "question", "revision", "reference"]:
        empty = re.sub(f"// {field}: .*", f"// {field}:", VALID)
        assert refusal(empty) == f"the field '{field}' is empty"


FOLLOW = "the items must follow on the next lines, or the field must be 'none'"
NEITHER = "a line below the field 'columns' is neither a field nor an item"
REVISION = "the revision is not a positive integer"
LEAST = "parameters: the parameter 'least' must be an integer of at least 1, not"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title: A title", "titel: A title", "unknown header field 'titel'"),
        ("title: A title", "Hello", "the header does not begin with a title"),
        ("question: How many?", "title: Another", "the field 'title' is repeated"),
        ("cost: 3 s on S8", "parameters:", "the field 'parameters' is repeated"),
        ("columns:", "cost: 3\n// columns:", "the field 'columns' must come before 'cost'"),
        ("revision: 12", "revision: 0", REVISION),
        ("revision: 12", "revision: 1.2", REVISION),
        ("revision: 12", f"revision: {'9' * 5_000}", REVISION),
        ("cost: 3 s on S8", "cost:", "the field 'cost' is empty"),
        ("parameters:\n", "parameters: none\n", f"parameters: {FOLLOW}"),
        ("columns:\n", "columns: all\n", f"columns: {FOLLOW}"),
        ("least (int >= 1", "least (integer", "parameters: 'integer' is not a valid type"),
        ("least (int >= 1", "least (node >= 1", "parameters: 'node >= 1' is not a valid type"),
        ("least (int >= 1, default 2): fewest", "least: fewest",
         "parameters: 'least: fewest (of all)' is not a parameter declaration"),
        ("default 2", "default two", "parameters: the default two is not JSON"),
        ("default 2", 'default "2x"', f"{LEAST} '2x'"),
        ("default 2", "default 0", f"{LEAST} 0"),
        ("  least (", "  forest (", "parameters: 'forest' is declared twice"),
        ("links: how many", "load: how many", "columns: 'load' is declared twice"),
        ("links: how many links", "links", "columns: 'links' is not a column declaration"),
        ("list of node): a", "list of nodes): a", "columns: 'list of nodes' is not a valid type"),
        ("nodes (list of node): a", "nodes (): a",
         "columns: 'nodes (): a path' is not a column declaration"),
        ("cost: 3 s on S8", "cost: 3 s\n//   on S8", "the field 'cost' cannot have items"),
        ("//   links: how", "//  links: how", NEITHER),
        ("// cost: 3 s on S8", "//cost: 3 s", NEITHER),
    ],
)  # fmt: skip
def test_the_error_for_an_invalid_header_names_the_field(old: str, new: str, message: str) -> None:
    assert old in VALID
    assert refusal(VALID.replace(old, new, 1)) == message


def test_very_long_numbers_and_deeply_nested_defaults_are_refused() -> None:
    for old, new, message in [
        ("int >= 1", f"int >= {'9' * 5_000}", "parameters: 'int >= 999"),
        ("default 2", f"default {'9' * 5_000}", "parameters: the default"),
        ("default 2", f"default {'[' * 5_000}{']' * 5_000}", "parameters: the default"),
        ("default []", f"default {'[' * 5_000}{']' * 5_000}", "parameters: the default"),
    ]:
        assert refusal(VALID.replace(old, new)).startswith(message)


def test_header_fields_in_the_wrong_order_are_refused() -> None:
    lines = VALID.splitlines()
    lines[0], lines[1] = lines[1], lines[0]
    assert refusal("\n".join(lines)) == "the field 'title' must come before 'question'"


def test_a_header_without_columns_is_refused() -> None:
    text = without("columns").replace("// cost:", "// columns: none\n// cost:")
    assert refusal(text) == "the header declares no columns"


def test_a_file_without_a_header_is_refused() -> None:
    for text in ["", "MATCH (n) RETURN n", "\n// title: late\n"]:
        assert refusal(text) == "the header has no field 'title'"
