import "../packages.ts";
import { join } from "node:path";
import { startDemo } from "../demo.ts";

const { url, folder, addUser, ada } = await startDemo();
const { token } = await addUser("counter", { kind: "bot", accepts_everyone: true });
await ada.client.contacts.create({ username: "counter", phone_number: "000" });
console.log(`Write to it: PARLEY_URL=${url} PARLEY_TOKEN=${ada.token} bin/parley chat counter`);

Object.assign(process.env, { PARLEY_URL: url, PARLEY_TOKEN: token });
process.argv[2] = join(folder, "last-event");
await import("./bot.ts");
