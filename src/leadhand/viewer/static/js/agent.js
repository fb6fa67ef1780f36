// One agent: what it was asked, what it did, what it gave back, and what that cost.
import { h, link } from "./dom.js";
import { clock, count, dollars, model as modelName, oneLine, percent, plural, seconds, textBox, tokens } from "./text.js";

export const allTokens = (u) => u.input + u.cache_read + u.cache_write_5m + u.cache_write_30m + u.cache_write_1h + u.cache_write_12h + u.output;

// What an agent contributed, in sentences.
export function contribution(model, name) {
  const line = model.line(name);
  const index = model.agents.findIndex((a) => a.name === name);
  const own = model.summary.delegations.filter((d) => d.worker === name);
  const [commands, failed] = model.commands[name] || [0, 0];
  const files = model.files().filter((f) => f.by.has(index));
  const whole = allTokens(model.summary.usage);
  const share = model.free ? `${percent(allTokens(line.usage), whole)} of the tokens` : `${percent(line.usd, model.summary.settled_usd)} of the dollars and ${percent(allTokens(line.usage), whole)} of the tokens`;
  const said = [`${name} took ${plural(line.steps, "step")} for ${dollars(line.usd)}: ${share}.`];
  said.push(`It ran ${plural(commands, "command")}${failed ? `, ${count(failed)} of which failed,` : ""} and wrote ${files.length ? plural(files.length, "file") : "no files"}.`);
  const references = model.referenceRuns(index).length;
  if (references) said.push(`It ran the reference ${references === 1 ? "once" : `${count(references)} times`}.`);
  if (own.length) {
    const reports = own.filter((d) => d.delivered_s !== null);
    const chars = own.reduce((sum, d) => sum + d.report_chars, 0);
    said.push(`It was given ${plural(own.length, "assignment")} and reported ${count(chars)} characters; ${reports.length === own.length ? "all of it" : `${reports.length} of ${own.length} reports`} reached the lead.`);
  } else if (line.role === "lead") said.push(`It gave out ${plural(model.summary.delegations.length, "assignment")}.`);
  const sent = model.arrows.filter(([kind, , from]) => kind === "mail" && from === index).length;
  const got = model.arrows.filter(([kind, , , , to]) => kind === "mail" && to === index).length;
  if (sent || got) said.push(`Of the messages between agents it sent ${count(sent)} and read ${count(got)}.`);
  return { said, files, own, line, index };
}

export function agentView(run, name) {
  const { model } = run;
  const { said, files, own, line, index } = contribution(model, name);
  return [
    h("p", { cls: "lead", "data-answer": "contribution" }, said.join(" ")),
    h("dl", { cls: "meta" }, [
      ["model", modelName(line.model)], ["role", `${line.role}${line.worker_kind ? ` (${line.worker_kind})` : ""}`], ["ended", line.status || line.doing], ["fault", line.fault],
      ["time", [["model", line.model_s], ["commands", line.tool_s], ["limits", line.limited_s], ["waiting for workers", line.idle_s]].filter(([, s]) => s >= 0.05).map(([word, s]) => `${word} ${seconds(s)}`).join(" · ")],
      ["calls", Object.entries(line.calls).map(([tool, n]) => `${tool} ×${n}`).join(", ")], ["rejected", line.rejected ? count(line.rejected) : ""],
      ["failed attempts", line.failed_attempts ? count(line.failed_attempts) : ""], ["unknown spend", line.unknown_usd ? `up to ${dollars(line.unknown_usd)}` : ""],
    ].filter(([, v]) => v).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])),
    h("p", {}, link(`All events of ${name} →`, () => run.go({ tab: "events", who: name }))),
    own.map((d) => delegation(run, d)),
    files.length ? [h("h3", {}, "Files it wrote"), h("ul", { cls: "plain" }, files.slice(0, 100).map((f) => h("li", {}, link(oneLine(f.path, 160), () => run.go({ e: f.last })), h("span", { cls: "muted" }, ` ${plural(f.by.get(index), "time")}`))))] : null,
  ].flat(Infinity).filter(Boolean);
}

function delegation(run, d) {
  const { model } = run;
  const [started, ended, delivered] = model.delegations[d.id];
  const status = ended < 0 ? "running" : `${d.status} at ${clock(model.t.data[ended])}${delivered >= 0 ? `, read by the lead at ${clock(model.t.data[delivered])}` : ", never read by the lead"}`;
  const report = h("div");
  const assignment = h("div");
  run.api.event(started).then(({ event }) => assignment.replaceChildren(textBox(event.assignment, { prose: true, first: 1500 })));
  if (ended >= 0) run.api.event(ended).then(({ event }) => report.replaceChildren(textBox(event.report, { prose: true, first: 4000 })));
  return [
    h("h3", {}, `${d.id}${d.resumed ? " (resumed)" : ""}: ${status}`),
    h("div", { cls: "more" }, link("assigned →", () => run.go({ e: started })), ended >= 0 ? link("report →", () => run.go({ e: ended })) : null, delivered >= 0 ? link("delivered →", () => run.go({ e: delivered })) : null),
    h("h3", {}, "Assignment"), assignment, ended >= 0 ? [h("h3", {}, "Report"), report] : null,
  ].flat(Infinity).filter(Boolean);
}

