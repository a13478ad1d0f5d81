"""SPARQL queries that read entities from Wikidata's RDF, in its query service or in a mirror."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.sources.wikidata.languages import list_fallbacks

PREFIXES = """\
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX p: <http://www.wikidata.org/prop/>
PREFIX ps: <http://www.wikidata.org/prop/statement/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX schema: <http://schema.org/>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX wikibase: <http://wikiba.se/ontology#>
"""
INSTANCES = """\
SELECT DISTINCT ?item WHERE {{
  VALUES ?class {{ {classes} }}
  ?item p:P31 ?statement . ?statement ps:P31 ?class ; wikibase:rank ?rank .
  FILTER(?rank != wikibase:DeprecatedRank)
}}"""
ABOUT = """\
SELECT ?item ?revision ?target WHERE {{
  VALUES ?item {{ {items} }}
  OPTIONAL {{ ?item schema:version ?revision }}
  OPTIONAL {{ ?item owl:sameAs ?target }}
}}"""
TEXTS = """\
SELECT ?item ?kind ?text WHERE {{
  VALUES ?item {{ {items} }}
  {{ ?item rdfs:label ?text . BIND("label" AS ?kind) }} UNION
  {{ ?item skos:altLabel ?text . BIND("alias" AS ?kind) }}
  {languages}
}}"""
PAGES = """\
SELECT ?item ?site ?title WHERE {{
  VALUES ?item {{ {items} }}
  ?page schema:about ?item ; schema:isPartOf ?site ; schema:name ?title .
}}"""
# The triples about the value node are inside the OPTIONAL block: outside, a statement without a value node
# would match all nodes of the database.
VALUE = """\
  OPTIONAL {{
    ?statement ?deep ?node .
    OPTIONAL {{ ?node wikibase:timeValue ?time ; wikibase:timePrecision ?precision ;
                     wikibase:timeCalendarModel ?calendar }}
    OPTIONAL {{ ?node wikibase:quantityAmount ?amount ; wikibase:quantityUnit ?unit }}
    OPTIONAL {{ ?node wikibase:quantityLowerBound ?lower }}
    OPTIONAL {{ ?node wikibase:quantityUpperBound ?upper }}
  }}
"""
COLUMNS = "?statement ?property ?type ?simple ?time ?precision ?calendar ?amount ?unit ?lower ?upper"
CLAIMS = f"""\
SELECT ?item ?rank {COLUMNS} WHERE {{{{
  VALUES ?item {{{{ {{items}} }}}}
  {{properties}}
  ?property wikibase:claim ?claim ; wikibase:propertyType ?type ;
            wikibase:statementProperty ?direct ; wikibase:statementValue ?deep .
  ?item ?claim ?statement . ?statement wikibase:rank ?rank .
  OPTIONAL {{{{ ?statement ?direct ?simple }}}}
{VALUE}}}}}"""
QUALIFIERS = f"""\
SELECT ?item {COLUMNS} WHERE {{{{
  VALUES ?item {{{{ {{items}} }}}}
  {{properties}}
  ?main wikibase:claim ?claim .
  ?item ?claim ?statement .
  ?property wikibase:qualifier ?direct ; wikibase:qualifierValue ?deep ; wikibase:propertyType ?type .
  ?statement ?direct ?simple .
{VALUE}}}}}"""


def write_query(
    template: str,
    *,
    items: Iterable[str] = (),
    classes: Iterable[str] = (),
    properties: Iterable[str] | None = None,
    languages: Iterable[str] | None = None,
) -> str:
    """Return the query for a template and its values. The caller must validate ids; languages are escaped."""
    variable = "?main" if template is QUALIFIERS else "?property"
    return PREFIXES + template.format(
        items=_list(items),
        classes=_list(classes),
        properties="" if properties is None else f"VALUES {variable} {{ {_list(properties)} }}",
        languages="" if languages is None else _filter_languages(sorted(languages)),
    )


def _filter_languages(languages: Iterable[str]) -> str:
    """Return a SPARQL filter for texts in these languages, their fallbacks and their variants."""
    codes = sorted({_escape(code) for name in languages for code in list_fallbacks(name)})
    variants = [f'STRSTARTS(LANG(?text), "{_escape(name)}-")' for name in languages]
    quoted = ", ".join(f'"{code}"' for code in codes)
    return f"FILTER({' || '.join([f'LANG(?text) IN ({quoted})', *variants])})"


def _list(names: Iterable[str]) -> str:
    return " ".join(f"wd:{name}" for name in names)


def _escape(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum() or letter == "-")
