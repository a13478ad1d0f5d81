"""Make HTML reports from the frame, tables, charts and item viewer that all pages share."""
