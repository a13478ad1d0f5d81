"""Small datasets in the published layouts of StreamBench's seven datasets, for importers and whole runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

CODE_CONTEXT = '''
def generate_test_case(number):
    return {number}, {number} * 2

exec_context = r"""
x = test_input
[insert]
"""

def test_execution(solution: str):
    code = exec_context.replace("[insert]", solution)
    test_input, expected = generate_test_case(1)
    environment = {{"test_input": test_input}}
    exec(code, environment)
    assert environment["result"] == expected
'''


def make_sqlite(place: Path, rows: int = 30) -> None:
    """Write a database with `rows` cities."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE city (\n\tid INTEGER PRIMARY KEY,\n\n\tname TEXT, size INTEGER)")
        cities = [(number, f"City {number}", number * 10) for number in range(rows)]
        connection.executemany("INSERT INTO city VALUES (?, ?, ?)", cities)
        connection.commit()


def ask_size(number: int) -> tuple[str, str]:
    """Return a question about a city, and the gold SQL."""
    return f"How large is City {number}?", f"SELECT size FROM city WHERE id = {number}"


def make_spider(folder: Path, count: int = 25) -> Path:
    """Write a release with a training split, and a test split whose database has a test suite."""
    make_sqlite(folder / "test_database/cities/cities.sqlite")
    make_sqlite(folder / "test_database/cities/other.sqlite", 5)
    make_sqlite(folder / "database/empty/empty.sqlite", 0)
    (folder / "tables.json").write_text(json.dumps([{"db_id": "empty"}]))
    (folder / "test_tables.json").write_text(json.dumps([{"db_id": "cities"}, {"db_id": "empty"}]))
    pairs = [ask_size(number) for number in range(count)]
    test = [{"db_id": "cities", "question": asked, "query": query} for asked, query in pairs]
    test += [
        {"db_id": "empty", "question": "Which?", "query": "SELECT name FROM city"},
        {"db_id": "cities"},
        7,
    ]
    (folder / "test.json").write_text(json.dumps(test))
    (folder / "dev.json").write_text("[]")
    train = [{"db_id": "gone", "question": f"Old {n}?", "query": f"SELECT {n}"} for n in range(80)]
    (folder / "train_spider.json").write_text(json.dumps(train))
    return folder


def make_cosql(folder: Path) -> Path:
    """Write dialogues of two turns each on one database."""
    make_sqlite(folder / "database/cities/cities.sqlite")
    dialogues = []
    for number in range(0, 22, 2):
        turns = [
            dict(zip(("utterance", "query"), ask_size(size), strict=True)) for size in (number, number + 1)
        ]
        dialogues.append({"database_id": "cities", "final": {}, "interaction": turns})
    state = folder / "sql_state_tracking"
    state.mkdir()
    dialogues[0]["interaction"][0]["query"] = "SELECT size FROM city WHERE id < = 0 AND name ! = '> ='"
    (state / "cosql_dev.json").write_text(
        json.dumps([*dialogues, {"database_id": "cities", "interaction": []}])
    )
    train = {"database_id": "x", "interaction": [{"utterance": "Hm?", "query": "SELECT 1"}]}
    (state / "cosql_train.json").write_text(json.dumps([train]))
    return folder


def make_bird(folder: Path, count: int = 22) -> Path:
    """Write a development split with one existing and one missing database."""
    make_sqlite(folder / "dev_databases/cities/cities.sqlite")
    records = []
    for number in range(count):
        asked, query = ask_size(number)
        records.append({"question_id": number + 100, "db_id": "cities", "question": asked, "SQL": query})
    records.append({"question_id": 9, "db_id": "towns", "question": "Which?", "SQL": "SELECT name FROM town"})
    (folder / "dev.json").write_text(json.dumps(records))
    tables = {
        "db_id": "towns",
        "table_names_original": ["town"],
        "column_names_original": [[-1, "*"], [0, "id"], [0, "name"]],
        "column_types": ["text", "number", "text"],
    }
    (folder / "dev_tables.json").write_text(json.dumps([tables]))
    return folder


def make_ds1000(folder: Path, count: int = 22) -> Path:
    """Write problems that double a number, in a gzip file."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "prompt": f"Problem:\nDouble {number}.\nA:\n<code>\nx = test_input\n</code>\nresult = ...",
            "reference_code": "result = x * 2",
            "metadata": {"problem_id": number, "library": "Numpy" if number % 2 else "Pandas"},
            "code_context": CODE_CONTEXT.format(number=number),
        }
        for number in range(count)
    ]
    lines = [*map(json.dumps, records), json.dumps({"prompt": "no test"}), "{broken"]
    with gzip.open(folder / "ds1000.jsonl.gz", "wt") as out:
        out.write("\n".join(lines) + "\n")
    return folder


def make_toolbench(folder: Path, count: int = 11) -> Path:
    """Write test cases for two of twenty APIs; a judge decides one of them."""
    folder.mkdir(parents=True, exist_ok=True)
    tests = {
        "add_date": [
            {"query": f"{n} days on?", "action": "add_date", "action_input": json.dumps({"days": n})}
            for n in range(count)
        ],
        "search": [
            {"query": f"Who is {n}?", "action": "search", "action_input": json.dumps({"entity": str(n)})}
            for n in range(count)
        ],
        "lost": [
            {"query": "?", "action": "lost", "action_input": "{}"},
            {"query": "?", "action": "search", "action_input": "[1]"},
            None,
        ],
    }
    (folder / "tool_test.json").write_text(json.dumps(tests))
    described = {
        "description": "Finds things.",
        "required_parameters": [
            {"name": "entity", "type": "STRING", "description": "A name", "default": "x"}
        ],
        "optional_parameters": [],
        "parent_tool_name": "Finder",
        "parent_tool_description": "",
    }
    plain = (
        'Add days.. Your input should be a json (args json schema): {{"days" : integer, }} The Action to '
        "trigger this API should be add_date."
    )
    apis = {
        "add_date": plain,
        "search": json.dumps(described),
        **{f"api {n}": f"Does {n}." for n in range(18)},
    }
    (folder / "API_descriptions.json").write_text(json.dumps(apis))
    (folder / "API_list.json").write_text(json.dumps(["search", "add_date"]))
    return folder


def make_ddxplus(folder: Path, each: int = 2, vocabulary: Path | None = None) -> Path:
    """Write `each` patients for each of 49 conditions, zipped as published, and a validation split.

    vocabulary: a folder with published conditions and evidences, which determine the patients' data.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"Illness {number}" for number in range(49)]
    evidences: dict[str, dict[str, object]] = {
        "E_1": {"question_en": "Do you cough?", "is_antecedent": False, "value_meaning": {}},
        "E_2": {
            "question_en": "Where is the pain?",
            "is_antecedent": False,
            "value_meaning": {"V_1": {"en": "head", "fr": "x"}, "V_2": {"en": "arm", "fr": "y"}},
        },
        "E_3": {"question_en": "Do you smoke?", "is_antecedent": True, "value_meaning": {}},
    }
    conditions = {name: {} for name in names}
    had = {name: ["E_1", "E_2_@_V_1", "E_2_@_V_2", "E_3"] for name in names}
    if vocabulary is not None:
        conditions, evidences = (
            json.loads((vocabulary / f"release_{part}.json").read_text(encoding="utf-8"))
            for part in ("conditions", "evidences")
        )
        names = list(conditions)
        had = {name: list_evidences(condition, evidences) for name, condition in conditions.items()}
    (folder / "release_conditions.json").write_text(json.dumps(conditions))
    (folder / "release_evidences.json").write_text(json.dumps(evidences))
    for split, count, youngest in (("test", each, 0), ("validate", 1, 49 * each)):
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(["AGE", "DIFFERENTIAL_DIAGNOSIS", "SEX", "PATHOLOGY", "EVIDENCES", "INITIAL_EVIDENCE"])
        for number in range(49 * count):
            name = names[number % 49]
            age = youngest + number
            rows.writerow([age, "[]", "MF"[number % 2], name, str(had[name]), had[name][0]])
        codes = str(had[names[1]])
        rows.writerow([3, "[]", "M", "Unheard of", codes, had[names[1]][0]])
        rows.writerow([3, "[]", "M", names[1], "['E_999']", "E_999"])
        rows.writerow([3, "[]", "X", names[1], codes, had[names[1]][0]])
        with zipfile.ZipFile(folder / f"release_{split}_patients.zip", "w") as archive:
            archive.writestr(f"release_{split}_patients", text.getvalue())
    return folder


def list_evidences(condition: dict[str, object], evidences: dict[str, dict[str, object]]) -> list[str]:
    """List the codes of all symptoms and antecedents of a condition, with the last two values, if any."""
    codes: list[str] = []
    for code in (*condition["symptoms"], *condition["antecedents"]):
        values = evidences[code]["possible-values"]
        codes += [f"{code}_@_{value}" for value in values[-2:]] if values else [code]
    return sorted(codes, key=lambda code: "_@_" in code)


def make_hotpotqa(folder: Path, count: int = 22) -> Path:
    """Write questions in the project's layout, one in the layout of dataset hubs, and a training split."""
    folder.mkdir(parents=True, exist_ok=True)
    records: list[object] = [
        {
            "_id": f"h{number}",
            "question": f"Where does Ann {number} live?",
            "answer": f"Town {number}",
            "type": "bridge",
            "level": "hard",
            "context": [
                [f"Ann {number}", [f"Ann lives in Town {number}.", " She sings."]],
                ["Bo", ["Bo ran."]],
            ],
            "supporting_facts": [[f"Ann {number}", 0]],
        }
        for number in range(count)
    ]
    hub = {"title": ["Cy"], "sentences": [["Cy is 7."]]}
    records += [
        {"question": "How old is Cy?", "answer": "7", "context": hub},
        {"_id": "x", "question": "No?"},
    ]
    (folder / "hotpot_dev_distractor_v1.json").write_text(json.dumps(records))
    train = [
        {**json.loads(json.dumps(records[0])), "_id": f"t{n}", "question": f"Old {n}?"} for n in range(3)
    ]
    (folder / "hotpot_train_v1.1.json").write_text(json.dumps(train))
    return folder
