"""Code that runs inside the sandbox: a process for the program, one for the verdict, and their messages.

The standard library, and numpy, pandas, scipy and matplotlib where a test program brings them.
"""
