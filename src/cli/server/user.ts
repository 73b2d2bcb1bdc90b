import { readConfig } from "../../config/settings.ts";
import {
  createUser,
  deleteUser,
  getUserByName,
  allUsers as listAll,
  updateUser,
  userFields,
} from "../../core/people/users.ts";
import {
  avatarUrl,
  type Field,
  newUsername,
  phoneNumber,
  profileName,
  readField,
} from "../../core/resource/fields.ts";
import { OperatorError } from "../../errors.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { printTable } from "../table.ts";
import { isoTime } from "../text.ts";
import { withDataAccess } from "./data.ts";

interface JsonOption {
  json?: boolean;
}

interface AddOptions extends JsonOption {
  name?: string;
  phone?: string;
  kind?: string;
  acceptsEveryone?: boolean;
}

export async function addUser(io: Io, name: string, options: AddOptions): Promise<void> {
  const fields = {
    username: readField("NAME", newUsername, name),
    display_name: readOption("--name", profileName, options.name),
    phone_number: readOption("--phone", phoneNumber, options.phone),
    kind: readOption("--kind", userFields.kind, options.kind),
    accepts_everyone: options.acceptsEveryone,
  };
  const { replayed, ...user } = await withDataAccess(readConfig(io.env), (core) =>
    createUser(core, null, fields),
  );
  io.print(options.json ? JSON.stringify(user) : `${user.id}  ${user.username}`);
}

export async function listUsers(io: Io, options: JsonOption): Promise<void> {
  const users = await withDataAccess(readConfig(io.env), listAll);
  if (options.json) return io.print(JSON.stringify(users));
  printTable(
    io,
    ["ID", "USERNAME", "PHONE", "CREATED", "ACTIVE", "FILES", "PAUSED"],
    users.map(({ id, username, phone_number, created_at, last_active_at, storage, paused_at }) => [
      ...[id, username, phone_number ?? "", isoTime(created_at)],
      last_active_at === null ? "" : isoTime(last_active_at),
      roundedSize(storage.used).padStart(9),
      paused_at === null ? "" : isoTime(paused_at),
    ]),
  );
}

interface EditOptions extends JsonOption {
  name?: string;
  phone?: string;
  avatarUrl?: string;
  pause?: boolean;
  resume?: boolean;
}

/** Changes the profile of a user, pauses or resumes them. An empty text clears a field. */
export async function editUser(io: Io, name: string, options: EditOptions): Promise<void> {
  const changes = {
    display_name: readChange("--name", profileName, options.name),
    phone_number: readChange("--phone", phoneNumber, options.phone),
    avatar_url: readChange("--avatar-url", avatarUrl, options.avatarUrl),
    paused: options.pause ?? (options.resume ? false : undefined),
  };
  if (Object.values(changes).every((value) => value === undefined))
    throw new OperatorError("Say what to change: --name, --phone, --avatar-url, --pause or --resume.");
  const { json } = await withDataAccess(readConfig(io.env), async (core) => {
    const { id } = await getUserByName(core, name);
    return updateUser(core, null, id, changes, null);
  });
  if (options.json) return io.print(json);
  const done = options.pause ? "Paused" : options.resume ? "Resumed" : "Changed";
  io.warn(`${done} ${JSON.parse(json).username}.`);
}

function readChange<T>(label: string, field: Field<T>, text: string | undefined): T | null | undefined {
  return text === "" ? null : readOption(label, field, text);
}

function readOption<T>(label: string, field: Field<T>, text: string | undefined): T | undefined {
  return text === undefined ? undefined : readField(label, field, text);
}

export async function removeUser(io: Io, name: string, options: JsonOption): Promise<void> {
  const user = await withDataAccess(readConfig(io.env), async (core) => {
    const found = await getUserByName(core, name);
    await deleteUser(core, null, found.id);
    return found;
  });
  if (options.json) io.print(JSON.stringify(user));
  else io.warn(`Removed ${user.username}.`);
}
