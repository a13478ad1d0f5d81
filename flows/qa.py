"""qa: evaluate a system on the user's own table of questions and answers (no database or documents)."""

from __future__ import annotations

from flows.stage import Flow, Scope

SET = Scope(over="qa.sets", folder="data/qa/${key}", samples="items", when="qa")
EVALUATION = Scope(
    over="qa.systems",
    folder="data/qa/${item.set}/systems/${key}",
    looks_in=(SET.at("${item.set}"),),
    evaluates="qa.scores",
    canaries="qa.canaries",
    asks="items",
    when="qa",
)
JUDGING = ("judge_answer",)
CANARIES = "tasks/judging/canaries.yaml"

QA = Flow(
    "qa",
    "Questions of your own",
    (
        SET.stage("qa.items", reads=("${item.file}",)),
        EVALUATION.stage("qa.answers", roles=("*",), drops=False),
        EVALUATION.stage(
            "qa.verdicts",
            prompts=JUDGING,
            roles=("*",),
            drops=False,
            may_be_empty=True,
            off={"entry.judged": (False,)},
        ),
        EVALUATION.stage(
            "qa.canaries",
            prompts=JUDGING,
            roles=("*",),
            reads=(CANARIES,),
            drops=False,
            may_be_empty=True,
            off={"entry.judged": (False,)},
        ),
        EVALUATION.stage("qa.scores", drops=False),
        EVALUATION.stage("qa.evaluation_page", out="data/reports/qa/${key}"),
    ),
)
