#!/usr/bin/env python3
"""The judges judged: each must see the fault that it is there for. `python3 -m unittest tests/judges/test_judges.py`"""

import array
import math
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cases
import hls
import recordings
import syscalls
import tone
from ffmpeg import Failure, Ffmpeg, own_limit, plain

SAMPLES = sorted((cases.TESTDATA / "audio-only").glob("*.mp4"))


def sine(*frequencies):
    """A second of these tones together."""
    times = (n / tone.RATE for n in range(tone.RATE))
    level = 8000 / len(frequencies)
    samples = array.array(
        "h", (int(sum(level * math.sin(2 * math.pi * f * t) for f in frequencies)) for t in times)
    )
    if sys.byteorder == "big":
        samples.byteswap()
    return samples.tobytes()


class Tone(unittest.TestCase):
    def test_each_tone_is_told_from_the_others(self):
        for frequency in tone.TONES:
            self.assertEqual(set(tone.heard(sine(frequency))), {frequency})

    def test_a_mixture_and_silence_are_nothing(self):
        self.assertEqual(set(tone.heard(sine(220, 330))), {None})
        self.assertEqual(set(tone.heard(bytes(96_000))), {None})


class Strace(unittest.TestCase):
    LOG = """\
10 read(3</rec/a.mp4>, ""..., 4096) = 4096
10 pread64(3</rec/a.mp4>, ""..., 100, 0) = 100
11 copy_file_range(3</rec/a.mp4>, [4196], 7</out/x>, NULL, 5000, 0) = 4000
11 copy_file_range(3</rec/a.mp4>, [8196], 7</out/x>, NULL, 1000, 0 <unfinished ...>
10 read(9</etc/hosts>, ""..., 4096) = 200
11 <... copy_file_range resumed>) = 1000
10 pread64(3</rec/a.mp4>, ""..., 100, 0) = -1 EINTR (Interrupted system call)
"""

    def test_bytes_are_counted_by_call_and_file(self):
        trace = syscalls.parse(self.LOG, ["/rec/a.mp4"])
        self.assertEqual((trace.read["/rec/a.mp4"], trace.copied["/rec/a.mp4"]), (4196, 5000))
        self.assertEqual(trace.otherwise, [])

    def test_another_way_is_seen(self):
        for line in (
            "10 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3</rec/a.mp4>, 0) = 0x7f0000000000",
            "10 sendfile(7</out/x>, 3</rec/a.mp4>, NULL, 10) = 10",
            "10 splice(3</rec/a.mp4>, NULL, 8<pipe:[1]>, NULL, 10, 0) = 10",
            "10 io_uring_setup(8, {flags=0}) = 5<anon_inode:[io_uring]>",
        ):
            self.assertEqual(len(syscalls.parse(line, ["/rec/a.mp4"]).otherwise), 1, line)


class Packets(unittest.TestCase):
    """An HLS stream that ffmpeg made of one recording stands in for an output."""

    def setUp(self):
        self.ffmpeg = Ffmpeg(shutil.which("ffmpeg"))
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work)
        source = self.work / "one" / SAMPLES[0].name
        source.parent.mkdir()
        shutil.copyfile(SAMPLES[0], source)
        args = types.SimpleNamespace(ffmpeg=[self.ffmpeg])
        self.case = cases.Case("one", source, "muxed", args, self.work / "one")
        self.case.out.mkdir()
        made = self.ffmpeg.run(
            *["-v", "error", "-i", source, "-c", "copy", "-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod"],
            *["-hls_segment_type", "fmp4", self.case.index],
        )
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.segments = hls.runs(self.case.index)[0][1:]
        self.assertGreater(len(self.segments), 2)

    def test_a_right_output_passes(self):
        self.assertEqual(cases.same_packets(self.case, self.ffmpeg), "188 audio")
        self.assertIsNone(cases.no_new_warnings(self.case, self.ffmpeg))
        self.assertTrue(cases.right_tone_only(self.case))

    def test_a_changed_byte_is_seen(self):
        data = bytearray(self.segments[1].read_bytes())
        data[-10] ^= 1
        self.segments[1].write_bytes(data)
        with self.assertRaisesRegex(Failure, "first difference at"):
            cases.same_packets(self.case, self.ffmpeg)

    def test_a_lost_segment_is_seen(self):
        lines = self.case.index.read_text().splitlines()
        at = lines.index(self.segments[1].name)
        self.case.index.write_text("\n".join(lines[: at - 1] + lines[at + 1 :]) + "\n")
        with self.assertRaisesRegex(Failure, "packets for 188"):
            cases.same_packets(self.case, self.ffmpeg)

    def test_a_lost_half_is_heard(self):
        lines = self.case.index.read_text().splitlines()
        at = lines.index(self.segments[2].name)
        self.case.index.write_text("\n".join([*lines[: at - 1], "#EXT-X-ENDLIST"]) + "\n")
        with self.assertRaisesRegex(Failure, "s are heard"):
            cases.right_tone_only(self.case)

    def test_damage_is_warned_of(self):
        data = bytearray(self.segments[1].read_bytes())
        data[-300:] = bytes(300)
        self.segments[1].write_bytes(data)
        with self.assertRaisesRegex(Failure, "new lines"):
            cases.no_new_warnings(self.case, self.ffmpeg)

    def test_another_file_or_byte_is_another_output(self):
        before = cases.sums(self.case.out)
        (self.case.out / "yeoul.json").write_text("{}")
        self.assertEqual(cases.differing(before, cases.sums(self.case.out)), [])
        (self.case.out / "more.m4s").write_bytes(b"")
        self.assertEqual(cases.differing(before, cases.sums(self.case.out)), ["more.m4s"])


class Recordings(unittest.TestCase):
    def test_the_broadcast_is_in_order_of_takes_and_numbers(self):
        order = recordings.in_order(cases.TESTDATA / "reconnects")
        self.assertEqual([one.number for one in order], [8, 9, 0, 3, 4])
        self.assertEqual(len({one.stream for one in order}), 3)

    def test_unusable_files_are_left_out(self):
        names = [one.path.name for one in recordings.in_order(cases.TESTDATA / "torn")]
        self.assertEqual(names, ["mid-mdat.mp4", "zero-after-part.mp4", "zero-tail.mp4"])

    def test_a_zeroed_tail_adds_no_sample(self):
        torn = cases.TESTDATA / "torn"
        cut, zeroed = (recordings.whole_samples(torn / name) for name in ("mid-mdat.mp4", "zero-tail.mp4"))
        self.assertEqual(cut, zeroed)
        self.assertGreater(len(cut[b"vide"]), len(recordings.whole_samples(torn / "zero-after-part.mp4")[b"vide"]))

    def test_samples_are_those_that_ffmpeg_reads(self):
        ffmpeg = Ffmpeg(shutil.which("ffmpeg"))
        for kind in ("killed", "hevc-opus", "sps-change"):
            path = recordings.in_order(cases.TESTDATA / kind)[0].path
            packets, samples = ffmpeg.packets(path), recordings.whole_samples(path)
            self.assertEqual([packet.hash for packet in packets["video"]], samples[b"vide"])
            self.assertEqual([packet.hash for packet in packets["audio"]], samples[b"soun"])

    def test_headers_are_what_is_not_payload(self):
        path = SAMPLES[0]
        payload = sum(packet.size for packet in Ffmpeg(shutil.which("ffmpeg")).packets(path)["audio"])
        self.assertEqual(recordings.header_bytes(path), (path.stat().st_size - payload, 4))


class Playlists(unittest.TestCase):
    def test_runs_end_at_a_discontinuity_and_leave_gaps_out(self):
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index.m3u8"
            index.write_text(
                '#EXTM3U\n#EXT-X-MAP:URI="i.mp4"\n#EXTINF:4,\na.m4s\n#EXTINF:4,\nb.m4s\n'
                "#EXT-X-DISCONTINUITY\n#EXT-X-GAP\n#EXTINF:4,\ngap.m4s\n#EXT-X-DISCONTINUITY\n#EXTINF:4,\nc.m4s\n"
            )
            names = [[path.name for path in run] for run in hls.runs(index)]
            self.assertEqual(names, [["i.mp4", "a.m4s", "b.m4s"], ["i.mp4", "c.m4s"]])
            self.assertEqual(hls.media_playlists(index), [index])

    def test_a_multivariant_playlist_leads_to_its_media(self):
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index.m3u8"
            index.write_text(
                '#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="1",URI="audio/index.m3u8"\n'
                '#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"\nvideo/index.m3u8\n'
            )
            found = [path.relative_to(folder).as_posix() for path in hls.media_playlists(index)]
            self.assertEqual(found, ["audio/index.m3u8", "video/index.m3u8"])


class Warnings(unittest.TestCase):
    def test_addresses_and_numbers_do_not_matter(self):
        self.assertEqual(
            plain("[mov,mp4,m4a,3gp,3g2,mj2 @ 0x5581] Found duplicated MOOV Atom. Skipped it"),
            "Found duplicated MOOV Atom. Skipped it",
        )
        self.assertEqual(plain("[h264 @ 0x1f] Invalid NAL unit size (120 > 7)."), "Invalid NAL unit size (# > #).")

    def test_only_listed_limits_are_let_through_and_only_where_they_can_be_met(self):
        line, two_maps = "Found duplicated MOOV Atom. Skipped it", '#EXT-X-MAP:URI="a"\n' * 2
        self.assertTrue(own_limit(line, two_maps))
        self.assertFalse(own_limit(line, '#EXT-X-MAP:URI="a"\n'))
        self.assertFalse(own_limit("Invalid NAL unit size (# > #).", two_maps))


if __name__ == "__main__":
    unittest.main()
