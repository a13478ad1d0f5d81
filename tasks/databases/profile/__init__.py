"""Profile database columns: the kind of their cells, and the SQL expressions that convert the cells."""
