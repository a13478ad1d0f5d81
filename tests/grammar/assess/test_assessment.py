import json

import pytest

from tasks.artifacts.parquet import write_rows
from tasks.grammar.assess.ablation import DocumentAblation
from tasks.grammar.assess.assessment import AssessmentParams, assessment
from tasks.grammar.assess.judged import ATTRIBUTIONS, MODES, RULES
from tasks.grammar.construct.fill_in import Group
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tests.grammar.assess_world import Model, assess, describe_system, make_world

PARAMS = AssessmentParams(criteria=("short", "long"), draws=5000)
THRESHOLDS = {"judging.thresholds.canary_agreement": 0.9, "judging.thresholds.unscored_share": 0.05}


def write_figures(folder, parts, *, closed=None, llm_only=None, params=PARAMS):
    """Run the stage on rows; the dataset's artifacts are empty."""
    paths = {}
    for stem, row in (
        ("sql_templates", SqlTemplate),
        ("second_reading", TextTemplate),
        ("fill_in", Group),
        ("balanced", Question),
        ("unbalanced", Question),
    ):
        paths[stem] = folder / f"{stem}.parquet"
        write_rows(paths[stem], row, [])
    entry = parts["entry"].model_copy(update={"llm_only": llm_only} if llm_only else {})
    given = {**parts, "entry": entry, **({"closed_domain": closed} if closed else {})}
    counts = assessment(
        **given,
        **paths,
        key=f"v-{entry.system}",
        settings={**THRESHOLDS, **describe_system(entry.system)},
        params=params,
        out=folder / "figures.json",
    )
    return json.loads((folder / "figures.json").read_text()), counts


@pytest.fixture(scope="module")
def world():
    return make_world()


def test_the_weak_retriever_is_named_with_short_against_long_and_the_good_one_is_not(tmp_path, world):
    weak, _ = write_figures(tmp_path, assess(world, "weak"))
    good, _ = write_figures(tmp_path, assess(world, "good"))
    assert weak["fault"]["module"] == "retrieval"
    assert good["fault"]["module"] == "none shown"
    for mode in MODES:
        for rule in ATTRIBUTIONS:
            assert weak["hypothesis"]["balanced"][mode]["fault"][rule]["module"] == "retrieval"
            assert good["hypothesis"]["balanced"][mode]["fault"][rule]["module"] == "none shown"
    # All long questions retrieve the chronicle; all short questions retrieve their village.
    assert weak["rates"]["balanced"]["open"]["long"]["accuracy"] == 0
    assert weak["rates"]["balanced"]["open"]["short"]["accuracy"] == 1
    assert weak["attribution"]["balanced"]["open"]["siblings"]["all"] == {
        "wrong": 20, "database": 0, "retrieval": 20, "model": 0, "judge": 0, "not told": 0,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_withheld_documents_are_found_again_as_gaps(tmp_path, world, seed):
    parts = assess(world, "good", withheld=DocumentAblation(share=0.3, seed=seed), sample=1)
    figures, _ = write_figures(tmp_path, parts)
    planted = figures["planted"]
    assert planted["documents"] == len(planted["planted"]) == 6  # 0.3 of 20 groups, with one document each
    for rule in ("gap", "gap_without_document"):
        for mode in MODES:
            assert planted["rules"][rule][mode]["recall"] >= 0.9
            assert planted["rules"][rule][mode]["precision"] >= 0.9


def test_a_model_that_fails_with_its_document_is_no_planted_gap(tmp_path, world):
    # The model never knows village 3, withheld or not: a gap by the paper's rule, despite its document.
    lost = world.questions[9]
    deaf = Model(lambda prompt, role, sample, fields: "I do not know" if prompt == "answer" and world.documents[3].title in fields["question"] else None)  # fmt: skip  # noqa: E501
    assert lost.true_document_ids == ("d03",)
    seed = next(s for s in range(20) if "d03" not in plan(world, s))
    parts = assess(world, "good", withheld=DocumentAblation(share=0.3, seed=seed), model=deaf, sample=1)
    rules = write_figures(tmp_path, parts)[0]["planted"]["rules"]
    assert rules["gap"]["open"]["precision"] == pytest.approx(6 / 7)
    assert rules["gap_without_document"]["open"]["precision"] == 1
    assert rules["gap"]["open"]["recall"] == rules["gap_without_document"]["open"]["recall"] == 1


def plan(world, seed):
    from tasks.grammar.assess.ablation import plan_ablation

    true = {question.group: question.true_document_ids for question in world.questions}
    return plan_ablation(true, DocumentAblation(share=0.3, seed=seed)).documents


def test_accuracy_is_r_times_one_less_lambda_in_every_figure(tmp_path, world):
    for name in ("weak", "good", "alone"):
        figures, _ = write_figures(tmp_path, assess(world, name, sample=1))
        for rates in figures["rates"].values():
            for mode in MODES:
                for rate in rates[mode].values():
                    assert rate["accuracy"] == pytest.approx((rate["robustness"] or 0) * (1 - rate["lambda"]))
                    assert rate["identity"] < 1e-9


def test_every_cell_says_its_rule_and_mode_or_why_it_is_empty(tmp_path, world):
    alone = assess(world, "alone", sample=1)
    figures, _ = write_figures(
        tmp_path, assess(world, "weak"), closed=alone["closed_domain"], llm_only="v-alone"
    )
    assert set(figures["tables"]) == {"1", "2", "3", "4"}
    for table in figures["tables"].values():
        assert table["lines"]
        for line in table["lines"]:
            assert len(line["label"]) == len(table["heads"])
            assert len(line["cells"]) == len(table["columns"])
            for cell in line["cells"]:
                assert cell["kind"]
                assert cell["value"] is not None or cell["why"]
                if cell["why"] and cell["value"] is not None:
                    assert cell["interval"] is None
                    assert cell["why"].endswith("no interval")
    three = {
        tuple(line["label"]): [cell["value"] for cell in line["cells"]]
        for line in figures["tables"]["3"]["lines"]
    }
    assert len(three) == 3 * (1 + len(RULES)) * len(MODES)
    # Unbalanced: 40 short questions, all correct; 10 long, all wrong. All rows of long are in its own gaps.
    assert three["no action", "judgement", "open"] == [1, 0]
    assert three["remove gap groups", "judgement", "open"] == [1, None]
    assert three["balance gap groups", "judgement", "open"] == [1, 0]
    assert figures["gaps"]["balanced"]["open"] == {
        "short": {"gap": 0, "non-robust": 0, "robust": 20},
        "long": {"gap": 20, "non-robust": 0, "robust": 0},
        "mutual": {"gap": 0, "non-robust": 20, "robust": 0},
    }


def test_groups_that_a_model_alone_answers_are_left_out_of_the_closed_domain(tmp_path, world):
    # The model alone knows the first five villages, which are excluded from the second half of table 4.
    known = [f"{document.title}" for document in world.documents[:5]]
    reply = lambda prompt, role, sample, fields: next((question.answer for question in world.questions if question.question == fields["question"]), None) if prompt == "answer_alone" and any(k in fields["question"] for k in known) else None  # fmt: skip  # noqa: E501, E731
    alone = assess(world, "alone", model=Model(reply), sample=1)
    assert sum(not row.closed_domain for row in alone["closed_domain"]) == 5
    figures, _ = write_figures(
        tmp_path, assess(world, "good", sample=1), closed=alone["closed_domain"], llm_only="v-alone"
    )
    lines = {tuple(line["label"]): line["cells"] for line in figures["tables"]["4"]["lines"]}
    # 20 groups of two texts each, without gaps: Acc_retrieval_db is over groups, other rates are over rows.
    assert [cell["n"] for cell in lines["with open-domain queries", "open"]] == [20, 40, 40]
    assert [cell["n"] for cell in lines["without open-domain queries", "open"]] == [15, 30, 30]
    own, _ = write_figures(tmp_path, alone)
    cells = {tuple(line["label"]): line["cells"] for line in own["tables"]["4"]["lines"]}
    assert "`llm_only` names this run" in cells["without open-domain queries", "open"][0]["why"]


def test_two_wordings_of_the_model_alone_stand_side_by_side(tmp_path, world):
    # With the paper's prompt, the model guesses three villages correctly; with our prompt, it does not know.
    guess = lambda prompt, role, sample, fields: next((question.answer for question in world.questions[:9] if question.question == fields["question"]), "12") if prompt == "answer_concise" else None  # fmt: skip  # noqa: E501, E731
    ours = assess(world, "alone", sample=1)
    concise = assess(world, "concise", model=Model(guess), sample=1)
    figures, _ = write_figures(tmp_path, concise, closed=ours["closed_domain"], llm_only="v-alone")
    table = figures["tables"]["4"]
    lines = {line["label"][0]: [cell["value"] for cell in line["cells"]] for line in table["lines"]}
    own = lines["the model alone, with the paper's prompt, which asks for a concise answer (v-concise)"]
    assert own == [3 / 20, pytest.approx(9 / 60), 1]
    assert lines["the model alone, with our prompt (v-alone)"] == [0, 0, None]
    # Three groups differ, all in one direction: McNemar's exact p is 2 / 2^3.
    assert "Only v-concise answers 3 of them, and only v-alone answers 0" in table["notes"][-1]
    assert "p = 0.25" in table["notes"][-1]
    good, _ = write_figures(tmp_path, assess(world, "good"), closed=ours["closed_domain"], llm_only="v-alone")
    labels = [line["label"][0] for line in good["tables"]["4"]["lines"]]
    assert [label for label in labels if "alone," in label] == ["the model alone, with our prompt (v-alone)"]


def test_unscored_rows_tag_nothing_and_are_counted(tmp_path, world):
    mute = Model(lambda prompt, role, sample, fields: "well" if prompt == "judge" and "00" in str(fields["query"]) else None)  # fmt: skip  # noqa: E501
    parts = assess(world, "good", model=mute, sample=1)
    figures, counts = write_figures(tmp_path, parts)
    unscored = [judgement for judgement in parts["judgements"] if judgement.judgement is None]
    assert len(unscored) == 3  # village 00 and its three questions
    assert all(judgement.problem for judgement in unscored)
    assert figures["counts"]["unscored"] == counts.dropped["unscored"] == 3
    assert figures["rates"]["balanced"]["open"]["all"]["n_scored"] == 38
    assert any("unscored" in warning for warning in figures["judge"]["warnings"]) == (3 / 60 > 0.05)


def test_failed_answers_are_rows_that_nobody_judges(tmp_path, world):
    broken = Model(lambda prompt, role, sample, fields: "" if prompt == "answer" and fields["question"].endswith("elevation") else None)  # fmt: skip  # noqa: E501
    parts = assess(world, "good", model=broken, sample=1)
    failed = [answer for answer in parts["answers"] if answer.response is None]
    assert len(failed) == 20
    assert all(answer.problem for answer in failed)
    assert broken.count("judge") == 40 + len(parts["canaries"])
    figures, _ = write_figures(tmp_path, parts)
    assert figures["counts"]["failed_answers"] == 20
    assert figures["counts"]["unscored"] == 20
    assert figures["judge"]["warnings"]  # 20 of 60 exceed the limit


def test_the_same_rows_give_the_same_bytes(tmp_path, world):
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_figures(tmp_path / name, assess(world, "weak"))
        texts.append((tmp_path / name / "figures.json").read_bytes())
    assert texts[0] == texts[1]
