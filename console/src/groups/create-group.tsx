import { useState } from "preact/hooks";
import { explain, nameLimit } from "../failures.ts";
import { openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { GROUP_FULL } from "./members.tsx";
import { listPicked, NOBODY, PeoplePicker } from "./people-picker.tsx";

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
  const [picked, setPicked] = useState(NOBODY);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget as HTMLFormElement).get("name")).trim();
    setBusy(true);
    try {
      const group = await parley.groups.create({ name, history, members: [...listPicked(picked)] });
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
        <PeoplePicker picked={picked} onChange={setPicked} taken={[]} />
        <p class="failure" role="alert">
          {failure}
        </p>
        <FormButtons submit="Create" isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
