"""What an analysis of rows comes to, in words: its claim, its answer, and the rows that bear it out."""
