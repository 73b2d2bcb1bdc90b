// Decides how to show a file. The server sends all types that a browser could run (HTML, SVG, XML, scripts) as
// application/octet-stream. The console shows the source of some of them as plain text, and none as a document.
import type { Attachment } from "../../../packages/parley-client/src/index.ts";
import type { IconName } from "../ui/icons.tsx";

type Kind = "image" | "audio" | "video" | "pdf" | "text" | "file";

/** The kinds of file that people look for. */
export type FileType = "picture" | "video" | "audio" | "document" | "other";

type Typed = Pick<Attachment, "file_type" | "filename">;

const IMAGE = /^image\/(?:png|jpeg|gif|webp|avif|apng|bmp|x-icon)$/;
/** Types of office programs and books. */
const DOCUMENT =
  /^application\/(?:rtf|msword|epub\+zip|vnd\.(?:ms-(?:excel|powerpoint|word)|openxmlformats-officedocument|oasis\.opendocument|apple\.(?:pages|numbers|keynote)))/;
/** Types that do not identify source code: .ts files are reported as video. */
const UNCLEAR = /^(?:application\/|video\/mp2t$)/;
const CODE =
  /\.(?:bash|c|cc|cfg|clj|conf|cpp|cs|css|csv|dart|diff|env|erl|ex|go|graphql|h|hpp|hs|htm|html|ini|ipynb|java|jl|js|jsonl?|jsx|kt|less|log|lua|m|markdown|md|mjs|patch|php|pl|properties|proto|ps1|py|r|rb|rs|scala|scss|sh|sql|svelte|swift|tex|toml|tsx?|txt|vue|xhtml|xml|ya?ml|zig)$/i;

export function toKind({ file_type, filename }: Typed): Kind {
  if (IMAGE.test(file_type)) return "image";
  if (file_type === "application/pdf") return "pdf";
  if (file_type.startsWith("text/") || file_type === "application/json") return "text";
  if (UNCLEAR.test(file_type) && CODE.test(filename)) return "text";
  if (file_type.startsWith("audio/")) return "audio";
  if (file_type.startsWith("video/")) return "video";
  return "file";
}

export function toFileType(file: Typed): FileType {
  const kind = toKind(file);
  if (kind === "audio" || kind === "video") return kind;
  if (file.file_type.startsWith("image/")) return "picture";
  return kind === "file" && !DOCUMENT.test(file.file_type) ? "other" : "document";
}

export const KIND_ICONS: Record<Kind, IconName> = {
  image: "image",
  audio: "audio",
  video: "video",
  pdf: "pdf",
  text: "text",
  file: "file",
};

/** Returns the extension of a filename, which a card shows as the type. */
export function toExtension(filename: string): string {
  const dot = filename.lastIndexOf(".");
  return dot > 0 && filename.length - dot <= 6 ? filename.slice(dot + 1).toUpperCase() : "FILE";
}

const WORDS: Record<Kind, string> = {
  image: "picture",
  audio: "audio",
  video: "video",
  pdf: "document",
  text: "text",
  file: "file",
};

/** Describes the type, such as "PNG picture". */
export function toTypeName(file: Typed): string {
  const extension = toExtension(file.filename);
  const word = WORDS[toKind(file)];
  return extension === "FILE" ? `${word[0]!.toUpperCase()}${word.slice(1)}` : `${extension} ${word}`;
}
