"""What steps scored and cost, and how methods did over time (section 5.2)."""
