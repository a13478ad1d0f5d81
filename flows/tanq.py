"""tanq: list questions, each extended with relations of the listed entities; the answers are tables."""

from __future__ import annotations

from flows.stage import Flow, Scope, Usual

PACKAGES = "data/raw/packages"
SAMPLE = Scope(folder="data/raw", when="sources")
SOURCE = Scope(over="tanq.sources", folder="data/tanq/sources/${key}")
SET = Scope(
    over="tanq.sets", folder="data/tanq/${key}", looks_in=(SOURCE.at("${item.source}"),), samples="items"
)
EVALUATION = Scope(
    over="tanq.evaluations",
    folder="data/tanq/${item.set}/${key}",
    looks_in=(SET.at("${item.set}"),),
    evaluates="tanq.scores",
    asks="items",
)
OWN = Scope(
    over="tanq.systems",
    folder="data/tanq/${item.set}/systems/${key}",
    looks_in=(SET.at("${item.set}"),),
    evaluates="tanq.system_scores",
    asks="items",
)

TANQ = Flow(
    "tanq",
    "Questions whose answers are tables",
    (
        SAMPLE.stage(
            "sources.countries",
            reads=(
                f"{PACKAGES}/countryinfo.jsonl",
                f"{PACKAGES}/geonames_countries.json",
                f"{PACKAGES}/geonames_cities.json",
                f"{PACKAGES}/vital_articles.json",
                "data/raw/films/films.sqlite",
            ),
            out="wikidata/countries",
        ),
        SAMPLE.stage(
            "sources.things",
            reads=(
                "data/raw/wikidata/countries",
                f"{PACKAGES}/elements.csv",
                f"{PACKAGES}/vital_articles.json",
            ),
            out="wikidata/things",
        ),
        SAMPLE.stage(
            "sources.vital_articles",
            reads=(f"{PACKAGES}/vital_articles.json",),
            out="wikipedia/vital",
        ),
        # Build the graph, find its facts in articles, and list the questions that the graph can answer
        SOURCE.stage("tanq.facts", reads=("${item.graph}",)),
        SOURCE.stage("tanq.unread", reads=("${item.graph}",), drops=False, may_be_empty=True),
        SOURCE.stage("tanq.relations", reads=("${item.graph}",)),
        SOURCE.stage("tanq.things", reads=("${item.graph}",)),
        SOURCE.stage("tanq.articles", reads=("${item.articles}",), out="articles"),
        SOURCE.stage("tanq.list_questions", reads=("${item.seeds}",)),
        # Steps 1 to 3: extend questions, find evidence, verify the evidence (sections 3.1 to 3.3)
        SET.stage("tanq.seeds"),
        SET.stage("tanq.extend"),
        SET.stage("tanq.proofs"),
        SET.stage("tanq.candidates", settings=("tanq.tables", "tanq.verify")),
        SET.stage("tanq.verify", prompts=("verify",), roles=("reader",)),
        SET.stage(
            "tanq.verify_canaries",
            prompts=("verify",),
            roles=("reader",),
            settings=("tanq.verify",),
            reads=("tasks/tanq/build/verify_canaries.yaml",),
            drops=False,
        ),
        SET.stage("tanq.tables"),
        # Steps 4 and 5: rephrase questions, augment them with skills
        SET.stage("tanq.rephrase", prompts=("rephrase",), roles=("generator",)),
        SET.stage("tanq.skills"),
        SET.stage("tanq.items"),
        SET.stage("tanq.contracts", beside=True, out="contracts"),
        SET.stage("tanq.statistics", out="statistics.json"),
        SET.stage("tanq.set_page", beside=True, out="data/reports/tanq-sets/${key}"),
        # Run baselines (section 4) and a user's own system
        EVALUATION.stage(
            "tanq.predictions",
            prompts=("predict_table", "open_main", "open_sub", "open_table"),
            roles=("*",),
            reads=("data/raw/wikipedia",),
            settings=("tanq.sources", "tanq.sets.${item.set}"),
            drops=False,
        ),
        OWN.stage("tanq.system_predictions", artifact="predictions", roles=("*",), drops=False),
        OWN.stage("tanq.system_scores", artifact="scores", drops=False),
        # Compute scores, failures and figures (section 5), with hand-written tables and labels (data/labels)
        EVALUATION.stage("tanq.scores", drops=False),
        EVALUATION.stage("tanq.human_tables", reads=("data/labels",), may_be_empty=True),
        EVALUATION.stage("tanq.human_scores", drops=False, may_be_empty=True),
        EVALUATION.stage("tanq.hallucination_labels", reads=("data/labels",), may_be_empty=True),
        EVALUATION.stage(
            "tanq.evaluation_figures", settings=("judging.thresholds",), out="evaluation_figures.json"
        ),
        EVALUATION.stage("tanq.evaluation_page", out="data/reports/tanq/${key}"),
    ),
    released="tasks.tanq.publish.released:write_released",
    usual={
        "tanq.verify": Usual((208, 208), 327, 2),
        "tanq.verify_canaries": Usual((43, 43), 320, 2),
        "tanq.rephrase": Usual((134, 134), 197, 29),
        "tanq.predictions": Usual((180, 180), 297, 57),
    },
)
