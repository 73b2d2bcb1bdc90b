import type { AttachmentRow, ShownAttachment } from "../../db/queries/attachments.ts";
import { findPictures, type PictureRow } from "../../db/queries/pictures.ts";
import { toSeconds } from "../../util/clock.ts";
import { choices } from "../choices.ts";
import type { Core } from "../core.ts";
import { describedField, optional, type Parsed } from "../fields.ts";
import {
  bool,
  bytes,
  described,
  id,
  integer,
  listOf,
  object,
  orNull,
  resource,
  type TypeOf,
  text,
  textOrNull,
  time,
  url,
  withOptional,
} from "../schema.ts";
import { findShownUsers, shownUser } from "../senders.ts";
import { essence } from "./media-types.ts";
import { PREVIEW_WIDTHS } from "./previews.ts";

const pixels = described({ ...integer, minimum: 1 }, "Pixels, as the picture is shown.");

const image = object({
  width: pixels,
  height: pixels,
  placeholder: described(
    textOrNull,
    "A ThumbHash in base64: what to show until the picture is there. Null until the server has made it.",
  ),
  previews: described(
    listOf(object({ width: pixels, url: described(url, "Signed, like `file_url`.") })),
    "Smaller pictures as WebP, the smallest first. Empty if the server makes none.",
  ),
});

/** Source document, section 2.2, and what a read can add. */
export const attachmentResource = withOptional(
  resource("Attachment", {
    id: id("att"),
    message_id: id("msg"),
    filename: text,
    file_url: described(url, "Signed: works without a token for one to two hours."),
    file_type: described(text, "MIME type."),
    file_size: bytes,
    created_at: time,
    sender: described(orNull(shownUser), "Only with `include=sender`; null after the user was erased."),
    unscanned: described(
      bool,
      "Only with `include=unscanned`: true if the server scans for viruses, but accepted this file without a scan.",
    ),
    image: described(
      orNull(image),
      "Only with `include=image`; null if the file is no JPEG, PNG, GIF or WebP.",
    ),
  }),
  "sender",
  "unscanned",
  "image",
);
type Attachment = TypeOf<typeof attachmentResource>;

/** What a read can add to an attachment. */
export const attachmentAdditions = {
  include: optional(
    describedField(
      choices("sender", "unscanned", "image"),
      "Adds `sender`: who sent the file; `unscanned`: whether it passed without a scan for viruses; `image`: size and previews of a picture.",
    ),
  ),
};
export type Additions = Parsed<typeof attachmentAdditions>;

/** Returns how to show these rows as JSON. */
export async function chooseShape(
  core: Core,
  rows: readonly AttachmentRow[],
  include: Additions["include"],
): Promise<(row: AttachmentRow) => string> {
  if (include === undefined) return (row) => linked(core, row);
  const uploaders = include.includes("sender") ? rows.map(({ uploader_id }) => uploader_id) : [];
  const senders = await findShownUsers(core, uploaders);
  const pictures = await findPictures(core.db, include.includes("image") ? rows.map((row) => row.id) : []);
  const members: Record<(typeof include)[number], (row: AttachmentRow) => string> = {
    sender: (row) => senders.get(row.uploader_id) ?? "null",
    unscanned: ({ unscanned }) => String(unscanned === 1),
    image: (row) => showPicture(core, row, pictures.get(row.id)),
  };
  return (row) => {
    const more = include.map((name) => `,"${name}":${members[name](row)}`);
    return `${linked(core, row).slice(0, -1)}${more.join("")}}`;
  };
}

function showPicture(core: Core, row: AttachmentRow, picture: PictureRow | undefined): string {
  if (!picture) return "null";
  const { width, height, placeholder } = picture;
  const smaller = core.previews ? PREVIEW_WIDTHS.filter((each) => each < width) : [];
  const previews = smaller.map((each) => ({
    width: each,
    url: core.links.previewUrl(row.id, row.filename, each),
  }));
  return JSON.stringify({ width, height, placeholder, previews } satisfies TypeOf<typeof image>);
}

/** Returns the attachment as JSON with a link that is signed now. */
export function linked(core: Core, row: ShownAttachment): string {
  const attachment: Attachment = {
    id: row.id,
    message_id: row.message_id,
    filename: row.filename,
    file_url: core.links.fileUrl(row.id, row.filename),
    file_type: essence(row.file_type),
    file_size: row.file_size,
    created_at: toSeconds(row.created_at),
  };
  return JSON.stringify(attachment);
}
