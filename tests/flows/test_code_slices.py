"""Tests of a function's slice, for every construct by which one definition can reach another."""

from pathlib import Path

import pytest

from flows.code_slices import EVERYTHING, CodeSlices

HEAVY = "def weigh(): ...\n"
"""Source of a module that a slice must not contain unless a definition refers to it."""


def cut(folder: Path, start: str = "run", module: str = "tasks.a", **sources: str) -> set[str]:
    """Write modules of a package; return the names of the modules in a slice."""
    for name, source in {"heavy": HEAVY, **sources}.items():
        file = folder / "tasks" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    found = CodeSlices(folder, "tasks").cut([(module, start)])
    return {name.removeprefix("tasks.") for name in found.modules}


def test_only_what_the_function_uses_is_followed(tmp_path):
    found = cut(
        tmp_path,
        a="from tasks.b import Row\nfrom tasks.heavy import weigh\ndef run(rows: list[Row]): ...\n"
        "def other(): weigh()\n",
        b="from tasks.heavy import weigh\nfrom tasks.c import KIND\nclass Row:\n    kind = KIND\n"
        "def write(): weigh()\n",
        c="from tasks.heavy import weigh\nKIND = 1\nWEIGHT = weigh()\n",
    )
    assert found == {"a", "b", "c"}


USES = {
    "a call": "def run(): weigh()",
    "a name that is handed over": "def run(): map(weigh, [])",
    "a definition of the same module": "def run(): return help_out()\ndef help_out(): weigh()",
    "a method": "class Scale:\n    def use(self): weigh()\ndef run(): Scale()",
    "a class's body": "class Scale:\n    use = weigh\ndef run(): Scale()",
    "a base class": "class Scale(weigh): ...\ndef run(): Scale()",
    "a decorator": "@weigh\ndef run(): ...",
    "a default value": "def run(scale=weigh): ...",
    "a default value of a lambda": "run = lambda scale=weigh: 0",
    "an annotation": "def run(scale: list[weigh]): ...",
    "an annotation that is a string": "def run(scale: 'list[weigh]'): ...",
    "what is returned": "def run() -> weigh: ...",
    "a field": "class Row:\n    scale: weigh\ndef run(): Row()",
    "a field that is a string": "class Row:\n    scale: 'weigh | None'\ndef run(): Row()",
    "a type that is named by a string": "Either = Union['weigh', int]\ndef run() -> Either: ...",
    "a constant": "SCALE = {1: weigh}\ndef run(): return SCALE",
    "one of two definitions": "def help_out(): ...\ndef help_out(): weigh()\ndef run(): help_out()",
    "a constant with others": "ONE, SCALE = 1, weigh\ndef run(): return SCALE",
    "a walrus": "ONE = [(SCALE := weigh)]\ndef run(): return SCALE",
    "a global": "SCALE = weigh\ndef run():\n    global SCALE\n    SCALE = 1",
    "a nested function": "def run():\n    def inner(): weigh()\n    return inner",
    "a comprehension": "def run(): return [weigh() for _ in ()]",
    "a match": "def run(x):\n    match x:\n        case weigh(): ...",
    "globals": "def run(): globals()['help_out']()\ndef help_out(): weigh()",
    "eval": "def run(): eval('help_out()')\ndef help_out(): weigh()",
    "a name bound in a loop": "for scale in [weigh]: SCALE = scale\ndef run(): return SCALE",
    "a branch": "if len('x'):\n    def help_out(): weigh()\ndef run(): help_out()",
    "what runs when the module is imported": "print(weigh())\ndef run(): ...",
    "a change of an object": "SCALES = {}\nSCALES['x'] = weigh\ndef run(): ...",
    "what is added": "SCALES = []\nSCALES += [weigh]\ndef run(): ...",
    "a decorator that may register": "def plug(f): return f\n@plug\ndef help_out(): weigh()\ndef run(): ...",
    "a variant that is registered": "@singledispatch\ndef run(x): ...\n@run.register\ndef _(x: int): weigh()",
}


@pytest.mark.parametrize("source", USES.values(), ids=USES)
def test_what_a_definition_uses_counts(tmp_path, source):
    assert "heavy" in cut(tmp_path, a=f"from tasks.heavy import weigh\n{source}\n")


IMPORTS = {
    "a name": "from tasks.heavy import weigh\ndef run(): weigh()",
    "another name for it": "from tasks.heavy import weigh as use\ndef run(): use()",
    "a module": "from tasks import heavy\ndef run(): heavy.weigh()",
    "another name for a module": "import tasks.heavy as scales\ndef run(): scales.weigh()",
    "a module by its full name": "import tasks.heavy\ndef run(): tasks.heavy.weigh()",
    "two modules by their full names": "import tasks.heavy, tasks.light\ndef run(): tasks.heavy.weigh()",
    "the package": "import tasks\ndef run(): tasks.heavy.weigh()",
    "a module of the same package": "from .heavy import weigh\ndef run(): weigh()",
    "a module in the same package": "from . import heavy\ndef run(): heavy.weigh()",
    "everything": "from tasks.heavy import *\ndef run(): weigh()",
    "inside of the function": "def run():\n    from tasks.heavy import weigh\n    weigh()",
    "inside of the function, for its own sake": "def run():\n    import tasks.heavy",
    "two of one name": "def run():\n    if x:\n        from tasks.light import weigh\n"
    "    else:\n        from tasks.heavy import weigh\n    weigh()",
    "for types": "if TYPE_CHECKING:\n    from tasks.heavy import weigh\ndef run(x: weigh): ...",
    "with something instead": "try:\n    from tasks.heavy import weigh\nexcept ImportError:\n    weigh = 0\n"
    "def run(): weigh()",
    "a module that is handed over": "from tasks import heavy\ndef run(): getattr(heavy, 'weigh')()",
    "a name that a module makes up": "from tasks.light import weight\ndef run(): weight()",
    "a process": "def run(): start('-m', 'tasks.heavy')",
    "a process named by a constant": "CHILD = 'tasks.heavy'\ndef run(): start('-m', CHILD)",
    "what an imported module does": "from tasks.light import unused\ndef run(): ...",
}
LIGHT = "from tasks import heavy\nimport tasks.loud\ndef __getattr__(name): return heavy\ndef unused(): ...\n"
LOUD = "from tasks.heavy import weigh\nprint(weigh())\n"


@pytest.mark.parametrize("source", IMPORTS.values(), ids=IMPORTS)
def test_what_is_imported_counts_where_it_is_used(tmp_path, source):
    assert "heavy" in cut(tmp_path, a=f"{source}\n", light=LIGHT, loud=LOUD if "unused" in source else "")


UNUSED = {
    "an import": "from tasks.heavy import weigh\ndef run(): ...",
    "an import for types": "if TYPE_CHECKING:\n    from tasks.heavy import weigh\ndef run(): ...",
    "a constant": "from tasks.heavy import weigh\nSCALE = weigh\ndef run(): ...",
    "a function": "from tasks.heavy import weigh\ndef other(): weigh()\ndef run(): ...",
    "an import in it": "def other():\n    from tasks.heavy import weigh\ndef run(): ...",
    "another attribute of a module": "from tasks import light\ndef run(): light.shine()",
    "what it does as a process": "from tasks.heavy import weigh\ndef run(): ...\n"
    "if __name__ == '__main__':\n    weigh()",
    "a process": "CHILD = 'tasks.heavy'\ndef run(): ...",
    "a decorator that only marks": "from tasks.artifacts.splitting import splits\n"
    "from tasks.heavy import weigh\n@splits\ndef other(): weigh()\ndef run(): ...",
    "a decorator of another package": "from functools import cache\nfrom tasks.heavy import weigh\n"
    "@cache\ndef other(): weigh()\ndef run(): ...",
    "a list of names": "from tasks.heavy import weigh\n__all__ = ['weigh']\ndef run(): ...",
}


@pytest.mark.parametrize("source", UNUSED.values(), ids=UNUSED)
def test_what_no_reached_definition_uses_does_not_count(tmp_path, source):
    light = "from tasks.heavy import weigh\ndef shine(): ...\ndef other(): weigh()\n"
    assert "heavy" not in cut(tmp_path, a=f"{source}\n", light=light)


def test_a_module_that_hands_a_name_on_counts_too(tmp_path):
    middle = "from tasks.heavy import weigh\nfrom tasks.light import shine\n"
    found = cut(tmp_path, a="from tasks.middle import weigh\ndef run(): weigh()\n", middle=middle, light="")
    assert found == {"a", "middle", "heavy"}


def test_a_process_counts_with_what_it_does_when_it_is_started(tmp_path):
    child = "from tasks.heavy import weigh\ndef main(): weigh()\nif __name__ == '__main__':\n    main()\n"
    assert "heavy" in cut(tmp_path, a="def run(): start('tasks.child')\n", child=child)


@pytest.mark.parametrize(
    "kinds",
    [
        "class Kind: ...\ndef find(): return Kind.__subclasses__()\n",
        "class Kind:\n    def __init_subclass__(cls): ALL.append(cls)\nALL = []\ndef find(): return ALL\n",
        "class Meta(type): ...\nclass Kind(metaclass=Meta): ...\ndef find(): return Kind\n",
    ],
)
def test_where_classes_are_found_without_a_name_all_that_is_imported_counts(tmp_path, kinds):
    found = cut(
        tmp_path,
        a="from tasks.kinds import find\nfrom tasks.scales import Scale\ndef run(): find()\n",
        kinds=kinds,
        scales="from tasks.kinds import Kind\nfrom tasks.heavy import weigh\n"
        "class Scale(Kind):\n    def use(self): weigh()\n",
    )
    assert {"scales", "heavy"} <= found


def test_modules_that_import_each_other_are_followed_once(tmp_path):
    b = "from tasks.a import run\nfrom tasks.b import again\ndef help_out(): run()\n"
    assert cut(tmp_path, a="from tasks.b import help_out\ndef run(): help_out()\n", b=b) == {"a", "b"}


def test_texts_are_those_of_what_is_reached(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/a.py").write_text(
        "PAGE = 'a.html'\nOTHER = 'b.html'\ndef run(): return PAGE, 'a.js'\ndef other(): return 'b.js'\n"
    )
    found = CodeSlices(tmp_path, "tasks")
    assert found.cut([("tasks.a", "run")]).texts == {("tasks.a", "a.html"), ("tasks.a", "a.js")}
    assert len(found.cut([("tasks.a", EVERYTHING)]).nodes) > 4


def test_a_package_that_is_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there/c.py").write_text("def weigh(): ...\n")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/rooms").symlink_to(tmp_path / "there")
    assert "rooms.c" in cut(tmp_path, a="from tasks.rooms.c import weigh\ndef run(): weigh()\n")
