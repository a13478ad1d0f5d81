"""Scratch databases: CREATE from a schema, INSERT from a reply of a model, within limits."""
