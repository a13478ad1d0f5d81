"""Code that runs inside the sandbox: the program's process, the verdict's process and their messages.

Besides the standard library, the code uses numpy, pandas, scipy and matplotlib if they are installed in the
test programs' environment.
"""
