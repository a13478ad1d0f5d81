"""Helpers that install packages with plug-ins, and read the examples of docs/plugs.md."""

import base64
import hashlib
import json
from pathlib import Path

CODE = "def answer(question, history):\n    return 'it is ' + question\n"
PAGE = Path(__file__).parents[1] / "docs" / "plugs.md"


def read_example(title: str, number: int = 0) -> str:
    """Return a Python file shown in a section of docs/plugs.md, by default the first."""
    section = PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    return section.split("```python\n")[1 + number].split("```")[0]


def install(folder, package, version="1.0", *, points, code=CODE, more=(), editable=False):
    """Write a package into site-packages, like an installer."""
    module = package.replace("-", "_")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (folder / f"{module}.py").write_text(code)
    digest = base64.urlsafe_b64encode(hashlib.sha256(code.encode()).digest()).decode().rstrip("=")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)
    if editable:
        (info / "direct_url.json").write_text(
            json.dumps({"url": "file:///x", "dir_info": {"editable": True}})
        )
    lines = [f"{module}.py,sha256={digest},{len(code)}", f"{info.name}/RECORD,,", *more]
    (info / "RECORD").write_text("\n".join(lines) + "\n")
