// Lanes of agents over time, on a canvas: what part of the run is shown, and what is pointed at.
import { h, css } from "./dom.js";
import { clock, dollars, oneLine, percent, plural, seconds, tokens } from "./text.js";
import { byTime } from "./model.js";
import { drawArrows, drawAxis, drawCost, drawMarks, drawPath } from "./drawing.js";
import { drawLanes, lowerBound } from "./lanes.js";

const AXIS = 26;
const COST = 62;
const COLOURS = ["model", "command", "wait", "tool", "limited", "failed", "report", "mail", "assign", "cost", "phase", "line", "ink", "muted", "panel", "accent", "bad", "warn"];

export class Timeline {
  // `act`: {select(seq), agent(name), label(seq) -> Promise<string>}
  constructor(model, act) {
    this.model = model;
    this.act = act;
    this.selected = -1;
    this.from = 0;
    this.to = 0;
    this.top = AXIS;
    this.cost = COST;
    this.follow = true;
    this.canvas = h("canvas", { role: "img" });
    this.tip = h("div", { cls: "tip", hidden: true });
    this.line = h("div", { cls: "cursor", hidden: true });
    this.box = h("div", { cls: "chosen", hidden: true });
    const zoom = h("div", { cls: "zoom" },
      h("button", { type: "button", title: "Zoom out", "aria-label": "Zoom out", onclick: () => this.zoom(2) }, "−"),
      h("button", { type: "button", title: "Zoom in", "aria-label": "Zoom in", onclick: () => this.zoom(0.5) }, "+"),
      h("button", { type: "button", title: "Show all of the run", onclick: () => this.fit() }, "All"));
    this.plot = h("div", { cls: "plot", tabindex: "0", "aria-label": "Timeline. Arrow keys move, plus and minus zoom." }, this.canvas, this.line, this.box, this.tip, zoom);
    this.names = h("div", { cls: "lanes" });
    this.node = h("div", { cls: "timeline" }, this.names, this.plot);
    this.#listen();
    this.resizing = new ResizeObserver(([{ contentRect }]) => {
      this.wide = contentRect.width;
      this.draw();
    });
    this.resizing.observe(this.plot);
  }

  stop() {
    this.resizing.disconnect();
    cancelAnimationFrame(this.frame);
  }

  get lane() {
    const n = this.model.agents.length;
    return n > 12 ? 19 : n > 7 ? 23 : 27;
  }
  get span() {
    return Math.max(1000, this.end());
  }
  // Now, in milliseconds of the run: while it goes on, a little after the last event.
  end() {
    const { model } = this;
    return model.running && model.heard ? model.now + Math.min(600000, performance.now() - model.heard) : model.now;
  }

  update() {
    if (this.follow) this.fit(false);
    this.#labels();
    this.draw();
  }
  fit(draw = true) {
    this.follow = true;
    this.from = 0;
    this.to = this.span * 1.01;
    if (draw) this.draw();
  }
  zoom(by, at = (this.from + this.to) / 2) {
    const width = Math.min(this.span * 1.01, Math.max(20, (this.to - this.from) * by));
    const part = (at - this.from) / (this.to - this.from);
    this.#show(at - part * width, width);
  }
  move(by) {
    this.#show(this.from + by, this.to - this.from);
  }
  #show(from, width) {
    const whole = this.span * 1.01;
    this.from = Math.max(0, Math.min(from, whole - width));
    this.to = this.from + width;
    this.follow = width >= whole * 0.999;
    this.draw();
  }
  // Select an event and bring it into view.
  select(seq) {
    this.selected = seq;
    if (seq >= 0) {
      const t = this.model.t.data[seq];
      if (t < this.from || t > this.to) this.#show(t - (this.to - this.from) / 2, this.to - this.from);
    }
    this.#labels();
    this.draw();
  }

  #labels() {
    const { model } = this;
    const total = model.free ? model.summary.usage.input + model.summary.usage.cache_read + model.summary.usage.output : model.summary.settled_usd;
    const chosen = this.selected >= 0 ? model.agentName(this.selected) : this.agentChosen;
    this.buttons ??= [];
    model.agents.forEach((agent, i) => {
      const line = model.line(agent.name);
      const part = model.free ? line.usage.input + line.usage.cache_read + line.usage.output : line.usd;
      const share = percent(part, total);
      const made = (this.buttons[i] ??= this.#button(agent.name));
      made.button.className = `lane${agent.name === chosen ? " on" : ""}`;
      made.button.title = `${agent.name}: ${agent.role}, ${agent.model}. ${share} of the ${model.free ? "tokens" : "dollars"}. ${line.doing}`;
      made.name.className = line.fault ? "bad" : "";
      made.share.textContent = share;
    });
    const cost = model.free ? `tokens ${tokens(model.costs.tokens.at(-1) || 0)}` : `dollars ${dollars(model.summary.settled_usd)}`;
    this.costName ??= this.names.appendChild(h("div", { cls: "costname" }));
    this.costName.replaceChildren(cost, ...(model.agents.some((a) => a.role === "worker") ? [h("br"), "lead / all"] : []));
    this.names.style.setProperty("--lane", `${this.lane}px`);
  }
  // Made once: one that is replaced while it is pressed would lose the click.
  #button(name) {
    const label = h("span", {}, name);
    const share = h("span", { cls: "share" });
    const button = h("button", { type: "button", "data-agent": name, onclick: () => this.act.agent(name) }, label, share);
    this.names.insertBefore(button, this.costName ?? null);
    return { button, name: label, share };
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    const { model } = this;
    const width = this.wide ?? this.plot.clientWidth;
    if (!model.summary || width < 10) return;
    const height = AXIS + model.agents.length * this.lane + COST;
    const ratio = window.devicePixelRatio || 1;
    const key = [this.from, this.to, width, height, ratio, model.version, model.running ? this.end() : 0, document.documentElement.dataset.theme].join();
    this.width = width;
    this.height = height;
    if (key !== this.painted) this.#picture(ratio);
    this.painted = key;
    this.#cursor();
  }

  // All but the cursor: selecting an event draws nothing of it anew.
  #picture(ratio) {
    const { canvas } = this;
    canvas.width = Math.round(this.width * ratio);
    canvas.height = Math.round(this.height * ratio);
    canvas.style.setProperty("height", `${this.height}px`);
    this.colour = Object.fromEntries(COLOURS.map((name) => [name, css(`--${name}`)]));
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = `11.5px ${css("--sans")}`;
    drawAxis(g, this);
    drawLanes(g, this, ratio);
    drawPath(g, this);
    drawArrows(g, this);
    drawCost(g, this);
    drawMarks(g, this);
    canvas.setAttribute("aria-label", this.#words());
  }

  #words() {
    const { model } = this;
    return `${plural(model.agents.length, "agent")} over ${seconds(this.end() / 1000)}, ${plural(Object.keys(model.delegations).length, "delegation")}. The list of events below holds everything shown here.`;
  }

  x(t) {
    return ((t - this.from) / (this.to - this.from)) * this.width;
  }
  time(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }
  y(agent) {
    return AXIS + agent * this.lane;
  }

  // A line at the chosen event's time, and a frame around it: elements of their own over the canvas.
  #cursor() {
    const { model, line, box } = this;
    const chosen = this.selected >= 0 && this.selected < model.count;
    const start = chosen && model.startOf.data[this.selected] >= 0 ? model.startOf.data[this.selected] : this.selected;
    const x0 = chosen ? this.x(model.t.data[start]) : -1;
    const agent = chosen ? model.agent.data[start] : -1;
    line.hidden = x0 < 0 || x0 > this.width;
    box.hidden = line.hidden || agent < 0;
    if (line.hidden) return;
    line.style.setProperty("transform", `translateX(${Math.round(x0)}px)`);
    if (box.hidden) return;
    const end = model.endOf.data[start];
    const wide = end >= 0 ? Math.max(4, Math.min(this.width, this.x(model.t.data[end])) - x0) : 4;
    box.style.setProperty("transform", `translate(${x0 - 2}px, ${this.y(agent) + 1}px)`);
    box.style.setProperty("width", `${wide + 4}px`);
    box.style.setProperty("height", `${this.lane - 2}px`);
  }

  // --- pointing ---

  // The event at a place: a mark, a span, or the nearest event of that lane.
  hit(x, y) {
    const { model } = this;
    const agent = Math.floor((y - AXIS) / this.lane);
    if (agent < 0) return model.marks.find(([seq, level]) => level !== "note" && model.agent.data[seq] < 0 && Math.abs(this.x(model.t.data[seq]) - x) < 6)?.[0] ?? -1;
    if (agent >= model.agents.length) return -1;
    for (const [seq] of model.marks) {
      if (model.agent.data[seq] === agent && Math.abs(this.x(model.t.data[seq]) - x) < 6 && y < this.y(agent) + 14) return seq;
    }
    const t = this.time(x);
    for (const seq of model.open) if (model.agent.data[seq] === agent && model.t.data[seq] <= t) return seq;
    const spans = model.spans(agent);
    const slack = ((this.to - this.from) / this.width) * 4;
    let best = -1;
    let bestGap = slack;
    let i = lowerBound(spans, (seq) => model.t.data[seq] > t + slack) - 1;
    for (let tried = 0; i >= 0 && tried < 60; i -= 1, tried += 1) {
      const t0 = model.t.data[spans[i]];
      const t1 = model.t.data[model.endOf.data[spans[i]]];
      const gap = t < t0 ? t0 - t : t > t1 ? t - t1 : 0;
      if (gap < bestGap || (gap === 0 && best < 0)) [best, bestGap] = [spans[i], gap];
      if (bestGap === 0) break;
    }
    if (best >= 0) return best;
    for (i = byTime(model, t); i < model.count && model.t.data[i] < t + slack; i += 1) if (model.agent.data[i] === agent) return i;
    return -1;
  }

  #listen() {
    const { plot } = this;
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const touching = new Map();
    let dragged = 0;
    plot.addEventListener("wheel", (event) => {
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.move(((event.deltaX || event.deltaY) / this.width) * (this.to - this.from));
      } else if (event.ctrlKey || event.metaKey || this.node.scrollHeight <= this.node.clientHeight + 1) {
        this.zoom(Math.exp(event.deltaY * 0.0022), this.time(place(event)[0]));
      } else return;
      event.preventDefault();
    }, { passive: false });
    plot.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".zoom")) return;
      touching.set(event.pointerId, place(event));
      dragged = 0;
    });
    plot.addEventListener("pointermove", (event) => {
      const before = touching.get(event.pointerId);
      if (!before) return this.#hover(...place(event));
      const now = place(event);
      if (touching.size === 2) this.#pinch(touching, event.pointerId, now);
      else {
        dragged += Math.abs(now[0] - before[0]);
        if (dragged > 4) {
          plot.setPointerCapture(event.pointerId);
          this.move(((before[0] - now[0]) / this.width) * (this.to - this.from));
        }
      }
      touching.set(event.pointerId, now);
      return undefined;
    });
    plot.addEventListener("pointerup", (event) => {
      const here = touching.delete(event.pointerId);
      if (here && dragged <= 4) {
        const seq = this.hit(...place(event));
        if (seq >= 0) this.act.select(seq);
      }
    });
    plot.addEventListener("pointercancel", (event) => touching.delete(event.pointerId));
    plot.addEventListener("pointerleave", () => (this.tip.hidden = true));
    plot.addEventListener("dblclick", (event) => this.zoom(0.3, this.time(place(event)[0])));
    plot.addEventListener("keydown", (event) => {
      const step = (this.to - this.from) * 0.15;
      const act = { ArrowLeft: () => this.move(-step), ArrowRight: () => this.move(step), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.fit() }[event.key];
      if (act) {
        act();
        event.preventDefault();
      }
    });
  }

  #pinch(touching, moved, now) {
    const other = [...touching].find(([id]) => id !== moved)[1];
    const before = touching.get(moved);
    const wide = Math.abs(now[0] - other[0]);
    if (wide > 8) this.zoom(Math.abs(before[0] - other[0]) / wide, this.time((now[0] + other[0]) / 2));
  }

  #hover(x, y) {
    const seq = this.hit(x, y);
    this.tip.hidden = seq < 0;
    if (seq < 0 || !this.width) return;
    const { model } = this;
    const length = model.length(seq);
    const said = `${model.agentName(seq)} · ${model.word(seq)} · ${clock(model.t.data[seq])}${length === null ? "" : ` · ${seconds(length / 1000)}`}`;
    this.tip.replaceChildren(said);
    this.tip.style.setProperty("left", `${Math.max(4, Math.min(x + 12, this.width - 300))}px`);
    this.tip.style.setProperty("top", `${y + 14}px`);
    const hovered = (this.hovered = seq);
    this.act.label(model.kindOf(seq) === "attempt_started" && model.endOf.data[seq] >= 0 ? model.endOf.data[seq] : seq).then((label) => {
      if (this.hovered === hovered && label) this.tip.replaceChildren(said, h("br"), oneLine(label, 160));
    });
  }
}
