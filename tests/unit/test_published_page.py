"""The page on published schedules: its tables, and their recomputation from published files."""

import os
import subprocess
from pathlib import Path

import published_schedules
import pytest
from marked import BEGIN, END

from starcast import schedule
from starcast.formats import render

PLAN = (
    '{"collective": "allgather", "inplace": true, "gpus": ['
    '{"id": 0, "input_chunks": 1, "output_chunks": 2, "scratch_chunks": 0, "threadblocks": '
    '[{"id": 0, "ops": [{"name": "glres"}]}]}, '
    '{"id": 1, "input_chunks": 1, "output_chunks": 2, "scratch_chunks": 0, "threadblocks": []}]}'
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> published_schedules.Source:
    """A repository with a correct schedule, its copy, a wrong schedule and an unsupported plan."""
    folder = tmp_path / "someone" / "schedules"
    folder.mkdir(parents=True)
    # S4,1 is the complete graph of 4 nodes.
    right = b"".join(render(schedule("S4,1", "allgather", "nk-greedy"), "msccl-xml")).decode()
    (folder / "a.xml").write_text(right)
    (folder / "copy.xml").write_text(right)
    (folder / "wrong.xml").write_text(
        right.replace('dstbuf="o" dstoff="2"', 'dstbuf="o" dstoff="1"')
    )
    (folder / "plan.json").write_text(PLAN)
    (folder / "other.txt").write_text("")
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm x"):
        subprocess.run(["git", "-C", folder, *words.split()], check=True)
    commit = subprocess.check_output(["git", "-C", folder, "rev-parse", "HEAD"], text=True).strip()
    source = published_schedules.Source("someone/schedules", commit, r".*\.(xml|json)")
    monkeypatch.setenv(published_schedules.VARIABLE, str(tmp_path))
    monkeypatch.setattr(published_schedules, "SOURCES", (source,))
    return source


def test_every_schedule_file_of_a_published_repository_has_a_verdict(
    repository: published_schedules.Source,
) -> None:
    lines = list(published_schedules.verdicts())[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    names = "`someone/schedules: {}`"
    right, plan, wrong = cells
    assert right[0] == "<br>".join(map(names.format, ("a.xml", "copy.xml")))
    assert right[1:4] == ["allgather", "K4", "1"]
    # One step takes T_s + m T_c, which is divided by the larger of T_s and m T_c.
    assert right[4:] == [f"{1124 / 1024:.2f}", f"{(2**20 + 100) / 2**20:.2f}", "right"]
    assert plan[:3] == [names.format("plan.json"), "allgather", "K2"]
    assert plan[6].startswith("not read: rank 0, thread block 0, step 0 has the operation 'glres'")
    assert wrong[6].startswith("wrong: rank ")
    (counts,) = list(published_schedules.sources())[2:]
    assert counts.endswith("| 4 | 3 | 1 | 1 | 1 |")
    assert repository.commit[:12] in counts


def table(name: str) -> list[str]:
    """Return the lines of a table on the page of published schedules."""
    text = published_schedules.PAGE.read_text(encoding="utf-8")
    text = text.partition(BEGIN.format(name, "published_schedules.py"))[2].partition(END)[0]
    return text.strip().splitlines()


def test_the_two_tables_on_the_page_of_published_schedules_agree_with_each_other() -> None:
    verdicts = [line.strip("| ").split(" | ") for line in table("verdicts")[2:]]
    for line, source in zip(table("sources")[2:], published_schedules.SOURCES, strict=True):
        assert source.commit[:12] in line
        mine = [each for each in verdicts if each[0].startswith(f"`{source.repository}:")]
        kinds = [each[-1].partition(":")[0] for each in mine]
        files = sum(each[0].count(f"`{source.repository}:") for each in mine)
        counts = [files, len(mine), *map(kinds.count, ("right", "wrong", "not read"))]
        assert line.strip("| ").split(" | ")[2:] == [str(count) for count in counts]


@pytest.mark.slow
def test_the_page_of_published_schedules_agrees_with_the_published_files() -> None:
    if published_schedules.VARIABLE not in os.environ:
        pytest.skip(f"{published_schedules.VARIABLE} names no folder with the repositories")
    page = published_schedules.PAGE.read_text(encoding="utf-8")
    assert page == published_schedules.page()
