"""The files of a plug-in: its module, and the modules of its package or folder that it imports.

An imported module belongs to the plug-in if it is below the folder that contains the plug-in's file
or package. If this folder contains installed packages, only modules of the same package belong.
"""

import ast
import hashlib
import importlib.util
import sys
import warnings
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

#: Names of folders that contain installed packages of different authors.
SHARED = {"site-packages", "dist-packages"}


def find_modules(module: str, file: Path) -> dict[str, tuple[Path, bytes]]:
    """Return the files of a plug-in and their contents, by module name.

    The source code is searched for imports, including those in functions, because a module that is
    imported later is part of the plug-in too. Imports of modules with computed names are missed.

    Args:
        module: the name of the plug-in's module.
        file: the file of this module.
    """
    # If the plug-in was loaded as a file, its module has the file's name. Dots in this name do not
    # separate packages.
    depth = module.count(".") + (file.stem == "__init__") if module != file.stem else 0
    root = file.parents[min(depth, len(file.parents) - 1)]
    top = module.partition(".")[0]
    found: dict[str, tuple[Path, bytes]] = {}
    waiting = _with_parents(module) if depth else [module]
    while waiting:
        name = waiting.pop()
        if name in found or (root.name in SHARED and name.partition(".")[0] != top):
            continue
        path = file if name == module else _locate(root, name)
        if path is not None:
            found[name] = path, path.read_bytes()
            package = name if path.stem == "__init__" else name.rpartition(".")[0]
            for imported in _find_imports(found[name][1], package):
                waiting += _with_parents(imported)
    return found


def hash_plugin(module: str, file: Path) -> str:
    """Return the SHA-256 of a plug-in's files; empty if there is no file, as in a notebook.

    For a plug-in with a single file, the result is the SHA-256 of this file. Otherwise, it is the
    SHA-256 of a list of module names and file digests, which does not depend on the folder.
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


def _locate(root: Path, name: str) -> Path | None:
    """Return the file of a module below a folder, without importing the module.

    The result is None if Python finds no module of this name, or if the module is not below the
    folder or belongs to Python, starcast or an installed package.
    """
    top, *parts = name.split(".")
    if top == "starcast" or top in sys.stdlib_module_names:
        return None
    # `sys.path` may contain another path to the root folder, such as a symbolic link.
    folders = [
        str(root) if Path(entry).resolve() == root.resolve() else entry for entry in sys.path
    ]
    spec = PathFinder.find_spec(top, folders)
    # A module in the root takes precedence over a folder without __init__.py.
    if spec is None or spec.origin is None:
        spec = PathFinder.find_spec(top, [str(root)]) or spec
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    # A virtual environment in the plug-in's folder contains packages of other authors.
    is_own = path.is_relative_to(root) and SHARED.isdisjoint(path.relative_to(root).parts)
    return path if is_own else None


def _with_parents(name: str) -> list[str]:
    """Return the names of all packages that contain a module, and of the module itself."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


@lru_cache(maxsize=1000)
def _find_imports(source: bytes, package: str) -> tuple[str, ...]:
    """Return the absolute names of all modules that source code in a package may import."""
    try:
        with warnings.catch_warnings(action="ignore"):
            nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):  # an extension module, or invalid code
        return ()
    names: list[str] = []
    for node in nodes:
        match node:
            case ast.Import():
                names += [alias.name for alias in node.names]
            case ast.ImportFrom():
                base = "." * node.level + (node.module or "")
                joint = "" if base.endswith(".") else "."
                # An imported name may be a module or a value; for a value, `_locate` finds no file.
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
