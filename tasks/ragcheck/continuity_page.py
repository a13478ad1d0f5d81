"""Stage: the report page of Part II: figures 4 and 9, leak rates, and a browser of all conversations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.judging.canaries import CanaryRow
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.agents import ConversationOptions
from tasks.ragcheck.comparison import ConversationFigure
from tasks.ragcheck.continuity_content import make_content
from tasks.ragcheck.conversation_browser import ConversationBrowser, show_conversations
from tasks.ragcheck.conversations import Conversation, End
from tasks.ragcheck.entries import Continuity
from tasks.ragcheck.guards import Guard
from tasks.ragcheck.judge_report import find_thresholds, report_judge
from tasks.ragcheck.page_parts import count_drops, make_page, write_ragcheck_page
from tasks.ragcheck.page_record import group_continuity, list_conversation_systems, tabulate_continuity
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.reports.calls import derive_shown_calls, read_calls
from tasks.reports.folder import BrowsedRows
from tasks.reports.page import Headline
from tasks.settings import read_section

CONVERSATIONS = Selection("conversations")
ENDED = Selection("conversations", {"ended": tuple(end.value for end in End if end is not End.FAILED)})
SUBTITLE = (
    "How far, and how soon, a system leads somebody who asks on to the reference answer. wscore weighs early "
    "turns more (0 to 5), lscore counts turns (lower is better), mscore is the best score of a conversation."
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
    """Write the page into the folder `out`; the counts are of conversations."""
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
        find_thresholds(settings),
    )
    failed = sum(conversation.ended == End.FAILED for conversation in conversations)
    headlines = [
        Headline(
            "conversations",
            len(conversations),
            f"at most {turns} turns each",
            Derivation("count", (CONVERSATIONS,)),
        ),
        Headline("scored", len(conversations) - failed, f"{failed} failed", Derivation("count", (ENDED,))),
        Headline(
            "turns",
            sum(len(conversation.turns) for conversation in conversations),
            "",
            Derivation("sum", (CONVERSATIONS,), "count(turns)"),
        ),
        Headline(
            "systems",
            len({conversation.system for conversation in conversations}),
            "",
            Derivation("distinct", (CONVERSATIONS,), "system"),
        ),
        Headline(
            "model calls",
            len(calls),
            "",
            derive_shown_calls(calls, "conversations", "conversation_canaries"),
        ),
    ]
    drops = count_drops([conversations_dropped])
    tables = tabulate_continuity(comparison)
    rows = show_conversations(questions, conversations, guards)
    systems = list_conversation_systems(comparison)
    write_ragcheck_page(
        out,
        make_page(
            f"{key}-continuity",
            f"Continuous response: {key}",
            SUBTITLE,
            headlines,
            [judge],
            systems,
        ),
        "continuity.html",
        make_content(entry.systems, turns, comparison, conversations, judge, drops),
        BrowsedRows(
            "rows",
            ConversationBrowser("conversations", list(entry.systems), list(End), rows),
            conversations_calls.with_name("conversations.parquet"),
        ),
        calls,
        tables,
        metrics,
        bars,
        group_continuity(tables),
    )
    return Counts(len(conversations), len(conversations), {})
