"""The parameters of a run: the only declaration of the axes of experiments.

From `Parameters` follow the fields of a grid and of a point, the options of the command line, the
columns of the table ``run`` and of its views, the files of experiments, the types of the HTTP API,
and the matching of comparisons. A new axis is declared here, gets a migration that adds its column,
and is used by the code that executes it.

This module imports nothing but the standard library, so that ``starcast --help`` stays fast.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, get_args, get_type_hints

from starcast.support.axes.values import (
    BEST,
    DEGREE,
    NONE,
    read_count,
    read_faults,
    read_number,
    read_seed,
    read_word,
)
from starcast.support.vocabulary import EXECUTION_MODELS, Collective, Ports


@dataclass(frozen=True)
class Axis:
    """The declaration of a parameter of a run.

    `AXES` adds the attributes from ``name`` on, which follow from the field of `Parameters`.

    Attributes:
        help: the help text of its option.
        meaning: the comment of its columns in SQL.
        read: reads a value that a user has written; receives the value and the name of the axis.
        default: the value of a grid without the axis, as a user writes it.
        fallback: what determines the value of a grid without the axis if there is no default.
        flag: its short option.
        completion: the function of `starcast.cli.completion` for its values.
        words: its values, if they form a closed set.
        least: its smallest number.
        bits: the size of its column, if its values are integers.
        is_argument: whether it is an argument of some algorithms; it is ignored for all others.
        is_structural: whether a synchronous execution depends on it; other axes only price it.
        matching: ``question`` if comparable runs have equal values, ``choice`` if they may differ,
            None if comparisons ignore it.
        not_crossed: why it cannot be crossed by ``compare --across``; empty if it can.
        spare: how soon a narrow table omits its column, the highest number first; 0 for never.
        name: its name.
        type: the type of its values in a `starcast.experiments.point.Point`.
        has_usual: whether runs have a usual value, which tables and commands omit.
        usual: that value.
        is_derived: whether its value follows from other axes, so that no point is given one.
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
    not_crossed: str = ""
    spare: int = 0
    name: str = ""
    type: Any = str
    has_usual: bool = False
    usual: Any = None
    is_derived: bool = False

    @property
    def option(self) -> str:
        """The option of the command line: the short one if there is one."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def is_required(self) -> bool:
        """Whether a grid must have values on the axis."""
        return self.default is None and not self.fallback

    @property
    def grid_default(self) -> tuple[Any, ...]:
        """The values of a grid without the axis; empty if each algorithm has its own."""
        return () if self.default is None else (self.read(self.default, self.name),)

    def is_usual(self, value: Any) -> bool:
        """Return whether this is the usual value, which tables and commands omit."""
        return self.has_usual and bool(value == self.usual)


@dataclass(frozen=True, order=True)
class Parameters:
    """The parameters of a run, in the order of columns and of the values that vary the slowest.

    The type of a field is that of the values of a run. Its default is the usual value: an option or
    a file may omit it, and rows written before the axis existed have it.

    Attributes:
        algorithm: name, with the arguments that are no axes in parentheses, as plug-ins may have
            them: ``two-phase(depth=3)``. Defaults are omitted.
        base: the construction given to the algorithm, by default its own default; None if the
            algorithm takes none.
        message_bytes: size of the message, m in the papers.
        segments: pieces of each tree's share of the message. For an algorithm of messages these are
            the packets that it sends one after the other (Tseng & Sheu 1997, Table 1, row [16]);
            1 for an algorithm that takes neither segments nor messages.
        messages: unit messages of the schedule; 1 if the algorithm takes no messages.
        copies: trees that carry each unit; 1 if the algorithm has no such argument.
        faults: nodes and links as `starcast.judges.simulator.Fault` writes them, in ascending
            order; a tuple, or the list that is stored.
        seed: the random seed of the faults; 0 without faults.
        t_s, t_c: time per packet and time per byte, T_s and T_c in the papers.
    """

    topology: Annotated[
        str,
        Axis(
            help="A topology, such as S5, S6,3 or Q4.",
            meaning="spec of the topology",
            completion="topologies",
            spare=2,
        ),
    ]
    collective: Annotated[
        str,
        Axis(
            help="broadcast, allgather, scatter, gather, alltoall, reduce, reduce-scatter or "
            "allreduce.",
            meaning="broadcast, allgather, scatter, ...",
            default="broadcast",
            completion="collectives",
            words=get_args(Collective),
            not_crossed="a shorter time for another collective has no meaning",
            spare=3,
        ),
    ]
    algorithm: Annotated[
        str,
        Axis(
            help="An algorithm, such as multiple or 'edge-disjoint(copies=2,messages=4)'; "
            "see 'starcast schedule algorithms'.",
            meaning="name of the algorithm: multiple",
            completion="algorithms",
            matching="choice",
        ),
    ]
    ports: Annotated[
        str,
        Axis(
            help="Port model: all or one.",
            meaning="port model: all or one",
            fallback="the algorithm's first",
            words=get_args(Ports),
            spare=9,
        ),
    ]
    _: KW_ONLY
    execution: Annotated[
        str,
        Axis(
            help="Execution model: synchronous or asynchronous.",
            meaning="execution model: synchronous or asynchronous",
            default="synchronous",
            words=EXECUTION_MODELS,
            spare=10,
        ),
    ] = "synchronous"
    base: Annotated[
        str | None,
        Axis(
            help="Construction that the algorithm starts from, if it takes one.",
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
            help="Size of the message in bytes: 1024, 2.5, 23/3.",
            meaning="m: bytes of the message",
            read=read_number,
            flag="-m",
            is_structural=False,
            not_crossed="a shorter time for fewer bytes has no meaning;"
            " '--crossovers' and the plots compare message sizes",
            spare=1,
        ),
    ]
    segments: Annotated[
        int,
        Axis(
            help="Segments per tree, for algorithms that segment the message: a number, best, or"
            " degree (n-1 on S_n). Best has the least time by the algorithm's closed form; if that"
            " form is not exact, another number may execute faster.",
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
            help="Unit messages, for algorithms of messages: a number, best, or degree.",
            meaning="M: unit messages; 1 for an algorithm that takes segments",
            read=partial(read_count, words=(BEST, DEGREE)),
            fallback="the segments",
            least=1,
            is_argument=True,
            matching=None,
            spare=7,
        ),
    ] = field(init=False)
    copies: Annotated[
        int,
        Axis(
            help="Edge-disjoint trees that carry each unit: a number or degree.",
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
            help="Faulty nodes and links: '21345 12345-21345@3' (from step 3), or a number drawn at"
            " random: '2 nodes', '1 link'.",
            meaning="nodes and links that fail: 21345, 12345-21345@3",
            read=read_faults,
            default=NONE,
            not_crossed="the time of a schedule does not depend on them",
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
            not_crossed="it only decides the faults, which are part of the question",
            spare=13,
        ),
    ] = 0
    t_s: Annotated[
        Fraction,
        Axis(
            help="Start-up time per packet, T_s in the papers.",
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
            help="Time per byte, T_c in the papers.",
            meaning="T_c: time per byte",
            read=read_number,
            default="1",
            is_structural=False,
            spare=12,
        ),
    ]


def _read_declaration() -> dict[str, Axis]:
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
#: The axes of a point; the values of all others follow from them.
POINT_AXES = tuple(name for name, axis in AXES.items() if not axis.is_derived)
#: The parameters that comparable runs share, and those in which they may differ, in the order of
#: matching. The best number of segments depends on all other choices, so segments come last.
QUESTION = tuple(name for name, axis in AXES.items() if axis.matching == "question")
CHOICE = tuple(
    sorted(
        (name for name, axis in AXES.items() if axis.matching == "choice"),
        key=lambda name: name == "segments",
    )
)
