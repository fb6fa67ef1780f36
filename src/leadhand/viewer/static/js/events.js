// The list of events: as many as there are, drawn a screenful at a time.
import { h } from "./dom.js";
import { clock, dollars, oneLine, plural, seconds, tokens } from "./text.js";

const HIGH = 26;
const CHOICES = [["", "Steps"], ["command", "Commands"], ["model", "Replies"], ["team", "Team"], ["bad", "Problems"], ["all", "Everything"]];

export class EventList {
  // `act`: {select(seq), label(seq) -> Promise, known(seq) -> string | undefined}
  constructor(model, act) {
    this.model = model;
    this.act = act;
    this.agent = -2;
    this.choice = "";
    this.selected = -1;
    this.found = new Int32Array(0);
    this.rows = new Map(); // by event: what is in view
    this.sheet = h("div", { cls: "sheet" });
    this.list = h("div", { cls: "list", tabindex: "0", role: "listbox", "aria-label": "Events" }, this.sheet);
    this.list.addEventListener("scroll", () => this.draw());
    this.filters = h("div", { cls: "filters" });
    this.node = h("div", { cls: "main" }, this.filters, this.list);
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.list);
  }

  stop() {
    this.resizing.disconnect();
  }

  show(agent, choice = this.choice) {
    this.agent = agent;
    this.choice = choice;
    this.update();
    this.list.scrollTop = 0;
  }

  update() {
    const { model, list } = this;
    const atEnd = list.scrollTop + list.clientHeight > this.found.length * HIGH - 4 && this.found.length > 0;
    const groups = ["command", "model", "team"].includes(this.choice) ? new Set([this.choice]) : null;
    this.found = model.filter({ agent: this.agent, groups, bad: this.choice === "bad", all: this.choice === "all" });
    this.sheet.style.setProperty("height", `${this.found.length * HIGH}px`);
    this.#filters();
    if (atEnd && model.running) list.scrollTop = list.scrollHeight;
    this.draw();
  }

  #filters() {
    const agents = [["-2", "All agents"], ...this.model.agents.map((a, i) => [String(i), a.name]), ["-1", "The run"]];
    const choose = h("select", { "aria-label": "Agent", onchange: (event) => this.show(Number(event.target.value)) },
      agents.map(([value, name]) => h("option", { value, selected: Number(value) === this.agent }, name)));
    const kinds = CHOICES.map(([value, name]) => h("button", { type: "button", "aria-pressed": String(this.choice === value), onclick: () => this.show(this.agent, value) }, name));
    this.filters.replaceChildren(choose, ...kinds, h("span", { cls: "muted" }, plural(this.found.length, "event")));
  }

  // Rows that stay in view stay as they are: only what comes into it is made.
  draw() {
    const { list, found } = this;
    const first = Math.max(0, Math.floor(list.scrollTop / HIGH) - 4);
    const last = Math.min(found.length, Math.ceil((list.scrollTop + (list.clientHeight || 400)) / HIGH) + 4);
    const kept = new Map();
    const made = [];
    for (let i = first; i < last; i += 1) {
      const seq = found[i];
      const bad = this.model.isBad(seq);
      const before = this.rows.get(seq);
      const row = before?.i === i && before.end === this.model.endOf.data[seq] && before.bad === bad ? before : this.#row(seq, i, bad);
      if (row !== before) made.push(row.node);
      kept.set(seq, row);
    }
    for (const [seq, row] of this.rows) if (kept.get(seq) !== row) row.node.remove();
    this.rows = kept;
    this.sheet.append(...made);
    this.#choose();
  }

  #choose() {
    const now = this.rows.get(this.selected)?.node;
    if (this.chosen !== now) {
      this.chosen?.classList.remove("on");
      this.chosen?.setAttribute("aria-selected", "false");
    }
    now?.classList.add("on");
    now?.setAttribute("aria-selected", "true");
    if (now) this.list.setAttribute("aria-activedescendant", now.id);
    else this.list.removeAttribute("aria-activedescendant");
    this.chosen = now;
  }

  #row(seq, i, bad) {
    const { model } = this;
    const kind = model.kindOf(seq);
    const text = h("span", { cls: "text bdi" }, oneLine(this.act.known(seq) ?? "…"));
    if (this.act.known(seq) === undefined) this.act.label(seq).then((label) => (text.textContent = oneLine(label)));
    const node = h("div", {
      cls: `row k-${kind}`, style: { top: `${i * HIGH}px` }, role: "option", id: `row-${seq}`, "data-seq": seq, "aria-selected": "false", onclick: () => this.act.select(seq),
    },
    h("span", { cls: "at" }, clock(model.t.data[seq])),
    h("span", { cls: "who" }, model.agentName(seq) || "run"),
    h("span", { cls: `dot ${model.group(seq)}` }),
    h("span", { cls: "what" }, model.word(seq)), text, this.#after(seq, kind, bad));
    return { node, i, bad, end: model.endOf.data[seq] };
  }

  #after(seq, kind, bad) {
    const { model } = this;
    const length = model.length(seq);
    if (kind === "command") {
      const end = model.endOf.data[seq];
      const said = end < 0 ? "no outcome" : `${bad ? "failed · " : ""}${seconds(length / 1000)}`;
      return h("span", { cls: `after${bad ? " bad" : ""}` }, said);
    }
    if (kind === "attempt_replied") {
      const spend = model.spend(seq);
      return spend && h("span", { cls: "after" }, `${tokens(spend[2])} tokens${spend[1] ? ` · ${dollars(spend[1] / 1e6)}` : ""}`);
    }
    if (length !== null) return h("span", { cls: `after${bad ? " bad" : ""}` }, seconds(length / 1000));
    return bad ? h("span", { cls: "after bad" }, "▲") : null;
  }

  place(seq) {
    let low = 0;
    let high = this.found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.found[middle] < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  select(seq) {
    this.selected = seq;
    const i = this.place(seq);
    const { list } = this;
    if (seq >= 0 && (i * HIGH < list.scrollTop || (i + 1) * HIGH > list.scrollTop + list.clientHeight)) {
      list.scrollTop = Math.max(0, i * HIGH - list.clientHeight / 2);
      this.draw();
    } else this.#choose();
  }

  // The next event in the list, in either direction; the next delegation; the next problem.
  next(by) {
    const i = this.place(this.selected);
    const there = this.found[i] === this.selected;
    const to = this.selected < 0 ? 0 : i + (by > 0 ? (there ? 1 : 0) : -1);
    return this.found[Math.max(0, Math.min(this.found.length - 1, to))] ?? -1;
  }
  nextOf(test) {
    const { model } = this;
    for (let k = 1; k <= model.count; k += 1) {
      const seq = (Math.max(0, this.selected) + k) % model.count;
      if (test(seq)) return seq;
    }
    return -1;
  }
}
