"""The operations on topologies, which need no server."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from starcast.lab.answers import ExchangeFile, Picture
from starcast.lab.artifacts import Artifacts
from starcast.lab.forests import is_forest, load_forest
from starcast.lab.signature import Layout, OutFile, Root, Shell, TopologyName, check_suffix
from starcast.support.table import Facts
from starcast.support.vocabulary import TopologyFormat

if TYPE_CHECKING:
    from starcast.trees import Forest


class Networks(Artifacts):
    """Operations on computed and stored topologies."""

    def show_topology(
        self, topology: TopologyName, *, stored: bool = False, verify: bool = False
    ) -> Facts:
        """Show the counts and distances of a topology, either computed now or as stored.

        The distance profile counts the nodes at distance 0, 1, ... from any node. The reverse port
        of a port is the port that the neighbour uses for the same link; the two differ only for
        residual links of (n,k)-stars.

        Args:
            topology: a topology, such as S5, S6,3 or Q4.
            stored: show the stored values, which needs a server; implied by ``verify``.
            verify: recompute counts and checksums in Neo4j and compare.

        Raises:
            InputError: there is no such topology.
            NotFoundError: the stored values are requested, but the topology is not stored.
            RejectedError: the graph has other counts or checksums.

        Example:
            >>> lab.show_topology("S6")["diameter"]
            7

            $ starcast topology show S6
            $ starcast topology show S5 --stored --verify
        """
        from starcast.topologies import as_topology

        if stored or verify:
            spec = topology if isinstance(topology, str) else topology.spec
            return self.show(spec, kind="topology", verify=verify)
        found = as_topology(topology)
        return Facts(
            {
                "spec": found.spec,
                "family": found.family,
                "nodes": found.nodes,
                "links": found.links,
                "degree": found.degree,
                "ports": list(found.ports),
                "reverse_ports": [found.reverse_port(port) for port in found.ports],
                "diameter": found.diameter,
                "mean_distance": float(found.mean_distance),
                "exact_mean_distance": str(found.mean_distance),
                "distance_profile": list(found.distance_profile()),
            }
        )

    def draw_topology(self, topology: TopologyName, *, layout: Layout = None) -> Picture:
        """Draw a topology, with links coloured by dimension. No server is needed.

        Topologies of up to 128 nodes, such as S5, can be drawn; ``starcast explore`` shows larger
        ones.

        Args:
            topology: a topology, such as S5, S6,3 or Q4.
            layout: positions of the nodes.

        Raises:
            InputError: there is no such topology, or it does not have this layout.
            LimitError: the topology has more than 128 nodes.

        Example:
            $ starcast topology draw S4 --out star.svg
            $ starcast topology draw S4 --layout torus --out torus.pdf
        """
        from starcast import drawing
        from starcast.topologies import as_topology

        found = as_topology(topology)
        return Picture(drawing.draw_topology(found, layout), found.spec)

    def export_topology(self, topology: TopologyName, *, to: TopologyFormat) -> ExchangeFile:
        """Write a topology to a file for another tool. No server is needed.

        Nodes are numbered by their ranks from 0, for metis from 1. graphml, gexf and dot also hold
        labels and ports.

        Args:
            topology: a topology, such as S5, S6,3 or Q4.
            to: format of the file.

        Raises:
            InputError: there is no such topology.
            LimitError: the topology exceeds a limit of the format.

        Example:
            $ starcast topology export S5 --to graphml --out s5.graphml
            $ starcast topology export S6 --to metis --out s6.graph
        """
        from starcast.topologies import as_topology

        return ExchangeFile(as_topology(topology), to)

    def explore(
        self,
        topology: TopologyName,
        *,
        out: OutFile,
        forest: Annotated[
            "Sequence[str | Path | Forest]", Shell(Sequence[str], completes="constructions")
        ] = (),
        schedule: Annotated[Sequence[str], Shell()] = (),
        root: Root = None,
        state: str | None = None,
    ) -> Facts:
        """Write a page that shows a topology, forests and schedules in any browser, offline.

        The page contains its scripts and data and loads no other files, so it can be mailed. No
        server is needed.

        Args:
            topology: a topology, such as S5, S6,3 or Q4.
            out: output file, such as page.html.
            forest: a construction, such as multiple, or a file written by ``forest build``; can be
                repeated. In Python also `Forest` objects.
            schedule: COLLECTIVE:ALGORITHM, such as ``broadcast:multiple(segments=4)``; can be
                repeated. ``:one`` at the end chooses the one-port model.
            root: label of the root of all these forests and schedules.
            state: initial state of the page, written as in the explorer's addresses:
                ``step=3&node=21345``.

        Returns:
            The ids of the forests and schedules, the file, and its bytes.

        Raises:
            InputError: a name, an argument, the root or a file is wrong.
            RejectedError: the array of a file is not a forest.
            LimitError: the topology or a schedule is too large for a page.

        Example:
            >>> lab.explore("S5", forest=["multiple"], out="page.html")["forests"]
            ['S5:multiple:12345']

            $ starcast explore S5 --out s5.html
            $ starcast explore S5 --forest multiple --schedule broadcast:multiple --out page.html
            $ starcast explore S4 --schedule alltoall:exact --state step=2 --out s4.html
        """
        from starcast.drawing import explorer
        from starcast.support.atomic import atomic_write
        from starcast.topologies import as_topology

        check_suffix(out, ".html", ".htm")
        network = as_topology(topology)
        at: int | str = 0 if root is None else root
        # A file determines the topology and the root of its forest. A construction needs both.
        forests = [
            load_forest(name) if is_forest(name) else load_forest(network, str(name), {"root": at})
            for name in forest
        ]
        for built in forests:
            built.verify()
        schedules = [explorer.build_schedule(network, name, at) for name in schedule]
        page = explorer.build_page(network, forests, schedules, state).encode()
        with atomic_write(Path(out)) as file:
            file.write(page)
        held = {
            "forests": [each.id for each in forests],
            "schedules": [each.id for each in schedules],
        }
        contents = ", ".join(held["forests"] + held["schedules"] or [network.spec])
        return Facts(
            {**held, "file": str(out), "bytes": len(page)},
            f"wrote {contents} to {out}: {len(page) / 1e6:,.2f} MB",
        )
