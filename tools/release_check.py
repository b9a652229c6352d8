"""`make release-check`: build the release twice and check it with third-party tools.

The wheel, the source distribution and the software bill of materials (SBOM) are left in ``dist/``.
A line is printed for each check. The exit code is 1 if a check fails or cannot be executed.
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
#: The folder of the Python interpreter that runs this script, in which the tools are installed.
BIN = Path(sys.executable).parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: Commands that must work right after the installation, without servers.
SMOKE = (
    "--version",
    "forest verify S5 multiple",
    "schedule simulate S4 broadcast multiple",
    "claims check TS.L5 --no-store",
    "records list",
)
#: The extras whose packages are audited and listed, in addition to starcast's dependencies.
EXTRAS = "embedded,web"
#: The minimum accepted pyroma rating, out of 10.
RATING = "9"
#: The version of actionlint, a linter for GitHub workflows.
ACTIONLINT = "v1.7.12"
_IMAGE = re.compile(r"^(?:    image: |ARG PYTHON=)(?!\$)(\S+)$", re.MULTILINE)
_CONTACT = re.compile(r'^authors = .*email = "(.*?)"', re.MULTILINE)


class NotCheckedError(Exception):
    """A check cannot be executed, because a program or the network is missing on this machine."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a tool and return its output, or raise an error that contains the output."""
    first, *others = command
    tool = BIN / first if isinstance(first, str) and (BIN / first).exists() else first
    done = subprocess.run([tool, *others], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{Path(first).name} exits with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def built(kind: str) -> Path:
    """Return the only file in ``dist/`` whose name ends with ``kind``, such as ``.whl``."""
    (file,) = DIST.glob(f"*{kind}")
    return file


def build_twice() -> str:
    """Build the release from the checkout and from a copy, and check that both results are equal.

    The copy contains only the files of the checkout that Git tracks.
    """
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
    """Return the path of pyenv's Python of a version, or the version if pyenv does not have it.

    uv accepts both as an argument, and can find or download a Python by its version.
    """
    # uv itself finds only pyenv's shims, which fail for all versions that are not active in pyenv.
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = folder.glob(f"{version}.*/bin/python")
    return next(map(str, found), version)


def install(version: str, extras: str = "") -> Path:
    """Create a virtual environment, install the wheel in it, and return its folder.

    Raises:
        NotCheckedError: this Python version is not available.
        RuntimeError: the wheel cannot be installed.
    """
    environment = Path(tempfile.mkdtemp(prefix=f"starcast-{version}-"))
    try:
        python = find_python(version)
        run("uv", "venv", "--quiet", "--clear", "--python", python, environment)
    except RuntimeError as error:
        shutil.rmtree(environment)
        reason = str(error).strip().splitlines()[-1].strip()
        raise NotCheckedError(
            f"Python {version} is not installed, and uv cannot install it: {reason}"
        ) from None
    wheel = f"{built('.whl')}{extras and f'[{extras}]'}"
    run("uv", "pip", "install", "--quiet", "--system-certs", "--python", environment, wheel)
    return environment


def try_wheel(version: str) -> Callable[[], str]:
    """Return a check that installs the wheel in a new environment and runs the `SMOKE` commands."""

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
    """Install the wheel with `EXTRAS`, and write a CycloneDX list of all installed packages.

    The list is the release's SBOM. It is written to the folder of the wheel.
    """
    environment = install(f"{sys.version_info.major}.{sys.version_info.minor}", EXTRAS)
    sbom = built(".whl").with_suffix(".cdx.json")
    try:
        python = environment / "bin" / "python"
        run("cyclonedx-py", "environment", "--output-reproducible", "-o", sbom, python)
    finally:
        shutil.rmtree(environment)
    return sbom.name


def audit() -> str:
    """Check that the packages in the SBOM have no known vulnerabilities."""
    components = json.loads(built(".cdx.json").read_text())["components"]
    pins = [
        f"{each['name']}=={each['version']}" for each in components if each["name"] != "starcast"
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(pins))
        file.flush()
        try:
            # Without --strict, packages unknown to the vulnerability database would count as safe.
            run("pip-audit", "--strict", "--disable-pip", "--no-deps", "-r", file.name)
        except RuntimeError as error:
            if re.search("could not be audited|ConnectionError", str(error)):
                raise NotCheckedError(
                    "pip-audit could not check all packages, perhaps because the vulnerability "
                    f"database cannot be reached: {str(error).strip().splitlines()[-1]}"
                ) from None
            raise
    return f"no known vulnerabilities in the {len(pins)} packages of starcast[{EXTRAS}]"


def check_images() -> str:
    """Check that the Docker files name all third-party images with their digests."""
    files = ((ROOT / name).read_text() for name in ("docker-compose.yml", "Dockerfile"))
    images = [image for text in files for image in _IMAGE.findall(text)]
    tagged = [image for image in images if "@sha256:" not in image]
    if tagged:
        raise RuntimeError(
            f"images without a digest: {', '.join(tagged)}; docs/compose.md shows how to pin them"
        )
    return f"{len(images)} images have digests"


def check_workflows() -> str:
    """Check the GitHub workflows with actionlint, which is a Go program."""
    if not shutil.which("go"):
        raise NotCheckedError("actionlint cannot be built, because Go is not installed")
    run("go", "run", f"github.com/rhysd/actionlint/cmd/actionlint@{ACTIONLINT}")
    return f"actionlint {ACTIONLINT} finds nothing"


def check_contact() -> str:
    """Check that the authors' e-mail address in pyproject.toml is not a placeholder."""
    (contact,) = _CONTACT.findall((ROOT / "pyproject.toml").read_text())
    if contact.endswith(".example"):
        raise RuntimeError(
            f"{contact} in pyproject.toml is a placeholder: use an address of the maintainers"
        )
    return str(contact)


def checks() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the name of each check, and a function that runs the check and returns a remark."""
    yield "reproducible", build_twice
    yield "twine", lambda: run("twine", "check", "--strict", built(".whl"), built(".tar.gz")) and ""
    yield "check-wheel-contents", lambda: run("check-wheel-contents", built(".whl"))
    yield "validate-pyproject", lambda: run("validate-pyproject", "pyproject.toml")
    yield "pyroma", lambda: run("pyroma", "--min", RATING, ".") and f"at least {RATING} of 10"
    yield "reuse", lambda: run("reuse", "lint", "--lines")
    # cffconvert runs in a separate environment, because it needs an old version of jsonschema.
    yield (
        "cffconvert",
        lambda: run("uv", "tool", "run", "--system-certs", "cffconvert", "--validate"),
    )
    yield "SBOM", list_components
    yield "pip-audit", audit
    for version in PYTHONS:
        yield f"Python {version}", try_wheel(version)
    yield "workflows", check_workflows
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
