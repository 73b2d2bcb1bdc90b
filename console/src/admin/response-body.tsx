// The body of a receiver's answer, as text. Shows a few lines until it is expanded.
import { useState } from "preact/hooks";

const LINES = 3;
const CHARACTERS = 120;

export function ResponseBody({ body }: { body: string }) {
  const [isOpen, setOpen] = useState(false);
  const text = body.trim();
  const start = text.split("\n", LINES).join("\n").slice(0, CHARACTERS);
  const isLong = start !== text;
  return (
    <>
      <pre class="response-body">{isLong && !isOpen ? `${start}…` : text}</pre>
      {isLong && (
        <button
          type="button"
          class="button small-button"
          aria-expanded={isOpen}
          aria-label={isOpen ? "Show less of the answer" : "Show all of the answer"}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}
