"""Every kind of recording in both layouts: packets, warnings, sound, and the same bytes however it was run."""

import json
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import hls
import recordings
import tone
from ffmpeg import Failure, own_limit

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
GOLDEN = Path(__file__).with_name("golden.sha256")

LAYOUTS = ["muxed", "cmaf"]
KINDS = [
    "reconnects",
    "1080p-six-audio",
    "hevc-opus",
    "vp9-opus",
    "av1-empty-files",
    "audio-only",
    "video-only",
    "sps-change",
    "killed",
    "plain-4s.mp4",
    "방송",
]
# Kinds that only testdata/ has.
OWN = ["방송"]
# In these the other audio tracks are other sines, so that taking the wrong one is heard.
SIX_TONES = ["reconnects", "1080p-six-audio", "killed", "plain-4s.mp4"]
# What the first audio track plays, one after the other; elsewhere 220 Hz throughout.
TONES = {"sps-change": [220, 330]}


class Case:
    """One kind of recording in one layout, and where its output is."""

    def __init__(self, kind, source, layout, args, work):
        self.kind, self.source, self.layout, self.args = kind, source, layout, args
        self.work = work / f"{kind}-{layout}"
        self.work.mkdir()
        self.out = self.work / "out"
        self.index = self.out / "index.m3u8"

    def repack(self, yeoul, out, *options, source=None):
        """Run a repack; a Failure unless it exits 0."""
        command = [yeoul, "repack", source or self.source, "-o", out, "--layout", self.layout, *options]
        return succeed(command)

    def judged(self):
        """The output folder of the first run."""
        if not self.index.is_file():
            raise Failure(f"no {self.index.name}: the repack failed")
        return self.out


def succeed(command):
    """Run a command that must exit 0 without a panic; its standard output."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)
    if done.returncode != 0 or "panicked" in done.stderr:
        raise Failure(f"`{' '.join(command)}` exits {done.returncode}: {(done.stderr or done.stdout).strip()[:600]}")
    return done.stdout


def judge_all(report, args, work):
    """Every kind that was asked for."""
    folder = args.recordings or TESTDATA
    golden = {}
    for kind in args.kind or [kind for kind in KINDS if not args.recordings or kind not in OWN]:
        for layout in LAYOUTS:
            case = Case(kind, folder / kind, layout, args, work)
            judge_one(report, case, golden)
            shutil.rmtree(case.work)
    if args.bless:
        lines = [f"{digest}  {name}\n" for name, digest in sorted(golden.items())]
        GOLDEN.write_text("".join(lines), encoding="utf-8")
        print(f"wrote {len(lines)} sums to {GOLDEN}")


def judge_one(report, case, golden):
    """The checks of one kind in one layout."""
    name = f"{case.kind} {case.layout}"
    # Without this run there is nothing to judge, so it runs whatever was asked for.
    try:
        made, why = case.repack(case.args.yeoul, case.out, "--json"), None
    except Failure as failure:
        made, why = "", failure
    report.check(f"repack {name}", repacked, case, made, why)
    report.check(f"verify {name}", verified, case)
    for ffmpeg in case.args.ffmpeg:
        report.check(f"packets {name}, {ffmpeg}", same_packets, case, ffmpeg)
        report.check(f"warnings {name}, {ffmpeg}", no_new_warnings, case, ffmpeg)
    if case.kind != "video-only":
        report.check(f"tone {name}", right_tone_only, case)
    report.check(f"same {name}", same_however_run, case)
    if not case.args.recordings:
        golden |= {f"{case.kind}/{case.layout}/{path}": digest for path, digest in sums(case.out).items()}
        if not case.args.bless:
            report.check(f"golden {name}", as_golden, case)


def repacked(case, made, why):
    """Exit 0, JSON on standard output, one take for each publisher's run."""
    if why:
        raise why
    try:
        json.loads(made)
    except ValueError as error:
        raise Failure(f"--json printed no JSON ({error}): {made[:200]}") from error
    manifest = json.loads((case.out / "yeoul.json").read_text(encoding="utf-8"))
    wanted = recordings.take_count(case.source)
    if len(manifest["takes"]) != wanted:
        raise Failure(f"{len(manifest['takes'])} takes in yeoul.json, the recordings have {wanted}")
    leftover = [path.name for path in case.work.iterdir() if path != case.out]
    if leftover:
        raise Failure(f"left beside the output: {leftover}")
    inits = sorted(path.relative_to(case.out).as_posix() for path in case.out.rglob("init-*.mp4"))
    return f"{wanted} takes, {', '.join(inits)}"


def verified(case):
    """`yeoul verify` finds nothing."""
    case.judged()
    succeed([case.args.yeoul, "verify", case.out])


@cache
def expected(source, ffmpeg):
    """Packets of the first video and first audio tracks of the recordings, in the order of the broadcast."""
    found = {"video": [], "audio": []}
    for one in recordings.in_order(source):
        for kind, packets in ffmpeg.packets(one.path).items():
            found[kind] += packets
    if not any(found.values()):
        raise Failure(f"{source}: the judge found no packets to compare with")
    return found


def same_packets(case, ffmpeg):
    """Payload is that of the recordings: through the playlist, and file by file without ffmpeg's HLS reader."""
    case.judged()
    wanted = expected(case.source, ffmpeg)
    kinds = [kind for kind in wanted if wanted[kind]]
    compare("index.m3u8", wanted, ffmpeg.packets(case.index), kinds)
    playlists = hls.media_playlists(case.index)
    if case.layout == "cmaf" and len(playlists) != len(kinds):
        raise Failure(f"{len(playlists)} media playlists for {len(kinds)} tracks")
    seen = {kind: [] for kind in wanted}
    for playlist in playlists:
        if case.layout == "cmaf":
            alone = ffmpeg.packets(playlist)
            found = [kind for kind in kinds if alone[kind]]
            if len(found) != 1:
                raise Failure(f"{playlist.parent.name}/{playlist.name} has packets of {found or 'nothing'}")
            compare(playlist.parent.name, wanted, alone, found)
        for run in hls.runs(playlist):
            for kind, packets in ffmpeg.packets(hls.joined(run, case.work / "run.mp4")).items():
                seen[kind] += packets
    compare("init + segments", wanted, seen, kinds)
    return ", ".join(f"{len(wanted[kind])} {kind}" for kind in kinds)


def compare(what, wanted, seen, kinds):
    """Packet by packet; says the first that differs."""
    for kind in kinds:
        ours, theirs = seen[kind], wanted[kind]
        if ours == theirs:
            continue
        at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        counts = f"{len(ours)} {kind} packets for {len(theirs)} of the recordings"
        raise Failure(f"{what}: {counts}, first difference at {at}")
    for kind in set(seen) - set(kinds):
        if seen[kind] and what in ("index.m3u8", "init + segments"):
            raise Failure(f"{what}: {len(seen[kind])} {kind} packets that no recording has")


@cache
def input_warnings(source, ffmpeg):
    """What decoding the recordings themselves prints."""
    return set().union(*(ffmpeg.warnings(one.path) for one in recordings.in_order(source)))


def no_new_warnings(case, ffmpeg):
    """Decoding the output prints nothing that decoding the recordings does not, but for ffmpeg's own limits."""
    case.judged()
    text = "".join(path.read_text(encoding="utf-8") for path in hls.media_playlists(case.index))
    printed = ffmpeg.warnings(case.index) - input_warnings(case.source, ffmpeg)
    new = sorted(line for line in printed if not own_limit(line, text))
    if new:
        raise Failure("\n     ".join(["new lines:", *new]))
    return f"{len(printed)} of ffmpeg's own limits" if printed else None


def right_tone_only(case):
    """The sound is that of the first audio track, all of it, and no other track's ever."""
    case.judged()
    ffmpeg = case.args.ffmpeg[-1]
    order = recordings.in_order(case.source)
    if case.kind in SIX_TONES:
        second = set(tone.heard(ffmpeg.pcm(order[0].path, track=1)))
        if 330 not in second or 220 in second:
            raise Failure(f"the judge itself is deaf: the recording's second audio sounds as {second}")
    wanted = TONES.get(case.kind, [220])
    pcm = ffmpeg.pcm(case.index)
    windows = tone.heard(pcm)
    heard = [found for found, _ in groupby(window for window in windows if window)]
    clear = sum(map(bool, windows))
    if heard != wanted or clear < 0.9 * len(windows):
        clarity = f"clear in {clear} of {len(windows)} windows"
        raise Failure(f"{wanted} Hz expected, heard one after the other: {heard}, {clarity}")
    length = sum(len(ffmpeg.pcm(one.path)) for one in order)
    if len(pcm) < 0.98 * length:
        raise Failure(f"{len(pcm) / tone.RATE / 2:.2f} s are heard, the recordings have {length / tone.RATE / 2:.2f} s")
    return f"{heard} Hz, clear in {clear} of {len(windows)} windows, {len(pcm) / tone.RATE / 2:.2f} s"


def sums(folder):
    """SHA-256 of every file of an output but yeoul.json, which names where the recordings are."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "yeoul.json":
            found[path.relative_to(folder).as_posix()] = sha256(path.read_bytes()).hexdigest()
    return found


def differing(one, other):
    """Names of the files that are not the same in two outputs."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def same_however_run(case):
    """Same bytes from a second run, any --jobs, a debug build, another folder, and recordings with shuffled trafs."""
    first, args = sums(case.judged()), case.args
    elsewhere = case.work / "다른 곳" / "recordings"
    copy(case.source, elsewhere)
    ways = {
        "a second run": (args.yeoul, [], None),
        "--jobs 1": (args.yeoul, ["--jobs", "1"], None),
        "--jobs 8": (args.yeoul, ["--jobs", "8"], None),
        "a debug build": (args.yeoul_debug, [], None),
        "another folder": (args.yeoul, [], find_copy(case.source, elsewhere)),
    }
    if case.source.is_dir():
        for seed in (1, 2):
            ways[f"trafs shuffled by seed {seed}"] = (args.yeoul, [], shuffled(case, seed))
    for way, (yeoul, options, source) in ways.items():
        again = case.work / "again"
        case.repack(yeoul, again, *options, source=source)
        if other := differing(first, sums(again)):
            raise Failure(f"{way}: {len(other)} of {len(first)} files differ, {', '.join(other[:4])}")
        shutil.rmtree(again)
    return f"{len(first)} files, {len(ways)} ways"


def copy(source, target):
    target.mkdir(parents=True)
    for path in sorted(source.glob("*.mp4")) if source.is_dir() else [source]:
        shutil.copyfile(path, target / path.name)


def find_copy(source, target):
    return target if source.is_dir() else target / source.name


def shuffled(case, seed):
    """The recordings with the trafs of every part in another order."""
    target = case.work / f"shuffled-{seed}"
    target.mkdir()
    changed = 0
    for path in sorted(case.source.glob("*.mp4")):
        if recordings.recording(path) is None:
            shutil.copyfile(path, target / path.name)
            continue
        succeed([case.args.testkit, "shuffle-trafs", path, target / path.name, "--seed", seed])
        changed += path.read_bytes() != (target / path.name).read_bytes()
    if case.kind in SIX_TONES and not changed:
        raise Failure("shuffle-trafs changed nothing: there is nothing to compare")
    return target


def as_golden(case):
    """The sums that are committed."""
    if not GOLDEN.is_file():
        raise Failure(f"{GOLDEN.name} is not there: write it with --bless")
    prefix = f"{case.kind}/{case.layout}/"
    lines = [line.split("  ", 1) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    wanted = {name.removeprefix(prefix): digest for digest, name in lines if name.startswith(prefix)}
    found = sums(case.judged())
    if not wanted:
        raise Failure(f"{GOLDEN.name} has no sums for {prefix}")
    if other := differing(wanted, found):
        raise Failure(f"{len(other)} of {len(wanted)} files differ, {', '.join(other[:4])}")
    return f"{len(wanted)} files"
