// How a file is shown. The server sends everything that a browser could run (HTML, SVG, XML, scripts) as
// application/octet-stream, so it is a plain file here. Nothing is shown as a document anyway.
import type { IconName } from "./icons.tsx";

type Kind = "image" | "audio" | "video" | "pdf" | "text" | "file";

const IMAGE = /^image\/(?:png|jpeg|gif|webp|avif|apng|bmp|x-icon)$/;

export function toKind(fileType: string): Kind {
  if (IMAGE.test(fileType)) return "image";
  if (fileType.startsWith("audio/")) return "audio";
  if (fileType.startsWith("video/")) return "video";
  if (fileType === "application/pdf") return "pdf";
  if (fileType.startsWith("text/") || fileType === "application/json") return "text";
  return "file";
}

export const KIND_ICONS: Record<Kind, IconName> = {
  image: "image",
  audio: "audio",
  video: "video",
  pdf: "pdf",
  text: "text",
  file: "file",
};

/** Returns the extension of a filename, which stands for the type on a card. */
export function toExtension(filename: string): string {
  const dot = filename.lastIndexOf(".");
  return dot > 0 && filename.length - dot <= 6 ? filename.slice(dot + 1).toUpperCase() : "FILE";
}
