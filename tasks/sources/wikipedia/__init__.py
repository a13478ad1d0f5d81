"""Read Wikipedia articles from dumps, the API, structured JSON, wikitext or plain text, as ordered parts.

`opening.open_source` detects the kind of source; every source yields the same `article.Article`. The text is
CC BY-SA 4.0.
"""
