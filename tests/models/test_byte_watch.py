import re
import time

from tasks.models.serving.fetching import MB, watch_bytes


def test_bytes_rate_and_time_left_are_said_while_a_file_comes(tmp_path):
    said = []
    with watch_bytes(tmp_path, 10 * MB, said.append, pause_s=0.02):
        time.sleep(0.1)
        (tmp_path / "part").mkdir()
        (tmp_path / "part/a").write_bytes(b"x" * (5 * MB))
        time.sleep(0.3)
    assert said[0] == "0 of 10 MB, 0.0 MB/s, nothing received yet"
    assert re.fullmatch(r"5 of 10 MB, [\d.]+ MB/s, 0:0\d left", said[-1])
    lines = len(said)
    time.sleep(0.1)
    assert len(said) == lines  # nothing after the block
