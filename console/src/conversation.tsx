// The right side: a conversation with its messages and its files, and the drop zone.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Choice } from "./choice.tsx";
import { useDrop } from "./drop.ts";
import { explainSize } from "./failures.ts";
import { FilesPane } from "./files-pane.tsx";
import { Icon } from "./icons.tsx";
import { MessagesPane } from "./messages-pane.tsx";
import { useSession } from "./session.ts";

const TABS = [
  ["messages", "Messages"],
  ["files", "Files"],
] as const;

export function Conversation(props: {
  id: string;
  /** The name for messages: "Grace", or "your notes". */
  name: string;
  /** One with oneself may be that with a contact of one's own name. */
  kind: "contact" | "group" | "self";
  header: ComponentChildren;
}) {
  const { id, name } = props;
  const { uploads, drafts, say, report, me } = useSession();
  const [tab, setTab] = useState<"messages" | "files">("messages");
  const picker = useRef<HTMLInputElement>(null);
  const pick = () => picker.current!.click();
  const add = (files: File[]) => {
    if (files.length === 0) return;
    if (tab === "files") return uploads.add(files, id, name);
    const limit = me.limits.max_file_size ?? Infinity;
    const fitting = files.filter((file) => {
      if (file.size > limit) report(`${file.name} was not added.`, new Error(explainSize(file.size, limit)));
      return file.size <= limit;
    });
    drafts.change(id, { files: [...drafts.get(id).files, ...fitting] });
  };
  const { zone, over } = useDrop(add, () =>
    say("Folders cannot be uploaded. Drop the files in them instead."),
  );
  return (
    <section class="conversation" tabIndex={-1} ref={zone} aria-label={`Conversation: ${name}`}>
      {props.header}
      <div class="tab-row">
        <Choice legend="What is shown" name="tab" chosen={tab} choices={TABS} onChoose={setTab} />
      </div>
      {tab === "files" ? (
        <FilesPane id={id} name={name} onPick={pick} />
      ) : (
        <MessagesPane id={id} name={name} kind={props.kind} onPick={pick} />
      )}
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
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
}
