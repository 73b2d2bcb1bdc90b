// Makes the client's types from the OpenAPI document. Supports only the part of OpenAPI that our document uses, and
// throws for anything else, so that no type is silently wrong.

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: string[];
  const?: string;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

interface Described {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

export interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
}

const HEAD =
  "// Made from src/http/openapi/openapi.json by `npm run client-types`. A test holds it to that.\n";

/**
 * Returns the text of `packages/parley-client/src/schema.ts`: the resources, and for each operation the types of its query and body.
 */
export function clientTypes(document: Document): string {
  const schemas: Schema = {
    properties: document.components.schemas,
    required: Object.keys(document.components.schemas),
  };
  const asked = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, requestOf(operation)] as const)
    .filter(([, request]) => request.required!.length > 0);
  const operations: Schema = { properties: Object.fromEntries(asked), required: asked.map(([name]) => name) };
  return [
    HEAD,
    `/** Resources, as they are answered. */\nexport interface components {\n  schemas: ${objectOf(schemas, "  ", false)};\n}\n`,
    `/** Requests, by the name of the operation. */\nexport interface operations ${objectOf(operations, "", true)}\n`,
  ].join("\n");
}

/** Returns the schema of a request: an object with the members `query` and `body`. */
function requestOf({ parameters = [], requestBody }: Described): Schema {
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const body = requestBody?.content["application/json"]?.schema;
  const query: Schema = {
    properties: Object.fromEntries(
      inQuery.map(({ name, schema, description }) => [
        name,
        { ...schema, ...(description ? { description } : {}) },
      ]),
    ),
    required: inQuery.filter(({ required }) => required).map(({ name }) => name),
  };
  const properties = { ...(inQuery.length > 0 ? { query } : {}), ...(body ? { body } : {}) };
  return { properties, required: Object.keys(properties) };
}

/** Returns an object type. `isAsked`: optional members may also be undefined, because a client then sends nothing. */
function objectOf({ properties = {}, required = [] }: Schema, indent: string, isAsked: boolean): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, schema]) => {
    const isThere = required.includes(name);
    const type = typeOf(schema, inner, isAsked) + (isAsked && !isThere ? " | undefined" : "");
    const note = schema.description ? [`${inner}/** ${schema.description} */`] : [];
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return [...note, `${inner}${key}${isThere ? "" : "?"}: ${type};`];
  });
  return ["{", ...lines, `${indent}}`].join("\n");
}

function typeOf(schema: Schema, indent: string, isAsked: boolean): string {
  if (schema.$ref) return `components["schemas"]["${schema.$ref.replace("#/components/schemas/", "")}"]`;
  if (schema.anyOf) return schema.anyOf.map((each) => typeOf(each, indent, isAsked)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  // The member `query` has no `type`: `requestOf` makes it.
  const types = [schema.type ?? "object"].flat();
  return types.map((type) => singleType(type, schema, indent, isAsked)).join(" | ");
}

function singleType(type: string, schema: Schema, indent: string, isAsked: boolean): string {
  if (type === "array") return `(${typeOf(schema.items!, indent, isAsked)})[]`;
  if (type === "object")
    return schema.properties ? objectOf(schema, indent, isAsked) : "Record<string, unknown>";
  if (type === "integer") return "number";
  if (["string", "boolean", "null"].includes(type)) return type;
  throw new Error(`The types of the client know nothing of "${type}": ${JSON.stringify(schema)}`);
}
