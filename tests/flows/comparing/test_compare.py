"""Tests of `benchloom compare` for all flows: valid sides, and the output."""

import json
import re
import statistics

import pytest

from flows.cli import app, main
from flows.commands.compare import CompareOptions, compare_sides
from flows.comparing.places import read_workspace
from flows.discovery import list_evaluating
from tasks.errors import BadInput, BenchloomError
from tests.flows.comparing.project import (
    Project,
    make_grammar,
    make_longform,
    make_ragcheck,
    make_stream,
    make_tanq,
)

WEAK = [False, False, True, False, True, None, False, True, *[True] * 8]
GOOD = [True, False, True, True, True, True, False, False, *[True] * 8]
BETTER = [True, *[False] * 10, True]


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = Project(tmp_path)
    made.record(make_grammar("films-weak", WEAK), "weak")
    made.record(make_grammar("films-good", GOOD), "good")
    made.commit("first", "v1")
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def whole(project):
    """All flows with two systems each; the second system is better on the first and the last item."""
    project.record(make_longform({"guess": [False] * 12, "iterative": BETTER}))
    project.record(
        make_tanq({"closed/agent": [0.0] * 12, "oracle/agent": [float(right) for right in BETTER]})
    )
    project.record(make_stream({"zero_shot": [False] * 12, "chain": BETTER}))
    project.record(make_ragcheck({"plain": [1] * 12, "dense": [5 if right else 1 for right in BETTER]}))
    return project


def compare(project, a, b, **options):
    return compare_sides((a, b), CompareOptions(**{"draws": 500, **options}), project.root)[0]


def test_two_entries_of_two_systems(project):
    found = compare(project, "films-weak", "films-good")
    (scored_system,) = found.strands
    (change,) = scored_system.metrics
    assert (scored_system.a, scored_system.b) == ("films-weak/weak", "films-good/good")
    assert (change.metric, change.n_pairs, change.clusters, change.unscored_a) == ("accuracy", 15, 8, 1)
    assert (change.fell, change.rose) == (1, 2)
    assert change.difference == pytest.approx(1 / 15)
    shown = next(case for case in scored_system.changed if case.case == "q07")
    assert (shown.a.answer, shown.b.answer) == ("films-weak said q07 True", "films-good said q07 False")
    assert (shown.question, shown.reference) == ("What of q07?", "true q07")
    by_system = compare(project, "weak", "good")
    assert by_system.strands == found.strands


@pytest.mark.parametrize(
    ("a", "b", "metrics"),
    [
        ("guess/agent", "iterative/agent", ["match", "score"]),
        ("closed/agent", "oracle/agent", ["released F1", "paper F1"]),
        ("zero_shot/agent", "chain/agent", ["accuracy"]),
        (
            "ragcheck.correctness.trial/plain",
            "ragcheck.correctness.trial/dense",
            ["score judge E2", "score judge E3"],
        ),
        (
            "ragcheck.continuity.trial/plain",
            "ragcheck.continuity.trial/dense",
            ["wscore", "lscore", "mscore"],
        ),
    ],
)
def test_two_systems_of_every_flow(whole, a, b, metrics):
    (scored_system,) = compare(whole, a, b).strands
    assert [change.metric for change in scored_system.metrics] == metrics
    assert all(change.difference > 0 and change.rose and not change.fell for change in scored_system.metrics)
    assert len(scored_system.changed) in (2, 4), "the first and the last item, under each seed of a stream"
    for case in scored_system.changed:
        assert case.question in ("What of q00?", "What of q11?")
        assert case.reference.endswith(("true q00", "true q11"))
        assert case.a.answer != case.b.answer


def test_every_scope_that_evaluates_is_read_by_its_declaration(whole):
    stages = read_workspace(whole.root).stages
    # The sample has no entries of these sections.
    own = {"longform.systems", "qa.systems", "streambench.systems", "tanq.systems"}
    assert {stage.scope for stage in stages} == {
        scope for scope in list_evaluating() if scope.over not in own
    }
    assert all(stage.read_scored_systems("here") for stage in stages)


def test_a_system_of_two_sections_is_compared_in_both(whole):
    found = compare(whole, "plain", "dense")
    assert [scored_system.section for scored_system in found.strands] == [
        "ragcheck.continuity",
        "ragcheck.correctness",
    ]
    assert found.n_tests == 5
    assert all(
        change.adjusted >= change.p_value
        for scored_system in found.strands
        for change in scored_system.metrics
    )


def test_two_seeds_of_an_item_are_two_cases_of_one_cluster(whole):
    (scored_system,) = compare(whole, "zero_shot/agent", "chain/agent").strands
    assert (scored_system.metrics[0].n_pairs, scored_system.metrics[0].clusters) == (24, 12)


def test_two_revisions_and_what_lies_here(project):
    project.record(make_grammar("films-weak", GOOD, "now says"), "weak")
    project.commit("second")
    found = compare(project, "v1", "HEAD")
    assert found.sides[0].startswith("v1 (")
    assert [(scored_system.a, scored_system.b) for scored_system in found.strands] == [
        ("films-good/good", "films-good/good"),
        ("films-weak/weak", "films-weak/weak"),
    ]
    same, changed = found.strands
    assert (same.metrics[0].difference, same.metrics[0].p_value, same.reworded) == (0.0, 1.0, 0)
    assert changed.metrics[0].rose == 2
    assert changed.changed[0].a.answer.startswith("films-weak said")
    assert changed.changed[0].b.answer.startswith("films-weak now says")

    (only,) = compare(project, "v1", "workspace", only=("films-weak",)).strands
    assert only.metrics[0].difference == changed.metrics[0].difference
    assert found.n_tests == 2

    project.git("branch", "v0/feature", "v1")
    assert compare(project, "v0/feature", "HEAD").strands[1].metrics == changed.metrics


def test_an_artifact_that_the_cache_lost_is_named_and_the_others_are_read(project):
    project.place_cached("data/grammar/films/films-good/answers.parquet").unlink()
    project.record(make_grammar("films-good", WEAK), "good")
    with pytest.raises(BadInput, match=r"answers\.parquet of v1 \(\w+\): is not in DVC's cache .*dvc fetch"):
        compare(project, "v1", "workspace")
    assert compare(project, "v1", "workspace", only=("films-weak",)).strands


def test_a_cache_elsewhere_is_found_by_dvcs_own_settings(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "cache"
    (project.root / ".dvc/cache").rename(elsewhere)
    (project.root / ".dvc/config.local").write_text(f"[cache]\n    dir = {elsewhere}\n")
    assert compare(project, "v1", "workspace").strands


def test_two_nights_are_what_their_branches_record(project):
    for label, right in (("monday", WEAK), ("tuesday", GOOD)):
        project.write_night(label, make_grammar("films-weak", right, label), "weak")
    found = compare(project, "night:monday", "night:tuesday", only=("films-weak",))
    (scored_system,) = found.strands
    assert (found.sides[0], scored_system.a, scored_system.metrics[0].rose) == (
        "night monday",
        "films-weak/weak",
        2,
    )
    found = compare(project, "monday", "nightly/tuesday", only=("films-weak",))
    assert found.sides[1].startswith("nightly/tuesday (")
    assert found.strands[0].metrics[0].rose == 2


def test_two_runs_of_evaluate(project):
    for system, right in (("mine", WEAK), ("yours", GOOD)):
        project.write_evaluation(
            f"data/evaluations/{system}-k", "grammar", system, make_grammar(system, right)
        )
    found = compare(project, "data/evaluations/mine-k", "data/evaluations/yours-k")
    (scored_system,) = found.strands
    assert (scored_system.a, scored_system.b) == ("mine.jsonl/mine", "mine.jsonl/yours")
    assert (scored_system.metrics[0].fell, scored_system.metrics[0].rose) == (1, 2)


def test_the_metrics_asked_for_are_all_that_holm_is_over(whole):
    found = compare(whole, "closed/agent", "oracle/agent", metrics=("paper F1",))
    assert (found.n_tests, [change.metric for change in found.strands[0].metrics]) == (1, ["paper F1"])
    with pytest.raises(
        BadInput,
        match=r"--metric bleu: is not a metric of the compared systems .known: paper F1, released F1",
    ):
        compare(whole, "closed/agent", "oracle/agent", metrics=("bleu",))


def test_an_unknown_name_lists_what_there_is(project):
    project.write_night("monday", make_grammar("films-weak", WEAK, "then"))
    with pytest.raises(BadInput) as error:
        compare(project, "nobody", "films-good")
    assert str(error.value) == (
        "nobody: is not an entry, a system, a run or a revision; known: entries: films-good, films-weak; "
        "systems: good, weak; nights: monday; workspace, and Git revisions"
    )


def test_nothing_in_common_is_a_failure(whole):
    with pytest.raises(BenchloomError) as error:
        compare(whole, "films-weak", "zero_shot/agent")
    assert error.value.exit_code == 1
    assert "have no items in common: films-weak has assessments.films-weak/weak;" in str(error.value)


def test_a_name_of_two_kinds_is_refused_and_told_apart_by_its_kind(project):
    project.write_night("films-weak", make_grammar("films-weak", GOOD), "weak")
    with pytest.raises(BadInput, match="is ambiguous: use entry:films-weak, night:films-weak"):
        compare(project, "films-weak", "films-good")
    assert (
        compare(project, "entry:films-weak", "night:films-weak", only=("films-weak",))
        .strands[0]
        .metrics[0]
        .rose
        == 2
    )


def test_what_could_stand_against_several_is_refused(whole):
    three = {"closed/agent": [0.0, 1.0], "open/agent": [0.5, 1.0], "oracle/agent": [1.0, 0.0]}
    whole.record(make_tanq(three))
    with pytest.raises(
        BadInput, match=r"closed/agent, .*open/agent to compare with which of .*oracle/agent .*ENTRY"
    ):
        compare(whole, "tanq.evaluations.sample", "oracle/agent")
    with pytest.raises(BadInput, match="refer to the same answers"):
        compare(whole, "closed/agent", "tanq.evaluations.sample/closed/agent")
    with pytest.raises(BadInput, match="is an entry in several sections: use "):
        compare(whole, "sample", "films-good")
    with pytest.raises(BadInput, match=r"has no such system \(known: weak"):
        compare(whole, "films-weak/nobody", "films-good")


def test_an_artifact_of_other_code_is_named(project):
    rows = make_grammar("films-weak", WEAK)
    rows["data/grammar/films/films-weak/judgements.parquet"] = rows[
        "data/grammar/films/films-weak/answers.parquet"
    ]
    project.record(rows, "weak")
    with pytest.raises(BadInput, match=r"judgements of assessments\.films-weak, workspace: has the columns"):
        compare(project, "films-weak", "films-good")


def compare_three(project, **options):
    project.record(make_grammar("films-best", [True] * 15 + [None]), "best")
    words = ("films-weak", "films-best", "films-good")
    return compare_sides(words, CompareOptions(**{"draws": 500, **options}), project.root)


def test_every_two_of_three_are_compared_with_one_correction_over_all(project):
    found, alone = compare_three(project)
    assert [(scored_system.letters, scored_system.a, scored_system.b) for scored_system in found.strands] == [
        (("A", "B"), "films-weak/weak", "films-best/best"),
        (("A", "C"), "films-weak/weak", "films-good/good"),
        (("B", "C"), "films-best/best", "films-good/good"),
    ]
    assert found.n_tests == 3
    single = compare(project, "films-weak", "films-good").strands[0].metrics[0]
    same = found.strands[1].metrics[0]
    assert (same.difference, same.low, same.p_value) == (single.difference, single.low, single.p_value)
    assert same.adjusted >= single.adjusted
    assert alone == {"A": [], "B": [], "C": []}


def test_items_that_three_systems_scored_are_analysed(project):
    (analysis,) = compare_three(project)[0].items
    assert [mean.system for mean in analysis.systems] == [
        "films-weak/weak",
        "films-best/best",
        "films-good/good",
    ]
    assert (analysis.metric, analysis.n_items, analysis.left_out) == (
        "accuracy",
        14,
        2,
    )  # one answer of WEAK, one of best
    table = {item.case: item.scores for item in analysis.items}
    kept = [place for place in range(15) if WEAK[place] is not None]
    assert table == {f"q{place:02}": [float(WEAK[place]), 1.0, float(GOOD[place])] for place in kept}
    for item in analysis.items:
        rest = [
            statistics.mean(scores[n] for case, scores in table.items() if case != item.case)
            for n in range(3)
        ]
        if len(set(item.scores)) == 1:
            assert item.discrimination is None
        else:
            assert item.discrimination == pytest.approx(statistics.correlation(item.scores, rest))
        assert item.mean == pytest.approx(statistics.mean(item.scores))
    told = [item.discrimination for item in analysis.items if item.discrimination is not None]
    assert told == sorted(told)
    assert analysis.against == sum(value < 0 for value in told)
    assert analysis.mean_discrimination == pytest.approx(statistics.mean(told))
    assert (analysis.alike, analysis.best, analysis.worst) == (14 - len(told), 14 - len(told), 0)


def test_three_nights_of_one_system_are_told_apart_by_their_letters(project):
    for label, right in (("monday", WEAK), ("tuesday", GOOD), ("wednesday", GOOD[::-1])):
        project.write_night(label, make_grammar("films-weak", right, label), "weak")
    words = [f"night:{label}" for label in ("monday", "tuesday", "wednesday")]
    found, _ = compare_sides(words, CompareOptions(("films-weak",), draws=500), project.root)
    (analysis,) = found.items
    assert [mean.system for mean in analysis.systems] == [f"{letter}: films-weak/weak" for letter in "ABC"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("films-weak", "films-good", "films-weak"),
            "films-weak: is given twice, as A and C, so there is nothing to compare",
        ),
        (("films-weak",) * 2, "films-weak: is given twice, as A and B, so there is nothing to compare"),
        ([f"s{n}" for n in range(27)], "benchloom compare: compares at most 26 arguments, got 27"),
    ],
)
def test_sides_that_cannot_be_compared_are_named(project, words, said):
    with pytest.raises(BadInput, match=re.escape(said)):
        compare_sides(words, CompareOptions(), project.root)


def run(capsys, monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["benchloom", "compare", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_three_are_printed_with_what_their_items_tell(project, capsys, monkeypatch):
    compare_three(project)
    words = ("films-weak", "films-best", "films-good")
    code, out, err = run(capsys, monkeypatch, *words, "--draws", "500", "--items", "2")
    assert (code, err) == (0, "")
    for part in (
        "C: films-good",
        "assessments: accuracy over 14 items with a score for every system",
        "5 items distinguish the systems",
        "2 items lack a score for at least one system",
        "C - B",
        "3 tests, corrected with Holm's method",
    ):
        assert part in out
    assert out.count("What of q") == 2
    document = json.loads(run(capsys, monkeypatch, *words, "--draws", "500", "--json")[1])
    assert document["sides"] == list(words)
    assert (document["a"], document["b"], document["alone_c"]) == (*words[:2], [])
    assert len(document["items"][0]["items"]) == 14


def test_the_command_prints_a_table_or_one_document_or_writes_a_page(project, capsys, monkeypatch):
    code, out, err = run(capsys, monkeypatch, "films-weak", "films-good", "--draws", "500")
    assert (code, err) == (0, "")
    for part in (
        "A: films-weak",
        "accuracy",
        "+0.067",
        "16 items on both sides: 4 with a different score",
        "q07",
        "warning: ",
    ):
        assert part in out
    code, out, _ = run(capsys, monkeypatch, "films-weak", "films-good", "--draws", "500", "--json")
    data = json.loads(out)
    assert (code, data["n_tests"], len(data["strands"][0]["changed"])) == (0, 1, 4)
    assert data["strands"][0]["changed"][0]["a"]["answer"].startswith("films-weak said")
    code, out, _ = run(capsys, monkeypatch, "films-weak", "films-good", "--html", "--draws", "500")
    page = project.root / ".benchloom/compare/films-weak--films-good.html"
    assert (code, out.strip()) == (0, str(page))
    assert "films-weak/weak → films-good/good" in page.read_text()


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (
            ("films-weak", "films-weak"),
            2,
            "benchloom: films-weak: is given twice, as A and B, so there is nothing to compare",
        ),
        (("films-weak", "--upload-pack=x"), 2, "benchloom: No such option"),
        (
            ("films-weak", "rev:--all"),
            2,
            "benchloom: rev:--all: is not an entry, a system, a run or a revision",
        ),
        (
            ("films-weak", "night:../../data"),
            2,
            "benchloom: night:../../data: is not an entry, a system, a run or a revision",
        ),
        (("films-weak", "entry:films-good", "--only", "nobody"), 1, "have no items in common"),
    ],
)
def test_what_is_wrong_is_one_line(project, capsys, monkeypatch, words, code, line):
    ended, out, err = run(capsys, monkeypatch, *words)
    assert (ended, out, len(err.splitlines())) == (code, "", 1), err
    assert line in err


def test_it_is_a_command_with_an_example():
    assert "Example: benchloom compare" in next(
        command.callback.__doc__
        for command in app.registered_commands
        if command.callback.__name__ == "compare"
    )
