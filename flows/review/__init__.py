"""Let people review rows: export a form or serve a page, and store decisions in data/labels/review."""
