// Shows the contents of a file. Nothing in it runs: it is shown by media elements, as text, or by the browser's PDF
// viewer.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Attachment } from "../../../packages/parley-client/src/index.ts";
import { explain, isAborted } from "../failures.ts";
import { localAddress } from "../session/session.ts";
import { browserStore } from "../session/storage.ts";
import { formatSize } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { KIND_ICONS, toKind } from "./media.ts";
import { ImageStage, type OnKey } from "./zoom.tsx";

const MAX_TEXT = 256 * 1024;
const MAX_PDF = 50_000_000;
/** The width of a preview that is sharp in the dialog without zoom. */
const SHARP = 1280;

export function Stage({ file, onKey }: { file: Attachment; onKey: OnKey }) {
  const [broken, setBroken] = useState(false);
  const kind = broken ? "file" : toKind(file);
  // Kept for the lifetime of the component: a renewed link would restart a video.
  const [address] = useState(() => localAddress(file.file_url));
  const [preview] = useState(() => toSharpPreview(file));
  const fails = () => setBroken(true);
  if (file.file_size === 0) return <NoStage kind={kind} text="The file is empty." />;
  if (kind === "image")
    return <ImageStage {...{ address, preview, onKey }} name={file.filename} onError={fails} />;
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
  // Without a PDF viewer a frame would download the file.
  if (kind === "pdf" && !navigator.pdfViewerEnabled) return <NoPdfViewer file={file} />;
  if (kind === "pdf" && file.file_size <= MAX_PDF) return <PdfStage file={file} />;
  return broken ? (
    <NoStage kind={kind} text={`This browser cannot show the file. ${DOWNLOAD}`} />
  ) : (
    <NoPreview />
  );
}

/** Returns the URL of a preview; undefined if only the original will do, for example if the picture may be animated. */
function toSharpPreview({ image, file_type }: Attachment): string | undefined {
  const preview = image?.previews.find(({ width }) => width >= SHARP);
  return preview && file_type !== "image/gif" ? localAddress(preview.url) : undefined;
}

const DOWNLOAD = "Download it to open it.";

function NoPreview() {
  return <NoStage kind="file" text={`There is no preview for this type of file. ${DOWNLOAD}`} />;
}

function NoPdfViewer({ file }: { file: Attachment }) {
  return (
    <NoStage kind="pdf" text="This browser does not show PDF files.">
      <p>
        <strong>{file.filename}</strong> · {formatSize(file.file_size)}
      </p>
      <a class="button primary" href={localAddress(file.file_url, "&download=1")} download={file.filename}>
        <Icon name="download" />
        Download
      </a>
    </NoStage>
  );
}

function NoStage(props: { kind: keyof typeof KIND_ICONS; text: string; children?: ComponentChildren }) {
  return (
    <div class="stage-none">
      <Icon name={KIND_ICONS[props.kind]} />
      <p>{props.text}</p>
      {props.children}
    </div>
  );
}

const WRAP_KEY = "parley-wrap-text";

/** Puts text only into a text node, so that markup never takes effect. */
function TextStage({ file }: { file: Attachment }) {
  const part = file.file_size > MAX_TEXT;
  const [isWrapped, setWrapped] = useState(() => browserStore.get(WRAP_KEY) !== "no");
  const { value: text, failure } = useFetched(file, async (response) => {
    return new TextDecoder().decode(await response.arrayBuffer());
  });
  if (failure) return <p class="failure">{failure}</p>;
  // The extension promises text, but the file is binary.
  if (text?.includes("\0")) return <NoPreview />;
  const wrap = () => {
    browserStore.set(WRAP_KEY, isWrapped ? "no" : "yes");
    setWrapped(!isWrapped);
  };
  return (
    <>
      <section
        class={isWrapped ? "stage-text wrapped" : "stage-text"}
        tabIndex={0}
        aria-label="Text"
        aria-busy={text === undefined}
      >
        <pre>{text}</pre>
        {part && text !== undefined && (
          <p class="muted">
            The first {formatSize(MAX_TEXT)} of {formatSize(file.file_size)}.
          </p>
        )}
      </section>
      <div class="stage-controls">
        <button
          type="button"
          class="icon-button"
          aria-label="Wrap lines"
          aria-pressed={isWrapped}
          title="Wrap lines"
          onClick={wrap}
        >
          <Icon name="wrap" />
        </button>
      </div>
    </>
  );
}

function PdfStage({ file }: { file: Attachment }) {
  // Force the type to PDF: a frame would run HTML.
  const { value: url, failure } = useFetched(
    file,
    async (response) =>
      URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "application/pdf" })),
    URL.revokeObjectURL,
  );
  if (failure) return <p class="failure">{failure}</p>;
  return url === undefined ? null : <iframe class="stage-pdf" src={url} title={file.filename} />;
}

/** Fetches the file, or the beginning of a text, and returns the result of `make`. Calls `release` on it at the end. */
function useFetched(
  file: Attachment,
  make: (response: Response) => Promise<string>,
  release?: (value: string) => void,
): { value: string | undefined; failure: string } {
  const [state, setState] = useState<{ value: string | undefined; failure: string }>({
    value: undefined,
    failure: "",
  });
  // The result depends only on the file.
  useEffect(() => {
    const controller = new AbortController();
    let made: string | undefined;
    const read = async () => {
      const headers: HeadersInit = toKind(file) === "text" ? { range: `bytes=0-${MAX_TEXT - 1}` } : {};
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
