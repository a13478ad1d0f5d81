"""Run the `benchloom` command with `python -m benchloom`."""

from benchloom.launcher import main

if __name__ == "__main__":
    main()
