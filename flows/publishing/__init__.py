"""Publishing datasets: what an entry's artifacts are, where they come from, their card, and where they go."""
