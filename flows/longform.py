"""longform: create questions that need several queries, create a database for each, and evaluate agents."""

from __future__ import annotations

from flows.stage import Flow, Scope, Usual

SOURCES = "data/longform/sources"
SOURCE = Scope(over="longform.databases", folder=f"{SOURCES}/${{key}}")
SET = Scope(over="longform.sets", folder="data/longform/${key}", samples="items")
EVALUATION = Scope(
    over="longform.evaluations",
    folder="data/longform/${item.set}/${key}",
    looks_in=(SET.at("${item.set}"),),
    evaluates="longform.reference_verdicts",
    canaries="longform.peer_canaries",
    gold="longform.gold",
    asks="items",
)
OWN = Scope(
    over="longform.systems",
    folder="data/longform/${item.set}/systems/${key}",
    looks_in=(SET.at("${item.set}"),),
    evaluates="longform.system_verdicts",
    canaries="longform.system_canaries",
    gold="longform.gold",
    asks="items",
)

LONGFORM = Flow(
    "longform",
    "Long-form questions over databases",
    (
        SOURCE.stage("longform.columns", reads=("${item.file}",)),
        SOURCE.stage("longform.source_columns", reads=("${item.file}",), drops=False),
        SOURCE.stage("longform.foci", reads=("${item.file}",), drops=False, may_be_empty=True),
        SOURCE.stage("longform.seeds", reads=("${item.questions}",), out="seeds.json", may_be_empty=True),
        SOURCE.stage("longform.source_rows", reads=("${item.file}",), drops=False, may_be_empty=True),
        # Control, condense, confirm (section 2.1)
        SET.stage(
            "longform.control",
            reads=(SOURCES,),
            prompts=("control", "control_question"),
            roles=("generator",),
        ),
        SET.stage("longform.condense", prompts=("condense",), roles=("generator",)),
        SET.stage(
            "longform.confirm",
            reads=(SOURCES, "data/labels"),
            prompts=("confirm",),
            roles=("reader",),
            off={"params.least": (0,)},
        ),
        # Conjecture, construct, conclude (section 2.2)
        SET.stage("longform.conjecture", reads=(SOURCES,), prompts=("conjecture",), roles=("generator",)),
        SET.stage(
            "longform.construct",
            reads=(SOURCES,),
            prompts=("construct", "construct_invented"),
            roles=("generator",),
        ),
        SET.stage(
            "longform.conclude",
            prompts=("conclude",),
            roles=("generator",),
            drops=False,
            off={"params.rounds": (0,)},
        ),
        SET.stage("longform.classify", prompts=("classify",), roles=("reader",)),
        SET.stage("longform.items", drops=False),
        SET.stage("longform.contracts", reads=(SOURCES,), beside=True, out="contracts"),
        SET.stage("longform.statistics", out="statistics.json"),
        SET.stage("longform.set_page", beside=True, out="data/reports/longform-sets/${key}"),
        # Run agents (sections 3 and 4.1) and their judges (section 4.2)
        EVALUATION.stage(
            "longform.interactions",
            prompts=(
                "agent_alone",
                "agent_answer",
                "agent_guess",
                "agent_next_query",
                "agent_plan",
                "agent_queries",
            ),
            roles=("*",),
            drops=False,
        ),
        # Judge a user's own system in nightly runs (`benchloom evaluate` uses the stages below)
        OWN.stage("longform.system_interactions", artifact="interactions", roles=("*",), drops=False),
        OWN.stage(
            "longform.system_verdicts",
            artifact="reference_verdicts",
            prompts=("judge_conclusive", "judge_interpretive"),
            roles=("*",),
            settings=("longform.system_interactions", "longform.reference_verdicts"),
            drops=False,
        ),
        OWN.stage(
            "longform.system_canaries",
            artifact="peer_canaries",
            prompts=("judge_conclusive", "judge_interpretive"),
            roles=("*",),
            reads=("tasks/longform/judge/peer_canaries.yaml",),
            settings=("longform.system_interactions", "longform.reference_verdicts"),
            drops=False,
        ),
        EVALUATION.stage(
            "longform.reference_verdicts",
            prompts=("judge_conclusive", "judge_interpretive"),
            roles=("*",),
            drops=False,
        ),
        EVALUATION.stage(
            "longform.reviews", prompts=("review_step",), roles=("*",), drops=False, may_be_empty=True
        ),
        EVALUATION.stage(
            "longform.meta_reviews", prompts=("review_meta",), roles=("*",), drops=False, may_be_empty=True
        ),
        EVALUATION.stage(
            "longform.judge_repeats",
            prompts=("judge_conclusive", "judge_interpretive", "review_meta"),
            roles=("*",),
            settings=("longform.reference_verdicts", "longform.meta_reviews"),
            drops=False,
            may_be_empty=True,
            off={"params.items": (0,)},
        ),
        EVALUATION.stage(
            "longform.revisions", prompts=("revise_step",), roles=("*",), drops=False, may_be_empty=True
        ),
        EVALUATION.stage(
            "longform.error_types", prompts=("error_type",), roles=("*",), drops=False, may_be_empty=True
        ),
        EVALUATION.stage("longform.human_labels", reads=("data/labels",), may_be_empty=True),
        EVALUATION.stage(
            "longform.peer_canaries",
            prompts=("judge_conclusive", "judge_interpretive", "review_step"),
            roles=("*",),
            reads=("tasks/longform/judge/peer_canaries.yaml",),
            settings=("longform.reference_verdicts", "longform.reviews"),
            drops=False,
        ),
        EVALUATION.stage(
            "longform.evaluation_figures",
            settings=("judging.thresholds", "roles"),
            out="evaluation_figures.json",
        ),
        EVALUATION.stage("longform.evaluation_page", out="data/reports/longform/${key}"),
    ),
    usual={
        "longform.control": Usual((8, 8), 141, 40),
        "longform.condense": Usual((8, 8), 175, 33),
        "longform.confirm": Usual((8, 8), 256, 37),
        "longform.conjecture": Usual((8, 8), 218, 28),
        "longform.construct": Usual((8, 8), 545, 847),
        "longform.conclude": Usual((8, 8), 276, 139),
        "longform.classify": Usual((2, 2), 384, 10),
        "longform.interactions": Usual((69, 69), 653, 69),
        "longform.reference_verdicts": Usual((32, 32), 517, 12),
        "longform.reviews": Usual((66, 66), 949, 52),
        "longform.meta_reviews": Usual((66, 66), 1098, 57),
        "longform.judge_repeats": Usual((30, 30), 891, 43),
        "longform.revisions": Usual((26, 26), 1097, 64),
        "longform.error_types": Usual((19, 19), 986, 13),
        "longform.peer_canaries": Usual((24, 24), 494, 36),
    },
)
