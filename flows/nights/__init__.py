"""Nights: what is evaluated is asked anew, now or on a schedule."""
