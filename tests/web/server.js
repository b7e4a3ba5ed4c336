// A static file server on 127.0.0.1, at a port of the system's choice, that counts what it is asked for.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".m3u8": "application/vnd.apple.mpegurl",
  ".m4s": "video/iso.segment",
  ".mp4": "video/mp4",
};

/**
 * Serve folders: `mounts` maps the first word of a URL's path to a folder.
 * Resolves to the origin, the map path → number of requests, and a function that stops it.
 */
export async function serve(mounts) {
  const requests = new Map();
  const server = createServer(async (request, response) => {
    const url = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    requests.set(url, (requests.get(url) ?? 0) + 1);
    const [, mount, ...rest] = url.split("/");
    const file = mounts[mount] && path.join(mounts[mount], ...rest);
    const found = file && !rest.includes("..") && (await stat(file).catch(() => null));
    if (!found?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "Content-Type": TYPES[path.extname(file)] ?? "application/octet-stream",
      "Content-Length": found.size,
    });
    createReadStream(file).on("error", () => response.destroy()).pipe(response);
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, requests, stop };
}
