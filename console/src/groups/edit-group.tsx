import { useState } from "preact/hooks";
import type { Group } from "../../../packages/parley-client/src/index.ts";
import { explain } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { Dialog, FormButtons } from "../ui/dialog.tsx";

const FIELDS = ["name", "description", "avatar_url"] as const;

export function EditGroup(props: { group: Group; onClose: () => void }) {
  const { parley, events, say, endIfRefused } = useSession();
  // Send only the fields that the user edited, so that concurrent changes by others survive.
  const [before] = useState(props.group);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const edited = FIELDS.filter((name) => fields.get(name) !== (before[name] ?? ""));
    const changes = edited.map((name) => [name, String(fields.get(name)).trim() || null]);
    if (changes.length === 0) return props.onClose();
    setBusy(true);
    try {
      const { name } = await events.publishResult(
        () => parley.groups.update(before.id, Object.fromEntries(changes)),
        (payload) => ({ type: "group.updated", payload }),
      );
      say(`${name} was changed.`);
      props.onClose();
    } catch (error) {
      setBusy(false);
      setFailure(explain(error));
      endIfRefused(error);
    }
  };
  return (
    <Dialog title={`Edit ${before.name}`} onClose={props.onClose}>
      <form onSubmit={submit}>
        <label class="labelled">
          Name
          <input class="field" name="name" required autofocus autocomplete="off" defaultValue={before.name} />
        </label>
        <label class="labelled">
          Description
          <textarea class="field" name="description" rows={4} defaultValue={before.description ?? ""} />
        </label>
        <label class="labelled">
          Picture URL
          <input class="field" name="avatar_url" type="url" defaultValue={before.avatar_url ?? ""} />
          <span class="muted small">Other apps show it. This console does not.</span>
        </label>
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Save" isBusy={isBusy} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}
