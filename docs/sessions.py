"""Run the shell commands in documentation pages, and compare or write their outputs.

An ``sh`` block of a page contains commands. A ``text`` block between this block and the next ``sh``
block contains the standard output of these commands. If the comment ``<!-- exit code N -->`` is
above an ``sh`` block, the last command of the block fails with this exit code, and the ``text``
block also contains its error message. In a ``text`` block, ``...`` matches any characters or, alone
on a line, any number of lines. If the first line of a ``python`` or ``toml`` block is a comment
such as ``# FOLDER/NAME.py``, the block is the content of this file. All other ``python`` blocks are
Python sessions.

``make docs`` writes the outputs into the pages, and tests compare stored with new outputs.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TUTORIAL, README = ROOT / "docs" / "tutorial.md", ROOT / "README.md"
PLUGINS = ROOT / "docs" / "plugins.md"
YOUR_PAPER = ROOT / "docs" / "your-paper.md"
YOUR_NETWORK = ROOT / "docs" / "your-network.md"
PROGRAMS = ROOT / "docs" / "programs.md"
MACHINES = ROOT / "docs" / "machines.md"
PYTHON = ROOT / "docs" / "python.md"

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT_CODE = re.compile(r"<!-- exit code (\d+) -->\s*\Z")
_FILE = re.compile(r"# ((?:[\w-]+/)*[\w-]+\.(?:py|toml))\n")


class Block(NamedTuple):
    """A fenced block of a page.

    Attributes:
        language: the word after the fence: ``sh``, ``text``, ``python`` or ``toml``.
        text: the lines of the block, each with its newline.
        start: the offset in the page at which the lines begin.
        exit_code: the exit code in the comment above the block; 0 without a comment.
    """

    language: str
    text: str
    start: int
    exit_code: int = 0


class SessionError(Exception):
    """The commands of a page do not behave as the page describes."""


def read_blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    blocks = []
    for match in _FENCE.finditer(page):
        code = _EXIT_CODE.search(page, 0, match.start())
        blocks.append(Block(match[1], match[2], match.start(2), int(code[1]) if code else 0))
    return blocks


def run_page(
    page: str, folder: Path, environment: Mapping[str, str], omitted: Mapping[str, str]
) -> str:
    """Run the commands of a page in one shell, and return the page with their outputs.

    Args:
        page: the text of the page.
        folder: the folder in which the shell starts; files that the page shows are written there.
        environment: environment variables of the shell.
        omitted: commands that are not run, each with the reason.

    Raises:
        SessionError: a block is not reached or ends with an exit code other than `Block.exit_code`,
            or an omitted command is not in the page.
    """
    blocks = read_blocks(page)
    commands = {_command(line) for block in blocks for line in block.text.splitlines()}
    if missing := set(omitted) - commands:
        raise SessionError(
            f"the page does not contain the commands that are to be omitted: {missing}"
        )
    records = folder / ".records"
    records.mkdir()
    script = []
    for number, block in enumerate(blocks):
        if block.language == "sh":
            kept = [line for line in block.text.splitlines() if _command(line) not in omitted]
            script += _recorded("\n".join(kept), block.exit_code, records / str(number))
        elif name := _FILE.match(block.text):
            script.append(f"mkdir -p $(dirname {name[1]})")
            script.append(f"cat > {name[1]} <<'END OF FILE'\n{block.text}END OF FILE")
    subprocess.run(
        ["bash"],
        input="\n".join(script),
        text=True,
        cwd=folder,
        env=dict(environment),
        check=False,
        stdout=subprocess.DEVNULL,
    )
    return _filled(page, blocks, records)


def _command(line: str) -> str:
    """Return a command line without the comment at its end."""
    return line.partition("  #")[0].strip()


def _recorded(commands: str, exit_code: int, record: Path) -> list[str]:
    """Return shell code that runs commands and writes their outputs and exit code to files."""
    return [
        # A failing command ends the session, unless the block has an exit code other than 0.
        "set +e" if exit_code else "set -e",
        f"trap 'echo $? > {record}.code' EXIT",
        f"{{ :\n{commands}\n}} > {record}.out 2> {record}.err < /dev/null",
        f"echo $? > {record}.code",
        "trap - EXIT",
    ]


def _filled(page: str, blocks: list[Block], records: Path) -> str:
    """Return a page in which outdated ``text`` blocks are replaced by recorded outputs."""
    output = ""
    parts, end = [], 0
    for number, block in enumerate(blocks):
        if block.language == "sh":
            output = _output(block, records / str(number))
        elif block.language == "text" and not _matches(block.text, output):
            parts += [page[end : block.start], output]
            end = block.start + len(block.text)
    return "".join([*parts, page[end:]])


def _output(block: Block, record: Path) -> str:
    """Return the recorded output of an ``sh`` block.

    Raises:
        SessionError: the block was not reached, or its exit code was not `Block.exit_code`.
    """
    code = record.with_suffix(".code")
    if not code.exists():
        raise SessionError(f"the session ended before these commands:\n{block.text}")
    out, error = (record.with_suffix(end).read_text(encoding="utf-8") for end in (".out", ".err"))
    if int(code.read_text(encoding="utf-8")) != block.exit_code:
        raise SessionError(
            f"the exit code is {code.read_text(encoding='utf-8').strip()} instead of"
            f" {block.exit_code} after these commands:\n{block.text}\n{out}\n{error}"
        )
    text = out + error if block.exit_code else out
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def _matches(expected: str, output: str) -> bool:
    """Return whether an output matches a ``text`` block, in which ``...`` matches any text."""
    pattern = re.escape(expected).replace(r"\.\.\.", "[^\n]*")
    pattern = re.sub(r"^\[\^\n\]\*\\?\n", r"(?:.*\\n)*?", pattern, flags=re.MULTILINE)
    return re.fullmatch(pattern, output) is not None


def run_python(page: str, folder: Path) -> doctest.TestResults:
    """Run all Python sessions of a page as a single doctest, in the given folder."""
    sessions = [
        block.text
        for block in read_blocks(page)
        if block.language == "python" and not _FILE.match(block.text)
    ]
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, "page", None, 0)
    with chdir(folder):
        return doctest.DocTestRunner().run(test)


def play_page(page: Path, work: Path) -> str:
    """Run the commands of a page in a folder, and return the page with their outputs.

    Before the first command, the servers are started and the database is upgraded, as ``make demo``
    does.
    """
    (work / ".venv").symlink_to(Path(sys.executable).parents[1])
    environment = reader_environment(work)
    starcast = str(work / ".venv" / "bin" / "starcast")
    with stopped_servers([starcast], environment):
        for command in ("up", "db upgrade"):
            subprocess.run(
                [starcast, *command.split()], env=environment, check=True, capture_output=True
            )
        return run_page(page.read_text(encoding="utf-8"), work, environment, {})


def play_readme(work: Path) -> str:
    """Run the commands of the README, and return the README with their outputs.

    The commands run in a copy of all files of the repository that Git does not ignore.
    """
    clone = work / "starcast"
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).exists():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    environment = reader_environment(work)
    with stopped_servers([str(clone / ".venv" / "bin" / "starcast")], environment):
        return run_page(README.read_text(encoding="utf-8"), clone, environment, {})


@contextmanager
def work_folder() -> Iterator[Path]:
    """Create a temporary folder that the system user of PostgreSQL can enter."""
    with TemporaryDirectory(prefix="starcast-session-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def stopped_servers(starcast: list[str], environment: Mapping[str, str]) -> Iterator[None]:
    """Stop the servers of a session when the context ends."""
    try:
        yield
    finally:
        if Path(starcast[0]).exists():
            subprocess.run([*starcast, "down"], env=environment, check=False, capture_output=True)


def reader_environment(home: Path) -> dict[str, str]:
    """Return the current environment variables, changed for a new home directory.

    Variables of starcast, make, Python, virtual environments, pytest and XDG are removed, except
    the Java options of Neo4j. The folder of the running Python is removed from ``PATH``. The
    download caches of pip and starcast remain those of the current user.
    """
    from starcast.support.settings import Settings

    removed = ("STARCAST_", "MAKE", "MFLAGS", "VIRTUAL_ENV", "PYTHON", "PYTEST", "COV_", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    own = str(Path(sys.executable).parent)
    path = os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if part != own)
    pip = subprocess.run(
        [sys.executable, "-m", "pip", "cache", "dir"], check=True, capture_output=True, text=True
    )
    changed = {
        "HOME": str(home),
        "PATH": path,
        "PIP_CACHE_DIR": pip.stdout.strip(),
        # pip need not compile all modules of numpy and SciPy, because Python compiles the modules
        # that it imports. pip inverts the value of this variable, so 0 switches compilation off.
        "PIP_NO_COMPILE": "0",
        "STARCAST_CACHE": str(Settings.load().cache),
    }
    if options := os.environ.get("STARCAST_NEO4J_JAVA_OPTIONS"):
        changed["STARCAST_NEO4J_JAVA_OPTIONS"] = options
    return kept | changed


def main() -> None:
    """Run the commands of the listed pages and of the README; store their outputs and pictures."""
    for page in (TUTORIAL, PLUGINS, YOUR_PAPER, YOUR_NETWORK, PROGRAMS, MACHINES):
        with work_folder() as work:
            page.write_text(play_page(page, work), encoding="utf-8")
            for picture in work.glob("**/*.svg"):
                if f"]({picture.name})" in page.read_text(encoding="utf-8"):
                    shutil.copy2(picture, page.parent)
    with work_folder() as work:
        README.write_text(play_readme(work), encoding="utf-8")


if __name__ == "__main__":
    main()
