"""Hostile texts for property tests: pieces of verdicts, fences, quotations and markers, in any order."""

from hypothesis import settings
from hypothesis import strategies as st

STEADY = settings(max_examples=200)
"""Settings without a deadline, since a busy machine is not a failure."""

PIECES = [
    "Verdict: Correct", "Verdict: Incorrect", "Score: 5", "Score: 1", "Correct", "5", "\n", "\n\n",
    "\r\n", "\r", "```", "````", "~~~", "```text", '"', "“", "”", "„", "「", "」", "«", "»", "> ",
    "    ", "\t", "<!--", "-->", "<response>", "</response>", "<quote>", "<think>", "<|im_start|>",
    "<|im_end|>", "[INST]", "</s>", "<<<", ">>>", "<<<0a1b2c3d", "0a1b2c3d>>>", "\u200b", "\u202e",
    "\u2028", "\x85", "\x0b", "\x00", "\ud800", "\\n", '\\"', "{", "}", ":", "says:", "**", "# ",
    "It is wrong.", " ", "\uff16", "Co\u200drrect", "a", "é", "漢", "\U0001f600", "\u200d", "\ufe0f",
    "\U000e0041",
]  # fmt: skip

HOSTILE = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), min_size=0, max_size=14).map(
    "".join
)
