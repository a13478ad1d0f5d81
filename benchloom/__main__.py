"""`python -m benchloom`: the command by the interpreter's name."""

from benchloom.launcher import main

if __name__ == "__main__":
    main()
