from __future__ import annotations

import pytest

from tasks.sources.films import split_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Al Pacino, Diane Keaton", ["Al Pacino", "Diane Keaton"]),
        ("Ed Begley, Jr., Robert Downey", ["Ed Begley, Jr.", "Robert Downey"]),
        ("Joaquin Garay, III", ["Joaquin Garay, III"]),
        ("Rainier III, Prince of Monaco", ["Rainier III, Prince of Monaco"]),
        ("Leander Ward, 6th Earl of Dudley", ["Leander Ward, 6th Earl of Dudley"]),
        ("20th Century Animation, 20th Century Studios", ["20th Century Animation", "20th Century Studios"]),
        ("Earl Boen, King Vidor, Prince", ["Earl Boen", "King Vidor", "Prince"]),
        ("Crosby, Stills & Nash, Janis Joplin", ["Crosby, Stills & Nash", "Janis Joplin"]),
        ("Penn & Teller, Tom Hanks", ["Penn & Teller", "Tom Hanks"]),
        ("Ann Lee, Shu, Guozhi", ["Ann Lee", "Shu, Guozhi"]),
        ("Ann Lee, Ann Lee", ["Ann Lee"]),
        ("", []),
        (None, []),
    ],
)
def test_names_that_hold_a_comma_stay_whole(text: str | None, names: list[str]) -> None:
    assert split_names(text) == names
