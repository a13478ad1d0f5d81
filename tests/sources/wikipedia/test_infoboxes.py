from tasks.sources.wikipedia.pages import read_page


def test_what_only_sounds_like_a_look_is_kept():
    box = (
        "{{Infobox x|bats=right|driving_side=left|best_picture=Moonlight|caption_align=left|float=right|picture=a|picture_size=9"
        "|image=x.jpg|logo_size=50px}}"
    )
    assert [(part.headers[0], part.text) for part in read_page(box).parts] == [
        ("bats", "right"),
        ("driving_side", "left"),
        ("best_picture", "Moonlight"),
    ]
