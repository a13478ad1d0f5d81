"""The hosted model that is used if no model is specified and the environment contains an API key."""

from __future__ import annotations

OPENAI_KEY, OPENAI_ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
"""Environment variables that OpenAI's own client reads."""
OPENAI_URL = "https://api.openai.com/v1"
HOSTED = "gpt-5-mini"
"""The model of `benchloom new` if none is specified."""
