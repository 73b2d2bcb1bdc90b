/**
 * The JSON text of an object. What is stored as JSON is served with a member added: parsing and writing it again takes longer
 * than its query.
 */
export class JsonObject {
  readonly text: string;

  /** `text` is as `JSON.stringify` writes it. */
  constructor(text: string) {
    this.text = text;
  }

  static from(value: object): JsonObject {
    return new JsonObject(JSON.stringify(value));
  }

  /** The `id`, which is the first member. */
  get id(): string {
    const start = '{"id":"'.length;
    return this.text.slice(start, this.text.indexOf('"', start));
  }

  /** Adds a member whose value is this JSON text. */
  with(name: string, json: string): JsonObject {
    const comma = this.text === "{}" ? "" : ",";
    return new JsonObject(`${this.text.slice(0, -1)}${comma}"${name}":${json}}`);
  }

  /** Sets a member that is null, whose name no nested object has. Strings cannot match, because their quotes are escaped. */
  setNull(name: string, json: string): JsonObject {
    return new JsonObject(this.text.replace(`"${name}":null`, () => `"${name}":${json}`));
  }
}
