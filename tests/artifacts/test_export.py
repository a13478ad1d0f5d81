import pytest

from tasks.artifacts.export import draft_folder, write_jsonl


def test_a_line_a_row_in_plain_unicode(tmp_path):
    path = tmp_path / "rows.jsonl"

    assert write_jsonl(path, [{"b": "é\n", "a": [1]}, {"b": None, "a": []}]) == 2
    assert path.read_bytes() == '{"b": "é\\n", "a": [1]}\n{"b": null, "a": []}\n'.encode()


def test_nan_is_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_jsonl(tmp_path / "rows.jsonl", [{"a": float("nan")}])


def test_a_folder_is_replaced_whole(tmp_path):
    out = tmp_path / "deep" / "out"
    for name in ("first", "second"):
        with draft_folder(out) as folder:
            (folder / name).touch()

    assert [path.name for path in out.iterdir()] == ["second"]
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_folder_that_failed_leaves_the_earlier_one(tmp_path):
    out = tmp_path / "out"
    with draft_folder(out) as folder:
        (folder / "good").touch()

    with pytest.raises(RuntimeError, match="half"), draft_folder(out) as folder:
        raise RuntimeError("half")

    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "good").exists()
