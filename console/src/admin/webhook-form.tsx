// Creates or changes a webhook.
import { useState } from "preact/hooks";
import type { Webhook, WebhookWithSecret } from "../../../packages/parley-client/src/index.ts";
import { NO_FAILURE, nameLimit, toFormFailure } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { Dialog, FormButtons } from "../ui/dialog.tsx";
import { TextField } from "../ui/text-field.tsx";
import { EVENT_TYPES, toEventName } from "./advice.ts";
import { ShowSecret } from "./show-secret.tsx";

const TYPE_CHOICES = [
  ["all", "All types"],
  ["some", "Some"],
] as const;
const MAX_URL = 2048;

/** Creates a webhook of the administrator, and shows its secret once. */
export function CreateWebhook(props: { onCreated: (hook: Webhook) => void; onClose: () => void }) {
  const { parley } = useSession();
  const [made, setMade] = useState<WebhookWithSecret>();
  if (made) return <ShowWebhookSecret secret={made.secret} onClose={props.onClose} />;
  return (
    <WebhookForm
      onSubmit={async (fields) => {
        const created = await parley.webhooks.create(fields);
        const { secret: _, ...hook } = created;
        props.onCreated(hook);
        setMade(created);
      }}
      onClose={props.onClose}
    />
  );
}

export function ShowWebhookSecret(props: { secret: string; onClose: () => void }) {
  return (
    <ShowSecret what="Secret" use="your receiver checks the signature of each event with it." {...props} />
  );
}

export function EditWebhook(props: {
  hook: Webhook;
  onChange: (hook: Webhook) => void;
  onClose: () => void;
}) {
  const { hook, onChange, onClose } = props;
  const { parley, say } = useSession();
  return (
    <WebhookForm
      hook={hook}
      onSubmit={async ({ url, events }) => {
        onChange(await parley.webhooks.update(hook.id, { url, events }));
        say("The webhook was changed.");
        onClose();
      }}
      onClose={onClose}
    />
  );
}

interface WebhookDraft {
  url: string;
  /** Separated by commas; null for all. */
  events: string | null;
  all_users: boolean;
}

function WebhookForm(props: {
  hook?: Webhook;
  onSubmit: (fields: WebhookDraft) => Promise<void>;
  onClose: () => void;
}) {
  const { hook } = props;
  const { endIfRefused } = useSession();
  const [types, setTypes] = useState<"all" | "some">(hook?.events ? "some" : "all");
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState(NO_FAILURE);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const events = types === "all" ? null : fields.getAll("event").join();
    if (events === "") return setFailure({ ...NO_FAILURE, text: "Choose at least one type of events." });
    setBusy(true);
    try {
      await props.onSubmit({ url: String(fields.get("url")).trim(), events, all_users: fields.has("all") });
    } catch (error) {
      setBusy(false);
      setFailure(toFormFailure(nameLimit(error, "You have too many webhooks. Delete some first.")));
      endIfRefused(error);
    }
  };
  return (
    <Dialog title={hook ? "Change the webhook" : "Create a webhook"} onClose={props.onClose}>
      <form onSubmit={submit}>
        <TextField
          name="url"
          label="Address"
          hint="Where Parley sends each event as a POST. It must start with https: and be public."
          maxLength={MAX_URL}
          initial={hook?.url ?? ""}
          failure={failure.param === "url" ? failure.text : ""}
          required
          autofocus
        />
        {!hook && (
          <label class="check">
            <input type="checkbox" name="all" defaultChecked />
            <span>Events of all users, not only mine</span>
          </label>
        )}
        <Choice legend="Events" name="types" chosen={types} choices={TYPE_CHOICES} onChoose={setTypes} />
        {types === "some" && (
          <fieldset class="event-types">
            <legend class="visually-hidden">Types of events</legend>
            {EVENT_TYPES.map((type) => (
              <label key={type} class="check">
                <input
                  type="checkbox"
                  name="event"
                  value={type}
                  defaultChecked={hook?.events?.includes(type as never) ?? false}
                />
                <span>{toEventName(type)}</span>
              </label>
            ))}
          </fieldset>
        )}
        <p class="failure" role="alert">
          {failure.param === "url" ? "" : failure.text}
        </p>
        <FormButtons submit={hook ? "Save" : "Create"} isBusy={isBusy} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}
