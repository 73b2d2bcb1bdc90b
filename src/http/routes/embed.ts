import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { listAssets } from "../../assets.ts";
import { ParleyError } from "../../errors.ts";
import { sendFixed } from "../protocol/fixed.ts";
import { compress, isBuiltFile, once, readBuiltFile } from "./built-files.ts";

const SERVED = "packages/parley-embed/served/";

/** Pages of all origins load these files, which are the same for everybody. */
const OPEN = {
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
  "content-security-policy": "default-src 'none'",
};
const IMMUTABLE = { ...OPEN, "cache-control": "public, max-age=31536000, immutable" };
const SHORT = { ...OPEN, "cache-control": "public, max-age=300" };

/** Adds the web components: `/embed.js` leads to the script of this version, which has its labels beside it. */
export function embedRoutes(app: FastifyInstance): void {
  const open = { config: { public: true } };
  const paths = listAssets(SERVED).filter(isBuiltFile).sort();
  const version = toVersion(paths);
  const current = listAnswers(paths, IMMUTABLE);
  // A cached redirect leads to an earlier version, and one of another node to a later one.
  const others = listAnswers(paths, SHORT);
  app.get("/embed.js", open, async (_request, reply) =>
    // Relative, so that it also works below a path of a proxy.
    reply.headers(SHORT).redirect(`embed/${version}/index.js`, 302),
  );
  for (const path of ["/embed/:version/:name", "/embed/:version/:folder/:name"]) {
    app.get(path, open, async (request, reply) => {
      const { folder, name, ...asked } = request.params as Record<string, string>;
      const answers = asked.version === version ? current : others;
      const answer = answers.get(folder === undefined ? name! : `${folder}/${name}`);
      if (!answer) throw new ParleyError("route_not_found");
      return sendFixed(request, reply, await answer());
    });
  }
}

function listAnswers(paths: readonly string[], headers: Readonly<Record<string, string>>) {
  return new Map(
    paths.map((path) => [path, once(() => compress(readBuiltFile(SERVED + path, headers)))] as const),
  );
}

/** Returns a name that changes with each file, so that caches may keep the files below it. */
function toVersion(paths: readonly string[]): string {
  const tags = paths.map((path) => `${path} ${readBuiltFile(SERVED + path, {}).headers.etag}`);
  return createHash("sha256").update(tags.join("\n")).digest("base64url").slice(0, 16);
}
