"""Write HTML reports with one shared implementation of frame, tables, charts and item viewer."""
