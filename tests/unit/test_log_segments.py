"""Segments of a log: what several processes append to them, and what is left where one of them dies or a disk fails."""

import os
import random
import shutil
from pathlib import Path

import pytest

import keylake as kl
from keylake._log import segments as module
from keylake._log.cursor import Cursor
from keylake._log.segment_files import packed_number
from keylake._log.segments import Segments
from keylake._log.store import Closed
from unit.log_segments import append, read


@pytest.fixture
def segments(tmp_path: Path) -> Segments:
    return Segments.create(tmp_path / "log")


def newest(segments: Segments) -> Path:
    return max(segments.folder.glob("*.log"))


def test_entries_are_read_in_their_order_from_any_number_on(segments: Segments) -> None:
    assert append(segments, b"a", b"", b"c") == range(3)
    assert append(Segments(segments.folder), b"d") == range(3, 4)
    assert read(segments) == [(0, b"a"), (1, b""), (2, b"c"), (3, b"d")]
    assert read(segments, 2) == [(2, b"c"), (3, b"d")]
    assert read(segments, 4) == []


def test_a_cursor_goes_on_where_it_was(segments: Segments) -> None:
    cursor = Cursor(segments, 0)
    assert cursor.new() == []
    for number in range(3):
        append(segments, bytes([number]))
        assert [frame.number for frame in cursor.new()] == [number]
    assert cursor.new() == []


def test_readers_see_what_is_durable_and_make_it_so(segments: Segments) -> None:
    segments.append([b"a"])
    assert segments.durable() == 1
    segments.append([b"b"])
    assert read(segments) == [(0, b"a"), (1, b"b")]


def test_segments_follow_each_other_and_old_ones_are_removed(
    segments: Segments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 100)
    entries = [(number, os.urandom(40)) for number in range(20)]
    for _, entry in entries:
        append(segments, entry)
    assert len(list(segments.folder.glob("*.log"))) > 5
    assert read(segments) == entries
    assert read(segments, 7) == entries[7:]
    segments.say_moved(10)
    segments.remove(10, older_than=60)
    assert segments.first() == 0, "they are too young"
    segments.remove(10, older_than=0)
    first = segments.first()
    assert 0 < first <= 10
    assert read(segments, first) == entries[first:]
    with pytest.raises(kl.SnapshotExpired, match=f"Entry 0 .* the oldest one is {first}"):
        read(segments)
    segments.remove(99, older_than=0)
    assert segments.first() < 20, "the newest segment stays"


@pytest.mark.parametrize("left", [1, 15, 16, 17, 30])
def test_an_entry_that_a_process_has_not_finished_is_removed(segments: Segments, left: int) -> None:
    append(segments, b"a")
    whole = newest(segments).read_bytes()
    append(segments, b"the entry of a process that is killed")
    (segments.folder / "durable").write_bytes(b"")  # nobody was told
    Segments(segments.folder).make_durable(1)
    newest(segments).write_bytes(newest(segments).read_bytes()[: len(whole) + left])
    (segments.folder / "durable").write_bytes(packed_number(1))
    again = Segments(segments.folder)
    assert append(again, b"c") == range(1, 2)
    assert read(again) == [(0, b"a"), (1, b"c")]


def test_zeros_behind_the_end_are_no_entries(segments: Segments) -> None:
    append(segments, b"a")
    with newest(segments).open("ab") as file:
        file.write(bytes(4096))  # as a disk may leave them that has lost power
    again = Segments(segments.folder)
    assert append(again, b"b") == range(1, 2)
    assert read(again) == [(0, b"a"), (1, b"b")]


@pytest.mark.parametrize("damage", [b"", b"\0" * 28, b"garbage that is no end at all"])
def test_an_end_that_is_damaged_is_found_again(segments: Segments, damage: bytes) -> None:
    append(segments, b"a", b"b")
    (segments.folder / "end").write_bytes(damage)
    again = Segments(segments.folder)
    assert append(again, b"c") == range(2, 3)
    assert read(again) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_an_entry_whose_end_was_not_noted_counts(segments: Segments) -> None:
    append(segments, b"a")
    end = (segments.folder / "end").read_bytes()
    append(segments, b"b")
    (segments.folder / "end").write_bytes(end)  # its process was killed before it could say so
    again = Segments(segments.folder)
    assert append(again, b"c") == range(2, 3)
    assert read(again) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_a_flipped_bit_is_told_and_nothing_is_cut_off(segments: Segments) -> None:
    append(segments, *(bytes(20) for _ in range(5)))
    file = newest(segments)
    whole = file.read_bytes()
    random_bits = random.Random(7)
    for _ in range(60):
        at, bit = random_bits.randrange(16, len(whole)), random_bits.randrange(8)
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
        number = (at - 16) // 36
        for act in (lambda: read(Segments(segments.folder)), lambda: append(Segments(segments.folder), b"more")):
            with pytest.raises(kl.StoreFailed, match=rf"Entry {number} of the log .*\.log is damaged.*skip\("):
                act()
        assert len(file.read_bytes()) == len(whole)
    file.write_bytes(whole)
    assert len(read(Segments(segments.folder))) == 5


def test_a_log_that_is_gone_is_told_and_not_made_anew(segments: Segments) -> None:
    for path in segments.folder.iterdir():
        path.unlink()
    segments.folder.rmdir()
    with pytest.raises(kl.StoreFailed, match=r"The log in .* is gone, or .*drop\(lost=True\)"):
        Segments(segments.folder).append([b"a"])
    assert not segments.folder.exists()


def test_a_folder_that_was_replaced_is_opened_anew(segments: Segments) -> None:
    append(segments, b"a")
    old = segments.folder.with_name("old")
    segments.folder.rename(old)
    with pytest.raises(kl.StoreFailed, match="is gone"):
        append(segments, b"lost")
    shutil.copytree(old, segments.folder)
    assert append(segments, b"b") == range(1, 2)
    assert read(Segments(segments.folder)) == read(segments) == [(0, b"a"), (1, b"b")]


def test_an_older_copy_of_a_log_takes_no_number_twice(segments: Segments) -> None:
    append(segments, b"a")
    with pytest.raises(kl.StoreFailed, match=r"goes on at entry 1, and entries before 4 were moved.*older copy"):
        segments.append([b"b"], least=4)
    assert read(segments) == [(0, b"a")]


@pytest.mark.parametrize("left", [b"", b"keyl"])
def test_a_segment_that_was_not_begun_is_none(segments: Segments, left: bytes) -> None:
    """As a disk that was full, or a process that was killed, leaves it."""
    append(segments, b"a")
    (segments.folder / f"{1:020d}.log.new").write_bytes(left)
    (segments.folder / f"{1:020d}.log").write_bytes(left)
    (segments.folder / "backup.log").write_bytes(left)
    again = Segments(segments.folder)
    assert append(again, b"b") == range(1, 2)
    assert read(again) == [(0, b"a"), (1, b"b")]


def test_a_reader_that_comes_first_after_a_loss_of_power(segments: Segments) -> None:
    """The disk has kept the end, and not the frame that it notes, of which nobody was told."""
    append(segments, b"a")
    whole = newest(segments).read_bytes()
    segments.append([b"b"])
    newest(segments).write_bytes(whole)
    again = Segments(segments.folder)
    assert again.durable() == 1
    assert read(again) == [(0, b"a")]
    assert append(again, b"c") == range(1, 2)
    assert read(again) == [(0, b"a"), (1, b"c")]


def test_nothing_is_cut_off_where_nobody_knows_what_is_durable(segments: Segments) -> None:
    append(segments, *(bytes([number]) * 20 for number in range(5)))
    (segments.folder / "durable").write_bytes(b"damaged")
    whole = newest(segments).read_bytes()
    newest(segments).write_bytes(whole[:52] + b"\xff\xff\xff\x7f" + whole[56:])  # the length of the second entry
    with pytest.raises(kl.StoreFailed, match="Entry 1 of the log"):
        append(Segments(segments.folder), b"more")
    assert len(newest(segments).read_bytes()) == len(whole)


def test_another_segment_begins_where_nothing_of_the_newest_can_be_read(segments: Segments) -> None:
    append(segments, b"a", b"b")
    (segments.folder / "end").write_bytes(b"damaged")
    newest(segments).write_bytes(b"damaged")
    again = Segments(segments.folder)
    with pytest.raises(kl.StoreFailed, match=r"skip\(until=1\)"):
        append(again, b"c")
    again.leave_out(1)
    assert append(again, b"c") == range(2, 3), "two entries were durable"
    assert read(again, 2) == [(2, b"c")]


def test_entries_are_kept_for_a_time_after_they_were_moved(segments: Segments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 1)
    for number in range(4):
        append(segments, bytes([number]))
    for path in segments.folder.glob("*.log"):
        os.utime(path, (0, 0))  # nobody has moved them for long
    (segments.folder / "moved").unlink()
    segments.say_moved(3)
    assert segments.moved() == 3
    segments.remove(3, older_than=60)
    assert segments.first() == 0
    segments.remove(3, older_than=0)
    assert segments.first() == 3


def test_segments_that_are_gone_are_told(segments: Segments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 1)
    for number in range(4):
        append(segments, bytes([number]))
    (segments.folder / f"{2:020d}.log").unlink()
    with pytest.raises(kl.StoreFailed, match=r"Entries 2 to 2 of the log are gone.*skip\(until=3\)"):
        read(segments)
    assert read(segments, 3) == [(3, b"\x03")]
    (segments.folder / f"{0:020d}.log").unlink()
    with pytest.raises(kl.StoreFailed, match=r"Entries 0 to 0 of the log are gone.*skip\(until=1\)"):
        read(segments)


def test_an_entry_has_a_limit(segments: Segments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_ENTRY", 10)
    with pytest.raises(kl.Unsupported, match="has 11 bytes, and takes at most 10"):
        segments.append([b"x" * 11])
    assert read(segments) == []


def test_a_closed_log_takes_nothing_from_anybody(segments: Segments) -> None:
    other = Segments(segments.folder)
    append(other, b"a")
    assert segments.close() == 1
    with pytest.raises(Closed):
        other.append([b"b"])
    segments.close(is_closed=False)
    assert append(other, b"b") == range(1, 2)
