"""Making Neo4j's store anew beside the one in force, and changing over in one step.

The old server answers until the import is done. Then it stops, and another starts on the fresh directory, on the same port if
that is free, known to nobody but the caller, who compares what is in it. Only `Rebuilding.commit` makes it the one in force.
Whatever happens before that, an error, Ctrl-C or kill -9, the pointer names the old directory, which nobody has touched.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from starcast.embedded import data_directories, files, lifecycle, offline_import
from starcast.embedded.home import Home, Running
from starcast.embedded.lifecycle import Start
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.processes import LOOPBACK
from starcast.errors import StarcastError, UnavailableError
from starcast.graph.address import GraphAddress
from starcast.progress import Reporter
from starcast.settings import Settings


class Rebuilding:
    """One rebuilding: `load`, `start`, `commit`, in this order.

    Attributes:
        folder: empty, for the files to import.
    """

    def __init__(self, home: Home, settings: Settings, reporter: Reporter) -> None:
        self._home, self._settings, self._reporter = home, settings, reporter
        self._old = Neo4j(home)
        self._fresh = Neo4j(home, data_directories.fresh(home.neo4j))
        self._start = Start(home, settings, reporter)
        self._away = ExitStack()
        self._started: dict[str, Running] = {}
        self._committed = False
        self._staging = data_directories.staging(home.neo4j)
        self.folder = self._staging / "files"
        self.folder.mkdir(mode=0o700, parents=True)

    def load(self, arguments: Sequence[str]) -> None:
        """Import the files that these arguments name, as seen from `folder`, into the fresh directory; then they go.

        The old server goes on.

        Raises:
            StarcastError: see `importing.run`.
        """
        offline_import.run(
            self._fresh, self._settings, arguments, self.folder, self._staging, self._reporter
        )
        shutil.rmtree(self._staging)

    def start(self) -> GraphAddress:
        """Stop the old server, and start one on the fresh directory, which nobody else is told of.

        Raises:
            UnavailableError: it does not start.
        """
        self._away.enter_context(self._home.rebuilding())
        lifecycle.stop([self._old])
        data_directories.take_over(self._old.data, self._fresh.data)
        self._started = self._start.ready([self._fresh])
        uri = f"bolt://{LOOPBACK}:{self._started[Neo4j.name].port}"
        return GraphAddress(uri, Neo4j.user, self._fresh.password, Neo4j.database)

    def commit(self) -> None:
        """Make the fresh directory the one in force, and its server the home's; what it replaces goes."""
        data_directories.point(self._fresh.data)
        self._committed = True
        self._start.publish(self._started)

    def end(self) -> None:
        """Leave the server of the directory in force running, and no other directory."""
        with self._away:
            if not self._committed:
                self._go_back()
            data_directories.sweep(self._home.neo4j)

    def _go_back(self) -> None:
        if Neo4j.name in lifecycle.running(self._home):  # the old one, which was never stopped
            return
        lifecycle.stop([self._fresh])
        self._reporter.say("going back to the store as it was")
        try:
            self._start.run([Neo4j(self._home)])
        except StarcastError as error:  # there is an error already that says why we are here
            self._reporter.say(f"Neo4j does not start again: {error.message}")


def tidy(settings: Settings, reporter: Reporter) -> None:
    """End and remove what a rebuilding that was killed has left, if there is anything."""
    home = Home(settings.home.resolve())
    if data_directories.leftovers(home.neo4j):
        with files.writing(home.root), home.locked(reporter):
            lifecycle.tidy(home)


@contextmanager
def rebuilding(settings: Settings, reporter: Reporter) -> Iterator[Rebuilding]:
    """Rebuild the store of the embedded Neo4j, which runs; left without `Rebuilding.commit`, everything is as before.

    Meanwhile nobody else starts or stops a server of this home.

    Raises:
        UnavailableError: it does not run, or could not be started again.
        LimitError: the disk is full.
    """
    home = Home(settings.home.resolve())
    with files.writing(home.root), home.locked(reporter):
        lifecycle.tidy(home)
        if Neo4j.name not in lifecycle.running(home):
            raise UnavailableError(
                f"the embedded Neo4j in {home.root} does not run", hint="run 'starcast up'"
            )
        work = Rebuilding(home, settings, reporter)
        try:
            yield work
        finally:
            work.end()
