"""Plan analyses: questions that resemble a database's existing questions, over rows that a model invents."""
