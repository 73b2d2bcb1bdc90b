// Pictures that packages ship for their tests, and every registered media type: which type a file gets, and that its
// bytes are unchanged.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { shipped } from "../packages.ts";
import { client, each, type Target, turn } from "../target.ts";
import { download, fileForm, isRun, quoted, upload } from "../uploads.ts";

const FOLDERS = ["bmp-js/test", "exif-parser/test", "jpeg-exif/test"];
const TYPES: Record<string, string> = {
  ".bmp": "image/bmp",
  ".jpg": "image/jpeg",
  ".png": "image/png",
  ".tiff": "image/tiff",
};

interface MediaType {
  extensions?: string[];
}

const registered = createRequire(import.meta.url)("mime-db") as Record<string, MediaType>;

export async function pictures(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const all = FOLDERS.flatMap((folder) => shipped(folder, /\.(?:bmp|jpe?g|png|tiff)$/i));
  const lies = [
    ["", undefined],
    [".html", "text/html"],
    [".svg", "image/svg+xml"],
    [".js", "application/javascript"],
    [".txt", "text/plain"],
  ] as const;
  for (const [ending, type] of lies)
    await each(all, async ({ name, bytes }) => {
      const made = await upload(ask, fileForm(quoted(`${name}${ending}`), bytes, type));
      // A TIFF may have its directory after the inspected bytes. Then the claimed type or name decides.
      if (!name.endsWith(".tiff") || ending === "")
        assert.equal(made?.file_type, TYPES[extname(name).toLowerCase()]);
      assert.equal(made?.file_size, bytes.length);
      await download(ask, made!, bytes);
    });
  return `${FOLDERS.join(", ")}: ${all.length} pictures, each under ${lies.length} names and types`;
}

/** A claimed type or file name never results in a type that browsers execute. */
export async function mediaTypes(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  // No format begins like this, so only the claimed type or name can decide.
  const content = Buffer.from("\x01\x02\x03 <script>alert(1)</script>");
  const types = Object.keys(registered);
  const extensions = Object.values(registered).flatMap(({ extensions = [] }) => extensions);
  const given = new Set<unknown>();
  const send = async (name: string, type?: string) => {
    const made = await upload(ask, fileForm(quoted(name), content, type));
    assert.ok(made);
    assert.ok(!isRun(String(made.file_type)), String(made.file_type));
    // Only the type decides how a file is served, so one download per type is enough.
    if (given.has(made.file_type)) return;
    given.add(made.file_type);
    await download(ask, made, content);
  };
  const spelt = (type: string, index: number) => turn([type, `${type.toUpperCase()}; charset=utf-8`], index);
  await each(types, (type, index) => send(turn(["file.html", "file"], index), spelt(type, index)));
  await each(extensions, (extension) => send(`file.${extension}`));
  return `mime-db: ${types.length} types and ${extensions.length} extensions: ${given.size} types given`;
}
