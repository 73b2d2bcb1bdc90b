// Writes JSON Schemas of the OpenAPI document as rows of Markdown tables.

export interface Schema {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  description?: string;
  pattern?: string;
  format?: string;
}

/** Returns a value of the document in which objects that are written out again are references to `schemas`. */
export function withReferences<T>(value: T, schemas: Readonly<Record<string, Schema>>): T {
  const entries = Object.entries(schemas).filter(([, { properties }]) => properties);
  const names = new Map(entries.map(([name, { properties }]) => [JSON.stringify(properties), name]));
  const walk = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part !== "object" || part === null) return part;
    const { properties, type, description } = part as Schema;
    const name = properties && names.get(JSON.stringify(properties));
    if (!name) return Object.fromEntries(Object.entries(part).map(([key, each]) => [key, walk(each)]));
    const $ref = `#/components/schemas/${name}`;
    return type?.includes("null")
      ? { description, anyOf: [{ $ref }, { type: "null" }] }
      : { description, $ref };
  };
  return walk(value) as T;
}

/** Who has the fields: a request names those that are required, an answer those that it may lack. */
type Side = "request" | "answer";

/** Returns the rows of an object's fields, those of nested objects after their own. */
export function fieldRows({ properties = {}, required = [] }: Schema, side: Side, prefix = ""): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const inner = schema.items ?? schema;
    return [
      toRow(path, schema, toNote(required.includes(name), side)),
      ...(inner.properties ? fieldRows(inner, side, `${path}${schema.items ? "[]" : ""}.`) : []),
    ];
  });
}

export function toNote(isRequired: boolean, side: Side): string {
  if (side === "request") return isRequired ? ", required" : "";
  return isRequired ? "" : ", optional";
}

export function toRow(name: string, schema: Schema, note: string, description = schema.description): string {
  const { enum: values, default: preset } = schema.items ?? schema;
  const facts = [
    description,
    values && `One of ${values.map(toCode).join(", ")}.`,
    preset !== undefined && `By default ${toCode(preset)}.`,
  ];
  // A vertical line would end the cell, and `__` begin strong text.
  const text = facts.filter(Boolean).join(" ").replaceAll(/\||__/g, "\\$&");
  return `| \`${name}\` | ${toType(schema)}${note} | ${text} |`;
}

const toCode = (value: unknown) => `\`${value}\``;

/** Returns the type of a schema in words, with links to the objects of the reference. */
export function toType(schema: Schema): string {
  const { $ref, anyOf, items, type, pattern, format } = schema;
  if ($ref) {
    const name = $ref.split("/").at(-1)!;
    const object = name.replace(/Page$/, "");
    return `${name === object ? "" : "page of "}[${object}](objects.md#${object.toLowerCase()})`;
  }
  if (anyOf) return anyOf.map(toType).join(" or ");
  const [id] = /(?<=^\^)[a-z]{3}_/.exec(pattern ?? "") ?? [];
  return [type ?? "any"]
    .flat()
    .map((each) => {
      if (each === "array" && items) return `array of ${toType(items)}`;
      if (each === "string" && id) return `id \`${id}…\``;
      return format === "binary" ? "bytes" : each;
    })
    .join(" or ");
}
