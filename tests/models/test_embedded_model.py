"""Tests that call the real embedded model; skipped if its file has not been downloaded."""

import asyncio

import pytest
import yaml

from flows.run.model_settings import read_models
from flows.settings import find_project, load_params
from tasks.errors import BenchloomError
from tasks.models.ask import Request
from tasks.models.opening import open_client
from tasks.models.sending.budget import Budget
from tasks.models.serving.embedded import list_servers, stop_server
from tasks.models.serving.fetching import find_file
from tasks.models.settings import Endpoint, ModelRun

pytestmark = pytest.mark.embedded


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    try:
        _, models = read_models(load_params(find_project()))
    except (BenchloomError, yaml.YAMLError):
        pytest.skip("no project here")
    here = {name: model for name, model in models.items() if find_file(model).exists()}
    if not here:
        pytest.skip("no embedded model is pulled")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return here


@pytest.mark.drill
def test_two_servers_write_the_same_text_in_any_order(shelf):
    name, model = next(iter(shelf.items()))
    grammar = 'root ::= ("red" | "green" | "blue") ", " ("one" | "two" | "three")'
    requests = [
        Request(
            name,
            ({"role": "user", "content": f"A colour and a number, please. {number}"},),
            {"temperature": 1.0, "top_p": 1.0, "max_tokens": 12, "seed": number},
            {"grammar": grammar} if number % 2 else {},
            identity=model.sha256,
        )
        for number in range(4)
    ]
    run = ModelRun(endpoints={name: Endpoint(kind="embedded", in_flight=1, timeout_s=250)}, idle_s=60)

    async def ask(order):
        client = open_client(run, shelf, Budget())
        try:
            sent = [await client.send({requests[number].key(): requests[number]}) for number in order]
            return {key: answer.entry.text for answers in sent for key, answer in answers.items()}
        finally:
            await client.close()

    try:
        first = asyncio.run(ask([0, 1, 2, 3]))
        assert [server.name for server in list_servers()] == [name]
        assert stop_server(name)
        second = asyncio.run(ask([3, 2, 1, 0]))
    finally:
        stop_server(name)
    assert first == second
    assert first[requests[1].key()].partition(", ")[0] in ("red", "green", "blue")
    assert list_servers() == []
