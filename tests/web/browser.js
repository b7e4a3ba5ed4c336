// Debian's Chromium, driven by playwright-core.

import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-default-apps",
  "--autoplay-policy=no-user-gesture-required",
];

/** A context of a fresh browser whose profile is `profile`, an empty folder. */
export function open(profile, executablePath) {
  return chromium.launchPersistentContext(profile, { executablePath, headless: true, args: FLAGS });
}
