"""Tests of retries with Prefect: a stage whose endpoint refuses every request is not retried."""

from types import SimpleNamespace
from typing import Any

import pytest
from prefect.states import Failed

from flows.run.reproduce import may_be_answered
from tasks.errors import BadInput, ModelFailed, ModelRefused, StageFailed


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ModelFailed("no usable reply"), True),
        (ModelRefused("the endpoint refuses (401)"), False),
        (BadInput("params.yaml", "is wrong"), False),
        (StageFailed("has no rows"), False),
        (ValueError("a bug"), False),
    ],
)
def test_a_failure_that_cannot_change_is_tried_once(error: Exception, again: bool) -> None:
    run: Any = SimpleNamespace(session=None)
    assert may_be_answered(run, Failed(data=error)) is again
