"""Write a static site by rendering the pages of the web application and following their links.

URL paths of the server become files: ``/claims/TS.L5`` becomes ``claims/TS.L5.html``, and
``/api/v1/experiments/e1.csv`` becomes ``experiments/e1.csv``. Links are relative. Each page
contains its styles and scripts, because browsers do not load modules for a page that is opened from
a file. The explorer of a topology is one page, with all forests and schedules to which other pages
link.
"""

import hashlib
import io
import json
import os
import posixpath
import re
import textwrap
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape, unescape
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

import numpy as np
from anyio.from_thread import start_blocking_portal

from starcast.claims.catalogue import Claim
from starcast.claims.catalogue import claims as all_claims
from starcast.claims.verify import verify_claims
from starcast.collectives.algorithm import ScheduleParameters, parse_schedule_id
from starcast.drawing import explorer
from starcast.support.atomic import temporary_folder
from starcast.support.errors import InputError, LimitError, StarcastError, unreadable, unwritable
from starcast.support.html import inline_files, render_page
from starcast.support.progress import Reporter
from starcast.support.settings import Settings
from starcast.topologies import Topology, topology
from starcast.trees import Forest
from starcast.web import computations
from starcast.web.api import artifacts, evidence
from starcast.web.api.responses import artifact_url
from starcast.web.app import NAVIGATION, create_app
from starcast.web.service import Service
from starcast.web.workers import P, Result, Workers

#: The name of the file that lists all files of a site, by which an earlier site is recognized.
MANIFEST = "starcast-site.json"
#: Maximum number of characters of a page that are searched, and that a search result shows.
_SEARCHED, _SHOWN = 1_000, 200
#: Progress is reported each time this number of pages and files has been rendered.
_REPORTED = 100
_API = "/api/v1/"
_LINK = re.compile(r'(<a\b[^>]*?) href="([^"]*)"')
_PROBLEM = re.compile(r'role="alert"><strong>(.*?)</strong>(?:<br>(.*?))?</p>', re.DOTALL)
_HEADING = re.compile(r"<h1>(.*?)</h1>(.*)</main>", re.DOTALL)
_UNREAD = re.compile(
    r"<script.*?</script>|<form.*?</form>|<nav.*?</nav>|<p class=.files.*?</p>|<[^>]*>", re.DOTALL
)
#: Pattern of names that are valid file names after colons are replaced by tildes.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.,=()_:-]{0,150}")


@dataclass
class Explorer:
    """The forests and schedules on a topology's explorer page.

    Attributes:
        forests: forests by id.
        schedules: parameters of schedules by id; schedules are built when the page is written.
    """

    topology: Topology
    forests: dict[str, Forest] = field(default_factory=dict)
    schedules: dict[str, ScheduleParameters] = field(default_factory=dict)


class _ThisProcess(Workers):
    """A replacement for `Workers` that runs computations in this process, without time limits."""

    def run(self, function: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
        """Call a function and return its result."""
        return function(*arguments, **options)


class Site:
    """The pages and files of a static site. As a context manager, it closes its connections.

    Args:
        settings: the settings that name the servers.
        has_stores: whether PostgreSQL is running; without PostgreSQL, no stored data are published.

    Attributes:
        problems: the errors of pages and files that are not published, by URL path.
    """

    def __init__(self, settings: Settings, *, has_stores: bool) -> None:
        omitted = {"queries"} if has_stores else {"queries", "experiments", "artifacts"}
        sections = [each for each in NAVIGATION if each[0] not in omitted]
        self._service = Service(
            settings, _ThisProcess(), published=(*sections, ("search", "Search"))
        )
        self._app = create_app(self._service)
        self._stack = ExitStack()
        self._stack.callback(self._service.close)
        self.problems: dict[str, StarcastError] = {}
        self._pages: dict[str, str] = {}
        self._files: dict[str, bytes] = {}
        self._explorers: dict[str, Explorer] = {}
        self._explored: dict[str, str] = {}
        self._linked: set[str] = set()

    def __enter__(self) -> Self:
        # The verdicts are read once, because reading them for each claim's page takes too long.
        self._service.verdicts = evidence.read_verdicts(self._service)
        # The event loop of the application runs in a thread of its own, because in a notebook, this
        # thread already runs an event loop.
        self._portal = self._stack.enter_context(start_blocking_portal())
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    def describe_missing_packs(self) -> str:
        """Return a sentence that names unloaded paper packs with stored verdicts; "" for none."""
        return evidence.describe_missing_packs(self._service)

    def count_unchecked(self) -> int:
        """Return the number of claims without a verdict for the loaded version of their pack."""
        return len(self._unchecked())

    def check_claims(self, jobs: int | None, reporter: Reporter) -> None:
        """Check the claims without a verdict on small topologies (level quick).

        A verdict for another version of the claim's pack does not count.
        """
        stored = self._service.verdicts
        verdicts = verify_claims(self._unchecked(), "quick", None, jobs, reporter)
        computed = {verdict.claim: (None, verdict) for verdict in verdicts}
        self._service.verdicts = {**stored, **computed}

    def _unchecked(self) -> tuple[Claim, ...]:
        # A stored verdict is None if the claim's paper pack has changed since the verification.
        stored = self._service.verdicts
        return tuple(
            claim
            for name, claim in all_claims().items()
            if name not in stored or stored[name][1] is None
        )

    def add(self, ids: Iterable[str], comparisons: Iterable[Sequence[str]]) -> None:
        """Add pages to the site to which no other page need link.

        Args:
            ids: topologies, forests and schedules.
            comparisons: for each comparison page, the names of its experiments or runs.

        Raises:
            StarcastError: one of ``ids`` or ``comparisons`` cannot be published.
        """
        named = [f"/{artifact_url(each)}" for each in ids]
        named += [
            f"/compare?{urlencode([('name', each) for each in names])}" for names in comparisons
        ]
        # Errors in pages that the user requested are raised here; `_collect` only records errors.
        self._linked.update(*map(self._read, named))

    def build(self, reporter: Reporter) -> dict[str, bytes]:
        """Render the site, and return the contents of all its files by path.

        Args:
            reporter: reports how many pages are rendered.
        """
        self._collect({"/"} | self._linked, reporter)
        self._pages["/search"] = render_page(
            "search.html.j2",
            section="search",
            navigation=self._service.published,
            entries=self._entries(),
        )
        files = {file_of(url): self._finish(url, page) for url, page in self._pages.items()}
        with reporter.task("rendering the explorers", len(self._explorers), "pages") as task:
            for spec, each in self._explorers.items():
                files[f"explore/{file_name(spec)}.html"] = _render(each)
                task.advance()
        files |= {file_of(url): content for url, content in self._files.items()}
        listed = {"version": version("starcast"), "files": sorted([*files, MANIFEST])}
        return {**files, MANIFEST: json.dumps(listed, indent=1).encode()}

    def _collect(self, addresses: set[str], reporter: Reporter) -> None:
        """Read the pages and files at the given URL paths, and all linked pages and files."""
        # Links are followed in a fixed order, so that equal stored data give identical files.
        waiting = deque(sorted(addresses))
        seen: set[str] = set()
        while waiting:
            url = waiting.popleft()
            if url in seen:
                continue
            seen.add(url)
            if len(seen) % _REPORTED == 0:
                # The first pages link to most others, so the total hardly grows later.
                total = len(seen.union(waiting))
                reporter.say(f"rendered {len(seen):,} of {total:,} pages and files found so far")
            try:
                waiting.extend(sorted(self._read(url)))
            except StarcastError as error:
                # A failed page does not end the rendering: links to it become text, and `publish`
                # reports it.
                self.problems[url] = error

    def _read(self, url: str) -> set[str]:
        """Read and store the page or file at a URL path; return the URL paths to which it links.

        Raises:
            StarcastError: there is no such page, or it cannot be published.
        """
        if url.startswith("/explore/"):
            self._explored[url] = self._explore(url)
            return set()
        # The application is called in this process, so that no port is opened.
        status, headers, body = self._portal.call(_get, self._app, url)
        if status != 200:
            shown = _PROBLEM.findall(body.decode()) or [("it cannot be read", "")]
            detail, hint = shown[0]
            raise InputError(f"{unquote(url)}: {unescape(detail)}", hint=unescape(hint))
        if url.startswith(_API):
            self._files[url] = _as_array_file(headers, body) or body
            return set()
        page = self._pages[url] = body.decode()
        linked = {urljoin(url, unescape(address)) for _, address in _LINK.findall(page)}
        return {each for each in linked if "#" not in each and each != "/search"}

    def _explore(self, url: str) -> str:
        """Add the topology, forest and schedule of an explorer URL to the site.

        Returns:
            The path of the explorer page in the site, with a fragment that selects forest and
            schedule.
        """
        path, _, query = url.partition("?")
        spec = unquote(path.removeprefix("/explore/"))
        network = computations.require_drawable(self._service.find_network(spec) or topology(spec))
        shown = self._explorers.get(network.spec, Explorer(network))
        state = dict(parse_qsl(query))
        if name := state.get("forest"):
            forest = artifacts.compute_forest(
                self._service, computations.find_forest, f"{spec}:{name}"
            )
            shown.forests[forest.id] = forest
            state["forest"] = forest.id.partition(":")[2]
        if name := state.get("schedule"):
            schedule = parse_schedule_id(f"{spec}:{name}")
            if (rows := schedule.count_rows()) > computations.MAX_ROWS:
                raise LimitError(
                    f"{schedule.id} has {rows:,} rows; at most {computations.MAX_ROWS:,} are "
                    "published"
                )
            shown.schedules[schedule.id] = schedule
            state["schedule"] = schedule.id.partition(":")[2]
        self._explorers[network.spec] = shown
        fragment = f"#{urlencode(state, safe=':,()=')}" if state else ""
        return f"explore/{file_name(network.spec)}.html{fragment}"

    def _finish(self, url: str, page: str) -> bytes:
        """Return a page with relative links, and with its styles and scripts inlined."""
        folder = posixpath.dirname(file_of(url))

        def relink(match: re.Match[str]) -> str:
            address = unescape(match[2])
            if address.startswith("#") or urlsplit(address).scheme:
                return match[0]
            target = self._target(urljoin(url, address))
            if target is None:  # a link to a page that is not published becomes plain text
                return match[1]
            file, hash_sign, fragment = target.partition("#")
            relative = quote(posixpath.relpath(file, folder), safe="/~,=()")
            return f'{match[1]} href="{escape(relative + hash_sign + fragment)}"'

        return inline_files(_LINK.sub(relink, page)).encode()

    def _target(self, url: str) -> str | None:
        """Return the path of the site's file for a URL path; None if the page is not published.

        The path of an explorer page includes its fragment.
        """
        if url in self._pages or url in self._files:
            return file_of(url)
        return self._explored.get(url)

    def _entries(self) -> list[dict[str, str]]:
        """Return the title, URL and text of each page and explorer view, for the search page."""
        entries = []
        for url, page in sorted(self._pages.items()):
            title, text = (_plain_text(part) for part in _HEADING.findall(page)[0])
            entries.append({"title": title, "url": url, "text": text})
        for url, target in sorted(self._explored.items()):
            shown = target.partition("#")[2]
            text = ", ".join(f"{name} {value}" for name, value in parse_qsl(shown))
            spec = unquote(url.partition("?")[0].rpartition("/")[2])
            entries.append({"title": f"Explorer of {spec}", "url": url, "text": text})
        return [
            {
                **each,
                "words": each["text"][:_SEARCHED],
                "text": textwrap.shorten(each["text"], _SHOWN),
            }
            for each in entries
        ]


def file_of(url: str) -> str:
    """Return the path of the site's file for the URL of a page or of an API resource.

    Example:
        >>> file_of("/api/v1/compare.csv?name=e1")
        'compare/e1.csv'
    """
    path, _, query = url.partition("?")
    suffix = "html"
    if path.startswith(_API):
        path, dot, suffix = path.removeprefix(_API).rpartition(".")
        if suffix not in {"csv", "json"}:
            path, suffix = path + dot + suffix, "npy"
    names = [unquote(part) for part in path.split("/") if part]
    if query:
        names.append("\n".join(value for _, value in parse_qsl(query)))
    return "/".join(map(file_name, names or ["index"])) + f".{suffix}"


def file_name(name: str) -> str:
    """Convert any name to a file name that is valid on every file system and in URLs.

    Different names have different file names. If a name is long, or contains characters that do not
    occur in ids, its file name consists of a tilde, a digest of the name, and at most 60 of its
    characters, with hyphens in place of invalid characters.
    """
    if _PLAIN.fullmatch(name):
        return name.replace(":", "~")
    rest = re.sub(r"[^A-Za-z0-9.]+", "-", name)[:60].strip("-.")
    return f"~{hashlib.sha256(name.encode()).hexdigest()[:12]}-{rest}"


def read_manifest(folder: Path) -> set[str]:
    """Return the paths of the files in a folder that an earlier 'starcast publish' wrote.

    Files that were deleted meanwhile are omitted. The set is empty for a new or empty folder.

    Raises:
        InputError: the folder cannot be read, has no valid manifest, or contains files that the
            manifest does not list.
    """
    if not folder.exists():
        return set()
    try:
        listed = {
            (Path(place) / name).relative_to(folder).as_posix()
            for place, _, names in os.walk(folder, onerror=_fail)
            for name in names
        }
        if not listed:
            return set()
        known = set(json.loads((folder / MANIFEST).read_bytes())["files"])
    except (FileNotFoundError, NotADirectoryError, ValueError, LookupError, TypeError):
        raise InputError(
            f"{folder} is not a folder that an earlier 'starcast publish' wrote",
            hint="choose a new or empty folder",
        ) from None
    except OSError as error:
        raise unreadable(folder, error) from None
    # The new site replaces the folder, so other files in it would be lost.
    if others := sorted(listed - known):
        raise InputError(
            f"{folder} contains files that an earlier 'starcast publish' did not write, "
            f"such as {others[0]}",
            hint="move such files to another folder, or choose another folder",
        )
    return listed


def _fail(error: OSError) -> NoReturn:
    raise error


def write_site(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a site to a temporary folder, which then replaces the site's folder.

    Raises:
        LimitError: the disk is full.
        InputError: the folder cannot be written for another reason.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(folder) as temporary:
            for name, content in files.items():
                path = temporary / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    except OSError as error:
        hint = "check the folder and its disk; an earlier site remains unchanged"
        raise unwritable(folder, error, hint) from None


def _render(shown: Explorer) -> bytes:
    schedules = [schedule.build() for schedule in shown.schedules.values()]
    page = explorer.build_page(shown.topology, list(shown.forests.values()), schedules)
    # The link names index.html, because a browser lists a folder on disk instead of opening its
    # index.html.
    return page.replace('class="home" href="../"', 'class="home" href="../index.html"', 1).encode()


async def _get(app: Any, url: str) -> tuple[int, dict[str, str], bytes]:
    """Send a request to the application, and return the response's status, headers and body."""
    path, _, query = url.partition("?")
    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(path),
        "query_string": query.encode(),
        # `Guard` refuses requests without a valid host.
        "headers": [(b"host", b"localhost")],
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *parts = sent
    headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, b"".join(part["body"] for part in parts)


def _as_array_file(headers: Mapping[str, str], body: bytes) -> bytes | None:
    """Return the body of an array response as an .npy file; None for any other response."""
    if "x-array-dtype" not in headers:
        return None
    shape = [int(size) for size in headers["x-array-shape"].split(",") if size]
    array = np.frombuffer(body, np.dtype(headers["x-array-dtype"]).newbyteorder("<"))
    file = io.BytesIO()
    np.save(file, array.reshape(shape))
    return file.getvalue()


def _plain_text(page: str) -> str:
    words = " ".join(unescape(_UNREAD.sub(" ", page)).split())
    return re.sub(r" (?=[,;.])", "", words)
