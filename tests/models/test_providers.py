"""Tests of the params blocks in docs/providers.md, with servers that behave as the providers document."""

import asyncio
import json
import re
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from flows.run.model_settings import read_models
from tasks.errors import BadInput, ModelFailed
from tasks.models.ask import Prompt, Role, make_request
from tasks.models.opening import open_client
from tasks.models.sending.budget import Budget
from tests.models.scenes import answering

PAGE = Path(__file__).parents[2] / "docs/providers.md"
BLOCKS = dict(re.findall(r'^```yaml title="([^"]+)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL))
SCHEMA = {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}
CONTEXT = 8192
"""Context size (here in words) of both servers on the page."""


def refuse(status, message):
    return web.json_response({"error": {"message": message}}, status=status)


def complete(body, prompt_tokens):
    """Answer in JSON if the request has a schema, otherwise in prose."""
    held = body.get("response_format", {}).get("type") == "json_schema"
    text = json.dumps({"sql": f"SELECT {body['seed']}"}) if held else "Here is the SQL that you asked for."
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 5}
    return web.json_response({"model": body["model"], "choices": [choice], "usage": usage})


def count_words(body):
    return sum(len(message["content"].split()) for message in body["messages"])


async def answer_as_vllm(request):
    body = await request.json()
    if request.headers.get("Authorization") != "Bearer vllm_key":
        return refuse(401, "Unauthorized")
    if body["model"] != "Qwen/Qwen2.5-7B-Instruct":
        return refuse(404, f"The model `{body['model']}` does not exist.")
    if (words := count_words(body)) + body["max_tokens"] > CONTEXT:
        return refuse(400, f"This model's maximum context length is {CONTEXT} tokens.")
    return complete(body, words)


async def answer_as_ollama(request):
    body = await request.json()
    if body["model"] != "qwen2.5:7b":
        return refuse(404, f"model '{body['model']}' not found")
    return complete(body, min(count_words(body), CONTEXT))


SERVERS = {"vLLM": answer_as_vllm, "Ollama": answer_as_ollama}


BEARER = "Bearer secret-of-the-test"


def require(request, body, *, key="Authorization", value=BEARER, model, takes, query=""):
    """Reject a wrong key or model, and an unknown path or parameter, like a provider."""
    if request.headers.get(key) != value:
        return refuse(401, "Incorrect API key provided")
    if request.query_string != query:
        return refuse(404, "Resource not found")
    if body["model"] != model:
        return refuse(404, f"The model `{body['model']}` does not exist")
    for name in body:
        if name not in {"model", "messages", "stream", "response_format", *takes}:
            error = {"message": f"Unsupported parameter: '{name}'", "code": "unsupported_parameter"}
            return web.json_response({"error": error}, status=400)
    assert body["stream"] is False
    return None


def hold(text, **more):
    """Return a reply whose text obeys the schema."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    return web.json_response({"choices": [choice], "usage": usage} | more)


SQL = json.dumps({"sql": "SELECT 0"})
SAMPLED = ("temperature", "top_p", "max_tokens")


async def answer_as_openai(request):
    body = await request.json()
    refused = require(request, body, model="gpt-4.1-mini", takes=(*SAMPLED, "seed"))
    return refused or hold(SQL, model="gpt-4.1-mini-2025-04-14")


async def answer_as_reasoning(request):
    body = await request.json()
    takes = ("max_completion_tokens", "seed", "reasoning_effort")
    if refused := require(request, body, model="gpt-5-mini", takes=takes):
        return refused
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (16_000, "low")
    return hold(SQL, usage={"prompt_tokens": 3, "completion_tokens": 900, "total_tokens": 903})


async def answer_as_azure(request):
    body = await request.json()
    settings = {"key": "api-key", "value": "secret-of-the-test", "query": "api-version=2024-10-21"}
    if refused := require(request, body, model="gpt-mini", takes=(*SAMPLED, "seed"), **settings):
        return refused
    assert "Authorization" not in request.headers
    return hold(SQL)


async def answer_as_gemini(request):
    body = await request.json()
    if refused := require(request, body, model="gemini-2.5-flash", takes=SAMPLED):
        return web.json_response([json.loads(refused.text)], status=refused.status)
    return hold(SQL)


async def answer_as_openrouter(request):
    body = await request.json()
    refused = require(request, body, model="deepseek/deepseek-r1", takes=(*SAMPLED, "seed", "provider"))
    if refused:
        return refused
    text = f"<think>Zero?</think>{SQL}"
    return hold(text, model=body["model"], provider="x")


async def answer_as_litellm(request):
    body = await request.json()
    refused = require(request, body, model="anthropic/claude-sonnet-4-5", takes=("temperature", "max_tokens"))
    return refused or hold(SQL)


async def answer_as_llama_cpp(request):
    body = await request.json()
    return hold(SQL if body.get("grammar") == "root ::= x" else "Here is the SQL.", model="/models/x.gguf")


HOSTED = {
    "OpenAI": answer_as_openai,
    "OpenAI, a reasoning model": answer_as_reasoning,
    "Azure OpenAI": answer_as_azure,
    "Gemini": answer_as_gemini,
    "OpenRouter": answer_as_openrouter,
    "LiteLLM": answer_as_litellm,
    "llama.cpp": answer_as_llama_cpp,
}
HOST = re.compile(r"""https?://[^\s"',}]+""")


def ask(provider, *, words=3, edit=lambda text: text):
    """Make a call of the block's role through the client of the block's endpoint."""
    with answering((SERVERS | HOSTED)[provider]) as url:
        text = HOST.sub(url, edit(BLOCKS[provider]))
        params = yaml.safe_load(text)
        role = Role.model_validate(params["roles"]["generator"])
        messages = ({"role": "user", "content": "word " * words},)
        request = make_request(Prompt("ask", "digest", messages), role, schema=SCHEMA, grammar="root ::= x")

        async def send():
            run, models = read_models(params)
            client = open_client(run, models, Budget())
            try:
                return (await client.send({request.key(): request}))[request.key()].entry
            finally:
                await client.close()

        return asyncio.run(send())


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("VLLM_KEY", "vllm_key")
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "LITELLM_KEY"):
        monkeypatch.setenv(name, "secret-of-the-test")


@pytest.mark.parametrize("provider", SERVERS)
def test_the_block_of_the_page_gets_a_reply_that_holds_to_the_schema(provider):
    entry = ask(provider)
    assert json.loads(entry.text) == {"sql": "SELECT 0"}
    assert (entry.prompt_tokens, entry.completion_tokens, entry.estimated) == (3, 5, False)


@pytest.mark.parametrize("provider", SERVERS)
def test_a_grammar_would_hold_neither_of_them(provider):
    entry = ask(provider, edit=lambda text: text.replace("constrain: json_schema", "constrain: grammar"))
    assert entry.text == "Here is the SQL that you asked for."


def test_a_prompt_that_does_not_fit_is_refused_by_the_one_and_cut_by_the_other():
    refused = ask("vLLM", words=9_000)
    assert refused.is_unanswered
    assert "answered 400: This model's maximum context length is 8192" in refused.text
    assert ask("Ollama", words=9_000).prompt_tokens == CONTEXT


@pytest.mark.parametrize(
    ("provider", "said"),
    [("vLLM", "404: The model `qwen-7b` does not exist"), ("Ollama", "404: model 'qwen-7b' not found")],
)
def test_without_its_served_name_the_model_is_not_found(provider, said):
    with pytest.raises(ModelFailed, match=said):
        ask(provider, edit=lambda text: re.sub(r" *served_model: .*\n", "", text))


def test_the_key_is_asked_for_by_its_variable_and_by_vllm_alone(monkeypatch):
    monkeypatch.delenv("VLLM_KEY")
    with pytest.raises(BadInput, match="the environment variable VLLM_KEY is not set"):
        ask("vLLM")
    assert ask("Ollama").text


@pytest.mark.parametrize("provider", HOSTED)
def test_a_hosted_model_is_asked_by_the_block_of_the_page(provider):
    entry = ask(provider)
    assert json.loads(entry.text) == {"sql": "SELECT 0"}
    assert not entry.estimated
    assert ("reasoning" in entry.extra) is (provider == "OpenRouter")


@pytest.mark.parametrize("provider", ["OpenAI", "Azure OpenAI", "Gemini", "OpenRouter", "LiteLLM"])
def test_a_grammar_is_left_out_where_it_is_refused(provider):
    entry = ask(
        provider, edit=lambda text: re.sub(r", constrain: \w+|(?<=2048)(?=})", ", constrain: grammar", text)
    )
    assert json.loads(entry.text) == {"sql": "SELECT 0"}


def test_every_block_of_the_page_is_tried():
    assert BLOCKS.keys() == SERVERS.keys() | HOSTED.keys() | {"Anthropic"}
