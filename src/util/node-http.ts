/**
 * Node's HTTP module. An `import` would read each of its exports, and so load Node's WebSocket client, which Parley does
 * not use, for 50 ms at each start.
 */
export const http = process.getBuiltinModule("node:http");
