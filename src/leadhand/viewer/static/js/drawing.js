// What is drawn around the lanes: time and phases, the critical path, arrows, dollars, marks. `view` as in lanes.js, with
// `height` and `cost` (the height of the part for dollars).
import { dollars, tokens } from "./text.js";

export function drawAxis(g, view) {
  const { model, colour, width, height } = view;
  bands(g, view);
  g.strokeStyle = colour.line;
  g.beginPath();
  for (const t of ticks(view.from, view.to, width / 110)) {
    const x = Math.round(view.x(t)) + 0.5;
    g.moveTo(x, view.top - 5);
    g.lineTo(x, height);
    g.fillStyle = colour.muted;
    const label = tickLabel(t, view.to - view.from);
    if (x + 3 + g.measureText(label).width < width) g.fillText(label, x + 3, view.top - 3);
  }
  for (let i = 0; i <= model.agents.length; i += 1) {
    g.moveTo(0, Math.round(view.y(i)) + 0.5);
    g.lineTo(width, Math.round(view.y(i)) + 0.5);
  }
  g.stroke();
}

// Planning, implementation, verification: as far as commands were looked at.
function bands(g, view) {
  const { model, colour, width } = view;
  const [first, last] = model.phases;
  if (first < 0 && model.looked < 1) return;
  const end = view.x(model.ended >= 0 ? model.t.data[model.ended] : view.end());
  const a = first < 0 ? end : view.x(first);
  const b = last < 0 ? end : Math.max(a, view.x(last));
  [["planning", view.x(0), a], ["implementation", a, b], ["verification", b, end]].forEach(([name, from, to], i) => {
    const l = Math.max(0, from);
    const r = Math.min(width, to);
    if (r - l < 1) return;
    g.fillStyle = colour.phase;
    if (i === 1) g.fillRect(l, 0, r - l, view.height - view.cost);
    g.fillStyle = colour.muted;
    if (r - l > g.measureText(name).width + 10) g.fillText(name, l + 5, 11);
  });
}

// Whom the run waited for: along the top of one lane after the other.
export function drawPath(g, view) {
  const { model } = view;
  if (model.path.length < 2) return;
  const lane = new Map(model.agents.map((agent, i) => [agent.name, view.y(i) + 2]));
  g.strokeStyle = view.colour.ink;
  g.lineWidth = 1.5;
  g.lineJoin = "bevel";
  g.beginPath();
  for (const [agent, from, to] of model.path) {
    if (to < view.from || from > view.to || view.x(to) - view.x(from) < 2) continue; // a moment in which a worker is called
    g.lineTo(view.x(from), lane.get(agent));
    g.lineTo(view.x(to), lane.get(agent));
  }
  g.stroke();
  g.lineWidth = 1;
}

export function drawArrows(g, view) {
  const { model, colour } = view;
  const seen = model.arrows.filter(([, a, , b]) => a >= 0 && model.t.data[b] >= view.from && model.t.data[a] <= view.to);
  g.lineWidth = seen.length > 150 ? 0.6 : 1.2;
  g.globalAlpha = seen.length > 300 ? 0.4 : 0.85;
  for (const [kind, a, from, b, to] of seen) {
    if (from < 0 || to < 0) continue;
    const x0 = view.x(model.t.data[a]);
    const x1 = view.x(model.t.data[b]);
    const y0 = view.y(from) + view.lane / 2;
    const y1 = view.y(to) + view.lane / 2;
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

export function drawCost(g, view) {
  const { height } = view;
  const { costs, free } = view.model;
  const all = free ? costs.tokens : costs.usd;
  const lead = free ? costs.leadTokens : costs.leadUsd;
  const top = all.at(-1) || 0;
  if (!top) return;
  const y = (value) => height - 4 - (value / top) * (view.cost - 14);
  const path = (values) => {
    g.beginPath();
    g.moveTo(view.x(0), y(0));
    let before = 0;
    let drawn = -1;
    for (let i = 0; i < values.length; i += 1) {
      const x = view.x(costs.t[i]);
      if (x - drawn >= 0.5 || i === values.length - 1) {
        g.lineTo(x, y(before));
        g.lineTo(x, y(values[i]));
        drawn = x;
      }
      before = values[i];
    }
    g.lineTo(view.x(view.end()), y(before));
  };
  const fill = (alpha) => {
    g.lineTo(view.x(view.end()), height);
    g.lineTo(view.x(0), height);
    g.globalAlpha = alpha;
    g.fillStyle = view.colour.cost;
    g.fill();
    g.globalAlpha = 1;
  };
  g.strokeStyle = view.colour.cost;
  path(all);
  g.stroke();
  fill(0.12);
  path(lead);
  fill(0.25);
  g.fillStyle = view.colour.muted;
  g.fillText(free ? `${tokens(top)} tokens` : dollars(top), 5, y(top) + 9);
}

export function drawMarks(g, view) {
  const { model } = view;
  const seen = model.marks.filter(([seq, level]) => level !== "note" && model.t.data[seq] >= view.from && model.t.data[seq] <= view.to);
  for (const worst of ["warning", "error"]) for (const mark of seen) if (mark[1] === worst) drawMark(g, view, mark);
}

// A triangle; a diamond for what an integrity check found.
function drawMark(g, view, [seq, level, what]) {
  const agent = view.model.agent.data[seq];
  const x = view.x(view.model.t.data[seq]);
  const y = agent < 0 ? view.top - 9 : view.y(agent) + 2; // what befell the run as a whole is on the axis
  g.fillStyle = level === "error" ? view.colour.bad : view.colour.warn;
  g.strokeStyle = view.colour.panel;
  g.beginPath();
  if (what.startsWith("integrity")) {
    g.moveTo(x, y - 2);
    g.lineTo(x + 6, y + 5);
    g.lineTo(x, y + 12);
    g.lineTo(x - 6, y + 5);
  } else {
    g.moveTo(x - 4, y);
    g.lineTo(x + 4, y);
    g.lineTo(x, y + 7);
  }
  g.closePath();
  g.fill();
  g.stroke();
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
