"""Rebuild Neo4j's store in a new data directory, and switch to it in one step.

The old server answers queries until the import is complete. Then it stops, and a new server starts
on the new directory, on the same port if that is free. The new server is not yet listed in
``stack.json``, because the caller first verifies its contents. Then `StoreRebuild.commit` makes the
new directory the current one. Before the commit, the old directory stays current and unchanged,
even after an error, Ctrl-C or kill -9.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from starcast.embedded import data_directories, offline_import, stack
from starcast.embedded.home import Home, ServerProcess
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.stack import Startup
from starcast.stores.servers import GraphAddress
from starcast.support.errors import StarcastError, UnavailableError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings


class StoreRebuild:
    """One rebuild: call `load`, `start` and `commit` in this order.

    Attributes:
        folder: an empty folder for the files to import.
    """

    def __init__(self, home: Home, settings: Settings, reporter: Reporter) -> None:
        self._home = home
        self._settings = settings
        self._reporter = reporter
        self._old = Neo4j(home)
        self._new = Neo4j(home, data_directories.new_directory(home.neo4j))
        self._startup = Startup(home, settings, reporter)
        self._downtime = ExitStack()
        self._started: dict[str, ServerProcess] = {}
        self._committed = False
        self._staging = data_directories.staging(home.neo4j)
        self.folder = self._staging / "files"
        self.folder.mkdir(mode=0o700, parents=True)

    def load(self, arguments: Sequence[str]) -> None:
        """Import files into the new directory and delete them; the old server keeps running.

        Args:
            arguments: options of the import that name the files relative to `folder`.

        Raises:
            StarcastError: the import failed; `offline_import.run_import` lists the classes.
        """
        offline_import.run_import(
            self._new, self._settings, arguments, self.folder, self._staging, self._reporter
        )
        # The files are about as large as the store, so delete them before the server starts.
        shutil.rmtree(self._staging)

    def start(self) -> GraphAddress:
        """Stop the old server, start one on the new directory, and return its address.

        Raises:
            UnavailableError: the new server does not start.
        """
        self._downtime.enter_context(self._home.mark_rebuilding())
        stack.stop([self._old])
        # Only the files of a stopped server are consistent.
        data_directories.copy_system_data(self._old.data, self._new.data)
        self._started = self._startup.start([self._new], publish=False)
        uri = f"bolt://{LOOPBACK}:{self._started[Neo4j.name].port}"
        return GraphAddress(uri, Neo4j.user, self._new.password, Neo4j.database)

    def commit(self) -> None:
        """Make the new directory current, and list the new server in ``stack.json``."""
        data_directories.activate(self._new.data)
        self._committed = True
        self._home.publish(self._started)

    def end(self) -> None:
        """Make sure that a server runs on the current directory; delete all other directories."""
        with self._downtime:
            if not self._committed:
                self._roll_back()
            data_directories.delete_stale(self._home.neo4j)

    def _roll_back(self) -> None:
        if Neo4j.name in self._home.running():  # the old server was never stopped
            return
        stack.stop([self._new])
        self._reporter.say("going back to the previous store")
        try:
            self._startup.start([Neo4j(self._home)])
        except StarcastError as error:  # do not hide the error that caused the roll-back
            self._reporter.say(f"Neo4j does not start again: {error.message}")


def clean_up(settings: Settings, reporter: Reporter) -> None:
    """Clean up after a killed rebuild, if there was any; see `stack.clean_up`."""
    home = Home(settings.home.resolve())
    if data_directories.stale_names(home.neo4j):
        with home.locked(reporter, "cleaning up after an interrupted import"):
            stack.clean_up(home)


@contextmanager
def rebuild_store(settings: Settings, reporter: Reporter, task: str) -> Iterator[StoreRebuild]:
    """Rebuild the store of the running embedded Neo4j, holding the lock of its home.

    If the context ends without `StoreRebuild.commit`, the old store is restored.

    Args:
        settings: the settings, which name the home.
        reporter: receives progress messages.
        task: activity shown to other processes, such as ``dropping S10``.

    Raises:
        UnavailableError: Neo4j is not running, or could not be restarted.
        LimitError: the disk is full.
    """
    home = Home(settings.home.resolve())
    with home.locked(reporter, task):
        stack.clean_up(home)
        if Neo4j.name not in home.running():
            raise UnavailableError(
                f"the embedded Neo4j in {home.root} is not running", hint="run 'starcast up'"
            )
        # The new server serves Neo4j Browser on the same port, if the running one serves it.
        port = Neo4j(home).browser_port
        browser = {"browser": port is not None, "neo4j_http_port": port}
        rebuild = StoreRebuild(home, settings.model_copy(update=browser), reporter)
        try:
            yield rebuild
        finally:
            rebuild.end()
