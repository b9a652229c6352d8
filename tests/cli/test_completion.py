"""Shell completion in real shells: names, stored ids, and no output without a server."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import URL

from starcast.ingest import Stores, ingest
from starcast.stores.graph.connection import Graph
from support.plans import plan

#: Two constructions. Forest ids of the second have characters that shells interpret.
TREES = "multiple,dimension-change(base=greedy,i=1)"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install completion for each available shell in a new home; return environment variables."""
    folder = tmp_path_factory.mktemp("shells")
    program = folder / "starcast"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom starcast.cli.app import main\n"
        "sys.argv[0] = 'starcast'\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    environment = {
        "HOME": str(folder),
        "ZDOTDIR": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "PATH": f"{folder}:{os.environ['PATH']}",
        "TERM": "dumb",
        "STARCAST_HOME": str(folder / "nothing"),
    }
    for shell in filter(shutil.which, ("bash", "zsh", "fish")):
        result = subprocess.run(
            [shell, "-c", "starcast --install-completion; true"],
            env=os.environ | environment, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert f"{shell} completion installed in " in result.stdout
    return environment


@pytest.fixture
def shell_home(installed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set the environment in which completion is installed; return the home folder."""
    for name, value in installed.items():
        monkeypatch.setenv(name, value)
    return Path(installed["HOME"])


def assert_completed(lines: dict[str, str], *shell: str) -> None:
    """Type each line and Tab in a shell; check that the shell completes the line as expected."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(shell[0], shell)  # noqa: S606

    def send(keys: str, expected: str) -> None:
        os.write(terminal, keys.encode())
        output = ""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                output += os.read(terminal, 65_536).decode(errors="replace")
            if expected in output:
                return
        raise AssertionError(f"{expected!r} did not appear in {output!r}")

    try:
        send("PS1='READY> '\n", "READY> ")
        for typed, completed in lines.items():
            send("\x15\n", "READY> ")  # Ctrl-U deletes the typed line
            send(f"{typed}\t", completed)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


@pytest.fixture
def stored(database: URL, stores: Stores, graph: Graph) -> None:
    """Store S4, two forests and a schedule in the databases that the environment names."""
    del database, graph
    ingest(stores, plan("S4", TREES, "broadcast:multiple", segments=2))


ID = "S4:multiple:1234"
SCHEDULE = "S4:broadcast:multiple:all:segments=2:1234"


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
def test_bash_completes_catalogue_names_and_stored_ids(shell_home: Path) -> None:
    """Ids contain colons and equal signs, at which bash splits words."""
    lines = {
        "starcast forest constr": "starcast forest constructions ",
        "starcast forest build S5 mult": "starcast forest build S5 multiple ",
        "starcast forest build Q5 edge": "starcast forest build Q5 edge-disjoint-binomial ",
        "starcast ingest S5 --trees=greedy,mul": "--trees=greedy,multiple ",
        "starcast ingest S5 --schedules alltoall:ex": "--schedules alltoall:exact ",
        "starcast schedule rows S4 alltoall ex": "alltoall exact ",
        "starcast query run overlap/load-h": "overlap/load-histogram ",
        "starcast query list ove": "query list overlap ",
        "starcast claims show TS.S62-e": "TS.S62-equal ",
        "starcast forest show S4:mul": f"show {ID} ",
        "starcast forest drop 'S4:mul": f"drop '{ID}' ",
        "starcast forest show S4:dim": r"S4:dimension-change\(base=greedy,i=1\):1234 ",
        "starcast schedule show S4:br": f"show {SCHEDULE} ",
        "starcast topology drop S": "drop S4 ",
        "starcast query run load-histogram forest=S4:mul": f"forest={ID} ",
        "starcast graph verify S4:b": f"verify {SCHEDULE} ",
    }
    assert_completed(lines, "bash", "--noprofile", "--rcfile", str(shell_home / ".bashrc"), "-i")


def candidates(shell: str, words: str) -> list[str]:
    """Return the completions that the program passes to zsh or fish for a line."""
    variables = {"_STARCAST_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": words}
    variables["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    result = subprocess.run(
        ["starcast"], capture_output=True, text=True, check=False, env=os.environ | variables
    )
    assert result.stderr == ""
    return result.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.usefixtures("stored", "shell_home")
def test_completion_scripts_of_fish_and_zsh_receive_stored_ids() -> None:
    assert candidates("fish", "starcast forest show S4:mul") == [ID]
    (line,) = candidates("zsh", "starcast forest show S4:mul")
    assert line == f"_arguments '*: :((\"{ID.replace(':', chr(92) * 2 + ':')}\"))'"


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("shell", "file"),
    [("fish", ".config/fish/completions/starcast.fish"), ("zsh", ".zfunc/_starcast")],
)
def test_fish_and_zsh_complete_names_and_stored_ids(
    shell_home: Path, shell: str, file: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert (shell_home / file).is_file()
    lines = {
        "starcast forest show S4:mul": ID,
        "starcast forest build S5 mult": "build S5 multiple",
        "starcast schedule show S4:br": SCHEDULE,
    }
    if shell == "zsh":
        assert_completed(lines, "zsh", "-i")
        return
    for typed, completed in lines.items():
        words = ["fish", "-c", f"complete --do-complete '{typed}'"]
        result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
        assert result.stdout.split() == [completed.split()[-1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        "postgresql://nobody@127.0.0.1:1/nothing",  # a port that refuses connections
        "postgresql://nobody@192.0.2.1:5432/nothing",  # a host that never answers
        "not a URI",
    ],
)
@pytest.mark.usefixtures("shell_home")
def test_completion_without_a_server_prints_no_error(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARCAST_POSTGRES_URI", address)
    monkeypatch.setenv("STARCAST_NONSENSE", "a warning otherwise")
    assert candidates("fish", "starcast forest drop S4:mul") == []
    assert candidates("fish", "starcast forest build S5 mul") == ["multiple"]
