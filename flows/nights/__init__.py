"""Nightly runs: evaluate the systems again, once or on a schedule."""
