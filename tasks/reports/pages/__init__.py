"""Templates, style and scripts of the HTML report."""
