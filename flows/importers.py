"""Find importers by name in tasks/*/importers and in installed packages."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import tasks
from flows.extras import explain_missing
from tasks.errors import BadInput
from tasks.plugged_classes import PluggedClasses, list_own, to_module
from tasks.plugs import list_plugs
from tasks.sources.base_importer import BaseImporter

GROUP = "importers"
INSTALLED = "Import a source with an importer of an installed package (docs/plugs.md)."


def list_importers() -> dict[str, str]:
    """Map importer names to help texts, without importing the importers' modules."""
    files = {
        name: folder / f"{to_module(name)}.py" for _, folder in list_homes() for name in list_own(folder)
    }
    found = {name: read_help(path) for name, path in sorted(files.items())}
    return {**dict.fromkeys(list_plugs(GROUP), INSTALLED), **found}


def read_help(path: Path) -> str:
    """Return the docstring of a file's importer class or, if there is none, the module's docstring."""
    module = ast.parse(path.read_text(encoding="utf-8"), str(path))
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    named = (node for node in classes if path.stem.replace("_", "") == node.name.lower())
    found = next(named, classes[0] if classes else None)
    return (ast.get_docstring(found) if found else None) or ast.get_docstring(module) or ""


def list_homes() -> list[tuple[PluggedClasses[BaseImporter], Path]]:
    """List the folders that contain importers: tasks/sources and each paper's folder."""
    papers = {folder.parent.name for folder in Path(tasks.__path__[0]).glob("*/importers")}
    packages = [importlib.import_module(f"tasks.{paper}.importers") for paper in sorted(papers)]
    return [
        (PluggedClasses(BaseImporter, GROUP, package.__name__, "importer", "docs/plugs.md"), Path(folder))
        for package in packages
        for folder in package.__path__
    ]


def find_importer(name: str) -> tuple[type[BaseImporter], str]:
    """Return an importer's class, and the package or importer name to use in error messages.

    Raises BadInput for an unknown name, or if an installed package has an importer of the same name.
    """
    homes = list_homes()
    classes, folder = next((home for home in homes if name in list_own(home[1])), homes[0])
    plug = classes.choose(name, folder)
    try:
        return classes.load(name, plug), str(plug or f"importer {name}")
    except BadInput as error:
        missing = error.__cause__
        if isinstance(missing, ModuleNotFoundError) and explain_missing(missing, ["import"]):
            raise missing from None  # the command line names the extra
        raise
