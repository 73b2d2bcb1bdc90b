import type { AttachmentRow, ShownAttachment } from "../../db/queries/files/attachments.ts";
import { findPictures, type PictureRow } from "../../db/queries/files/picture-placeholders.ts";
import type { QuickReader } from "../../db/sql.ts";
import { toSeconds } from "../../util/clock.ts";
import { JsonObject } from "../../util/json-object.ts";
import type { Core } from "../node/core.ts";
import { PREVIEW_WIDTHS } from "../node/previews.ts";
import { choices } from "../resource/choices.ts";
import { describedField, optional, type Parsed } from "../resource/fields.ts";
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
} from "../resource/schema.ts";
import { findShownUsers, shownUser } from "../resource/senders.ts";
import { essence } from "./media-types.ts";

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
    file_url: described(
      url,
      "Signed for you: works without a token for one to two hours, as long as you see the file.",
    ),
    file_type: described(text, "MIME type."),
    file_size: bytes,
    created_at: time,
    conversation_id: described(id("cnv"), "Only with `include=conversation_id`."),
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
  "conversation_id",
  "sender",
  "unscanned",
  "image",
);
type Attachment = TypeOf<typeof attachmentResource>;

/** Additions to an attachment that a read can select. */
export const attachmentAdditions = {
  include: optional(
    describedField(
      choices("conversation_id", "sender", "unscanned", "image"),
      "Adds `conversation_id`: where the file is; `sender`: who sent it; `unscanned`: whether it passed without a scan for viruses; `image`: size and previews of a picture.",
    ),
  ),
};
export type Additions = Parsed<typeof attachmentAdditions>;

/** Returns a function that shows these rows to a user as JSON. */
export async function chooseShape(
  core: Core<QuickReader>,
  rows: readonly AttachmentRow[],
  include: Additions["include"],
): Promise<(row: AttachmentRow, userId: string) => string> {
  if (include === undefined) return (row, userId) => linked(core, row, userId);
  const uploaders = include.includes("sender") ? rows.map(({ uploader_id }) => uploader_id) : [];
  const senders = await findShownUsers(core, uploaders);
  const pictures = await findPictures(core.db, include.includes("image") ? rows.map((row) => row.id) : []);
  const members: Record<(typeof include)[number], (row: AttachmentRow, userId: string) => string> = {
    conversation_id: ({ conversation_id }) => JSON.stringify(conversation_id),
    sender: (row) => senders.get(row.uploader_id) ?? "null",
    unscanned: ({ unscanned }) => String(unscanned === 1),
    image: (row, userId) => showPicture(core, row, userId, pictures.get(row.id)),
  };
  return (row, userId) => {
    let attachment = new JsonObject(linked(core, row, userId));
    for (const name of include) attachment = attachment.with(name, members[name](row, userId));
    return attachment.text;
  };
}

function showPicture(
  core: Pick<Core, "links" | "previews">,
  row: AttachmentRow,
  userId: string,
  picture: PictureRow | undefined,
): string {
  if (!picture) return "null";
  const { width, height, placeholder } = picture;
  const smaller = core.previews ? PREVIEW_WIDTHS.filter((each) => each < width) : [];
  const previews = smaller.map((each) => ({
    width: each,
    url: core.links.previewUrl(userId, row.id, row.filename, each),
  }));
  return JSON.stringify({ width, height, placeholder, previews } satisfies TypeOf<typeof image>);
}

/** Returns the attachment as JSON, with this user's link, signed now. */
export function linked(core: Pick<Core, "links">, row: ShownAttachment, userId: string): string {
  const attachment: Attachment = {
    id: row.id,
    message_id: row.message_id,
    filename: row.filename,
    file_url: core.links.fileUrl(userId, row.id, row.filename),
    file_type: essence(row.file_type),
    file_size: row.file_size,
    created_at: toSeconds(row.created_at),
  };
  return JSON.stringify(attachment);
}
