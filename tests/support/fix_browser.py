"""Fixtures for web servers, and for pages in Debian's Chromium, which Playwright drives."""

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, WebError
    from starlette.testclient import TestClient
    from starlette.types import ASGIApp

    from starcast.web.service import Service
    from support.accessibility import Mode

API = "/api/v1"
FINDER = Path(__file__).parents[1] / "docs" / "chromium"
#: Timeout for actions on a page in milliseconds, long enough for a machine under load.
PATIENCE = 120_000
FLAGS = [
    "--no-sandbox",
    # Tests take half the time if only WebGL uses SwiftShader, and pages are drawn without it.
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader-webgl",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: The forests and schedules on the explorer pages of some topologies.
PAGES: dict[str, tuple[list[str], list[str]]] = {
    "S4": (
        ["multiple", "greedy"],
        [
            *("broadcast:multiple", "allgather:necklace", "gather:balanced", "alltoall:exact"),
            *("allreduce:multiple", "reduce-scatter:necklace"),
        ],
    ),
    "S5": (["multiple"], ["broadcast:multiple", "scatter:balanced"]),
    "S7": ([], ["broadcast:multiple"]),
    "S8": ([], ["broadcast:greedy"]),
    "Q4": (["binomial"], []),
    "S5,3": (["nk-greedy"], ["allgather:nk-greedy"]),
    # Topologies of the plug-in support/plugins/irregular.py, which the test has to load.
    "Grid3x4": (["breadth-first"], ["broadcast:forest(base=breadth-first)"]),
    "Switched12": (
        ["breadth-first"],
        [
            f"{collective}:forest(base=breadth-first)"
            for collective in ("broadcast", "allgather", "gather", "reduce", "allreduce")
        ],
    ),
}
#: A function that opens the explorer page of a topology, in a state and a display mode.
Open = Callable[..., "Page"]


@contextmanager
def served(app: "ASGIApp") -> Iterator[str]:
    """Serve an application as ``starcast serve`` does, on the loopback interface; yield its URL."""
    import uvicorn

    from starcast.web.serving import configure

    config = configure(app)
    config.lifespan = "off"  # the caller closes the service
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Service]":
    """The state of a web server with one worker process, whose databases are not running."""
    from starcast.support.settings import Settings
    from starcast.web.service import Service
    from starcast.web.workers import Workers

    home = tmp_path_factory.mktemp("home")
    opened = Service(Settings.load(home=home), Workers(count=1, seconds=60))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(service: "Service") -> "TestClient":
    """A client of the application that gets a response even after an unexpected error."""
    from starlette.testclient import TestClient

    from starcast.web.app import create_app

    app = create_app(service)
    return TestClient(app, base_url="http://127.0.0.1:8321", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def address(service: "Service") -> Iterator[str]:
    """The URL of a real server on the loopback interface."""
    from starcast.web.app import create_app

    with served(create_app(service)) as url:
        yield url


def get(client: "TestClient", path: str) -> Any:
    """Return the JSON at a path of the API."""
    response = client.get(f"{API}{path}")
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Chromium without a window; tests are skipped if none can be found or installed."""
    from playwright.sync_api import expect, sync_playwright

    path = subprocess.run([FINDER], capture_output=True, text=True)  # noqa: PLW1510
    if path.returncode:
        pytest.skip(path.stderr.strip())
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path.stdout.strip(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def watched(window: "BrowserContext", *allowed: str) -> Iterator[None]:
    """Check that scripts raise no error and request only URLs that begin with a given prefix.

    An HTTP error status is allowed only for a page itself.
    """
    problems: list[str] = []
    pages: set[str] = set()

    def on_request(request: "Request") -> None:
        if request.is_navigation_request():
            pages.add(request.url)
        if not request.url.startswith(allowed):
            problems.append(f"requests {request.url}")

    def on_console(message: "ConsoleMessage") -> None:
        is_status = message.text.startswith("Failed to load resource: the server responded")
        if message.type == "error" and not (is_status and message.location["url"] in pages):
            problems.append(message.text)

    def on_error(error: "WebError") -> None:
        problems.append(str(error.error))

    listeners = {"console": on_console, "request": on_request, "weberror": on_error}
    for event, listener in listeners.items():
        window.on(event, listener)  # type: ignore[call-overload]
    yield
    for event, listener in listeners.items():
        window.remove_listener(event, listener)
    assert problems == []


@pytest.fixture
def tab(browser: "Browser", address: str) -> "Iterator[Page]":
    """A browser tab that may request only URLs of the server of the fixture ``address``."""
    with browser.new_context(base_url=address) as window, watched(window, address, "data:"):
        window.set_default_timeout(PATIENCE)
        yield window.new_page()


@pytest.fixture(scope="module")
def write_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns the file of a page in `PAGES`, after writing it if needed."""
    from starcast.drawing.explorer import build_page, build_schedule
    from starcast.topologies import topology
    from starcast.trees import forest

    folder = tmp_path_factory.mktemp("pages")

    @cache
    def write(spec: str) -> Path:
        forests, schedules = PAGES[spec]
        network = topology(spec)
        page = build_page(
            network,
            [forest(network, name) for name in forests],
            [build_schedule(network, name) for name in schedules],
            "" if spec != "S8" else None,
        )
        file = folder / f"{spec}.html"
        file.write_text(page, encoding="utf-8")
        return file

    return write


@pytest.fixture(scope="module")
def window(browser: "Browser") -> "Iterator[BrowserContext]":
    """A window for all tests of a module. Tabs are reused, since opening a tab takes longer."""
    with browser.new_context() as window:
        window.set_default_timeout(PATIENCE)
        yield window


@pytest.fixture
def open_page(window: "BrowserContext", write_page: Callable[[str], Path]) -> Iterator[Open]:
    """Yield a function that opens a page; no page may log an error or load other resources."""
    from support.accessibility import Mode, enter_mode

    used: list[Page] = []

    def open_one(spec: str, state: str = "", mode: "Mode | None" = None) -> "Page":
        is_new = len(used) == len(window.pages)
        page = window.new_page() if is_new else window.pages[len(used)]
        used.append(page)
        enter_mode(page, mode or Mode(1200, 760))
        page.goto("about:blank")  # a change of the fragment alone would not load the page again
        page.goto(f"file://{write_page(spec)}#{state}")
        page.wait_for_selector("body[data-ready]")
        return page

    with watched(window, "file:", "blob:", "data:", "about:"):
        yield open_one
        for tab in used:
            tab.goto("about:blank")
