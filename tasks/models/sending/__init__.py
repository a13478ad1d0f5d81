"""Send requests to endpoints and systems: rate limits, retries, the budget, batches and replies."""
