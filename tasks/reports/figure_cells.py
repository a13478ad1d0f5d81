"""Former names of what tasks/reports/tables.py holds, until every paper has moved."""

from tasks.reports.tables import (
    DRAWS,
    ROWS,
    Cell,
    FigureTable,
    Line,
    count_cell,
    format_mean,
    leave_empty,
    mean_cell,
    rate_cell,
    round_figures,
)

FigureCell = Cell
__all__ = (
    "DRAWS",
    "ROWS",
    "FigureCell",
    "FigureTable",
    "Line",
    "count_cell",
    "format_mean",
    "leave_empty",
    "mean_cell",
    "rate_cell",
    "round_figures",
)
