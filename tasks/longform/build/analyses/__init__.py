"""Plan analyses: questions modelled on a database's own questions, over rows that a model invents."""
