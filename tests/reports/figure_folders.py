"""Where a page's function writes the figures that DVC shows, in tests of the page: beside it."""

from pathlib import Path


def place_figures(out: Path, *names: str) -> dict[str, Path]:
    return {name: out.with_name(f"{out.name}.{name}") for name in names}
