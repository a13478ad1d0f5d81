from tasks.sources.wikipedia.pages import read_page


def test_what_only_sounds_like_a_look_is_kept():
    box = (
        "{{Infobox x|bats=right|driving_side=left|best_picture=Moonlight|caption_align=left|float=right|picture=a|picture_size=9"
        "|image=x.jpg|logo_size=50px}}"
    )
    read = read_page(box)
    assert [(part.headers[0], part.text) for part in read.parts] == [
        ("bats", "right"),
        ("driving_side", "left"),
        ("best_picture", "Moonlight"),
    ]
    assert read.looks == {
        "caption_align": 1, "float": 1, "image": 1, "logo_size": 1, "picture": 1, "picture_size": 1,
    }  # fmt: skip
