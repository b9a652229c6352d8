"""What the README shows in Python is what Python says."""

import doctest
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_python_session_of_the_readme() -> None:
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0
