// Lanes of agents over time, drawn on a canvas. A lane costs at most one rectangle a pixel, however many spans it has.
import { h, css } from "./dom.js";
import { clock, dollars, oneLine, percent, plural, seconds, tokens } from "./text.js";
import { byTime } from "./model.js";

const AXIS = 26;
const COST = 62;
const GATHERED = 3; // pixels
const SPAN = { attempt_started: "model", command: "command", wait: "wait", finish: "wait", tool: "tool" };
const ORDER = ["wait", "model", "tool", "command", "failed"];
const COLOURS = ["model", "command", "wait", "tool", "limited", "failed", "report", "mail", "assign", "cost", "phase", "line", "ink", "muted", "panel", "accent", "bad"];

export class Timeline {
  // `act`: {select(seq), agent(name), label(seq) -> Promise<string>}
  constructor(model, act) {
    this.model = model;
    this.act = act;
    this.selected = -1;
    this.from = 0;
    this.to = 0;
    this.follow = true;
    this.canvas = h("canvas", { role: "img" });
    this.tip = h("div", { cls: "tip", hidden: true });
    const zoom = h("div", { cls: "zoom" },
      h("button", { type: "button", title: "Zoom out", "aria-label": "Zoom out", onclick: () => this.zoom(2) }, "−"),
      h("button", { type: "button", title: "Zoom in", "aria-label": "Zoom in", onclick: () => this.zoom(0.5) }, "+"),
      h("button", { type: "button", title: "Show all of the run", onclick: () => this.fit() }, "All"));
    this.plot = h("div", { cls: "plot", tabindex: "0", "aria-label": "Timeline. Arrow keys move, plus and minus zoom." }, this.canvas, this.tip, zoom);
    this.names = h("div", { cls: "lanes" });
    this.node = h("div", { cls: "timeline" }, this.names, this.plot);
    this.#listen();
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.plot);
  }

  stop() {
    this.resizing.disconnect();
    cancelAnimationFrame(this.frame);
  }

  get laneHeight() {
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
    this.names.style.setProperty("--lane", `${this.laneHeight}px`);
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
    if (!model.summary) return;
    const width = this.plot.clientWidth;
    const height = AXIS + model.agents.length * this.laneHeight + COST;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.setProperty("height", `${height}px`);
    }
    if (width < 10) return;
    this.width = width;
    const g = this.canvas.getContext("2d");
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.#still(width, height, ratio), 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#cursor(g, height);
    this.canvas.setAttribute("aria-label", this.#words());
  }

  // All but the cursor, kept: selecting an event draws nothing of it anew.
  #still(width, height, ratio) {
    const { model } = this;
    const key = [this.from, this.to, width, height, ratio, model.version, model.running ? this.end() : 0, document.documentElement.dataset.theme].join();
    if (this.stillKey === key) return this.stillCanvas;
    this.stillKey = key;
    this.colour = Object.fromEntries(COLOURS.map((name) => [name, css(`--${name}`)]));
    this.stillCanvas ??= h("canvas");
    this.stillCanvas.width = this.canvas.width;
    this.stillCanvas.height = this.canvas.height;
    const g = this.stillCanvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = `11.5px ${css("--sans")}`;
    this.#axis(g, width, height);
    model.agents.forEach((_, i) => this.#lane(g, i));
    this.#arrows(g);
    this.#cost(g, width, height);
    this.#marks(g);
    return this.stillCanvas;
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
    return AXIS + agent * this.laneHeight;
  }

  #axis(g, width, height) {
    const { model, colour } = this;
    const [first, last, ended] = model.phases;
    const at = (seq, or) => (seq >= 0 ? this.x(model.t.data[seq]) : or);
    const end = at(ended, this.x(this.end()));
    const a = Math.max(0, at(first, end));
    const b = Math.max(a, at(last, end));
    const bands = [["planning", this.x(0), a], ["implementation", a, b], ["verification", b, end]];
    bands.forEach(([name, from, to], i) => {
      const l = Math.max(0, from);
      const r = Math.min(width, to);
      if (r - l < 1) return;
      g.fillStyle = colour.phase;
      if (i === 1) g.fillRect(l, 0, r - l, height - COST);
      g.fillStyle = colour.muted;
      if (r - l > g.measureText(name).width + 10) g.fillText(name, l + 5, 11);
    });
    g.strokeStyle = colour.line;
    g.beginPath();
    for (const t of ticks(this.from, this.to, width / 110)) {
      const x = Math.round(this.x(t)) + 0.5;
      g.moveTo(x, AXIS - 5);
      g.lineTo(x, height);
      g.fillStyle = colour.muted;
      g.fillText(tickLabel(t, this.to - this.from), x + 3, AXIS - 3);
    }
    for (let i = 0; i <= model.agents.length; i += 1) {
      g.moveTo(0, Math.round(this.y(i)) + 0.5);
      g.lineTo(width, Math.round(this.y(i)) + 0.5);
    }
    g.stroke();
  }

  // Delegations behind, then spans: short ones are gathered per pixel.
  #lane(g, agent) {
    const { model, colour, width } = this;
    const top = this.y(agent) + 3;
    const high = this.laneHeight - 6;
    this.#working(g, agent, top, high);
    const spans = model.spans(agent);
    const covered = ORDER.map(() => null);
    let i = Math.max(0, lowerBound(spans, (seq) => model.t.data[seq] >= this.from) - 1);
    while (i > 0 && model.t.data[model.endOf.data[spans[i]]] > this.from) i -= 1; // nested ones
    for (; i < spans.length; i += 1) {
      const seq = spans[i];
      const t0 = model.t.data[seq];
      if (t0 > this.to) break;
      const end = model.endOf.data[seq];
      const kind = this.#kind(seq, end);
      const x0 = this.x(t0);
      const x1 = this.x(model.t.data[end]);
      if (x1 < 0) continue;
      const order = ORDER.indexOf(kind);
      if (x1 - x0 >= GATHERED) {
        g.fillStyle = colour[kind];
        const inset = kind === "wait" ? high / 3 : 0;
        g.fillRect(Math.max(-1, x0), top + inset, Math.min(width + 1, x1) - Math.max(-1, x0) - (x1 - x0 > 4 ? 0.6 : 0), high - 2 * inset);
      } else cover((covered[order] ||= new Float32Array(Math.ceil(width) + 1)), x0, Math.max(x1, x0 + (kind === "failed" ? 1 : 0.15)));
    }
    this.#gathered(g, covered, top, high);
    for (const seq of model.open) if (model.agent.data[seq] === agent) this.#open(g, seq, top, high);
    g.fillStyle = colour.limited;
    for (const [who, t0, t1] of model.waits) {
      if (who !== agent || t1 < this.from || t0 > this.to) continue;
      g.fillRect(this.x(t0), top + high - 3, Math.max(1, this.x(t1) - this.x(t0)), 3);
    }
  }

  #kind(seq, end) {
    const kind = this.model.kindOf(seq);
    if (kind === "attempt_started" && ["attempt_failed", "agent_ended"].includes(this.model.kindOf(end))) return "failed";
    return SPAN[kind] || "tool";
  }
  // Where spans are too short to be told apart, a pixel shows how its time was shared out.
  #gathered(g, covered, top, high) {
    const kinds = covered.map((pixels, order) => [pixels, this.colour[ORDER[order]]]).filter(([pixels]) => pixels).reverse();
    const length = kinds[0]?.[0].length ?? 0;
    for (const [k, [pixels, colour]] of kinds.entries()) {
      g.fillStyle = colour;
      for (let x = 0; x < length; x += 1) {
        if (!pixels[x]) continue;
        let below = 0;
        let all = 0;
        for (let other = 0; other < kinds.length; other += 1) {
          all += kinds[other][0][x];
          if (other > k) below += kinds[other][0][x];
        }
        const one = high / Math.max(1, all);
        g.fillRect(x, top + high - (below + pixels[x]) * one, 1, Math.max(0.5, pixels[x] * one));
      }
    }
  }
  #open(g, seq, top, high) {
    const kind = SPAN[this.model.kindOf(seq)] || "tool";
    const x0 = this.x(this.model.t.data[seq]);
    const inset = kind === "wait" ? high / 3 : 0;
    g.fillStyle = this.colour[kind];
    g.globalAlpha = 0.55;
    g.fillRect(x0, top + inset, Math.max(2, this.x(this.end()) - x0), high - 2 * inset);
    g.globalAlpha = 1;
  }
  // A thin line under a worker's lane for as long as it has an assignment.
  #working(g, agent, top, high) {
    const { model } = this;
    const name = model.agents[agent].name;
    g.fillStyle = this.colour.report;
    for (const line of model.summary.delegations) {
      if (line.worker !== name) continue;
      const x0 = Math.max(0, this.x(line.started_s * 1000));
      const x1 = Math.min(this.width, this.x(line.ended_s === null ? this.end() : line.ended_s * 1000));
      if (x1 > x0) g.fillRect(x0, top + high + 1, x1 - x0, 1);
    }
  }

  #arrows(g) {
    const { model, colour } = this;
    const seen = model.arrows.filter(([, a, , b]) => a >= 0 && model.t.data[b] >= this.from && model.t.data[a] <= this.to);
    g.lineWidth = seen.length > 150 ? 0.6 : 1.2;
    g.globalAlpha = seen.length > 300 ? 0.4 : 0.85;
    for (const [kind, a, from, b, to] of seen) {
      if (from < 0 || to < 0) continue;
      const x0 = this.x(model.t.data[a]);
      const x1 = this.x(model.t.data[b]);
      const y0 = this.y(from) + this.laneHeight / 2;
      const y1 = this.y(to) + this.laneHeight / 2;
      g.strokeStyle = g.fillStyle = kind === "report" ? colour.report : kind === "mail" ? colour.mail : colour.assign;
      const bend = Math.max(6, Math.min(40, Math.abs(x1 - x0) / 2));
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      g.stroke();
      if (seen.length > 300) continue;
      g.beginPath();
      g.moveTo(x1 + 1, y1);
      g.lineTo(x1 - 6, y1 - 3);
      g.lineTo(x1 - 6, y1 + 3);
      g.fill();
    }
    g.globalAlpha = 1;
    g.lineWidth = 1;
  }

  #cost(g, width, height) {
    const { costs, free } = this.model;
    const all = free ? costs.tokens : costs.usd;
    const lead = free ? costs.leadTokens : costs.leadUsd;
    const top = all.at(-1) || 0;
    if (!top) return;
    const y = (value) => height - 4 - (value / top) * (COST - 14);
    const path = (values) => {
      g.beginPath();
      g.moveTo(this.x(0), y(0));
      let before = 0;
      let drawn = -1;
      for (let i = 0; i < values.length; i += 1) {
        const x = this.x(costs.t[i]);
        if (x - drawn >= 0.5 || i === values.length - 1) {
          g.lineTo(x, y(before));
          g.lineTo(x, y(values[i]));
          drawn = x;
        }
        before = values[i];
      }
      g.lineTo(this.x(this.end()), y(before));
    };
    const fill = (alpha) => {
      g.lineTo(this.x(this.end()), height);
      g.lineTo(this.x(0), height);
      g.globalAlpha = alpha;
      g.fillStyle = this.colour.cost;
      g.fill();
      g.globalAlpha = 1;
    };
    g.strokeStyle = this.colour.cost;
    path(all);
    g.stroke();
    fill(0.12);
    path(lead);
    fill(0.25);
    g.fillStyle = this.colour.muted;
    g.fillText(free ? `${tokens(top)} tokens` : dollars(top), 5, y(top) + 9);
  }

  #marks(g) {
    const { model } = this;
    for (const [seq, level] of model.marks) {
      const agent = model.agent.data[seq];
      const t = model.t.data[seq];
      if (level === "note" || t < this.from || t > this.to) continue;
      const x = this.x(t);
      const y = agent < 0 ? AXIS - 9 : this.y(agent) + 2; // what befell the run as a whole is on the axis
      g.fillStyle = this.colour.bad;
      g.beginPath();
      g.moveTo(x - 4, y);
      g.lineTo(x + 4, y);
      g.lineTo(x, y + 7);
      g.fill();
    }
  }

  #cursor(g, height) {
    const { model } = this;
    if (this.selected < 0 || this.selected >= model.count) return;
    const start = model.startOf.data[this.selected] >= 0 ? model.startOf.data[this.selected] : this.selected;
    const agent = model.agent.data[start];
    const x0 = this.x(model.t.data[start]);
    g.strokeStyle = this.colour.accent;
    g.beginPath();
    g.moveTo(Math.round(x0) + 0.5, AXIS);
    g.lineTo(Math.round(x0) + 0.5, height);
    g.stroke();
    const end = model.endOf.data[start];
    if (agent < 0) return;
    g.lineWidth = 2;
    const wide = end >= 0 ? Math.max(4, this.x(model.t.data[end]) - x0) : 4;
    g.strokeRect(x0 - 1, this.y(agent) + 1.5, wide + 2, this.laneHeight - 3);
    g.lineWidth = 1;
  }

  // --- pointing ---

  // The event at a place: a mark, a span, or the nearest event of that lane.
  hit(x, y) {
    const { model } = this;
    const agent = Math.floor((y - AXIS) / this.laneHeight);
    if (agent < 0) return model.marks.find(([seq, level]) => level !== "note" && model.agent.data[seq] < 0 && Math.abs(this.x(model.t.data[seq]) - x) < 6)?.[0] ?? -1;
    if (agent >= model.agents.length) return -1;
    for (const [seq] of model.marks) {
      if (model.agent.data[seq] === agent && Math.abs(this.x(model.t.data[seq]) - x) < 6 && y < this.y(agent) + 10) return seq;
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

// Adds the part of each pixel that lies between two places.
function cover(pixels, x0, x1) {
  for (let x = Math.max(0, Math.floor(x0)); x < Math.min(pixels.length, x1); x += 1) pixels[x] += Math.min(x + 1, x1) - Math.max(x, x0);
}

function lowerBound(values, passes) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(values[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 60000, 120000, 300000, 600000, 900000, 1800000, 3600000, 7200000, 14400000];

function ticks(from, to, most) {
  const step = STEPS.find((size) => (to - from) / size <= most) || 28800000;
  const found = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) found.push(t);
  return found;
}

function tickLabel(t, span) {
  if (span < 4000) return `${(t / 1000).toFixed(2)} s`;
  const total = Math.round(t / 1000);
  if (span < 120000 && total < 60) return `${t % 1000 ? (t / 1000).toFixed(1) : total} s`;
  const parts = [Math.floor(total / 3600), Math.floor((total % 3600) / 60), total % 60];
  const two = (n) => String(n).padStart(2, "0");
  return parts[0] ? `${parts[0]}:${two(parts[1])}:${two(parts[2])}` : `${parts[1]}:${two(parts[2])}`;
}

const LEGEND = [["model", "model call"], ["command", "command"], ["wait", "waits for workers"], ["tool", "other tool"], ["limited", "held back by limits"], ["failed", "failed call"]];

export function legend() {
  const key = (name, word, cls) => h("span", { cls: "key" }, h("i", { cls, style: { background: `var(--${name})` } }), word);
  return h("div", { cls: "legend", "aria-hidden": "true" },
    LEGEND.map(([name, word]) => key(name, word)),
    key("assign", "assignment", "arrow"), key("report", "report", "arrow"), key("mail", "message", "arrow"),
    h("span", { cls: "key" }, h("span", { cls: "bad" }, "▼"), "problem"));
}
