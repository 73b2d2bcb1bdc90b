// The files that a message will be sent with.
import { useEffect, useRef } from "preact/hooks";
import { explainSize } from "../failures.ts";
import { KIND_ICONS, toKind } from "../files/media.ts";
import { useSession } from "../session/session.ts";
import { formatSize } from "../ui/format.ts";
import { Icon, IconButton } from "../ui/icons.tsx";

/** The height of a thumbnail in pixels, for screens of twice the density. */
const HEIGHT = 80;
/** Larger pictures would take long to decode. In bytes. */
const MAX_DECODED = 20_000_000;
/** A decoded picture can take 50 MB, so one is decoded at a time. */
let drawn: Promise<unknown> = Promise.resolve();

/** Returns a function that adds files to the draft of a conversation, except those that are too large. */
export function useAddFiles(): (conversationId: string, files: readonly File[]) => void {
  const { drafts, me, report } = useSession();
  return (id, files) => {
    const limit = me.limits.max_file_size ?? Infinity;
    const fitting = files.filter((file) => {
      if (file.size > limit) report(`${file.name} was not added.`, new Error(explainSize(file.size, limit)));
      return file.size <= limit;
    });
    drafts.change(id, { files: [...drafts.get(id).files, ...fitting] });
  };
}

export function DraftFiles(props: { files: readonly File[]; onChange: (files: readonly File[]) => void }) {
  const { files } = props;
  return (
    <ul class="draft-files" aria-label="Files to send">
      {files.map((file, at) => (
        <li key={at} class="draft-file small">
          <DraftThumbnail key={`${file.name} ${file.lastModified} ${file.size}`} file={file} />
          <span class="ellipsis">{file.name}</span>
          <span class="muted">{formatSize(file.size)}</span>
          <IconButton
            icon="close"
            label={`Remove ${file.name}`}
            onClick={() => props.onChange(files.filter((each) => each !== file))}
          />
        </li>
      ))}
    </ul>
  );
}

/** A picture is drawn, because the policy of the page allows no addresses of pictures that are not on the server. */
function DraftThumbnail({ file }: { file: File }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const kind = toKind({ file_type: file.type, filename: file.name });
  const isPicture = kind === "image" && file.size <= MAX_DECODED;
  useEffect(() => {
    if (!isPicture) return;
    const draw = async () => {
      // It was removed meanwhile.
      if (!canvas.current) return;
      const bitmap = await createImageBitmap(file);
      const { current } = canvas;
      const scale = HEIGHT / bitmap.height;
      if (current) {
        current.height = HEIGHT;
        current.width = Math.min(2 * HEIGHT, Math.max(1, bitmap.width * scale));
        current.getContext("2d")!.drawImage(bitmap, 0, 0, bitmap.width * scale, HEIGHT);
      }
      bitmap.close();
    };
    // A file that cannot be decoded stays blank.
    drawn = drawn.then(draw).catch(() => {});
  }, [file]);
  return isPicture ? (
    <canvas ref={canvas} class="draft-thumb" height={HEIGHT} width={HEIGHT} />
  ) : (
    <Icon name={KIND_ICONS[kind]} />
  );
}
