# One node of Parley. docs/install.md says how to build and run it, and why it has these bases.

FROM node:24-bookworm-slim AS build
WORKDIR /app
# Debuggers alone read the symbols, a tenth of the compressed program.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends binutils && strip /usr/local/bin/node
COPY package.json package-lock.json ./
# Without scripts: ours brings Node where it is too old, and the packages need none. The workspaces are not here, so npm
# skips them and their dependencies: the command imports the sources of two, without the store for browsers that has one.
RUN npm ci --omit=dev --ignore-scripts
# --build-arg PREVIEWS=1 adds sharp, in the version that the tests use.
ARG PREVIEWS=0
RUN [ "$PREVIEWS" = 0 ] || npm install --omit=dev --ignore-scripts --no-save --save-prod "sharp@$(node -p 'require("./package.json").devDependencies.sharp')"
# Types, source maps and tests are two thirds of the packages, and no server reads them.
RUN find node_modules -type d -name test -prune -exec rm -r {} + && find node_modules -type f -regex '.*\(\.map\|\.d\.[cm]?ts\)' -delete

FROM debian:bookworm-slim
WORKDIR /app
# The user of the official image of Node has this number, too, so existing volumes work.
RUN useradd --uid 1000 --no-create-home --shell /usr/sbin/nologin parley \
  && mkdir -m 700 /data && mkdir -p /var/cache/parley && chown parley:parley /data /var/cache/parley \
  && ln -s /app/bin/parley /usr/local/bin/parley
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY packages/parley-client/src packages/parley-client/src
COPY packages/parley-sync/src packages/parley-sync/src
COPY runtime/node runtime/
COPY src src
COPY console/dist console/dist
COPY docs/dist docs/dist
COPY packages/parley-embed/served packages/parley-embed/served
# The code stays root's: the server cannot change it.
USER parley
ENV PARLEY_HOST=0.0.0.0 PARLEY_PORT=8080 PARLEY_DATA=/data NODE_COMPILE_CACHE=/var/cache/parley
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
