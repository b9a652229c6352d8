"""The README: its Python session, its drawing, its links and its length."""

import doctest
import re
from pathlib import Path

import pytest

from starcast.drawing import draw_topology
from starcast.topologies import topology

README = Path(__file__).parents[2] / "README.md"


def test_the_python_session_in_the_readme_gives_the_printed_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted >= 4
    assert result.failed == 0


def test_the_drawing_of_s4_in_the_readme_is_up_to_date() -> None:
    picture = README.parent / "docs" / "s4.svg"
    assert 'src="docs/s4.svg"' in README.read_text(encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == draw_topology(topology("S4"))


def test_relative_links_in_the_readme_and_other_pages_of_the_root_folder_lead_to_files() -> None:
    for page in ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]:
        text = (README.parent / page).read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)#]+)|(?:src|href)=\"([^\"#]+)", text)
        local = [link for pair in links for link in pair if link and "://" not in link]
        assert [link for link in local if not (README.parent / link).exists()] == []


def test_the_readme_fits_a_few_screens() -> None:
    """The README has at most 140 lines and 900 words.

    Lines outside tables and code blocks have at most 120 columns.
    """
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 140
    assert len(text.split()) <= 900
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines()
    assert [line for line in prose if len(line) > 120 and not line.startswith("|")] == []
