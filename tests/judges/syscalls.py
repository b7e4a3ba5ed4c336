"""What a process did with some files, from strace's log."""

import re
import subprocess
from collections import defaultdict

READS = {"read", "pread64", "readv", "preadv", "preadv2"}
TRACED = sorted(READS | {"copy_file_range", "sendfile", "splice", "mmap", "io_uring_setup"})


class Trace:
    """Bytes taken from each of the watched files, by the kind of call."""

    def __init__(self, watched):
        self.watched = {str(path) for path in watched}
        self.read = defaultdict(int)
        self.copied = defaultdict(int)
        self.otherwise = []

    def add(self, call, args, result):
        paths = re.findall(r"\d+<([^>]*)>", args)
        if call in READS or call == "copy_file_range":
            taken = self.read if call in READS else self.copied
            # Both name their source first.
            if paths and paths[0] in self.watched:
                taken[paths[0]] += max(result, 0)
        elif call == "io_uring_setup":
            self.otherwise.append("io_uring_setup, whose reads strace cannot see")
        else:
            self.otherwise += [f"{call} of {path}" for path in paths if path in self.watched]


def parse(log, watched):
    """A Trace of the lines of `strace -f -y -o`."""
    trace, open_calls = Trace(watched), {}
    for line in log.splitlines():
        if started := re.match(r"(\d+) +(\w+)\((.*?)( <unfinished \.\.\.>)$", line):
            open_calls[started[1]] = (started[2], started[3])
        elif resumed := re.match(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\w+)", line):
            call, args = open_calls.pop(resumed[1], (resumed[2], ""))
            trace.add(call, args + resumed[3], number(resumed[4]))
        elif whole := re.match(r"(\d+) +(\w+)\((.*)\) += (-?\w+)", line):
            trace.add(whole[2], whole[3], number(whole[4]))
    return trace


def number(text):
    try:
        return int(text, 0)
    except ValueError:
        return 0


def traced(command, log, watched):
    """Run the command under strace; its exit code and its Trace."""
    done = subprocess.run(
        ["strace", "-f", "-y", "-s", "0", "-e", f"trace={','.join(TRACED)}", "-o", str(log), *map(str, command)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
    )
    return done, parse(log.read_text(encoding="utf-8", errors="replace"), watched)
