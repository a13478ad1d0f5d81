"""Find plug-ins in installed packages by their entry points in the groups `benchloom.*`.

A plug-in in a project file is hashed like the rest of the project's code. An installed plug-in is outside the
project, so parameters record its version and a digest of its files.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points

from tasks.errors import BadInput
from tasks.lines import clean, write_error

GROUP = "benchloom."
LONGEST = 300
"""Maximum number of characters to show of an error message from third-party code."""


@dataclass(frozen=True)
class Plug:
    """An installed plug-in. `value`: the entry point's target, `package.module:name` or `package.module`."""

    kind: str
    name: str
    value: str
    package: str
    version: str
    record: str
    """The digest of the package's files, from `digest_record`."""

    def __str__(self) -> str:
        return f"{self.package} {self.version}, entry point {self.name} = {self.value} of {GROUP}{self.kind}"

    @property
    def advice(self) -> str:
        """Return the hint for error messages about this plug-in."""
        return f"run pip install --upgrade {self.package}, or uninstall this package"

    def load(self) -> object:
        """Import the object that the entry point names. Raises BadInput if the import raises any error."""
        module, _, name = self.value.partition(":")
        try:
            found = importlib.import_module(module)
            return getattr(found, name) if name else found
        except (Exception, SystemExit) as error:  # a module may call sys.exit() when it is imported
            raise BadInput(str(self), f"cannot be imported: {tell_error(error)}", hint=self.advice) from error


def find_plug(kind: str, name: str) -> Plug | None:
    """Find an installed plug-in; return None if there is none.

    Raises BadInput if there are several plug-ins of this name, or if `read_plug` fails.
    """
    found = [read_plug(kind, point) for point in entry_points(group=GROUP + kind, name=name)]
    if len({(plug.package, plug.value) for plug in found}) > 1:
        packages = " and ".join(sorted(f"{plug.package} ({plug.value})" for plug in found))
        raise BadInput(
            f"{GROUP}{kind}",
            f"{name} is provided by several packages: {packages}",
            hint="uninstall all but one of them",
        )
    return found[0] if found else None


def list_plugs(kind: str) -> list[str]:
    """List the names of the installed plug-ins of a kind."""
    return sorted({point.name for point in entry_points(group=GROUP + kind)})


def refuse_twice(place: str, plug: Plug) -> BadInput:
    """Return the error for a name that both a project file and an installed package define."""
    return BadInput(
        str(plug), f"{place} has the same name", hint=f"rename {place}, or run pip uninstall {plug.package}"
    )


def tell_error(error: BaseException) -> str:
    """Describe a third-party error on one line: its class and up to 300 characters of its message."""
    said = clean(write_error(error))[:LONGEST]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def read_plug(kind: str, point: EntryPoint) -> Plug:
    """Return the plug-in that an entry point defines.

    Raises BadInput if the package is installed in editable mode, or if its `direct_url.json` cannot be read.
    """
    package = point.dist
    assert package is not None, "entry_points() reads installed packages"  # noqa: S101
    return Plug(kind, point.name, point.value, package.name, package.version, digest_record(package))


def digest_record(package: Distribution) -> str:
    """Return a digest of the file names and hashes in a package's RECORD; it is the same on every machine.

    Scripts are left out because they contain the path of their interpreter; the files of `.dist-info` are
    left out because they depend on the installer. Raises BadInput as `read_plug` does.
    """
    where = f"{package.name} {package.version}"
    try:
        source = json.loads(package.read_text("direct_url.json") or "{}")
        editable = source.get("dir_info", {}).get("editable")
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        hint = f"run pip install --force-reinstall {package.name}"
        raise BadInput(where, "its direct_url.json cannot be read", hint=hint) from error
    if editable:
        raise BadInput(
            where,
            "is an editable installation, so Benchloom cannot detect changes to its code",
            hint="install it with pip, or put the file into the project",
        )
    lines = sorted(
        f"{file.as_posix()} {file.hash.mode}={file.hash.value}"
        for file in package.files or ()
        if file.hash is not None and file.parts[0] != ".." and not file.parts[0].endswith(".dist-info")
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
