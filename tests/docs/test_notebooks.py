"""The notebooks in examples/notebooks run, and their stored outputs equal those of a new run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import notebooks
import pytest
import sessions

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def executed() -> Iterator[dict[Path, Any]]:
    """Yield all notebooks after a run in a new home directory."""
    with sessions.work_folder() as work:
        yield notebooks.play_all(work)


NAMES = ["first-hour", "is-my-construction-better"]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_with_the_outputs_that_it_shows(
    executed: dict[Path, Any], name: str
) -> None:
    """``python docs/notebooks.py`` updates the outputs."""
    assert sorted(path.stem for path in executed) == NAMES
    (path,) = (path for path in executed if path.stem == name)
    stored = notebooks.read(path)
    assert notebooks.outputs(executed[path]) == notebooks.outputs(stored)
    assert sum(map(len, notebooks.outputs(stored))) > 10


def test_times_rates_and_paths_are_removed_before_outputs_are_compared() -> None:
    text = "created 5: 1,550 rows in 11.8 s, 229 rows/s; time 4584, /home/a/.local/share/starcast"
    assert notebooks.normalise(text) == (
        "created 5: 1,550 rows in ... s, ... rows/s; time 4584, HOME"
    )
