"""Fixtures for web servers, and for Debian's Chromium, headless, driven by Playwright."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route
    from starlette.testclient import TestClient
    from starlette.types import ASGIApp

    from starcast.web.service import Service

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


@pytest.fixture
def tab(browser: "Browser", address: str) -> "Iterator[Page]":
    """A browser tab that can reach only the server at ``address``, a fixture of the test's module.

    A test fails if a script raises an error or requests another server. An HTTP error status alone
    does not fail it.
    """
    tab = browser.new_page(base_url=address)
    tab.set_default_timeout(PATIENCE)
    problems: list[str] = []
    pages: set[str] = set()

    def admit(route: "Route", request: "Request") -> None:
        if request.is_navigation_request():
            pages.add(request.url)
        if request.url.startswith((address, "data:")):
            route.continue_()
        else:
            problems.append(f"asks for {request.url}")
            route.abort()

    tab.route("**/*", admit)
    tab.on("pageerror", lambda error: problems.append(str(error)))

    def hear(message: "ConsoleMessage") -> None:
        if message.type == "error" and message.location["url"] not in pages:
            problems.append(message.text)

    tab.on("console", hear)
    yield tab
    tab.close()
    assert problems == []
