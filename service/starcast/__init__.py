"""A laboratory for collective communication on star graphs.

The names in ``__all__`` are the public Python API. They are imported on first use, so that the
command line starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from starcast.support.errors import StarcastError
from starcast.support.table import DisplayForm, register_renderer

if TYPE_CHECKING:
    from starcast.claims.verify import check
    from starcast.collectives.algorithm import algorithm, algorithms, schedule
    from starcast.collectives.columns import schedule_from_columns, schedule_from_csv
    from starcast.collectives.model import Schedule
    from starcast.formats import (
        export,
        network,
        schedule_from_goal,
        schedule_from_msccl,
        schedule_from_mscclpp,
    )
    from starcast.judges.simulator import Fault, Simulation, Timing, simulate, timing
    from starcast.lab import Lab, connect
    from starcast.topologies import Topology, topology
    from starcast.topologies.families import family
    from starcast.topologies.networks import Network
    from starcast.trees.construction import construction, constructions, forest
    from starcast.trees.model import Forest

__all__ = [
    "Fault",
    "Forest",
    "Lab",
    "Network",
    "Schedule",
    "Simulation",
    "StarcastError",
    "Timing",
    "Topology",
    "algorithm",
    "algorithms",
    "check",
    "connect",
    "construction",
    "constructions",
    "export",
    "family",
    "forest",
    "network",
    "schedule",
    "schedule_from_columns",
    "schedule_from_csv",
    "schedule_from_goal",
    "schedule_from_msccl",
    "schedule_from_mscclpp",
    "simulate",
    "timing",
    "topology",
]

_PACKAGES = {
    "Fault": "starcast.judges.simulator",
    "Forest": "starcast.trees",
    "Lab": "starcast.lab",
    "Network": "starcast.topologies.networks",
    "Schedule": "starcast.collectives",
    "Simulation": "starcast.judges.simulator",
    "Timing": "starcast.judges.simulator",
    "Topology": "starcast.topologies",
    "algorithm": "starcast.collectives.algorithm",
    "algorithms": "starcast.collectives",
    "check": "starcast.claims.verify",
    "connect": "starcast.lab",
    "construction": "starcast.trees.construction",
    "constructions": "starcast.trees",
    "export": "starcast.formats",
    "family": "starcast.topologies.families",
    "forest": "starcast.trees",
    "network": "starcast.formats",
    "schedule": "starcast.collectives",
    "schedule_from_columns": "starcast.collectives",
    "schedule_from_csv": "starcast.collectives",
    "schedule_from_goal": "starcast.formats",
    "schedule_from_msccl": "starcast.formats",
    "schedule_from_mscclpp": "starcast.formats",
    "simulate": "starcast.judges.simulator",
    "timing": "starcast.judges.simulator",
    "topology": "starcast.topologies",
}


def _represent(thing: object, form: DisplayForm) -> str | None:
    from starcast.drawing import represent

    return represent(thing, form)


register_renderer(_represent)


def __getattr__(name: str) -> Any:
    if name not in _PACKAGES:
        raise AttributeError(f"module 'starcast' has no attribute '{name}'")
    value = getattr(import_module(_PACKAGES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
