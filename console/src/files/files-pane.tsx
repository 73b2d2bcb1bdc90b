// The Files tab: the files of a conversation as a grid or a list, and the links in its messages.
import { useEffect, useState } from "preact/hooks";
import { SearchBar } from "../search/search-bar.tsx";
import { useSession } from "../session/session.ts";
import { Icon } from "../ui/icons.tsx";
import { NotAllowed, toNotAllowed } from "../ui/page-notes.tsx";
import { isTouched } from "../ui/use-media.ts";
import { useSettled } from "../ui/use-settled.ts";
import { useFileChoice } from "./file-bar.tsx";
import { FileBrowser } from "./file-browser.tsx";
import { LinkList } from "./link-list.tsx";
import { useFiles } from "./use-files.ts";
import { useSenderName } from "./use-sender-name.ts";

interface Pane {
  id: string;
  name: string;
  kind: "contact" | "group" | "self";
  onPick: () => void;
  isSearching: boolean;
  onSearchEnd: () => void;
}

export function FilesPane(props: Pane) {
  const { can } = useSession();
  return can("attachments:read") ? <Loaded {...props} /> : <NotAllowed what="see files" />;
}

function Loaded(props: Pane) {
  const { id, name, isSearching, onPick } = props;
  const { can } = useSession();
  const [typed, setTyped] = useState("");
  useEffect(() => {
    if (!isSearching) setTyped("");
  }, [isSearching]);
  const q = useSettled(isSearching ? typed.trim() : "");
  const pages = useFiles(id, q);
  const [choice, choose] = useFileChoice("newest");
  const toSender = useSenderName(props.kind === "self");
  const isLinks = choice.type === "links";
  return (
    <FileBrowser
      pages={pages}
      items={pages.items}
      label={`Files of ${name}`}
      q={q}
      choice={choice}
      onChoose={choose}
      toAbout={toSender}
      toSender={toSender}
      onPick={onPick}
      links={can("messages:read") ? <LinkList id={id} name={name} q={q} toSender={toSender} /> : undefined}
      empty={<NoFiles name={name} onPick={onPick} />}
      top={(found) =>
        isSearching && (
          <SearchBar
            label={isLinks ? "Search links" : "Search files"}
            typed={typed}
            onType={setTyped}
            onClose={props.onSearchEnd}
          >
            <span class="muted small" role="status">
              {found}
            </span>
          </SearchBar>
        )
      }
    />
  );
}

function NoFiles({ name, onPick }: { name: string; onPick: () => void }) {
  const { can } = useSession();
  if (!can("attachments:write")) {
    return (
      <div class="files-empty">
        <span class="empty-art">
          <Icon name="file" />
        </span>
        <h2>No files yet</h2>
        <p class="muted">{toNotAllowed("upload files")}</p>
      </div>
    );
  }
  return (
    <div class="files-empty">
      <span class="empty-art">
        <Icon name="upload" />
      </span>
      <h2>{isTouched() ? "No files yet" : "Drop files here"}</h2>
      <p class="muted">
        Nothing in {name} yet.{!isTouched() && " You can also paste a picture or choose files."}
      </p>
      <button type="button" class="button primary" onClick={onPick}>
        Choose files
      </button>
    </div>
  );
}
