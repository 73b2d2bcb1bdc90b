// The right side: a conversation with messages, files and the drop zone.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useDrop } from "../files/drop.ts";
import { FilesPane } from "../files/files-pane.tsx";
import { focusIfLost } from "../files/open-file.tsx";
import { useSession } from "../session/session.ts";
import { CONTROL } from "../shortcuts.tsx";
import { Choice } from "../ui/choice.tsx";
import { Icon } from "../ui/icons.tsx";
import { isTouched, useMedia } from "../ui/use-media.ts";
import { focusComposer } from "./composer.tsx";
import { useAddFiles } from "./draft-files.tsx";
import { MessagesPane } from "./messages-pane.tsx";

const TABS = [
  ["messages", "Messages"],
  ["files", "Files"],
] as const;

export function Conversation(props: {
  id: string;
  /** The name in messages: "Grace", or "your notes". */
  name: string;
  /** Also `self` for a contact with the user's own username. */
  kind: "contact" | "group" | "self";
  /** Whether the user has blocked the contact. */
  isBlocked?: boolean;
  header: (tabs: ComponentChildren) => ComponentChildren;
  /** Shown beside the conversation in a wide window. */
  details?: ComponentChildren;
}) {
  const { id, name } = props;
  const { uploads, jumps, say, can } = useSession();
  const addToDraft = useAddFiles();
  const [tab, setTab] = useState<"messages" | "files">(
    can("messages:read") || !can("attachments:read") ? "messages" : "files",
  );
  const isReadable = can(tab === "files" ? "attachments:read" : "messages:read");
  const search = useSearch(isReadable);
  const show = (next: "messages" | "files") => {
    setTab(next);
    search.close();
  };
  const picker = useRef<HTMLInputElement>(null);
  const pick = () => picker.current!.click();
  const add = (files: File[]) => {
    if (files.length === 0) return;
    if (tab === "files") return uploads.add(files, id, name);
    addToDraft(id, files);
  };
  const isWide = useMedia("(width >= 1500px)");
  const { zone, over } = useDrop({
    isOn: isReadable && can(tab === "files" ? "attachments:write" : "messages:write"),
    onFiles: add,
    onFolder: () => say("Folders cannot be uploaded. Drop the files in them instead."),
  });
  useLayoutEffect(() => jumps.watch(() => jumps.isFor(id) && show("messages")), [jumps, id]);
  const panes = {
    id,
    name,
    kind: props.kind,
    isBlocked: props.isBlocked ?? false,
    onPick: pick,
    isSearching: search.isOn,
    onSearchEnd: search.end,
  };
  const tabs = (
    <div class="tab-row">
      <Choice legend="What is shown" name="tab" chosen={tab} choices={TABS} onChoose={show} />
      {isReadable && <SearchButton tab={tab} search={search} />}
    </div>
  );
  const conversation = (
    <section
      class="conversation"
      tabIndex={-1}
      ref={zone}
      aria-label={`Conversation: ${name}`}
      onKeyDown={(event) => {
        search.onKeyDown(event);
        leaveField(event);
      }}
    >
      {props.header(tabs)}
      {tab === "files" ? <FilesPane {...panes} /> : <MessagesPane {...panes} />}
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
          if (tab === "messages" && !isTouched()) focusComposer();
        }}
      />
      {over && (
        <div class="drop-over" aria-hidden="true">
          <Icon name="upload" />
          Drop to add to {name}
        </div>
      )}
    </section>
  );
  return (
    <>
      {conversation}
      {isWide && props.details}
    </>
  );
}

function SearchButton({ tab, search }: { tab: string; search: ReturnType<typeof useSearch> }) {
  return (
    <button
      ref={search.button}
      type="button"
      class="icon-button"
      aria-label={`Search ${tab}`}
      aria-pressed={search.isOn}
      title={`Search ${tab} (${CONTROL} F)`}
      onClick={() => (search.isOn ? search.end() : search.begin())}
    >
      <Icon name="search" />
    </button>
  );
}

/** Escape moves the focus from the composer to the conversation, where letters are shortcuts. */
function leaveField(event: KeyboardEvent): void {
  const field = event.target as Element;
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || !field.matches("textarea"))
    return;
  field.closest<HTMLElement>(".conversation")?.focus({ preventScroll: true });
}

/** Opens the search of the visible tab, if the token may search it. */
function useSearch(isPossible: boolean) {
  const [isOn, setOn] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const begin = () => setOn(true);
  const close = () => setOn(false);
  /** Returns the focus to the message shown last, or to the button. */
  const end = (shownId = "") => {
    close();
    focusIfLost(() => document.getElementById(shownId) ?? button.current);
  };
  useEffect(() => {
    if (!isPossible) return;
    const find = (event: KeyboardEvent) => {
      const isFind = (event.ctrlKey || event.metaKey) && event.key === "f";
      const field = document.querySelector<HTMLInputElement>(".search-bar input");
      // A second Ctrl+F opens the browser's own search.
      if (!isFind || document.activeElement === field || document.querySelector("dialog")) return;
      event.preventDefault();
      begin();
      field?.focus();
      field?.select();
    };
    addEventListener("keydown", find);
    return () => removeEventListener("keydown", find);
  }, [isPossible]);
  const onKeyDown = (event: KeyboardEvent) => {
    const isElsewhere = event.defaultPrevented || (event.target as Element).closest("dialog");
    if (!isOn || event.key !== "Escape" || event.isComposing || isElsewhere) return;
    event.preventDefault();
    end();
  };
  return { isOn, button, begin, close, end, onKeyDown };
}
