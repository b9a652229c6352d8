"""Measure the time to draw a schedule step in the explorer, in a 2D canvas and with Sigma.js.

The benchmark runs in Chromium. It installs Sigma.js and graphology from npm into a temporary
folder; starcast itself does not need them.
"""

import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.measure import Figure
from starcast.drawing.explorer import build_schedule, pack_schedule, pack_topology
from starcast.support.html import STATIC
from starcast.topologies import topology

_PAGE = Path(__file__).with_name("explorer.html")
_CHROMIUM = Path(__file__).parents[1] / "tests" / "docs" / "chromium"
_SCRIPTS = {
    "sigma.min.js": "sigma/dist/sigma.min.js",
    "graphology.umd.min.js": "graphology/dist/graphology.umd.min.js",
}
_FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


class _QuietHandler(SimpleHTTPRequestHandler):
    """A handler that serves a folder without logging."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base
        """Log nothing."""


def figures() -> Iterator[Figure]:
    """Measure the time to draw a step of a broadcast on S7 and S8.

    The time on S7 is compared with the times of a 2D canvas and of Sigma.js. The time on S8 is
    compared with the time on S7.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _prepare(folder)
        results = {spec: _measure(folder, spec) for spec in ("S7", "S8")}
    s7, s8 = results["S7"], results["S8"]
    yield Figure(
        f"S7, {s7['links']:,} links: a step in the explorer", s7["webgl"], "ms",
        f"<{s7['canvas']:.3f}", "a plain 2D canvas", s7["canvas"],
    )  # fmt: skip
    yield Figure(
        f"S7, {s7['links']:,} links: a step in the explorer", s7["webgl"], "ms",
        f"<{s7['sigma'] / 10:.3f}", "Sigma.js", s7["sigma"],
    )  # fmt: skip
    yield Figure(
        f"S8, {s8['links']:,} links: a step in the explorer", s8["webgl"], "ms",
        "<1000", "a step on S7", s7["webgl"],
    )  # fmt: skip


def _prepare(folder: Path) -> None:
    """Copy the explorer's scripts into a folder, and install Sigma.js in it."""
    subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "sigma@3", "graphology"],
        cwd=folder,
        check=True,
    )
    for name, path in _SCRIPTS.items():
        shutil.copy(folder / "node_modules" / path, folder / name)
    shutil.copytree(STATIC, folder / "static")
    page = _PAGE.read_text(encoding="utf-8")
    for spec in ("S7", "S8"):
        network = topology(spec)
        schedule = build_schedule(network, "broadcast:multiple")
        data = {
            "spec": spec,
            "topologies": {spec: pack_topology(network)},
            "forests": {},
            "schedules": {schedule.id: pack_schedule(schedule)},
        }
        (folder / f"{spec}.html").write_text(page.replace("DATA", json.dumps(data)))


def _measure(folder: Path, spec: str) -> dict[str, Any]:
    """Open the page of a topology in Chromium, and return the times that the page measured."""
    handler = partial(_QuietHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chromium = subprocess.run([_CHROMIUM], capture_output=True, text=True, check=True).stdout
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium.strip(), args=_FLAGS)
            page = browser.new_page(viewport={"width": 1300, "height": 900})
            alone = "?alone" if spec == "S8" else ""
            page.goto(f"http://127.0.0.1:{server.server_port}/{spec}.html{alone}")
            page.wait_for_function("window.result !== undefined", timeout=600_000)
            result: dict[str, Any] = page.evaluate("window.result")
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    return result
