// The field for a message, with the files that it will have.
import type { Sync, SyncMessage } from "parley-sync";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Preview } from "./files.tsx";
import { useSession } from "./session.ts";
import { Icon, IconButton } from "./small.tsx";
import { toLine, toName } from "./texts.ts";

const MAX_ROWS = 6;

/** Unsent texts by conversation. They go with the copy when the user signs out. */
const draftsOf = new WeakMap<Sync, Map<string, string>>();

function getDrafts(sync: Sync): Map<string, string> {
  if (!draftsOf.has(sync)) draftsOf.set(sync, new Map());
  return draftsOf.get(sync)!;
}

/** The message that the user replies to or edits. */
export interface Target {
  kind: "reply" | "edit";
  message: SyncMessage;
}

interface Props {
  id: string;
  name: string;
  field: { current: HTMLTextAreaElement | null };
  target: Target | undefined;
  onEnd: () => void;
}

export function Composer({ id, name, field, target, onEnd }: Props) {
  const { sync, translate } = useSession();
  const drafts = getDrafts(sync);
  const [draft, showDraft] = useState(drafts.get(id) ?? "");
  const [edited, setEdited] = useState("");
  const [files, setFiles] = useState<readonly File[]>([]);
  const isEdit = target?.kind === "edit";
  const setDraft = (draft: string) => {
    drafts.set(id, draft);
    showDraft(draft);
  };
  // An edit leaves the draft as it is.
  const [text, setText] = isEdit ? [edited, setEdited] : [draft, setDraft];
  useLayoutEffect(() => {
    if (!target) return;
    if (target.kind === "edit") setEdited(target.message.text ?? "");
    field.current!.focus();
  }, [target]);
  const send = () => {
    const written = text.trim();
    if (written === "" && (isEdit || files.length === 0)) return;
    if (isEdit) sync.edit(id, target.message.id, written);
    else {
      sync.send(id, { text: written || undefined, files, replyTo: target?.message.id });
      setDraft("");
      setFiles([]);
    }
    onEnd();
    field.current!.focus();
  };
  const changeFiles = (changed: readonly File[]) => {
    setFiles(changed);
    // So that Enter sends.
    field.current!.focus();
  };
  const addFiles = (added: FileList | undefined) => {
    if (!isEdit && added?.length) changeFiles([...files, ...added]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Escape" && target) return onEnd();
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        addFiles(event.dataTransfer?.files);
      }}
    >
      {target && (
        <div class="target">
          <span class="quote">
            <strong class="ellipsis">
              {isEdit
                ? translate("edit")
                : translate("replyTo", { name: toName(target.message.sender, translate) })}
            </strong>
            <bdi class="ellipsis">{toLine(target.message, translate)}</bdi>
          </span>
          <IconButton icon="close" label={translate("cancel")} onClick={onEnd} />
        </div>
      )}
      <ChosenFiles files={files} onChange={changeFiles} />
      <div class="composer-line">
        <FileButton onChoose={addFiles} isDisabled={isEdit} />
        <textarea
          ref={field}
          aria-label={translate("messageTo", { name })}
          placeholder={translate("message")}
          rows={Math.min(MAX_ROWS, text.split("\n").length)}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            sync.typing(id).notify();
          }}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            if (!event.clipboardData?.files.length) return;
            event.preventDefault();
            addFiles(event.clipboardData.files);
          }}
        />
        <button type="submit" class="send" aria-label={translate("send")} title={translate("send")}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

function FileButton(props: { onChoose: (files: FileList) => void; isDisabled: boolean }) {
  const { translate } = useSession();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton
        icon="attach"
        label={translate("attach")}
        isDisabled={props.isDisabled}
        onClick={() => input.current!.click()}
      />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          props.onChoose(currentTarget.files!);
          // The same file can be chosen again.
          currentTarget.value = "";
        }}
      />
    </>
  );
}

function ChosenFiles(props: { files: readonly File[]; onChange: (files: readonly File[]) => void }) {
  const { files, onChange } = props;
  const { translate, format } = useSession();
  if (files.length === 0) return null;
  return (
    <ul class="chosen">
      {files.map((file) => (
        <li key={toKey(file)}>
          <span class="file-icon">
            <Preview file={file} />
          </span>
          <span class="file-text">
            <bdi class="ellipsis">{file.name}</bdi>
            <span class="file-size">{format.size(file.size)}</span>
          </span>
          <IconButton
            icon="close"
            label={translate("remove", { name: file.name })}
            onClick={() => onChange(files.filter((each) => each !== file))}
          />
        </li>
      ))}
    </ul>
  );
}

const keys = new WeakMap<File, number>();
let lastKey = 0;

/** Returns a key for lists: two files can have the same name. */
function toKey(file: File): number {
  if (!keys.has(file)) keys.set(file, ++lastKey);
  return keys.get(file)!;
}
