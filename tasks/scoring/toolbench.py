"""ToolBench (StreamBench's subset, section 4.1): correctness of API and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tasks.scoring.items import (
    MAX_DEPTH,
    BadItem,
    Record,
    describe_type,
    get_optional_text,
    get_text,
    is_deeper,
    load_json,
)
from tasks.scoring.metric import FAILED, MeanAccumulator, Metric, Score

WITHOUT_JUDGE = frozenset(
    {
        "BART%%Advisory information",
        "Car database%%Makes",
        "F1 Latest News%%GET recent F1 news from all sources",
        "Fluximmo%%get_portail_api",
        "Football Dolphin%%Head to head statistics",
        "Global Email V4%%Global Email V4",
        "Handball Data%%Daily Match List-Scheduled",
        "JAK_API%%Ben 10",
        "JAK_API%%Brawl Stars",
        "JAK_API%%Genshin Impact",
        "JAK_API%%Miraculous",
        "Marvel Vs Capcom 2%%All Characters",
        "MikuAPI%%getRandomImage",
        "Numbers Translator%%Numbers Translator",
        "Numbers%%Get math fact",
        "NumbersToLetters%%Convertir cantidad a letra Moneda MXN Español",
        "NumbersToLetters%%Convertir cantidad a letra Moneda MXN Ingles",
        "Password Generator API%%Base",
        "Password Generator API%%Password of length 50",
        "Places%%Geographic coordinates by placename",
        "Soccer Data%%Tournament List",
        "Token API%%generate",
        "add_date",
        "colegiosantaana%%Disciplina-1",
        "colegiosantaana%%Evaluaciones-1",
        "colegiosantaana%%Mensajes-1",
        "forecast_weather",
        "get_today_date",
        "pizzaallapala%%Get Producto Promo",
        "siteDomain%%language list",
        "thailand%%thai4",
    }
)
"""The 31 APIs whose arguments are compared by rule; a model judges the arguments of other APIs."""

Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A gold call and a predicted call.

    `predicted_arguments`: None if missing or not a JSON object. `arguments_missing`: whether the
    record has no predicted arguments. `judged`: the judge's verdict on the arguments; None if there is no
    verdict.
    """

    api: str
    arguments: Arguments
    predicted_api: str | None
    predicted_arguments: Arguments | None
    arguments_missing: bool
    well_formed: bool
    judged: bool | None


@dataclass(frozen=True)
class ToolBench(Metric[ToolCall]):
    """Shares of tool calls: well_formed and accuracy over all scored items, api_match over well-formed items.

    A call is correct if its API is the gold API and its arguments are correct. For 31 APIs, every gold
    argument must be present and equal as stripped lower-case text. Extra arguments are allowed, values other
    than text are compared as their Python `str`, and arguments that cannot be parsed are wrong. For other
    APIs, the judge's verdict decides. A call that is not well-formed is wrong. If the predicted API, the
    arguments for one of the 31 APIs, or a required verdict is missing, the item counts as failed.
    """

    name: ClassVar[str] = "toolbench"
    columns: ClassVar[tuple[str, ...]] = (
        "id",
        "api",
        "arguments",
        "predicted_api",
        "predicted_arguments",
        "well_formed",
    )
    texts: ClassVar[frozenset[str]] = frozenset(
        {"id", "api", "arguments", "predicted_api", "predicted_arguments"}
    )

    def read(self, record: Record) -> ToolCall:
        """Read both calls, with arguments as objects or JSON text. Raises BadItem for other types."""
        well_formed, judged = record.get("well_formed"), record.get("judged")
        if not isinstance(well_formed, bool):
            raise BadItem(f"well_formed is {describe_type(well_formed)}; expected true or false")
        if judged is not None and not isinstance(judged, bool):
            raise BadItem(f"judged is {describe_type(judged)}; expected true, false or null")
        arguments = read_arguments(record, "arguments")
        if arguments is None:
            raise BadItem("arguments is neither an object nor JSON text that contains an object")
        return ToolCall(
            api=get_text(record, "api"),
            arguments=arguments,
            predicted_api=get_optional_text(record, "predicted_api"),
            predicted_arguments=read_arguments(record, "predicted_arguments"),
            arguments_missing=record.get("predicted_arguments") is None,
            well_formed=well_formed,
            judged=judged,
        )

    def make_accumulator(self, rule: str) -> MeanAccumulator:
        """Return an empty accumulator."""
        return MeanAccumulator(("well_formed", "api_match", "accuracy"))

    def score_item(self, item: ToolCall, rule: str) -> Score:
        """Score one call."""
        if not item.well_formed:
            return Score({"well_formed": 0.0, "api_match": None, "accuracy": 0.0})
        if item.predicted_api is None:
            return FAILED
        right: bool | None = False
        matches = item.predicted_api == item.api
        if matches:
            right = judge_arguments(item)
        if right is None:
            return FAILED
        return Score({"well_formed": 1.0, "api_match": float(matches), "accuracy": float(right)})


def judge_arguments(call: ToolCall) -> bool | None:
    """Return whether a call to the correct API has correct arguments.

    Returns None if the arguments are compared by rule but missing, or if the judge's verdict is missing.
    """
    if call.api not in WITHOUT_JUDGE:
        return call.judged
    if call.arguments_missing:
        return None
    predicted = call.predicted_arguments
    return predicted is not None and all(
        name in predicted and normalise_value(predicted[name]) == normalise_value(value)
        for name, value in call.arguments.items()
    )


def normalise_value(value: object) -> str:
    """Return an argument's text, stripped and in lower case."""
    return str(value).strip().lower()


def read_arguments(record: Record, field: str) -> Arguments | None:
    """Read arguments; None for null, or for text that is not a JSON object. Raises BadItem otherwise."""
    value = record.get(field)
    if isinstance(value, str):
        try:
            value = load_json(value.encode())
        except ValueError:
            return None
        return value if isinstance(value, dict) and not is_deeper(value, MAX_DEPTH) else None
    if value is not None and not isinstance(value, dict):
        raise BadItem(
            f"{field} is {describe_type(value)}; expected an object, or JSON text that contains an object"
        )
    return value
