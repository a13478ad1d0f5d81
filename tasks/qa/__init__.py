"""Evaluate a system on a user's table of questions and answers, scored by rules, by a judge, or by both."""
