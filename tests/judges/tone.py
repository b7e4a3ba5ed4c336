"""Which of the recordings' sines is heard."""

import array
import math
import sys

RATE = 48_000
TONES = (220, 330, 440, 550, 660, 770)
# A tenth of a second holds a whole number of periods of each tone, so that one does not leak into another.
WINDOW = RATE // 10
MOST_WINDOWS = 200
CLEAR = 10


def power(samples, frequency):
    """Goertzel: the power of one frequency in the samples."""
    turn = 2 * math.cos(2 * math.pi * frequency / RATE)
    before, last = 0.0, 0.0
    for sample in samples:
        before, last = last, sample + turn * last - before
    return last * last + before * before - turn * last * before


def heard(pcm):
    """For each window (evenly spread when there are many) the tone that is clearly there, else None."""
    samples = array.array("h")
    samples.frombytes(pcm[: len(pcm) // 2 * 2])
    if sys.byteorder == "big":
        samples.byteswap()
    starts = range(0, len(samples) - WINDOW + 1, WINDOW)
    step = max(1, len(starts) // MOST_WINDOWS)
    answer = []
    for start in starts[::step]:
        window = samples[start : start + WINDOW]
        powers = sorted(((power(window, tone), tone) for tone in TONES), reverse=True)
        audible = powers[0][0] > (100 * WINDOW / 2) ** 2
        clear = powers[0][0] > CLEAR**2 * powers[1][0]
        answer.append(powers[0][1] if audible and clear else None)
    return answer
