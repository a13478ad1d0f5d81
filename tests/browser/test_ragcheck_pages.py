import pytest
from playwright.sync_api import expect

from tasks.artifacts.parquet import read_rows
from tasks.ragcheck.conversations import Conversation
from tests.browser.look import (
    BRIEFLY,
    CONTINUITY,
    CORRECTNESS,
    find_overflow,
    look_at_page,
    open_conversation,
)
from tests.browser.staged import run_ragcheck, stage_ragcheck
from tests.browser.watch import open_chromium, open_watched
from tests.grammar.sample import HOSTILE
from tests.ragcheck.scenes import reply

pytestmark = pytest.mark.browser

IMAGE = "<img src=x onerror=alert(1)>"


def reply_hostile(messages, asked):
    """Answer like the scenes, and append a script to every text that a page shows."""
    said = reply(messages, asked)
    return said if said.startswith("Query:") or "\nScore " in said else f"{said} {HOSTILE}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Both pages with hostile answers and documents, made before the browser opens."""
    with stage_ragcheck(tmp_path_factory.mktemp("ragcheck")) as project:
        project.reply = reply_hostile
        documents = project.root / "data/raw/trial/documents.jsonl"
        documents.write_text(
            documents.read_text()
            .replace("Harlow Glassworks was", f"Harlow Glassworks {IMAGE} was")
            .replace('"Orbis"', f'"Orbis {IMAGE}"')
        )
        return run_ragcheck(project)


@pytest.fixture(scope="module")
def browser(site):
    with open_chromium() as opened:
        yield opened


@pytest.fixture
def page(browser, site):
    with open_watched(browser, site.as_uri()) as page:
        yield page


def visit(page, site, name):
    page.goto((site / f"trial-{name}" / "index.html").as_uri())
    expect(page.locator("#list a").first).to_be_visible()


@pytest.mark.drill
@pytest.mark.parametrize(
    ("view", "name"), [(CORRECTNESS, "trial-correctness"), (CONTINUITY, "trial-continuity")]
)
def test_all_looks_are_quiet_pictured_and_no_wider_than_the_window(browser, site, tmp_path, view, name):
    assert look_at_page(browser, view, site / name / "index.html", tmp_path, looks=BRIEFLY) == []
    assert len(list(tmp_path.iterdir())) == 2 * len(BRIEFLY)


def test_a_page_that_is_too_wide_is_found(page, site):
    page.set_viewport_size({"width": 420, "height": 860})
    visit(page, site, "correctness")
    assert find_overflow(page) == []
    page.evaluate("document.querySelector('main').append(Object.assign(new Image(1), {width: 900}))")
    assert "in a window of 420" in find_overflow(page)[0]


def test_hostile_answers_and_documents_are_shown_and_not_run(page, site):
    visit(page, site, "correctness")
    page.click("#list a >> nth=0")
    expect(page.locator("#detail .response")).to_contain_text(HOSTILE)
    titles = page.locator("#detail .passage summary")
    expect(titles.filter(has_text=f"Orbis {IMAGE}").first).to_be_visible()
    page.click("#detail .call >> nth=0")
    expect(page.locator("#detail .call[open]")).to_contain_text("</script>")

    visit(page, site, "continuity")
    open_conversation(page)
    expect(page.locator("#detail .say.answered").first).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0


def test_a_conversation_is_opened_and_read_by_the_keys_alone(page, site):
    visit(page, site, "continuity")
    page.focus("#list a >> nth=1")
    chosen = page.locator("#list a >> nth=1")
    page.keyboard.press("Enter")
    expect(page.locator("#detail .question")).to_have_text(chosen.evaluate("link => link.firstChild.data"))
    expect(page.locator("#detail .turn").first).to_be_visible()
    expect(chosen).to_have_attribute("aria-current", "true")
    expect(page.locator("#detail")).to_be_focused()

    page.keyboard.press("Tab")
    expect(page.locator("#detail a").first).to_be_focused()  # the same question for the other system
    page.keyboard.press("Escape")
    expect(chosen).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    first = page.locator("#list a >> nth=0")
    expect(first).to_have_attribute("aria-current", "true")
    page.go_back()
    expect(chosen).to_have_attribute("aria-current", "true")
    expect(first).not_to_have_attribute("aria-current", "true")


def test_filters_narrow_the_list_of_conversations(page, site):
    visit(page, site, "continuity")
    expect(page.locator("#found")).to_have_text("8 of 8 conversations")
    page.select_option("#by-system", "single")
    expect(page.locator("#found")).to_have_text("4 of 8 conversations")
    page.select_option("#by-dataset", "glass")
    expect(page.locator("#found")).to_have_text("2 of 8 conversations")
    page.fill("#find", "founded glassworks")
    expect(page.locator("#list a")).to_have_count(1)
    expect(page.locator("#list a")).to_contain_text("When was the Harlow Glassworks founded?")


def test_answers_are_filtered_by_their_grade(page, site):
    visit(page, site, "correctness")
    page.select_option("#by-score", "5")
    expect(page.locator("#found")).to_have_text("1 of 4 answers")
    expect(page.locator("#list a")).to_contain_text("Who leads the Orbis project?")
    expect(page.locator("#list a .tag.good").first).to_have_text("judge, E2: 5")


def test_a_conversation_stands_with_the_scores_of_its_turns(page, site):
    visit(page, site, "continuity")
    open_conversation(page)
    talks = read_rows(site.parents[1] / "ragcheck/trial/conversations.parquet", Conversation)
    caller = next(caller for caller in talks if page.url.endswith(f"#row={caller.id}"))
    scores = [str(score) for score in caller.scores]
    assert len(scores) > 1
    measures = page.locator("#detail .verdicts").filter(has_text=f"wscore {caller.wscore:.3f}")
    expect(measures.locator(".tag")).to_have_text(scores)
    expect(page.locator("#detail .turn > h3 .tag")).to_have_text([f"{score} of 5" for score in scores])
    system, *marks = page.locator("#list [aria-current] .tag").all_inner_texts()
    assert (system, marks[: len(scores)]) == (caller.system, scores)


def test_a_link_to_no_row_says_so(page, site):
    page.goto((site / "trial-continuity" / "index.html").as_uri() + "#row=feed")
    expect(page.locator("#detail")).to_contain_text("no row feed here")
