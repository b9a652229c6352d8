"""The closed sets of words that all packages share, as types."""

from typing import Literal

Family = Literal["star", "nk-star", "hypercube"]
Collective = Literal["broadcast", "allgather", "scatter", "gather", "alltoall"]
#: The port models: a node uses all its ports in a step, or sends one packet and receives one.
Ports = Literal["all", "one"]

#: The nouns for the topologies of a family in messages.
FAMILY_NOUNS: dict[Family, str] = {
    "star": "star graphs",
    "nk-star": "(n,k)-stars",
    "hypercube": "hypercubes",
}
