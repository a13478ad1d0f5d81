"""Read the extras of the installed package, and check which of their requirements are installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec

from tasks.errors import BadInput

PACKAGE = "benchloom"
PROJECT = "project"
"""Name of the extra that a run needs."""
LANDMARKS = {"score": "scipy", PROJECT: "dvc", "publish": "huggingface_hub"}
"""Extra -> a library that only this extra installs, used to detect the extra."""


SERVERS = {"postgresql": ("sqlalchemy", "pydantic", "psycopg"), "mariadb": ("pymysql",)}
"""Extra for a database server -> libraries that the extra adds to those of the extra `score`."""
WIKI = ("defusedxml", "mwparserfromhell")
"""Libraries of the extra `wiki`, for Wikipedia articles."""


def explain_missing(error: ModuleNotFoundError, words: Sequence[str]) -> BadInput | None:
    """Return an error that names the extra required by a command; None if the extra is installed."""
    command = next((word for word in words if not word.startswith("-")), "")
    extra = command if command in LANDMARKS else "wiki" if error.name in WIKI else PROJECT
    if extra in LANDMARKS and find_spec(LANDMARKS[extra]) is not None:
        server = next((extra for extra, names in SERVERS.items() if error.name in names), None)
        asked = command == "score" and any(word.startswith("--url") for word in words)
        if server is None or not asked:
            return None
        extra = next((name for name in SERVERS if any(name in word for word in words)), server)
    return BadInput(
        f"{PACKAGE} {command}".strip(),
        f"needs {error.name}, which is not installed here",
        hint=f"run pip install '{PACKAGE}[{extra}]'",
    )


def require_extra(command: str) -> None:
    """Raise BadInput if the extra with the same name as a command is not installed."""
    library = LANDMARKS[command]
    if find_spec(library) is None:
        missing = explain_missing(ModuleNotFoundError(name=library), [command])
        raise missing or BadInput(command, f"needs {library}")


def list_extras() -> list[str]:
    """List the extras of the installed package."""
    return sorted(metadata(PACKAGE).get_all("Provides-Extra") or [])


def list_requirements(extra: str = "") -> list[str]:
    """List the requirements of an extra and of the extras that it includes; by default, of the package."""
    from packaging.requirements import Requirement

    found: list[str] = []
    for requirement in map(Requirement, requires(PACKAGE) or []):
        marker, requirement.marker = requirement.marker, None
        if not (marker.evaluate({"extra": extra}) if marker else not extra):
            continue
        if requirement.name == PACKAGE:
            found += [text for other in sorted(requirement.extras) for text in list_requirements(other)]
        else:
            found.append(str(requirement))
    return found


def list_unmet(requirements: Sequence[str]) -> list[str]:
    """List the requirements that this environment does not meet, with the installed versions."""
    from packaging.requirements import Requirement

    unmet = []
    for text in requirements:
        requirement = Requirement(text)
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            unmet.append(f"{text} (not installed)")
            continue
        if not requirement.specifier.contains(found, prereleases=True):
            unmet.append(f"{text} (installed: {found})")
    return unmet


def is_installed(name: str) -> bool:
    """Return whether a package is installed in this environment."""
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
