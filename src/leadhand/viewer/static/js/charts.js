// The charts of a study, as SVG.
import { s } from "./dom.js";
import { dollars, oneLine } from "./text.js";

const W = 520;
const H = 300;
const EDGE = { left: 46, right: 14, top: 12, bottom: 40 };

function scale(low, high, from, to) {
  const wide = high - low || 1;
  return (v) => from + ((v - low) / wide) * (to - from);
}

function niceTicks(low, high, most = 5) {
  const step0 = (high - low || 1) / most;
  const power = 10 ** Math.floor(Math.log10(step0));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((x) => x >= step0);
  const found = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) found.push(Number(v.toPrecision(12)));
  return found;
}

function axes(x, y, xs, ys, names, show) {
  return [
    ys.map((v) => [s("line", { cls: "grid", x1: EDGE.left, x2: W - EDGE.right, y1: y(v), y2: y(v) }), s("text", { x: EDGE.left - 6, y: y(v) + 4, "text-anchor": "end" }, v.toFixed(2))]),
    xs.map((v) => s("text", { x: x(v), y: H - EDGE.bottom + 16, "text-anchor": "middle" }, show(v))),
    s("line", { cls: "axis", x1: EDGE.left, x2: W - EDGE.right, y1: H - EDGE.bottom, y2: H - EDGE.bottom }),
    s("text", { x: (EDGE.left + W) / 2, y: H - 4, "text-anchor": "middle" }, names[0]),
    s("text", { x: 4, y: 9 }, names[1]),
  ];
}

export function frontierChart(designs, chosen, choose) {
  const known = designs.filter((d) => d.reward && d.usd);
  if (!known.length) return s("svg", { cls: "chart", viewBox: `0 0 ${W} 40` }, s("text", { x: 10, y: 24 }, "No graded run yet."));
  const lows = (key) => known.map((d) => d[key].low ?? d[key].mean);
  const highs = (key) => known.map((d) => d[key].high ?? d[key].mean);
  const pad = (low, high) => [low - (high - low || 0.1) * 0.06, high + (high - low || 0.1) * 0.06];
  const [u0, u1] = pad(Math.max(0, Math.min(...lows("usd"))), Math.max(...highs("usd")));
  const [r0, r1] = pad(Math.min(...lows("reward")), Math.max(...highs("reward")));
  const x = scale(Math.max(0, u0), u1, EDGE.left, W - EDGE.right);
  const y = scale(r0, r1, H - EDGE.bottom, EDGE.top + 8);
  const line = known.filter((d) => d.frontier).sort((a, b) => a.usd.mean - b.usd.mean);
  const path = line.map((d, i) => `${i ? "L" : "M"}${x(d.usd.mean)},${y(d.reward.mean)}`).join("");
  return s("svg", { cls: "chart", viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": "Reward against dollars, one point a design" },
    axes(x, y, niceTicks(Math.max(0, u0), u1), niceTicks(r0, r1), ["dollars a task", "reward"], (v) => `$${Number(v.toPrecision(3))}`), s("path", { cls: "frontier", d: path }),
    known.map((d) => point(d, x, y, d.design === chosen, choose)), labels(known, x, y));
}

function point(d, x, y, on, choose) {
  const px = x(d.usd.mean);
  const py = y(d.reward.mean);
  const act = (event) => (event.type === "click" || event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose(d.design));
  return [
    d.reward.low === null ? null : s("line", { cls: "err", x1: px, x2: px, y1: y(d.reward.low), y2: y(d.reward.high) }),
    d.usd.low === null ? null : s("line", { cls: "err", x1: x(Math.max(0, d.usd.low)), x2: x(d.usd.high), y1: py, y2: py }),
    s("circle", { cls: `point${d.frontier ? " best" : ""}${on ? " on" : ""}`, cx: px, cy: py, r: 6.5, tabindex: 0, role: "button", "data-design": d.design, "aria-label": `${d.design}: reward ${d.reward.mean.toFixed(3)}, ${dollars(d.usd.mean)} a task`, onclick: act, onkeydown: act }, s("title", {}, `${d.design}: ${d.reward.mean.toFixed(3)} for ${dollars(d.usd.mean)}`)),
  ];
}

// Names beside points, moved down until none lies on another, on a point, or across an interval.
function labels(known, x, y) {
  const placed = known.map((d) => ({ top: y(d.reward.mean) + 4, from: x(d.usd.mean) - 8, to: x(d.usd.mean) + 8 }));
  const bars = known.filter((d) => d.reward.low !== null).map((d) => ({ at: x(d.usd.mean), low: y(d.reward.low), high: y(d.reward.high) }));
  const clear = (top, from, to) => !placed.some((p) => Math.abs(p.top - top) < 13 && p.from < to && from < p.to) && !bars.some((b) => b.at > from && b.at < to && b.high < top + 2 && b.low > top - 10);
  return [...known].sort((a, b) => y(a.reward.mean) - y(b.reward.mean)).map((d) => {
    const right = x(d.usd.mean) < W * 0.6;
    const left = x(d.usd.mean) + (right ? 10 : -10);
    const text = oneLine(d.design, 44);
    const wide = text.length * 6.2;
    const from = right ? left : left - wide;
    let top = y(d.reward.mean) + 18;
    while (!clear(top, from, from + wide) && top < H - EDGE.bottom - 4) top += 4;
    placed.push({ top, from, to: from + wide });
    return s("text", { cls: `label${d.frontier ? " strong" : ""}`, x: left, y: top, "text-anchor": right ? "start" : "end" }, text);
  });
}

export function pairChart(points, names, choose) {
  const x = scale(-0.03, 1.03, EDGE.left, W - EDGE.right);
  const y = scale(-0.03, 1.03, H - EDGE.bottom, EDGE.top + 8);
  const parts = [0, 0.25, 0.5, 0.75, 1];
  return s("svg", { cls: "chart", viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": "Reward of two designs, one point a task" },
    axes(x, y, parts, parts, [oneLine(names[0] ?? "", 60), oneLine(names[1] ?? "", 60)], (v) => v.toFixed(2)), s("line", { cls: "frontier", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    points.map((p) => s("circle", { cls: `point${p.b > p.a ? " best" : ""}`, cx: x(p.a), cy: y(p.b), r: 5, tabindex: 0, role: "button", "aria-label": `${p.task}: ${p.b.toFixed(3)} against ${p.a.toFixed(3)}`, onclick: () => choose(p.task), onkeydown: (e) => e.key === "Enter" && choose(p.task) }, s("title", {}, `${p.task}: ${p.b.toFixed(3)} against ${p.a.toFixed(3)}`))));
}

// One run's delegations: a line a worker.
export function raster(row, longest) {
  const workers = Math.max(1, row.workers);
  const high = Math.max(28, workers * 6);
  return s("svg", { cls: "chart", viewBox: `0 0 150 ${high}`, preserveAspectRatio: "none", "aria-hidden": "true", style: { height: `${high}px` } },
    s("rect", { x: 0, y: 0, width: (150 * row.seconds) / longest, height: high, style: { fill: "var(--phase)" } }),
    row.bars.map(([worker, start, end, resumed]) => s("rect", { x: (150 * start) / longest, y: (worker * high) / workers + 1, width: Math.max(1, (150 * (end - start)) / longest), height: Math.max(1.5, high / workers - 2), style: { fill: resumed ? "var(--tool)" : "var(--report)" } })));
}
