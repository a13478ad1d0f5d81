"""ragcheck: evaluate the correctness of a RAG system's answers, including in conversations."""

from __future__ import annotations

from flows.stage import Flow, Scope

FOLDER = "data/ragcheck/${key}"
SETS = Scope(over="ragcheck.sets", folder=FOLDER, samples="questions")
CORRECTNESS = Scope(
    over="ragcheck.correctness",
    folder=FOLDER,
    looks_in=(SETS,),
    evaluates="ragcheck.scores",
    canaries="ragcheck.canaries",
    asks="questions",
)
CONTINUITY = Scope(
    over="ragcheck.continuity",
    folder=FOLDER,
    looks_in=(SETS,),
    evaluates="ragcheck.conversations",
    canaries="ragcheck.conversation_canaries",
    asks="questions",
)
CANARIES = "tasks/judging/canaries.yaml"
JUDGING = ("ragcheck.judging",)

RAGCHECK = Flow(
    "ragcheck",
    "RAG correctness and continuous response",
    (
        SETS.stage("ragcheck.questions", reads=("${item.path}",)),
        SETS.stage("ragcheck.corpus", reads=("${item.path}",), may_be_empty=True),
        # Part I: judge answers with two kinds of contexts (section 2)
        CORRECTNESS.stage("ragcheck.answers", roles=("*",)),
        CORRECTNESS.stage("ragcheck.contexts", roles=("*",), may_be_empty=True),
        CORRECTNESS.stage("ragcheck.scores", prompts=("grade",), roles=("*",), settings=JUDGING),
        CORRECTNESS.stage(
            "ragcheck.canaries", prompts=("grade",), roles=("*",), reads=(CANARIES,), settings=JUDGING
        ),
        CORRECTNESS.stage(
            "ragcheck.baselines",
            roles=("*",),
            asks_once=True,
            may_be_empty=True,
            extra="retrieval",
            off={"entry.embedder": (None,)},
        ),
        CORRECTNESS.stage("ragcheck.ratings", reads=("${item.ratings}",), may_be_empty=True),
        CORRECTNESS.stage("ragcheck.correlations", may_be_empty=True),
        CORRECTNESS.stage("ragcheck.rule_comparison", may_be_empty=True),
        CORRECTNESS.stage(
            "ragcheck.correctness_page",
            settings=("judging.thresholds",),
            out="data/reports/ragcheck/${key}-correctness",
        ),
        # Part II: hold conversations that try to reach the reference answer (section 3)
        CONTINUITY.stage(
            "ragcheck.conversations",
            prompts=("grade", "compose", "finish", "ask_further"),
            roles=("*",),
            settings=JUDGING,
        ),
        CONTINUITY.stage(
            "ragcheck.conversation_canaries",
            prompts=("grade",),
            roles=("*",),
            reads=(CANARIES,),
            settings=JUDGING,
        ),
        CONTINUITY.stage("ragcheck.guards", may_be_empty=True, extra="retrieval"),
        CONTINUITY.stage("ragcheck.comparison"),
        CONTINUITY.stage(
            "ragcheck.continuity_page",
            settings=("ragcheck.conversations", "judging.thresholds"),
            out="data/reports/ragcheck/${key}-continuity",
        ),
    ),
    sections={"ragcheck.judging": "tasks.ragcheck.grading:JudgingOptions"},
)
