"""The function `command` makes a CLI command from an operation's signature and docstring."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

import pytest
import typer
from typer.testing import CliRunner

from starcast.cli.operations import Documentation, command
from starcast.lab import Facts, Lab, Table
from starcast.lab.signature import Shell
from starcast.support.errors import RejectedError
from starcast.support.vocabulary import LoadMethod


class Options(TypedDict, total=False):
    """Options that operations share.

    Attributes:
        root: label of the root.
    """

    root: Annotated["int | str", Shell(str)]


class Operations(Lab):
    """Operations that return their arguments."""

    def describe(
        self,
        place: Annotated["int | str", Shell(str, metavar="PLACE")],
        *names: str,
        kind: str = "any",
        method: LoadMethod = LoadMethod.AUTO,
        least: Annotated[int | None, Shell(least=1)] = None,
        every: Annotated[bool, Shell(flag="--all")] = False,
        file: Sequence[Path] = (),
        store: bool = True,
        **options: Unpack[Options],
    ) -> Facts:
        """Describe a topology. In Python, ranks are accepted too.

        In a shell, exit code 6 if ``least`` is 6. See ``starcast graph verify``.

        Args:
            place: a topology, such as ``S5``.
            names: further topologies. In Python also ranks.
            kind: the kind of artifact.
            method: the load method.
            least: the minimum number of nodes.
            every: describe all topologies.
            file: a network file. Can be repeated.
            store: store the description.
            options: `Options`.

        Example:
            >>> lab.describe("S5")
            {}

            $ starcast describe S5
        """
        values = {
            "place": place, "names": names, "kind": kind, "method": method, "least": least,
            "every": every, "file": file, "store": store, "options": options,
        }  # fmt: skip
        return Facts(values, failure=RejectedError("it is 6", hint="5") if least == 6 else None)

    def listed(
        self,
        values: Annotated[Mapping[str, Any] | None, Shell(dict)] = None,
        *,
        in_json: Annotated[bool, Shell(format="json")] = False,
        **_: Any,
    ) -> Table:
        """List values."""
        rows = [{**values, "in_json": in_json}] if values else []
        return Table.of(rows, rows[0] if rows else (), "" if rows else "there is nothing")


@pytest.fixture
def app() -> typer.Typer:
    nouns = typer.Typer()
    command(nouns, "describe", Operations.describe, kind="forest")
    command(
        nouns, "listed", Operations.listed, settings={"home": Annotated[str | None, typer.Option()]}
    )
    return nouns


def run(app: typer.Typer, *words: str) -> Any:
    return CliRunner().invoke(app, words)


def test_arguments_and_options_are_passed_to_the_operation(app: typer.Typer) -> None:
    """Omitted options keep their defaults, and parameters without an option their fixed values."""
    given = run(app, "describe", "S5", "a", "b", "--root", "12345", "--all", "--no-store",
                "--file", "x", "--file", "y", "--method", "bolt", "-f", "json")  # fmt: skip
    assert json.loads(given.stdout) == {
        "place": "S5", "names": ["a", "b"], "kind": "forest", "method": "bolt", "least": None,
        "every": True, "file": ["x", "y"], "store": False, "options": {"root": "12345"},
    }  # fmt: skip
    assert Documentation.of(Operations.describe).commands == ("starcast describe S5",)
    assert run(app, "describe", "S5", "--kind", "tree").exit_code == 2
    assert run(app, "describe", "S5", "--least", "0").exit_code == 2


def test_the_help_of_a_command_is_made_from_the_docstring_of_its_operation(
    app: typer.Typer,
) -> None:
    """Sentences that concern only Python are omitted. Parameter names become option names."""
    text = " ".join(run(app, "describe", "--help").stdout.split())
    assert "Describe a topology. Exit code 6 if --least is 6. See 'starcast graph verify'." in text
    assert "starcast describe S5" in text
    assert ">>>" not in text
    for part in (
        "PLACE", "A topology, such as S5.", "--root", "Label of the root.", "--all", "--format",
    ):  # fmt: skip
        assert part in text, part
    assert "ranks" not in text


def test_a_command_that_fails_a_check_still_prints_its_result(app: typer.Typer) -> None:
    done = run(app, "describe", "S5", "--least", "6", "-f", "json")
    assert isinstance(done.exception, RejectedError)
    assert '"least": 6' in done.stdout


def test_the_note_of_an_empty_table_is_printed_instead_of_the_table(app: typer.Typer) -> None:
    done = run(app, "listed")
    assert (done.stdout, done.stderr) == ("", "there is nothing\n")
    assert run(app, "listed", "-f", "json").stdout == "[]\n"


def test_name_value_arguments_are_read_as_text_or_as_json(
    app: typer.Typer,
) -> None:
    """The argument `a=1` gives the text 1, and `b:=[1]` gives the JSON list [1]."""
    words = ("listed", "a=1=2", "b:=[1]", "home=x")
    values = {"a": "1=2", "b": [1], "home": "x"}
    assert json.loads(run(app, *words, "-f", "json").stdout) == [{**values, "in_json": True}]
    assert run(app, *words, "-f", "csv").stdout == "a,b,home,in_json\n1=2,1,x,no\n"


def test_every_operation_has_a_docstring_and_a_return_annotation() -> None:
    for name in dir(Lab):
        method = getattr(Lab, name)
        if not name.startswith("_") and callable(method):
            assert method.__doc__, name
            assert "return" in method.__annotations__, name
