"""Code that runs inside the sandbox: one process for the program, one for the verdict, their messages.

The code uses the standard library, and numpy, pandas, scipy and matplotlib if the environment of a test
program has them.
"""
