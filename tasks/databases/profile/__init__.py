"""What the cells of each column are, and how queries read them."""
