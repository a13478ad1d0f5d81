"""Score predicted tables, and detect their failures."""
