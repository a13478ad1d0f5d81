"""Tests of plug-ins in installed packages: found by entry points, and identified by a digest of files."""

import sys

import pytest

from tasks.errors import BadInput
from tasks.plugs import find_plug, list_plugs
from tests.packages import CODE, install

POINTS = "[benchloom.systems]\nacme = acme_rag:answer\n"


def test_a_plug_is_found_with_its_package_and_can_be_called(site):
    install(site, "acme-rag", "2.1", points=POINTS)
    plug = find_plug("systems", "acme")
    assert (plug.package, plug.version, plug.value) == ("acme-rag", "2.1", "acme_rag:answer")
    assert plug.load()("so", []) == "it is so"
    assert find_plug("metrics", "acme") is None
    assert list_plugs("systems") == ["acme"]


def test_its_record_is_of_its_files_and_the_same_wherever_it_is_installed(site, tmp_path):
    install(site / "a", "acme-rag", points=POINTS)
    left = (
        "../../bin/acme,sha256=abc,10",
        "__pycache__/acme_rag.cpython-311.pyc,,",
        "acme_rag-1.0.dist-info/INSTALLER,sha256=x,3",
    )
    install(site / "b", "acme-rag", points=POINTS, more=left)
    install(site / "c", "acme-rag", points=POINTS, code=CODE.replace("it is", "is it"))
    records = []
    for name in "abc":
        sys.path.insert(0, str(site / name))
        records.append(find_plug("systems", "acme").record)
        sys.path.remove(str(site / name))
    assert records[0] == records[1] != records[2]


def test_what_cannot_be_told_apart_later_is_refused(site):
    install(site, "acme-rag", points=POINTS, editable=True)
    with pytest.raises(BadInput, match=r"acme-rag 1\.0: is an editable installation"):
        find_plug("systems", "acme")


def test_two_packages_that_bring_one_name_are_refused(site):
    install(site, "acme-rag", points=POINTS)
    install(site, "acme-other", points="[benchloom.systems]\nacme = acme_other:answer\n")
    with pytest.raises(
        BadInput, match=r"provided by several packages: acme-other \(.*\) and acme-rag \(acme_rag:answer\)"
    ):
        find_plug("systems", "acme")


def test_an_entry_point_that_leads_nowhere_is_one_line(site):
    install(site, "acme-rag", points="[benchloom.systems]\nacme = acme_rag:nothing\n")
    with pytest.raises(
        BadInput, match=r"acme-rag 1\.0, entry point acme = acme_rag:nothing .* cannot be imported"
    ):
        find_plug("systems", "acme").load()


def test_one_package_may_not_name_two_things_alike(site):
    install(site, "acme-rag", points=POINTS + "acme = acme_rag:search\n")
    with pytest.raises(
        BadInput,
        match=r"acme is provided by several packages: acme-rag \(acme_rag:answer\) and acme-rag \(acme_rag:s",
    ):
        find_plug("systems", "acme")


@pytest.mark.parametrize("code", ["raise SystemError('no\\nway')", "def f(:\n", "import acme_nowhere"])
def test_whatever_a_package_raises_on_import_is_one_line_with_what_to_do(site, code):
    install(site, "acme-rag", points=POINTS, code=code)
    with pytest.raises(
        BadInput, match=r"cannot be imported: \w+Error: .*pip install --upgrade acme-rag"
    ) as refused:
        find_plug("systems", "acme").load()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'{"dir_info": 1}', b"[" * 100_000])
def test_a_record_of_where_a_package_came_from_that_is_broken_is_a_line(site, content):
    install(site, "acme-rag", points=POINTS)
    (site / "acme_rag-1.0.dist-info/direct_url.json").write_bytes(content)
    with pytest.raises(
        BadInput, match=r"acme-rag 1\.0: its direct_url\.json cannot be read \(run pip install --f"
    ):
        find_plug("systems", "acme")
