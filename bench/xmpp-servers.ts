// ejabberd and Prosody as Debian packages them, with their archive of messages on, on loopback and without TLS.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accepts, freePort, type Messenger, type Pair } from "./peer.ts";
import { CONNECTIONS, twentyWords } from "./requests.ts";
import { startPinned } from "./servers.ts";
import { DOMAIN, XmppClient } from "./xmpp.ts";

/** The server by its default settings, but for the addresses, the log, the archive, encryption and limits of rates. */
export async function prosody(stack: AsyncDisposableStack, folder: string): Promise<Messenger> {
  const version = versionOf("prosody");
  const port = await freePort();
  const config = `
run_as_root = true
pidfile = "${folder}/prosody.pid"
data_path = "${folder}"
certificates = "${folder}"
log = { error = "${folder}/prosody.log" }
interfaces = { "127.0.0.1" }
c2s_ports = { ${port} }
modules_enabled = { "disco"; "roster"; "saslauth"; "blocklist"; "bookmarks"; "carbons"; "pep"; "private"; "smacks";
  "vcard4"; "vcard_legacy"; "csi_simple"; "ping"; "register"; "time"; "uptime"; "version"; "posix"; "mam" }
modules_disabled = { "s2s"; "tls" }
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
allow_registration = true
authentication = "internal_hashed"
default_archive_policy = true
archive_expires_after = "1w"
VirtualHost "${DOMAIN}"
`;
  const file = join(folder, "prosody.cfg.lua");
  writeFileSync(file, config);
  const options = { cwd: folder, stdio: "ignore" } as const;
  const { pid } = startPinned(stack, ["prosody", "-F", "--config", file], options);
  return { version, servers: [{ port, pid: pid! }], pairs: await connectPairs(stack, port) };
}

/** The same; its archive is in Mnesia, as by default, or in SQLite. */
export async function ejabberd(
  stack: AsyncDisposableStack,
  folder: string,
  archive: "mnesia" | "sql",
): Promise<Messenger> {
  const version = versionOf("ejabberd");
  if (archive === "sql") versionOf("erlang-p1-sqlite3");
  const port = await freePort();
  const modules = [
    ...["adhoc", "avatar", "blocking", "caps", "carboncopy", "client_state", "configure", "disco", "last"],
    ...[
      "offline",
      "ping",
      "privacy",
      "private",
      "pubsub",
      "push",
      "push_keepalive",
      "roster",
      "shared_roster",
    ],
    ...["stream_mgmt", "vcard", "vcard_xupdate", "version"],
  ];
  const config = {
    hosts: [DOMAIN],
    loglevel: "error",
    listen: [{ port, ip: "127.0.0.1", module: "ejabberd_c2s" }],
    auth_password_format: "scram",
    registration_timeout: "infinity",
    sql_type: "sqlite",
    sql_database: join(folder, "archive.db"),
    modules: {
      ...Object.fromEntries(modules.map((name) => [`mod_${name}`, {}])),
      mod_register: { ip_access: "all" },
      mod_mam: { default: "always", db_type: archive },
    },
  };
  // All JSON is YAML.
  const file = join(folder, "ejabberd.yml");
  writeFileSync(file, JSON.stringify(config));
  const data = join(folder, "mnesia");
  mkdirSync(data);
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    ERL_LIBS: `/usr/lib/${process.arch === "x64" ? "x86_64" : "aarch64"}-linux-gnu`,
    EJABBERD_CONFIG_PATH: file,
    EJABBERD_LOG_PATH: join(folder, "ejabberd.log"),
  };
  // As ejabberdctl starts it, but alone: without a name among other nodes.
  const args = ["+K", "true", "+P", "250000", "-noinput", "-mnesia", "dir", `"${data}"`, "-s", "ejabberd"];
  const { pid } = startPinned(stack, ["erl", ...args], { cwd: folder, stdio: "ignore", env });
  return { version, servers: [{ port, pid: pid! }], pairs: await connectPairs(stack, port) };
}

/** Of a package of Debian, without what Debian changed in it; throws unless it is installed. */
function versionOf(name: string): string {
  const status = execFileSync("dpkg-query", ["-s", name], { encoding: "utf8", stdio: "pipe" });
  return /^Version: ([^-]+)/m.exec(status)![1]!;
}

async function connectPairs(stack: AsyncDisposableStack, port: number): Promise<Pair[]> {
  await accepts(port);
  const open = async (username: string) => {
    const client = await XmppClient.open(port, username);
    stack.defer(() => client.close());
    return client;
  };
  const pairs: Pair[] = [];
  for (let i = 0; i < CONNECTIONS; i++) {
    const [sender, reader] = [await open(`sender${i}`), await open(`reader${i}`)];
    let sent = 0;
    const pair: Pair = {
      send: async () => sender.send(`reader${i}`, String(++sent), twentyWords()),
      onArrival: () => {},
    };
    reader.onMessage = () => pair.onArrival();
    pairs.push(pair);
  }
  return pairs;
}
