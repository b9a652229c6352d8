"""The methods of a lab for servers, schemas and backups."""

from dataclasses import asdict
from pathlib import Path

from starcast.database import sessions
from starcast.database.backup import Manifest
from starcast.doctor import Finding, examine
from starcast.embedded import stack
from starcast.endpoints import migration_url
from starcast.ingest.backup import back_up, restore
from starcast.lab.connection import Connection
from starcast.support.table import Table


class Administration(Connection):
    """The servers, the schema of PostgreSQL, backup and restore."""

    def status(self) -> Table:
        """Return state, process, port, uptime and memory of the embedded servers."""
        rows = [asdict(server) for server in stack.status(self.settings.home)]
        columns = ("server", "state", "pid", "port", "uptime_s", "memory_mb", "log")
        return Table.of(rows, columns)

    def doctor(self) -> Table:
        """Check packages, servers, schema, disk and memory; return a row per check."""
        findings = [asdict(finding) for finding in examine(self.settings)]
        return Table.of(findings, Finding.__dataclass_fields__)

    def stop(self) -> None:
        """Stop the embedded servers, and close the lab.

        Raises:
            BusyError: another process is starting or stopping them.
        """
        self._database()
        self.close()
        stack.down(self.settings.home, self.reporter)

    def schema(self) -> Table:
        """Return the revision of the tables, the newest one, and how the tables differ from it."""
        engine = self._database()
        current, newest = sessions.current(engine), sessions.head()
        differences = sessions.differences(engine) if current == newest else []
        row = {"revision": current, "newest": newest, "differences": differences}
        return Table.of([row], row)

    def upgrade(self) -> str | None:
        """Create the tables of PostgreSQL, or upgrade them; return the revision.

        ``connect(start=True)`` does it for the embedded stack.

        Raises:
            RejectedError: a newer version of starcast has created the tables, or they are not
                starcast's.
            UnavailableError: the server cannot be reached, or refuses the owner of the tables.
        """
        self._database()
        owner = sessions.connect(migration_url(self.settings))
        try:
            sessions.upgrade(owner, self.reporter)
            return sessions.current(owner)
        finally:
            owner.dispose()

    def backup(self, file: str | Path) -> Manifest:
        """Write everything stored to a file: artifacts, experiments, runs and verdicts.

        The graph is not included: `restore` rebuilds it.

        Raises:
            InputError: the file cannot be written.
            UnavailableError: the server, or its program ``pg_dump``, is not available.
        """
        self._database()
        return back_up(self.settings, Path(file))

    def restore(self, file: str | Path, *, graph: bool = True) -> Manifest:
        """Restore a backup into running, empty stores; verify it and rebuild the graph.

        Args:
            file: a file of `backup`.
            graph: rebuild the graph; False needs no Neo4j.

        Raises:
            InputError: the file is not a complete backup; nothing was changed.
            RejectedError: a store is not empty; nothing was changed. Or the restored rows differ
                from the backup; the store is empty.
        """
        self._database()
        self._close_graph()
        return restore(self.settings, Path(file), self.reporter, rebuild_graph=graph)
