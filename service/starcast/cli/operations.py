"""Create commands from operations, which are the typed methods of `Lab`.

Positional parameters become arguments, keyword-only parameters become options, ``*ids`` becomes a
list of arguments, and each item of ``**options``, a TypedDict, becomes an option. The docstring of
an operation is the help of its command. The class of the result selects the printer in
`starcast.cli.results`, which may add output options.
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, Signature, getdoc, signature
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from starcast.cli import completion, context, results
from starcast.cli.output import confirm, reporter, set_options
from starcast.lab.signature import Shell
from starcast.support.errors import InputError, only_one_of
from starcast.support.progress import sigterm_as_interrupt

if TYPE_CHECKING:
    from starcast.lab.connection import Connection

_CODE = re.compile(r"``([^`]+)``|`([^`]+)`")
#: The help of a command omits the docstring sentences that begin with "In Python".
_FOR_PYTHON = re.compile(r"\s*\bIn Python\b.*?\.(?=\s|$)", re.DOTALL)
#: The help of a command contains the sentences that begin with "In a shell,", without these words.
_FOR_SHELL = re.compile(r"\bIn a shell, (\w)")
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Example):$", re.MULTILINE)
_ARGUMENT = re.compile(r"^    (\w+): ", re.MULTILINE)
_DASK = "dask:"

Operation = Callable[..., Any]


@dataclass(frozen=True)
class Documentation:
    """The sections of an operation's docstring.

    Attributes:
        text: the summary and the description.
        arguments: the meaning of each parameter, by name.
        commands: the commands in the section ``Example``, whose lines begin with ``$``.
    """

    text: str
    arguments: dict[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()

    @classmethod
    def of(cls, documented: Callable[..., Any] | type) -> "Documentation":
        """Parse the Google-style docstring of a function or TypedDict.

        Example:
            >>> Documentation.of(Lab.drop).arguments["cascade"]
            'also delete the forests and schedules that depend on the artifact.'
        """
        text, *parts = _SECTION.split(getdoc(documented) or "")
        sections = dict(zip(parts[::2], parts[1::2], strict=True))
        listed = _ARGUMENT.split(sections.get("Args") or sections.get("Attributes") or "")[1:]
        meanings = [" ".join(meaning.split()) for meaning in listed[1::2]]
        lines = (line.strip() for line in sections.get("Example", "").splitlines())
        return cls(
            text.strip(),
            dict(zip(listed[::2], meanings, strict=True)),
            tuple(line.removeprefix("$ ") for line in lines if line.startswith("$ ")),
        )


def _use_labels(ctx: typer.Context, value: int | None) -> int | None:
    """Set the first symbol of node labels, 0 or 1, until the command ends.

    Node labels are permutations or arrangements of the symbols 1..n in starcast, and of 0..n-1 in
    some papers. Ids and stored results always use the symbols 1..n, so commands on stored data do
    not have the option ``--labels``.
    """
    if ctx.resilient_parsing:
        return value
    first = context.first_symbol(ctx) if value is None else value
    if first != 1:
        from starcast.topologies.permutations import labels_from

        ctx.with_resource(labels_from(first))
    return value


def _option(name: str, kind: Any, **texts: Any) -> Parameter:
    """Return a parameter, with the default None, that Typer converts to an option."""
    annotation = Annotated[kind | None, typer.Option(**texts)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


#: The option --labels of commands that read or print node labels (except in ids).
_LABELS = _option(
    "labels",
    int,
    min=0,
    max=1,
    metavar="0|1",
    callback=_use_labels,
    help="Smallest symbol in node labels of the input and output: 1 (as in 12345) or 0 (as in "
    "01234). Ids always use 1.",
    show_default="the setting 'labels', or 1 if it is not set",
)
#: The option --workers, which replaces the parameter ``executor`` of an operation.
_WORKERS = _option(
    "workers",
    str,
    metavar="dask:ADDRESS",
    help="Compute on the Dask cluster with this scheduler, such as dask:tcp://HOST:8786.",
)


def command(
    app: typer.Typer,
    name: str,
    operation: Operation,
    *,
    labelled: bool = False,
    settings: Mapping[str, Any] | None = None,
    printer: Callable[..., results.Show] | None = None,
    **fixed: Any,
) -> None:
    """Add a command that runs an operation.

    Args:
        app: the command group, or the root command.
        name: the name of the command.
        operation: a method of `Lab`.
        labelled: add ``--labels``, for operations that read or print labels of nodes.
        settings: annotations of the options that change settings, by setting name.
        printer: prints the result (default: the printer in `PRINTERS` for the class of the result).
        fixed: fixed values of parameters that get no option, such as ``kind="forest"``.

    Example:
        >>> command(typer.Typer(), "drop", Lab.drop, kind="forest")
    """
    # Only the class that defines the operation is instantiated: the complete `Lab` would import the
    # modules of all operations.
    owner = getattr(sys.modules[operation.__module__], operation.__qualname__.partition(".")[0])
    declared = signature(operation)
    _, *known = declared.parameters.values()
    listed = list(expanded(known))
    formats = {each.name: word for each in listed if (word := kind_of(each.annotation)[1].format)}
    asked = [each for each in listed if each.name not in {*fixed, *formats}]
    show = printer or results.PRINTERS[declared.return_annotation.__name__]
    printing = list(signature(show).parameters.values())
    own = [
        Parameter(each, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for each, annotation in (settings or {}).items()
    ]
    about = documented(operation, known)
    flags = {each.name: _flag(each) for each in asked if each.kind is Parameter.KEYWORD_ONLY}

    def run(ctx: typer.Context, **given: Any) -> None:
        # --labels is not a parameter of the operation: the callback of the option has already
        # applied its value.
        given.pop("labels", None)
        printed = {each.name: f"--{each.name}" for each in printing}
        set_options(printed | {each.name: flags.get(each.name, each.name) for each in asked})
        chosen = {each.name: given.pop(each.name) for each in printing}
        print_result = show(**chosen)
        for each in asked:
            question = kind_of(each.annotation)[1].confirm
            # Without a terminal, such as in a script, the flag itself counts as the confirmation.
            if question and given[each.name] and sys.stdin.isatty():
                confirm(question, "nothing was changed")
        given |= {name: chosen["output"] == word for name, word in formats.items()}
        flagged = {each.name: given.pop(each.name) for each in own}
        opening = (
            _open_executor(given.pop("workers"), given.get("jobs"))
            if "executor" in declared.parameters
            else nullcontext()
        )
        # The lab loads its settings when an operation first needs them.
        with (
            opening as executor,
            owner(partial(context.settings, ctx, **flagged), reporter()) as lab,
        ):
            if executor is not None:
                given["executor"] = executor
            result = call(operation, lab, known, given | fixed)
            print_result(result)
        # An operation can fail and still return a result. The error, which sets the exit code, is
        # raised after the result has been printed.
        if failure := getattr(result, "failure", None):
            raise failure

    parameters = [
        Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(_as_typer(each, about.arguments.get(each.name, ""), flags) for each in asked),
        *([_LABELS] if labelled else []),
        *own,
        *printing,
    ]
    keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    # The generator of docs/commands.md reads this name.
    run.operation = operation.__name__  # type: ignore[attr-defined]
    run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    # Typer reads names and defaults from the signature, but types from the annotations.
    run.__annotations__ = {each.name: each.annotation for each in keywords}
    run.__doc__ = _plain(about.text, flags)
    if about.commands:
        # The character \b prevents Click from joining the lines of the paragraph.
        run.__doc__ += "\n\n\b\n" + "\n".join(about.commands)
    app.command(name)(run)


def expanded(parameters: list[Parameter]) -> Iterator[Parameter]:
    """Yield the parameters of an operation; ``**options`` is replaced by one parameter per item."""
    for each in parameters:
        if each.kind is Parameter.VAR_KEYWORD:
            for options in _options(each):
                for name, annotation in get_type_hints(options, include_extras=True).items():
                    yield Parameter(
                        name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation
                    )
        else:
            yield each


def documented(operation: Operation, parameters: list[Parameter]) -> Documentation:
    """Return the parsed docstring of an operation, including the items of ``**options``."""
    about = Documentation.of(operation)
    for each in parameters:
        if each.kind is Parameter.VAR_KEYWORD:
            for options in _options(each):
                about.arguments.update(Documentation.of(options).arguments)
    return about


def _options(parameter: Parameter) -> tuple[Any, ...]:
    """Return a tuple with the TypedDict of a parameter ``**options``, or () if it has none.

    The TypedDict X is given by the annotation ``Unpack[X]`` or ``Annotated[Any, X]``.
    """
    return get_args(parameter.annotation)[-1:]


def _as_typer(parameter: Parameter, meaning: str, flags: Mapping[str, str]) -> Parameter:
    """Convert a parameter of an operation to a Typer argument or option, with its help."""
    if parameter.name == "executor":
        return _WORKERS
    kind, shell = kind_of(parameter.annotation)
    default = None if parameter.default == () else parameter.default
    if parameter.kind is Parameter.VAR_POSITIONAL:
        kind, default = list[kind], Parameter.empty if shell.required else None  # type: ignore[valid-type]
    text = _plain(meaning, flags)
    texts: dict[str, Any] = {
        "help": f"{text[:1].upper()}{text[1:]}",
        "metavar": shell.metavar,
        "autocompletion": shell.completes and getattr(completion, shell.completes),
        "show_default": shell.default or True,
        "min": shell.least,
        "max": shell.most,
    }
    if parameter.kind is Parameter.KEYWORD_ONLY:
        info = typer.Option(_flag(parameter), *shell.short, **texts)
    else:
        info = typer.Argument(**texts)
    return Parameter(
        parameter.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def kind_of(annotation: Any) -> tuple[Any, Shell]:
    """Return a parameter's type on the command line, and the `Shell` metadata in its annotation."""
    shell = Shell()
    if get_origin(annotation) is Annotated:
        annotation, shell = get_args(annotation)
    kind = shell.type or annotation
    if kind is dict:
        # Typer does not support mappings, so `_parse_values` parses words such as name=TEXT.
        return list[str], shell
    # Typer accepts `list`, but not `Sequence`.
    return (list[get_args(kind)] if get_origin(kind) is Sequence else kind), shell  # type: ignore[misc]


def _flag(parameter: Parameter) -> str:
    """Return the name of a parameter's option.

    A switch that is on by default also gets a form that turns it off: ``--store/--no-store``.
    """
    if parameter.name == "executor":
        return "--workers"
    name = kind_of(parameter.annotation)[1].flag or f"--{parameter.name.replace('_', '-')}"
    return f"{name}/--no-{name[2:]}" if parameter.default is True else name


def _plain(text: str, flags: Mapping[str, str]) -> str:
    """Convert part of a docstring to the text of a command's help.

    Markup is removed, parameter names become options, and sentences about Python are omitted.
    """

    def replace(code: re.Match[str]) -> str:
        name = code[1] or code[2]
        return shlex.quote(flags.get(name, name).partition("/")[0])

    ours = _FOR_SHELL.sub(lambda found: found[1].upper(), _FOR_PYTHON.sub("", text))
    return _CODE.sub(replace, ours)


def call(
    operation: Operation, lab: "Connection", parameters: list[Parameter], given: dict[str, Any]
) -> Any:
    """Call an operation with values from a command line or an MCP client; return its result.

    Omitted values have the defaults of the operation. Query parameters may be words such as
    ``name=TEXT``, or a mapping. Text that a plug-in prints goes to stderr, because stdout is for
    results.
    """
    given = {name: value for name, value in given.items() if value is not None}
    arguments: list[Any] = []
    for each in parameters:
        if each.kind is Parameter.VAR_POSITIONAL:
            arguments += given.pop(each.name, ())
        elif each.kind is not Parameter.VAR_KEYWORD and each.kind is not Parameter.KEYWORD_ONLY:
            value = given.pop(each.name, each.default)
            if kind_of(each.annotation)[1].type is dict and not isinstance(value, Mapping):
                value = _parse_values(value or ())
            arguments.append(value)
    with redirect_stdout(sys.stderr):
        return operation(lab, *arguments, **given)


def _parse_values(arguments: Sequence[str]) -> dict[str, Any]:
    """Parse query parameters; return their values by name.

    Args:
        arguments: words ``name=TEXT``, or ``name:=JSON`` for a JSON value.

    Raises:
        InputError: an argument is neither ``name=TEXT`` nor ``name:=JSON``, the JSON is invalid, or
            a name is repeated.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        name, sign, value = argument.partition("=")
        if not sign or not name.removesuffix(":"):
            raise InputError(
                f"'{argument}' assigns no value to a parameter",
                hint="write name=TEXT, or name:=JSON for numbers, lists, true and false",
            )
        key = name.removesuffix(":")
        if key in values:
            raise InputError(f"the parameter '{key}' is given twice", hint="remove one value")
        try:
            values[key] = value if key == name else json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(
                f"the value of '{argument}' is not JSON",
                hint="write name:=5, name:=true or name:='[1, 2]'; name=TEXT needs no JSON",
            ) from None
    return values


@contextmanager
def _open_executor(workers: str | None, jobs: int | None) -> Iterator[Executor | None]:
    """Yield an executor for the Dask cluster that ``--workers`` names; None without ``--workers``.

    In this context SIGTERM interrupts the command like Ctrl-C, so that the command can clean up.

    Raises:
        InputError: ``--workers`` is not an address or is combined with ``--jobs``, or Dask is not
            installed.
        UnavailableError: the scheduler does not answer, or has no workers.
        RejectedError: a worker cannot import starcast, or has other versions of the software than
            this process.
    """
    if workers is None:
        with sigterm_as_interrupt():
            yield None
        return
    only_one_of(
        "remove --jobs: the workers of a cluster decide how many tasks they run",
        jobs=jobs,
        workers=workers,
    )
    if not workers.startswith(_DASK):
        raise InputError(
            f"'{workers}' does not begin with '{_DASK}'",
            hint="use --workers dask:tcp://HOST:PORT",
        )
    from starcast.catalogue.plugins import pack
    from starcast.support.dask_cluster import connect

    with sigterm_as_interrupt(), connect(workers.removeprefix(_DASK), pack()) as executor:
        yield executor
