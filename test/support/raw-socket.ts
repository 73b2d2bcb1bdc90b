import { once } from "node:events";
import { connect, type Socket } from "node:net";

/**
 * Opens a connection for raw bytes that no HTTP library would send. With `allowHalfOpen` it stays open after the server
 * has ended its side.
 */
export async function openSocket(url: string, allowHalfOpen = false): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen });
  await once(socket, "connect");
  return socket;
}

/** Returns everything that the server sends until it closes the connection, or within `forMs` milliseconds. */
export async function readAll(socket: Socket, forMs: number): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  await new Promise((resolve) => {
    // `once` of events would fail on a reset after the answer.
    socket.once("close", resolve);
    setTimeout(resolve, forMs);
  });
  return Buffer.concat(chunks).toString("latin1");
}

/** The longest wait for an answer, so that a test fails instead of hanging. */
const PATIENCE_MS = 60_000;

/** Returns the first complete answer, with headers and body. */
export async function readAnswer(socket: Socket): Promise<string> {
  let text = "";
  const timer = setTimeout(() => socket.destroy(new Error(`no whole answer came: ${text}`)), PATIENCE_MS);
  try {
    for await (const chunk of socket) {
      text += (chunk as Buffer).toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      const length = /content-length: (\d+)/i.exec(text);
      if (end !== -1 && text.length >= end + 4 + Number(length?.[1] ?? 0)) break;
    }
    return text;
  } finally {
    clearTimeout(timer);
  }
}

/** The head and tail of a form with one file. */
export const FORM_HEAD = '--frontier\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
export const FORM_TAIL = "\r\n--frontier--\r\n";

/** Sends the head of a request. Values of `headers` may be numbers. */
export async function beginRequest(
  url: string,
  line: string,
  user: { headers: { authorization: string } },
  headers: Record<string, string | number> = {},
): Promise<Socket> {
  const socket = await openSocket(url);
  // The rest of a refused body may cause a reset.
  socket.on("error", () => {});
  const lines = Object.entries({ host: "x", ...user.headers, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`${line} HTTP/1.1\r\n${lines.join("")}\r\n`);
  return socket;
}

/** Sends the head of an upload by a form. */
export function beginUpload(
  url: string,
  user: { headers: { authorization: string } },
  headers: Record<string, string | number>,
): Promise<Socket> {
  const type = { "content-type": "multipart/form-data; boundary=frontier" };
  return beginRequest(url, "POST /v1/attachments", user, { ...type, ...headers });
}
