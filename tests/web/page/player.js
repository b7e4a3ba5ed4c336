// The page's side of the judge: hls.js, the video element, and what both said. Waits are on events only.

import Hls from "/lib/hls.js/dist/hls.mjs";
import { ALL_FORMATS, AudioSampleSink, BufferSource, Input, VideoSampleSink } from "/lib/mediabunny/dist/bundles/mediabunny.mjs";

const video = document.getElementById("video");
const said = new EventTarget();
const errors = [];
const appended = [];
const mappings = [];
let parsed = null;
let hls = null;

for (const name of ["loadedmetadata", "loadeddata", "canplay", "timeupdate", "seeked", "seeking", "ended", "playing", "progress", "waiting", "pause", "error"]) {
  video.addEventListener(name, () => said.dispatchEvent(new Event("any")));
}

/** Resolves when `done()` is true after some event; the deadline's error says where the player was. */
function until(what, done, seconds = 90) {
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      clearTimeout(deadline);
      said.removeEventListener("any", check);
      settle(value);
    };
    const check = () => {
      const fatal = errors.find((error) => error.fatal);
      if (done()) finish(resolve);
      else if (fatal) finish(reject, new Error(`${what}: ${fatal.details}: ${fatal.message}`));
    };
    const where = () => `at ${video.currentTime}, buffered ${JSON.stringify(buffered())}, errors ${JSON.stringify(errors.slice(-4))}`;
    const deadline = setTimeout(() => finish(reject, new Error(`${what}: not in ${seconds} s: ${where()}`)), seconds * 1000);
    said.addEventListener("any", check);
    check();
  });
}

function buffered() {
  return Array.from({ length: video.buffered.length }, (_, i) => [video.buffered.start(i), video.buffered.end(i)]);
}

function onHls(name, data) {
  if (name === Hls.Events.MANIFEST_LOADED) {
    parsed = data.levels.map(({ videoCodec, audioCodec, width, height }) => ({ videoCodec, audioCodec, width, height }));
  } else if (name === Hls.Events.ERROR) {
    const { details, fatal, frag, error, reason } = data;
    errors.push({ details, fatal, at: video.currentTime, gap: frag?.tagList.some(([tag]) => tag === "GAP") ?? false, message: reason ?? error?.message });
  } else if (name === Hls.Events.FRAG_BUFFERED) {
    appended.push({ type: data.frag.type, sn: data.frag.sn });
  } else if (name === Hls.Events.INIT_PTS_FOUND) {
    mappings.push({ run: data.frag.cc, seconds: data.initPTS / data.timescale });
  }
  said.dispatchEvent(new Event("any"));
}

/** Whether this browser's MediaSource takes these codecs. */
function takes(type) {
  return MediaSource.isTypeSupported(type);
}

/** Load a playlist; resolves when it is parsed and the first segment is there, or at a fatal error. */
async function load(url) {
  hls = new Hls({ maxBufferLength: 600, maxMaxBufferLength: 600, maxBufferSize: 1e9 });
  for (const name of Object.values(Hls.Events)) hls.on(name, onHls);
  hls.attachMedia(video);
  hls.loadSource(url);
  await until("load", () => appended.length || errors.some((error) => error.fatal));
}

/** Seek, and wait until each of these segments [{type, sn}] has been appended since the beginning. */
async function fetchRun(time, wanted) {
  if (time !== null) video.currentTime = time;
  const missing = () => wanted.filter(({ type, sn }) => !appended.some((one) => one.type === type && one.sn === sn));
  await until(`fetch of ${wanted.length} segments at ${time}`, () => missing().length === 0, 20);
}

/** Seek while paused; the frame that is shown then, or null without video. */
async function frameAt(time) {
  video.pause();
  await until("metadata", () => video.readyState >= 1);
  const shown = video.videoWidth ? new Promise((resolve) => video.requestVideoFrameCallback((_, frame) => resolve(frame))) : null;
  video.currentTime = time;
  await until(`seek to ${time}`, () => !video.seeking && video.readyState >= 2);
  if (!shown) return null;
  const { mediaTime, width, height } = await shown;
  return { mediaTime, width, height, date: hls.playingDate?.getTime() ?? null, at: video.currentTime };
}

/** Play from one time until another is reached, or the end. */
async function play(from, to, rate) {
  const before = errors.length;
  if (Math.abs(video.currentTime - from) > 0.001) video.currentTime = from;
  video.playbackRate = rate;
  // Into a gap this is fulfilled only when hls.js has found a way out of it.
  const playing = video.play();
  let live = false;
  await until(`play from ${from} to ${to}`, () => {
    live ||= !video.seeking && video.readyState >= 2 && video.currentTime > from + 0.01;
    return video.ended || (live && video.currentTime >= to);
  });
  await playing;
  const quality = video.getVideoPlaybackQuality();
  const result = { at: video.currentTime, ended: video.ended, errors: errors.slice(before), corrupted: quality.corruptedVideoFrames };
  video.pause();
  return result;
}

function state() {
  const playlists = { main: hls.levels[hls.currentLevel]?.details ?? hls.levels[0]?.details, audio: hls.audioTracks[0]?.details };
  const fragments = Object.entries(playlists).flatMap(([type, details]) =>
    (details?.fragments ?? []).map(({ sn, cc, start, end, programDateTime }) => ({ type, sn, cc, start, end, date: programDateTime })),
  );
  return { buffered: buffered(), errors, appended, mappings, fragments, parsed, duration: video.duration };
}

/** Decode every packet of a file: how many pictures and sound buffers come out, and the pictures' times. */
async function decode(url) {
  const bytes = await (await fetch(url)).arrayBuffer();
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
  const found = [];
  for (const track of await input.getTracks()) {
    const sink = track.type === "video" ? new VideoSampleSink(track) : new AudioSampleSink(track);
    let count = 0, seconds = 0;
    const times = [];
    for await (const sample of sink.samples()) {
      count += 1;
      seconds += sample.duration;
      if (track.type === "video") times.push(sample.timestamp);
      sample.close();
    }
    found.push({ kind: track.type, count, seconds, times });
  }
  return found;
}

window.player = { takes, load, fetchRun, frameAt, play, state, decode };
document.title = "ready";
