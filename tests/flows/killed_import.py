"""Import a dump, and kill this process at file operation N: python -m tests.flows.killed_import N DUMP.

With N = 0, the process is not killed, and prints the number of file operations.
"""

import os
import signal
import sys
from pathlib import Path

from flows.importing import bring_in
from tasks.sources.importers.wikidata import Wikidata

OPERATIONS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"}


def main(wanted: int, dump: str) -> None:
    root, count = Path.cwd(), 0

    def hear(event: str, args: tuple[object, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
        if (writes or event in OPERATIONS) and str(root) in str(args[0]):
            count += 1
            if count == wanted:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)
    bring_in(root, Wikidata(places=[dump]))
    print(count)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
