"""Where a model is asked if nothing says it, and a key is in the environment."""

from __future__ import annotations

OPENAI_KEY, OPENAI_ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
"""Environment variables, as OpenAI's own client reads them."""
OPENAI_URL = "https://api.openai.com/v1"
HOSTED = "gpt-5-mini"
"""The model that `benchloom new` asks if none is named."""
