"""Edge-disjoint spanning trees of least height, from the shipped records."""

from starcast.topologies import Topology
from starcast.trees.common import translate_ports
from starcast.trees.construction import construction
from starcast.trees.model import Forest

_PROBLEM = "edge-disjoint-trees"


def _no_optimal_record(topology: Topology) -> str | None:
    """Return why no record proves a least height on a topology, or None."""
    from starcast.records.files import missing_reason  # noqa: PLC0415

    return missing_reason(_PROBLEM, topology.spec, optimal=True)


@construction(
    "optimal-edge-disjoint", families=["star", "nk-star", "hypercube"],
    description="directed edge-disjoint spanning trees of the least height that a search has "
    "proven", source="starcast: records of edge-disjoint-trees", smallest=3, one_tree_per_port=True,
    exclusion=_no_optimal_record,
)  # fmt: skip
def optimal_edge_disjoint(topology: Topology, root: int) -> Forest:
    """Return as many directed edge-disjoint trees as the degree, of the least possible height."""
    # Imported only here, as below: records load pydantic.
    from starcast.records import shipped_record  # noqa: PLC0415

    rows = shipped_record(_PROBLEM, topology.spec).witness["parent_port"].copy()
    return Forest(topology, translate_ports(topology, rows, root), root, "optimal-edge-disjoint")
