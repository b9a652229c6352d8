"""The axes of experiments, which are the parameters of a run, and the parsing of their values.

The axes are declared only here. `Parameters` determines the fields of grids and experiment points,
the command-line options, the columns of the table ``run`` and its views, the experiment files, and
the types of the HTTP API. It also determines the axes on which compared runs must have equal
values. A new axis also needs a migration that adds a column, and code that takes the axis into
account in executions.

This module imports no third-party library, so that ``starcast --help`` stays fast.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, get_args, get_type_hints

from starcast.support.errors import InputError, shorten
from starcast.support.vocabulary import EXECUTION_MODELS, FAULT, Collective, Ports

#: Upper bound of all numerators and denominators, so that computed values fit into a double.
LARGEST = 10**30
#: Words that users can write instead of a number. ``best`` is the number of segments or messages
#: for which the algorithm's closed form gives the shortest time. ``degree`` is the degree of the
#: topology.
BEST, DEGREE = "best", "degree"
#: The word that selects the centre of a topology as the root. The centre is the endpoint whose
#: distance to its furthest endpoint is smallest. The word keeps this meaning even if a node has the
#: label ``centre``; users specify such a node by its rank.
CENTRE = "centre"
#: The largest seed, which is the largest value of PostgreSQL's type bigint.
MAX_SEED = 2**63 - 1
#: The value of the axis ``faults`` if there are no faults.
NONE = "none"

# Input must match this pattern before it is passed to `Fraction`, which would expand a large
# exponent such as 1e999999999 to all its digits.
_NUMBER = re.compile(
    r"[+-]?(\d{1,31}/\d{1,31}|(\d{1,31}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,2})?)", re.ASCII
)
_MANY_DIGITS = re.compile(r"\d{32,}", re.ASCII)
_BOUNDS = "numerator and denominator are at most 10^30"
#: Maximum number of characters of a value that a message quotes.
_SHOWN = 40
_DRAWN = re.compile(r"([1-9]\d{0,8}) (node|link)s?", re.ASCII)
_KINDS = {"node", "nodes", "link", "links"}
#: Words that descriptions of faults do not treat as labels. To specify a node with such a label,
#: users add the first step of the fault, as in `none@1`.
RESERVED = {NONE, *_KINDS}
#: Hint that explains how to write faults.
_FAULTS_HINT = "write none, '2 nodes', '1 link', or nodes and links such as '21345 12345-21345@3'"


def read_number(value: str | float | Fraction, axis: str) -> Fraction:
    """Return a rational number from user input: ``1024``, ``2.5``, ``23/3``.

    Raises:
        InputError: the input is not a number, or has too many digits.
    """
    text = str(value).strip()
    if not _NUMBER.fullmatch(text):
        hint = f"write 1024, 2.5 or 23/3; {_BOUNDS}"
        raise _refusal(axis, f"'{shorten(text, _SHOWN)}'", "a valid number", hint)
    try:
        return Fraction(text)
    except ZeroDivisionError:
        hint = "write 1024, 2.5 or 23/3"
        raise _refusal(axis, f"'{text}'", "a valid number", hint) from None


def read_count(value: str | float, axis: str, words: Sequence[str] = ()) -> int | str:
    """Return an integer from user input, or one of the allowed words.

    Args:
        value: the input.
        axis: the name of the axis, for messages.
        words: the words that are allowed instead of a number.

    Raises:
        InputError: the input is neither an integer nor an allowed word, or has too many digits.
    """
    if value in words:
        return str(value)
    expected = " or ".join(["an integer", *words])
    # `read_number` would report invalid syntax for a number with too many digits.
    if _MANY_DIGITS.fullmatch(str(value)):
        raise InputError(f"{axis} is out of range", hint="use at most 10^30")
    try:
        number = read_number(value, axis)
    except InputError:
        shown = f"'{shorten(str(value), _SHOWN)}'"
        raise _refusal(axis, shown, expected, f"write {expected}") from None
    if number.denominator != 1:
        raise InputError(f"{axis} is {value}, not an integer", hint=f"write {expected}")
    return int(number)


def read_seed(value: str | float, axis: str = "seed") -> int:
    """Return a random seed from user input, for `numpy.random.default_rng`.

    Raises:
        InputError: the input is not an integer from 0 to `MAX_SEED`.
    """
    seed = int(read_count(value, axis))
    if not 0 <= seed <= MAX_SEED:
        raise _refusal(axis, shorten(str(seed), _SHOWN), "a valid seed", f"use 0 to {MAX_SEED}")
    return seed


def read_word(value: object, axis: str) -> str:
    """Check that a value is a string, and return it unchanged.

    Raises:
        InputError: the value is not a string.
    """
    if not isinstance(value, str):
        hint = f'write it in quotes: {axis} = "..."'
        raise _refusal(axis, shorten(repr(value), _SHOWN), "text", hint)
    return value


def read_root(value: object, axis: str) -> str:
    """Return a root as text: a label, `CENTRE`, or a rank such as ``#6``.

    A non-negative integer is a rank: 6 becomes ``#6``.

    Raises:
        InputError: the value is neither a string nor a non-negative integer.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return f"#{value}"
    return read_word(value, axis).strip()


def read_axis(axis: str, given: Any, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    """Return the values of an axis from a list or a single value.

    Args:
        axis: the name of the axis.
        given: a list of values, or a single value, from user input.
        read: parses a single value; its arguments are the value and the name of the axis.

    Raises:
        InputError: the list is empty, or contains an invalid value.
    """
    values = given if isinstance(given, list | tuple) else [given]
    if not values:
        raise InputError(
            f"the grid has no value for {axis}", hint=f"add one value or more: {axis} = [...]"
        )
    # Without this check, a nested list would be converted to a string and read as a value, and the
    # error message would be misleading.
    nested = next((value for value in values if isinstance(value, list | tuple | dict)), None)
    if nested is not None:
        raise InputError(
            f"{axis} contains {shorten(repr(nested), _SHOWN)}, which is not a single value",
            hint="use one value or one list of values",
        )
    return tuple(read(value, axis) for value in values)


def read_faults(value: object, axis: str) -> str:
    """Check a description of faults (``none``, ``2 nodes``, or labels), and return it normalized.

    Words in the result are separated by single spaces.

    Raises:
        InputError: the input does not describe faults.
    """
    plain = " ".join(read_word(value, axis).split())
    if plain == NONE or _DRAWN.fullmatch(plain):
        return plain
    named = plain.split()
    if not named or _KINDS & set(named) or not all(map(FAULT.fullmatch, named)):
        raise _refusal(axis, f"'{plain}'", "a valid description of faults", _FAULTS_HINT)
    return plain


def drawn_faults(text: str) -> tuple[int, str] | None:
    """Return the requested number and kind (node or link) of random faults, such as (2, "node").

    The result is None if the description is ``none`` or lists the labels of nodes and links.
    """
    drawn = _DRAWN.fullmatch(text)
    return None if drawn is None else (int(drawn[1]), drawn[2])


def _refusal(axis: str, value: str, expected: str, hint: str) -> InputError:
    """Return the error for an invalid value of an axis.

    The argument ``expected`` is a noun phrase, such as ``a valid seed``.
    """
    return InputError(f"{axis} is {value}, which is not {expected}", hint=hint)


def check_execution(name: str) -> None:
    """Check that an execution model with this name exists.

    Raises:
        InputError: no execution model has this name.
    """
    if name not in EXECUTION_MODELS:
        raise InputError(
            f"unknown execution model '{name}'", hint=f"write {' or '.join(EXECUTION_MODELS)}"
        )


@dataclass(frozen=True)
class Axis:
    """The declaration of an axis of experiments; each axis is a parameter of runs.

    When `AXES` is built, the attributes from ``name`` to ``is_derived`` are set from the field of
    the axis in `Parameters`.

    Attributes:
        help: the help text of the axis's command-line option.
        meaning: the SQL comment on the axis's columns.
        read: function that parses a value from a user; its arguments are the value and the name of
            the axis.
        default: the value for grids that omit the axis, in the form in which users write it.
        fallback: a description of the value for grids that omit the axis, if there is no default.
        flag: the short option, if any.
        completion: name of the function in `starcast.cli.completion` that suggests values.
        words: the allowed values, if they form a closed set.
        least: the smallest allowed number.
        bits: the size of the database column in bits, if the values are integers.
        is_argument: whether the axis is an argument of some algorithms; other algorithms ignore it.
        is_structural: whether the axis affects a synchronous execution, not only its costs.
        matching: the role of the axis in comparisons. It is ``question`` if compared runs must have
            equal values, ``choice`` if their values may differ, and None if comparisons ignore the
            axis.
        why_not_across: the reason why ``compare --across`` refuses the axis; empty if the axis is
            allowed.
        spare: priority for omitting the axis's column from a table that is too wide. Columns with
            the highest priority are omitted first; columns with priority 0 are never omitted.
        name: the name of the axis.
        type: the type of the values in a `starcast.experiments.point.Point`.
        has_usual: whether the field has a default, called the usual value; tables and commands omit
            the axis if its value is the usual value.
        usual: the default of the field; None if the field has no default.
        is_derived: whether the value follows from other axes, so that experiment points do not
            specify it.
    """

    help: str
    meaning: str
    read: Callable[[Any, str], Any] = read_word
    default: str | None = None
    fallback: str = ""
    flag: str = ""
    completion: str = ""
    words: tuple[str, ...] = ()
    least: int = 0
    bits: Literal[16, 32, 64] = 32
    is_argument: bool = False
    is_structural: bool = True
    matching: Literal["question", "choice"] | None = "question"
    why_not_across: str = ""
    spare: int = 0
    name: str = ""
    type: Any = str
    has_usual: bool = False
    usual: Any = None
    is_derived: bool = False

    @property
    def option(self) -> str:
        """The command-line option, in its short form if there is one."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def is_required(self) -> bool:
        """Whether every grid must specify the axis."""
        return self.default is None and not self.fallback

    @property
    def grid_default(self) -> tuple[Any, ...]:
        """The values for a grid that omits the axis; empty if the axis has no default."""
        return () if self.default is None else (self.read(self.default, self.name),)

    def is_usual(self, value: Any) -> bool:
        """Return whether a value is the field's default; tables and commands omit such a value."""
        return self.has_usual and bool(value == self.usual)


@dataclass(frozen=True, order=True)
class Parameters:
    """The parameters of a run, in the order of table columns.

    When a grid is expanded, the first parameter varies most slowly. The type of a field is the type
    of its values in a run. The default of a field is called the usual value of the axis. Options
    and files may omit the usual value, and runs that were stored before the axis existed have it.

    Attributes:
        algorithm: the algorithm's name, followed by arguments in parentheses if a plug-in's
            algorithm has arguments that are not axes: ``two-phase(depth=3)``. Arguments with
            their default values are omitted.
        base: the construction whose trees the algorithm uses; None for algorithms without this
            argument. The algorithm determines the default.
        message_bytes: size of the message in bytes, m in the papers.
        segments: number of pieces into which each tree's share of the message is split. For an
            algorithm that sends unit messages, the number of packets sent one after the other
            (Tseng & Sheu 1997, Table 1, row [16]). The number is 1 for all other algorithms without
            segments.
        messages: number of unit messages in the schedule; 1 for algorithms without this argument.
        copies: number of trees that carry each unit; 1 for algorithms without this argument.
        root: for collectives with a root, the root's label or the word ``centre``. None means
            the node of rank 0, whose label depends on the topology. Runs stored before the axis
            existed have the root None. `starcast.experiments.point.find_root` returns the node.
        faults: faulty nodes and links in ascending order, each as a string that
            `starcast.judges.simulator.Fault` can parse; a tuple, which is stored as a list.
        seed: the random seed of the faults; 0 without faults.
        t_s, t_c: time per packet and time per byte, T_s and T_c in the papers.
    """

    topology: Annotated[
        str,
        Axis(
            help="A topology, such as S5, S6,3 or Q4, or a file with a network.",
            meaning="spec of the topology",
            completion="topologies",
            spare=2,
        ),
    ]
    collective: Annotated[
        str,
        Axis(
            help="The collective: broadcast, allgather, scatter, gather, alltoall, reduce,"
            " reduce-scatter or allreduce.",
            meaning="broadcast, allgather, scatter, ...",
            default="broadcast",
            completion="collectives",
            words=get_args(Collective),
            why_not_across="a shorter time for another collective has no meaning",
            spare=3,
        ),
    ]
    algorithm: Annotated[
        str,
        Axis(
            help="An algorithm, such as multiple or 'edge-disjoint(copies=2,messages=4)'; "
            "'starcast schedule algorithms' lists them.",
            meaning="name of the algorithm: multiple",
            completion="algorithms",
            matching="choice",
        ),
    ]
    ports: Annotated[
        str,
        Axis(
            help="Port model: all (a node uses all ports in a step), or one (one port to send and"
            " one to receive).",
            meaning="port model: all or one",
            fallback="the algorithm's default",
            words=get_args(Ports),
            spare=9,
        ),
    ]
    _: KW_ONLY
    root: Annotated[
        str | None,
        Axis(
            help="Root: a label, #6 (the node of rank 6), or centre (the node with the smallest"
            " distance to its furthest node).",
            meaning="root: a label or centre; null for the node of rank 0",
            read=read_root,
            fallback="the node of rank 0",
            spare=5,
        ),
    ] = None
    execution: Annotated[
        str,
        Axis(
            help="Execution model: synchronous (all packets of a step start together), or"
            " asynchronous (each packet starts as soon as it can).",
            meaning="execution model: synchronous or asynchronous",
            default="synchronous",
            words=EXECUTION_MODELS,
            spare=10,
        ),
    ] = "synchronous"
    base: Annotated[
        str | None,
        Axis(
            help="Construction whose trees the algorithm uses; only for algorithms with"
            " the parameter 'base', such as 'forest'.",
            meaning="construction given to the algorithm; null if it takes none",
            fallback="the algorithm's default",
            completion="constructions",
            is_argument=True,
            matching="choice",
            spare=6,
        ),
    ] = None
    message_bytes: Annotated[
        Fraction,
        Axis(
            help="Size of the message in bytes, such as 1024, 2.5 or 23/3.",
            meaning="m: bytes of the message",
            read=read_number,
            flag="-m",
            is_structural=False,
            why_not_across="a shorter time for fewer bytes has no meaning;"
            " `crossovers` and the plots compare message sizes",
            spare=1,
        ),
    ]
    segments: Annotated[
        int,
        Axis(
            help="Number of segments per tree, for algorithms that segment the message: a number,"
            " degree (the topology's degree, n-1 on S_n), or best (the number with the shortest"
            " time in the algorithm's closed form). If the closed form is not exact, another number"
            " may be faster.",
            meaning="p: pieces of each tree's share of the message",
            read=partial(read_count, words=(BEST, DEGREE)),
            default="1",
            least=1,
            is_argument=True,
            matching="choice",
            spare=4,
        ),
    ]
    messages: Annotated[
        int,
        Axis(
            help="Number of unit messages into which each message is divided, for algorithms that"
            " send unit messages: a number, degree (the topology's degree, n-1 on S_n), or best"
            " (the number with the shortest time in the algorithm's closed form).",
            meaning="M: unit messages; 1 for an algorithm that takes segments",
            read=partial(read_count, words=(BEST, DEGREE)),
            fallback="the number of segments",
            least=1,
            is_argument=True,
            matching=None,
            spare=7,
        ),
    ] = field(init=False)
    copies: Annotated[
        int,
        Axis(
            help="Number of edge-disjoint trees that carry each unit: a number, or degree (the"
            " topology's degree, n-1 on S_n).",
            meaning="trees that carry each unit",
            read=partial(read_count, words=(DEGREE,)),
            default="1",
            least=1,
            bits=16,
            is_argument=True,
            matching="choice",
            spare=8,
        ),
    ] = 1
    faults: Annotated[
        Sequence[str],
        Axis(
            help="Faulty nodes and links, such as '21345 12345-21345@3' (@3: from step 3 on), or a"
            " number of random faults, such as '2 nodes' or '1 link'.",
            meaning="nodes and links that fail: 21345, 12345-21345@3",
            read=read_faults,
            default=NONE,
            why_not_across="the time of a schedule does not depend on them",
            spare=5,
        ),
    ] = ()
    seed: Annotated[
        int,
        Axis(
            help="Random seed for drawing faults.",
            meaning="random seed if the faults were drawn",
            read=read_seed,
            default="0",
            bits=64,
            is_structural=False,
            matching=None,
            why_not_across="it only selects the faults, which must be the same in compared runs",
            spare=13,
        ),
    ] = 0
    t_s: Annotated[
        Fraction,
        Axis(
            help="Start-up time per packet (T_s in the papers), in any unit of time.",
            meaning="T_s: time per packet",
            read=read_number,
            default="100",
            is_structural=False,
            spare=11,
        ),
    ]
    t_c: Annotated[
        Fraction,
        Axis(
            help="Time per byte (T_c in the papers), in the same unit as `t_s`.",
            meaning="T_c: time per byte",
            read=read_number,
            default="1",
            is_structural=False,
            spare=12,
        ),
    ]


def _read_declaration() -> dict[str, Axis]:
    """Return the axes that the fields of `Parameters` declare, by name.

    The attributes ``name``, ``type``, ``has_usual``, ``usual`` and ``is_derived`` of an axis are
    derived from its field.
    """
    types = get_type_hints(Parameters, include_extras=True)
    axes = {}
    for each in fields(Parameters):
        type_, axis = get_args(types[each.name])
        has_usual = each.default is not MISSING
        axes[each.name] = replace(
            axis,
            name=each.name,
            type=type_,
            has_usual=has_usual,
            usual=each.default if has_usual else None,
            is_derived=not each.init,
        )
    return axes


#: The axes by name, in the order of `Parameters`.
AXES: Mapping[str, Axis] = _read_declaration()
#: The axes whose values an experiment point specifies. All other axes are derived from them.
POINT_AXES = tuple(name for name, axis in AXES.items() if not axis.is_derived)
#: The axes in which comparable runs must agree (``QUESTION``), and those in which they may differ
#: (``CHOICE``). Comparisons match runs by the axes of ``CHOICE`` in this order; segments come last,
#: because the best number of segments depends on all other choices.
QUESTION = tuple(name for name, axis in AXES.items() if axis.matching == "question")
CHOICE = tuple(
    sorted(
        (name for name, axis in AXES.items() if axis.matching == "choice"),
        key=lambda name: name == "segments",
    )
)
