"""The operation that publishes the pages of ``starcast serve`` as a static web site."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from starcast.embedded import system
from starcast.lab.connection import Connection
from starcast.lab.signature import ArtifactId, Jobs, Shell, read_id
from starcast.support.errors import UnavailableError
from starcast.support.installation import install_command
from starcast.support.table import Facts
from starcast.support.text import pluralize

#: Packages of the extra ``starcast[web]``, any of which may be missing.
_PACKAGES = {"fastapi", "starlette", "uvicorn"}


def explain_missing_package(error: ModuleNotFoundError) -> Exception:
    """Return an error that names the extra ``web`` if one of its packages is missing.

    Any other error is returned unchanged.
    """
    # Any other missing module is a defect of starcast.
    if (error.name or "").partition(".")[0] not in _PACKAGES:
        return error
    return UnavailableError(
        f"the pages need {error.name}, which is not installed",
        hint=f"install it with: {install_command('web')}",
    )


#: Minimum required free disk space in MB (10^6 bytes). If an earlier site is larger, its size is
#: required instead. Claims and records alone take 20 MB.
_SMALLEST = 40
#: Maximum number of pages named as not published, and of files named as no longer published.
_NAMED = 5


class Publishing(Connection):
    """The operation that writes the pages of ``starcast serve`` to files."""

    def publish(
        self,
        folder: Annotated["str | Path", Shell(Path, metavar="DIR")],
        *ids: ArtifactId,
        compare: Annotated[Sequence[str], Shell(metavar="NAME,NAME")] = (),
        check_claims: bool = False,
        jobs: Jobs = None,
    ) -> Facts:
        """Publish all stored results as a static web site.

        The site has the pages of ``starcast serve`` for experiments, comparisons, claims, records,
        and stored topologies, forests and schedules. The site also has an explorer for each
        topology to which a page links, CSV and JSON files of all tables, and a search page. The
        site can be opened as a file, or copied to any folder of a web server. If the site is
        published again, pages keep their addresses, and the new site replaces the earlier one only
        when it is complete. If PostgreSQL is not running, only claims, records and explorer pages
        are published. The command needs the packages of the extra starcast[web].

        Args:
            folder: folder for the site: a new or empty folder, or a folder with an earlier site.
            ids: topologies, forests and schedules that the explorer shows even if no page links to
                them, such as S6, S5:multiple or S5:broadcast:multiple.
            compare: add a page that compares these experiments or runs, whose names are separated
                by commas. Can be repeated.
            check_claims: first check the claims that have no stored verdict, on small topologies
                (level quick).
            jobs: number of processes that check claims.

        Returns:
            The folder, its numbers of pages and files, and its size in bytes.

        Raises:
            InputError: the folder contains other files or cannot be written, or one of ``ids`` or
                ``compare`` does not exist.
            LimitError: the disk has less free space than the site needs.
            UnavailableError: a server that the settings name cannot be reached, or a package of the
                extra starcast[web] is not installed.

        Example:
            >>> with Publishing(Settings.load()) as opened:
            ...     opened.publish("site")

            $ starcast publish site
            $ starcast publish site S5:multiple S5:broadcast:multiple --compare first,second
        """
        try:
            from starcast.web.site import Site, read_manifest, write_site  # noqa: PLC0415 - the extra
        except ModuleNotFoundError as error:
            raise explain_missing_package(error) from None

        target = Path(folder).resolve()
        # This raises an error if the folder contains other files. It is done first, because
        # rendering all pages takes a long time.
        earlier = read_manifest(target)
        size = sum((target / name).stat().st_size for name in earlier)
        hint = "free some space, or use a folder on another disk"
        system.require_space(target, max(_SMALLEST, size // system.MB), "the site", hint)
        if outage := self._find_outage():
            self.reporter.say(
                "experiments and stored artifacts are not published: "
                f"{outage.message}; {outage.hint}"
            )
        with Site(self.settings, has_stores=outage is None) as site:
            pairs = [names.split(",") for names in compare]
            site.add(map(read_id, ids), pairs)
            if missing := site.describe_missing_packs():
                self.reporter.say(missing)
            if check_claims:
                site.check_claims(jobs, self.reporter)
            elif unchecked := site.count_unchecked():
                count = pluralize(unchecked, "claim has", "claims have")
                self.reporter.say(f"{count} no stored verdict; add `check_claims` to verify")
            self.reporter.say("rendering the pages")
            files = site.build(self.reporter)
            self._say_each("not published", map(str, site.problems.values()))
        write_site(target, files)
        self._say_each("no longer published", sorted(earlier - files.keys()))
        size = sum(map(len, files.values()))
        pages = sum(name.endswith(".html") for name in files)
        return Facts(
            {"folder": str(folder), "pages": pages, "files": len(files), "bytes": size},
            f"published {pluralize(pages, 'page')}, {size / 1e6:,.1f} MB: open "
            f"{Path(folder) / 'index.html'}",
        )

    def _say_each(self, heading: str, lines: Iterable[str]) -> None:
        listed = list(lines)
        for line in listed[:_NAMED]:
            self.reporter.say(f"{heading}: {line}")
        if len(listed) > _NAMED:
            self.reporter.say(f"{heading}: {len(listed) - _NAMED} more")
