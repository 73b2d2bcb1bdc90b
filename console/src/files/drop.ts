// Handles files dropped on an element or pasted, and files dropped elsewhere.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useDrop(taker: {
  /** Whether the element accepts files. */
  isOn: boolean;
  onFiles: (files: File[]) => void;
  onFolder: () => void;
}) {
  const zone = useRef<HTMLElement>(null);
  const [over, setOver] = useState(false);
  const latest = useRef(taker);
  latest.current = taker;
  useLayoutEffect(() => {
    const stop = new AbortController();
    const options = { signal: stop.signal };
    const take = (data: DataTransfer) => {
      const { files, folders } = readFiles(data);
      latest.current.onFiles(files);
      if (folders) latest.current.onFolder();
    };
    const isInside = (event: DragEvent) =>
      latest.current.isOn && zone.current!.contains(event.target as Node) && hasFiles(event);
    addEventListener(
      "dragover",
      (event) => {
        if (!hasFiles(event)) return;
        setOver(isInside(event));
        // Another place takes the files.
        if (event.defaultPrevented) return;
        event.preventDefault();
        event.dataTransfer!.dropEffect = isInside(event) ? "copy" : "none";
      },
      options,
    );
    addEventListener("dragleave", (event) => event.relatedTarget === null && setOver(false), options);
    addEventListener(
      "drop",
      (event) => {
        setOver(false);
        if (!hasFiles(event)) return;
        event.preventDefault();
        if (isInside(event)) take(event.dataTransfer!);
      },
      options,
    );
    addEventListener(
      "paste",
      (event) => {
        const { clipboardData } = event;
        if (!latest.current.isOn || !clipboardData?.files.length || document.querySelector("dialog[open]"))
          return;
        // Office programs add a picture of the copied text.
        const { types } = clipboardData;
        if (types.includes("text/html") && types.includes("text/plain")) return;
        event.preventDefault();
        take(clipboardData);
      },
      options,
    );
    return () => stop.abort();
  }, []);
  return { zone, over };
}

/** Prevents a file dropped outside all zones from replacing the page. */
export function useDropGuard(): void {
  useLayoutEffect(() => {
    const stop = new AbortController();
    const refuse = (event: DragEvent) => {
      // A zone has handled it.
      if (event.defaultPrevented || !hasFiles(event)) return;
      event.preventDefault();
      event.dataTransfer!.dropEffect = "none";
    };
    addEventListener("dragover", refuse, { signal: stop.signal });
    addEventListener("drop", refuse, { signal: stop.signal });
    return () => stop.abort();
  }, []);
}

export function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") === true;
}

/** Returns the files. A folder looks like an unreadable file; only its entry tells them apart. */
export function readFiles(data: DataTransfer): { files: File[]; folders: boolean } {
  const files: File[] = [];
  let folders = false;
  for (const item of data.items) {
    if (item.kind !== "file") continue;
    if (item.webkitGetAsEntry()?.isDirectory) folders = true;
    else {
      const file = item.getAsFile();
      if (file) files.push(file);
    }
  }
  return { files, folders };
}
