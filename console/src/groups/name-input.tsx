import { useEffect, useId, useState } from "preact/hooks";
import type { Contact } from "../../../packages/parley-client/src/index.ts";
import { usePeople } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import { useSettled } from "../ui/use-settled.ts";

/** Suggested contacts. */
const SUGGESTED = 10;

/** A field for the username to invite. Suggests contacts and accepts any name. */
export function NameInput(props: {
  value: string;
  onInput: (value: string) => void;
  onEnter?: (() => void) | undefined;
}) {
  const list = useId();
  const hint = useId();
  const people = usePeople();
  const contacts = useContactSuggestions(useSettled(props.value.trim()));
  return (
    <span class="labelled">
      <label for={`${list}-field`}>Invite</label>
      <input
        id={`${list}-field`}
        class="field"
        name="username"
        list={list}
        placeholder="Username"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        value={props.value}
        aria-describedby={hint}
        onInput={(event) => props.onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.isComposing || !props.onEnter) return;
          event.preventDefault();
          props.onEnter();
        }}
      />
      <datalist id={list}>
        {contacts.map((contact) => (
          <option key={contact.id} value={contact.username}>
            {people.toContact(contact).name}
          </option>
        ))}
      </datalist>
      <span id={hint} class="muted small">
        Only people who have you as a contact see the invitation.
      </span>
    </span>
  );
}

/** Returns contacts that match. On failure there are none, because any name can be typed. */
function useContactSuggestions(q: string): readonly Contact[] {
  const { parley, can } = useSession();
  const [found, setFound] = useState<readonly Contact[]>([]);
  useEffect(() => {
    if (!can("contacts:read")) return;
    const controller = new AbortController();
    parley.contacts
      .list({ active: true, limit: SUGGESTED, ...(q && { q }) }, { signal: controller.signal })
      .then(({ data }) => setFound(data))
      .catch(() => {});
    return () => controller.abort();
  }, [parley, q]);
  return found;
}
