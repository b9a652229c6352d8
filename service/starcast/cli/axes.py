"""Arguments that commands share, and the options of a point.

``run once`` takes one value of each option, ``experiment run`` lists.
"""

from typing import Annotated

import typer

from starcast.cli import completion

TopologyArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOPOLOGY",
        help="A topology, such as S5, S6,3 or Q4.",
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
    typer.Argument(
        help="broadcast, allgather, scatter, gather or alltoall.",
        autocompletion=completion.collectives,
    ),
]
AlgorithmArgument = Annotated[
    str,
    typer.Argument(
        help=(
            "An algorithm, such as multiple or 'edge-disjoint(copies=2,messages=4)'; "
            "see 'starcast schedule algorithms'."
        ),
        autocompletion=completion.algorithms,
    ),
]

ConditionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="AXIS=VALUE",
        help="Only runs with this value, such as topology=S5; repeat it for alternatives.",
    ),
]

MESSAGE_BYTES_HELP = "Size of the message in bytes: 1024, 2.5, 23/3."
SEGMENTS_HELP = (
    "Segments per tree, for algorithms that segment the message: a number, best, or degree (n-1 on"
    " S_n). Best has the least time by the algorithm's closed form; if that form is not exact,"
    " another number may execute faster."
)
MESSAGES_HELP = "Unit messages, for algorithms of messages: a number, best, or degree."
COPIES_HELP = "Edge-disjoint trees that carry each unit: a number or degree."
BASE_HELP = "Construction that the algorithm starts from, if it takes one."
PORTS_HELP = "Port model: all or one."
EXECUTION_HELP = "Execution model: synchronous or asynchronous."
FAULTS_HELP = (
    "Faulty nodes and links: '21345 12345-21345@3' (from step 3), or a number drawn at random:"
    " '2 nodes', '1 link'."
)
SEED_HELP = "Random seed for drawing faults."
T_S_HELP = "Start-up time per packet, T_s in the papers."
T_C_HELP = "Time per byte, T_c in the papers."
