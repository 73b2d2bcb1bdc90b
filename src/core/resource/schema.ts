import { type IdKind, idPattern } from "../../util/ids.ts";

declare const TYPE: unique symbol;

/** A JSON Schema that carries the TypeScript type of the values it describes, so that each is stated once. */
export type Schema<T = unknown> = Readonly<Record<string, unknown>> & { readonly [TYPE]?: T };

/** A resource of the API: its name in the OpenAPI document, and the schema of its JSON. */
export interface Resource<T = unknown> {
  name: string;
  schema: Schema<T>;
}

/** The type of the values that a schema or a resource describes. */
export type TypeOf<S> = S extends Resource<infer T> ? T : S extends Schema<infer T> ? T : never;

type Members = Readonly<Record<string, Schema>>;
type ObjectOf<M extends Members> = { [K in keyof M]: TypeOf<M[K]> };

export const text: Schema<string> = { type: "string" };
export const url: Schema<string> = { type: "string", format: "uri" };
export const textOrNull = orNull(text);
export const integer: Schema<number> = { type: "integer" };
export const count: Schema<number> = { type: "integer", minimum: 0 };
export const bytes = described(count, "Bytes.");
export const time = described(integer, "Unix seconds, UTC.");
export const bool: Schema<boolean> = { type: "boolean" };

export const anyObject: Schema<object> = { type: "object" };

export function id(kind: IdKind): Schema<string> {
  return { type: "string", pattern: idPattern(kind) };
}

export function oneOf<T extends string>(...values: readonly T[]): Schema<T> {
  return { type: "string", enum: values };
}

export function listOf<T>(items: Schema<T>): Schema<T[]> {
  return { type: "array", items };
}

/** Returns the schema with null as an additional value. */
export function orNull<T>(schema: Schema<T>): Schema<T | null> {
  const types = [schema.type, "null"].flat();
  return {
    ...schema,
    type: [...new Set(types)],
    ...(Array.isArray(schema.enum) && { enum: [...new Set([...schema.enum, null])] }),
  };
}

export function described<T>(schema: Schema<T>, description: string): Schema<T> {
  return { ...schema, description };
}

/** Describes an object with exactly these members, all required. */
export function object<M extends Members>(properties: M): Schema<ObjectOf<M>> {
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false };
}

export function resource<M extends Members>(
  name: string,
  properties: M,
  description?: string,
): Resource<ObjectOf<M>> {
  const schema = object(properties);
  return { name, schema: description === undefined ? schema : described(schema, description) };
}

/** Returns the resource with members that may be absent. */
export function withOptional<T, K extends keyof T & string>(
  { name, schema }: Resource<T>,
  ...members: readonly K[]
): Resource<Omit<T, K> & { [P in K]?: T[P] }> {
  const required = (schema.required as string[]).filter((each) => !members.includes(each as K));
  return { name, schema: { ...schema, required } };
}

/** Describes a value that is this resource or one of these, or null if that is among them. */
export function anyOf<R extends readonly (Resource | null)[]>(
  ...resources: R
): Schema<R[number] extends infer E ? (E extends Resource<infer T> ? T : null) : never> {
  const schemas = resources.map((it) =>
    it ? { $ref: `#/components/schemas/${it.name}` } : { type: "null" },
  );
  return schemas.length === 1 ? schemas[0]! : { anyOf: schemas };
}
