"""Import SQL templates and text templates that a person wrote."""
