"""Build items from list questions: extension, evidence, verification, rephrasing and skills."""
