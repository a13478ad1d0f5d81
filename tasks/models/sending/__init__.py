"""Send requests to endpoints and systems: limits, retries, budget, batches, replies."""
