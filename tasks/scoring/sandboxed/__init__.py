"""Code that runs inside the sandbox: the program process, the verdict process, and their messages.

Besides the standard library, the code uses numpy, pandas, scipy and matplotlib if they are installed in the
test programs' environment.
"""
