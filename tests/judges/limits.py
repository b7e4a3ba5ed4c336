"""What a repack may cost and what broken input may do: system calls, memory, exit codes, torn files."""

import shutil
import subprocess
from pathlib import Path

import cases
import hls
import recordings
import syscalls
from ffmpeg import Failure, sync_samples

# Of the payload, at most this is read at each video sync sample (parameter sets, NAL types).
PEEK = 4096
# The head of a recording is read to put it in its place and again when its turn comes.
HEADS_READ = 2
# The share of a recording of ordinary size that may be read in user space.
READ_SHARE = 0.02
ORDINARY = 1_000_000
MOST_KIB = 16 * 1024


def judge_all(report, args, work):
    """The checks that do not go kind by kind."""
    folder = args.recordings or cases.TESTDATA
    if not args.kind or "reconnects" in args.kind:
        for layout in cases.LAYOUTS:
            report.check(f"strace reconnects {layout}", only_headers_read, args, folder / "reconnects", layout, work)
    if args.kind:
        return
    report.check("exit-codes", exit_codes, args, folder, work)
    for path in sorted((folder / "torn").glob("*.mp4")):
        if recordings.recording(path):
            report.check(f"torn {path.name}", whole_samples_kept, args, path, work)
    report.check("torn folder", torn_folder, args, folder / "torn", work)
    if not report.only or "memory" in report.only:
        hour = work / "hour"
        report.check(f"memory: write an hour of {args.hour_bytes}", write_hour, args, hour)
        for jobs in (1, 8):
            report.check(f"memory --jobs {jobs}", small_memory, args, hour, jobs, work)


def only_headers_read(args, source, layout, work):
    """Payload goes by copy_file_range, all of it and nothing else; user space reads headers."""
    source = source.resolve()
    order = recordings.in_order(source)
    paths = [str(one.path) for one in order]
    command = [args.yeoul, "repack", source, "-o", work / "traced", "--layout", layout, "--jobs", "2"]
    done, trace = syscalls.traced(command, work / "strace.log", paths)
    shutil.rmtree(work / "traced", ignore_errors=True)
    if done.returncode != 0:
        raise Failure(f"repack under strace exits {done.returncode}: {done.stderr.strip()[:300]}")
    if trace.otherwise:
        raise Failure(f"payload went another way: {sorted(set(trace.otherwise))[:5]}")
    wanted = sum(p.size for packets in cases.expected(source, args.ffmpeg[0]).values() for p in packets)
    copied, read = sum(trace.copied.values()), sum(trace.read.values())
    if copied != wanted:
        raise Failure(f"{copied:,} bytes by copy_file_range, the kept samples are {wanted:,}")
    if not read:
        raise Failure("the judge is blind: strace shows no read of a recording")
    allowed = sum(map(most_read, paths))
    if read > allowed:
        raise Failure(f"{read:,} bytes read in user space, headers and sync samples are {allowed:,}")
    ordinary = [path for path in paths if Path(path).stat().st_size >= ORDINARY]
    shares = [trace.read[path] / Path(path).stat().st_size for path in ordinary]
    if not shares or max(shares) >= READ_SHARE:
        raise Failure(f"{max(shares, default=0):.2%} of a recording read in user space (limit {READ_SHARE:.0%})")
    return f"{copied:,} bytes by copy_file_range, {read:,} read, at most {max(shares):.2%} of a recording"


def most_read(path):
    """How much of a recording there is to read without payload."""
    headers, parts = recordings.header_bytes(Path(path))
    # Each part may cost one read too many at its end, where the next header is looked for.
    return HEADS_READ * headers + PEEK * sync_samples(path) + 64 * parts


def exit_codes(args, folder, work):
    """0 done, 1 refused, 2 wrong usage; a refused input leaves nothing behind."""
    out = work / "codes"
    wanted = [
        (1, ["repack", folder / "torn" / "empty.mp4", "-o", out]),
        (1, ["repack", folder / "torn" / "mid-moov.mp4", "-o", out]),
        (1, ["repack", folder / "torn" / "no-parts.mp4", "-o", out]),
        (1, ["repack", folder / "not-there.mp4", "-o", out]),
        (1, ["verify", folder / "torn" / "empty.mp4"]),
        (2, ["repack", folder / "reconnects"]),
        (2, ["repack", folder / "reconnects", "-o", out, "--layout", "ts"]),
        (2, ["no-such-command"]),
        (0, ["--help"]),
        (0, ["--version"]),
        (0, ["inspect", folder / "plain-4s.mp4"]),
    ]
    for code, words in wanted:
        done = subprocess.run([args.yeoul, *map(str, words)], capture_output=True, text=True, timeout=60)
        said = f"`yeoul {' '.join(map(str, words))}` exits {done.returncode}, not {code}: {done.stderr.strip()[:300]}"
        if done.returncode != code or "panicked" in done.stderr:
            raise Failure(said)
        if code and not (done.stderr + done.stdout).strip():
            raise Failure(f"`yeoul {' '.join(map(str, words))}` fails without a word")
        if out.exists() or list(work.glob("*codes*")):
            raise Failure(f"`yeoul {' '.join(map(str, words))}` left something behind")


def whole_samples_kept(args, source, work):
    """Of a torn recording every sample that is wholly there is kept, to the last."""
    wanted = recordings.whole_samples(source)
    out = work / "torn"
    cases.succeed([args.yeoul, "repack", source, "-o", out])
    cases.succeed([args.yeoul, "verify", out])
    seen = {"video": [], "audio": []}
    for run in hls.runs(out / "index.m3u8"):
        for kind, packets in args.ffmpeg[0].packets(hls.joined(run, work / "run.mp4")).items():
            seen[kind] += [packet.hash for packet in packets]
    shutil.rmtree(out)
    for kind, handler in (("video", b"vide"), ("audio", b"soun")):
        if seen[kind] != wanted[handler]:
            raise Failure(f"{len(seen[kind])} {kind} samples, {len(wanted[handler])} are wholly there")
    return f"{len(seen['video'])} video, {len(seen['audio'])} audio samples"


def torn_folder(args, source, work):
    """A folder with some usable recordings is packed, and the others are named in the warnings."""
    out = work / "torn"
    cases.succeed([args.yeoul, "repack", source, "-o", out])
    cases.succeed([args.yeoul, "verify", out])
    manifest = (out / "yeoul.json").read_text(encoding="utf-8")
    shutil.rmtree(out)
    silent = [name for name in ("empty.mp4", "mid-moov.mp4", "no-parts.mp4") if name not in manifest]
    if silent:
        raise Failure(f"yeoul.json does not name {silent}")


def write_hour(args, hour):
    """A sparse one-hour recording by the recorder of the tests."""
    cases.succeed([args.testkit, "hour", hour, "--bytes", args.hour_bytes, "--seed", "1"])
    size = sum(path.stat().st_size for path in hour.rglob("*.mp4"))
    free = shutil.disk_usage(hour).free
    if free < size:
        raise Failure(f"{free:,} bytes free, the repacked hour needs up to {size:,}: give --work on a larger disk")
    return f"{size:,} bytes"


def small_memory(args, hour, jobs, work):
    """Peak RSS of a repack of that hour, as `time` saw it."""
    out, peak = work / "hour-out", work / "peak"
    # Not by getrusage here: a child's figure begins with the memory of the process that started it.
    cases.succeed(
        ["/usr/bin/time", "-f", "%M", "-o", peak, args.yeoul, "repack", hour, "-o", out, "--jobs", jobs]
    )
    kib = int(peak.read_text().split()[-1])
    cases.succeed([args.yeoul, "verify", out])
    shutil.rmtree(out)
    if kib > MOST_KIB:
        raise Failure(f"{kib:,} KiB at the peak, the limit is {MOST_KIB:,}")
    return f"{kib:,} KiB at the peak"
