"""ragcheck: how right a RAG's answers are, and how it holds up when it is asked on."""

from __future__ import annotations

from flows.steps import Paper, Step

ASKS = ("model",)

RAGCHECK = Paper(
    "ragcheck",
    "RAG correctness and continuous response",
    (
        Step("ragcheck.questions"),
        Step("ragcheck.corpus"),
        # Part I: answers, judged by two contexts (section 2)
        Step("ragcheck.answers", retries=1, tags=ASKS),
        Step("ragcheck.contexts", retries=1, tags=ASKS),
        Step("ragcheck.scores", retries=1, tags=ASKS),
        Step("ragcheck.canaries", retries=1, tags=ASKS),
        Step("ragcheck.baselines", retries=1, tags=ASKS),
        Step("ragcheck.ratings"),
        Step("ragcheck.correlations"),
        Step("ragcheck.correctness_page"),
        # Part II: conversations that seek the reference answer (section 3)
        Step("ragcheck.conversations", retries=1, tags=ASKS),
        Step("ragcheck.conversation_canaries", retries=1, tags=ASKS),
        Step("ragcheck.guards"),
        Step("ragcheck.comparison"),
        Step("ragcheck.continuity_page"),
    ),
)
