"""HTML reports: the frame that all pages share."""
