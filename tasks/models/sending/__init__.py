"""Send requests to endpoints and systems, with rate limits, retries, a budget and batches."""
