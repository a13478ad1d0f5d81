"""Stage: write the report page on conversations (Part II): figures 4 and 9, leak rates, and a viewer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import TrustThresholds
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.agents import ConversationOptions
from tasks.ragcheck.comparison import ConversationFigure
from tasks.ragcheck.conversations import Conversation, End
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.guards import Guard
from tasks.ragcheck.page_parts import (
    STYLES,
    count_rows,
    list_warnings,
    make_drops_part,
    make_judges_part,
    report_judge,
)
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.tables import show_tables
from tasks.ragcheck.tables_continuity import (
    draw_datasets,
    group_continuity,
    list_conversation_systems,
    tabulate_continuity,
    tabulate_ends,
    tabulate_means,
    tabulate_pairs,
    tabulate_rates,
)
from tasks.ragcheck.view import view_conversations
from tasks.reports.calls import derive_shown_calls, read_calls
from tasks.reports.page import ASSESSMENTS, Headline, Page
from tasks.reports.parts import Browse, Charts, PagePart, TextBlock
from tasks.reports.report_page import write_page
from tasks.settings import read_section

CONVERSATIONS = Selection("conversations")
ENDED = Selection("conversations", {"ended": tuple(end.value for end in End if end is not End.FAILED)})
SUBTITLE = (
    "This page shows how close to the reference answer a system leads a user, and after how many turns. "
    "wscore (0 to 5) is a mean grade in which early turns have more weight. lscore is the number of turns "
    "needed (lower is better). mscore is the best grade of a conversation."
)
MEANS = (
    "Means are taken over the conversations that have scores. The number of failed conversations is beside "
    'each mean. A grade of 0 ("not sure") counts as 0 here.'
)
PAIRS = (
    "Each difference is a mean over the questions on which both systems have scores, with a 95% "
    "interval from a paired bootstrap. The p value is adjusted by Holm. “Failed” is the number of questions "
    "on which at least one of the two conversations failed."
)
GUARDS = (
    "A content word of the reference is unknown to an agent until the target question or the system "
    "states it. An unknown word in a composed answer is a leak. An unknown word in a question is not a "
    "leak, and the question counts as probing. The question is flagged if the review also does not contain "
    "the word. The 95% intervals are "
    "bootstrapped over whole conversations, not turns. A rate of 0 or 1 has a Wilson interval over the "
    "conversations."
)


def continuity_page(
    questions: list[ReferenceQuestion],
    conversations: list[Conversation],
    guards: list[Guard],
    comparison: list[ConversationFigure],
    conversation_canaries: list[CanaryRow],
    conversations_dropped: Path,
    conversations_calls: Path,
    conversation_canaries_calls: Path,
    entry: Continuity,
    key: str,
    settings: Mapping[str, object],
    out: Path,
    metrics: Path,
    bars: Path,
) -> Counts:
    """Write the page into the folder `out`; return counts of conversations."""
    turns = read_section(settings, "ragcheck.conversations", ConversationOptions).turns
    calls = read_calls([conversations_calls, conversation_canaries_calls])
    grades = [
        grade
        for conversation in conversations
        for turn in conversation.turns
        for grade in (turn.grade, turn.final_grade)
        if grade
    ]
    judge = report_judge(
        entry.judge,
        [grade.score for grade in grades],
        conversation_canaries,
        (),
        read_section(settings, "judging.thresholds", TrustThresholds),
    )
    failed = sum(conversation.ended == End.FAILED for conversation in conversations)
    headlines = [
        count_rows("conversations", len(conversations), CONVERSATIONS, f"at most {turns} turns each"),
        count_rows("scored", len(conversations) - failed, ENDED, f"{failed} failed"),
        Headline(
            "turns",
            sum(len(conversation.turns) for conversation in conversations),
            derivation=Derivation("sum", (CONVERSATIONS,), "count(turns)"),
        ),
        Headline(
            "systems",
            len({conversation.system for conversation in conversations}),
            derivation=Derivation("distinct", (CONVERSATIONS,), "system"),
        ),
        Headline(
            "model calls",
            len(calls),
            derivation=derive_shown_calls(calls, "conversations", "conversation_canaries"),
        ),
    ]
    systems, tables = entry.systems, tabulate_continuity(comparison)
    show = partial(show_tables, recorded=tables, folded=False)
    tops = {"wscore": TOP_SCORE, "lscore": turns, "mscore": TOP_SCORE}
    means = tabulate_means(comparison, systems, tops)
    pairs = tabulate_pairs(comparison, systems, turns) if len(systems) > 1 else {}
    plots = draw_datasets(comparison, systems, tops)
    rates, ends = tabulate_rates(comparison, systems), tabulate_ends(conversations, systems)
    artifact = conversations_calls.with_name("conversations.parquet")
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "ragcheck",
            f"{key}-continuity",
            f"Continuous response: {key}",
            SUBTITLE,
            headlines,
            list_warnings([judge]),
            systems=list_conversation_systems(comparison),
        ),
        [
            PagePart("means", "Means of each system", "Means", [TextBlock(MEANS), show({"means": means})]),
            PagePart(
                "pairs",
                "Systems in pairs",
                "In pairs",
                [TextBlock(PAIRS), show(pairs, folded=True, closed=["pairs-by-dataset"])] if pairs else [],
            ),
            PagePart("datasets", "Means by dataset", "Datasets", [Charts(plots)] if plots else []),
            PagePart(
                "guards",
                "Words that the agents should not know",
                "Guards",
                [TextBlock(GUARDS), show({"rates": rates})],
            ),
            PagePart("ends", "How conversations ended", "Ends", [show({"ends": ends})]),
            make_judges_part([judge]),
            make_drops_part([conversations_dropped]),
            Browse("Conversations", view_conversations(questions, conversations, guards, artifact)),
        ],
        calls=calls,
        tables=tables,
        metrics=metrics,
        bars=bars,
        groups=group_continuity(tables),
        assets=[STYLES],
    )
    return Counts(len(conversations), len(conversations), {})
