// The uploads, in a corner of all views.
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { counted, formatSize } from "./format.ts";
import { Icon, IconButton } from "./icons.tsx";
import { useSession } from "./session.ts";
import type { Upload } from "./uploads.ts";

export function UploadTray() {
  const { uploads } = useSession();
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useLayoutEffect(() => uploads.watch(() => redraw()), [uploads]);
  return (
    <>
      <div class="visually-hidden" role="status">
        {uploads.news}
      </div>
      {uploads.all.length > 0 && <Tray all={uploads.all} />}
    </>
  );
}

function Tray({ all }: { all: readonly Upload[] }) {
  const { uploads } = useSession();
  const [open, setOpen] = useState(true);
  const box = useRef<HTMLElement>(null);
  useRoomBelow(box);
  return (
    <section class="tray" aria-label="Uploads" ref={box}>
      <header class="tray-head">
        <button
          type="button"
          class="tray-title"
          aria-expanded={open}
          aria-controls="tray-list"
          onClick={() => setOpen(!open)}
        >
          {toTitle(all, uploads.running)}
        </button>
        {uploads.running === 0 && (
          <IconButton icon="close" label="Clear the list of uploads" onClick={() => uploads.clear()} />
        )}
      </header>
      <ul id="tray-list" class="tray-list" hidden={!open}>
        {all.map((upload) => (
          <Row key={upload.id} upload={upload} />
        ))}
      </ul>
    </section>
  );
}

function toTitle(all: readonly Upload[], running: number): string {
  if (running > 0) return `Sending ${counted(running, "file", "files")}`;
  const count = (state: Upload["state"]) => all.filter((each) => each.state === state).length;
  const [failed, cancelled, done] = [count("failed"), count("cancelled"), count("done")];
  if (failed > 0) return `${counted(failed, "file was", "files were")} not sent`;
  if (cancelled === 0) return "All files uploaded";
  return done === 0 ? "Cancelled" : `${done} sent, ${cancelled} cancelled`;
}

/** Adds room below the content, so that it can be scrolled out from under the tray. */
function useRoomBelow(box: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const observer = new ResizeObserver(() => {
      style.setProperty("--tray", `${box.current!.offsetHeight}px`);
    });
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      style.removeProperty("--tray");
    };
  }, [box]);
}

/** Renders only if the upload has changed, because there may be a thousand. */
function Row({ upload }: { upload: Upload }) {
  return useMemo(() => <RowView upload={upload} />, [upload]);
}

function RowView({ upload }: { upload: Upload }) {
  const { uploads } = useSession();
  const { id, file, state } = upload;
  const running = state === "waiting" || state === "sending";
  return (
    <li class={`tray-row ${state}`}>
      <span class="tray-text">
        <span class="ellipsis">{file.name}</span>
        <span class={state === "failed" ? "small failure" : "small muted ellipsis"}>{detail(upload)}</span>
        {running && (
          <progress max={Math.max(file.size, 1)} value={upload.sent} aria-label={`Sending ${file.name}`} />
        )}
      </span>
      {running && (
        <IconButton icon="close" label={`Cancel ${file.name}`} onClick={() => uploads.cancel(id)} />
      )}
      {(state === "failed" || state === "cancelled") && !upload.hopeless && (
        <IconButton icon="retry" label={`Send ${file.name} again`} onClick={() => uploads.retry(id)} />
      )}
      {state === "done" && (
        <span class="tray-done">
          <Icon name="check" />
        </span>
      )}
    </li>
  );
}

function detail({ state, file, sent, speed, error, conversationName }: Upload): string {
  if (state === "failed") return error;
  if (state === "cancelled") return "Cancelled";
  if (state === "waiting") return `Waiting · ${formatSize(file.size)}`;
  if (state === "done") return `${formatSize(file.size)} · in ${conversationName}`;
  // All bytes are sent, and the server stores them.
  if (sent >= file.size) return "Finishing…";
  const rate = speed > 0 ? ` · ${formatSize(speed)}/s` : "";
  return `${formatSize(sent)} of ${formatSize(file.size)}${rate}`;
}
