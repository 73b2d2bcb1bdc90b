// The picture of the user's own profile: the field, and the preview of a new one.
import { useLayoutEffect, useRef } from "preact/hooks";
import { explain, isCode } from "../failures.ts";
import { Avatar, usePeople } from "../people/people.tsx";
import { formatSize } from "../ui/format.ts";
import { useSession } from "./session.ts";

const FORMATS = "image/jpeg,image/png,image/webp,image/gif";
/** What the server accepts at most. */
const MAX_BYTES = 5 * 1024 * 1024;

/** The picture to set; null to remove it, undefined to keep it. */
export type NewPicture = File | null | undefined;

export function PictureField(props: {
  picture: NewPicture;
  failure: string;
  onChoose: (file: File) => void;
  onRemove: () => void;
  onFail: (failure: string) => void;
}) {
  const { picture, failure } = props;
  const { me } = useSession();
  const person = usePeople().toPerson(me);
  const picker = useRef<HTMLInputElement>(null);
  const limit = Math.min(MAX_BYTES, me.limits.max_file_size ?? Infinity);
  const isRemovable = picture !== null && (picture !== undefined || me.avatar_url !== null);
  return (
    <div class="profile-picture">
      {picture ? (
        <PicturePreview file={picture} onUnreadable={() => props.onFail(NO_PICTURE)} />
      ) : (
        <Avatar {...person} picture={picture === null ? undefined : person.picture} size="large" />
      )}
      <div class="profile-buttons">
        <button type="button" class="button" onClick={() => picker.current!.click()}>
          Choose a picture
        </button>
        {isRemovable && (
          <button type="button" class="button" onClick={props.onRemove}>
            Remove the picture
          </button>
        )}
        <span class="muted small">JPEG, PNG, WebP or GIF. Everybody you write with sees it.</span>
      </div>
      <input
        ref={picker}
        type="file"
        accept={FORMATS}
        aria-label="Picture"
        hidden
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          currentTarget.value = "";
          if (file && file.size > limit) props.onFail(explainLimit(limit));
          else if (file) props.onChoose(file);
        }}
      />
      {failure && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
    </div>
  );
}

/** The side of the preview, in pixels: sharp on any screen. */
const SIDE = 264;

/** Shows a picture before it is sent. Draws it, because the Content-Security-Policy allows no local addresses. */
function PicturePreview({ file, onUnreadable }: { file: File; onUnreadable: () => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    let isCurrent = true;
    createImageBitmap(file).then(
      (bitmap) => {
        if (isCurrent) draw(canvas.current!, bitmap);
        bitmap.close();
      },
      () => isCurrent && onUnreadable(),
    );
    return () => {
      isCurrent = false;
    };
  }, [file]);
  return (
    <canvas
      ref={canvas}
      class="avatar large-avatar"
      width={SIDE}
      height={SIDE}
      role="img"
      aria-label="Your new picture"
    />
  );
}

/** Covers the canvas with the middle of a picture. */
function draw(canvas: HTMLCanvasElement, bitmap: ImageBitmap): void {
  const side = Math.min(bitmap.width, bitmap.height);
  const [left, top] = [(bitmap.width - side) / 2, (bitmap.height - side) / 2];
  const context = canvas.getContext("2d")!;
  context.clearRect(0, 0, SIDE, SIDE);
  context.drawImage(bitmap, left, top, side, side, 0, 0, SIDE, SIDE);
}

const NO_PICTURE = "This file is not a JPEG, PNG, WebP or GIF, or it is damaged.";

/** Returns why the server refused a picture. */
export function explainPicture(error: unknown): string {
  if (isCode(error, "file_type_refused")) return NO_PICTURE;
  return isCode(error, "file_too_large") ? explainLimit(MAX_BYTES) : explain(error);
}

function explainLimit(limit: number): string {
  return `Choose a picture of at most ${formatSize(limit)}.`;
}
