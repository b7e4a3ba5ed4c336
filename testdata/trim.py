#!/usr/bin/env python3
"""Make the small recordings of this folder from full-size ones.

    testdata/trim.py ORIGINALS [-o DIR] [--ffmpeg PATH]

ORIGINALS holds a folder a kind (`reconnects/`, `hevc-opus/`, …) as MediaMTX wrote them. What is kept is kept byte for
byte; what goes are later parts (a whole `moof` + `mdat`) and whole files. Only the last file of a take is ever
shortened, so that every boundary between two files of a take is a real one. `plain-4s.mp4` is no recording: ffmpeg
copies its first half second, without decoding.
"""

import argparse
import hashlib
import shutil
import struct
import subprocess
import sys
from pathlib import Path

ALL = None  # every part of the file

# kind → what is kept: (position of the file among the kind's files by name, number of parts)
KEPT = {
    # Take 1 to its real end, the real cut of 3 s, the beginning of take 2, the last two files of take 3.
    "reconnects": [(8, ALL), (9, ALL), (10, 1), (23, ALL), (24, 1)],
    "1080p-six-audio": [(1, 1)],
    # From the first file, whose mtxi DTS is negative, over a boundary at a CRA picture.
    "hevc-opus": [(0, ALL), (1, 1)],
    "vp9-opus": [(0, ALL), (1, 1)],
    "av1-empty-files": [(0, ALL), (1, ALL), (2, 4), (3, ALL), (4, ALL)],
    "audio-only": [(0, ALL), (1, ALL), (2, ALL)],
    "video-only": [(2, 2)],
    # The file within which the picture size changes, and the next.
    "sps-change": [(2, ALL), (3, 1)],
    "killed": [(2, 2)],
}

# torn file → (whole parts kept, bytes of the next part kept, zero bytes after that), made from the file of `killed`.
TORN = {
    "mid-mdat.mp4": (1, 80_000, 0),
    "zero-tail.mp4": (1, 80_000, 65_536),
    "zero-after-part.mp4": (1, 0, 4_096),
    "mid-moov.mp4": (0, 0, 0),
    "no-parts.mp4": (0, 0, 0),
    "empty.mp4": (0, 0, 0),
}
MID_MOOV = 900
PLAIN_SECONDS = "0.5"
KOREAN = "방송"


def boxes(data):
    """Top-level boxes as (type, start, end); a box that claims more than there is ends with the data."""
    at = 0
    while at + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        if size == 1:
            size = struct.unpack(">Q", data[at + 8 : at + 16])[0]
        if size == 0:
            size = len(data) - at
        if size < 8:
            raise SystemExit(f"box {kind!r} at {at} claims {size} bytes")
        yield kind, at, min(at + size, len(data))
        at += size


def part_ends(data):
    """Offsets at which the file may be cut: after `moov`, then after each `mdat`."""
    ends = []
    for kind, _, end in boxes(data):
        if kind == b"moov":
            ends = [end]
        elif kind == b"mdat":
            ends.append(end)
    return ends


def trimmed(data, parts):
    """The file with its first `parts` parts."""
    if parts is ALL:
        return data
    ends = part_ends(data)
    if len(ends) <= parts:
        raise SystemExit(f"wanted {parts} parts, the file has {len(ends) - 1}")
    return data[: ends[parts]]


def torn(name, whole):
    parts, more, zeros = TORN[name]
    if name == "empty.mp4":
        return b""
    ends = part_ends(whole)
    if name == "mid-moov.mp4":
        return whole[:MID_MOOV]
    return whole[: ends[parts] + more] + bytes(zeros)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("originals", type=Path)
    args.add_argument("-o", "--output", type=Path, default=Path(__file__).parent)
    args.add_argument("--ffmpeg", default="ffmpeg", help="the ffmpeg that cuts plain-4s.mp4 (9 made the one here)")
    args = args.parse_args()
    out = args.output

    for kind, kept in KEPT.items():
        files = sorted((args.originals / kind).glob("*.mp4"))
        shutil.rmtree(out / kind, ignore_errors=True)
        (out / kind).mkdir(parents=True)
        for index, parts in kept:
            (out / kind / files[index].name).write_bytes(trimmed(files[index].read_bytes(), parts))

    killed = sorted((args.originals / "killed").glob("*.mp4"))[-1].read_bytes()
    shutil.rmtree(out / "torn", ignore_errors=True)
    (out / "torn").mkdir()
    for name in TORN:
        (out / "torn" / name).write_bytes(torn(name, killed))

    shutil.rmtree(out / KOREAN, ignore_errors=True)
    (out / KOREAN).mkdir()
    for number, source in enumerate(sorted((out / "audio-only").glob("*.mp4"))[:2], 1):
        shutil.copyfile(source, out / KOREAN / f"여울 녹화 {number}.mp4")

    subprocess.run(
        [args.ffmpeg, "-v", "error", "-y", "-i", args.originals / "plain-4s.mp4", "-map", "0", "-c", "copy"]
        + ["-t", PLAIN_SECONDS, "-map_metadata", "-1", "-fflags", "+bitexact", "-flags", "+bitexact"]
        + [out / "plain-4s.mp4"],
        check=True,
    )

    media = sorted(out.rglob("*.mp4"), key=lambda path: path.as_posix())
    with open(out / "SHA256SUMS", "w", encoding="utf-8") as sums:
        for path in media:
            sums.write(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(out).as_posix()}\n")
    total = sum(path.stat().st_size for path in media)
    print(f"{len(media)} files, {total:,} bytes in {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
