"""Run all benchmarks, or the named benchmarks: `python -m bench [NAME ...]`."""

from __future__ import annotations

import importlib
import sys

from bench.measure import describe_machine

BENCHMARKS = (
    "help",
    "status",
    "overhead",
    "noop",
    "models",
    "column_profile",
    "fill_in",
    "scoring",
    "comparing",
    "assessment",
    "contracts",
    "execution",
    "longform",
    "streambench",
    "streambench_index",
    "wikidata",
    "wikidata_shards",
    "evidence",
    "engines",
    "pages",
    "nights",
)


def main() -> None:
    """Run the benchmarks named on the command line, by default all."""
    print(describe_machine())
    for name in sys.argv[1:] or BENCHMARKS:
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
