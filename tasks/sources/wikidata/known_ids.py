"""A set of entity ids that uses one bit per id: 17 MB for all items of Wikidata."""

from __future__ import annotations

BLOCK = 4_096


class KnownIds:
    """A set of ids such as Q42 and P31."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, int], bytearray] = {}

    def __contains__(self, name: str) -> bool:
        """Return whether an id is in the set."""
        block, place = divmod(int(name[1:]), BLOCK)
        bits = self._blocks.get((name[0], block))
        return bits is not None and bool(bits[place // 8] & 1 << place % 8)

    def add(self, name: str) -> bool:
        """Add an id; return whether it is new."""
        block, place = divmod(int(name[1:]), BLOCK)
        bits = self._blocks.setdefault((name[0], block), bytearray(BLOCK // 8))
        byte, bit = place // 8, 1 << place % 8
        if bits[byte] & bit:
            return False
        bits[byte] |= bit
        return True
