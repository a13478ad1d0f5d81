"""Nightly runs: ask the evaluated systems again, once or on a schedule."""
