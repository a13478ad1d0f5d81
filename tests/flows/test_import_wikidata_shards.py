"""Tests that a dump gives the same bytes for any division, number of processes, and after a kill."""

import bz2
import gzip
import json
import os
import random
import signal

import pytest

from flows import importing
from flows.run.engine.processes import Processes
from tasks.errors import BadInput, StageFailed
from tasks.sources.importers import wikidata
from tasks.sources.importers.wikidata import read_dump, write_all
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.parts import read_part
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.shards import PartSize, plan_parts
from tests.flows.sample import ROOT
from tests.sources.wikidata.scenes import entity, item, statement, text, time

ALL = EntitySelection()
SMALL = PartSize(packed=1_000, plain=3_000)
TABLES = ("claims.parquet", "entities.parquet")


def make_lines():
    """Return lines of a dump: 60 unordered items with duplicates, and invalid lines between them."""
    draws = random.Random(3)
    made = []
    for number in draws.sample(range(1, 500), 60):
        name = f"Q{number}"
        claims = [statement(item("P31", "Q5"), place, name) for place in range(draws.randrange(3))]
        unknown = {"snaktype": "somevalue", "property": "P569"}
        made.append(
            entity(
                name, *claims, statement(text("P1", draws.randbytes(99).hex()), 0, name), statement(unknown)
            )
        )
    twice = entity(made[2]["id"], statement(time("P2", "+1900-02-30T00:00:00Z")), label="again")
    moved = entity("Q900", redirects={"from": "Q901", "to": "Q900"})
    rows = (*made[:40], twice, moved, entity("P8"), *made[40:], made[0])
    lines = [json.dumps(row).encode() for row in rows]
    return [*lines[:20], b"{", b'{"id": "Q3"}', *lines[20:], b"7"]


def pack_streams(content, size=700):
    """Compress the content as several streams that end within lines."""
    return b"".join(bz2.compress(content[at : at + size]) for at in range(0, len(content), size))


PACKS = {"json": bytes, "json.gz": gzip.compress, "json.bz2": pack_streams}


def write_shards(folder, count, kind, lines=None):
    lines = lines or make_lines()
    step = -(-len(lines) // count)
    paths = []
    for number in range(count):
        body = b"[\n" + b",\n".join(lines[number * step : (number + 1) * step]) + b"\n]\n"
        paths.append(folder / f"{count}-{number}.{kind}")
        paths[-1].write_bytes(PACKS[kind](body))
    return paths


def bring_in(paths, folder, workers=1, said=None, size=SMALL):
    """Import files; return the written rows, the skipped entities, and the counts."""
    lines = []
    report = ReadingReport(lines.append)
    say = ([] if said is None else said).append
    engine = Processes(workers, say=say) if workers > 1 else None

    def work(pieces):
        importing.work(ROOT, engine, pieces, "threads", 1)

    counts = read_dump(paths, ALL, folder, report, work=work, say=say, size=size)
    assert not (folder / ".parts").exists()
    found = (counts, report.not_asked, report.redirects)
    return [(folder / name).read_bytes() for name in TABLES], lines, found


def read_in_turn(paths, folder):
    """Return the same as `bring_in`, by sequential reading with rows in memory."""
    lines = []
    report = ReadingReport(lines.append)
    counts = write_all(folder, DumpSource(paths).read(ALL, report), report)
    found = (counts, report.not_asked, report.redirects)
    return [(folder / name).read_bytes() for name in TABLES], lines, found


def forget_places(lines):
    return [{**json.loads(line), "where": ""} for line in lines]


@pytest.mark.parametrize("kind", PACKS)
def test_the_same_bytes_come_of_any_number_of_shards(tmp_path, kind):
    tables, lines, found = read_in_turn(write_shards(tmp_path, 1, "json"), tmp_path / "whole")
    assert found[0] == (61, tables_claims(tmp_path / "whole"))
    reasons = [json.loads(line)["reason"] for line in lines]
    assert (reasons.count("entity twice"), reasons.count("broken line"), found[2]) == (2, 1, {"Q901": "Q900"})
    for count in (1, 2, 4):
        paths = write_shards(tmp_path, count, kind)
        alone = read_in_turn(paths, tmp_path / "turn")
        parted = bring_in(paths, tmp_path / f"{kind}-{count}")
        assert parted == alone
        assert (parted[0], parted[2]) == (tables, found)
        assert forget_places(parted[1]) == forget_places(lines)
    parts = plan_parts(write_shards(tmp_path, 1, kind), ALL, SMALL)
    assert len(parts) == 1 if kind == "json.gz" else len(parts) > 4


def tables_claims(folder):
    import pyarrow.parquet as pq

    return pq.read_metadata(folder / "claims.parquet").num_rows


@pytest.mark.parametrize(("kind", "count"), [("json.gz", 4), ("json.bz2", 1)])
def test_two_processes_give_the_bytes_of_one(tmp_path, kind, count):
    paths = write_shards(tmp_path, count, kind)
    size = PartSize(packed=6_000)
    assert 2 <= len(plan_parts(paths, ALL, size)) <= 8
    assert bring_in(paths, tmp_path / "two", 2, size=size) == read_in_turn(paths, tmp_path / "turn")


@pytest.mark.parametrize("kind", PACKS)
def test_a_shard_that_is_cut_off_is_as_in_one_reading(tmp_path, kind):
    paths = write_shards(tmp_path, 2, kind)
    paths[0].write_bytes(paths[0].read_bytes()[: paths[0].stat().st_size * 2 // 3])
    assert bring_in(paths, tmp_path / "parts") == read_in_turn(paths, tmp_path / "turn")


@pytest.mark.parametrize("how", ["zeros", "cut stream", "rubbish between"])
def test_a_damaged_stream_ends_its_file_as_in_one_reading(tmp_path, how):
    (path,) = write_shards(tmp_path, 1, "json.bz2")
    content = path.read_bytes()
    (_, second, third, *_) = [part.begin for part in plan_parts([path], ALL, SMALL)]
    middle = (second + third) // 2
    damaged = {
        "zeros": content[:middle] + bytes(40) + content[middle + 40 :],
        "cut stream": content[: third - 20] + content[third:],
        "rubbish between": content[:third] + b"rubbish" + content[third:],
    }[how]
    path.write_bytes(damaged)
    turn = read_in_turn([path], tmp_path / "turn")
    assert 0 < turn[2][0][0] < 61
    assert bring_in([path], tmp_path / "parts") == turn


def test_lines_longer_than_parts_and_a_whole_document_are_read_whole(tmp_path):
    long = [json.dumps(entity(f"Q{n}", label="x" * 9_000)).encode() for n in (1, 2, 3)]
    paths = [path for kind in ("json", "json.bz2") for path in write_shards(tmp_path, 1, kind, long)]
    paths.append(tmp_path / "answer.json")
    paths[-1].write_text(json.dumps(entity("Q4", label="y" * 9_000), indent=1))
    parted = bring_in(paths, tmp_path / "parts")
    assert parted == read_in_turn(paths, tmp_path / "turn")
    assert parted[2][0] == (4, 0)


def interrupt_after(monkeypatch, count):
    """Make reading stop, like a kill, after `count` parts; return the list of parts read."""
    done = []

    def read(part, *others):
        if len(done) == count:
            raise KeyboardInterrupt
        read_part(part, *others)
        done.append(part.key)

    monkeypatch.setattr(wikidata, "read_part", read)
    return done


def test_what_was_read_before_an_end_is_not_read_again(tmp_path, monkeypatch):
    paths = write_shards(tmp_path, 2, "json")
    parts = plan_parts(paths, ALL, SMALL)
    first = interrupt_after(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        bring_in(paths, tmp_path / "parts")
    assert not (tmp_path / "parts/entities.parquet").exists()
    half = tmp_path / f"parts/.parts/.{parts[3].key}.999999999"
    half.mkdir()
    second, said = interrupt_after(monkeypatch, len(parts)), []
    assert bring_in(paths, tmp_path / "parts", said=said) == read_in_turn(paths, tmp_path / "turn")
    assert said == [f"3 of {len(parts)} parts were already read"]
    assert first + second == [part.key for part in parts]


def test_a_changed_file_or_selection_is_read_anew(tmp_path, monkeypatch):
    paths = write_shards(tmp_path, 2, "json")
    before = [part.key for part in plan_parts(paths, ALL, SMALL)]
    interrupt_after(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        bring_in(paths, tmp_path / "parts")
    other = [part.key for part in plan_parts(paths, EntitySelection(properties=frozenset({"P1"})), SMALL)]
    assert not set(before) & set(other)
    paths[0].write_bytes(paths[0].read_bytes().replace(b'"one"', b'"two"'))
    os.utime(paths[0], ns=(1, 1))
    again, said = interrupt_after(monkeypatch, 99), []
    assert bring_in(paths, tmp_path / "parts", said=said) == read_in_turn(paths, tmp_path / "turn")
    assert (said, len(again)) == ([], len(before))


def test_a_file_that_changes_meanwhile_is_refused(tmp_path, monkeypatch):
    (path,) = write_shards(tmp_path, 1, "json.gz")

    def read(part, *others):
        read_part(part, *others)
        os.utime(path, ns=(1, 1))

    monkeypatch.setattr(wikidata, "read_part", read)
    with pytest.raises(BadInput, match="changed while it was being read"):
        bring_in([path], tmp_path / "parts")


class KilledWork:
    """Reads a part in another process, which is killed a given number of times while it reads a file."""

    def __init__(self, path, times):
        self.path, self.times = path, times

    def __call__(self, part, selection, store):
        marks = list(store.glob("../kill-*"))
        if part.path == self.path and len(marks) < self.times:
            (store.parent / f"kill-{len(marks)}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        read_part(part, selection, store)


def test_a_worker_that_is_killed_costs_its_part_alone(tmp_path, monkeypatch):
    paths = write_shards(tmp_path, 3, "json.gz")
    (tmp_path / "parts").mkdir()
    said = []
    monkeypatch.setattr(wikidata, "read_part", KilledWork(paths[1], 2))
    with pytest.raises(StageFailed, match=r"3-1\.json\.gz, bytes 0 to the end: the process was .* twice"):
        bring_in(paths, tmp_path / "parts", 2, said)
    assert said == ["3-1.json.gz, bytes 0 to the end: its process was killed; the shard is run again"]
    assert len(list((tmp_path / "parts/.parts").iterdir())) == 2
    monkeypatch.undo()
    assert bring_in(paths, tmp_path / "parts", 1, said) == read_in_turn(paths, tmp_path / "turn")
    assert said[1:] == ["2 of 3 parts were already read"]


class FailedWork:
    """Fails in the second part with an error of a given length; the first part does not end."""

    def __init__(self, size):
        self.size = size

    def __call__(self, part, selection, store):
        if part.path.name == "3-0.json.gz":
            signal.pause()
        raise StageFailed("x" * self.size)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("size", [10, 2**20])
def test_an_error_of_any_length_ends_the_import(tmp_path, monkeypatch, size):
    paths = write_shards(tmp_path, 3, "json.gz")
    monkeypatch.setattr(wikidata, "read_part", FailedWork(size))
    with pytest.raises(StageFailed) as raised:
        bring_in(paths, tmp_path / "parts", 2)
    assert len(str(raised.value)) == size
