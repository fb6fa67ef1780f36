// What colours and signs mean: those that the run has.
import { h } from "./dom.js";
import { isIntegrity } from "./standout.js";

// [colour, word, how it is drawn, whether the run has it]
const KEYS = [
  ["model", "model call", "span", () => true],
  ["command", "command", "span", (m, has) => has("command")],
  ["wait", "waits for workers", "span", (m, has) => has("wait")],
  ["tool", "other tool", "span", (m, has) => has("tool")],
  ["limited", "held back by limits", "span", (m) => m.waits.length],
  ["failed", "failed call", "span", (m, has) => has("attempt_failed")],
  ["report", "has an assignment", "line", (m) => m.summary.delegations.length],
  ["ink", "critical path", "line", (m) => m.path.length > 1],
  ["assign", "assignment", "arrow", (m) => m.arrows.some(([kind]) => kind === "assignment")],
  ["report", "report", "arrow", (m) => m.arrows.some(([kind]) => kind === "report")],
  ["mail", "message", "arrow", (m) => m.arrows.some(([kind]) => kind === "mail")],
  ["warn", "problem", "▼", (m) => m.marks.some((mark) => mark[1] === "warning" && !isIntegrity(mark))],
  ["bad", "fault", "▼", (m) => m.marks.some((mark) => mark[1] === "error" && !isIntegrity(mark))],
  ["bad", "integrity", "◆", (m) => m.marks.some(isIntegrity)],
];

export class Legend {
  constructor() {
    this.keys = KEYS.map(([colour, word, how]) => h("span", { cls: "key", hidden: true },
      how === "span" || how === "line" ? h("i", { cls: how, style: { background: `var(--${colour})` } }) : h("span", { cls: "sign", style: { color: `var(--${colour})` } }, how === "arrow" ? "→" : how), word));
    this.node = h("div", { cls: "legend", "aria-hidden": "true" }, this.keys);
  }

  // Called with each delta; a kind that was seen stays.
  update(model) {
    const has = (kind) => model.kind.data.subarray(0, model.count).includes(model.code[kind]);
    KEYS.forEach(([, , , there], i) => {
      if (this.keys[i].hidden) this.keys[i].hidden = !there(model, has);
    });
  }
}
