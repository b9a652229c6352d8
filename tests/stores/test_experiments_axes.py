"""The axes of experiments: declared once, so that a new one is known everywhere."""

import subprocess
import sys

from sqlalchemy import URL

from support.markers import TESTS


def test_an_axis_that_is_declared_once_is_known_everywhere(fresh_database: URL) -> None:
    """Grid, point, command, options, columns, views, files, API, and matching of comparisons."""
    address = fresh_database.render_as_string(hide_password=False)
    program = [sys.executable, "-m", "support.dummy_axis", address]
    done = subprocess.run(program, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
