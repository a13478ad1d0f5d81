"""Write HTML reports, with one shared implementation of the page frame, tables, charts and item viewer."""
