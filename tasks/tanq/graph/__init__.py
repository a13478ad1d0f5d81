"""Read the Wikidata graph that questions are made from: its entities, relations and facts."""
