// The OpenAPI document for generators of clients, most of which know version 3.0 best. There null is a flag of a type: from the
// forms of 3.1 some make code without the field, or code that does not compile.

type Json = Readonly<Record<string, unknown>>;
type Named = Readonly<Record<string, Json>>;

/** The parts of the document that are read. */
interface Document {
  info: Json;
  servers: unknown;
  security: unknown;
  paths: Readonly<Record<string, Named>>;
  components: { securitySchemes: unknown; parameters: Named; schemas: Named };
}

/** Returns the OpenAPI 3.1 document as a small one of version 3.0: the same operations and fields, without prose and headers. */
export function toOpenApi30({ info, servers, security, paths, components }: Document): object {
  return {
    openapi: "3.0.3",
    info: { title: info.title, version: info.version, license: { name: "MIT" } },
    servers,
    security,
    paths: mapValues(paths, (operations) => mapValues(operations, toOperation)),
    components: {
      securitySchemes: components.securitySchemes,
      parameters: mapValues(components.parameters, toParameter),
      schemas: mapValues({ ...components.schemas, ...bodiesOf(paths) }, toSchema),
    },
  };
}

function mapValues<T, U>(named: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, change(value)]));
}

function toOperation(operation: Json): Json {
  const { operationId, tags, summary, security, parameters, requestBody, responses } = operation;
  return {
    operationId,
    tags,
    summary,
    ...(security !== undefined && { security }),
    parameters: (parameters as Json[]).filter((each) => !isField(each, operation)).map(toParameter),
    ...(requestBody !== undefined && { requestBody: toBody(operation) }),
    responses: toResponses(responses as Named),
  };
}

/** Reports whether the body also has this parameter, as that of an upload may: methods would have it twice. */
function isField({ name, in: place }: Json, operation: Json): boolean {
  return place === "query" && Object.hasOwn(bodyOf(operation)?.schema.properties ?? {}, name as string);
}

function toParameter({ $ref, name, in: place, required, schema }: Json): Json {
  if ($ref !== undefined) return { $ref };
  return { name, in: place, ...(required !== undefined && { required }), schema: toSchema(schema as Json) };
}

/** Returns the schemas of the bodies with fields by their names: generators number those without a name. */
function bodiesOf(paths: Document["paths"]): Named {
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const bodies = operations.map((operation) => [toBodyName(operation), bodyOf(operation)?.schema] as const);
  return Object.fromEntries(bodies.filter(([, schema]) => schema?.properties !== undefined)) as Named;
}

function toBodyName({ operationId }: Json): string {
  const name = operationId as string;
  return `${name[0]!.toUpperCase()}${name.slice(1)}Request`;
}

function bodyOf({ requestBody }: Json): { type: string; schema: Json } | undefined {
  return requestBody === undefined ? undefined : chosenOf((requestBody as { content: Named }).content);
}

function toBody(operation: Json): Json {
  const { type, schema } = bodyOf(operation)!;
  const hasFields = schema.properties !== undefined;
  const named = hasFields ? { $ref: `#/components/schemas/${toBodyName(operation)}` } : BINARY;
  return { required: (operation.requestBody as Json).required, content: { [type]: { schema: named } } };
}

/** Keeps the answers of success. All errors have the same form. */
function toResponses(responses: Named): object {
  const answers = Object.entries(responses).filter(([status]) => /^[23]/.test(status));
  const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };
  return {
    ...mapValues(Object.fromEntries(answers), ({ description, content }) => ({
      description,
      ...(content !== undefined && { content: toContent(content as Named) }),
    })),
    default: { description: "The request failed.", content: problem },
  };
}

const BINARY = { type: "string", format: "binary" };

/** Chooses JSON if there is JSON: generators take the first form, or make a method for each. */
function chosenOf(content: Named): { type: string; schema: Json } {
  const type = "application/json" in content ? "application/json" : Object.keys(content)[0]!;
  return { type, schema: (content[type]!.schema ?? BINARY) as Json };
}

function toContent(content: Named): Named {
  const { type, schema } = chosenOf(content);
  return { [type]: { schema: toSchema(schema) } };
}

/** Prose, what version 3.0 does not have, and limits with which a client would refuse answers of a later server. */
const LEFT_OUT = new Set(
  "description example examples pattern contentSchema additionalProperties".split(" "),
);

function toSchema(schema: Json): Json {
  const { type, anyOf, const: only, enum: words, properties, items, ...others } = schema;
  const kept = Object.entries(others).filter(([name]) => !LEFT_OUT.has(name));
  if (anyOf !== undefined) return toChoice(anyOf as Json[]);
  const types = [type ?? (only === undefined ? [] : typeof only)].flat();
  const isNullable = types.includes("null");
  const known = types.find((each) => each !== "null") ?? (isNullable ? "string" : undefined);
  return {
    ...(known !== undefined && { type: known }),
    // Without it generators take 32 bits, which seconds exceed in 2038, and bytes at 2 GiB.
    ...(known === "integer" && { format: "int64" }),
    ...(isNullable && { nullable: true }),
    ...(only !== undefined && { enum: [only] }),
    ...(words !== undefined && { enum: (words as unknown[]).filter((word) => word !== null) }),
    ...Object.fromEntries(kept),
    ...(properties !== undefined && { properties: mapValues(properties as Named, toSchema) }),
    ...(items !== undefined && { items: toSchema(items as Json) }),
  };
}

/** A resource that may be null keeps its type. One of several resources is any object: the type of the event tells which. */
function toChoice(schemas: readonly Json[]): Json {
  const [resource, ...others] = schemas.filter(({ type }) => type !== "null");
  if (others.length > 0) return { type: "object" };
  return { type: "object", allOf: [resource], nullable: true };
}
