"""The recordings themselves, read independently of Yeoul: who follows whom, and where samples lie."""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

CONTAINERS = {b"moov", b"trak", b"mdia", b"udta", b"mvex", b"moof", b"traf"}


def boxes(data, start=0, end=None):
    """(type, start, content start, end) of each box that is wholly inside `data`, and of a torn last one."""
    end = len(data) if end is None else end
    while start + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, start)
        header = 8
        if size == 1 and start + 16 <= end:
            size, header = struct.unpack_from(">Q", data, start + 8)[0], 16
        if size == 0:
            size = end - start
        if size < header:
            return
        yield kind, start, start + header, start + size
        start += size


def find(data, kind, start=0, end=None):
    """Every box of a type, looked for inside containers too, as (content start, end)."""
    for found, _, content, stop in boxes(data, start, end):
        if stop > len(data):
            continue
        if found == kind:
            yield content, stop
        elif found in CONTAINERS:
            yield from find(data, kind, content, stop)


@dataclass
class Recording:
    """One usable file: its place in the broadcast, None for the three where it has no mtxi."""

    path: Path
    stream: bytes | None
    number: int | None
    dts: int | None
    ntp: int | None


def recording(path):
    """The file as a recording; None where it has no whole `moov` or nothing after it."""
    data = path.read_bytes()
    top = list(boxes(data))
    if not any(kind == b"moov" and end <= len(data) for kind, _, _, end in top):
        return None
    if not any(kind == b"mdat" for kind, *_ in top):
        return None
    for content, end in find(data, b"mtxi"):
        stream, number, dts, ntp = struct.unpack_from(">16sQqq", data, content + 4)
        return Recording(path, stream, number, dts, ntp)
    return Recording(path, None, None, None, None)


def in_order(source):
    """The usable recordings of a folder (or the one file) in the order of the broadcast."""
    files = sorted(source.glob("*.mp4")) if source.is_dir() else [source]
    usable = [found for found in map(recording, files) if found]
    takes = {}
    for one in usable:
        takes.setdefault(one.stream, []).append(one)

    def anchor(take):
        if take[0].stream is None:
            return 0
        later = [one for one in take if one.number > 0] or take
        first = min(later, key=lambda one: one.number)
        return first.ntp - first.dts

    for take in takes.values():
        take.sort(key=lambda one: (one.number or 0, one.dts or 0))
    return [one for take in sorted(takes.values(), key=anchor) for one in take]


def take_count(source):
    """How many publishers' runs there are among the usable recordings."""
    return len({one.stream for one in in_order(source)})


def header_bytes(path):
    """Bytes of the file that are not `mdat` payload, and how many parts it has."""
    data = path.read_bytes()
    payload = [min(end, len(data)) - content for kind, _, content, end in boxes(data) if kind == b"mdat"]
    return len(data) - sum(payload), len(payload)


def tracks(data):
    """(track id, handler) of each track, in `trak` order."""
    found = []
    for start, end in find(data, b"trak"):
        tkhd, _ = next(find(data, b"tkhd", start, end))
        hdlr, _ = next(find(data, b"hdlr", start, end))
        version = data[tkhd]
        found.append((struct.unpack_from(">I", data, tkhd + (20 if version else 12))[0], data[hdlr + 8 : hdlr + 12]))
    return found


def whole_samples(path):
    """Hashes of the samples that lie wholly in a (torn) MediaMTX recording: {handler: [SHA-256, …]} of first tracks.

    Reads only what MediaMTX writes: `default-base-is-moof`, sizes in the `trun`. Zeros at the end of a torn part are
    what the file system put there, not payload.
    """
    data = path.read_bytes()
    there = len(data)
    if any(kind == b"mdat" and end > len(data) for kind, _, _, end in boxes(data)):
        there = len(data.rstrip(b"\0"))
    first = {}
    for track, handler in tracks(data):
        first.setdefault(handler, track)
    kept = {handler: [] for handler in first}
    for kind, moof, content, end in boxes(data):
        if kind != b"moof" or end > len(data):
            continue
        for traf, _, traf_start, traf_end in boxes(data, content, end):
            if traf != b"traf":
                continue
            track = None
            for child, _, at, _ in boxes(data, traf_start, traf_end):
                if child == b"tfhd":
                    track = struct.unpack_from(">I", data, at + 4)[0]
                handler = next((name for name, chosen in first.items() if chosen == track), None)
                if child == b"trun" and handler is not None:
                    for start, size in run(data, at, moof):
                        if start + size <= there:
                            kept[handler].append(hashlib.sha256(data[start : start + size]).hexdigest())
    return kept


def run(data, at, moof):
    """(offset, size) of each sample of a `trun` whose content begins at `at`."""
    flags, count, offset = struct.unpack_from(">IIi", data, at)
    if flags & 0x201 != 0x201:
        raise ValueError(f"trun at {at}: no data offset or no sizes, not as MediaMTX writes")
    at += 12 + (4 if flags & 0x4 else 0)
    width = 4 * bin(flags & 0xF00).count("1")
    before_size = 4 if flags & 0x100 else 0
    start = moof + offset
    for index in range(count):
        size = struct.unpack_from(">I", data, at + index * width + before_size)[0]
        yield start, size
        start += size
