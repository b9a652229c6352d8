"""Execute the notebooks in examples/notebooks, and compare or write their outputs.

``make docs`` writes the outputs into the notebook files, and tests compare stored with new outputs.
Times, rates and paths differ between runs, so `normalise` replaces them before outputs are
compared. A file is rewritten only if its outputs differ in another way.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import sessions
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"

#: Patterns of texts that differ between two runs, each with its replacement.
_VARIABLE = (
    (re.compile(r"[\d,.]+ s\b"), "... s"),
    (re.compile(r"[\d,]+ rows/s"), "... rows/s"),
    (re.compile(r"(/[\w.-]+)+/\.local/share/starcast\b"), "HOME"),
    (re.compile(r"/tmp/ipykernel_\d+/\d+\.py"), "CELL"),  # noqa: S108 - a pattern
)
_SECONDS = 300


def paths() -> list[Path]:
    """Return the paths of all notebooks, in the order in which they are executed."""
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def read(path: Path) -> Any:
    """Return the notebook in a file, with its stored outputs."""
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]


def execute(path: Path, environment: Mapping[str, str]) -> Any:
    """Return a notebook executed by a new kernel, without metadata that differs between machines.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised an exception.
        nbclient.exceptions.CellTimeoutError: a cell took more than `_SECONDS` seconds.
    """
    notebook = read(path)
    # The kernel uses sockets in the file system: over TCP, other users could run code in it.
    manager = KernelManager(transport="ipc", ip=f"{environment['HOME']}/{path.stem}")
    client = NotebookClient(notebook, km=manager, timeout=_SECONDS, record_timing=False)
    try:
        client.execute(env=dict(environment), cwd=environment["HOME"])
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        manager.shutdown_kernel(now=True)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def outputs(notebook: Any) -> list[list[Any]]:
    """Return the outputs of each code cell, in the form that `normalise` returns."""
    return [
        [_without_variables(_content(output)) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _content(output: Any) -> Any:
    return output.get("data") or output.get("text") or output


def _without_variables(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_variables(each) for name, each in value.items()}
    return normalise("".join(value) if isinstance(value, list) else str(value))


def normalise(text: str) -> str:
    """Return a text in which times, rates and paths are replaced by fixed texts."""
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return text


def play_all(work: Path) -> dict[Path, Any]:
    """Execute all notebooks on a new embedded stack, and return the executed notebooks by path."""
    environment = sessions.reader_environment(work)
    starcast = [str(Path(sys.executable).parent / "starcast")]
    with sessions.stopped_servers(starcast, environment):
        subprocess.run([*starcast, "up"], env=environment, check=True, capture_output=True)
        return {path: execute(path, environment) for path in paths()}


def main() -> None:
    """Execute all notebooks, and write outputs that have changed into their files."""
    with sessions.work_folder() as work:
        for path, notebook in play_all(work).items():
            if outputs(notebook) != outputs(read(path)):
                text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
                path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
