"""Code that runs inside the sandbox: the program's process, the verdict's process and their messages.

The code uses the standard library, and numpy, pandas, scipy and matplotlib if the environment of a test
program has them.
"""
