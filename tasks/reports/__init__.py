"""Write HTML reports; all pages have the same frame, tables, charts and item viewer."""
