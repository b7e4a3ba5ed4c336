// What hls.js, mediabunny or Chromium cannot do with these outputs, or yeoul does not do yet, and why. Each is looked
// for in the way that is written here: a check that fails otherwise fails, and so does one that passes, since its limit
// is gone then.

const LIMITS = [
  {
    check: "load",
    of: /^av1-empty-files muxed/,
    says: /errors of hls\.js[^]*bufferAppendNoProgress/,
    reason:
      "the second take has no picture: what MSE has buffered is what both tracks have, so its sound makes no progress (no fatal error; players without MSE play it)",
  },
  {
    check: "load",
    of: /^av1-empty-files cmaf/,
    says: /fetch of 1 segments .*: not in/,
    reason: "the second take has no picture; hls.js gives sound no place in time before a video segment of that discontinuity",
  },
  {
    check: "decode",
    of: /^vp9-opus/,
    says: /cannot be decoded in this environment/,
    reason:
      "the recorder's vpcC says matrix 0 (RGB), which WebCodecs refuses with 4:2:0; mediabunny believes it, MSE looks into the stream (see play)",
  },
  ...["buffered", "frames"].map((check) => ({
    check,
    of: /^reconnects muxed close/,
    says: /^not buffered of run 1 |^run 1 from /,
    reason:
      "the sound ends 67 ms before the pictures, which go on in the next take without a hole: MSE takes the jump of the sound for a discontinuity of both and drops pictures up to the next keyframe, until hls.js fetches the segment again (cmaf has a SourceBuffer a track)",
  })),
];

/** Whether a limit is known for a check of a case. */
export function known(check, name) {
  return LIMITS.some((limit) => limit.check === check && limit.of.test(name));
}

/** Run a check; where a limit is known it must fail in just that way. */
export async function within(check, name, run) {
  const limit = LIMITS.find((limit) => limit.check === check && limit.of.test(name));
  if (!limit) return run();
  let failure = null;
  try {
    await run();
  } catch (error) {
    failure = error;
  }
  if (!failure) throw new Error(`passes, so this limit is gone: ${limit.reason}`);
  // What a page throws comes with where it was thrown.
  if (!limit.says.test(failure.message.replace(/^page\.evaluate: Error: /, ""))) throw failure;
  return `known limit: ${limit.reason}`;
}
