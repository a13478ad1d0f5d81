import pytest
from playwright.sync_api import expect

from tasks.grammar.assess.ablation import DocumentAblation
from tasks.reports.site import write_index
from tests.browser.assessments import open_answer
from tests.browser.look import BRIEFLY, look_at_site
from tests.browser.watch import Complaints, open_chromium
from tests.grammar.assess.test_assessment_report import write_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The pages, written before the browser opens, since the stages cannot run in its event loop."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("plain", "hostile")}
    return {
        "plain": write_page(folders["plain"], "good", withheld=DocumentAblation(share=0.3)),
        "hostile": write_page(folders["hostile"], hostile=True),
    }


@pytest.fixture(scope="module")
def browser(sites):
    with open_chromium() as opened:
        yield opened


@pytest.mark.drill
def test_all_looks_are_quiet_pictured_and_no_wider_than_the_window(browser, page, sites, tmp_path):
    out = sites["plain"]
    site = out.parents[1]
    write_index([out], site / "index.html")
    (tmp_path / "pictures").mkdir()
    assert look_at_site(browser, site, tmp_path / "pictures", looks=BRIEFLY) == []
    assert {picture.name for picture in (tmp_path / "pictures").iterdir()} >= {
        "assessment.png",
        "answer_narrow_dark.png",
    }
    for _, width in BRIEFLY.values():
        page.set_viewport_size({"width": width, "height": 860})
        page.goto((out / "index.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_wrong_answer_is_found_and_read_with_its_documents(page, sites):
    out = sites["hostile"]
    complaints = Complaints(out.as_uri())
    complaints.hear(page)
    page.on("dialog", complaints.hear_dialog)
    page.goto((out / "index.html").as_uri())
    page.wait_for_selector("#list a")

    page.select_option("#by-module", "retrieval")
    assert "20 of 60" in page.inner_text("#found")
    page.select_option("#by-mode", "closed")
    assert "20 of 60" in page.inner_text("#found")
    page.select_option("#by-tag", "gap")
    assert "0 of 60" in page.inner_text("#found")
    page.select_option("#by-tag", "")
    page.click("#list a >> nth=0")
    assert "A chronicle" in page.inner_text("#detail .passage >> nth=0")
    assert "onerror=alert(1)" in page.inner_text("#detail .response")
    page.click("#detail .call >> nth=0")
    assert page.locator("img").count() == 0
    page.select_option("#by-module", "")
    open_answer(page)
    assert complaints.lines == []


def test_a_share_of_wrong_answers_leads_to_them(page, sites):
    page.goto((sites["hostile"] / "index.html").as_uri())
    page.wait_for_selector("#list a")
    page.fill("#find", "nothing has these words")
    link = page.locator("#fault table").first.locator("[data-narrow*=retrieval]").first
    share = float(link.inner_text())
    link.click()

    expect(page.locator("#by-module")).to_have_value("retrieval")
    expect(page.locator("#find")).to_have_value("")
    found = int(page.inner_text("#found").split()[0])
    assert found == round(share * 20) == 20
    expect(page.locator("#list a").first).to_contain_text("retrieval")


def test_a_link_to_no_question_says_so(page, sites):
    page.goto((sites["plain"] / "index.html").as_uri() + "#question=feed")
    assert "no question feed here" in page.inner_text("#detail")
