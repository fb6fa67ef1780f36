// What must not be overlooked: integrity findings, rejected calls, faults, warnings. In the overview, and a tab of its own.
import { h, link } from "./dom.js";
import { clock, oneLine, percent, plural } from "./text.js";

const RANK = { error: 0, warning: 1, note: 2 };
const MOST = 1000;
const FIRST = 6;

export const isIntegrity = ([, , what]) => what.startsWith("integrity: ");

// Worst first: what makes a run invalid, what else was found, faults, warnings, notes.
function sorted(model) {
  const rank = (mark) => 2 * RANK[mark[1]] + (isIntegrity(mark) ? 0 : 1);
  return [...model.marks].sort((a, b) => rank(a) - rank(b) || a[0] - b[0]);
}

function line(run, [seq, level, what, text]) {
  const { model } = run;
  return h("div", { cls: "finding", "data-mark": seq },
    h("span", { cls: `badge ${level === "error" ? "bad" : level === "warning" ? "warn" : ""}` }, what),
    h("span", { cls: "muted nowrap" }, `${model.agentName(seq) || "run"} · ${clock(model.t.data[seq])}`),
    link(oneLine(text, 300) || "(no text)", () => run.go({ e: seq }), { cls: "link text bdi" }));
}

function counted(marks) {
  const kinds = new Map();
  for (const [, , what] of marks) kinds.set(what, (kinds.get(what) || 0) + 1);
  return [...kinds].map(([what, n]) => (n > 1 ? `${what} ×${n}` : what)).join(" · ");
}

function looking(model) {
  if (model.unlooked) return h("p", { cls: "bad" }, oneLine(model.unlooked, 300));
  return model.looked < 1 ? h("p", { cls: "muted", role: "status" }, `Commands are still being looked at: ${percent(model.looked, 1)}.`) : null;
}

// For the overview: nothing where nothing stands out.
export function standout(run) {
  const { model } = run;
  const marks = sorted(model).filter(([, level]) => level !== "note");
  if (!marks.length) return null;
  const grave = marks.some((mark) => isIntegrity(mark) && mark[1] === "error");
  const more = marks.length > FIRST ? h("p", {}, link(`All ${marks.length} findings →`, () => run.go({ tab: "findings" }))) : null;
  return h("section", { cls: `standout${marks[0][1] === "error" ? " bad" : ""}`, "aria-label": "What stands out" }, h("h2", {}, "What stands out"),
    grave ? h("p", { cls: "bad" }, "Something that the rules forbid succeeded: this run does not count.") : null,
    h("p", { cls: "muted" }, counted(marks)), marks.slice(0, FIRST).map((mark) => line(run, mark)), more);
}

export function findings(run) {
  const { model } = run;
  const marks = sorted(model);
  if (!marks.length) return h("div", { cls: "empty" }, looking(model), "Nothing stands out: no integrity finding, no rejected call, no fault, no warning.");
  const cut = marks.length > MOST ? h("p", { cls: "muted" }, `The first ${plural(MOST, "finding")} of ${marks.length}.`) : null;
  return h("div", { cls: "pad" }, looking(model), h("p", { cls: "muted" }, counted(marks)), marks.slice(0, MOST).map((mark) => line(run, mark)), cut);
}
