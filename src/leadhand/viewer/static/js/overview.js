// The first tab: how the run went, why it cost what it cost, and who did it.
import { h, link, table } from "./dom.js";
import { count, dollars, model as modelName, oneLine, percent, plural, seconds, textBox, tokens } from "./text.js";
import { allTokens } from "./agent.js";
import { standout } from "./standout.js";

const PARTS = [["fresh", "fresh input", "var(--model)"], ["read", "cached input", "var(--wait)"], ["written", "cache writes", "var(--tool)"], ["output", "output", "var(--command)"]];

export function overview(run) {
  const { model } = run;
  return h("div", { cls: "pad" }, standout(run),
    h("div", { cls: "grid2" }, h("div", {}, why(run), dearest(run)), h("div", {}, ledger(run), critical(run), clockTable(run))),
    outcome(run));
}

// Where the money went, in sentences that can be checked against the table beside them.
export function whyText(model) {
  const s = model.summary;
  const lead = s.roles.filter((r) => r.role !== "worker").reduce((sum, r) => sum + r.usd, 0);
  const workers = s.agents.filter((a) => a.role === "worker");
  const all = allTokens(s.usage);
  const byLead = s.agents.filter((a) => a.role !== "worker").reduce((sum, a) => sum + allTokens(a.usage), 0);
  const input = all - s.usage.output;
  if (model.free) {
    const priced = Object.entries(model.head.prices).map(([name, p]) => `${modelName(name)} (${p.source || "no price"})`).join(", ");
    return [
      all ? `This run cost $0 because its models are free: ${priced}.` : "Nothing was billed.",
      `It took ${plural(s.steps, "step")} and ${tokens(all)} tokens: ${percent(input, all)} of them were input, read again at every step, and ${percent(s.usage.output, all)} were output.`,
      workers.length ? `The lead used ${percent(byLead, all)} of the tokens, its ${plural(workers.length, "worker")} the other ${percent(all - byLead, all)}.` : equals(s.agents, (a) => percent(allTokens(a.usage), all)),
    ].filter(Boolean);
  }
  const parts = PARTS.map(([key, word]) => [word, Object.values(model.money).reduce((sum, m) => sum + m[key], 0)]).sort((a, b) => b[1] - a[1]);
  const top = model.dearest.reduce((sum, [usd]) => sum + usd, 0);
  return [
    `This run cost ${dollars(s.settled_usd)} for ${plural(s.steps, "step")}: ${parts.filter(([, usd]) => usd > 0).map(([word, usd]) => `${percent(usd, s.settled_usd)} ${word}`).join(", ")}.`,
    workers.length ? `The lead spent ${dollars(lead)} (${percent(lead, s.settled_usd)}), its ${plural(workers.length, "worker")} ${dollars(s.settled_usd - lead)}.` : equals(s.agents, (a) => dollars(a.usd)),
    `The ${model.dearest.length} dearest calls are ${percent(top, s.settled_usd)} of it; a step cost ${dollars(s.settled_usd / Math.max(1, s.steps))} on average and read ${tokens(Math.round(input / Math.max(1, s.steps)))} tokens.`,
    s.unknown_usd ? `Up to ${dollars(s.unknown_usd)} more may have been billed for calls whose outcome is not known.` : "",
  ].filter(Boolean);
}

function equals(agents, share) {
  return agents.length > 1 ? `No agent leads: ${agents.map((a) => `${a.name} ${share(a)}`).join(", ")}.` : "";
}

function why(run) {
  const { model } = run;
  const settled = model.summary.settled_usd;
  const sums = PARTS.map(([key, word, colour]) => [word, model.free ? 0 : Object.values(model.money).reduce((sum, m) => sum + m[key], 0), colour]);
  return h("section", { "aria-label": "Why it cost this" }, h("h2", {}, "Why it cost this"),
    h("div", { "data-answer": "cost" }, whyText(model).map((text) => h("p", {}, text))),
    settled ? [bar(sums.map(([, usd, colour]) => [usd, colour]), settled), keys(sums.map(([word, usd, colour]) => [`${word} ${dollars(usd)}`, colour]))] : null);
}

function bar(parts, whole) {
  return h("div", { cls: "bar", "aria-hidden": "true" }, parts.map(([part, colour]) => h("i", { style: { width: `${whole ? (100 * part) / whole : 0}%`, background: colour } })));
}

function dearest(run) {
  const { model } = run;
  const rows = model.dearest.map(([usd, total, seq]) => ({ usd, total, seq }));
  if (!rows.length) return null;
  const label = ({ seq }) => {
    const node = link("…", () => run.go({ e: seq }), { cls: "link bdi" });
    run.label(seq).then((text) => (node.textContent = oneLine(text, 60) || "…"));
    return node;
  };
  return h("section", {}, h("h2", {}, model.free ? "Largest calls" : "Dearest calls"), table([
    { name: "agent", cell: (r) => model.agentName(r.seq) }, { name: "reply", cell: label },
    { name: "tokens", num: true, cell: (r) => tokens(r.total), sort: (r) => r.total }, ...(model.free ? [] : [{ name: "dollars", num: true, cell: (r) => dollars(r.usd), sort: (r) => r.usd }]),
  ], rows));
}

function ledger(run) {
  const { model } = run;
  const s = model.summary;
  const whole = model.free ? allTokens(s.usage) : s.settled_usd;
  const part = (a) => (model.free ? allTokens(a.usage) : a.usd);
  const written = (u) => u.cache_write_5m + u.cache_write_30m + u.cache_write_1h + u.cache_write_12h;
  const rows = [...s.agents.map((a) => ({ ...a, agent: true })), ...(s.roles.length > 1 ? s.roles.map((r) => ({ ...r, name: r.role === "worker" ? `${r.agents} workers` : "lead alone", total: true })) : []),
    { name: "all", usage: s.usage, usd: s.settled_usd, steps: s.steps, total: true }];
  return h("section", {}, h("h2", {}, "Ledger"), table([
    { name: "agent", cls: "nowrap", cell: (r) => (r.agent ? link(r.name, () => run.go({ agent: r.name })) : r.name) },
    { name: "model", cell: (r) => h("span", { cls: "muted" }, r.model ? modelName(r.model) : "") },
    { name: "steps", num: true, cell: (r) => count(r.steps) }, { name: "fresh", num: true, cell: (r) => tokens(r.usage.input) }, { name: "cached", num: true, cell: (r) => tokens(r.usage.cache_read) },
    { name: "written", num: true, cell: (r) => tokens(written(r.usage)) }, { name: "output", num: true, cell: (r) => tokens(r.usage.output) }, { name: "dollars", num: true, cell: (r) => dollars(r.usd) },
    { name: model.free ? "of tokens" : "of dollars", cls: "wide", cell: (r) => bar([[part(r), r.total ? "var(--cost)" : "var(--model)"]], whole) },
  ], rows, { rowCls: (r) => (r.total ? "total" : null) }));
}

// Why the run took as long as it took: where its lead's time went, and which workers it waited for.
function critical(run) {
  const { model } = run;
  const s = model.summary;
  const lead = s.agents[0];
  if (!lead || !s.delegations.length || model.looked < 0.95) return null;
  const workers = new Map();
  for (const [agent, from, to] of model.path) if (agent !== lead.name) workers.set(agent, (workers.get(agent) || 0) + (to - from) / 1000);
  const waited = [...workers.values()].reduce((sum, x) => sum + x, 0);
  const whole = Math.max(s.team_s, 0.001);
  const parts = [
    [`${lead.name}: model calls`, lead.model_s, "var(--model)"], [`${lead.name}: commands`, lead.tool_s, "var(--command)"], [`${lead.name}: held back by limits`, lead.limited_s, "var(--limited)"],
    ["waiting for workers", waited, "var(--report)"], ["waiting, nobody at work", Math.max(0, lead.idle_s - waited), "var(--wait)"],
  ].filter(([, x]) => x >= 0.05);
  const rest = whole - parts.reduce((sum, [, x]) => sum + x, 0);
  if (rest >= 0.05) parts.push(["the rest: sandbox, harness, collecting", rest, "var(--line)"]);
  const who = [...workers].filter(([, x]) => x >= whole / 200).sort((a, b) => b[1] - a[1]);
  const some = who.slice(0, 6).map(([name, x], i) => [i ? ", " : "", link(name, () => run.go({ agent: name })), ` ${seconds(x)}`]);
  return h("section", { "aria-label": "Critical path" }, h("h2", {}, "Critical path"),
    h("p", {}, `Of ${seconds(whole)}, ${percent(waited, whole)} passed while the lead waited for workers at work`, who.length ? [": ", some, who.length > 6 ? ` and ${plural(who.length - 6, "other")}` : "", "."] : ".", h("span", { cls: "muted" }, " It is the dark line along the lanes.")),
    bar(parts.map(([, x, colour]) => [x, colour]), whole), keys(parts.map(([word, x, colour]) => [`${word} ${seconds(x)}`, colour])));
}

function keys(parts) {
  return h("p", { cls: "keys-line" }, parts.map(([word, colour]) => h("span", { cls: "key" }, h("i", { style: { background: colour } }), word)));
}

function clockTable(run) {
  const { model } = run;
  const longest = Math.max(...model.summary.agents.map((a) => a.model_s + a.tool_s + a.limited_s + a.idle_s), 0.001);
  return h("section", {}, h("h2", {}, "Where the time went"), table([
    { name: "agent", cell: (a) => a.name }, { name: "model", num: true, cell: (a) => seconds(a.model_s) }, { name: "commands", num: true, cell: (a) => seconds(a.tool_s) },
    { name: "limits", num: true, cell: (a) => seconds(a.limited_s) }, { name: "waiting", num: true, cell: (a) => (a.role === "worker" ? "" : seconds(a.idle_s)) }, { name: "other", num: true, cell: (a) => seconds(a.other_s ?? 0) },
    { name: "", cls: "wide", cell: (a) => bar([[a.model_s, "var(--model)"], [a.tool_s, "var(--command)"], [a.limited_s, "var(--limited)"], [a.idle_s, "var(--wait)"]], longest) },
    { name: "ended", cell: (a) => h("span", { cls: a.fault ? "bad" : a.status === "finished" || !a.status ? "muted" : "warn" }, a.status || a.doing) },
  ], model.summary.agents));
}

function outcome(run) {
  const { summary, head } = run.model;
  return h("section", {}, summary.text ? [h("h2", {}, "What it said at the end"), textBox(summary.text, { prose: true, first: 2000 })] : null, h("p"), h("details", {}, h("summary", {}, "Task and settings"), h("h3", {}, "Task"), textBox(head.prompt, { prose: true }), h("h3", {}, "Design"),
    h("dl", { cls: "meta" }, Object.entries(head.design).filter(([, v]) => v !== null && v !== "" && typeof v !== "object").map(([k, v]) => [h("dt", {}, k.replaceAll("_", " ")), h("dd", {}, String(v))]), h("dt", {}, "run"), h("dd", {}, head.id), h("dt", {}, "identity"), h("dd", {}, head.digest), h("dt", {}, "sandbox"), h("dd", {}, `${head.sandbox[0]} (${head.sandbox[1]})`), h("dt", {}, "started"), h("dd", {}, head.created))));
}
