// The files of messages. Links to files expire, and are requested again then.
import type { Attachment } from "parley-client";
import type { PendingFile, SyncMessage } from "parley-sync";
import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "./session.ts";
import { Icon } from "./small.tsx";

/** Pixels: the least width of a preview, if there is one. */
const WIDTH = 640;
const PICTURE = /^image\/(?:png|jpeg|gif|webp|avif)$/;

export function Files({ message }: { message: SyncMessage }) {
  const { attachments, files, sent_bytes } = message;
  if (attachments.length + files.length === 0) return null;
  const size = files.reduce((sum, { file_size }) => sum + file_size, 0);
  return (
    <ul class="files">
      {attachments.map((file) => (
        <li key={file.id}>
          <SentFile file={file} />
        </li>
      ))}
      {files.map((file, at) => (
        // Two files can have the same name.
        <li key={`${at} ${file.filename}`}>
          <WaitingFile file={file} share={size > 0 ? sent_bytes / size : 0} />
        </li>
      ))}
    </ul>
  );
}

/** Returns whether a signed link expires within a minute. */
function isExpired(url: string): boolean {
  return Number(new URL(url).searchParams.get("expires")) < Date.now() / 1000 + 60;
}

function SentFile({ file }: { file: Attachment }) {
  const { sync, server } = useSession();
  // The server may have another name for itself.
  const toLocal = (url: string) => server + url.slice(url.lastIndexOf("/files/") + 1);
  const [url, setUrl] = useState(toLocal(file.file_url));
  const [failures, setFailures] = useState(0);
  const renew = async () => {
    const { file_url } = await sync.client.attachments.retrieve(file.id);
    setUrl(toLocal(file_url));
    return toLocal(file_url);
  };
  const open = async (event: MouseEvent) => {
    if (!isExpired(url)) return;
    event.preventDefault();
    const renewed = await renew().catch(() => undefined);
    if (renewed) window.open(renewed, "_blank", "noopener,noreferrer");
  };
  const fail = () => {
    setFailures(failures + 1);
    // The link has expired, or there is no preview.
    if (failures === 0) renew().catch(() => setFailures(2));
  };
  const { image } = file;
  const preview = image?.previews.find(({ width }) => width >= WIDTH) ?? image?.previews.at(-1);
  const isPicture = PICTURE.test(file.file_type) && failures < 2;
  return (
    <a
      class={isPicture ? "file picture" : "file"}
      style={image ? { "--ratio": image.width / image.height } : {}}
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      onClick={open}
    >
      {isPicture ? (
        <img
          src={failures === 0 && preview ? toLocal(preview.url) : url}
          alt={file.filename}
          decoding="async"
          onError={fail}
        />
      ) : (
        <FileText file={file} />
      )}
    </a>
  );
}

function WaitingFile({ file, share }: { file: PendingFile; share: number }) {
  const { translate } = useSession();
  return (
    <div class="file">
      <FileText file={file} />
      <progress aria-label={translate("uploading", { name: file.filename })} value={share} />
    </div>
  );
}

function FileText({ file }: { file: PendingFile }) {
  const { format } = useSession();
  return (
    <>
      <span class="file-icon">
        <Icon name="file" />
      </span>
      <span class="file-text">
        <bdi class="file-name">{file.filename}</bdi>
        <span class="file-size">{format.size(file.file_size)}</span>
      </span>
    </>
  );
}

/** A picture that the user has chosen, on a canvas: a strict policy allows no `blob:` address. */
export function Preview({ file }: { file: File }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isShown, setShown] = useState(PICTURE.test(file.type));
  useEffect(() => {
    if (!isShown) return;
    createImageBitmap(file, { resizeWidth: 160, resizeQuality: "medium" }).then(
      (bitmap) => {
        if (!canvas.current) return;
        Object.assign(canvas.current, { width: bitmap.width, height: bitmap.height });
        canvas.current.getContext("bitmaprenderer")!.transferFromImageBitmap(bitmap);
      },
      () => setShown(false),
    );
  }, [file]);
  return isShown ? <canvas ref={canvas} class="preview" /> : <Icon name="file" />;
}
