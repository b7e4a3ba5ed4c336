"""Just enough of HLS to lay segments end to end."""

import re
from pathlib import Path


def media_playlists(index):
    """The media playlists that a playlist leads to: itself, or those it names."""
    found = []
    for line in index.read_text(encoding="utf-8").splitlines():
        if line.startswith(("#EXT-X-MEDIA:", "#EXT-X-STREAM-INF:")):
            if uri := re.search(r'URI="([^"]+)"', line):
                found.append(uri[1])
        elif line and not line.startswith("#") and line.endswith(".m3u8"):
            found.append(line)
    return [index.parent / uri for uri in dict.fromkeys(found)] or [index]


def runs(playlist):
    """[init, segment, …] for each run of segments that share an init and have no discontinuity between them."""
    found, init, fresh, gap = [], None, True, False
    for line in playlist.read_text(encoding="utf-8").splitlines():
        if line.startswith("#EXT-X-MAP:"):
            init = playlist.parent / re.search(r'URI="([^"]+)"', line)[1]
            fresh = True
        elif line == "#EXT-X-DISCONTINUITY":
            fresh = True
        elif line == "#EXT-X-GAP":
            gap = True
        elif line and not line.startswith("#"):
            if not gap:
                if fresh:
                    found.append([init])
                found[-1].append(playlist.parent / line)
                fresh = False
            gap = False
    return found


def joined(run, target):
    """The init and segments of a run as one file."""
    with open(target, "wb") as whole:
        for path in run:
            whole.write(Path(path).read_bytes())
    return target
