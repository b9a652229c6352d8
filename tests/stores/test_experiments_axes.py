"""A new experiment axis is declared once and is then known everywhere."""

import subprocess
import sys

from sqlalchemy import URL

from support.markers import TESTS


def test_a_newly_declared_axis_is_known_everywhere(fresh_database: URL) -> None:
    """Grids, points, options, columns, views, files, the API and comparisons include the axis."""
    address = fresh_database.render_as_string(hide_password=False)
    program = [sys.executable, "-m", "support.dummy_axis", address]
    done = subprocess.run(program, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
