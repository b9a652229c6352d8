"""Words and names shared by several packages, the command line and both databases.

These are closed sets of words, and the syntax of a construction or an algorithm with arguments:
``dimension-change(base=multiple,i=2)``. This module imports no large modules, so that
``starcast --help`` stays fast.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Literal, get_args

from starcast.support.errors import InputError

Collective = Literal[
    "broadcast",
    "allgather",
    "scatter",
    "gather",
    "alltoall",
    "reduce",
    "reduce-scatter",
    "allreduce",
]
#: The port models. In a step, a node may use all its ports (``all``), or may send one packet and
#: receive one packet (``one``).
Ports = Literal["all", "one"]
#: The execution models. All packets of a step start together (``synchronous``), or each packet
#: starts as soon as it can (``asynchronous``).
ExecutionModel = Literal["synchronous", "asynchronous"]
EXECUTION_MODELS: tuple[ExecutionModel, ...] = get_args(ExecutionModel)
#: Lower bounds that are computed only on request: from the bottleneck cut (``cut``), or by a linear
#: program (``lp``).
RequestedBound = Literal["cut", "lp"]

#: The formats to which schedules can be exported for other tools.
ScheduleFormat = Literal["goal", "msccl-xml", "chrome-trace", "csv", "parquet"]
#: The kinds of plug-ins that `starcast new` writes.
PluginKind = Literal["construction", "algorithm", "family"]
#: The formats of schedule files that can be read.
RowsFormat = Literal["csv", "goal", "msccl-xml", "mscclpp-json"]
NetworkFormat = Literal[
    "edges", "csv", "graph6", "metis", "json", "dot", "pajek", "adjlist", "anynet",
    "matrix-market", "graphml", "gexf", "gml", "sparse6", "ns3", "nccl-xml", "simgrid",
]  # fmt: skip
#: The link attributes that the weights in a network file can specify.
Weights = Literal["capacity", "latency"]
#: File formats by suffix, for files whose content does not determine their format.
NETWORK_SUFFIXES: dict[str, NetworkFormat] = {
    ".adjlist": "adjlist", ".anynet": "anynet", ".dot": "dot", ".g6": "graph6", ".gexf": "gexf",
    ".gml": "gml", ".graph": "metis", ".graph6": "graph6", ".graphml": "graphml", ".gv": "dot",
    ".json": "json", ".metis": "metis", ".mtx": "matrix-market", ".net": "pajek",
    ".s6": "sparse6", ".sparse6": "sparse6",
}  # fmt: skip
#: Suffixes that mark a string as a path. A path with any other suffix must contain a slash.
PATH_SUFFIXES = (*NETWORK_SUFFIXES, ".csv", ".tsv", ".txt", ".edges", ".edgelist", ".xml", ".gz")


def is_network_path(text: str) -> bool:
    """Return whether a string is written like the path of a network file, and not like a spec."""
    return "/" in text or text.lower().endswith(PATH_SUFFIXES)


TopologyFormat = Literal["graphml", "gexf", "dot", "metis", "graph6", "anynet"]
ForestFormat = Literal["dot", "newick", "json"]
#: The simulators for which GOAL files are written: LogGOPSim, and its copy in ATLAHS.
GoalDialect = Literal["loggopsim", "atlahs"]
GOAL_DIALECTS: tuple[GoalDialect, ...] = get_args(GoalDialect)


#: The parameter by which a comparison pairs runs: if possible, both runs of a pair have the same
#: value of this parameter.
PairedBy = Literal["message_units", "segments"]
#: The plots of a comparison: time against message size, or the number of links used in each step.
Plot = Literal["time", "links"]


class Format(StrEnum):
    """An output format. Each command and each server resource allows some of the formats."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    #: A table as wide as the text of a two-column page.
    LATEX_WIDE = "latex-wide"
    HTML = "html"
    SVG = "svg"


#: The formats that every listing supports.
ListingFormat = Literal[
    Format.TABLE, Format.JSON, Format.CSV, Format.MARKDOWN, Format.LATEX, Format.LATEX_WIDE
]


class LoadMethod(StrEnum):
    """Method of loading rows into Neo4j: over Bolt, or by an offline import.

    With ``auto``, rows are imported if that is possible and estimated to be faster.
    """

    AUTO = "auto"
    BOLT = "bolt"
    IMPORT = "import"


class Layout(StrEnum):
    """Arrangement of nodes in a drawing: on levels by distance from a source, or on a ring."""

    LEVELS = "levels"
    RING = "ring"


#: Names of the layouts in which all nodes of a topology are drawn; see `starcast.drawing.layouts`.
LayoutName = Literal[
    "substars", "levels", "necklaces", "torus", "projection", "grid", "quotient", "spring",
    "positions", "circle",
]  # fmt: skip
LAYOUT_NAMES: tuple[LayoutName, ...] = get_args(LayoutName)

#: The solvers that searches can use to decide formulas.
Engine = Literal["cadical", "cp-sat"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

#: Minimum level of the records in starcast's log. The level ``off`` disables the log.
LogLevel = Literal["debug", "info", "warning", "error", "off"]

#: Levels of claim verification. Each level covers all topologies of the level before it, and
#: usually also larger topologies.
Level = Literal["quick", "full", "deep"]
LEVELS: tuple[Level, ...] = get_args(Level)

#: The possible verdicts on a claim.
VerdictWord = Literal["holds", "holds as a bound", "fails", "not checkable"]
VERDICT_WORDS: tuple[VerdictWord, ...] = get_args(VerdictWord)

#: The result of verifying a record, which contains the best known object of a problem, and a bound
#: that no object can beat. In all three cases, the object itself (the witness) was checked.
#:
#: * ``verified``: the bound was recomputed, or its proof was regenerated and accepted.
#: * ``not made again``: the bound has a proof for the correct formula, but the proof was not
#:   regenerated.
#: * ``not checked``: only the result of a second solver supports the bound.
Verification = Literal["verified", "not made again", "not checked"]
VERIFICATIONS: tuple[Verification, ...] = get_args(Verification)


#: The value of an argument, for a construction or an algorithm.
ArgumentValue = int | str
#: Arguments of a construction or an algorithm, by name.
Arguments = Mapping[str, ArgumentValue]

#: The maximum number of characters in a name that becomes part of ids, file names and URLs.
MAX_NAME = 200
#: The pattern of topology specs. Ids in files of many formats contain specs, so specs contain only
#: characters without a special meaning in these formats. Database tables and record files use the
#: same pattern.
SPEC = r"[A-Za-z0-9][A-Za-z0-9,._+-]{0,49}"
SPEC_CHARACTERS = "at most 50 ASCII letters, digits, and the characters , . _ + -"
#: The pattern of node labels; see `SPEC`.
LABEL = r"[A-Za-z0-9_.]{1,40}"
LABEL_CHARACTERS = "1 to 40 ASCII letters, digits, and the characters _ ."
#: The string that replaces the root in the id of a schedule that contains the rows of all sources.
EXPANDED = "expanded"
#: The pattern of a construction or algorithm in both stores: a name, and arguments if it has any.
STORED_NAME = r"[a-z][a-z0-9-]*(\([^()]+\))?"

#: The pattern of a fault. The explorer's ``state.js`` contains the same expression.
FAULT = re.compile(r"([^@\s-]+)(?:-([^@\s-]+))?(?:@([0-9]{1,18}))?")
#: The pattern of a node that is given by its rank, such as ``#6``. No label contains ``#``.
RANK = re.compile(r"#([0-9]{1,18})")
_CALL = re.compile(r"([^()=,\s]+)(?:\(([^()]*)\))?")
# An argument contains no colon, because colons separate the parts of an id.
_ARGUMENT = re.compile(r"([^():=,\s]+)=([^():=,\s]+)")
#: The largest integer in a spec or an id, such as ``multiple(segments=4)``.
MAX_ARGUMENT = 10**9 - 1
_INTEGER = re.compile(r"-?[0-9]{1,9}")
_SEPARATOR = re.compile(r",(?![^(]*\))")  # a comma outside parentheses


def parse_fault(text: str) -> tuple[tuple[int | str, ...], int]:
    """Parse a fault: ``21345``, ``12345-21345`` or ``21345@3``; ``#6`` is the node of rank 6.

    Returns:
        Two values. The first is a tuple with the faulty node, or with the two ends of the faulty
        link; each is a label or a rank. The second is the first step of the fault, by default 1.

    Raises:
        InputError: the text does not have one of these forms.

    Example:
        >>> parse_fault("#6-21345@3")
        ((6, '21345'), 3)
    """
    match = FAULT.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"'{text}' is not a fault",
            hint="write a node (21345 or #6) or a link (12345-21345); append @3 for a fault from"
            " step 3 on",
        )
    *ends, step = match.groups()
    ranks = ((end, RANK.fullmatch(end)) for end in ends if end is not None)
    return tuple(int(rank[1]) if rank else end for end, rank in ranks), int(step or 1)


def format_spec(name: str, arguments: Mapping[str, str | int]) -> str:
    """Return the spec of a construction or algorithm: its name, with any arguments in parentheses.

    Example:
        >>> format_spec("dimension-change", {"i": 2, "base": "multiple"})
        'dimension-change(base=multiple,i=2)'
    """
    return f"{name}({format_arguments(arguments)})" if arguments else name


def format_arguments(arguments: Mapping[str, str | int]) -> str:
    """Return arguments as a string, sorted by name: ``base=multiple,i=2``."""
    return ",".join(f"{name}={value}" for name, value in sorted(arguments.items()))


def parse_spec(text: str, noun: str = "construction") -> tuple[str, dict[str, ArgumentValue]]:
    """Parse text such as ``dimension-change(base=multiple,i=2)``; return the name and arguments.

    Args:
        noun: the kind of object, such as ``algorithm``, for the error message.

    Raises:
        InputError: the text is not a name, optionally followed by arguments in parentheses.
    """
    match = _CALL.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"'{text}' is not a valid {noun}",
            hint="write a name with optional arguments, such as 'greedy' or "
            "'dimension-change(base=multiple,i=2)'",
        )
    return match[1], parse_arguments(match[2] or "")


def parse_construction(text: str, given: Arguments) -> tuple[str, dict[str, ArgumentValue]]:
    """Parse a construction; return its name and all arguments, including those in ``given``.

    Args:
        text: the construction: a name, or a name with arguments as in ``dimension-change(i=2)``.
        given: further arguments by name.

    Raises:
        InputError: arguments in the text are malformed, or an argument is given twice.
    """
    # A text without parentheses is not checked here, because the catalogue suggests a similar name
    # if no construction has this name.
    name, arguments = parse_spec(text) if "(" in text else (text, {})
    for repeated in sorted(arguments.keys() & given.keys()):
        raise InputError(
            f"the argument '{repeated}' is given twice",
            hint=f"remove it from '{text}', or omit `{repeated}`",
        )
    return name, arguments | dict(given)


def parse_arguments(text: str) -> dict[str, ArgumentValue]:
    """Parse arguments such as ``base=multiple,i=2``.

    A value that is an integer of at most nine digits is converted to an integer.

    Raises:
        InputError: the text is not a list of names with values, or an argument is repeated.
    """
    arguments: dict[str, ArgumentValue] = {}
    for item in filter(None, text.split(",")):
        match = _ARGUMENT.fullmatch(item.strip())
        if match is None or match[1] in arguments:
            problem = "is not an argument" if match is None else "repeats an argument"
            raise InputError(
                f"'{item}' {problem}", hint="write arguments as 'base=multiple,i=2', each once"
            )
        name, value = match.groups()
        arguments[name] = int(value) if _INTEGER.fullmatch(value) else value
    return arguments


def split_specs(specs: str | Iterable[str]) -> list[str]:
    """Split a string, or each of several strings, at commas that are not in parentheses.

    Example:
        >>> split_specs("greedy, dimension-change(base=multiple,i=2)")
        ['greedy', 'dimension-change(base=multiple,i=2)']
    """
    lists = [specs] if isinstance(specs, str) else specs
    items = [item.strip() for text in lists for item in _SEPARATOR.split(text)]
    return [item for item in items if item]
