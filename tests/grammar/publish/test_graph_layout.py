import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.publish.graph_layout import lay_out

NAMES = [f"n{number}" for number in range(7)]
EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] < pair[1]))


@given(EDGES)
def test_edges_run_to_the_right_and_boxes_never_touch(numbers):
    edges = [(NAMES[source], NAMES[target]) for source, target in numbers]

    layout = lay_out(NAMES, edges)

    boxes = {box.name: box for box in layout.boxes}
    for source, target in edges:
        assert boxes[source].x + boxes[source].width < boxes[target].x
    for box in layout.boxes:
        assert box.x >= 0
        assert box.x + box.width <= layout.width
        assert box.y >= 0
        assert box.y + box.height <= layout.height
        for other in layout.boxes:
            apart = abs(box.x - other.x) >= box.width or abs(box.y - other.y) >= box.height
            assert box is other or apart


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        lay_out(["a", "b"], [("a", "b"), ("b", "a")])


def test_unknown_ends_are_left_out():
    assert lay_out(["a"], [("a", "b"), ("c", "a")]).edges == ()


def test_nothing_is_an_empty_picture():
    assert lay_out([], []).boxes == ()
