// One event, opened: what was said, called or given back, how it went, and the exact prompt of a model call.
import { h, link } from "./dom.js";
import { clock, count, dollars, json, model as modelName, oneLine, seconds, textBox, tokens } from "./text.js";
import { bodyView, callView, section, toolView } from "./bodies.js";
import { promptView } from "./prompt.js";

// What is shown of event `seq`, which is `entry`; `run` is {model, api, go}.
export async function detail(run, seq, entry) {
  const nodes = await (VIEWS[run.model.kindOf(seq)] || plainView)(run, seq, entry.event);
  return [head(run, seq, entry), ...[nodes].flat(Infinity).filter(Boolean), raw(entry)];
}

export function title(run, seq) {
  const who = run.model.agentName(seq);
  return `${who ? `${who} · ` : ""}${run.model.word(seq)} · event ${seq}`;
}

function meta(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { cls: "meta" }, shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function head(run, seq, entry) {
  const { model } = run;
  const marks = model.marks.filter(([at]) => at === seq || at === model.endOf.data[seq]);
  return [
    ...marks.map(([, level, what, text]) => h("div", { cls: "finding" }, h("span", { cls: `badge ${level === "error" ? "bad" : level === "warning" ? "warn" : ""}` }, what), h("span", { cls: "text" }, oneLine(text, 400)))),
    meta([["at", `${clock(model.t.data[seq])} · ${entry.at}`]]),
  ].reduce((box, node) => (box.append(node), box), h("div"));
}

function raw(entry) {
  const box = h("details", {}, h("summary", {}, h("span", { cls: "muted" }, "The event as the journal has it")));
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(json(entry)));
  return h("div", { cls: "raw" }, box);
}

function usage(u, usd, served) {
  const parts = [["fresh", u.input], ["cache read", u.cache_read], ["cache write", (u.cache_write_5m || 0) + (u.cache_write_30m || 0) + (u.cache_write_1h || 0) + (u.cache_write_12h || 0)], ["output", u.output], ["of it reasoning", u.reasoning]];
  const said = parts.filter(([, n]) => n).map(([name, n]) => `${name} ${count(n)}`).join(" · ");
  return meta([["tokens", said || "none"], ["dollars", usd === null ? null : dollars(usd)], ["served by", served || null]]);
}

function promptButton(run, seq) {
  const box = h("div");
  const said = h("button", { type: "button", "data-act": "prompt", onclick: () => box.replaceChildren(promptView(run, seq)) }, "Show the exact prompt of this call");
  box.append(said);
  return box;
}

async function reply(run, seq, event) {
  const { model } = run;
  const body = event.message.body;
  const start = model.startOf.data[seq];
  const spend = model.spend(seq);
  const length = start >= 0 ? (model.t.data[seq] - model.t.data[start]) / 1000 : null;
  return [
    meta([["took", length === null ? null : seconds(length)], ["ended", body.stop || "end"], ["request", event.request_id]]),
    usage(event.usage, spend ? spend[1] / 1e6 : null, event.model),
    body.text ? section("Said", textBox(body.text, { prose: true })) : null,
    (body.calls || []).map((call, i) => section(`Call ${i + 1}: ${oneLine(call.name, 60)}`, callView(call), follow(run, seq, i))),
    section("Prompt", promptButton(run, seq)),
  ];
}

// The link from a call in a reply to what came of it.
function follow(run, seq, index) {
  const { model } = run;
  let left = index;
  for (let at = seq + 1; at < model.count; at += 1) {
    if (model.of.data[at] !== seq || !["command", "wait", "finish", "tool"].includes(model.kindOf(at))) continue;
    if (left === 0) return h("div", { cls: "more" }, link("what came of it →", () => run.go({ e: at })));
    left -= 1;
  }
  return null;
}

async function attempt(run, seq, event) {
  const { model } = run;
  const end = model.endOf.data[seq];
  const came = end < 0 ? "nothing yet" : link(`${model.word(end)} →`, () => run.go({ e: end }));
  return [
    meta([["model", event.model], ["try", event.tries > 1 ? count(event.tries) : null], ["held back", event.waited_s >= 0.05 ? seconds(event.waited_s) : null],
      ["reserved for", `${tokens(event.prompt_bound)} prompt and ${tokens(event.output_bound)} output tokens at most`], ["prompt id", event.head], ["came back", came]]),
    end >= 0 && model.kindOf(end) === "attempt_replied" ? await repliedText(run, end) : null,
    section("Prompt", promptButton(run, seq)),
  ];
}

async function repliedText(run, end) {
  const entry = await run.api.event(end);
  const body = entry.event.message.body;
  return [body.text ? section("Said", textBox(body.text, { prose: true })) : null, (body.calls || []).map((call, i) => section(`Call ${i + 1}: ${oneLine(call.name, 60)}`, callView(call), follow(run, end, i)))];
}

function output(event) {
  const bytes = (text) => (event.encoding === "base64" ? decode(text) : text || "");
  const cut = event.size - length(event.head, event.encoding) - length(event.tail, event.encoding);
  const nodes = [textBox(bytes(event.head))];
  if (event.tail) nodes.push(h("div", { cls: "muted" }, cut > 0 ? `… ${count(cut)} bytes between${event.spill ? `; the whole is in ${event.spill} in the sandbox` : ""}` : ""), textBox(bytes(event.tail)));
  return nodes;
}

function length(text, encoding) {
  if (!text) return 0;
  return encoding === "base64" ? (text.length * 3) / 4 : new TextEncoder().encode(text).length;
}

function decode(text) {
  if (!text) return "";
  return new TextDecoder("utf-8", { fatal: false }).decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
}

async function tool(run, seq, event) {
  const { model, api } = run;
  const end = model.endOf.data[seq];
  const of = model.of.data[seq];
  const [said, came] = await Promise.all([of >= 0 ? api.event(of) : null, end >= 0 ? api.event(end) : null]);
  const made = said?.event.message.body.calls?.[Number(event.call.split(".").pop())];
  const outcome = came?.event ?? null;
  const written = model.writes.filter(([at]) => at === seq).map(([, , path]) => model.paths[path]);
  const command = outcome?.kind === "command_ended";
  return [
    meta([["tool", event.tool], ["call", event.call],
      ["outcome", outcome === null ? "none (yet)" : command ? `exit ${outcome.exit_code}${outcome.ended && outcome.ended !== "exited" ? `, ${outcome.ended.replace("_", " ")}` : ""} after ${seconds(outcome.seconds || 0)}` : outcome.is_error ? "an error" : "done"],
      ["wrote", written.length ? written.map((path) => oneLine(path, 120)).join(", ") : null],
      ["said in", of >= 0 ? link("the reply that made this call →", () => run.go({ e: of })) : null]]),
    made ? section(event.tool === "bash" ? "Command" : "Call", callView(made)) : null,
    command ? section("Output", output(outcome)) : outcome ? section("Result", textBox(outcome.text, { prose: true })) : null,
  ];
}

async function outcome(run, seq, event) {
  const start = run.model.of.data[seq];
  return start >= 0 ? tool(run, start, (await run.api.event(start)).event) : plainView(run, seq, event);
}

function message(run, seq, event) {
  const { model } = run;
  const to = (name) => model.delegations[name];
  const reports = (event.delivers || []).map((name) => link(`${name} →`, () => run.go({ e: to(name)[1] })));
  return [
    meta([["brings", reports.length ? h("span", {}, "the report of ", reports.map((r) => [r, " "])) : null], ["announces", (event.announces || []).join(", ")], ["messages", (event.mail || []).join(", ")]]),
    section(event.assigns ? `Assignment ${event.assigns}, as the worker was told` : "What the model was told", bodyView(event.message.body)),
  ];
}

function rejected(run, seq, event) {
  const of = run.model.of.data[seq];
  return [meta([["tool", event.tool], ["call", event.call], ["made in", of >= 0 ? link("the reply →", () => run.go({ e: of })) : null]]), section("Why it was refused", textBox(event.reason, { prose: true }))];
}

function delegated(run, seq, event) {
  const [, ended, delivered] = run.model.delegations[event.delegation] || [-1, -1, -1];
  return [
    meta([["delegation", event.delegation], ["worker", link(event.worker, () => run.go({ agent: event.worker }))], ["resumed", event.resumed ? "yes, it remembers" : null],
      ["ended", ended >= 0 ? link(`${clock(run.model.t.data[ended])} →`, () => run.go({ e: ended })) : "not yet"], ["reached the lead", delivered >= 0 ? link(`${clock(run.model.t.data[delivered])} →`, () => run.go({ e: delivered })) : "not yet"]]),
    section("Assignment", textBox(event.assignment, { prose: true })),
    event.conventions ? section("Conventions", textBox(event.conventions, { prose: true })) : null,
  ];
}

function reported(run, seq, event) {
  const [started, , delivered] = run.model.delegations[event.delegation] || [-1, -1, -1];
  return [
    meta([["delegation", event.delegation], ["worker", link(event.worker, () => run.go({ agent: event.worker }))], ["status", event.status],
      ["assigned", started >= 0 ? link(`${clock(run.model.t.data[started])} →`, () => run.go({ e: started })) : null],
      ["reached the lead", delivered >= 0 ? link(`${clock(run.model.t.data[delivered])} →`, () => run.go({ e: delivered })) : "never"], ["whole text", event.spill ? `${event.spill} in the sandbox` : null]]),
    section("Report", textBox(event.report, { prose: true })),
  ];
}

function mail(run, seq, event) {
  return [meta([["from", run.model.agentName(seq)], ["to", event.to], ["message", event.mail]]), section("Text", textBox(event.text, { prose: true }))];
}

function failed(run, seq, event) {
  const start = run.model.of.data[seq];
  return [
    meta([["fault", event.fault], ["next try", event.retry_in_s === undefined ? "none" : `after ${seconds(event.retry_in_s)}`], ["billed", event.maybe_billed ? "maybe: its reservation is counted as unknown spend" : event.usage ? "yes" : "no"],
      ["attempt", start >= 0 ? link("when it was sent →", () => run.go({ e: start })) : null]]),
    section("Error", textBox(event.error)), start >= 0 ? section("Prompt", promptButton(run, start)) : null,
  ];
}

function joined(run, seq, event) {
  const root = event.root;
  return [
    meta([["role", event.role], ["model", modelName(event.model)], ["full name", event.model], ["reasoning", event.reasoning], ["kind", event.worker_kind], ["prompt root", event.root_id], ["forked at", event.at]]),
    root ? section("System prompt", textBox(root.system, { prose: true })) : h("p", { cls: "muted" }, "Its system prompt and tools are those of an agent that joined before it."),
    root?.tools?.length ? section("Tools", root.tools.map(toolView)) : null,
  ];
}

function ended(run, seq, event) {
  return [meta([["status", event.status], ["fault", event.fault]]), event.text ? section("Last words", textBox(event.text, { prose: true })) : null];
}

function plainView(run, seq, event) {
  const { kind, ...rest } = event;
  return section(kind.replaceAll("_", " "), json(rest));
}

const VIEWS = {
  attempt_started: attempt, attempt_replied: reply, attempt_failed: failed, command: tool, wait: tool, finish: tool, tool, command_ended: outcome, tool_ended: outcome,
  call_rejected: rejected, delegation_started: delegated, delegation_ended: reported, mail_sent: mail, agent_started: joined, agent_ended: ended, run_ended: ended,
  message_added: message, assignment: message, results: message, delivery: message,
};
