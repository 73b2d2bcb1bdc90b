import { useState } from "preact/hooks";
import { explain, nameLimit } from "../failures.ts";
import { toUsername } from "../people/known-people.ts";
import { openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { Icon, IconButton } from "../ui/icons.tsx";
import { GROUP_FULL } from "./members.tsx";
import { NameInput } from "./name-input.tsx";

const HISTORIES = [
  ["joined", "Messages after joining"],
  ["all", "All messages"],
] as const;
type History = (typeof HISTORIES)[number][0];

export function CreateGroup({ onClose }: { onClose: () => void }) {
  const { parley, events, say, endIfRefused } = useSession();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const [history, setHistory] = useState<History>("joined");
  const [typed, setTyped] = useState("");
  const [names, setNames] = useState<readonly string[]>([]);
  const all = withName(names, typed);
  const add = () => {
    setNames(all);
    setTyped("");
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget as HTMLFormElement).get("name")).trim();
    setBusy(true);
    try {
      const group = await parley.groups.create({ name, history, members: [...all] });
      events.publish({ type: "group.created", payload: group });
      say(`${group.name} was created.`);
      onClose();
      openPlace(group.id);
    } catch (error) {
      setBusy(false);
      setFailure(explain(nameLimit(error, GROUP_FULL)));
      endIfRefused(error);
    }
  };
  return (
    <Dialog title="Create a group" onClose={onClose}>
      <form onSubmit={submit}>
        <label class="labelled">
          Name
          <input class="field" name="name" required autofocus autocomplete="off" />
        </label>
        <div class="labelled">
          New members see
          <Choice
            legend="What new members see"
            name="history"
            chosen={history}
            choices={HISTORIES}
            onChoose={setHistory}
          />
          <span class="muted small">You can't change this later.</span>
        </div>
        <div class="invite-row">
          <NameInput value={typed} onInput={setTyped} onEnter={add} />
          <button type="button" class="button" disabled={typed.trim() === ""} onClick={add}>
            <Icon name="add" />
            Add
          </button>
        </div>
        <Names names={names} onChange={setNames} />
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Create" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function withName(names: readonly string[], typed: string): readonly string[] {
  const name = toUsername(typed);
  return name === "" || names.includes(name) ? names : [...names, name];
}

function Names(props: { names: readonly string[]; onChange: (names: readonly string[]) => void }) {
  const { names, onChange } = props;
  if (names.length === 0) return null;
  return (
    <ul class="draft-files" aria-label="People to invite">
      {names.map((name) => (
        <li key={name} class="draft-file small">
          <span class="ellipsis">{name}</span>
          <IconButton
            icon="close"
            label={`Remove ${name}`}
            onClick={() => onChange(names.filter((each) => each !== name))}
          />
        </li>
      ))}
    </ul>
  );
}
