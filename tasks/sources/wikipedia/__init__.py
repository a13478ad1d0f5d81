"""Wikipedia's articles as ordered parts, from a dump, the API, structured JSON, wikitext files or plain text.

`opening.open_source` finds out which; every source gives the same `article.Article`. Text is CC BY-SA 4.0.
"""
