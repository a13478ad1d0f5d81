"""Plan analyses: questions like a database's existing questions, but over rows that a model invents."""
