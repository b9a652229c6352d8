"""Error messages quote any input on one readable line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

import starcast
from starcast.cli.commands import _global_flags
from starcast.cli.context import named_flags
from starcast.cli.output import in_shell, set_options
from starcast.support.errors import InputError, StarcastError, clean_message
from starcast.support.text import add_flags

PACKAGE = Path(starcast.__file__).parent
NASTY = "\x1b[31mred\x1b[0m\nsecond line\r\x07\u202eright to left\udcff"


@given(st.text())
def test_messages_that_quote_arbitrary_input_are_printable(text: str) -> None:
    error = StarcastError(f"'{text}' is invalid", hint=f"did you mean '{text}'?")
    assert error.message.isprintable()
    assert error.hint.isprintable()
    error.message.encode()  # fails if there are lone surrogates


def test_long_input_is_shortened_in_error_messages() -> None:
    for text in ["x" * 5_000, "x y " * 1_250, "it's " * 1_000, NASTY * 100]:
        error = InputError(f"'{text}' is not a topology", hint=f"write S5 instead of {text}")
        assert len(error.message) <= 1_000
        assert error.message.endswith("is not a topology")
        assert len(error.hint) <= 2_000
        assert len(str(error)) <= 3_005


def test_short_error_messages_are_unchanged() -> None:
    message = "the label '12345678' has 8 symbols, not 9; naïve text — with “quotes” stays"
    assert clean_message(message) == message


def test_a_long_command_in_a_hint_is_not_shortened() -> None:
    command = f"starcast ingest S5 --schedules '{','.join(['broadcast:multiple'] * 20)}'"
    assert StarcastError("a", hint=f"run {command}").hint == f"run {command}"


def test_commands_in_a_hint_repeat_the_home_and_plug_in_options() -> None:
    words = ["--home", "a b", "query", "list", "--plugin=x.py"]
    hint = "run 'starcast up', then 'starcast graph rebuild'"
    assert add_flags(hint, named_flags(words)) == (
        "run 'starcast --home 'a b' --plugin x.py up', then"
        " 'starcast --home 'a b' --plugin x.py graph rebuild'"
    )
    assert add_flags(hint, named_flags(["query", "list"])) == hint


def test_the_demo_passes_its_global_options_to_the_commands_that_it_runs() -> None:
    given = {"home": None, "neo4j_uri": "bolt://h", "plugins": ["a.py", "b.py"]}
    ctx = SimpleNamespace(find_root=lambda: SimpleNamespace(obj=given))
    flags = ["--neo4j-uri", "bolt://h", "--plugin", "a.py", "--plugin", "b.py"]
    assert _global_flags(ctx) == flags  # type: ignore[arg-type]


def test_the_command_line_replaces_parameter_names_in_messages_by_options() -> None:
    set_options({"store": "--store/--no-store", "row_limit": "--limit"})
    try:
        text = "raise `row_limit`, or add `store=False`; `home` and `unknown` stay"
        assert in_shell(text) == "raise --limit, or add --no-store; --home and `unknown` stay"
    finally:
        set_options({})


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each text in a statement with its line number.

    In f-strings, an x replaces each expression.
    """
    if isinstance(node, ast.JoinedStr):
        parts = (getattr(part, "value", "") for part in node.values)
        yield node.lineno, "".join(part if isinstance(part, str) else "x" for part in parts)
    elif isinstance(node, ast.Constant):
        yield node.lineno, str(node.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def test_errors_outside_the_command_line_name_parameters_instead_of_options() -> None:
    """Options may occur only in complete commands and in commands of other programs."""
    found = [
        f"{path}:{line}: {text}"
        for path in PACKAGE.rglob("*.py")
        if "cli" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise | ast.Return | ast.keyword)
        for line, text in _texts(node)
        if re.search(r"\w.* --[a-z]", re.sub(r"'?starcast .*|'[a-z]+ [^']*'", "", text))
    ]
    assert not found, "\n".join(found)
