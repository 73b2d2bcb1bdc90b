// Settings of a conversation, visible only to the user.
import { useState } from "preact/hooks";
import type {
  Conversation,
  ConversationSettings as Settings,
} from "../../../packages/parley-client/src/index.ts";
import { explain } from "../failures.ts";
import { useChanges, useSession } from "../session/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { formatFullTime } from "../ui/format.ts";
import { PageFailure, Reading, toNotAllowed } from "../ui/page-notes.tsx";
import { isMuted } from "./muted.ts";
import { useConversation } from "./use-conversation.ts";

const HOUR = 3600;
/** In seconds. */
const DURATIONS = [
  [HOUR, "For 1 hour"],
  [8 * HOUR, "For 8 hours"],
  [7 * 24 * HOUR, "For 1 week"],
] as const;
/** The maximum time: mutes for ever. */
const ALWAYS = 99_999_999_999;

export function ConversationSettings({ id, onClose }: { id: string; onClose: () => void }) {
  return (
    <Dialog title="Conversation settings" onClose={onClose}>
      <SettingsFields id={id} />
    </Dialog>
  );
}

export function SettingsFields({ id }: { id: string }) {
  const { can } = useSession();
  return can("messages:read") ? <Loaded id={id} /> : <p class="muted">{toNotAllowed("see settings")}</p>;
}

function Loaded({ id }: { id: string }) {
  const { conversation, failure, retry } = useConversation(id);
  if (conversation) return <SettingFields conversation={conversation} />;
  return failure ? <PageFailure pages={{ failure, retry }} /> : <Reading />;
}

/** Returns the settings that pass. */
function pick(settings: Settings, isKept: (name: keyof Settings) => boolean): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => isKept(name as keyof Settings)));
}

/** Returns the settings that the server has accepted since, and a function that adds some. An event with another value ends one. */
function useAccepted(id: string) {
  const [accepted, accept] = useState<Settings>({});
  useChanges((change) => {
    if (change.type === "missed") return accept({});
    if (change.type !== "conversation.updated" || change.payload.id !== id) return;
    const { payload } = change;
    // An equal one stays: in a tab without the connection, the copy changes after the event.
    accept((before) => pick(before, (name) => payload[name] === before[name]));
  });
  return [accepted, (settings: Settings) => accept((before) => ({ ...before, ...settings }))] as const;
}

function SettingFields({ conversation }: { conversation: Conversation }) {
  const { parley, endIfRefused, can } = useSession();
  const [failure, setFailure] = useState("");
  /** Settings being changed: shown at once, and not undone by other changes of the conversation meanwhile. */
  const [wanted, setWanted] = useState<Settings>({});
  const [accepted, accept] = useAccepted(conversation.id);
  const shown = { ...conversation, ...accepted, ...wanted } as Conversation;
  const change = async (settings: Settings) => {
    setWanted((before) => ({ ...before, ...settings }));
    try {
      const changed = await parley.conversations.update(conversation.id, settings);
      accept(pick(changed, (name) => name in settings));
      setFailure("");
    } catch (error) {
      setFailure(`The setting was not changed. ${explain(error)}`);
      endIfRefused(error);
    } finally {
      setWanted((before) => pick(before, (name) => !(name in settings)));
    }
  };
  return (
    <fieldset class="settings" disabled={!can("messages:write")}>
      <label class="check">
        <input
          type="checkbox"
          checked={shown.is_pinned}
          onChange={({ currentTarget }) => change({ is_pinned: currentTarget.checked })}
        />
        Pinned above the others
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={shown.is_archived}
          onChange={({ currentTarget }) => change({ is_archived: currentTarget.checked })}
        />
        Archived, even when messages arrive
      </label>
      <Mute conversation={shown} onChange={(muted_until) => change({ muted_until })} />
      {failure && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      {!can("messages:write") && <p class="muted small">{toNotAllowed("change settings")}</p>}
    </fieldset>
  );
}

function Mute(props: { conversation: Conversation; onChange: (until: number | null) => void }) {
  const { conversation, onChange } = props;
  const until = isMuted(conversation) ? conversation.muted_until! : null;
  return (
    <label class="labelled">
      Muted
      <select
        class="field"
        value={until ?? ""}
        onChange={({ currentTarget: { value } }) => {
          const seconds = Number(value);
          if (value === "") onChange(null);
          else onChange(seconds === ALWAYS ? ALWAYS : Math.floor(Date.now() / 1000) + seconds);
        }}
      >
        <option value="">No</option>
        {until !== null && until !== ALWAYS && <option value={until}>Until {formatFullTime(until)}</option>}
        {DURATIONS.map(([seconds, label]) => (
          <option key={seconds} value={seconds}>
            {label}
          </option>
        ))}
        <option value={ALWAYS}>Always</option>
      </select>
      <span class="muted small">Its unread messages don't count in the title.</span>
    </label>
  );
}
