"""The build hook: a wheel carries the tree that `benchloom init` makes projects from, a checkout does not."""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # a build backend does not put it there

from benchloom.tree import list_tree  # noqa: E402 - needs the path


class BuildWithTemplate(build_py):
    """Copies the tree into the package, but for an editable install: there the checkout is the tree."""

    def run(self) -> None:
        """Build anew: setuptools would keep what an earlier build left in its folder."""
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        for path in list_tree(ROOT):
            target = Path(self.build_lib, "benchloom", "template", path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)


setup(cmdclass={"build_py": BuildWithTemplate})
