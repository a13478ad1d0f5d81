"""Folders for the figures that DVC shows, beside the page, for tests of pages."""

from pathlib import Path


def place_figures(out: Path, *names: str) -> dict[str, Path]:
    return {name: out.with_name(f"{out.name}.{name}") for name in names}
