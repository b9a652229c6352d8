"""The files of a plug-in: its own module, and the modules of its author that it imports.

These are modules below the folder of a plug-in that is a single file, modules of its package, or of
its distribution if it is installed. Modules of Python, of starcast and of other distributions are
not part of a plug-in.
"""

import ast
import hashlib
import importlib.util
import os
import sys
import warnings
from contextlib import suppress
from functools import cache, lru_cache
from importlib.machinery import all_suffixes
from importlib.metadata import packages_distributions
from pathlib import Path

#: Folders in which packages of several authors are installed.
_SHARED = ("site-packages", "dist-packages")
#: The endings of the files of a module: a package, then the others in Python's order.
_ENDINGS = ("/__init__.py", *all_suffixes())


def find_modules(module: str, file: Path) -> dict[str, tuple[Path, bytes]]:
    """Return the files of a plug-in and their contents, by the names of their modules.

    Its source code is searched for imports, also within functions, because a module that is
    imported later is part of the plug-in too. Only calls of `import_module` with a computed name
    are missed.

    Args:
        module: the name of the plug-in's module.
        file: its file.
    """
    # A plug-in that was loaded as a file may have dots in its name; it is not in a package.
    depth = module.count(".") + (file.stem == "__init__") if module != file.stem else 0
    root = file.parents[min(depth, len(file.parents) - 1)]
    owned = _owned_names(module.partition(".")[0]) if root.name in _SHARED else None
    found: dict[str, tuple[Path, bytes]] = {}
    waiting = _with_parents(module) if depth else [module]
    while waiting:
        name = waiting.pop()
        top = name.partition(".")[0]
        if name in found or top == "starcast" or (owned is not None and top not in owned):
            continue
        path = file if name == module else locate(root, name)
        # If another module of this name is loaded, the plug-in has imported that one.
        if path is not None and (name == module or _is_loaded_from(name, path)):
            found[name] = path, path.read_bytes()
            package = name if path.stem == "__init__" else name.rpartition(".")[0]
            for imported in _find_imports(found[name][1], package):
                waiting += _with_parents(imported)
    return found


def hash_plugin(module: str, file: Path) -> str:
    """Return the SHA-256 of a plug-in's files; empty if there is no file, as in a notebook.

    A plug-in that imports no module of its own has the SHA-256 of its file. Otherwise it is the
    SHA-256 of a list of names and digests, so it does not depend on the folder.
    """
    if not file.is_file():
        return ""
    contents = {name: content for name, (_, content) in find_modules(module, file).items()}
    own = hashlib.sha256(contents.pop(module)).hexdigest()
    # Packages often have an empty __init__.py, which changes nothing.
    digests = [
        f"{name} {hashlib.sha256(content).hexdigest()}\n"
        for name, content in sorted(contents.items())
        if content.strip()
    ]
    return hashlib.sha256("".join([f"{own}\n", *digests]).encode()).hexdigest() if digests else own


def locate(root: Path, name: str) -> Path | None:
    """Return the file of a module below a folder, or None if it has none there."""
    # A plug-in may add folders such as lib/ to the path. Deeper ones belong to others, such as the
    # packages of a virtual environment in the plug-in's folder.
    folders = [root, *(Path(entry) for entry in sys.path if Path(entry).parent == root)]
    for folder in folders:
        stem = folder.joinpath(*name.split("."))
        for ending in _ENDINGS:
            if os.path.isfile(f"{stem}{ending}"):  # noqa: PTH113 - never raises
                return Path(f"{stem}{ending}")
    return None


@cache
def _owned_names(name: str) -> set[str]:
    """Return the top-level modules of the distributions that contain a top-level module."""
    distributions = packages_distributions()
    own = set(distributions.get(name, ()))
    return {name, *(other for other, names in distributions.items() if own.intersection(names))}


def _is_loaded_from(name: str, path: Path) -> bool:
    """Return whether the loaded module of a name has this file; True if none is loaded."""
    loaded = sys.modules.get(name)
    file = getattr(loaded, "__file__", None)
    return loaded is None or (file is not None and Path(file).resolve() == path.resolve())


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


@lru_cache(maxsize=1000)
def _find_imports(source: bytes, package: str) -> tuple[str, ...]:
    """Return the absolute names of all modules that a module of a package may import."""
    try:
        with warnings.catch_warnings(action="ignore"):
            nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):  # an extension module, or not valid
        return ()
    names: list[str] = []
    for node in nodes:
        match node:
            case ast.Import():
                names += [alias.name for alias in node.names]
            case ast.ImportFrom():
                base = "." * node.level + (node.module or "")
                joint = "" if base.endswith(".") else "."
                # An imported name is a module or a value; a value has no file.
                names += [base, *(f"{base}{joint}{alias.name}" for alias in node.names)]
            case ast.Call(
                func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(text)), *_],
            ):
                names.append(text)
    absolute = set()
    for name in names:
        with suppress(ImportError):  # a relative import outside of a package
            absolute.add(importlib.util.resolve_name(name, package))
    return tuple(name for name in absolute if all(map(str.isidentifier, name.split("."))))
