// The uploads, below the open conversation.
import { useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "../session/session.ts";
import { counted, formatEstimate, formatSize } from "../ui/format.ts";
import { Icon, IconButton } from "../ui/icons.tsx";
import { useWatched } from "../ui/use-redraw.ts";
import { useRoom } from "../ui/use-room.ts";
import { isRunning, type Upload } from "./uploads.ts";

/** Order in the list. */
const ORDER: readonly Upload["state"][] = ["sending", "waiting", "failed", "done", "cancelled"];
/** In a narrow window, an open list would leave too little room for the conversation. */
const WIDE = "(width >= 760px)";

export function UploadTray() {
  const { uploads } = useSession();
  useWatched(uploads);
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
  const [isOpen, setOpen] = useState(() => matchMedia(WIDE).matches);
  const box = useRef<HTMLElement>(null);
  useRoom(box, "--tray");
  const { running, isHeldUp } = uploads;
  const sorted = useMemo(
    () => all.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state)),
    [all],
  );
  return (
    <section class="tray" aria-label="Uploads" ref={box}>
      <header class="tray-head">
        <button
          type="button"
          class="tray-title"
          aria-expanded={isOpen}
          aria-controls="tray-list"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? "down" : "up"} />
          <span class="tray-name">{toTitle(all, running)}</span>
        </button>
        {running > 0 && <Total />}
        {running === 0 && (
          <IconButton icon="close" label="Clear the list of uploads" onClick={() => uploads.clear()} />
        )}
      </header>
      <ul id="tray-list" class="tray-list" hidden={!isOpen}>
        {sorted.map((upload) => (
          <Row key={upload.id} upload={upload} isHeldUp={isHeldUp && isRunning(upload)} />
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

/** The progress of all uploads together. */
function Total() {
  const { uploads } = useSession();
  const { sent, size, secondsLeft } = uploads.total;
  const left = secondsLeft === undefined ? "" : ` · ${formatEstimate(secondsLeft)} left`;
  return (
    <span class="tray-total">
      <span class="muted small ellipsis">
        {uploads.isHeldUp ? WAITING : `${formatSize(sent)} of ${formatSize(size)}${left}`}
      </span>
      <progress max={Math.max(size, 1)} value={sent} aria-label="Sending all files" />
    </span>
  );
}

const WAITING = "Waiting for the connection";

/** Renders only when the upload changes, because there may be a thousand. */
function Row({ upload, isHeldUp }: { upload: Upload; isHeldUp: boolean }) {
  return useMemo(() => <RowView upload={upload} isHeldUp={isHeldUp} />, [upload, isHeldUp]);
}

function RowView({ upload, isHeldUp }: { upload: Upload; isHeldUp: boolean }) {
  const { uploads } = useSession();
  const { id, file, state } = upload;
  const detail = isHeldUp ? `${WAITING} · ${formatSize(file.size)}` : toDetail(upload);
  return (
    <li class={`tray-row ${state}`}>
      <span class="tray-text">
        <span class="ellipsis">{file.name}</span>
        <span class={state === "failed" ? "small failure" : "small muted ellipsis"}>{detail}</span>
        {state === "sending" && !isHeldUp && (
          <progress max={Math.max(file.size, 1)} value={upload.sent} aria-label={`Sending ${file.name}`} />
        )}
      </span>
      {isRunning(upload) && (
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

function toDetail({ state, file, sent, speed, error, conversationName }: Upload): string {
  if (state === "failed") return error;
  if (state === "cancelled") return "Cancelled";
  if (state === "waiting") return `Waiting · ${formatSize(file.size)}`;
  if (state === "done") return `${formatSize(file.size)} · in ${conversationName}`;
  // All bytes are sent, and the server is storing them.
  if (sent >= file.size) return "Finishing…";
  const rate = speed > 0 ? ` · ${formatSize(speed)}/s` : "";
  return `${formatSize(sent)} of ${formatSize(file.size)}${rate}`;
}
