"""Tests of the documentation site: strict build, valid links, and statements that match the code."""

import ast
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from bench.commands_page import PAGE, write_commands
from tests.browser.look import find_overflow, new_page
from tests.browser.watch import Complaints, find_violations, open_chromium

ROOT = Path(__file__).parents[1]

CODE = ("benchloom", "flows", "tasks")
ROW = re.compile(r"^\| (?:`(\w+)`)? *\| *(\d*) *\| (?:`([^`]+)`)? *\|", re.MULTILINE)
LOADING = {"script": "src", "link": "href", "img": "src"}


class Page(HTMLParser):
    """The links, the link targets and the loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.anchors |= {told[name] for name in ("id", "name") if told.get(name)}
        if tag == "a" and told.get("href"):
            self.links.append(told["href"])
        if tag in LOADING and told.get(LOADING[tag]) and told.get("rel") != "canonical":
            self.loads.append(told[LOADING[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {path.resolve(): Page(path) for path in out.rglob("*.html")}


def test_every_page_is_in_the_site_and_every_link_in_it_leads_somewhere(site):
    broken, followed = [], 0
    for path, page in site.items():
        if path.name == "404.html":  # served for any URL, so its links are absolute
            continue
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            followed += 1
            if not target.is_file():
                broken.append(f"{path.parent.name}: {link}")
            elif parts.fragment and target in site and unquote(parts.fragment) not in site[target].anchors:
                broken.append(f"{path.parent.name}: {link} (no such heading)")
    assert broken == []
    assert followed > 1000
    assert {path.parent.name for path in site} >= {page.stem for page in (ROOT / "docs").rglob("*.md")} - {
        "index"
    }


def test_a_page_loads_nothing_from_elsewhere(site):
    assert [load for page in site.values() for load in page.loads if urlsplit(load).netloc] == []


@pytest.mark.browser
def test_a_page_breaks_no_rule_of_axe_wide_or_narrow(site):
    with open_chromium() as browser:
        path = next(path for path in site if path.parent.name == "assessment")
        for scheme, width in (("light", 1280), ("dark", 390)):
            page = new_page(browser, Complaints(path.as_uri()), scheme, width)
            page.goto(path.as_uri(), wait_until="networkidle")
            assert find_overflow(page) == []
            assert find_violations(page) == [], width
            page.context.close()


def test_titled_files_and_lists_are_drawn_as_such(site):
    tutorial = next(path for path in site if path.parent.name == "tutorial").read_text()
    assert 'class="filename"' in tutorial
    for path in site:
        text = re.sub(r"<pre.*?</pre>", "", path.read_text(), flags=re.DOTALL)
        assert "```" not in text, path
        assert not re.search(r"<p>[^<]*\n- ", text), path


def test_the_reference_of_commands_is_what_they_say():
    assert PAGE.read_text(encoding="utf-8") == write_commands(), "python -m bench.commands_page"


def read_errors():
    """Return error class -> exit code, from the code."""
    bases, codes = {}, {}
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.ClassDef):
                    continue
                for base in node.bases:
                    if isinstance(base, ast.Name):
                        bases[node.name] = base.id
                for part in node.body:
                    if isinstance(part, ast.Assign) and getattr(part.targets[0], "id", "") == "exit_code":
                        codes[node.name] = part.value.value

    def find_code(name):
        while name not in codes:
            name = bases[name]
        return codes[name]

    def is_ours(name):
        while name in bases and name != "BenchloomError":
            name = bases[name]
        return name == "BenchloomError"

    return {name: find_code(name) for name in ("BenchloomError", *filter(is_ours, bases))}


def read_texts():
    """Return the string literals of the code, including joined texts of f-strings."""
    texts = []
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text()))
            texts += [
                node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
    return texts


def test_every_error_has_its_exit_code_and_its_words_on_the_page_of_troubles():
    page = (ROOT / "docs/troubleshooting.md").read_text()
    rows = ROW.findall(page.partition("## By error")[2].partition("## By symptom")[0])
    assert {name: int(code) for name, code, _ in rows if name and name != "error"} == read_errors()
    said, texts = [told for _, _, told in rows if told], read_texts()
    assert len(said) >= 15
    assert [words for words in said if not any(words in text for text in texts)] == []
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {0, *read_errors().values()}


def test_the_how_to_index_names_each_page_of_tasks(site):
    named = set(re.findall(r"\]\((\w[\w-]*)\.md", (ROOT / "docs/how-to.md").read_text()))
    assert len(named) >= 25
    assert named <= {page.stem for page in (ROOT / "docs").glob("*.md")}
