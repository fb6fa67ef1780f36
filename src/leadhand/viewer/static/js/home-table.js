// Runs as a table.
import { h, table } from "./dom.js";
import { count, dollars, oneLine, plural, seconds } from "./text.js";

export function runsTable(rows) {
  const colour = (r) => (r.status === "finished" ? "good" : r.status === "running" ? "live" : r.valid ? "warn" : "bad");
  return table([
    { name: "run", cell: (r) => h("a", { href: `#/run/${encodeURIComponent(r.id)}`, cls: "bdi" }, oneLine(r.task || r.id, 40)), sort: (r) => r.task },
    { name: "design", cls: "nowrap", cell: (r) => oneLine(r.design, 60), sort: (r) => r.design },
    { name: "status", cell: (r) => [h("span", { cls: `badge ${colour(r)}`, title: r.error }, r.status.replaceAll("_", " ")), r.attempt ? [" ", h("span", { cls: "badge" }, `attempt ${r.attempt}, put aside`)] : null, r.degraded ? [" ", h("span", { cls: "badge bad" }, "degraded")] : null, r.findings ? [" ", h("a", { href: `#/run/${encodeURIComponent(r.id)}?tab=findings`, cls: `badge ${r.valid ? "warn" : "bad"}` }, `${r.valid ? "" : "not valid · "}${plural(r.findings, "finding")}`)] : null], sort: (r) => r.status },
    { name: "reward", num: true, cell: (r) => (r.reward === null ? "–" : r.reward.toFixed(3)), sort: (r) => r.reward },
    { name: "dollars", num: true, cell: (r) => dollars(r.usd), sort: (r) => r.usd }, { name: "time", num: true, cell: (r) => seconds(r.seconds), sort: (r) => r.seconds },
    { name: "steps", num: true, cell: (r) => count(r.steps), sort: (r) => r.steps }, { name: "workers", num: true, cell: (r) => count(r.workers), sort: (r) => r.workers },
    { name: "delegations", num: true, cell: (r) => count(r.delegations), sort: (r) => r.delegations }, { name: "repeat", num: true, cell: (r) => count(r.repeat), sort: (r) => r.repeat },
    { name: "started", cell: (r) => h("span", { cls: "muted nowrap", title: r.id }, r.created.slice(0, 16).replace("T", " ")), sort: (r) => r.created },
  ], rows, { by: 10, down: true });
}
