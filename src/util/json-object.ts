/**
 * The JSON text of an object. Stored JSON is served with a member added: parsing and writing it again would take longer
 * than its query.
 */
export class JsonObject {
  readonly text: string;

  /** `text`: as `JSON.stringify` writes it. */
  constructor(text: string) {
    this.text = text;
  }

  static from(value: object): JsonObject {
    return new JsonObject(JSON.stringify(value));
  }

  /** Returns the `id`, which is the first member. */
  get id(): string {
    const start = '{"id":"'.length;
    return this.text.slice(start, this.text.indexOf('"', start));
  }

  /** Adds a member with this JSON text as its value. */
  with(name: string, json: string): JsonObject {
    const comma = this.text === "{}" ? "" : ",";
    return new JsonObject(`${this.text.slice(0, -1)}${comma}"${name}":${json}}`);
  }

  /** Sets a null member whose name no nested object has. Strings cannot match, because their quotes are escaped. */
  setNull(name: string, json: string): JsonObject {
    return new JsonObject(this.text.replace(`"${name}":null`, () => `"${name}":${json}`));
  }
}
