"""Import SQL templates and text templates that people wrote."""
