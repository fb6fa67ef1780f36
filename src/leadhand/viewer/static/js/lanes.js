// Lanes of agents over time: a rectangle a span; where spans are too short to be told apart, one image whose pixels show
// how their time was shared out. `view` is {model, from, to, width, lane, top, colour, x(t), y(agent), end()}.

const GATHERED = 3; // pixels
const SPAN = { attempt_started: "model", command: "command", wait: "wait", finish: "wait", tool: "tool" };
const ORDER = ["failed", "command", "tool", "model", "wait"]; // from the bottom of a pixel up
const [FAILED, WAIT] = [0, 4];

export function drawLanes(g, view, ratio) {
  const { model } = view;
  const image = new Gathered(view, ratio);
  const orders = model.kinds.map((kind) => ORDER.indexOf(SPAN[kind] || "tool"));
  const asked = model.code.attempt_started;
  const failing = new Set([model.code.attempt_failed, model.code.agent_ended]);
  model.agents.forEach((_, agent) => {
    working(g, view, agent);
    spans(g, view, agent, image, (start, end) => (start === asked && failing.has(end) ? FAILED : orders[start]));
    image.lane(agent);
  });
  image.draw(g);
  for (const seq of model.open) open(g, view, seq);
  limits(g, view);
}

// A thin line under a worker's lane for as long as it has an assignment.
function working(g, view, agent) {
  const { name } = view.model.agents[agent];
  g.fillStyle = view.colour.report;
  for (const line of view.model.summary.delegations) {
    if (line.worker !== name) continue;
    const x0 = Math.max(0, view.x(line.started_s * 1000));
    const x1 = Math.min(view.width, view.x(line.ended_s === null ? view.end() : line.ended_s * 1000));
    if (x1 > x0) g.fillRect(x0, view.y(agent) + view.lane - 2, x1 - x0, 1);
  }
}

function spans(g, view, agent, image, order) {
  const { model, width, from, to } = view;
  const [t, kind, endOf] = [model.t.data, model.kind.data, model.endOf.data];
  const [top, high] = [view.y(agent) + 3, view.lane - 6];
  const scale = width / (to - from);
  const all = model.spans(agent);
  let i = Math.max(0, lowerBound(all, (seq) => t[seq] >= from) - 1);
  while (i > 0 && t[endOf[all[i]]] > from) i -= 1; // nested ones
  for (; i < all.length; i += 1) {
    const seq = all[i];
    if (t[seq] > to) break;
    const x0 = (t[seq] - from) * scale;
    const x1 = (t[endOf[seq]] - from) * scale;
    if (x1 < 0) continue;
    const k = order(kind[seq], kind[endOf[seq]]);
    if (x1 - x0 < GATHERED) {
      image.cover(k, x0, Math.max(x1, x0 + (k === FAILED ? 1 : 0.15)));
      continue;
    }
    g.fillStyle = view.colour[ORDER[k]];
    const inset = k === WAIT ? high / 3 : 0;
    const left = Math.max(-1, x0);
    g.fillRect(left, top + inset, Math.min(width + 1, x1) - left - (x1 - x0 > 4 ? 0.6 : 0), high - 2 * inset);
  }
}

function open(g, view, seq) {
  const { model } = view;
  const kind = SPAN[model.kindOf(seq)] || "tool";
  const x0 = view.x(model.t.data[seq]);
  const high = view.lane - 6;
  const inset = kind === "wait" ? high / 3 : 0;
  g.fillStyle = view.colour[kind];
  g.globalAlpha = 0.55;
  g.fillRect(x0, view.y(model.agent.data[seq]) + 3 + inset, Math.max(2, view.x(view.end()) - x0), high - 2 * inset);
  g.globalAlpha = 1;
}

function limits(g, view) {
  g.fillStyle = view.colour.limited;
  for (const [agent, t0, t1] of view.model.waits) {
    if (t1 < view.from || t0 > view.to) continue;
    g.fillRect(view.x(t0), view.y(agent) + view.lane - 6, Math.max(1, view.x(t1) - view.x(t0)), 3);
  }
}

// Tens of thousands of short spans: written into one image, since as many rectangles take a canvas half a second.
class Gathered {
  constructor(view, ratio) {
    this.view = view;
    this.ratio = ratio;
    this.wide = Math.ceil(view.width) + 1;
    this.high = Math.max(1, Math.round(view.model.agents.length * view.lane * ratio));
    this.shares = ORDER.map(() => new Float32Array(this.wide));
    this.colours = ORDER.map((name) => packed(view.colour[name]));
    this.dirty = false;
  }

  // Adds the part of each pixel that lies between two places.
  cover(order, x0, x1) {
    const share = this.shares[order];
    const last = Math.min(this.wide, x1);
    for (let x = Math.max(0, Math.floor(x0)); x < last; x += 1) share[x] += Math.min(x + 1, x1) - Math.max(x, x0);
    this.dirty = true;
  }

  // Puts what was gathered of a lane into the image.
  lane(agent) {
    if (!this.dirty) return;
    this.dirty = false;
    this.pixels ??= new Uint32Array(this.wide * this.high);
    const { view, ratio, wide, shares, pixels } = this;
    const high = Math.round((view.lane - 6) * ratio);
    const bottom = Math.round((view.y(agent) - view.top + 3) * ratio) + high;
    for (let x = 0; x < wide; x += 1) {
      let all = 0;
      for (const share of shares) all += share[x];
      if (!all) continue;
      const one = high / Math.max(1, all);
      let at = 0;
      for (let k = 0; k < shares.length; k += 1) {
        if (!shares[k][x]) continue;
        const from = Math.round(at);
        at += shares[k][x] * one;
        const to = Math.min(high, Math.max(from + 1, Math.round(at)));
        for (let row = from; row < to; row += 1) pixels[(bottom - 1 - row) * wide + x] = this.colours[k];
      }
    }
    for (const share of shares) share.fill(0);
  }

  draw(g) {
    if (!this.pixels) return;
    const { wide, high, view } = this;
    const canvas = new OffscreenCanvas(wide, high);
    const bytes = new Uint8ClampedArray(this.pixels.buffer);
    canvas.getContext("2d").putImageData(new ImageData(bytes, wide, high), 0, 0);
    g.imageSmoothingEnabled = false;
    g.drawImage(canvas, 0, view.top, wide, high / this.ratio);
  }
}

// "#rrggbb" as a little-endian pixel.
function packed(colour) {
  const value = parseInt(colour.slice(1), 16);
  return ((255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

export function lowerBound(values, passes) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(values[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}
