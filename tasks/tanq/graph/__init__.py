"""The graph that questions are made from: its things, relations and facts."""
