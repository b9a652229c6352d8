"""Which forest a command of `starcast tree` is about: one to be built, one in a file, or one that is stored."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.errors import InputError

if TYPE_CHECKING:
    from starcast.trees import Forest

WhereArgument = Annotated[
    str, typer.Argument(help="A topology, such as S5, or a file of 'starcast tree build'.")
]
ConstructionArgument = Annotated[
    str | None,
    typer.Argument(
        help="A construction, such as multiple or 'dimension-change(base=multiple,i=2)'; none with a file."
    ),
]
RootOption = Annotated[str | None, typer.Option(help="Label of the root; else the identity.")]
TreeOption = Annotated[
    str | None,
    typer.Option("--tree", help="The trees to change, of label-change and dimension-change."),
]
PlacesOption = Annotated[
    int | None, typer.Option("--i", help="How many places, of dimension-change.")
]


def chosen(
    topology: str,
    construction: str | None,
    root: str | None,
    tree: str | None = None,
    i: int | None = None,
) -> "Forest":
    """The forest that the words of a command mean: built anew, or read from a file.

    Raises:
        InputError: there is no such topology, construction, root, argument or file, or they do not go together.
    """
    from starcast.trees import Forest, forest
    from starcast.trees.spec_syntax import parse_spec

    options = {name: value for name, value in (("base", tree), ("i", i)) if value is not None}
    if construction is None:
        if not is_file(topology):
            raise InputError(
                f"'{topology}' is no file, and no construction is named",
                hint="write a construction, such as 'S5 multiple'",
            )
        if root is not None or options:
            raise InputError(
                "a forest in a file has its root and its arguments", hint="leave the options out"
            )
        return Forest.open(topology)
    name, arguments = parse_spec(construction)
    twice = next((one for one in options if one in arguments), None)
    if twice is not None:
        raise InputError(
            f"the argument '{twice}' is given twice",
            hint=f"leave --{twice} out, or the parentheses",
        )
    return forest(topology, name, 0 if root is None else root, **arguments, **options)


def is_file(topology: str) -> bool:
    """Whether a word means a file rather than a topology or a name of what is stored."""
    return topology.endswith(".npz") or Path(topology).is_file()
