"""Tests of the interaction viewer in Chromium: steps, omitted text, and the links of an answer."""

from pathlib import Path

import pytest

from tests.browser.watch import Complaints, open_chromium
from tests.longform.test_page import write_example


@pytest.mark.browser
def test_what_an_agent_did_is_shown_and_its_answer_leads_to_its_queries(tmp_path: Path) -> None:
    out, _ = write_example(tmp_path)
    complaints = Complaints("file:")
    with open_chromium() as browser:
        page = browser.new_page()
        complaints.hear(page)
        page.goto(f"{(out / 'index.html').as_uri()}#interaction=x1-sequential")
        page.wait_for_selector("#detail .query")
        steps = page.locator("#detail .query > summary strong, #detail .step > .who")
        assert steps.all_inner_texts() == ["plan", "Query 1", "Query 2", "reasoning"]
        assert (
            "Some parts of the prompts did not fit into the context window: 6 of 9 rows of query 1."
            in page.inner_text("#detail")
        )
        answer = page.inner_text("#detail .response")
        assert answer.startswith("Yes. (not found in the rows of any query) ")
        page.click("#query-1 summary")
        assert page.get_attribute("#query-1", "open") is None, "it is closed now"
        (link,) = page.locator("#detail .response .bears").all()
        assert link.inner_text() == "query 1"
        link.click()
        assert page.get_attribute("#query-1", "open") is not None
        assert page.evaluate("document.activeElement.parentElement.id") == "query-1"
    assert complaints.lines == []
