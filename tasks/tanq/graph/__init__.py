"""Read the Wikidata graph from which questions are generated: entities, relations and facts."""
