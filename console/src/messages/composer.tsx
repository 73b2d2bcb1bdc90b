// The composer: writes a new message, kept as a draft, or edits one of the user's messages.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import { toOneLine } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import { Icon, IconButton } from "../ui/icons.tsx";
import { isTouched } from "../ui/use-media.ts";
import { useWatched } from "../ui/use-redraw.ts";
import { DraftFiles } from "./draft-files.tsx";
import type { Draft } from "./drafts.ts";
import { EmojiMenu } from "./emoji.tsx";
import { findMentioned, listEdited, MentionLine, useMentionable, useMentions } from "./mentions.tsx";
import type { MessageActions } from "./message-tools.tsx";
import { useVoice, VoiceRecorder } from "./voice-recorder.tsx";

/** The maximum length of a message in characters. */
const MAX_TEXT = 10_000;

interface Composing {
  conversationId: string;
  name: string;
  editing: Message | undefined;
  onEditEnd: () => void;
  onPick: () => void;
  /** Sends the draft. `mentions`: the ids of those whom the text mentions. */
  onSend: (mentions: readonly string[]) => void;
  onEditLast: () => void;
  /** Asks whether to delete a message whose text was removed. */
  onRemove: (message: Message) => void;
  toName: MessageActions["toName"];
}

export function Composer(props: Composing) {
  const { editing, toName } = props;
  const { drafts, sync } = useSession();
  const draft = useDraft(props.conversationId);
  const change = (change: Partial<Draft>) => drafts.change(props.conversationId, change);
  const [edited, setEdited] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const { replyTo, files } = draft;
  useLayoutEffect(() => {
    if (editing) setEdited(editing.text ?? "");
  }, [editing]);
  useLayoutEffect(() => {
    if (editing || replyTo) field.current?.focus();
  }, [editing, replyTo]);
  const text = editing ? edited : draft.text;
  const users = useMentionable(props.conversationId, text.includes("@"));
  const mentioned = useMemo(() => findMentioned(text, users), [text, users]);
  const onText = (value: string) => {
    if (editing) return setEdited(value);
    change({ text: value });
    if (value.trim() !== "") sync.typing(props.conversationId).notify();
  };
  const mentions = useMentions(field, users, onText);
  useFirstFocus(field);
  const voice = useVoice(field);
  const isEmpty = !editing && text === "" && files.length === 0;
  const length = [...text].length;
  const isReady = length <= MAX_TEXT && (text.trim() !== "" || (editing ? true : files.length > 0));
  const save = useSave(props);
  const submit = () => {
    if (!isReady) return;
    // Keep the indentation of the first line, for example of code.
    const written = text.replace(/^\s*\n/, "").trimEnd();
    if (editing) return save(editing, written, listEdited(editing, mentioned, users));
    change({ text: written });
    voice.sent();
    props.onSend(mentioned.map(({ id }) => id));
  };
  const addFile = (file: File) => change({ files: [...drafts.get(props.conversationId).files, file] });
  const sendVoice = (file: File) => {
    addFile(file);
    voice.sent();
    props.onSend([]);
  };
  const leave = () => (editing ? props.onEditEnd() : change({ replyTo: undefined }));
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter may accept a word of an input method. Safari first ends the composition, and sends this key code.
    if (event.isComposing || event.keyCode === 229) return;
    if (mentions.onKeyDown(event)) event.preventDefault();
    else if (event.key === "Enter" && !event.shiftKey) submit();
    else if (event.key === "Escape" && (editing || replyTo)) leave();
    else if (event.key === "ArrowUp" && text === "" && !editing) props.onEditLast();
    else return;
    event.preventDefault();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Subject editing={editing} replyTo={replyTo} onClose={leave} toName={toName} />
      {!editing && files.length > 0 && <DraftFiles files={files} onChange={(files) => change({ files })} />}
      <MentionLine users={mentioned} />
      {mentions.list}
      {voice.isOn ? (
        <VoiceRecorder onSend={sendVoice} onLeft={addFile} onEnd={voice.end} />
      ) : (
        <div class="composer-row">
          {!editing && <IconButton icon="attach" label="Attach files" onClick={props.onPick} />}
          <Field
            field={field}
            label={editing ? "Edit the message" : `Message to ${props.name}`}
            {...{ text, mentions, onText, onKeyDown }}
          />
          <EmojiMenu onChoose={(emoji) => onText(insertAtCaret(field.current!, emoji))} />
          {isEmpty && voice.isPossible ? (
            <IconButton icon="microphone" label="Record a voice message" onClick={voice.begin} />
          ) : (
            <SendButton isEdit={editing !== undefined} isReady={isReady} />
          )}
        </div>
      )}
      {isEmpty && <Failure text={voice.failure} />}
      {length > MAX_TEXT && (
        <Failure text={`The text has ${length} characters. A message has at most ${MAX_TEXT}.`} />
      )}
    </form>
  );
}

function Field(props: {
  field: { current: HTMLTextAreaElement | null };
  label: string;
  text: string;
  mentions: ReturnType<typeof useMentions>;
  onText: (value: string) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}) {
  const { field, mentions } = props;
  return (
    <textarea
      ref={field}
      class="field"
      rows={1}
      aria-label={props.label}
      placeholder="Write a message"
      value={props.text}
      {...mentions.attributes}
      onInput={({ currentTarget }) => {
        props.onText(currentTarget.value);
        mentions.look();
      }}
      onKeyDown={props.onKeyDown}
      onKeyUp={(event) => event.key !== "Escape" && mentions.look()}
      onClick={mentions.look}
      onBlur={mentions.close}
    />
  );
}

function SendButton({ isEdit, isReady }: { isEdit: boolean; isReady: boolean }) {
  const label = isEdit ? "Save" : "Send";
  return (
    <button type="submit" class="icon-button send" disabled={!isReady} aria-label={label} title={label}>
      <Icon name={isEdit ? "check" : "send"} />
    </button>
  );
}

function Failure({ text }: { text: string }) {
  if (text === "") return null;
  return (
    <p class="failure small" role="alert">
      {text}
    </p>
  );
}

export function focusComposer(): void {
  document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

/** Returns the new text of the field, which gets the focus. */
function insertAtCaret(field: HTMLTextAreaElement, text: string): string {
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.focus();
  return field.value;
}

/** Focuses the field when a conversation opens, except on touch screens, where that would open the keyboard. */
function useFirstFocus(field: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const focused = document.activeElement;
    // A conversation may load late, while the user types elsewhere.
    const isElsewhere =
      focused?.matches("input, textarea") || focused?.parentElement?.closest(".conversation, dialog");
    if (!isTouched() && !isElsewhere) field.current!.focus({ preventScroll: true });
  }, []);
}

/** Shows the message that is edited or replied to. */
function Subject(props: {
  editing: Message | undefined;
  replyTo: Message | undefined;
  onClose: () => void;
  toName: MessageActions["toName"];
}) {
  const { editing, replyTo, onClose, toName } = props;
  if (editing) {
    return (
      <About label="Stop editing" onClose={onClose}>
        <strong>Editing</strong> {toOneLine(editing)}
      </About>
    );
  }
  return (
    replyTo && (
      <About label="Cancel reply" onClose={onClose}>
        <strong>Reply to {toName(replyTo.sender)}</strong> {toOneLine(replyTo)}
      </About>
    )
  );
}

function About(props: { label: string; onClose: () => void; children: ComponentChildren }) {
  return (
    <div class="composer-about small">
      <span class="ellipsis">{props.children}</span>
      <IconButton icon="close" label={props.label} onClick={props.onClose} />
    </div>
  );
}

function useDraft(conversationId: string): Draft {
  const { drafts } = useSession();
  useWatched(drafts);
  return drafts.get(conversationId);
}

/** Returns a function that saves an edited text and its mentions. */
function useSave({ onEditEnd, onRemove }: Composing) {
  const { sync } = useSession();
  return (message: Message, text: string, mentions: readonly string[]) => {
    if (text === "" && message.attachments.length === 0 && message.data === null) return onRemove(message);
    sync.edit(message.conversation_id, message.id, text || null, mentions);
    onEditEnd();
  };
}
