// What a page of contacts costs with 1,000 and with 1,000,000 contacts of one caller: first page, middle and end.
// usage: runtime/node bench/pages.ts [ROWS]
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createApp } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { createToken } from "../src/core/tokens.ts";
import { createUser } from "../src/core/users.ts";

const ROWS = Number(process.argv[2] ?? 1_000_000);
const SMALL = 1000;
const ROUNDS = 20;
const REQUESTS = 100;

const idOf = (number: number) => `con_0${String(number).padStart(25, "0")}`;

/** Rows as creation would have left them, but for their conversations. */
function fill(path: string, owner: string, rows: number): void {
  const db = new DatabaseSync(path);
  const insert = db.prepare(
    `INSERT INTO contacts (owner_id, id, username, username_key, phone_number, phone_digits, search_key,
       conversation_id, created_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
  );
  db.exec("BEGIN");
  for (let i = 0; i < rows; i++) {
    const name = `user ${i}`;
    insert.run(
      owner,
      idOf(i),
      name,
      name,
      "555-0100",
      "5550100",
      ` user ${i}`,
      `cnv_${i}`,
      1_800_000_000_000 + i,
    );
  }
  db.exec("COMMIT");
  db.close();
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function get(url: string, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().on("end", resolve);
    })
      .on("error", reject)
      .end();
  });
}

const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

const folder = mkdtempSync(join(tmpdir(), "parley-pages-"));
const app = await createApp(
  readConfig({ PARLEY_DATA: folder, PARLEY_PORT: "0", PARLEY_LOG_LEVEL: "silent" }),
);
await app.start();
const tokens = new Map<number, string>();
for (const rows of [SMALL, ROWS]) {
  const user = await createUser(app.core, { username: `has ${rows}`, phoneNumber: null });
  tokens.set(rows, (await createToken(app.core, user.id, {})).token);
  fill(join(folder, "parley.db"), user.id, rows);
}
const times = new Map<string, number[]>();
for (let round = 0; round < ROUNDS; round++) {
  for (const [rows, token] of tokens) {
    for (const [place, from] of [
      ["first", rows],
      ["middle", rows / 2],
      ["end", 10],
    ] as const) {
      const url = `${app.core.origin()}/v1/contacts?starting_after=${idOf(from)}`;
      const begun = performance.now();
      for (let i = 0; i < REQUESTS; i++) await get(url, token);
      const key = `${place} of ${rows}`;
      times.set(key, [...(times.get(key) ?? []), ((performance.now() - begun) / REQUESTS) * 1000]);
    }
  }
}
for (const place of ["first", "middle", "end"]) {
  const [small, large] = [
    median(times.get(`${place} of ${SMALL}`)!),
    median(times.get(`${place} of ${ROWS}`)!),
  ];
  console.log(
    `${place} page: ${small.toFixed(0)} us of ${SMALL}, ${large.toFixed(0)} us of ${ROWS}, ratio ${(large / small).toFixed(2)}`,
  );
}
agent.destroy();
await app.stop();
rmSync(folder, { recursive: true, force: true });
