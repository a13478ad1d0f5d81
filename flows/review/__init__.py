"""Review by people: a row's texts out as a form or a page, decisions back into data/labels/review."""
