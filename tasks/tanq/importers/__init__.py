"""Import published questions (list questions of QAMPARI and records of TANQ), and tables of your own."""
