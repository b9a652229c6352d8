"""The family NAME, a plug-in of starcast. Replace its links by yours."""

import starcast


@starcast.family("NAME", pattern=r"SPEC(\d+)", sizes=range(3, 200), source="my notes")
def FUNCTION(n):
    """Yield the links of SPECn as pairs of labels: here a wheel with n nodes around its hub."""
    # Generators instead of links give a Cayley graph: see the page on plug-ins.
    for node in range(n):
        yield "hub", node
        yield node, (node + 1) % n
