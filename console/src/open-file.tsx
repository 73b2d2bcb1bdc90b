// The open file of a conversation, in either tab.
import { useCallback, useEffect } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { Preview } from "./preview.tsx";
import { useChanges, useSession } from "./session.ts";

/** How many files before the end the preview requests the next page. */
const AHEAD = 4;

export function OpenFile(props: {
  /** Newest first. */
  files: readonly Attachment[];
  opened: string | undefined;
  lookAt: (id: string | undefined) => void;
  more: () => void;
}) {
  const { files, opened, lookAt } = props;
  const { say } = useSession();
  const copyLink = useCopyLink();
  const at = files.findIndex((file) => file.id === opened);
  useEffect(() => {
    if (at >= 0 && at + AHEAD >= files.length) props.more();
  });
  useChanges((event) => {
    if (opened === undefined || event.type !== "attachment.deleted" || event.payload.id !== opened) return;
    say(`${files[at]?.filename ?? "The file"} was deleted.`);
    lookAt(undefined);
    focusContent();
  });
  const step = (to: number) => {
    const file = files[to];
    return file && (() => lookAt(file.id));
  };
  if (at < 0) return null;
  return (
    <Preview
      file={files[at]!}
      previous={step(at - 1)}
      next={step(at + 1)}
      onCopyLink={copyLink}
      onClose={() => lookAt(undefined)}
    />
  );
}

export function useCopyLink(): (file: Attachment) => Promise<void> {
  const { say, report } = useSession();
  return useCallback(
    async (file) => {
      try {
        await navigator.clipboard.writeText(file.file_url);
        say("Link copied. It opens for anyone who has it, for at least an hour.");
      } catch {
        report("The link was not copied.", new Error("The browser allows that only on https pages."));
      }
    },
    [say, report],
  );
}

/** If the focused button is gone after the next render, focuses the message with this id, or all files or messages. */
export function focusContent(id = ""): void {
  focusIfLost(() => document.getElementById(id) ?? document.querySelector<HTMLElement>(".files, .messages"));
}

/** If the focused button is gone after the next render, focuses another element. */
export function focusIfLost(find: () => HTMLElement | null): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) find()?.focus();
    }),
  );
}
