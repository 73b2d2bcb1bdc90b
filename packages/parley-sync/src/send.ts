// Sends one message with its files.
import type { Attachment, Message, Parley } from "parley-client";
import type { Copy } from "./copy.ts";
import { fileKey } from "./entries.ts";
import { isCode } from "./failures.ts";
import type { Live } from "./live.ts";
import { splitFiles, toRemoval } from "./operations.ts";
import { addMessage } from "./reduce.ts";
import type { SendOperation } from "./types.ts";

interface Parts {
  client: Parley;
  copy: Copy;
  live: Live;
}

/**
 * Creates the message with its text and small files, then adds the large ones. Each step is stored once it is done, so that
 * another process continues there. `client_id` and the ids of the uploads keep each step from being done twice.
 */
export async function sendMessage(
  parts: Parts,
  operation: SendOperation,
  signal: AbortSignal,
): Promise<void> {
  const { client, copy, live } = parts;
  const { key, conversation_id } = operation;
  const { first, later } = splitFiles(operation.files);
  // An empty message is sent too: the server refuses it.
  const hasFirst =
    operation.text !== null || operation.data !== null || first.length > 0 || later.length === 0;
  if (operation.message_id === null && hasFirst) {
    await live.change(
      conversation_id,
      () => createMessage(parts, operation, first, signal),
      (draft, meta, message) => {
        addMessage(draft, meta, message);
        const current = copy.operations.get(key) as SendOperation | undefined;
        if (later.length === 0) for (const [name] of toRemoval(operation)) draft.set(name, null);
        else if (current) draft.set(key, { ...current, message_id: message.id });
      },
    );
  }
  if (later.length === 0) return;
  for (const { at } of later) await uploadFile(parts, key, at, signal);
  const { message_id } = copy.operations.get(key) as SendOperation;
  await live.change(
    conversation_id,
    () => client.messages.retrieve(message_id!, { signal }),
    (draft, meta, message) => {
      addMessage(draft, meta, message);
      for (const [name] of toRemoval(operation)) draft.set(name, null);
    },
  );
}

async function createMessage(
  { client, copy }: Parts,
  operation: SendOperation,
  files: readonly { at: number }[],
  signal: AbortSignal,
): Promise<Message> {
  const { key, conversation_id, client_id, text, data, mentions, reply_to_id } = operation;
  const fields = {
    conversation_id,
    client_id,
    ...(text !== null && { text }),
    ...(data !== null && { data }),
    ...(mentions.length > 0 && { mentions: [...mentions] }),
    ...(reply_to_id !== null && { reply_to_id }),
  };
  return client.messages.create(fields, {
    idempotencyKey: client_id,
    files: await Promise.all(files.map(({ at }) => readFile(copy, operation, at))),
    onProgress: ({ sent }) => showProgress(copy, key, sent),
    // The outbox tries again, and shows meanwhile that the message waits.
    retryForMs: 0,
    signal,
  });
}

function showProgress(copy: Copy, key: string, sent_bytes: number): void {
  const current = copy.operations.get(key);
  if (current?.kind === "send") copy.show(new Map([[key, { ...current, sent_bytes }]]));
}

async function readFile(copy: Copy, { key, files }: SendOperation, at: number): Promise<File> {
  const bytes = await copy.file(fileKey(key, at));
  const { filename, file_type, file_size } = files[at]!;
  if (!(bytes instanceof Blob) || bytes.size !== file_size)
    throw new Error(`The stored file ${filename} is damaged. Send it again.`);
  return new File([bytes], filename, { type: file_type });
}

/** Adds a file to the message of an operation. Without a message yet, the file becomes it. */
async function uploadFile(parts: Parts, key: string, at: number, signal: AbortSignal): Promise<void> {
  const { client, copy } = parts;
  const operation = copy.operations.get(key) as SendOperation | undefined;
  signal.throwIfAborted();
  if (!operation || operation.uploads[at]?.attachment_id) return;
  const { conversation_id, message_id, files } = operation;
  const { filename, file_type: contentType, file_size: length } = files[at]!;
  const before = files.slice(0, at).reduce((sum, { file_size }) => sum + file_size, 0);
  let upload = operation.uploads[at];
  if (!upload) {
    const target = message_id === null ? { conversation_id } : { message_id };
    const { id, created_at } = await client.uploads.create(
      { filename, contentType, length, ...target },
      { signal },
    );
    upload = { id, created_at, attachment_id: null };
    await keep(copy, key, at, upload);
  }
  const options = {
    resume: upload.id,
    filename,
    onProgress: ({ sent }: { sent: number }) => showProgress(copy, key, before + sent),
    signal,
  };
  const file = await readFile(copy, operation, at);
  const attachment = await client.uploads.send(file, options).catch(async (error) => {
    if (!isCode(error, "upload_not_found")) throw error;
    // It expired, perhaps after it was complete and its answer was lost.
    const found = await findFile(parts, operation, at, upload.created_at, signal);
    if (!found) await keep(copy, key, at, undefined);
    return found;
  });
  if (!attachment) return uploadFile(parts, key, at, signal);
  await keep(copy, key, at, { ...upload, attachment_id: attachment.id }, attachment.message_id);
}

async function keep(
  copy: Copy,
  key: string,
  at: number,
  upload: SendOperation["uploads"][string] | undefined,
  messageId?: string,
): Promise<void> {
  const current = copy.operations.get(key) as SendOperation | undefined;
  if (!current) return;
  const { [at]: _, ...others } = current.uploads;
  const uploads = upload ? { ...others, [at]: upload } : others;
  await copy.commit(
    new Map([[key, { ...current, uploads, message_id: current.message_id ?? messageId ?? null }]]),
  );
}

/** Finds a file of this user in the conversation that was uploaded since, and is not another one of the message. */
async function findFile(
  { client, copy }: Parts,
  { conversation_id, message_id, files, uploads }: SendOperation,
  at: number,
  since: number,
  signal: AbortSignal,
): Promise<Attachment | undefined> {
  const others = Object.values(uploads).map(({ attachment_id }) => attachment_id);
  const { filename, file_size } = files[at]!;
  for await (const file of client.attachments.list({ conversation_id, include: "sender" }, { signal })) {
    if (file.created_at < since) return undefined;
    const isSame = file.file_size === file_size && file.filename === filename && !others.includes(file.id);
    const isOwn = file.sender?.id === copy.meta?.me.id;
    if (isSame && isOwn && (message_id === null || file.message_id === message_id)) return file;
  }
  return undefined;
}
