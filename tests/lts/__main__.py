"""``python -m lts [PYTEST ARGUMENTS]`` or ``make test-lts``: test the packs on Neo4j 5.26 LTS.

The exit code is that of pytest, or one of `starcast.support.errors` if the server does not start.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from lts.server import Lts
from starcast.cli.output import reporter, say
from starcast.embedded import stack
from starcast.embedded.home import Home
from starcast.embedded.system import LOOPBACK
from starcast.support.errors import StarcastError
from starcast.support.settings import Settings

ROOT = Path(__file__).parents[2]
#: The modules of `tests/packs` that test queries; the others test writing of the graph store.
PACK_TESTS = [
    f"tests/packs/{name}.py" for name in ("test_packs", "test_packs_irregular", "test_plans")
]


def main(arguments: list[str]) -> int:
    """Start the server, run pytest against it, and stop it; return the exit code."""
    try:
        with tempfile.TemporaryDirectory(prefix="starcast-lts-") as folder:
            return _run_tests(Settings.load(home=Path(folder)), arguments)
    except StarcastError as error:
        say(f"error: {error.message}")
        say(f"hint: {error.hint}")
        return error.exit_code


def _run_tests(settings: Settings, arguments: list[str]) -> int:
    home = Home(settings.home)
    home.create()
    server = Lts(home)
    server.java()  # if Java is missing, this fails before the download
    server.jars(settings).download(settings.maven_repository, reporter())
    started = stack.start([server], settings, reporter())
    try:
        variables = {
            "STARCAST_TEST_NEO4J": f"bolt://{LOOPBACK}:{started[server.name].port}",
            "STARCAST_TEST_NEO4J_PASSWORD_FILE": str(server.password_file),
        }
        command = [sys.executable, "-m", "pytest", *(arguments or PACK_TESTS)]
        return subprocess.run(command, cwd=ROOT, env=os.environ | variables, check=False).returncode
    finally:
        stack.stop([server])


if __name__ == "__main__":
    # Stop the server after SIGTERM too, not only after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main(sys.argv[1:]))
