// The search within the open conversation: the list of hits, and steps between them.
import { useRef, useState } from "preact/hooks";
import { IconButton } from "../ui/icons.tsx";
import { PageFailure, Reading, toCount } from "../ui/page-notes.tsx";
import { useSettled } from "../ui/use-settled.ts";
import { FoundList } from "./found-list.tsx";
import { SearchBar } from "./search-bar.tsx";
import { type Hit, useFound } from "./use-found.ts";

/** How many hits before the end to load the next page. */
const AHEAD = 10;

export function MessageSearch(props: {
  conversationId: string;
  /** Shows a message, and moves the focus to it if `isFocused`. */
  onShow: (id: string, isFocused: boolean) => void;
  /** Called with the message shown last. */
  onClose: (shownId: string) => void;
}) {
  const [typed, setTyped] = useState("");
  const [shownId, setShownId] = useState("");
  /** After a hit is chosen, the messages take the room of the list. */
  const [isListed, setListed] = useState(true);
  const q = useSettled(typed.trim());
  const pages = useFound(q, props.conversationId);
  const { items, hasMore, loading } = pages;
  const at = items.findIndex(({ id }) => id === shownId);
  const root = useRef<HTMLDivElement>(null);
  const choose = ({ id }: Hit, isFocused: boolean) => {
    setShownId(id);
    setListed(false);
    props.onShow(id, isFocused);
  };
  const step = (to: number) => {
    if (to + AHEAD >= items.length) pages.more();
    // After the last hit comes the first, once all hits are loaded.
    const hit = items[to] ?? (hasMore ? undefined : items.at(to < 0 ? -1 : 0));
    if (hit) choose(hit, false);
  };
  const older = () => step(at + 1);
  const newer = () => step(at < 0 ? 0 : at - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Enter") (event.shiftKey ? newer : older)();
    else if (event.key === "ArrowDown") {
      setListed(true);
      root.current!.querySelector<HTMLElement>("[role=listbox]")?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <div
      class="message-search"
      role="search"
      aria-label="Search messages"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.preventDefault();
        props.onClose(shownId);
      }}
    >
      <SearchBar
        label="Search messages"
        typed={typed}
        onType={(text) => {
          setTyped(text);
          setShownId("");
          setListed(true);
        }}
        onKeyDown={onKeyDown}
        onClose={() => props.onClose(shownId)}
      >
        <span class="muted small" role="status">
          {q && (at < 0 ? toCount(pages) : `${at + 1} of ${items.length}${hasMore ? "+" : ""}`)}
        </span>
        <IconButton icon="up" label="Older match" onClick={older} />
        <IconButton icon="down" label="Newer match" onClick={newer} />
      </SearchBar>
      {q && loading && items.length === 0 && <Reading />}
      <PageFailure pages={pages} />
      {isListed && items.length > 0 && (
        <FoundList pages={pages} q={q} isHere chosenId={shownId} onOpen={(hit) => choose(hit, true)} />
      )}
    </div>
  );
}
