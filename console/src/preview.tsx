// One file, large. Nothing in it runs: it is shown by media elements, as text, or by the browser's PDF viewer.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { Dialog } from "./dialog.tsx";
import { explain, isAborted } from "./failures.ts";
import { DownloadLink } from "./file-card.tsx";
import { formatFullTime, formatSize } from "./format.ts";
import { Icon } from "./icons.tsx";
import { KIND_ICONS, toKind } from "./media.ts";
import { localAddress } from "./session.ts";

const MAX_TEXT = 256 * 1024;
const MAX_PDF = 50_000_000;
const MAX_CHECKED_PIXELS = 50_000_000;

export function Preview(props: {
  file: Attachment;
  previous: (() => void) | undefined;
  next: (() => void) | undefined;
  onCopyLink: (file: Attachment) => void;
  onClose: () => void;
}) {
  const { file, previous, next } = props;
  useArrows(previous, next);
  return (
    <Dialog title={file.filename} onClose={props.onClose} wide>
      <div class="stage">
        <Stage key={file.id} file={file} />
      </div>
      <div class="stage-foot">
        <span class="muted small">
          {formatSize(file.file_size)} · {file.file_type} · {formatFullTime(file.created_at)}
        </span>
        <span class="stage-actions">
          <button type="button" class="button" disabled={!previous} onClick={previous}>
            Previous
          </button>
          <button type="button" class="button" disabled={!next} onClick={next}>
            Next
          </button>
          <button type="button" class="button" onClick={() => props.onCopyLink(file)}>
            Copy link
          </button>
          <DownloadLink file={file} named />
        </span>
      </div>
    </Dialog>
  );
}

/** Moves between files with the arrow keys, unless the focused element uses them. */
function useArrows(previous: (() => void) | undefined, next: (() => void) | undefined): void {
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.target instanceof Element && event.target.closest("video, audio, pre, iframe")) return;
      if (event.key === "ArrowLeft") previous?.();
      if (event.key === "ArrowRight") next?.();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [previous, next]);
}

function Stage({ file }: { file: Attachment }) {
  const [broken, setBroken] = useState(false);
  const kind = broken ? "file" : toKind(file.file_type);
  // Kept, because a renewed link would restart a video.
  const [address] = useState(() => localAddress(file.file_url));
  const fails = () => setBroken(true);
  if (file.file_size === 0) return <NoStage kind={kind} text="The file is empty." />;
  if (kind === "image") return <ImageStage address={address} file={file} onError={fails} />;
  if (kind === "video") return <video src={address} controls onError={fails} />;
  if (kind === "audio") {
    return (
      <div class="stage-audio">
        <Icon name="audio" />
        <audio src={address} controls aria-label={file.filename} onError={fails} />
      </div>
    );
  }
  if (kind === "text") return <TextStage file={file} />;
  if (kind === "pdf" && file.file_size <= MAX_PDF) return <PdfStage file={file} />;
  const why = broken ? "This browser cannot show the file." : "There is no preview for this type of file.";
  return <NoStage kind={kind} text={`${why} Download it to open it.`} />;
}

/** Shows an image, and says if it is truncated. An element loads such an image without an error; decoding it again fails. */
function ImageStage(props: { address: string; file: Attachment; onError: () => void }) {
  const [isCut, setCut] = useState(false);
  const check = (image: HTMLImageElement) => {
    if (image.naturalWidth * image.naturalHeight > MAX_CHECKED_PIXELS) return;
    const bitmap = createImageBitmap(image, { resizeWidth: 1, resizeHeight: 1 });
    bitmap.then(
      (done) => done.close(),
      () => setCut(true),
    );
  };
  return (
    <>
      <img
        src={props.address}
        alt={props.file.filename}
        onLoad={(event) => check(event.currentTarget)}
        onError={props.onError}
      />
      {isCut && (
        <p class="stage-note" role="status">
          The picture is incomplete.
        </p>
      )}
    </>
  );
}

function NoStage({ kind, text }: { kind: keyof typeof KIND_ICONS; text: string }) {
  return (
    <div class="stage-none">
      <Icon name={KIND_ICONS[kind]} />
      <p>{text}</p>
    </div>
  );
}

function TextStage({ file }: { file: Attachment }) {
  const part = file.file_size > MAX_TEXT;
  const { value: text, failure } = useFetched(file, async (response) => {
    return new TextDecoder().decode(await response.arrayBuffer());
  });
  if (failure) return <p class="failure">{failure}</p>;
  return (
    <section class="stage-text" tabIndex={0} aria-label="Text" aria-busy={text === undefined}>
      <pre>{text}</pre>
      {part && text !== undefined && (
        <p class="muted">
          The first {formatSize(MAX_TEXT)} of {formatSize(file.file_size)}.
        </p>
      )}
    </section>
  );
}

function PdfStage({ file }: { file: Attachment }) {
  // The type is set to PDF, because a frame would run HTML.
  const { value: url, failure } = useFetched(
    file,
    async (response) =>
      URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "application/pdf" })),
    URL.revokeObjectURL,
  );
  if (failure) return <p class="failure">{failure}</p>;
  return url === undefined ? null : <iframe class="stage-pdf" src={url} title={file.filename} />;
}

/** Returns what `make` makes of the file's bytes, or of the first bytes of a text. Calls `release` on it at the end. */
function useFetched(
  file: Attachment,
  make: (response: Response) => Promise<string>,
  release?: (value: string) => void,
): { value: string | undefined; failure: string } {
  const [state, setState] = useState<{ value: string | undefined; failure: string }>({
    value: undefined,
    failure: "",
  });
  // The result depends on the file only.
  useEffect(() => {
    const controller = new AbortController();
    let made: string | undefined;
    const read = async () => {
      const headers: HeadersInit =
        toKind(file.file_type) === "text" ? { range: `bytes=0-${MAX_TEXT - 1}` } : {};
      const response = await fetch(localAddress(file.file_url), { headers, signal: controller.signal });
      if (!response.ok) throw new Error("The file could not be loaded. Close this and try again.");
      const value = await make(response);
      if (controller.signal.aborted) return release?.(value);
      made = value;
      setState({ value, failure: "" });
    };
    read().catch((error) => {
      if (!isAborted(error)) setState({ value: undefined, failure: explain(error) });
    });
    return () => {
      controller.abort();
      if (made !== undefined) release?.(made);
    };
  }, [file.id]);
  return state;
}
