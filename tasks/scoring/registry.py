"""The table of metrics: name, module and class. A module is loaded when its metric is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tasks.errors import BadInput
from tasks.scoring.metric import Metric

METRICS = {
    "rms": "rms:Rms",
    "execution": "execution:Execution",
    "ds1000": "ds1000:DS1000",
    "grammar": "grammar:Grammar",
    "toolbench": "toolbench:ToolBench",
    "hotpotqa": "hotpotqa:HotpotQA",
    "ddxplus": "ddxplus:DDXPlus",
    "multiturn": "multiturn:MultiTurn",
    "correlation": "correlation:Correlation",
    "agreement": "agreement:Agreement",
}


def make_metric(name: str, options: Mapping[str, Any]) -> Metric[Any]:
    """Make a metric with the options that were given. Raises BadInput for an unknown name or option."""
    if name not in METRICS:
        raise BadInput(f"metric {name}", "is not known", hint=f"there are {', '.join(METRICS)}")
    module, _, class_name = METRICS[name].partition(":")
    kind = getattr(importlib.import_module(f"tasks.scoring.{module}"), class_name)
    known = [field.name for field in fields(kind)]
    for option in options:
        if option not in known:
            hint = f"it takes {', '.join(spell_option(each) for each in known)}" if known else "it takes none"
            raise BadInput(f"score {name}", f"has no option {spell_option(option)}", hint=hint)
    metric: Metric[Any] = kind(**options)
    return metric


def spell_option(name: str) -> str:
    """Write an option as it is given on the command line."""
    return "--" + name.replace("_", "-")
