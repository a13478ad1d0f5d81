"""An evaluation file in MT-RAG's layout: 8 conversations of 3 turns, answered by 2 models, rated by 3 people.

The question of a turn names a machine and a part, and the reference names the fact. Only the fact's words
match its passage, so the question alone retrieves the parts list and the reference retrieves the fact.
"""

import json
from pathlib import Path

MODELS = {"north/large-1": "North Large", "small": "Small"}
RATERS = ("ann", "bo", "cy")
MACHINES = ("kiln", "loom", "press", "lathe", "pump", "crane", "oven", "mill")
PARTS = ("valve", "rotor", "hinge")
WORDS = {"valve": "brass", "rotor": "graphite", "hinge": "walnut"}
TOLD = 4
"""Every fourth conversation has passages that share the question's words, so that E2 finds the passages."""
SCALE = [{"value": f"grade {n}", "numeric_value": n} for n in range(1, 5)]


def make_evaluations() -> dict:
    """Return the file's object: 48 answers with 3 ratings each, by completeness."""
    documents, tasks, evaluations = [], [], []
    for number, machine in enumerate(MACHINES):
        documents.append(
            make_document(f"{machine}-list", f"What is the {machine}? Its {' its '.join(PARTS)}.")
        )
        turns = []
        for place, part in enumerate(PARTS):
            supplier, task = f"Supplier{number}{place}", f"talk{number}<::>{place + 1}"
            question = f"Who makes the {part} of the {machine}?"
            reference = f"{supplier} makes it, of {WORDS[part]}."
            fact = f"{supplier} deals in {WORDS[part]} since 1962."
            told = f"{supplier} makes the {part} of the {machine}." if number % TOLD == 0 else ""
            documents.append(make_document(f"{machine}-{part}", f"{fact} {told}".strip()))
            turns.append({"speaker": "user", "text": question})
            tasks.append(
                {"task_id": task, "input": list(turns), "contexts": [{"document_id": f"{machine}-{part}"}],
                 "targets": [{"text": reference}], "Answerability": "ANSWERABLE", "Collection": "workshop"}
            )  # fmt: skip
            turns.append({"speaker": "agent", "text": reference})
            for model in MODELS:
                right = (number + 2 * place + (model == "small")) % 4 > 0
                text = reference if right else "Nobody knows who makes it."
                evaluations.append(
                    {"task_id": task, "model_id": model, "model_response": text,
                     "annotations": {"completeness": rate(right, number), "f1": {"system": {"value": 0.5}}}}
                )  # fmt: skip
    documents.append(make_document("spare", "A passage that is behind none of the tasks."))
    return {
        "models": [{"model_id": model, "name": name} for model, name in MODELS.items()],
        "metrics": [{"name": "completeness", "type": "categorical", "values": SCALE},
                    {"name": "f1", "type": "numerical", "range": [0, 1]}],
        "documents": documents,
        "tasks": tasks,
        "evaluations": evaluations,
    }  # fmt: skip


def rate(right: bool, number: int) -> dict:
    """Return three ratings of an answer: 4 or 1; in every second conversation, one rating is in between."""
    values = [4, 4, 3 + number % 2] if right else [1, 1, 1 + number % 2]
    return {
        rater: {"value": f"grade {value}", "timestamp": 1, "duration": 2}
        for rater, value in zip(RATERS, values, strict=True)
    }


def make_document(name: str, text: str) -> dict:
    return {"document_id": name, "title": name.partition("-")[0], "text": text}


def write_evaluations(path: Path) -> Path:
    path.write_text(json.dumps(make_evaluations()))
    return path
