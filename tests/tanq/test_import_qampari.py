"""Tests of `benchloom import qampari`: published list questions in any layout, and invalid files."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.commands.import_ import app
from flows.settings import load_params
from tasks.artifacts.parquet import StoredRows, read_rows, write_rows
from tasks.errors import BadInput
from tasks.sources.wikidata.entities import Sitelink
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, ValueRow
from tasks.sources.wikidata.values import Text
from tasks.tanq.build.extend import Extend, extend
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.facts import facts
from tasks.tanq.graph.relations import relations
from tasks.tanq.graph.seed_question import Condition, SeedProof, SeedQuestion
from tasks.tanq.graph.things import things
from tasks.tanq.graph.unread import unread
from tasks.tanq.importers.answer_noun import find_noun

WIKI = "https://en.wikipedia.org/wiki/"


def make_answer(text: str, item: str = "", *proofs: tuple[str, str], **more: object) -> dict:
    given = [{"proof_text": text, "found_in_url": WIKI + page, "pid": "1"} for page, text in proofs]
    return {"answer_text": text, "aliases": [text], "wikidata_id": item or None, "proof": given, **more}


def make_question(name: str, text: str, *answers: object) -> dict:
    return {"qid": name, "question_text": text, "entity_list": [], "answer_list": list(answers)}


DRAWN = make_question(
    "1__wikidata_simple__dev",
    "What manga was drawn by Ann Bell?",
    make_answer("Heat", "", ("Heat_(manga)", "Heat is drawn by Ann Bell."), answer_url=WIKI + "Heat_(manga)"),
    make_answer("Storm", "Q2"),
    make_answer("Rain", ""),
)
SCORED = make_question(
    "2__wikidata_comp__dev",
    "who composed  music for films directed by Carl Dunn",
    make_answer("Ed Frey", "Q11", ("Dusk", "Dusk is a film by Carl Dunn."), ("Ed_Frey", "Frey scored Dusk.")),
    make_answer("Gil Hart", "Q12", ("Noon", "Noon is a film by Carl Dunn.")),
)
BOTH = {"id": "3__wikidata_intersection__dev", "question": "Which films are by Carl Dunn and from Peru?",
        "answers": [["Dusk"], ["[[Noon (film)|Noon]]", "High Noon"], ["Nowhere"]]}  # fmt: skip
RECORDS = [DRAWN, SCORED, BOTH]


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    (root / "params.yaml").write_text("tanq:\n  sources:\n    main: {graph: g, articles: a} # mine\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(root)
    return root


def write_graph(folder: Path) -> Path:
    """Write a graph: manga by Ann Bell, films by Carl Dunn from Peru, their composers, and a film `Rain`."""
    names = {
        "Q1": ("Heat", "Heat (manga)"), "Q2": ("Storm", ""), "Q3": ("Rain", ""),
        "Q4": ("Heat", "Heat (film)"),
        "Q5": ("human", ""), "Q7": ("Ann Bell", "Ann Bell"), "Q8": ("Carl Dunn", ""), "Q9": ("Peru", "Peru"),
        "Q11": ("Ed Frey", "Ed Frey"), "Q12": ("Gil Hart", ""), "Q13": ("Dusk", "Dusk"),
        "Q14": ("Noon", "Noon"),
        "Q20": ("manga", ""), "Q21": ("film", ""),
    }  # fmt: skip
    entities = [
        EntityRow(
            name, "item", None, (Text(label, "en"),), (Text("High Noon", "en"),) if name == "Q14" else (),
            (Sitelink("enwiki", title),) if title else (), ("Q99",) if name == "Q2" else (),
        )
        for name, (label, title) in names.items()
    ]  # fmt: skip
    facts = [
        ("Q1", "P31", "Q20"), ("Q2", "P31", "Q20"), ("Q3", "P31", "Q21"), ("Q4", "P31", "Q21"),
        ("Q1", "P50", "Q7"),
        ("Q2", "P50", "Q7"), ("Q11", "P31", "Q5"), ("Q12", "P31", "Q5"), ("Q13", "P31", "Q21"),
        ("Q14", "P31", "Q21"),
        *((film, name, value) for film in ("Q13", "Q14") for name, value in (("P57", "Q8"), ("P495", "Q9"))),
        ("Q13", "P86", "Q11"), ("Q14", "P86", "Q12"),
    ]  # fmt: skip
    claims = [
        ClaimRow(f"{entity}-{name}-{value}", entity, name, 0, "normal", ValueRow("item", item=value), ())
        for entity, name, value in facts
    ]
    write_rows(folder / "entities.parquet", EntityRow, sorted(entities, key=lambda row: row.id))
    write_rows(folder / "claims.parquet", ClaimRow, sorted(claims, key=lambda row: row.id))
    return folder


def write_lines(path: Path, records: list[object]) -> Path:
    text = "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def call(*words: object):
    return CliRunner().invoke(app, ["qampari", *map(str, words)])


def read_seeds(root: Path, name: str = "main") -> dict[str, SeedQuestion]:
    rows = read_rows(root / "data/raw/qampari" / name / "seeds.parquet", SeedQuestion)
    return {row.kind: row for row in rows}


def read_skipped(root: Path) -> list[tuple[str, str]]:
    lines = (root / "data/raw/qampari/main/skipped.jsonl").read_text().splitlines()
    return [(line["reason"], line["where"]) for line in map(json.loads, lines)]


def test_answers_are_found_in_a_graph_by_id_link_and_name(root, tmp_path):
    done = call(write_lines(tmp_path / "dev.jsonl", RECORDS), "--graph", write_graph(tmp_path / "graph"))
    assert done.exit_code == 0, done.output
    assert "3 of 3 list questions (1 composition, 1 intersection, 1 simple), 6 answers" in done.stdout
    seeds = read_seeds(root)
    # A manga by its link, and by its id; the film `Rain` only by its name.
    assert [answer.entity for answer in seeds["simple"].answers] == ["Q1", "Q2"]
    assert [answer.entity for answer in seeds["intersection"].answers] == ["Q13", "Q14"]
    assert [(seed.noun, seed.target) for seed in seeds.values() if seed.kind == "simple"] == [
        ("manga", "Q20")
    ]
    assert seeds["simple"].proofs == (SeedProof("Q1", "Heat (manga)", "Heat is drawn by Ann Bell."),)
    assert read_skipped(root) == [("answer_other_class", "line 1"), ("answer_not_in_graph", "line 3")]
    about = json.loads((root / "data/raw/qampari/main/about.json").read_text())
    assert (about["licence"], about["counts"]["skipped"]) == (
        "CC0-1.0", {"answer_not_in_graph": 1, "answer_other_class": 1},
    )  # fmt: skip


def test_what_a_question_demands_is_what_its_answers_share_and_it_names(root, tmp_path):
    assert (
        call(write_lines(tmp_path / "a.jsonl", RECORDS), "--graph", write_graph(tmp_path / "g")).exit_code
        == 0
    )
    seeds = read_seeds(root)
    assert seeds["simple"].conditions == (Condition("P50", "Q7", "Ann Bell"),)
    assert [condition.relation for condition in seeds["intersection"].conditions] == ["P495", "P57"]
    scored = seeds["composition"]
    assert scored.text == "Who composed music for films directed by Carl Dunn?"
    assert scored.conditions == (Condition("P57", "Q8", "Carl Dunn", "P86"),)
    assert [(answer.through, answer.facts) for answer in scored.answers] == [
        (("Q13",), ("Q13-P86-Q11", "Q13-P57-Q8")), (("Q14",), ("Q14-P86-Q12", "Q14-P57-Q8")),
    ]  # fmt: skip


def test_what_a_question_demands_is_found_over_redirects(root, tmp_path):
    graph = write_graph(tmp_path / "g")
    rows = list(StoredRows(graph / "claims.parquet", ClaimRow))
    old = [
        replace(row, value=replace(row.value, item="Q77")) if row.id == "Q1-P50-Q7" else row for row in rows
    ]
    moved = [
        replace(row, redirects=("Q77",)) if row.id == "Q7" else row
        for row in StoredRows(graph / "entities.parquet", EntityRow)
    ]
    write_rows(graph / "claims.parquet", ClaimRow, old)
    write_rows(graph / "entities.parquet", EntityRow, moved)
    assert call(write_lines(tmp_path / "a.jsonl", RECORDS), "--graph", graph).exit_code == 0
    assert read_seeds(root)["simple"].conditions == (Condition("P50", "Q7", "Ann Bell"),)


@pytest.mark.parametrize("layout", ["dev.jsonl", "dev.jsonl.gz", "dev.json", "pretty.json", "data.json"])
def test_every_layout_gives_the_same_seeds(root, tmp_path, layout):
    path = tmp_path / layout
    if "jsonl" in layout:
        write_lines(path, RECORDS)
    else:
        path.write_text(
            json.dumps({"data": RECORDS} if layout == "data.json" else RECORDS, indent=layout[0] == "p")
        )
    assert call(path, "--graph", write_graph(tmp_path / "g")).exit_code == 0
    assert sorted(read_seeds(root)) == ["composition", "intersection", "simple"]


def test_without_a_graph_only_ids_of_the_file_are_taken(root, tmp_path):
    done = call(write_lines(tmp_path / "a.jsonl", RECORDS))
    assert done.exit_code == 0, done.output
    assert [answer.entity for answer in read_seeds(root)["composition"].answers] == ["Q11", "Q12"]
    assert ("few_answers", "line 1") in read_skipped(root)
    assert "skipped: answer_no_id: 5" in done.stdout


def test_whole_leaves_out_what_loses_an_answer_and_source_names_the_file(root, tmp_path):
    path, graph = write_lines(tmp_path / "a.jsonl", RECORDS), write_graph(tmp_path / "g")
    assert call(path, "--graph", graph, "--whole", "--source", "main", "--name", "x").exit_code == 0
    assert list(read_seeds(root, "x")) == ["composition"]
    assert load_params(root)["tanq"]["sources"]["main"]["seeds"] == "data/raw/qampari/x/seeds.parquet"
    assert "# mine" in (root / "params.yaml").read_text()


def test_broken_records_are_named_and_the_others_taken(root, tmp_path):
    hostile = [
        "{", "[1]", '{"qid": NaN}', {"qid": "9__wikidata_simple__dev"},
        {"question": "What?", "answers": [["a"]]}, make_question("4__simple", "x" * 2000, make_answer("a")),
        make_question("5__simple", "Which?", None, {"answer_text": 7}, [[[]]], {}, {"answer_text": ["x"]}),
        make_question("6__simple", "Which?"), SCORED, SCORED, "{\"a\": " * 2000,
    ]  # fmt: skip
    done = call(write_lines(tmp_path / "a.jsonl", hostile))
    assert done.exit_code == 0, done.output
    assert read_skipped(root) == [
        ("broken", "line 1"), ("no_object", "line 2"), ("broken", "line 3"), ("no_question", "line 4"),
        ("no_kind", "line 5"), ("too_long", "line 6"), ("answer_no_id", "line 7"),
        ("answer_unread", "line 7"),
        ("few_answers", "line 7"), ("no_answers", "line 8"), ("twice", "line 10"), ("broken", "line 11"),
    ]  # fmt: skip


def test_a_file_that_is_cut_off_is_said(root, tmp_path):
    text = json.dumps(RECORDS)
    for name, data in (("a.json", text[:-40].encode()), ("b.json.gz", gzip.compress(text.encode())[:-12])):
        (tmp_path / name).write_bytes(data)
        done = call(tmp_path / name)
        assert done.exit_code == 1, name
        assert f"ended early: {name}, record" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.json"], "none.json: does not exist"), (["empty.json"], "empty.json: is empty"),
        (["text.txt"], "is not valid JSON"),
        (["a.jsonl", "--name", "../x"], "--name: '../x' is not a valid name"),
        (["a.jsonl", "--graph", "nowhere"], "nowhere: has no entities.parquet"),
        (["a.jsonl", "--source", "other"], "--source: params.yaml has no tanq.sources.other"),
        (["names.jsonl"], "its answers have no Wikidata ids: --graph FOLDER"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_refused_and_changes_nothing(root, words, said):
    write_lines(root / "a.jsonl", RECORDS)
    write_lines(root / "names.jsonl", [BOTH])
    (root / "empty.json").write_text(" \n")
    (root / "text.txt").write_text("question\n")
    done = call(*words)
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert not (root / "data/raw/qampari").exists() or not list((root / "data/raw/qampari").rglob("*"))


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("What manga was drawn by Ryoichi Ikegami?", "manga"),
        ("Who played in the band Iron Maiden?", "people"),
        ("Kay Mellor created which piece of media?", "pieces of media"), ("Where did she study?", "places"),
        ("What kind of land mass is found there?", "land masses"),
        ("What does Baojun manufacture?", "answers"),
        ("Who directed the films which Nusrat Fateh Ali Khan scored?", "people"),
        ("What body of water is near a state in the U.S.?", "bodies of water"),
        ("What written work was edited by Ann Bell?", "written works"),
        ("What is the name of a person who graduated?", "people"), ("What is Monroe, Michigan?", "answers"),
        ("What are some existing allergen?", "allergens"),
        ("Ethan Coen produced what Joel Coen directed film?", "answers"),
    ],
)  # fmt: skip
def test_the_noun_is_what_the_question_calls_its_answers(question, noun):
    assert find_noun(question) == noun


def test_a_hundred_imported_questions_are_extended_over_the_graph_of_their_answers(root, tmp_path):
    records, entities, claims = [], [], []
    for place in range(100):
        kind = ("simple", "intersection", "comp")[place % 3]
        answers = [f"Film {place}-{number}" for number in range(3)]
        question = f"Which films are by Ann {place}?"
        named = [[name] for name in answers]
        records.append({"id": f"{place}__wikidata_{kind}__dev", "question": question, "answers": named})
        entities.append(("person", f"Q9{place:03}", f"Ann {place}"))
        for number, name in enumerate(answers):
            film = f"Q{place * 3 + number + 10}"
            entities.append(("film", film, name))
            claims += [
                (film, "P57", f"Q9{place:03}"),
                (film, "P86", "Q5"),
                (film, "P136", f"Q{6 + number % 2}"),
            ]
    names = [("", "Q5", "Ed Frey"), ("", "Q6", "comedy"), ("", "Q7", "drama")]
    rows = [
        EntityRow(entity_id, "item", None, (Text(name, "en"),), (), (), ())
        for _, entity_id, name in entities + names
    ]
    write_rows(tmp_path / "g/entities.parquet", EntityRow, sorted(rows, key=lambda row: row.id))
    made = [
        ClaimRow(f"{film}-{name}", film, name, 0, "normal", ValueRow("item", item=value), ())
        for film, name, value in claims
    ]
    write_rows(tmp_path / "g/claims.parquet", ClaimRow, sorted(made, key=lambda row: row.id))
    assert call(write_lines(tmp_path / "a.jsonl", records), "--graph", tmp_path / "g").exit_code == 0
    seeds = read_rows(root / "data/raw/qampari/main/seeds.parquet", SeedQuestion)
    source = GraphSource(
        graph=tmp_path / "g",
        articles=tmp_path,
        seeds=root / "seeds",
        relations={"P57": None, "P86": None, "P136": None},
    )
    known = facts(source).rows
    asked = extend(
        seeds,
        list(known),
        list(things(known, source).rows),
        list(relations(known, source).rows),
        list(unread(source).rows),
        Extend(),
    )
    assert len(seeds) == len(asked.rows) == 100
    # No question asks for the director, whom every question names.
    assert {name for row in asked.rows for name in row.relations} == {"P86", "P136"}
    by_id = {fact.id: fact for fact in known}
    assert all({by_id[fact].entity for fact in row.facts} == set(row.entities) for row in asked.rows)
