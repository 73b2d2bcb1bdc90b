// Filters of the list of contacts, and the user's own fields.
import { sharedApp, type TestApp, upload } from "../../support/app.ts";
import { fieldsOf, person, send } from "../../support/people.ts";
import { row, scenarios } from "../../support/scenarios.ts";

let scenes = 0;

/** Ann has three contacts, the second one blocked. Bob has a contact of the same name as her first. */
async function addressBook(server: TestApp) {
  const number = ++scenes;
  const [ann, bob] = [await person(server, `ann${number}`), await person(server, `bob${number}`)];
  const contacts = [
    { username: "Ada", phone_number: "+1 (555) 0101" },
    { username: "Adam", phone_number: "15550101", blocked: true },
    { username: "Grace", phone_number: "155501012" },
  ];
  for (const fields of contacts) await send(server, ann, "POST", "/v1/contacts", fields);
  await send(server, bob, "POST", "/v1/contacts", fieldsOf("ada"));
  return { server, people: { ann, bob } };
}

const list = (name: string, query: string, ...usernames: string[]) =>
  row(name, `GET /v1/contacts?${query}`, 200, {
    answer: { data: usernames.map((username) => ({ username })) },
  });

scenarios(sharedApp(), addressBook, [
  list("username finds the contact of that name in any case", "username=ADA", "Ada"),
  list("username finds the contact of that name in any width", "username=ａｄａ", "Ada"),
  list("username finds no contact by a part of the name", "username=ad"),
  list("phone_number finds contacts by digits, however grouped", "phone_number=1-555-0101", "Adam", "Ada"),
  list("active=true lists contacts that are not blocked", "active=true", "Grace", "Ada"),
  list("active=false lists blocked contacts", "active=false", "Adam"),
  list("filters of contacts combine", "phone_number=15550101&q=ad&active=true", "Ada"),
  row("the link to the next page of contacts keeps the filter", "GET /v1/contacts?active=true&limit=1", 200, {
    answerHeaders: { link: /active=true&limit=1&starting_after=con_/ },
  }),
  ...["", "1", "TRUE", "yes"].map((value) =>
    row(`active=${value} is 400 for a list of contacts`, `GET /v1/contacts?active=${value}`, 400, {
      answer: { code: "invalid_parameter", param: "active" },
    }),
  ),
]);

const MINE = {
  max_file_size: 1000,
  max_files_per_day: null,
  allowed_file_types: null,
  refused_file_types: [],
};
const REST = { max_body_size: 65536, max_message_body_size: 262_144, rate_limit: null, message_limit: null };

scenarios(
  sharedApp({ maxFileBytes: 1000 }),
  async (server) => {
    const user = await server.user();
    return { server, people: { user }, ids: { user: user.id } };
  },
  [
    row("GET /v1/me shows the user, their notes, storage and limits", "GET /v1/me", 200, {
      answer: {
        ...{ id: "<user>", conversation_id: /^cnv_/, storage: { used: 0, quota: null } },
        limits: { ...MINE, ...REST },
      },
    }),
    [
      "storage.used of GET /v1/me counts the files of the user alone",
      "GET /v1/me",
      200,
      {
        async before({ server, people }) {
          await upload(server.url, people.user, new File(["12345"], "a"));
          await upload(server.url, await server.user(), new File(["123"], "a"));
        },
        answer: { storage: { used: 5, quota: null } },
      },
    ],
  ],
);
