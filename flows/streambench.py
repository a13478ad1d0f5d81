"""streambench: agents that improve over a stream of inputs and one-bit feedback."""

from __future__ import annotations

from flows.stage import Flow, Scope, Usual

RAW = "data/raw/streambench"
STREAMS = "data/streambench"
DATABASE = Scope(over="streambench.databases", folder=RAW)
STREAM = Scope(over="streambench.streams", folder=f"{STREAMS}/${{key}}", samples="items")
EVALUATION = Scope(
    over="streambench.evaluations",
    folder=f"{STREAMS}/${{item.stream}}/${{key}}",
    looks_in=(STREAM.at("${item.stream}"),),
    evaluates="streambench.steps",
    gold="streambench.gold",
)
OWN = Scope(
    over="streambench.systems",
    folder=f"{STREAMS}/${{item.stream}}/systems/${{key}}",
    looks_in=(STREAM.at("${item.stream}"),),
    evaluates="streambench.system_steps",
    gold="streambench.gold",
)
OVERVIEW = Scope(over="streambench.overviews", folder="data/streambench-overviews/${key}")
PLUGS = ("tasks/streambench/environments", "tasks/streambench/methods")
"""Folders in which a user's own environments and methods are found by name."""

SELDOM = ("embedder", "judge")
"""Roles that are called only by methods with a memory and by the ToolBench dataset."""
PROMPTS = ("zero_shot", "with_examples", "critique", "refine", "judge_arguments")

STREAMBENCH = Flow(
    "streambench",
    "Agents that improve over a stream",
    (
        # Datasets: imported datasets are already in RAW; GRAMMAR's questions are converted into a dataset
        DATABASE.stage(
            "streambench.grammar_dataset", reads=("${item.questions}", "${item.file}"), out="${key}"
        ),
        # Streams: dataset files, items, the order of items by seed, few-shot examples (section 3)
        STREAM.stage("streambench.datasets", reads=(RAW,), drops=False),
        STREAM.stage("streambench.items", reads=("datasets",), covered=(RAW,)),
        STREAM.stage("streambench.sequence", reads=("datasets",), covered=(RAW,), drops=False),
        STREAM.stage("streambench.shots", reads=("datasets",), covered=(RAW,), may_be_empty=True),
        STREAM.stage("streambench.contracts", out="contracts"),
        STREAM.stage("streambench.stream_page", out="data/reports/streambench-streams/${key}"),
        # Run methods over a stream (section 4.1), and a user's own system
        EVALUATION.stage(
            "streambench.steps",
            prompts=PROMPTS,
            roles=("*",),
            reads=("datasets", *PLUGS),
            covered=(RAW,),
            may_ask=SELDOM,
            settings=("streambench.streams.${item.stream}",),
            drops=False,
        ),
        OWN.stage(
            "streambench.system_steps",
            artifact="steps",
            prompts=PROMPTS,
            roles=("*",),
            reads=("datasets", *PLUGS),
            covered=(RAW,),
            may_ask=SELDOM,
            settings=("streambench.streams.${item.stream}",),
            drops=False,
        ),
        # Compute scores, curves and tables (sections 4.3 and 5, appendices B to E)
        EVALUATION.stage("streambench.scores", drops=False),
        EVALUATION.stage("streambench.curves", drops=False),
        EVALUATION.stage(
            "streambench.evaluation_figures",
            settings=("streambench.streams.${item.stream}", "judging.thresholds"),
            out="evaluation_figures.json",
        ),
        EVALUATION.stage("streambench.evaluation_page", out="data/reports/streambench/${key}"),
        # Compare evaluations of several streams on one page, one column per dataset (tables 2 to 6)
        OVERVIEW.stage(
            "streambench.overview_page",
            reads=(STREAMS,),
            settings=("streambench.evaluations",),
            out="data/reports/streambench-overviews/${key}",
        ),
    ),
    usual={
        "streambench.steps": Usual((480, 480), 543, 60),
    },
)
