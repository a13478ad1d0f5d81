import time

import pytest
from playwright.sync_api import expect

from tasks.grammar.publish.report import report
from tasks.reports.site import write_index
from tests.browser.look import BRIEFLY, look_at_site, open_question
from tests.browser.watch import open_watched
from tests.grammar.sample import HOSTILE, write_sample
from tests.reports.figure_folders import place_figures

pytestmark = pytest.mark.browser


def write_site(root, **options):
    sample = write_sample(root, **options)
    out = root / "data" / "reports" / "grammar" / "films"
    report(
        **sample.page_inputs(), database=sample.entry, settings={}, out=out, **place_figures(out, "metrics")
    )
    write_index([out], root / "data" / "reports" / "index.html")
    return sample, out


@pytest.mark.drill
def test_all_looks_are_quiet_and_pictured(browser, tmp_path):
    write_site(tmp_path)
    (tmp_path / "pictures").mkdir()

    assert look_at_site(browser, tmp_path / "data" / "reports", tmp_path / "pictures", looks=BRIEFLY) == []
    assert len(list((tmp_path / "pictures").iterdir())) == 3 * len(BRIEFLY)


def test_hostile_data_is_shown_and_not_run(browser, tmp_path):
    _, out = write_site(tmp_path, hostile=True)
    with open_watched(browser, out.as_uri()) as page:
        page.goto((out / "index.html").as_uri())
        open_question(page)

        assert "<img src=x onerror=alert(1)>" in page.inner_text("#detail .question")
        assert "</script>" in page.inner_text("#detail .call[open] pre >> nth=0")
        assert page.locator("img").count() == 0
    assert HOSTILE.startswith("</script>")


def test_a_shared_link_opens_its_question(page, tmp_path):
    sample, out = write_site(tmp_path)
    wanted = sample.questions[3]

    page.goto((out / "index.html").as_uri() + f"#question={wanted.id}")

    assert page.inner_text("#detail .question") == wanted.question
    assert page.inner_text("#detail .reply") == wanted.answer


def test_a_link_to_no_question_says_so(page, tmp_path):
    _, out = write_site(tmp_path)

    page.goto((out / "index.html").as_uri() + "#question=feed")

    assert "no question feed here" in page.inner_text("#detail")


def test_the_policy_stops_what_comes_from_outside(page, tmp_path):
    _, out = write_site(tmp_path)
    page.goto((out / "index.html").as_uri())

    reached = page.evaluate("fetch('http://127.0.0.1:9/x').then(() => true, () => false)")
    blocked = page.evaluate(
        "new Promise(done => {"
        "addEventListener('securitypolicyviolation', event => done(event.violatedDirective));"
        "const image = new Image(); image.src = 'http://127.0.0.1:9/x.png'; })"
    )

    assert reached is False
    assert blocked == "img-src"


def test_filters_narrow_the_list(page, tmp_path):
    sample, out = write_site(tmp_path)
    page.goto((out / "index.html").as_uri())

    page.fill("#find", "film 2 runtime")
    page.select_option("#by-criterion", "short")

    found = [question for question in sample.questions if "runtime of Film 2" in question.question]
    wanted = [question.question for question in found if question.criterion == "short"]
    expect(page.locator("#list a")).to_have_count(1)
    assert page.locator("#list a").evaluate_all("links => links.map(each => each.firstChild.data)") == wanted


def test_twenty_thousand_questions_stay_quick(page, tmp_path):
    _, out = write_site(tmp_path, groups=5_000)
    page.goto((out / "index.html").as_uri())
    page.wait_for_selector("#list a")

    started = time.monotonic()
    page.fill("#find", "film 4999")
    expect(page.locator("#list a")).to_have_count(6)  # film 4999, and film 4909 with this answer

    assert page.inner_text("#found").endswith("of 20,000 questions")
    assert time.monotonic() - started < 3
