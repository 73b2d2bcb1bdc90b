import type { ServerResponse } from "node:http";
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import type { Config } from "../config/settings.ts";
import type { Caller } from "../core/node/caller.ts";
import type { Core } from "../core/node/core.ts";
import type { Scope } from "../core/people/tokens.ts";
import { readField } from "../core/resource/fields.ts";
import { ParleyError } from "../errors.ts";
import { errorFields, type Log } from "../util/log.ts";
import { http } from "../util/node-http.ts";
import { hideTokens } from "../util/text.ts";
import { actingFields, authenticate, requireScope } from "./protocol/authentication.ts";
import { mediaType } from "./protocol/bodies.ts";
import { awaitsContinue, discardRest, holdContinue } from "./protocol/body-reader.ts";
import type { HttpContext } from "./protocol/context.ts";
import { allowOrigins } from "./protocol/cors.ts";
import { EventSockets, isUpgraded, mayUpgrade, routeUpgrades } from "./protocol/event-sockets.ts";
import { HTML_HEADERS, HTML_TYPE, htmlPage } from "./protocol/html.ts";
import { Metrics } from "./protocol/metrics.ts";
import { nearestPath } from "./protocol/nearest-path.ts";
import { addOperation, documentPath } from "./protocol/operation.ts";
import { handleInOrder } from "./protocol/pipelining.ts";
import { problemOf, statusOf } from "./protocol/problems.ts";
import { RateLimits } from "./protocol/rate-limits.ts";
import { answerClientError, answerOddRequests } from "./protocol/raw-errors.ts";
import { consoleRoutes } from "./routes/console.ts";
import { docsRoutes, missingDocsPage } from "./routes/docs.ts";
import { embedRoutes } from "./routes/embed.ts";
import { errorPages } from "./routes/error-pages.ts";
import { uploadDiscovery } from "./routes/files/uploads.ts";
import { helloRoutes } from "./routes/hello.ts";
import { allOperations } from "./routes/operations.ts";
import { sessionRoutes } from "./routes/people/session.ts";

/** The rights that a route requires. By default that is a valid token with any scope. */
interface RouteConfig {
  scope?: Scope | undefined;
  orAdmin?: boolean | undefined;
  public?: boolean;
  /** Whether a request that is to become a WebSocket needs no token. */
  upgrades?: true | undefined;
  /** The route's path, set by the framework; undefined if the request has no route. */
  url?: string;
}

/** The path of the route for preflights. It matches each path that has no other OPTIONS route. */
const ANY_PATH = "*";

// Plain fields, because getDecorator and setDecorator look names up at each request.
declare module "fastify" {
  interface FastifyContextConfig extends RouteConfig {}
  interface FastifyRequest {
    /** Set by the first hook. */
    routeConfig: RouteConfig;
    /** Set by the second hook, except for public routes. */
    caller: Caller;
  }
}

/** Replaces the framework's schema compilers, which would otherwise load at each start: a hundred files, 4 MB. */
function refuseSchemas(): never {
  throw new Error("Routes have no schemas: operations check their fields themselves.");
}

/** Builds the HTTP server. Call `listen` on the result to start it. */
export async function createHttp(core: Core, config: Config, log: Log): Promise<FastifyInstance> {
  const { limits, trustedProxies, databaseUrl, store, dataFolder } = config;
  const metrics = new Metrics(core, {
    used: databaseUrl === null || store === null ? dataFolder : null,
    backedUp: databaseUrl === null && store === null ? dataFolder : null,
  });
  const context = { core, limits, log, metrics, rates: new RateLimits(limits, core.clock) };
  const answered: Answered = (request, response, route, ms) => {
    void discardRest(request.raw);
    // The client hung up before the end of the answer.
    const isAborted = response.destroyed && !response.writableFinished;
    const status = isAborted ? "aborted" : response.statusCode;
    metrics.requests.add(request.raw.method!, route ?? "none", status, ms / 1000);
    if (log.isDebug) log.debug({ ...requestFields(request), status, ms }, "answered");
  };
  const app = Fastify({
    logger: false,
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    genReqId: () => core.newId("req"),
    requestIdHeader: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: Number.MAX_SAFE_INTEGER, // bodies are read, and bounded, by the readers of this folder
    requestTimeout: 0, // it would end long honest uploads; the readers watch the pace instead
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionTimeout: limits.socketIdleTimeoutMs,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: {
      maxParamLength: limits.maxHeaderBytes,
      querystringParser: String as never, // operations parse it, strictly
    },
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
      maxHeaderSize: limits.maxHeaderBytes,
      requireHostHeader: false, // its own answer has no body
      shouldUpgradeCallback: mayUpgrade,
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, context),
    frameworkErrors: (_error, request, reply) => void handleFrameworkError(context, answered, request, reply),
  });
  metrics.watch(app.server);
  handleInOrder(app.server, limits.maxWaitingRequests);
  holdContinue(app.server);
  answerOddRequests(app.server, context);
  routeUpgrades(app.server, context);
  setErrorAnswers(app, context);
  // Add this hook first, because the next one answers preflights.
  app.decorateRequest("routeConfig", null as never);
  app.addHook("onRequest", (request, reply, done) => {
    setCommonHeaders(request, reply);
    const begun = performance.now();
    // Read routeOptions only once: the framework creates it on each access.
    const { url, config } = request.routeOptions;
    request.routeConfig = config;
    // Do not capture the framework's request and reply: a stream would keep them as long as it is open.
    const { id, raw } = request;
    const response = reply.raw;
    // Fastify's onResponse is never called if the client hangs up.
    response.on("close", () => answered({ id, raw }, response, url, performance.now() - begun));
    done();
  });
  await allowOrigins(app, config.corsOrigins);
  addHooks(app, context);
  app.removeAllContentTypeParsers();
  // Operations read their bodies themselves.
  for (const method of http.METHODS) {
    if (method !== "CONNECT") app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  const sockets = new EventSockets(context, config.corsOrigins);
  app.addHook("preClose", async () => sockets.close());
  for (const each of allOperations) addOperation(app, { ...context, sockets }, each);
  uploadDiscovery(app, limits);
  for (const addPages of [docsRoutes, errorPages, consoleRoutes, embedRoutes]) addPages(app);
  if (config.hello.length > 0) helloRoutes(app, config.hello, core.origin);
  sessionRoutes(app, context);
  return app;
}

/** Matches the path of a file, an archive or a picture of a user, with or without the server's name before it. */
const FILE = /^(?:https?:\/\/[^/?]*)?\/(?:files|archives|v1\/avatars)\//i;

/** Sets the headers of every answer, including errors. */
function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header("request-id", request.id).header("x-content-type-options", "nosniff");
  // The URL of a file is its permission, which must not leak to pages that the file links to.
  if (FILE.test(request.raw.url!)) reply.header("referrer-policy", "no-referrer");
}

/** Sets the handlers of errors. Call this before adding routes: each keeps the handlers that exist then. */
function setErrorAnswers(app: FastifyInstance, context: HttpContext): void {
  app.setNotFoundHandler((request) => {
    const allow = allowedMethods(app, request.raw.url!);
    if (allow === "") throw unknownPath(request);
    throw new ParleyError("method_not_allowed", `Allowed methods: ${allow}.`, { header: allow });
  });
  app.setErrorHandler(async (error: FastifyError | ParleyError, request, reply) => {
    // If the connection closes after the answer, unread bytes would reset it before the client has read the answer.
    if (!reply.raw.shouldKeepAlive && !awaitsContinue(request.raw)) await discardRest(request.raw);
    return sendError(context, error, request, reply);
  });
}

/** Called once after each answer, with its route and duration. */
type Answered = (request: Received, response: ServerResponse, route: string | undefined, ms: number) => void;

/** The parts of a request that are logged. */
type Received = Pick<FastifyRequest, "id" | "raw">;

function addHooks(app: FastifyInstance, context: HttpContext): void {
  app.decorateRequest("caller", null as never);
  // Not async: the token is usually cached, so there is nothing to wait for.
  app.addHook("onRequest", (request, reply, done) => {
    refuseAmbiguousHead(request);
    const { routeConfig } = request;
    if (routeConfig.public || (routeConfig.upgrades && isUpgraded(request.raw))) return done();
    if (!isFound(routeConfig) && !isApiPath(request)) return done();
    // Neither proxies nor shared browsers may cache answers to a token (ASVS 14.3.2).
    reply.header("cache-control", "no-store");
    const caller = authenticate(context, request, reply);
    if (caller instanceof Promise)
      caller.then((found) => letThrough(request, found, routeConfig)).then(() => done(), done);
    else {
      letThrough(request, caller, routeConfig);
      done();
    }
  });
}

function isFound({ url }: RouteConfig): boolean {
  return url !== undefined && url !== ANY_PATH;
}

/** Checks whether a request of this caller may reach its route. Throws if not. */
function letThrough(request: FastifyRequest, caller: Caller, { scope, orAdmin }: RouteConfig): void {
  if (scope && !(orAdmin && caller.scopes.has("admin"))) requireScope(caller, scope);
  request.caller = caller;
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    // The compressed bytes would be read as the content, and look damaged.
    throw new ParleyError("unsupported_media_type", "Send the body without Content-Encoding.");
  }
  // The router matches "/v1/contacts/" with an empty id.
  if ((request.params as { id?: string }).id === "") throw unknownPath(request);
}

/** Checks a Host header by its characters (RFC 9110, section 7.2). */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;
/** Headers that must not be repeated: Node uses the first, and a reverse proxy may use the last. */
const SINGLE = ["host", "authorization", "content-type"];

/** Matches the form of a request target for a proxy (RFC 9112, section 3.2.2). The router reads the path after it. */
const ABSOLUTE_FORM = /^https?:\/\/[^/?]/i;

/** Refuses a head that a reverse proxy and this server could interpret differently. */
function refuseAmbiguousHead({ raw }: FastifyRequest): void {
  const target = raw.url!;
  if (target.includes("#")) {
    throw new ParleyError("malformed_request", "A request target cannot have a fragment. Encode # as %23.");
  }
  // The router would read another path than a reverse proxy (RFC 9112, section 3.2).
  const isPath = target.startsWith("/") || ABSOLUTE_FORM.test(target);
  if (!isPath && !(raw.method === "OPTIONS" && target === "*")) {
    throw new ParleyError(
      "malformed_request",
      "Start the request target with a slash, as in GET /v1/contacts.",
    );
  }
  const { host, "transfer-encoding": coding } = raw.headers;
  if (host === undefined ? raw.httpVersion === "1.1" : !HOST.test(host)) {
    throw new ParleyError("malformed_request", "HTTP/1.1 requires a valid Host header.");
  }
  // The end of such a body is ambiguous (RFC 9112, section 6.3). Node's parser reports it only after the request is passed on,
  // and an operation that needs no body has already answered then.
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw new ParleyError("malformed_request", "The only accepted Transfer-Encoding is chunked.");
  }
  if (raw.rawHeaders.length === 2 * Object.keys(raw.headers).length) return;
  const twice = SINGLE.find((name) => (raw.headersDistinct[name]?.length ?? 0) > 1);
  if (twice) throw new ParleyError("malformed_request", `Send the ${twice} header only once.`);
}

/** Returns the path of a request with its query, without the server's name that may precede it. */
function pathOf({ raw }: FastifyRequest): string {
  return raw.url!.startsWith("/") ? raw.url! : raw.url!.replace(/^https?:\/\/[^/?]*/i, "");
}

const API_PATHS = [...new Set(allOperations.map(documentPath))].filter((path) => path.startsWith("/v1/"));

/** Returns the error. It names the most similar path of the API if the requested one is below `/v1`. */
function unknownPath(request: FastifyRequest): ParleyError {
  const requested = isApiPath(request) ? pathOf(request).split("?", 1)[0]! : "";
  const nearest = nearestPath(requested, API_PATHS);
  return new ParleyError(
    "route_not_found",
    nearest && `No resource has this path. The nearest one is ${nearest}.`,
  );
}

function isApiPath(request: FastifyRequest): boolean {
  return /^\/v1(?:[/?]|$)/.test(pathOf(request));
}

/** Answers a resource's path that has a broken percent-encoding as if its id were unknown, or its field malformed. */
async function handleFrameworkError(
  context: HttpContext,
  answered: Answered,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const begun = performance.now();
  const requested = pathOf(request);
  const known = allOperations.find(({ id, path }) => id && requested.startsWith(path.replace(":id", "")));
  let problem = new ParleyError(known?.id?.unknown ?? "route_not_found");
  try {
    refuseAmbiguousHead(request);
    if (isApiPath(request)) await authenticate(context, request, reply);
    refuseBrokenField(requested);
  } catch (error) {
    problem = error as ParleyError;
  }
  setCommonHeaders(request, reply);
  sendError(context, problem, request, reply);
  answered(request, reply.raw, undefined, performance.now() - begun);
}

/** Throws the error of the field at the end of such a path, if it has one. */
function refuseBrokenField(requested: string): void {
  for (const { path, pathField } of allOperations) {
    if (!pathField) continue;
    const [before] = path.replace(":id", "[^/%]+").split(`:${pathField.name}`);
    if (new RegExp(`^${before}`).test(requested)) readField(pathField.name, pathField.field, undefined);
  }
}

/** Reports whether a person opened the URL in a browser, as opposed to a program. */
function isOpenedByBrowser(request: FastifyRequest): boolean {
  const { method, headers } = request.raw;
  if (!/^(?:GET|HEAD)$/.test(method!) || /^\/(?:v1|files|archives)(?:[/?]|$)/.test(pathOf(request)))
    return false;
  return mediaType(headers.accept?.split(",", 1)[0]) === "text/html";
}

const NOT_FOUND = {
  page: htmlPage(
    "Page not found",
    '<p>There is nothing at this address. Go to the <a href="/">console</a> or the <a href="/docs/">documentation</a>.</p>',
  ),
  headers: HTML_HEADERS,
};

/** Matches the start of a query, even if its question mark was encoded by mistake. */
const QUERY = /\?|%3f/i;

/** Returns the log fields of a request: never its query, which may contain a signature, nor a token sent as an id. */
function requestFields({ id, raw }: Received): object {
  const { method, url } = raw;
  return { request_id: id, method, path: hideTokens(url!.split(QUERY, 1)[0]!) };
}

function sendError(
  context: HttpContext,
  error: FastifyError | ParleyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = error instanceof ParleyError ? error : undefined;
  if (known?.code === "disk_full") context.core.space.noteRefusal();
  if (!known || known.cause) {
    const acting = request.caller?.actedById ? actingFields(request.caller) : {};
    context.log.error({ ...requestFields(request), ...acting, ...errorFields(error) }, "request failed");
  }
  if (known?.code === "route_not_found" && isOpenedByBrowser(request)) {
    const { page, headers } = missingDocsPage(pathOf(request).split("?", 1)[0]!) ?? NOT_FOUND;
    return reply
      .code(statusOf(known.code))
      .headers({ ...headers, "cache-control": "no-store", "content-type": HTML_TYPE })
      .send(page);
  }
  const problem = problemOf(known ?? new ParleyError("internal_error"), request.id, context.core.origin());
  // Send bytes: the framework would add a charset to text, and this media type has none.
  return reply.code(problem.status).headers(problem.headers).send(Buffer.from(problem.body));
}

/** Returns the methods of a path, in the format of Allow (RFC 9110, section 10.2.1); empty if the path does not exist. */
function allowedMethods(app: FastifyInstance, path: string): string {
  const hasRoute = (method: string) => {
    const params = app.findRoute({ method, url: path })?.params;
    // The router matches "/v1/contacts/" with an empty id.
    return params !== undefined && params.id !== "" && !(ANY_PATH in params);
  };
  return app.supportedMethods.filter(hasRoute).sort().join(", ");
}
