"""Arguments that commands share, and the options of axes.

``run once`` takes one value of each option, ``experiment run`` lists.
"""

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from starcast.axes.parameters import AXES, Axis
from starcast.cli import completion

TopologyArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOPOLOGY",
        help=AXES["topology"].help,
        autocompletion=completion.topologies,
    ),
]
#: For listings of what is defined on a topology.
OnTopologyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TOPOLOGY",
        help="Only what is defined on this topology, such as S5.",
        autocompletion=completion.topologies,
    ),
]
CollectiveArgument = Annotated[
    str,
    typer.Argument(help=AXES["collective"].help, autocompletion=completion.collectives),
]
AlgorithmArgument = Annotated[
    str,
    typer.Argument(help=AXES["algorithm"].help, autocompletion=completion.algorithms),
]

ConditionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="AXIS=VALUE",
        help="Only runs with this value, such as topology=S5; repeat it for alternatives.",
    ),
]


def axis_options(names: Iterable[str], *, several: bool) -> list[Parameter]:
    """Return the options of axes as parameters of a command, the required ones first.

    Args:
        names: the axes.
        several: whether an option can be repeated. No such option is required, since the values may
            be in a file; without values it is None.
    """
    parameters = [_option(AXES[name], several=several) for name in names]
    return sorted(parameters, key=lambda each: each.default is not Parameter.empty)


def takes_axes(
    names: Iterable[str], *, several: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator of a command that receives the values of axes by name as ``**values``.

    The options of the axes follow the arguments of the command.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        declared = signature(command)
        own = [
            each.replace(kind=Parameter.KEYWORD_ONLY)
            for each in declared.parameters.values()
            if each.kind is not Parameter.VAR_KEYWORD
        ]
        required = [each for each in own if each.default is Parameter.empty]
        optional = [each for each in own if each.default is not Parameter.empty]
        parameters = [*required, *axis_options(names, several=several), *optional]
        command.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return decorate


def _option(axis: Axis, *, several: bool) -> Parameter:
    fixed = None if several else axis.default
    is_required = axis.is_required and not several
    option = typer.Option(
        *((axis.flag, f"--{axis.name.replace('_', '-')}") if axis.flag else ()),
        help=axis.help,
        show_default=(axis.default or axis.fallback or False) if fixed is None else True,
        autocompletion=getattr(completion, axis.completion) if axis.completion else None,
    )
    plain: Any = list[str] if several else str
    return Parameter(
        axis.name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if is_required else fixed,
        annotation=Annotated[plain if is_required or fixed else plain | None, option],
    )
