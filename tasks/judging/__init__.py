"""Judges as instruments: how an answer is shown to one, how its verdict is read, how far it is trusted."""
