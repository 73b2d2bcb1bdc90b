import { redirected } from "./errors.ts";
import type { Send } from "./transport.ts";

/** The part of XMLHttpRequest used here: Node's types do not have it. */
interface Xhr {
  status: number;
  responseText: string;
  responseURL: string;
  upload: { onprogress: ((event: { loaded: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: Blob): void;
  abort(): void;
}

const Request = (globalThis as { XMLHttpRequest?: new () => Xhr }).XMLHttpRequest;

/** Whether XMLHttpRequest exists: some workers do not have it. */
export function canSendByXhr(): boolean {
  return Request !== undefined;
}

/** Sends a body by XMLHttpRequest, the only interface that reports progress in browsers. `onProgress` gets the bytes sent. */
export function sendByXhr(body: Blob, onProgress: (sent: number) => void): Send {
  return ({ method, url, headers }, watch) =>
    new Promise((resolve, reject) => {
      const request = new Request!();
      request.open(method, url);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      const abort = () => request.abort();
      watch.signal.addEventListener("abort", abort, { once: true });
      const done = (settle: () => void) => {
        watch.signal.removeEventListener("abort", abort);
        settle();
      };
      request.upload.onprogress = ({ loaded }) => {
        watch.start();
        onProgress(loaded);
      };
      request.onload = () =>
        done(() => {
          // XMLHttpRequest follows redirects, and a POST may have become a GET.
          if (request.responseURL === url) resolve(toResponse(request));
          else reject(redirected(request.status, request.responseURL));
        });
      request.onerror = () => done(() => reject(new TypeError("The request was not answered.")));
      request.onabort = () => done(() => reject(watch.signal.reason));
      onProgress(0);
      request.send(body);
    });
}

function toResponse(request: Xhr): Response {
  const lines = request.getAllResponseHeaders().split("\r\n").filter(Boolean);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  // Some statuses must not have a body.
  return new Response(request.responseText || null, { status: request.status, headers });
}
