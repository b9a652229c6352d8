"""A fixture for tests that execute schedules with SimGrid, if it is available."""

import sys
from pathlib import Path

import pytest

from starcast.collectives import schedule
from support.simgrid import NotInstalledError, SimGridRequest, run_simgrid

#: `make` unpacks SimGrid here.
FOLDER = Path(sys.prefix) / ".simgrid"


@pytest.fixture(scope="session")
def simgrid() -> Path | None:
    """Return the folder of the unpacked SimGrid, or None if SimGrid is installed.

    Tests are skipped if SimGrid is not available.
    """
    for installation in (FOLDER if (FOLDER / "usr").is_dir() else None, None):
        try:
            run_simgrid([SimGridRequest(schedule("S2", "broadcast", "greedy"))], installation)
        except NotInstalledError as error:
            problem = str(error)
        else:
            return installation
    reason = FOLDER / "reason"
    pytest.skip(reason.read_text().strip() if reason.exists() else problem)
