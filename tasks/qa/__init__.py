"""Questions of a user's own: a table of questions and answers, scored by rules, by a judge, or by both."""
