"""ffmpeg as a judge: packets, warnings and sound of a file or playlist."""

import re
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

Packet = namedtuple("Packet", "size hash")

# What ffmpeg says of a correct output because of what ffmpeg itself cannot do:
# (line, tag that the playlist must have so many times, the limit)
LIMITS = [
    (
        r"Found duplicated MOOV Atom\. Skipped it",
        ("#EXT-X-MAP:", 2),
        "its HLS reader feeds every EXT-X-MAP into one MP4 demuxer, which keeps the first moov that it sees",
    ),
    (
        r"timestamp discontinuity \(stream id=#\)",
        ("#EXT-X-GAP", 1),
        "it does not know EXT-X-GAP and takes a kept gap of more than ten seconds for a fault",
    ),
]


class Ffmpeg:
    """One ffmpeg executable."""

    def __init__(self, path):
        self.path = str(path)
        banner = subprocess.run([self.path, "-version"], capture_output=True, text=True, check=True).stdout
        self.version = re.match(r"ffmpeg version n?([0-9.]*[0-9])", banner)[1]

    def __str__(self):
        return f"ffmpeg {self.version}"

    def run(self, *args, text=True):
        command = [self.path, "-nostdin", "-hide_banner", *map(str, args)]
        return subprocess.run(command, capture_output=True, text=text, errors="replace" if text else None, timeout=600)

    def packets(self, source):
        """Packets of the first video and the first audio stream: {"video": [Packet, …], "audio": […]}."""
        # An edit list would hide packets of a plain MP4; what is compared is what is stored.
        before = ["-ignore_editlist", "1"] if Path(source).suffix == ".mp4" else []
        done = self.run(
            *["-v", "error", *before, "-i", source, "-map", "0:v:0?", "-map", "0:a:0?"],
            *["-c", "copy", "-copyts", "-copyinkf", "-f", "framehash", "-"],
        )
        if done.returncode != 0:
            raise Failure(f"{self} cannot read {source}: {done.stderr.strip()[:300]}")
        kinds, found = {}, {"video": [], "audio": []}
        for line in done.stdout.splitlines():
            if media := re.match(r"#media_type (\d+): (\w+)", line):
                kinds[media[1]] = media[2]
            elif not line.startswith("#"):
                stream, _, _, _, size, digest = [column.strip() for column in line.split(",")][:6]
                found[kinds[stream]].append(Packet(int(size), digest))
        return found

    def warnings(self, source):
        """What decoding the whole source prints at `-v warning`, without addresses and numbers."""
        done = self.run("-v", "warning", "-i", source, "-f", "null", "-")
        lines = done.stderr.splitlines()
        if done.returncode != 0:
            lines.append(f"exit code {done.returncode}")
        return {plain(line) for line in lines if line.strip() and "Last message repeated" not in line}

    def pcm(self, source, track=0, rate=48_000):
        """An audio track decoded to mono, as signed 16-bit samples in a bytes object."""
        done = self.run(
            *["-v", "error", "-i", source, "-map", f"0:a:{track}", "-ac", "1", "-ar", rate, "-f", "s16le", "-"],
            text=False,
        )
        if done.returncode != 0:
            raise Failure(f"{self} cannot decode {source}: {done.stderr.decode(errors='replace').strip()[:300]}")
        return done.stdout


class Failure(Exception):
    """A check that did not hold; the message says where."""


def plain(line):
    """A line of ffmpeg's without what differs from file to file."""
    line = re.sub(r"^\[\S+( @ 0x[0-9a-f]+)?\] (\[\w+\] )?", "", line.strip())
    line = re.sub(r"^\[\S+ @ 0x[0-9a-f]+\] ", "", line)
    line = re.sub(r"^\[(warning|error|fatal)\] ", "", line)
    return re.sub(r"-?\d+(\.\d+)?", "#", line)


def own_limit(line, playlists):
    """Whether a line is one of ffmpeg's own limits, met by these playlists (their text)."""
    return any(
        re.search(pattern, line) and playlists.count(tag) >= times for pattern, (tag, times), _ in LIMITS
    )


def sync_samples(path):
    """How many packets of the first video stream are keyframes, by the system's ffprobe."""
    done = subprocess.run(
        [shutil.which("ffprobe") or "ffprobe", "-v", "quiet", "-select_streams", "v:0"]
        + ["-show_entries", "packet=flags", "-of", "csv=p=0", str(path)],
        capture_output=True,
        text=True,
    )
    return sum(line.startswith("K") for line in done.stdout.splitlines())
