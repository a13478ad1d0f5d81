import io
import tarfile
import zipfile

import pytest

from tasks.errors import BadInput
from tasks.sources import releases
from tasks.sources.releases import open_release


def make_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def make_tar(path, *members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content, kind in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size, entry.linkname = kind, len(content), "/etc/passwd"
            archive.addfile(entry, io.BytesIO(content))
    return path


def open_refused(path, marker="tables.json"):
    """Open a release that must be refused; return the error."""
    with pytest.raises(BadInput) as caught, open_release(path, marker):
        pass
    return str(caught.value)


def test_a_folder_is_taken_as_it_is(tmp_path):
    (tmp_path / "spider").mkdir()
    (tmp_path / "spider" / "tables.json").write_text("[]")
    with open_release(tmp_path, "tables.json") as folder:
        assert folder == tmp_path / "spider"


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_an_archive_of_any_kind_is_unpacked_and_leaves_nothing(tmp_path, kind):
    path = tmp_path / f"spider.{kind}"
    if kind == "zip":
        make_zip(path, {"spider/tables.json": "[]", "spider/database/a/a.sqlite": "x"})
    else:
        members = [
            (f"spider/{name}", b"[]", tarfile.REGTYPE) for name in ("tables.json", "database/a/a.sqlite")
        ]
        make_tar(path, *members, mode="w:" + kind.partition(".")[2])
    with open_release(path, "tables.json") as folder:
        assert (folder / "database/a/a.sqlite").is_file()
    assert not folder.exists()


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "..\\out", "c:/out"])
def test_a_path_that_leads_out_is_refused(tmp_path, name):
    zipped = make_zip(tmp_path / "evil.zip", {"tables.json": "[]", name: "x"})
    tarred = make_tar(tmp_path / "evil.tgz", (name, b"x", tarfile.REGTYPE))
    for path in (zipped, tarred):
        assert "contains a path that points outside the archive" in open_refused(path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path, kind):
    path = make_tar(tmp_path / "evil.tgz", ("tables.json", b"", kind))
    assert "contains something other than files and folders: tables.json" in open_refused(path)


def test_a_link_in_a_zip_is_refused(tmp_path):
    entry = zipfile.ZipInfo("tables.json")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert "contains a link: tables.json" in open_refused(tmp_path / "evil.zip")


def test_what_swells_is_stopped_whatever_it_says_of_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(releases, "MOST_BYTES", 2**20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tables.json", bytes(2**22))
    assert "is larger than" in open_refused(path)
    monkeypatch.setattr(releases, "MOST_FILES", 3)
    many = make_zip(tmp_path / "many.zip", {f"{number}.json": "" for number in range(4)})
    assert "has more than 3 files" in open_refused(many)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut short", b"\x1f\x8b cut short"])
def test_what_is_no_archive_is_named(tmp_path, content):
    path = tmp_path / "spider.zip"
    path.write_bytes(content)
    assert "spider.zip: cannot be unpacked" in open_refused(path)


def test_what_lacks_its_files_or_has_them_twice_is_named(tmp_path):
    assert "nowhere: does not exist" in open_refused(tmp_path / "nowhere")
    assert "contains no tables.json" in open_refused(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tables.json").write_text("[]")
    assert "has tables.json in several folders (one, two)" in open_refused(tmp_path)
