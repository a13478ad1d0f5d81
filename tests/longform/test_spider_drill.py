"""Twenty databases of Spider from import to page, by a model on loopback that errs in known shares."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import web

from flows.settings import set_params
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped
from tasks.longform.rows import Conclusion, ControlledQuestion, LongformItem, SyntheticDatabase
from tests.flows.sample import make_sample
from tests.judging.scripted import sign
from tests.longform.by_grammar import write_by_grammar
from tests.models.scenes import answering, say
from tests.shared_data import SHARED, needs

SPIDER = SHARED / "spider"
TAKEN = 20
HOSTILE = "ATTACH DATABASE 'stolen.sqlite' AS s; CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END;"
STAGES = {
    "You write analytical": "control",
    "You shorten": "condense",
    "You review questions": "confirm",
    "You guess": "conjecture",
    "You write SQL INSERT": "construct",
    "You write the answer": "conclude",
    "You sort questions": "classify",
}
"""How the prompts begin."""
ERRS = {
    ("control", 0): "always",
    ("control", 1): "once",
    ("condense", 2): "always",
    ("confirm", 3): "always",
    ("conjecture", 4): "always",
    ("construct", 5): "always",
    ("construct", 6): "once",
    ("conclude", 7): "always",
}
"""(stage, number of the question) -> how often its reply is bad; every other reply is good."""
BAD = {
    "control": "Which?",
    "condense": "Which one is it?",
    "confirm": "Verdict: 1 No\nVerdict: 2 Yes\nVerdict: 3 No",
    "conjecture": "It depends.",
    "construct": HOSTILE,
    "conclude": "I would rather not say.",
}


class Model:
    """Numbers the questions as they come, and finds a question again by what was written of it."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.asked: Counter[tuple[str, int]] = Counter()

    async def answer(self, request: web.Request) -> web.Response:
        """Reply by the grammar, or badly."""
        body = await request.json()
        system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
        stage = next(name for start, name in STAGES.items() if system.startswith(start))
        number = self._find(stage, user)
        self.asked[stage, number] += 1
        errs = ERRS.get((stage, number), "")
        if errs == "always" or (errs == "once" and self.asked[stage, number] == 1):
            return say(sign(BAD[stage], user))
        if stage == "confirm":
            return say(sign("Verdict: 1 Yes\nVerdict: 2 Yes\nVerdict: 3 Yes", user))
        if stage == "classify":
            return say(sign("Kind: Interpretive", user))
        text = write_by_grammar(body["grammar"])
        if stage in ("control", "condense"):
            self.known.setdefault(text, number)
        return say(text)

    def _find(self, stage: str, user: str) -> int:
        if stage == "control":
            meant = re.search(r"said stiffly:\n(.*)", user)
            assert meant
            return self.known.setdefault(meant[1], len(self.asked_of("control")))
        return next(number for text, number in reversed(self.known.items()) if text in user)

    def asked_of(self, stage: str) -> set[int]:
        """The numbers of the questions that a stage has asked about."""
        return {number for name, number in self.asked if name == stage}


@pytest.mark.drill
@needs("spider")
def test_what_comes_through_and_why_the_rest_does_not_is_as_scripted(tmp_path: Path) -> None:
    sample, model = make_sample(tmp_path), Model()
    done = sample.call(
        "flows.cli", "import", "spider", str(SPIDER), "--take", str(TAKEN), "--longform", "many"
    )
    assert done.returncode == 0, done.stderr
    with answering(model.answer) as url:
        endpoint = f"{{kind: openai, url: '{url}', in_flight: 4, retries: 0}}"
        settings = [
            f"run.endpoints.qwen25-coder-1b5={endpoint}",
            "longform.foci.least=3",
            "longform.control.known=3",
        ]
        set_params(sample.root, settings)
        assert sample.call("flows.cli", "graph").returncode == 0
        done = sample.call("flows.cli", "run", "--plain", "longform-set-page@many", "longform-contracts@many")
        assert done.returncode == 0, done.stderr[-2000:]
    folder = sample.root / "data/longform/many"

    def count_dropped(stage: str) -> Counter[str]:
        return Counter(row.reason for row in read_rows(folder / f"{stage}.dropped.parquet", Dropped))

    written = read_rows(folder / "control.parquet", ControlledQuestion)
    numbers = model.asked_of("control")
    assert numbers >= {number for _, number in ERRS}
    # Databases that hold the same table are asked the same question, and share what is said to it.
    sharing = Counter(model.known[row.text] for row in written)
    dropped = count_dropped("control")
    sharing[0] += dropped["uncontrolled"]
    assert set(sharing) == numbers
    assert dropped == {"no_plan": TAKEN - sharing.total(), "uncontrolled": sharing[0]}
    assert len(written) == sharing.total() - sharing[0]
    assert count_dropped("condense") == {"uncondensed": sharing[2]}
    assert count_dropped("confirm") == {"refused_by_model": sharing[3]}
    assert count_dropped("conjecture") == {"no_conjecture": sharing[4]}
    assert count_dropped("construct") == {"refused": sharing[5]}
    made = read_rows(folder / "construct.parquet", SyntheticDatabase)
    through = sharing.total() - sum(sharing[number] for number in (0, 2, 3, 4, 5))
    assert Counter(row.rounds for row in made) == {1: through - sharing[6], 2: sharing[6]}
    concluded = read_rows(folder / "conclude.parquet", Conclusion)
    assert Counter(row.by for row in concluded) == {"model": through - sharing[7], "plain": sharing[7]}
    items = read_rows(folder / "items.parquet", LongformItem)
    assert len(items) == through >= 3
    assert not list(sample.root.rglob("stolen.sqlite"))
    statistics = json.loads((folder / "statistics.json").read_text())
    assert statistics["items"] == len(items)
    assert "ATTACH" in "".join(row.detail for row in read_rows(folder / "construct.dropped.parquet", Dropped))
