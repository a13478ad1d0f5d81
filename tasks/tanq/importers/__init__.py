"""Import published questions (QAMPARI's list questions and TANQ's records), and your own tables."""
