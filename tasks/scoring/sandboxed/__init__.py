"""What runs inside of the sandbox: a process for the program, one for its verdict, and what crosses.

The standard library, and numpy, pandas, scipy and matplotlib where a test program brings them.
"""
