"""Fixtures for a real browser: Debian's Chromium, headless, driven by Playwright."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route
    from starlette.types import ASGIApp

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
