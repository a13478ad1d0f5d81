"""Tests of streams' progress and remaining time."""

from collections import deque

from tasks.models.stream_board import RECENT, StreamBoard, StreamProgress


def test_time_left_is_by_the_last_steps():
    line = StreamProgress("one", 10, finished_at=deque([0.0, 1.0, 3.0], maxlen=RECENT + 1), done=2)
    assert line.estimate_left(3.0) == 1.5 * 8, "3 seconds for two steps"
    assert line.estimate_left(9.0) == 3.0 * 8, "a step that hangs makes it longer"
    assert StreamProgress("new", 10).estimate_left(5.0) is None
    assert StreamProgress("over", 2, done=2).estimate_left(5.0) == 0.0


def test_the_longest_way_first_and_no_more_lines_than_there_is_room_for():
    board = StreamBoard()
    with board.follow({f"s{number}": number for number in range(1, 6)}) as lines:
        lines["s1"].tell(True)
        assert len(lines["s1"].finished_at) == 2
        shown = board.describe(9)
        assert shown[0] == "streams: 1 of 5 done, step 1 of 15, time left unknown"
        assert [line.split()[0] for line in shown[1:]] == ["s5", "s4", "s3", "s2", "s1"]
        assert shown[-1].endswith("done")
        few = board.describe(4)
        assert [line.split()[0] for line in few[1:]] == ["s5", "s4", "and"]
        assert few[-1] == "  and 3 more"
        assert len(board.describe(1)) == 1
    assert board.describe(9) == []


def test_streams_of_one_name_in_two_stages_are_two():
    board = StreamBoard()
    with board.follow({"same": 3}) as one:
        with board.follow({"same": 3}):
            one["same"].tell(False)
            assert board.describe(9)[0].startswith("streams: 0 of 2 done, step 1 of 6")
        assert board.describe(9)[0].startswith("streams: 0 of 1 done, step 1 of 3")
