"""Tests of the results of the sample's data with the settings of docs/evidence/tanq.md (`Three classes`)."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tasks.tanq.build.inference import find_objection
from tasks.tanq.build.verify import make_evidence
from tasks.tanq.entries import GraphSource, TanqSet
from tests.tanq.chain import ROOT, ScriptedModel, build

GRAPH = ROOT / "data/raw/wikidata/things"
PAGE = ROOT / "docs/evidence/tanq.md"


def read_documented():
    """Return the settings on the page."""
    (found,) = re.findall(r"```yaml\n(tanq:\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return yaml.safe_load(found)["tanq"]


def make_model(built):
    """Return a model that accepts all proofs that pass the guards."""
    facts, proofs = {fact.id: fact for fact in built.facts}, {proof.id: proof for proof in built.proofs}
    known = {relation.id: relation for relation in built.relations}

    def verify(_, name):
        proof = proofs[name]
        return "Unknown" if find_objection(make_evidence(proof), known[facts[proof.fact].relation]) else "Yes"

    return ScriptedModel({"verify": verify, "rephrase": lambda fields, _: fields["meant"]})


@pytest.mark.drill  # all stages over the sample's graph of 2,400 things: 15 seconds
@pytest.mark.skipif(not GRAPH.is_dir(), reason="`make reproduce` makes the sample")
def test_the_documented_settings_give_sixty_questions_over_three_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    written = read_documented()
    source = GraphSource(**written.pop("sources")["things"])
    entry = TanqSet(**written.pop("sets")["sample"])
    built = build(tmp_path, source, entry, make_model, "sample", **written)
    nouns = Counter(item.noun for item in built.items)
    print(nouns, built.kept, built.drops, Counter(use.name for item in built.items for use in item.skills))
    assert Path(source.graph) == Path("data/raw/wikidata/things")
    assert len(built.items) >= 60
    assert set(nouns) == {"countries", "cities", "chemical elements"}
    assert min(nouns.values()) >= 5
