"""Arguments that name a forest: a construction to build, or a file to read."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import completion
from starcast.errors import InputError

if TYPE_CHECKING:
    from starcast.trees import Forest

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOPOLOGY",
        help="A topology, such as S5, or a file written by 'starcast forest build'.",
        autocompletion=completion.topologies,
    ),
]
ConstructionArgument = Annotated[
    str | None,
    typer.Argument(
        help=(
            "A construction, such as multiple or 'dimension-change(base=multiple,i=2)'. "
            "Omit it for a file."
        ),
        autocompletion=completion.constructions,
    ),
]
RootOption = Annotated[str | None, typer.Option(help="Label of the root (default: the identity).")]
BaseOption = Annotated[
    str | None,
    typer.Option(
        help="Construction that label-change and dimension-change start from.",
        autocompletion=completion.constructions,
    ),
]
PlacesOption = Annotated[
    int | None, typer.Option("--i", help="Number of places, for dimension-change.")
]


def load_forest(
    source: str,
    construction: str | None,
    root: str | None,
    base: str | None = None,
    i: int | None = None,
) -> "Forest":
    """Build the forest that the arguments of a command name, or read it from a file.

    Raises:
        InputError: the topology, construction, root, argument or file is unknown, or they cannot
            be combined.
    """
    from starcast.topologies import topology
    from starcast.trees import Forest, forest
    from starcast.trees.catalogue import find
    from starcast.trees.spec_syntax import parse_spec

    options = {name: value for name, value in (("base", base), ("i", i)) if value is not None}
    if construction is None:
        if not is_file(source):
            raise InputError(
                f"'{source}' is not a file, and no construction is given",
                hint="add a construction, such as 'S5 multiple'",
            )
        if root is not None or options:
            raise InputError(
                "the root and the arguments of a forest in a file are fixed",
                hint="remove the options",
            )
        return Forest.open(source)
    name, arguments = parse_spec(construction)
    duplicate = next((option for option in options if option in arguments), None)
    if duplicate is not None:
        raise InputError(
            f"the argument '{duplicate}' is given twice",
            hint=f"remove --{duplicate}, or the argument in parentheses",
        )
    network = topology(source)
    values = find(name, network).resolve_arguments(network, arguments | options)
    return forest(network, name, 0 if root is None else root, **values)


def describe_other_trees(source: str, forest: "Forest") -> str | None:
    """Return the sentence that a file's trees are not those that its forest is named after.

    None if they are, if the name is not that of a construction, or if ``source`` is not a file.
    """
    from starcast.trees.catalogue import find_difference

    difference = find_difference(forest) if is_file(source) else None
    return (
        f"{source} is named {forest.id} but holds other trees: {difference}" if difference else None
    )


def is_file(source: str) -> bool:
    """Return whether an argument names a file, not a topology or a stored artifact."""
    return source.endswith(".npz") or os.path.isfile(source)  # noqa: PTH113 - never raises
