import { ACTIONS } from "./audit-words.ts";
import { type OnChoose, UserFilter } from "./user-filter.tsx";

/** The filters of the audit trail, as in the URL. */
export interface Fields {
  /** A username. */
  by: string;
  about: string;
  action: string;
  /** Days such as 2026-03-09. */
  from: string;
  to: string;
}

/** The most characters that a search accepts. */
const MAX_ABOUT = 255;

export const NO_FIELDS: Fields = { by: "", about: "", action: "", from: "", to: "" };

export function Filters(props: {
  fields: Fields;
  onChange: (changes: Partial<Fields>) => void;
  onChooseBy: OnChoose;
}) {
  const { fields, onChange } = props;
  const toDayField = (name: "from" | "to", label: string) => (
    <label class="labelled small">
      {label}
      <input
        class="field"
        type="date"
        value={fields[name]}
        onInput={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
      />
    </label>
  );
  return (
    <search class="filters" aria-label="Filters">
      <div class="labelled small">
        <span aria-hidden="true">Done by</span>
        <UserFilter label="Done by" placeholder="Username" initial={fields.by} onChoose={props.onChooseBy} />
      </div>
      <label class="labelled small">
        About
        <input
          class="field"
          type="search"
          placeholder="Username, token or id"
          maxLength={MAX_ABOUT}
          autocomplete="off"
          spellcheck={false}
          value={fields.about}
          onInput={({ currentTarget }) => onChange({ about: currentTarget.value })}
        />
      </label>
      <label class="labelled small">
        Action
        <select
          class="field"
          value={fields.action}
          onChange={({ currentTarget }) => onChange({ action: currentTarget.value })}
        >
          <option value="">All</option>
          {ACTIONS.map(({ family, label, actions }) => (
            <optgroup key={family} label={label}>
              <option value={family}>{label}: all</option>
              {actions.map(([action, text]) => (
                <option key={action} value={action}>
                  {label}: {text}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      {toDayField("from", "From (UTC)")}
      {toDayField("to", "To (UTC)")}
    </search>
  );
}
