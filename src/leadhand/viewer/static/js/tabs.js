// The other tabs of a run: reports side by side, files by author and runs of the reference, the result.
import { h, link, table } from "./dom.js";
import { clock, count, oneLine, percent, plain, plural, textBox } from "./text.js";

export async function reports(run, chosen) {
  const { reports: all, pairs } = await run.api.part("reports");
  if (!all.length) return h("div", { cls: "empty" }, "No report yet.");
  const at = (i, j) => (i === j ? 1 : i > j ? pairs[i]?.[j] : pairs[j]?.[i]) ?? null;
  const panes = [h("div"), h("div")];
  const pick = [0, all.length > 1 ? 1 : 0];
  const said = h("p", { cls: "muted" });
  const choices = pick.map((_, side) => h("select", { "aria-label": side ? "Right report" : "Left report", onchange: (event) => show(side, Number(event.target.value)) },
    all.map((r, i) => h("option", { value: i }, `${r.id} of ${r.worker} · ${count(r.chars)} characters`))));
  async function show(side, i) {
    pick[side] = i;
    choices[side].value = i;
    const value = at(pick[0], pick[1]);
    said.textContent = all.length < 2 ? "" : pick[0] === pick[1] ? "The same report twice." : value === null ? "" : `${all[pick[0]].id} and ${all[pick[1]].id} share ${Math.round(100 * value)} % of their words (Jaccard index of the sets of words).`;
    const { event } = await run.api.event(all[i].seq);
    panes[side].replaceChildren(h("p", {}, link(`${all[i].id} of ${all[i].worker}: ${event.status} →`, () => run.go({ e: all[i].seq }))), textBox(event.report, { prose: true }));
  }
  await Promise.all([show(0, pick[0]), show(1, pick[1])]);
  if (chosen) show(0, Math.max(0, all.findIndex((r) => r.id === chosen)));
  const two = (i, j) => (show(0, i), show(1, j));
  return h("div", { cls: "pad" }, said,
    h("div", { cls: "pair reports" }, choices.map((choice, i) => h("div", {}, h("p", {}, choice), panes[i]))),
    all.length > 1 && all.length <= 40 ? matrix(all, at, two) : null);
}

function matrix(all, at, two) {
  const cell = (i, j) => {
    const value = at(i, j);
    if (value === null || j >= i) return h("td");
    const button = h("button", { type: "button", title: `${all[i].id} and ${all[j].id}: ${value.toFixed(2)}`, onclick: () => two(j, i) }, value.toFixed(2).slice(1));
    button.style.setProperty("background", `color-mix(in srgb, var(--report) ${Math.round(4 + 42 * value)}%, var(--panel))`);
    return h("td", {}, button);
  };
  return h("section", {}, h("h2", {}, "How much reports say the same"), h("p", { cls: "muted" }, "Click a pair to read it above."), h("div", { cls: "scroll" }, h("table", { cls: "matrix" },
    h("tr", {}, h("td"), all.slice(0, -1).map((r) => h("th", {}, r.id))),
    all.slice(1).map((r, k) => h("tr", {}, h("th", {}, r.id), all.slice(0, -1).map((_, j) => cell(k + 1, j)))))));
}

export function files(run) {
  const { model } = run;
  const rows = model.files();
  const looking = model.unlooked ? h("p", { cls: "bad" }, oneLine(model.unlooked, 300)) : model.looked < 1 ? h("p", { cls: "muted", role: "status" }, `Commands are still being looked at: ${percent(model.looked, 1)}.`) : null;
  if (!rows.length) return h("div", { cls: "pad" }, looking, h("p", { cls: "muted" }, "No command was seen to write a source file."), references(run));
  const by = (f) => [...f.by].sort((a, b) => b[1] - a[1]).map(([agent, n]) => [link(model.agents[agent].name, () => run.go({ agent: model.agents[agent].name })), h("span", { cls: "muted" }, ` ×${n}  `)]);
  return h("div", { cls: "pad" }, looking, h("section", {}, h("h2", {}, "Files"), h("p", { cls: "muted" }, `${plural(rows.length, "file")}: source files as far as commands say what they write, and whatever the sandbox saw change.`), table([
    { name: "file", cell: (f) => link(oneLine(f.path, 200), () => run.go({ e: f.last }), { cls: "link bdi" }), sort: (f) => f.path },
    { name: "written by", cell: by }, { name: "commands", num: true, cell: (f) => count(f.times), sort: (f) => f.times },
    { name: "authors", num: true, cell: (f) => count(f.by.size), sort: (f) => f.by.size },
    { name: "first", num: true, cell: (f) => link(clock(model.t.data[f.first]), () => run.go({ e: f.first })), sort: (f) => f.first },
    { name: "last", num: true, cell: (f) => link(clock(model.t.data[f.last]), () => run.go({ e: f.last })), sort: (f) => f.last },
  ], rows)), references(run));
}

// Who ran the program that is to be rebuilt, how often; by the detector that the tables use.
function references(run) {
  const { model } = run;
  if (!model.head.reference) return null;
  const rows = model.agents.map((agent, i) => ({ name: agent.name, runs: model.referenceRuns(i) })).filter(({ runs }) => runs.length);
  const said = rows.length ? `${plural(model.references.length, "command")} ran it, as far as their text tells.` : "No command was seen to run it.";
  const at = (seq) => link(clock(model.t.data[seq]), () => run.go({ e: seq }));
  return h("section", { "aria-label": "Runs of the reference" }, h("h2", {}, "Runs of the reference"), h("p", { cls: "muted" }, said), rows.length ? table([
    { name: "agent", cell: (r) => link(r.name, () => run.go({ agent: r.name })) }, { name: "runs", num: true, cell: (r) => count(r.runs.length), sort: (r) => r.runs.length },
    { name: "first", num: true, cell: (r) => at(r.runs[0]) }, { name: "last", num: true, cell: (r) => at(r.runs.at(-1)) },
  ], rows, { cls: "narrow" }) : null);
}

export async function result(run) {
  const { model } = run;
  const found = await run.api.part("result");
  const graded = lastOf(model, "graded");
  const grade = graded >= 0 ? (await run.api.event(graded)).event.grade : null;
  return h("div", { cls: "pad" }, gradeView(run, grade, graded), integrity(run),
    h("section", {}, h("h2", {}, "What was delivered"), h("p", { cls: "muted" }, found.source === "none" ? found.note : `${plural(found.files?.length ?? 0, "file")}: ${found.source}`), (found.files || []).map(fileView)));
}

function lastOf(model, kind) {
  for (let seq = model.count - 1; seq >= 0; seq -= 1) if (model.kindOf(seq) === kind) return seq;
  return -1;
}

function gradeView(run, grade, seq) {
  const { summary } = run.model;
  if (!grade) return h("section", {}, h("h2", {}, "Grade"), h("p", { cls: "muted" }, summary.grading || "not graded"));
  const detail = Object.entries(grade.detail || {});
  const areas = grade.detail?.areas && typeof grade.detail.areas === "object" ? Object.entries(grade.detail.areas).filter(([, v]) => Array.isArray(v) && v.length === 2) : [];
  return h("section", {}, h("h2", {}, "Grade"),
    h("p", { cls: "lead" }, h("b", {}, `reward ${grade.reward.toFixed(3)}`), grade.total === undefined || grade.total === null ? "" : `, ${count(grade.passed)} of ${count(grade.total)} passed`, ` `, link("event →", () => run.go({ e: seq }))),
    areas.length ? table([{ name: "area", cell: ([name]) => oneLine(name, 60) }, { name: "passed", num: true, cell: ([, [p, n]]) => `${p} of ${n}` },
      { name: "", cls: "wide", cell: ([, [p, n]]) => h("div", { cls: "bar" }, h("i", { style: { width: `${n ? (100 * p) / n : 0}%`, background: "var(--report)" } })) }], areas, { cls: "narrow" }) : null,
    detail.filter(([name]) => name !== "areas" || !areas.length).map(([name, value]) => (Array.isArray(value) && !value.length ? null : [h("h3", {}, oneLine(name, 60)), textBox(typeof value === "string" ? value : JSON.stringify(value, null, 1), { first: 3000 })])));
}

function integrity(run) {
  const said = h("span", { cls: "muted" }, "Every message's id is a hash of its content and of all before it.");
  const check = async () => {
    said.textContent = "reading…";
    const found = await run.api.part("integrity");
    said.className = found.status === "whole" ? "good" : "bad";
    said.textContent = `${found.status}: ${found.text}`;
  };
  return h("section", {}, h("h2", {}, "Journal"), h("p", {}, h("button", { type: "button", "data-act": "integrity", onclick: check }, "Check the journal"), " ", said));
}

function fileView(file) {
  const sign = { added: "good", removed: "bad", changed: "warn", cut: "" }[file.status];
  const box = h("details", { cls: "msg" }, h("summary", {}, h("span", { cls: `badge ${sign}` }, file.status), h("b", { cls: "bdi" }, oneLine(file.path, 200)), h("span", { cls: "muted" }, file.note || `+${file.added ?? 0} −${file.removed ?? 0}`)));
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && file.text && box.append(diff(file.text)));
  return box;
}

// A diff, line by line, 600 at a time; each line is at most 2,000 characters wide.
function diff(text) {
  const lines = text.split("\n");
  const box = h("div", { cls: "diff" });
  let at = 0;
  const more = h("button", { type: "button", onclick: () => grow() });
  function grow() {
    for (const line of lines.slice(at, at + 600)) {
      const kind = line.startsWith("@@") ? "h" : line[0] === "+" ? "a" : line[0] === "-" ? "d" : null;
      box.append(h("div", { cls: kind }, plain(line.length > 2000 ? `${line.slice(0, 2000)} … ${count(line.length)} characters` : line)));
    }
    at += 600;
    more.hidden = at >= lines.length;
    more.textContent = `Show ${count(Math.min(600, lines.length - at))} more lines`;
  }
  grow();
  return h("div", {}, box, h("div", { cls: "more" }, more));
}
