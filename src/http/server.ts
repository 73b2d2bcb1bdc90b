import { METHODS } from "node:http";
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import type { Config } from "../config.ts";
import type { Caller } from "../core/caller.ts";
import type { Core } from "../core/core.ts";
import type { Scope } from "../core/tokens.ts";
import { ParleyError } from "../errors.ts";
import { errorFields, type Log } from "../util/log.ts";
import { hideTokens } from "../util/text.ts";
import { authenticate, requireScope } from "./authentication.ts";
import { awaitsContinue, discardRest, holdContinue } from "./body-reader.ts";
import { consoleRoutes } from "./console.ts";
import type { HttpContext } from "./context.ts";
import { allowOrigins } from "./cors.ts";
import { docsRoutes } from "./docs.ts";
import { fileRoutes } from "./files.ts";
import { healthRoutes } from "./health.ts";
import { metricsRoutes, outcomeOf } from "./metrics.ts";
import { addOperation } from "./operation.ts";
import { allOperations } from "./operations.ts";
import { problemOf } from "./problems.ts";
import { RateLimits } from "./rate-limits.ts";
import { answerClientError, answerOddRequests } from "./raw-errors.ts";

/** What a route says of itself: with neither, it wants a valid token of any scope. */
interface RouteConfig {
  scope?: Scope | undefined;
  public?: boolean;
}

// Plain fields: Fastify's getDecorator and setDecorator look them up by name at each request.
declare module "fastify" {
  interface FastifyContextConfig extends RouteConfig {}
  interface FastifyRequest {
    /** Set by the first hook. */
    routeConfig: RouteConfig;
    /** Set by the second, but for public routes. */
    caller: Caller;
  }
}

const NO_QUERY = {};

/** Builds the HTTP interface; it listens only when its `listen` is called. */
export async function createHttp(core: Core, config: Config, log: Log): Promise<FastifyInstance> {
  const { limits, trustedProxies } = config;
  const context = { core, limits, log, rates: new RateLimits(limits, core.clock) };
  const answered: Answered = (request, reply, route, ms) => {
    void discardRest(request.raw);
    count(request, reply, route, ms);
    logAnswer(context, request, reply, ms);
  };
  const app = Fastify({
    logger: false,
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
      querystringParser: () => NO_QUERY, // operations read their own, strictly
    },
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
      maxHeaderSize: limits.maxHeaderBytes,
      requireHostHeader: false, // its own answer has no body
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, context),
    frameworkErrors: (_error, request, reply) => void handleFrameworkError(context, answered, request, reply),
  });
  holdContinue(app.server);
  answerOddRequests(app.server, context);
  setErrorAnswers(app, context);
  // Before all others: a preflight is answered by the next.
  app.decorateRequest("routeConfig", null as never);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("request-id", request.id);
    const begun = performance.now();
    // Asked once: the framework makes it anew each time.
    const { url, config } = request.routeOptions;
    request.routeConfig = config;
    // Not Fastify's onResponse, which never comes where the client hangs up.
    reply.raw.on("close", () => answered(request, reply, url, performance.now() - begun));
    done();
  });
  await allowOrigins(app, config.corsOrigins);
  addHooks(app, context);
  app.removeAllContentTypeParsers();
  const closed = collectMethods(app);
  const operations = allOperations(limits);
  const count = metricsRoutes(app, core);
  for (const each of operations) addOperation(app, context, each);
  app.register(async (openRoutes) => {
    fileRoutes(openRoutes, context);
    healthRoutes(openRoutes, core);
    docsRoutes(openRoutes);
    consoleRoutes(openRoutes);
  });
  app.register(async (rest) => closed(rest));
  return app;
}

/** Set before any route is added: a route keeps the handlers of its moment. */
function setErrorAnswers(app: FastifyInstance, context: HttpContext): void {
  app.setNotFoundHandler(() => {
    throw new ParleyError("route_not_found");
  });
  app.setErrorHandler(async (error: FastifyError | ParleyError, request, reply) => {
    // Where the connection ends with the answer, bytes that were not read would reset it before the answer is read.
    if (!reply.raw.shouldKeepAlive && !awaitsContinue(request.raw)) await discardRest(request.raw);
    return sendError(context, error, request, reply);
  });
}

/** What is done once an answer is over, whatever it is: of which route, and how long it took. */
type Answered = (request: FastifyRequest, reply: FastifyReply, route: string | undefined, ms: number) => void;

function addHooks(app: FastifyInstance, context: HttpContext): void {
  app.decorateRequest("caller", null as never);
  // With a callback: mostly the token is known, and nothing is waited for.
  app.addHook("onRequest", (request, reply, done) => {
    refuseAmbiguousHead(request);
    const { scope, public: open } = request.routeConfig;
    if (open || (request.is404 && !isApiPath(request.raw.url!))) return done();
    // What a token opens is for no cache: neither a proxy's nor that of a browser that others use, too (ASVS 14.3.2).
    reply.header("cache-control", "no-store");
    const caller = authenticate(context, request, reply);
    if (caller instanceof Promise)
      caller.then((found) => letThrough(request, found, scope)).then(() => done(), done);
    else {
      letThrough(request, caller, scope);
      done();
    }
  });
}

/** Lets a request of this caller through to its route, or throws. */
function letThrough(request: FastifyRequest, caller: Caller, scope: Scope | undefined): void {
  if (scope) requireScope(caller, scope);
  request.caller = caller;
  refuseEncoding(request);
  // The router takes "/v1/contacts/" for an empty id.
  if ((request.params as { id?: string }).id === "") throw new ParleyError("route_not_found");
}

/** Host by its characters (RFC 9110, section 7.2). */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;
/** Of these Node takes the first, where who stands in front may take the last. */
const SINGLE = ["host", "authorization", "content-type"];

/** Refuses what two readers could read in two ways. */
function refuseAmbiguousHead({ raw }: FastifyRequest): void {
  const { host, "transfer-encoding": coding } = raw.headers;
  if (host === undefined ? raw.httpVersion === "1.1" : !HOST.test(host)) {
    throw new ParleyError("malformed_request", "HTTP/1.1 requires the header Host, with a host and a port.");
  }
  // The end of such a body is not sure (RFC 9112, section 6.3). Node's parser reports it only after the request was handed
  // on, when what needs no body has answered already.
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw new ParleyError("malformed_request", "The only Transfer-Encoding that is taken is chunked.");
  }
  if (raw.rawHeaders.length === 2 * Object.keys(raw.headers).length) return;
  const twice = SINGLE.find((name) => (raw.headersDistinct[name]?.length ?? 0) > 1);
  if (twice) throw new ParleyError("malformed_request", `The header ${twice} may be there once.`);
}

/** A compressed body would be read as it is, and taken for damaged. */
function refuseEncoding(request: FastifyRequest): void {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return;
  throw new ParleyError("unsupported_media_type", "Send the body without Content-Encoding.");
}

function isApiPath(url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url);
}

/** A path with a broken percent-encoding names nothing: it is answered like an id that is unknown. */
async function handleFrameworkError(
  context: HttpContext,
  answered: Answered,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const begun = performance.now();
  const asked = request.raw.url!;
  const known = allOperations(context.limits).find(
    ({ id, path }) => id && asked.startsWith(path.replace(":id", "")),
  );
  let problem = new ParleyError(known?.id?.unknown ?? "route_not_found");
  try {
    refuseAmbiguousHead(request);
    if (isApiPath(request.raw.url!)) await authenticate(context, request, reply);
  } catch (error) {
    problem = error as ParleyError;
  }
  reply.header("request-id", request.id);
  sendError(context, problem, request, reply);
  answered(request, reply, undefined, performance.now() - begun);
}

/** Where a query begins, also where its mark was encoded by mistake. */
const QUERY = /\?|%3f/i;

/** What the log holds of a request: never its query, in which a signature can stand, nor a token that was taken for an id. */
function requestFields(request: FastifyRequest): object {
  const { method, url } = request.raw;
  return { request_id: request.id, method, path: hideTokens(url!.split(QUERY, 1)[0]!) };
}

function logAnswer(context: HttpContext, request: FastifyRequest, reply: FastifyReply, ms: number): void {
  if (!context.log.isDebug) return;
  context.log.debug({ ...requestFields(request), status: outcomeOf(reply), ms }, "answered");
}

function sendError(
  context: HttpContext,
  error: FastifyError | ParleyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = error instanceof ParleyError ? error : undefined;
  if (!known || known.cause) {
    context.log.error({ ...requestFields(request), ...errorFields(error) }, "request failed");
  }
  const problem = problemOf(known ?? new ParleyError("internal_error"), request.id, context.core.origin());
  // As bytes: to text the framework would add a charset, which this media type does not have.
  return reply.code(problem.status).headers(problem.headers).send(Buffer.from(problem.body));
}

/** Notes the methods of each path as it is added; the function that it returns answers 405 for all others. */
function collectMethods(app: FastifyInstance): (app: FastifyInstance) => void {
  const paths = new Map<string, { methods: Set<string>; config: RouteConfig }>();
  for (const method of METHODS) {
    // None has a body that Fastify shall read: operations read theirs.
    if (method !== "CONNECT") app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  app.addHook("onRoute", (route) => {
    const known = paths.get(route.url) ?? { methods: new Set(), config: (route.config ?? {}) as RouteConfig };
    for (const method of [route.method].flat()) known.methods.add(method);
    paths.set(route.url, known);
  });
  return (rest) => {
    for (const [url, { methods, config }] of [...paths]) {
      const allow = [...methods].sort().join(", ");
      rest.route({
        method: app.supportedMethods.filter((method) => !methods.has(method)),
        url,
        config: config.public ? { public: true } : {},
        onRequest: async () => {
          throw new ParleyError("method_not_allowed", `Allowed here: ${allow}.`, { header: allow });
        },
        handler: () => {},
      });
    }
  };
}
