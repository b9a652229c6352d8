"""The parameters with which the query benchmark runs each query, and the compared columns.

Every query has a ``worst`` case, and some queries also have a ``typical`` case. Words in braces are
placeholders, which `Place.words` fills. Among them are:

* ``near``: a neighbour of the root that is the root's child in tree 0
* ``far``: a node at the maximum distance from the root
* ``half``: a node at half this distance from the root, rounded down
* ``link``: the link from the root to ``near``
* ``step``: a step in the middle of the schedule
"""

from collections.abc import Mapping

Case = Mapping[str, str]


def _ends(**more: str) -> Mapping[str, Case]:
    """Return two cases for a query about paths from the root, with two different targets."""
    return _pair({"topology": "{topology}", "source": "{root}", **more}, "target")


def _pair(case: Case, name: str) -> Mapping[str, Case]:
    """Return two cases that differ in the value of the parameter ``name``.

    In the worst case, the value is a node at the maximum distance from the root. In the typical
    case, it is a node at half this distance.
    """
    return {"typical": {**case, name: "{half}"}, "worst": {**case, name: "{far}"}}


def _only(**case: str) -> Mapping[str, Case]:
    return {"worst": case}


def _faults(**more: str) -> Mapping[str, Case]:
    """Return a case with a dead node, and one with a dead neighbour and a dead link of the root."""
    case = {"forest": "{multiple}", **more}
    return {
        "typical": {**case, "dead_nodes": "{half}"},
        "worst": {**case, "dead_nodes": "{near}", "dead_links": "{link}"},
    }


_FOREST = _only(forest="{multiple}")
_TWO = _only(forest="{multiple}", other_forest="{disjoint}")
_SCHEDULE = _only(schedule="{broadcast}")
_STEP = _only(schedule="{broadcast}", step="{step}")
_TRAFFIC = {
    "typical": {"schedule": "{broadcast}", "node": "{half}"},
    "worst": {"schedule": "{broadcast}", "node": "{root}"},
}

CASES: Mapping[str, Mapping[str, Case]] = {
    "faults/copies": _faults(copies="2"),
    "faults/cut-off": _faults(),
    "faults/damage": _faults(),
    "faults/fewer-trees": _faults(required_trees="7"),
    "faults/unreached-nodes": _faults(),
    "faults/worst-links": _FOREST,
    "faults/worst-nodes": _FOREST,
    "overlap/both-directions": _FOREST,
    "overlap/load-histogram": _FOREST,
    "overlap/most-loaded-links": _FOREST,
    "overlap/shared-links": _FOREST,
    "overlap/simultaneous-sends": _SCHEDULE,
    "overlap/tree-pairs": _FOREST,
    "overlap/two-forests": _TWO,
    "overlap/packet-sizes": _only(schedule="{broadcast}", by_step="true"),
    "paths/avoiding-path": _ends(avoided_nodes="{near}"),
    "paths/connectivity": _ends(),
    "paths/disjoint-paths": _ends(),
    "paths/k-shortest-paths": _ends(),
    "paths/next-hops": _pair({"topology": "{topology}", "source": "{root}"}, "target"),
    "paths/number-of-shortest-paths": _ends(),
    "paths/parallel-paths": _pair({"forest": "{multiple}"}, "node"),
    "paths/parallel-paths-shared": _pair({"forest": "{multiple}"}, "node"),
    "paths/path-lengths": _ends(),
    "paths/routing-table": _only(topology="{topology}", target="{far}"),
    "paths/shortest-path": _ends(),
    "paths/shortest-paths": _ends(),
    "paths/tree-path": _pair({"forest": "{multiple}", "tree": "1", "source": "{near}"}, "target"),
    "schedules/activity": _TRAFFIC,
    "schedules/deliveries": _only(schedule="{broadcast}", node="{far}"),
    "schedules/dimensions": _SCHEDULE,
    "schedules/idle-links": _STEP,
    "schedules/last-arrivals": _only(schedule="{broadcast}", limit="10"),
    "schedules/sends": _STEP,
    "schedules/steps": _SCHEDULE,
    "topology/adjacency": _only(topology="{topology}", source="{root}", target="{near}"),
    "topology/bridges": _only(topology="{topology}"),
    "topology/cut-nodes": _only(topology="{topology}"),
    "topology/degrees": _only(topology="{topology}"),
    "topology/distance-profile": _only(topology="{topology}", node="{far}"),
    "topology/eccentricities": _only(topology="{topology}"),
    "topology/necklace": _only(topology="{topology}", node="{far}"),
    "topology/neighbours": _only(topology="{topology}", node="{far}"),
    "topology/nodes-at-distance": _only(topology="{topology}", node="{far}", distance="{distance}"),
    "topology/substar": _only(topology="{topology}", pattern="{substar}"),
    "trees/changed-parents": _TWO,
    "trees/deeper-nodes": _FOREST,
    "trees/depth-and-load": _FOREST,
    "trees/fan-out": _FOREST,
    "trees/heights": _FOREST,
    "trees/leaf-count": _FOREST,
    "trees/leaves": _only(forest="{multiple}", tree="1"),
    "trees/level-profile": _FOREST,
    "trees/node-in-trees": {
        "typical": {"forest": "{multiple}", "node": "{half}"},
        "worst": {"forest": "{multiple}", "node": "{root}"},
    },
    "trees/root-subtrees": _FOREST,
    "trees/stretch": _FOREST,
}

#: Queries about properties that only star graphs have.
ONLY_STAR = ("topology/necklace", "topology/substar")

#: The columns that are compared with the results of other libraries. If several results are valid,
#: these are the columns in which all valid results agree.
COMPARED: Mapping[str, tuple[str, ...]] = {
    "faults/cut-off": ("tree", "node", "level", "parent"),
    "faults/damage": ("tree", "reached", "unreached"),
    "faults/fewer-trees": ("node", "trees_left"),
    "faults/unreached-nodes": ("node", "trees"),
    "faults/worst-links": ("lower", "port", "unreached"),
    "faults/worst-nodes": ("node", "unreached"),
    "overlap/both-directions": ("lower", "port", "upward_trees", "downward_trees"),
    "overlap/load-histogram": ("load", "links"),
    "overlap/most-loaded-links": ("sender", "port", "tree_numbers"),
    "overlap/shared-links": ("sender", "port", "tree_numbers"),
    "overlap/simultaneous-sends": ("step", "sender", "port", "units"),
    "overlap/tree-pairs": ("first_tree", "second_tree", "links"),
    "overlap/two-forests": ("sender", "port", "tree_numbers", "other_tree_numbers"),
    "overlap/packet-sizes": ("step", "units", "packets"),
    "paths/avoiding-path": ("length",),
    "paths/k-shortest-paths": ("length",),
    "paths/next-hops": ("port", "next_node", "distance"),
    "paths/number-of-shortest-paths": ("length", "paths"),
    "paths/parallel-paths": ("tree", "length", "path"),
    "paths/routing-table": ("node", "distance", "ports"),
    "paths/shortest-path": ("length",),
    "paths/shortest-paths": ("path",),
    "paths/tree-path": ("length", "upward_links", "path"),
    "schedules/activity": ("step", "port", "unit", "tree"),
    "schedules/deliveries": ("step", "unit", "sender", "port", "tree"),
    "schedules/dimensions": ("step", "dimensions"),
    "schedules/idle-links": ("sender", "port", "receiver"),
    "schedules/last-arrivals": ("unit", "tree", "path"),
    "schedules/sends": ("sender", "port", "unit", "tree"),
    "schedules/steps": ("step", "links_used", "units", "largest_packet"),
    "topology/adjacency": ("adjacent",),
    "topology/distance-profile": ("distance", "nodes"),
    "topology/necklace": ("rotations", "rank"),
    "topology/neighbours": ("neighbour",),
    "topology/nodes-at-distance": ("rank",),
    "topology/substar": ("rank",),
    "trees/changed-parents": ("tree", "node", "parent", "other_parent"),
    "trees/deeper-nodes": ("tree", "node", "excess"),
    "trees/fan-out": ("tree", "children", "nodes"),
    "trees/heights": ("tree", "height", "deepest_nodes"),
    "trees/leaf-count": ("tree", "nodes", "leaves"),
    "trees/leaves": ("leaf", "parent", "level"),
    "trees/level-profile": ("tree", "level", "nodes"),
    "trees/node-in-trees": ("tree", "level", "parent", "subtree_nodes"),
    "trees/root-subtrees": ("tree", "child", "subtree_nodes"),
    "trees/stretch": ("tree", "excess", "nodes"),
}
