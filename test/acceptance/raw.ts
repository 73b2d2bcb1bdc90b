// Sends requests over a plain socket that no HTTP client would send.
import { connect } from "node:net";
import { type Reply, toReply } from "./client.ts";
import { target } from "./target.ts";

/** Sends the bytes and reads until the server closes, or for a while. */
export function raw(request: string | Buffer, patience = 8_000): Promise<Reply> {
  const { hostname, port } = new URL(target.url);
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port || 80) }, () => socket.write(request));
    socket.setTimeout(patience, () => socket.destroy());
    socket.on("data", (piece) => pieces.push(piece));
    // The server may close while bytes are still being sent: only its answer matters.
    socket.on("error", () => {});
    socket.on("close", () => {
      try {
        resolve(parse(Buffer.concat(pieces)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

function parse(bytes: Buffer): Reply {
  const cut = bytes.indexOf("\r\n\r\n");
  if (cut < 0) throw new Error(`no HTTP answer: ${JSON.stringify(bytes.toString("latin1").slice(0, 200))}`);
  const [first = "", ...lines] = bytes.subarray(0, cut).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})\b/.exec(first)?.[1]);
  const headers = new Headers();
  for (const line of lines)
    headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim());
  const rest = bytes.subarray(cut + 4);
  const chunked = /chunked/i.test(headers.get("transfer-encoding") ?? "");
  return toReply(status, headers, chunked ? unchunk(rest) : rest);
}

function unchunk(bytes: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const line = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    if (!(size > 0)) break;
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return Buffer.concat(pieces);
}
