"""Read Wikipedia's articles as ordered parts: from dumps, the API, structured JSON, wikitext or plain text.

`opening.open_source` detects the kind of source; every source yields the same `article.Article`. The text is
CC BY-SA 4.0.
"""
