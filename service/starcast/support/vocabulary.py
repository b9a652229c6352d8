"""Closed sets of words that several packages, the command line and both databases share.

This module imports no other module of starcast, so that ``starcast --help`` stays fast.
"""

from enum import StrEnum
from typing import Literal, get_args

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
#: The port models: in a step, a node may use all ports, or send one packet and receive one packet.
Ports = Literal["all", "one"]
#: The execution models: all packets of a step start together, or each packet starts when it can.
ExecutionModel = Literal["synchronous", "asynchronous"]
EXECUTION_MODELS: tuple[ExecutionModel, ...] = get_args(ExecutionModel)
#: Simulators of other projects that can execute schedules.
ExternalSimulator = Literal["simgrid"]

#: File formats to which schedules, topologies and forests can be exported for other tools.
ScheduleFormat = Literal["goal", "msccl-xml", "chrome-trace", "csv", "parquet"]
TopologyFormat = Literal["graphml", "gexf", "dot", "metis", "graph6", "anynet"]
ForestFormat = Literal["dot", "newick", "json"]
#: The simulators for which GOAL files are written: LogGOPSim itself, and its copy in ATLAHS.
GoalDialect = Literal["loggopsim", "atlahs"]
GOAL_DIALECTS: tuple[GoalDialect, ...] = get_args(GoalDialect)


class Format(StrEnum):
    """Output format; each command, and each resource of the server, allows some of the formats."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    HTML = "html"
    SVG = "svg"


#: The formats that every listing supports.
ListingFormat = Literal[Format.TABLE, Format.JSON, Format.CSV, Format.MARKDOWN, Format.LATEX]


class LoadMethod(StrEnum):
    """Method of loading rows into Neo4j: over Bolt, by offline import, or by the faster of both."""

    AUTO = "auto"
    BOLT = "bolt"
    IMPORT = "import"


class Layout(StrEnum):
    """Arrangement of nodes in a picture: on levels by distance from a source, or in a ring."""

    LEVELS = "levels"
    RING = "ring"


#: Names of the layouts in which all nodes of a topology are drawn; see `starcast.drawing.layouts`.
LayoutName = Literal["substars", "levels", "necklaces", "torus", "projection", "quotient"]
LAYOUT_NAMES: tuple[LayoutName, ...] = get_args(LayoutName)

#: Solvers for the formulas of searches.
Engine = Literal["cadical", "cp-sat"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

#: Minimum level of the records in starcast's log. The level ``off`` disables the log.
LogLevel = Literal["debug", "info", "warning", "error", "off"]

#: Levels of verifying claims; each level includes the sizes of the levels before it.
Level = Literal["quick", "full", "deep"]
LEVELS: tuple[Level, ...] = get_args(Level)

#: The possible verdicts on a claim.
VerdictWord = Literal["holds", "holds as a bound", "fails", "not checkable"]
VERDICT_WORDS: tuple[VerdictWord, ...] = get_args(VerdictWord)

#: The result of verifying a record, which is the best known object of a problem. For each of these
#: results, the object itself (the witness) was checked.
#:
#: * ``verified``: the bound was computed again, or its proof was generated again and accepted.
#: * ``not made again``: the bound has a proof of the right formula, which was not generated again.
#: * ``not checked``: only the result of a second solver supports the bound.
Verification = Literal["verified", "not made again", "not checked"]
VERIFICATIONS: tuple[Verification, ...] = get_args(Verification)
