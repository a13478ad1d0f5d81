"""HTML reports: the frame, tables, charts and item viewer that all pages share."""
