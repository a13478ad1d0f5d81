"""Wikidata (CC0): entities with labels, sitelinks and claims, from dumps, its API, SPARQL or a table."""
