/**
 * Node's HTTP module. An `import` would read all its exports and so load Node's WebSocket client, which Parley does
 * not use: 50 ms at each start.
 */
export const http = process.getBuiltinModule("node:http");
