"""The README's quick start with the wheel, installed outside the checkout, on test servers.

`make sweep` installs the wheel with only its dependencies, and starts separate servers.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sessions

from starcast.support.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the wheel is installed, without its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    subprocess.run([*build, folder, ROOT], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    install = ["-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    subprocess.run([sys.executable, *install, "--target", folder / "site", built], check=True)
    return folder / "site"


@pytest.mark.usefixtures("clean_graph")
def test_the_commands_of_the_quick_start_print_the_output_shown_in_the_readme(
    wheel: Path, stack_settings: Settings, tmp_path: Path
) -> None:
    readme = sessions.README.read_text(encoding="utf-8")
    section = readme.partition("## Quick start\n")[2].partition("\n## ")[0]
    page = section.replace("make demo", "starcast demo")
    environment = {
        **sessions.reader_environment(tmp_path),
        "PATH": os.pathsep.join([str(wheel / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": str(wheel),
        "STARCAST_HOME": str(stack_settings.home),
    }
    omitted = {"source .venv/bin/activate": "the wheel is first in PATH"}
    assert sessions.run_page(page, tmp_path, environment, omitted) == page
    program = [sys.executable, "-c", "import starcast; print(starcast.__file__)"]
    imported = subprocess.check_output(program, cwd=tmp_path, env=environment, text=True)
    assert Path(imported).is_relative_to(wheel)
