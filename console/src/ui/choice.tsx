/** A row of options, of which at most one is selected. */
export function Choice<Value extends string>(props: {
  legend: string;
  name: string;
  chosen: Value | undefined;
  choices: readonly (readonly [Value, string])[];
  onChoose: (value: Value) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{props.legend}</legend>
      {props.choices.map(([value, label]) => (
        <label key={value} class={value === props.chosen ? "chosen" : ""}>
          <input
            class="visually-hidden"
            type="radio"
            name={props.name}
            checked={value === props.chosen}
            onChange={() => props.onChoose(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
