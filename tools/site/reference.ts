// Writes the API reference from the OpenAPI document, as pages of Markdown: one for each subject, the objects, the errors.
import { catalogue, type ErrorCode } from "../../src/errors.ts";
import { statusOf } from "../../src/http/protocol/problems.ts";
import { findExamples } from "./examples.ts";
import { toAnchor } from "./markdown.ts";
import { type Page, type Section, toPage } from "./pages.ts";
import { fieldRows, type Schema, toNote, toRow, toType, withReferences } from "./schemas.ts";

interface Parameter {
  name: string;
  in: string;
  description?: string;
  required?: boolean;
  schema: Schema;
}

interface Content {
  schema: Schema;
  example?: unknown;
}

interface Operation {
  tags: string[];
  summary: string;
  description?: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { description?: string; content?: Record<string, Content> }>;
}

type Paths = Record<string, Record<string, Operation>>;

export interface OpenApi {
  tags: { name: string; description: string }[];
  paths: Paths;
  webhooks: Paths;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
}

/** An operation with its method and path, such as `GET /v1/contacts`. That of a webhook has no path. */
type Listed = Operation & { line: string };

/** The pages that explain a subject, relative to `docs/`, if they have another name. */
const EXPLAINED_BY: Readonly<Record<string, string>> = { files: "api/attachments.md", service: "operate.md" };

const OR = new Intl.ListFormat("en", { type: "disjunction" });

/** The places of parameters, with the heads of their tables. */
const PLACES: Readonly<Record<string, string>> = {
  path: "in the path",
  query: "in the query",
  header: "in the headers",
};

/** Makes the section. `pages` are those that explain operations, by path below `docs/`. */
export function buildReference(document: OpenApi, pages: ReadonlyMap<string, string>): Section {
  const { schemas } = document.components;
  const listed = withReferences(
    [...listOperations(document.paths), ...listOperations(document.webhooks)],
    schemas,
  );
  const everywhere = commonCodes(listed);
  const examples = findExamples(pages);
  const subjects = document.tags.map(({ name, description }) => {
    const path = EXPLAINED_BY[name] ?? `api/${name.replaceAll("_", "-")}.md`;
    const own = listed.filter(({ tags }) => tags[0] === name);
    const index = own.map(({ line, summary }) => `| [\`${line}\`](#${toAnchor(summary)}) | ${summary} |`);
    const parts = own.map((each) => {
      const { see, blocks } = examples.get(each.line) ?? { see: "", blocks: "" };
      return [
        `## ${each.summary}`,
        renderHead(each, see),
        renderFields(each),
        renderAnswers(each, everywhere),
        blocks,
        renderAnswer(each),
      ];
    });
    return toReferencePage(name.replaceAll("_", "-"), [
      `# ${toTitle(name)}`,
      `${description} [${/^# (.+)/.exec(pages.get(path)!)![1]}](../${path}) has the rules.`,
      table("operation", index),
      ...parts.flat(),
    ]);
  });
  const others = [objectsPage(schemas), errorsPage()];
  const groups = [
    { title: "Operations", pages: [overview(document, everywhere), ...subjects] },
    { title: "Answers", pages: others },
  ];
  return { title: "Reference", groups };
}

function listOperations(paths: Paths): Listed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      line: `${method.toUpperCase()} ${path.startsWith("/") ? path : "your URL"}`,
    })),
  );
}

function toTitle(name: string): string {
  const words = name.replaceAll("_", " ");
  return words === "me" ? "Caller" : words[0]!.toUpperCase() + words.slice(1);
}

function toReferencePage(name: string, parts: readonly string[]): Page {
  return toPage(`docs/reference/${name}.md`, `${parts.filter(Boolean).join("\n\n")}\n`);
}

/** Returns a table, or nothing if it would have no rows. */
function table(head: string, rows: readonly string[]): string {
  if (rows.length === 0) return "";
  const columns = rows[0]!.split(/(?<!\\)\|/).length - 2;
  return [`| ${head} |${" |".repeat(columns - 1)}`, `|${"---|".repeat(columns)}`, ...rows].join("\n");
}

function renderHead({ line, description }: Listed, see: string): string {
  const isCalled = line.includes("/");
  const scope = description ?? (isCalled ? "Needs no scope." : "Sent by Parley.");
  return `\`${line}\` · ${scope}${see && ` See ${see}.`}`;
}

function renderFields({ parameters = [], requestBody }: Listed): string {
  const own = parameters.filter((each) => !("$ref" in each)) as Parameter[];
  const rowsIn = (place: string) =>
    own
      .filter((each) => each.in === place)
      .map(({ name, schema, required, description }) =>
        toRow(name, schema, toNote(required === true && place !== "path", "request"), description),
      );
  const contents = Object.entries(requestBody?.content ?? {});
  // The fields that any form of the body has, those of JSON first.
  const fields = new Set(contents.flatMap(([, { schema }]) => fieldRows(schema, "request")));
  const types = OR.format(contents.map(([type]) => `\`${type}\``));
  const refs = contents.flatMap(([, { schema }]) => (schema.$ref ? [toType(schema)] : []));
  const body = types && `The body is ${refs[0] ? `${refs[0]}, as ` : ""}${types}.`;
  const tables = Object.entries(PLACES).map(([place, head]) => table(head, rowsIn(place)));
  return [...tables, body, table("field", [...fields])].filter(Boolean).join("\n\n");
}

function renderAnswers({ responses }: Listed, everywhere: ReadonlySet<ErrorCode>): string {
  const rows = Object.entries(responses).flatMap(([status, { description = "", content = {} }]) => {
    if (!(Number(status) >= 400) || !description.startsWith("`")) {
      const types = Object.values(content).map(({ schema }) => toType(schema));
      const what = schemaName(types[0]);
      return [`| ${status} | ${[description, what].filter(Boolean).join(" ")} |`];
    }
    const codes = toCodes(description).filter((code) => !everywhere.has(code));
    return codes.length === 0 ? [] : [`| ${status} | ${codes.map(linkToCode).join(", ")} |`];
  });
  return table("answer", rows);
}

/** Returns a sentence with the type of an answer if it is one of the objects. */
function schemaName(type: string | undefined): string {
  return type?.includes("](") ? `${type[0]!.toUpperCase()}${type.slice(1)}.` : "";
}

/** Returns the example of an answer as a block of code. */
function renderAnswer({ responses }: Listed): string {
  const contents = Object.values(responses).flatMap(({ content = {} }) => Object.values(content));
  const example = contents.find((content) => content.example !== undefined)?.example;
  return example === undefined ? "" : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}

function toCodes(description: string): ErrorCode[] {
  return Array.from(description.matchAll(/`(\w+)`/g), ([, code]) => code as ErrorCode);
}

function linkToCode(code: string): string {
  return `[\`${code}\`](errors.md#${code})`;
}

/**
 * Returns the codes that every operation with a token may answer. Those of `Parley-Act-As` are not among them, because
 * they mean something else in some operations.
 */
function commonCodes(listed: readonly Listed[]): Set<ErrorCode> {
  const sets = listed
    .filter(({ responses }) => "401" in responses)
    .map(({ responses }) => Object.values(responses).flatMap(({ description = "" }) => toCodes(description)));
  const common = sets.map((codes) => new Set(codes)).reduce((all, each) => all.intersection(each));
  return new Set([...common].filter((code) => ![404, 409].includes(statusOf(code))));
}

function overview({ tags, components }: OpenApi, everywhere: ReadonlySet<ErrorCode>): Page {
  const subjects = tags.map(
    ({ name, description }) => `| [${toTitle(name)}](${name.replaceAll("_", "-")}.md) | ${description} |`,
  );
  const { name, schema, description } = components.parameters.ActAs!;
  return toReferencePage("README", [
    "# API reference",
    "Every operation with its parameters, fields and answers, made from the OpenAPI document that the server serves at " +
      "`/openapi.json`. [The API pages](../api/README.md) explain the rules that they share, and each subject.",
    table("subject", subjects),
    "## All operations",
    "Every operation that needs a token also takes this header:",
    table("header", [toRow(name, schema, "", description)]),
    "Every request may be answered with one of these codes, so the pages leave them out:",
    table(
      "code",
      [...everywhere].map((code) => `| ${linkToCode(code)} | ${catalogue[code].title} |`),
    ),
    "A page of a list has `has_more` and `data`. [Pagination](../api/README.md#pagination) says how to get the next one.",
  ]);
}

function objectsPage(schemas: Readonly<Record<string, Schema>>): Page {
  const objects = Object.entries(schemas).filter(([name]) => !name.endsWith("Page"));
  const parts = objects.flatMap(([name, schema]) => [
    `## ${name}`,
    schema.description ?? "",
    table(
      "field",
      fieldRows({ ...schema, properties: withReferences(schema.properties ?? {}, schemas) }, "answer"),
    ),
  ]);
  return toReferencePage("objects", [
    "# Objects",
    "The objects in answers, events and deliveries.",
    ...parts,
  ]);
}

function errorsPage(): Page {
  const codes = (Object.keys(catalogue) as ErrorCode[]).toSorted((a, b) => statusOf(a) - statusOf(b));
  const parts = codes.flatMap((code) => [
    `## \`${code}\``,
    `**${catalogue[code].title}** · status ${statusOf(code)}`,
    catalogue[code].explanation,
  ]);
  const intro =
    "Each error has one of these codes in its member `code`, and has [this shape](objects.md#problem).";
  return toReferencePage("errors", ["# Errors", intro, ...parts]);
}
