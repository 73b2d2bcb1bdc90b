# One node of Parley. How to run it is in docs/scaling.md.

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: ours brings Node where it is too old, and the packages need none. The workspaces are not here, so npm
# skips them and their dependencies: the command imports the sources of two, without the store for browsers that has one.
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-slim
WORKDIR /app
COPY package.json LICENSE ./
COPY bin bin
COPY packages/parley-client/src packages/parley-client/src
COPY packages/parley-sync/src packages/parley-sync/src
COPY runtime/node runtime/
COPY src src
COPY console/dist console/dist
COPY docs/dist docs/dist
COPY packages/parley-embed/served packages/parley-embed/served
COPY --from=dependencies /app/node_modules node_modules
RUN ln -s /app/bin/parley /usr/local/bin/parley && mkdir -m 700 /data && chown node:node /data
# The code stays root's: the server cannot change it.
USER node
ENV PARLEY_HOST=0.0.0.0 PARLEY_PORT=8080 PARLEY_DATA=/data NODE_COMPILE_CACHE=/home/node/.cache/parley
# A first start, stopped after five seconds. It keeps the compiled code, by which each later start is quicker and
# smaller, and what cannot start is never an image.
RUN PARLEY_HOST=127.0.0.1 PARLEY_DATA=/tmp/first timeout --preserve-status 5 parley serve > /dev/null && rm -r /tmp/first
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PARLEY_PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1))"]
ENTRYPOINT ["parley"]
CMD ["serve"]
