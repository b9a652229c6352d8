"""``python -m lts [words for pytest]``: the tests of the packs on Neo4j 5.26 LTS; ``make test-lts``.

Ends with pytest's exit code, or with that of `starcast.errors` where the server cannot be had: never with 0 untested.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from lts.server import Lts
from starcast.cli.output import reporter, say
from starcast.embedded import lifecycle
from starcast.embedded.home import Home
from starcast.embedded.processes import LOOPBACK
from starcast.errors import StarcastError
from starcast.settings import Settings

ROOT = Path(__file__).parents[2]


def main(words: list[str]) -> int:
    """Start the server, run pytest against it, stop the server; its exit code, or the error's."""
    try:
        with tempfile.TemporaryDirectory(prefix="starcast-lts-") as folder:
            return _tested(Settings.load(home=Path(folder)), words)
    except StarcastError as error:
        say(f"error: {error.message}")
        say(f"hint: {error.hint}")
        return error.exit_code


def _tested(settings: Settings, words: list[str]) -> int:
    home = Home(settings.home)
    home.create()
    server = Lts(home)
    server.java()  # before anything is fetched
    server.jars(settings).fetch(settings.maven_repository, reporter())
    started = lifecycle.Start(home, settings, reporter()).ready([server])
    try:
        address = {
            "STARCAST_TEST_NEO4J": f"bolt://{LOOPBACK}:{started[server.name].port}",
            "STARCAST_TEST_NEO4J_PASSWORD_FILE": str(server.password_file),
        }
        command = [sys.executable, "-m", "pytest", *(words or ["tests/packs"])]
        return subprocess.run(command, cwd=ROOT, env=os.environ | address, check=False).returncode
    finally:
        lifecycle.stop([server])


if __name__ == "__main__":
    # The server ends with whoever is asked to end, not only with Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main(sys.argv[1:]))
