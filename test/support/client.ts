// A small HTTP client, fast enough to keep 64 connections busy.
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";

/** A request that takes longer has failed. */
const TIMEOUT_MS = 20_000;

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export class Client {
  readonly #agent: Agent;
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string, connections = 64) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, timeout: TIMEOUT_MS });
    this.#url = url;
    this.#token = token;
  }

  /** Rejects if the connection closes or is idle for too long before the answer is complete. */
  send(method: string, path: string, body?: Buffer, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        this.#url + path,
        {
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#token}`,
            ...(body ? { "content-length": body.length } : {}),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response
            .on("data", (chunk) => chunks.push(chunk))
            .on("error", reject)
            .on("end", () =>
              resolve({
                status: response.statusCode!,
                headers: response.headers,
                body: Buffer.concat(chunks),
              }),
            );
        },
      );
      sent.on("timeout", () => sent.destroy(new Error(`${method} ${path}: no answer for ${TIMEOUT_MS} ms`)));
      sent.on("error", reject);
      sent.end(body);
    });
  }

  sendFields(method: string, path: string, fields: Record<string, string>): Promise<Answer> {
    return this.send(method, path, Buffer.from(JSON.stringify(fields)), {
      "content-type": "application/json",
    });
  }

  upload(name: string, bytes: Uint8Array, method = "POST", path = "/v1/attachments"): Promise<Answer> {
    const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from("\r\n--b--\r\n")]);
    return this.send(method, path, body, { "content-type": "multipart/form-data; boundary=b" });
  }

  async get<T>(path: string): Promise<T> {
    const { status, body } = await this.send("GET", path);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${body}`);
    return JSON.parse(body.toString()) as T;
  }

  close(): void {
    this.#agent.destroy();
  }
}
