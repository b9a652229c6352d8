"""What every shipped query is asked in the benchmark of the packs, and by which columns other answers are compared.

A query has a ``worst`` case, whose time is recorded, and a ``typical`` one where that differs. Words in braces are
`Place.words`: ``near`` is next to the root (and the root of tree 0's only subtree), ``half`` is half the diameter away
from it, ``far`` the whole; ``link`` leads from the root to ``near``; ``step`` is in the middle of the schedule.
"""

from collections.abc import Mapping

Case = Mapping[str, str]


def _ends(**more: str) -> Mapping[str, Case]:
    """From the root to a node, in ``topology``."""
    return _pair({"topology": "{topology}", "source": "{root}", **more}, "target")


def _pair(case: Case, name: str) -> Mapping[str, Case]:
    """The parameter names a node that is half the diameter away, or the whole."""
    return {"typical": {**case, name: "{half}"}, "worst": {**case, name: "{far}"}}


def _only(**case: str) -> Mapping[str, Case]:
    return {"worst": case}


def _faults(**more: str) -> Mapping[str, Case]:
    """A node half way from the root dies, or one next to the root and the link between them."""
    case = {"forest": "{multiple}", **more}
    return {
        "typical": {**case, "nodes": "{half}"},
        "worst": {**case, "nodes": "{near}", "links": "{link}"},
    }


_FOREST = _only(forest="{multiple}")
_TWO = _only(forest="{multiple}", other="{disjoint}")
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
    "faults/fewer-trees": _faults(needed="7"),
    "faults/left-by-all": _faults(),
    "faults/worst-links": _FOREST,
    "faults/worst-nodes": _FOREST,
    "overlap/both-directions": _FOREST,
    "overlap/load-histogram": _FOREST,
    "overlap/most-loaded-links": _FOREST,
    "overlap/shared-links": _FOREST,
    "overlap/simultaneous-sends": _SCHEDULE,
    "overlap/tree-pairs": _FOREST,
    "overlap/two-forests": _TWO,
    "overlap/units-a-packet": _only(schedule="{broadcast}", by_step="true"),
    "paths/avoiding-path": _ends(nodes="{near}"),
    "paths/k-shortest-paths": _ends(),
    "paths/next-hops": _pair({"topology": "{topology}", "node": "{root}"}, "target"),
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
    "schedules/last-arrivals": _only(schedule="{broadcast}", count="10"),
    "schedules/sends": _STEP,
    "schedules/steps": _SCHEDULE,
    "topology/adjacency": _only(topology="{topology}", first="{root}", second="{near}"),
    "topology/distance-profile": _only(topology="{topology}", node="{far}"),
    "topology/necklace": _only(topology="{topology}", node="{far}"),
    "topology/neighbours": _only(topology="{topology}", node="{far}"),
    "topology/nodes-at-distance": _only(topology="{topology}", node="{far}", distance="{distance}"),
    "topology/substar": _only(topology="{topology}", members="{substar}"),
    "trees/changed-parents": _TWO,
    "trees/deeper-nodes": _FOREST,
    "trees/fan-out": _FOREST,
    "trees/heights": _FOREST,
    "trees/leaf-count": _FOREST,
    "trees/leaves": _only(forest="{multiple}", tree="1"),
    "trees/level-profile": _FOREST,
    "trees/places": {
        "typical": {"forest": "{multiple}", "node": "{half}"},
        "worst": {"forest": "{multiple}", "node": "{root}"},
    },
    "trees/root-subtrees": _FOREST,
    "trees/stretch": _FOREST,
}

#: The columns by which an answer is compared with that of another library; where any of several answers is right, what all
#: of them have in common.
COMPARED: Mapping[str, tuple[str, ...]] = {
    "faults/cut-off": ("tree", "node", "level", "parent"),
    "faults/damage": ("tree", "reached", "cut"),
    "faults/fewer-trees": ("node", "reached"),
    "faults/left-by-all": ("node", "trees"),
    "faults/worst-links": ("lower", "port", "cut"),
    "faults/worst-nodes": ("node", "cut"),
    "overlap/both-directions": ("lower", "port", "upward", "downward"),
    "overlap/load-histogram": ("load", "links"),
    "overlap/most-loaded-links": ("sender", "port", "trees"),
    "overlap/shared-links": ("sender", "port", "trees"),
    "overlap/simultaneous-sends": ("step", "sender", "port", "sends"),
    "overlap/tree-pairs": ("first", "second", "links"),
    "overlap/two-forests": ("sender", "port", "trees", "others"),
    "overlap/units-a-packet": ("step", "units", "packets"),
    "paths/avoiding-path": ("length",),
    "paths/k-shortest-paths": ("length",),
    "paths/next-hops": ("port", "next", "left"),
    "paths/number-of-shortest-paths": ("length", "paths"),
    "paths/parallel-paths": ("tree", "length", "nodes"),
    "paths/routing-table": ("node", "distance", "ports"),
    "paths/shortest-path": ("length",),
    "paths/shortest-paths": ("nodes",),
    "paths/tree-path": ("length", "climbed", "nodes"),
    "schedules/activity": ("step", "port", "unit", "tree"),
    "schedules/deliveries": ("step", "unit", "sender", "port", "tree"),
    "schedules/dimensions": ("step", "dimensions"),
    "schedules/idle-links": ("sender", "port", "receiver"),
    "schedules/last-arrivals": ("unit", "tree", "nodes"),
    "schedules/sends": ("sender", "port", "unit", "tree"),
    "schedules/steps": ("step", "busy", "units", "largest"),
    "topology/adjacency": ("adjacent",),
    "topology/distance-profile": ("distance", "nodes"),
    "topology/necklace": ("rotations", "rank"),
    "topology/neighbours": ("neighbour",),
    "topology/nodes-at-distance": ("rank",),
    "topology/substar": ("rank",),
    "trees/changed-parents": ("tree", "node", "parent", "instead"),
    "trees/deeper-nodes": ("tree", "node", "excess"),
    "trees/fan-out": ("tree", "children", "nodes"),
    "trees/heights": ("tree", "height", "deepest"),
    "trees/leaf-count": ("tree", "nodes", "leaves"),
    "trees/leaves": ("leaf", "parent", "level"),
    "trees/level-profile": ("tree", "level", "nodes"),
    "trees/places": ("tree", "level", "parent", "subtree"),
    "trees/root-subtrees": ("tree", "child", "nodes"),
    "trees/stretch": ("tree", "excess", "nodes"),
}
