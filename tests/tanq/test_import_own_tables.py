"""Tests of `benchloom import own-tables`: a user's tables become a graph, its evidence, and questions."""

import re
from pathlib import Path

import pytest

from flows.importers import list_importers
from flows.importing import bring_in
from flows.settings import load_params, parse_section
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.sources.wikidata.rows import ClaimRow, EntityRow
from tasks.sources.wikipedia.rows import PartRow
from tasks.tanq.entries import GraphSource, TanqSet
from tasks.tanq.importers.own_tables import OwnTables, read_own_table
from tests.tanq.chain import ScriptedModel, build

TOWNS, MAKERS = ("Ostel", "Varn"), ("Ada Lund", "Ben Holt", "Cy Marsh")
BOATS = [f"Boat {n},{MAKERS[n % 3]},{TOWNS[n % 2]},{10 + n},19{60 + n}-05-0{n % 9 + 1}" for n in range(18)]
PEOPLE = [f"{name},{1930 + n},{TOWNS[n % 2]}" for n, name in enumerate(MAKERS)]


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    (root / "params.yaml").write_text("tanq: {sources: {}, sets: {}} # mine\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    (root / "boats.csv").write_text("name,builder,home_port,length,launchDate\n" + "\n".join(BOATS) + "\n")
    (root / "people.csv").write_text("name,birth_year,birth_place\n" + "\n".join(PEOPLE) + "\n")
    monkeypatch.chdir(root)
    return root


def import_tables(*files, **options):
    return bring_in(Path.cwd(), OwnTables(paths=[Path(file) for file in files], **options)).said


def test_tables_become_a_graph_that_says_all_of_their_cells(project):
    printed = import_tables("boats.csv", "people.csv", called="yard", unit=["length=metres"])
    assert printed[:2] == [
        "boats.csv: 18 boats; columns: 1 of dates, 2 of names, 1 of numbers",
        "people.csv: 3 people; columns: 1 of dates, 1 of names",
    ]
    assert printed[-1] == "next: benchloom run tanq-items@yard"
    labels = {
        row.id: row.labels[0].text
        for row in read_rows(project / "data/raw/wikidata/yard/entities.parquet", EntityRow)
    }
    claims = read_rows(project / "data/raw/wikidata/yard/claims.parquet", ClaimRow)
    told = {
        (labels[claim.entity], labels[claim.property], labels.get(claim.value.item or "")) for claim in claims
    }
    assert {
        ("Boat 0", "builder", "Ada Lund"),
        ("Boat 0", "instance of", "boat"),
        ("Ada Lund", "instance of", "person"),
        ("Boat 1", "home port", "Varn"),
        ("Boat 1", "launch date", None),
    } <= told
    assert len(claims) == 18 * 5 + 3 * 3 + 2 * 2, "a cell a claim, and the classes of rows and of two towns"
    (length,) = [c.value for c in claims if c.entity == "boats/boat-3" and c.property == "boats-length"]
    assert (length.amount, labels[length.unit or ""]) == ("13", "metre")
    parts = read_rows(project / "data/raw/wikipedia/yard/parts.parquet", PartRow)
    assert [(part.headers, part.text) for part in parts if part.article == "Boat 3"] == [
        (("builder", "builder"), "Ada Lund"),
        (("home_port", "home port"), "Varn"),
        (("length", "length"), "13 metres"),
        (("launchDate", "launch date"), "1963-05-04"),
    ]


def test_its_questions_have_tables_whose_cells_are_proved_without_a_model(project, tmp_path):
    import_tables("boats.csv", "people.csv", called="yard", unit=["length=metres"])
    params = load_params(project)
    source = GraphSource.model_validate(params["tanq"]["sources"]["yard"])
    entry = parse_section(params, "tanq.sets.yard", TanqSet)
    model = ScriptedModel({"rephrase": lambda fields, row: fields["question"]})
    built = build(tmp_path, source, entry, lambda built: model, "sample")
    assert len(built.items) >= 10
    assert model.counts.keys() == {"rephrase"}, "every cell's evidence is decided by rule"
    questions = [item.question for item in built.items]
    assert any(re.match(r"Which boats have \w+ \w+ as their builder and", text) for text in questions)
    assert any(text.startswith("What are the builders of the boats that have") for text in questions)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "contains no row"),
        ("name,port\nTern,Ostel\n,Varn\n", "line 3: the column 'name', which names the row, is empty"),
        ("name,port\nTern,Ostel\nTern,Varn\n", "line 3: two rows are named 'Tern' (give each row"),
        ("name,port\nTern,Ostel,more\n", "line 2"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_line_and_changes_nothing(text, said, project):
    before = (project / "params.yaml").read_text()
    (project / "ships.csv").write_text(text)
    with pytest.raises(BadInput) as error:
        import_tables("ships.csv")
    assert said in str(error.value)
    assert (project / "params.yaml").read_text() == before
    assert not (project / "data").exists()


def test_a_name_of_two_rows_is_refused(project):
    (project / "towns.csv").write_text("town,river\nBoat 3,Ouse\n")
    with pytest.raises(BadInput, match=r"towns\.csv: the row 'Boat 3' has the same name as a row of another"):
        import_tables("boats.csv", "towns.csv")
    with pytest.raises(BadInput, match="--unit: names 'weight', which does not exist"):
        import_tables("boats.csv", unit=["weight=kg"])


def test_long_texts_are_sentences_and_years_are_dates(project):
    story = "She was built in a small yard by the lake. " * 3
    (project / "ships.csv").write_text(f"ship,year,crew,story\nTern,1961,4,{story}\nGull,1970,,\n")
    table = read_own_table(project / "ships.csv", {}, {})
    assert [(column.name, column.kind) for column in table.columns] == [
        ("year", "dates"),
        ("crew", "numbers"),
        ("story", "texts"),
    ]
    import_tables("ships.csv", called="ships")
    parts = read_rows(project / "data/raw/wikipedia/ships/parts.parquet", PartRow)
    assert [part.kind for part in parts if part.article == "Tern"] == ["infobox", "infobox", *["text"] * 3]
    assert [part.kind for part in parts if part.article == "Gull"] == ["infobox"]


def test_the_list_of_importers_says_what_it_does():
    assert list_importers()["own-tables"].startswith("Import your own tables")
