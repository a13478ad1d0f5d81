"""Tests of the files that a night's worktree copies from the working tree."""

from flows.nights.preparation import link_data, write_params
from flows.settings import load_params


def test_data_that_no_commit_has_are_taken_as_they_are_now(tmp_path):
    home, root = tmp_path / "home", tmp_path / "tree"
    for folder in (home / "data/raw/made", root / "data/raw/made"):
        folder.mkdir(parents=True)
    (home / "data/raw/shop.sqlite").write_text("broken")
    (home / "data/raw/made/rows").write_text("of a later run")
    (root / "data/raw/made/rows").write_text("as recorded")
    (home / "data/raw/README").write_text("edited")
    (root / "data/raw/README").write_text("committed")
    kept = {"data/raw/made", "data/raw/README"}
    link_data(home, root, "data/raw", kept)
    assert (home / "data/raw/shop.sqlite").samefile(root / "data/raw/shop.sqlite")
    assert (root / "data/raw/made/rows").read_text() == "as recorded"
    assert (root / "data/raw/README").read_text() == "committed"

    mended = home / "data/raw/mended"
    mended.write_text("mended")
    mended.replace(home / "data/raw/shop.sqlite")
    link_data(home, root, "data/raw/shop.sqlite", kept)
    assert (root / "data/raw/shop.sqlite").read_text() == "mended"
    (root / "data/raw/README").unlink()
    link_data(home, root, "data/raw", kept)
    assert (root / "data/raw/README").read_text() == "edited", "what is nowhere else"


def test_baselines_belong_to_the_night_only_where_that_is_wished(tmp_path):
    home, root = tmp_path / "home", tmp_path / "tree"
    for wished in (False, True):
        for folder in (home, root):
            folder.mkdir(exist_ok=True)
            (folder / "params.yaml").write_text(
                f"nightly: {{assessments: [a], baselines: {str(wished).lower()}}}\n"
                "evaluation: {as_of: ''}\nbaselines: {as_of: once}\n"
            )
        write_params(home, root, "monday")
        params = load_params(root)
        assert params["evaluation"] == {"as_of": "monday"}
        assert params["baselines"] == {"as_of": "monday" if wished else "once"}
