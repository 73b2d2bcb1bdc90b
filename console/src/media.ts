// How a file can be shown. What a browser would run (HTML, SVG, XML, scripts) has the type application/octet-stream
// from this server, so it is a plain file here, and nothing below would show it as a document anyway.
import type { IconName } from "./icons.tsx";

type Kind = "image" | "audio" | "video" | "pdf" | "text" | "file";

const IMAGE = /^image\/(?:png|jpeg|gif|webp|avif|apng|bmp|x-icon)$/;

export function kindOf(fileType: string): Kind {
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

/** What stands for the type on a card: the ending of the name, as people know it. */
export function endingOf(filename: string): string {
  const dot = filename.lastIndexOf(".");
  return dot > 0 && filename.length - dot <= 6 ? filename.slice(dot + 1).toUpperCase() : "FILE";
}
