// Debian's Prometheus with the configuration of compose.yaml and the alerts of docs/operate.md, beside a server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { commandLine, freePort, tokenOf } from "../../support/command.ts";
import { without } from "../../support/engines/packages.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { documentedEnv, filledIn, sh, textOf } from "./compose.ts";

const skip = without("/usr/bin/prometheus");

interface Rule {
  name: string;
  health: string;
  lastError?: string;
  state: string;
}

/** Returns the alerts of the page, as a file of rules. */
async function documentedRules(): Promise<string> {
  return /^```yaml\n(groups:\n.*?)^```$/ms.exec(await textOf("docs/operate.md"))![1]!;
}

/** Starts Prometheus, and returns a function that asks its API. */
async function startPrometheus(t: TestContext, folder: string, config: string) {
  const address = `127.0.0.1:${await freePort()}`;
  const args = [`--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
  const child = spawn("prometheus", [`--config.file=${config}`, ...args], { stdio: "ignore" });
  const closed = once(child, "close");
  t.after(() => {
    child.kill();
    return closed;
  });
  return async (path: string) => {
    while (child.exitCode === null) {
      const answer = await fetch(`http://${address}/api/v1/${path}`).catch(() => undefined);
      // Prometheus answers 503 while it starts.
      if (answer?.status === 200) return ((await answer.json()) as { data: unknown }).data;
      await sleep(100);
    }
    throw new Error(`Prometheus ended with ${child.exitCode}`);
  };
}

test("Prometheus reads the metrics and evaluates all documented alerts", { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-prometheus-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const command = await commandLine(t);
  const server = await command.serve();
  const env = { ...(await documentedEnv()), PARLEY_METRICS_TOKEN: tokenOf(server) };
  const { content } = filledIn(await textOf("compose.yaml"), env).configs.prometheus!;
  const [config, rules] = [join(folder, "prometheus.yml"), join(folder, "alerts.yml")];
  await writeFile(config, content);
  await sh("promtool", ["check", "config", config]);
  await writeFile(rules, await documentedRules());
  await sh("promtool", ["check", "rules", rules]);

  // Without the DNS of Compose.
  const { scrape_configs, ...rest } = parse(content);
  const { dns_sd_configs, ...job } = scrape_configs[0];
  assert.deepEqual(dns_sd_configs, [{ names: ["parley"], type: "A", port: 8080 }]);
  const often = { scrape_interval: "1s", evaluation_interval: "1s" };
  const here = { ...job, static_configs: [{ targets: [new URL(command.url).host] }] };
  await writeFile(config, stringify({ ...rest, global: often, rule_files: [rules], scrape_configs: [here] }));
  const ask = await startPrometheus(t, folder, config);
  const up = async () => {
    const { result } = (await ask('query?query=up{job="parley"}')) as {
      result: { value: [number, string] }[];
    };
    return result[0]?.value[1];
  };
  // A busy machine may answer later than within a second, which counts as down.
  assert.ok(await eventually(async () => (await up()) === "1"), "the server does not accept the token");
  const evaluated = async () => {
    const { groups } = (await ask("rules")) as { groups: { rules: Rule[] }[] };
    return groups.flatMap((group) => group.rules);
  };
  // A server without a backup: this alert is active once the rules have seen its metrics.
  const isEvaluated = async () => {
    const alerts = await evaluated();
    const stateOf = (name: string) => alerts.find((alert) => alert.name === name)?.state;
    const isKnown = alerts.every(({ health }) => health !== "unknown");
    return isKnown && stateOf("ParleyNotBackedUp") !== "inactive" && stateOf("ParleyDown") === "inactive";
  };
  assert.ok(await eventually(isEvaluated), "the alerts do not see the metrics");
  const alerts = await evaluated();
  assert.equal(alerts.length, (await documentedRules()).match(/- alert: /g)!.length);
  assert.deepEqual(
    alerts.filter(({ health }) => health !== "ok"),
    [],
  );
});
