"""Templates, style sheets and scripts of the HTML reports."""
