"""`make release-check`: the release, built twice and checked with other people's tools.

The wheel, the source distribution and the list of its components (SBOM) are left in ``dist/``. Each
check prints a line, and every check that fails or cannot be made here ends the command with 1.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
#: The tools are installed next to the interpreter that runs this script.
BIN = Path(sys.executable).parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: Commands that need no server, as a user may type them after the installation.
SMOKE = (
    "--version",
    "forest verify S5 multiple",
    "schedule simulate S4 broadcast multiple",
    "claims check TS.L5 --no-store",
    "records list",
)
#: The extras whose packages are audited and listed, besides the dependencies.
EXTRAS = "embedded,web"
#: The least rating of pyroma, of 10.
RATING = "9"
_IMAGE = re.compile(r"^(?:    image: |ARG PYTHON=)(?!\$)(\S+)$", re.MULTILINE)
_CONTACT = re.compile(r'^authors = .*email = "(.*?)"', re.MULTILINE)


class NotCheckedError(Exception):
    """A check needs something that this machine does not have."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a tool; return its output, or raise an error that holds it."""
    first, *others = command
    tool = BIN / first if isinstance(first, str) and (BIN / first).exists() else first
    done = subprocess.run([tool, *others], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{Path(first).name} exits with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def built(kind: str) -> Path:
    """Return the only file in ``dist/`` that ends so."""
    (file,) = DIST.glob(f"*{kind}")
    return file


def build_twice() -> str:
    """Compare with a build from a copy of the tracked files in another folder."""
    with tempfile.TemporaryDirectory() as folder:
        copy, other = Path(folder, "copy"), Path(folder, "dist")
        for name in filter(None, run("git", "ls-files", "-z").split("\0")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
        for source, target in ((ROOT, DIST), (copy, other)):
            shutil.rmtree(target, ignore_errors=True)
            run("python", "-m", "build", "--no-isolation", "--outdir", target, source)
        names = sorted(file.name for file in DIST.iterdir())
        differing = [
            name for name in names if (DIST / name).read_bytes() != (other / name).read_bytes()
        ]
    if differing:
        raise RuntimeError(f"two builds differ: {', '.join(differing)}")
    return f"two builds are equal: {', '.join(names)}"


def find_python(version: str) -> str:
    """Return a Python of pyenv with this version, or else the version itself, for uv to find."""
    # uv sees only the shims of pyenv, which fail for all versions but those that are active.
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = folder.glob(f"{version}.*/bin/python")
    return next(map(str, found), version)


def install(version: str, extras: str = "") -> Path:
    """Return the folder of a new environment with the wheel."""
    environment = Path(tempfile.mkdtemp(prefix=f"starcast-{version}-"))
    try:
        python = find_python(version)
        run("uv", "venv", "--quiet", "--clear", "--python", python, environment)
    except RuntimeError as error:
        shutil.rmtree(environment)
        reason = str(error).strip().splitlines()[-1].strip()
        raise NotCheckedError(
            f"there is no Python {version}, and none can be installed: {reason}"
        ) from None
    wheel = f"{built('.whl')}{extras and f'[{extras}]'}"
    run("uv", "pip", "install", "--quiet", "--system-certs", "--python", environment, wheel)
    return environment


def try_wheel(version: str) -> Callable[[], str]:
    """Return the check of the wheel in an empty environment."""

    def check() -> str:
        environment = install(version)
        try:
            for words in SMOKE:
                run(environment / "bin" / "starcast", *words.split(), cwd=environment)
        finally:
            shutil.rmtree(environment)
        return f"{len(SMOKE)} commands in an empty environment"

    return check


def list_components() -> str:
    """Write the packages of an installation next to the wheel, in the format of CycloneDX."""
    environment = install(f"{sys.version_info.major}.{sys.version_info.minor}", EXTRAS)
    sbom = built(".whl").with_suffix(".cdx.json")
    try:
        python = environment / "bin" / "python"
        run("cyclonedx-py", "environment", "--output-reproducible", "-o", sbom, python)
    finally:
        shutil.rmtree(environment)
    return sbom.name


def audit() -> str:
    """Ask for known vulnerabilities of the listed packages."""
    components = json.loads(built(".cdx.json").read_text())["components"]
    pins = [
        f"{each['name']}=={each['version']}" for each in components if each["name"] != "starcast"
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(pins))
        file.flush()
        try:
            # Without --strict, packages that the database does not answer for would count as safe.
            run("pip-audit", "--strict", "--disable-pip", "--no-deps", "-r", file.name)
        except RuntimeError as error:
            if re.search("could not be audited|ConnectionError", str(error)):
                raise NotCheckedError(
                    "the database of vulnerabilities does not answer here: run it where it does"
                ) from None
            raise
    return f"no known vulnerabilities in the {len(pins)} packages of starcast[{EXTRAS}]"


def check_images() -> str:
    """Check that all images of others are named with their digests."""
    files = ((ROOT / name).read_text() for name in ("docker-compose.yml", "Dockerfile"))
    images = [image for text in files for image in _IMAGE.findall(text)]
    tagged = [image for image in images if "@sha256:" not in image]
    if tagged:
        raise RuntimeError(
            f"{', '.join(tagged)} have no digest: docs/compose.md has the command that pins them"
        )
    return f"{len(images)} images have digests"


def check_contact() -> str:
    """Check that the address of the authors is not the placeholder."""
    (contact,) = _CONTACT.findall((ROOT / "pyproject.toml").read_text())
    if contact.endswith(".example"):
        raise RuntimeError(
            f"{contact} in pyproject.toml belongs to nobody: name an address of the maintainers"
        )
    return str(contact)


def checks() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the names of the checks with functions that return a remark."""
    yield "reproducible", build_twice
    yield "twine", lambda: run("twine", "check", "--strict", built(".whl"), built(".tar.gz")) and ""
    yield "check-wheel-contents", lambda: run("check-wheel-contents", built(".whl"))
    yield "validate-pyproject", lambda: run("validate-pyproject", "pyproject.toml")
    yield "pyroma", lambda: run("pyroma", "--min", RATING, ".") and f"at least {RATING} of 10"
    yield "reuse", lambda: run("reuse", "lint", "--lines")
    # It needs an old jsonschema, and so an environment of its own.
    yield (
        "cffconvert",
        lambda: run("uv", "tool", "run", "--system-certs", "cffconvert", "--validate"),
    )
    yield "SBOM", list_components
    yield "pip-audit", audit
    for version in PYTHONS:
        yield f"Python {version}", try_wheel(version)
    yield "images", check_images
    yield "contact", check_contact


def main() -> int:
    """Run all checks; return the exit code."""
    failed, unchecked = list[str](), list[str]()
    for name, check in checks():
        try:
            print(f"ok           {name}: {' '.join(check().split())}", flush=True)
        except NotCheckedError as error:
            unchecked.append(name)
            print(f"NOT CHECKED  {name}: {error}", flush=True)
        except (RuntimeError, ValueError) as error:
            failed.append(name)
            print(f"FAILED       {name}: {error}", flush=True)
    for outcome, names in (("failed", failed), ("not checked here", unchecked)):
        print(f"{len(names)} {outcome}{names and ': '}{', '.join(names)}")
    return int(bool(failed or unchecked))


if __name__ == "__main__":
    sys.exit(main())
