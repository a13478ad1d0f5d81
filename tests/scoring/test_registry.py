import pytest

from flows.commands.score import score_command
from tasks.errors import BadInput
from tasks.scoring import registry
from tasks.scoring.registry import find_metric, list_metrics, make_metric
from tests.packages import install, read_example

EXAMPLE = read_example("A metric")
POINTS = "[benchloom.metrics]\nlength-ratio = acme_length:LengthRatio\n"


def test_a_file_of_the_project_is_a_metric_by_being_there(tmp_path, monkeypatch, capsys):
    import tasks.scoring

    (tmp_path / "length_ratio.py").write_text(EXAMPLE)
    monkeypatch.setattr(registry, "FOLDER", tmp_path)
    monkeypatch.setattr(tasks.scoring, "__path__", [*tasks.scoring.__path__, str(tmp_path)])
    assert "length-ratio" in list(list_metrics())
    (tmp_path / "lines.jsonl").write_text('{"id": "1", "gold": "abcd", "prediction": "ab"}\n')
    options = {"options": {}, "rule": None, "items": None, "ci": None, "as_json": True}
    assert score_command("length-ratio", str(tmp_path / "lines.jsonl"), **options) == 0
    assert '"ratio":0.5' in capsys.readouterr().out


def test_an_installed_metric_is_named_with_its_version_and_record(site, capsys):
    install(site, "acme-length", "3.0", points=POINTS, code=EXAMPLE)
    (site / "lines.jsonl").write_text('{"id": "1", "gold": "abcd", "prediction": "abc"}\n')
    options = {"options": {}, "rule": None, "items": None, "ci": None}
    assert score_command("length-ratio", str(site / "lines.jsonl"), **options, as_json=True) == 0
    told = capsys.readouterr().out
    assert '"ratio":0.75' in told
    assert f'"plug":"acme-length 3.0","record":"{registry.find_installed("length-ratio").record}"' in told
    score_command("length-ratio", str(site / "lines.jsonl"), **options, as_json=False)
    assert "plug: acme-length 3.0" in capsys.readouterr().out


def test_a_plug_that_is_no_metric_is_refused(site):
    install(site, "acme-length", points="[benchloom.metrics]\nacme-length = acme_length:answer\n")
    with pytest.raises(BadInput, match="must define exactly one metric named 'acme-length'"):
        find_metric("acme-length")


def test_an_unknown_metric_is_told_with_those_that_there_are(site):
    install(site, "acme-length", points=POINTS, code=EXAMPLE)
    with pytest.raises(BadInput, match=r"agreement, .*toolbench, length-ratio"):
        make_metric("metric", {})
    with pytest.raises(BadInput, match="is not known"):
        make_metric("../scoring/rms", {})
