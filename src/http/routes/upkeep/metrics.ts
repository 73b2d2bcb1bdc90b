import { text } from "../../../core/resource/schema.ts";
import { type Operation, operation } from "../../protocol/operation.ts";

export const metricsOperation: Operation = operation({
  name: "readMetrics",
  method: "GET",
  path: "/metrics",
  scope: "admin",
  summary: "Read metrics in the format of Prometheus",
  answer: { status: 200, content: { "text/plain": text } },
  handle({ metrics, reply }) {
    reply.header("content-type", metrics.contentType);
    return metrics.text();
  },
});
