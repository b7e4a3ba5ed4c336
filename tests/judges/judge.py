#!/usr/bin/env python3
"""Judge what `yeoul` makes by tools that nobody here wrote: ffmpeg (two versions), ffprobe, strace, time.

    tests/judges/judge.py --yeoul target/release/yeoul --yeoul-debug target/debug/yeoul \\
        --testkit target/release/yeoul-testkit --ffmpeg /usr/bin/ffmpeg --ffmpeg .tools/…/ffmpeg
    tests/judges/judge.py … --recordings FOLDER      the same on full-size recordings
    tests/judges/judge.py … --only packets tone      only these checks
    tests/judges/judge.py … --kind hevc-opus         only these recordings
    tests/judges/judge.py … --bless                  write golden.sha256 anew

Each check prints a line; exit code 1 when one failed.
"""

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import cases
import limits
from ffmpeg import Failure, Ffmpeg

ROOT = Path(__file__).resolve().parents[2]


class Report:
    """Runs checks, prints a line for each, counts."""

    def __init__(self, only):
        self.only, self.passed, self.failed = only, 0, 0

    def check(self, title, judge, *args):
        """Run one check: it raises Failure where something is wrong, and may return a remark."""
        if self.only and title.split()[0] not in self.only:
            return
        began = time.monotonic()
        try:
            remark = judge(*args) or ""
            verdict = "ok  "
            self.passed += 1
        except Failure as failure:
            verdict, remark = "FAIL", str(failure)
            self.failed += 1
        except Exception:
            verdict, remark = "FAIL", traceback.format_exc()
            self.failed += 1
        print(f"{verdict} {title} ({time.monotonic() - began:.1f} s){': ' if remark else ''}{remark}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yeoul", type=Path, default=ROOT / "target/release/yeoul")
    parser.add_argument("--yeoul-debug", type=Path, default=ROOT / "target/debug/yeoul")
    parser.add_argument("--testkit", type=Path, default=ROOT / "target/release/yeoul-testkit")
    parser.add_argument("--ffmpeg", action="append", help="may be given more than once; default: the one on PATH")
    parser.add_argument("--recordings", type=Path, help="full-size recordings instead of testdata/")
    parser.add_argument("--hour-bytes", default="5G", help="size of the one-hour recording (default: %(default)s)")
    parser.add_argument("--work", type=Path, default=ROOT / "target", help="where outputs go, removed afterwards")
    parser.add_argument("--only", nargs="+", metavar="CHECK")
    parser.add_argument("--kind", nargs="+", metavar="KIND", choices=cases.KINDS)
    parser.add_argument("--bless", action="store_true")
    args = parser.parse_args()
    for path in (args.yeoul, args.yeoul_debug, args.testkit):
        if not path.is_file():
            parser.error(f"{path} is not there: build it first (./test judges does)")
    args.ffmpeg = [Ffmpeg(path) for path in args.ffmpeg or [shutil.which("ffmpeg") or "ffmpeg"]]
    if args.bless and (args.recordings or args.kind or args.only):
        parser.error("--bless takes all of testdata/, so neither --recordings nor --kind nor --only")
    return args


def main():
    args = arguments()
    report = Report(args.only)
    args.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="judges-", dir=args.work) as work:
        work = Path(work)
        cases.judge_all(report, args, work)
        limits.judge_all(report, args, work)
    print(f"{report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == "__main__":
    main()
