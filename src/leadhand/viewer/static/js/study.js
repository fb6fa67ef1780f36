// A study: the frontier first, then designs, tasks, pairs, and how each run delegated.
import { h, link, table } from "./dom.js";
import { count, dollars, oneLine, percent, plural, seconds } from "./text.js";
import { runsTable } from "./home-table.js";
import { frontierChart, pairChart, raster } from "./charts.js";

// Draws into `pane`; `keep` holds what was chosen, and is given back for the next drawing. `go(params)` changes the
// address: it names the design and the task whose runs are shown, and the card they are shown under.
export function studyView(pane, home, keep, params, go) {
  const { study, rows } = home;
  const again = () => studyView(pane, home, keep, params, go);
  Object.assign(keep, { design: params.design, task: params.task });
  const choose = (under) => (design, task) => go(params.design === design && params.task === task ? {} : { design, task, under });
  keep.words ??= "";
  const page = h("div", { cls: "page" });
  const ended = rows.filter((r) => r.status !== "running" && r.status !== "reading" && !r.attempt).length;
  if (study.planned && ended < study.planned) page.append(progress(ended, study.planned));
  const cards = { frontier: frontierCard(study, keep, choose("pair")), pair: pairCard(study, keep, again, choose("pair")), designs: designsCard(study, keep, choose("designs"), again), heat: heatCard(study, choose("heat")), rasters: rastersCard(home, keep) };
  page.append(h("div", { cls: "cards" }, Object.values(cards)));
  if (keep.task || keep.design) (cards[params.under] || cards.heat).after(runsCard(home, keep));
  pane.replaceChildren(page);
  return keep;
}

function progress(ended, planned) {
  return h("p", {}, `${plural(ended, "run")} of ${count(planned)} (${percent(ended, planned)})`, h("div", { cls: "bar" }, h("i", { style: { width: `${(100 * ended) / planned}%`, background: "var(--accent)" } })));
}

function card(title, said, ...nodes) {
  return h("section", { cls: "card", "aria-label": title }, h("h2", {}, title), h("p", { cls: "muted" }, said), nodes);
}

function frontierCard(study, keep, choose) {
  const left = study.left_out ? ` ${plural(study.left_out, "run")} left out: not valid, not graded, degraded or put aside.` : "";
  return card("Reward and cost", `Means over tasks with 95 % intervals; the dashed line joins designs that no other beats.${left} ${study.note}`, frontierChart(study.designs, keep.design, choose));
}

function pairCard(study, keep, again, choose) {
  const names = study.designs.map((d) => d.design);
  keep.pair ??= [names[0], names[1] ?? names[0]];
  const choice = (side, label) => h("select", { "aria-label": label, onchange: (event) => ((keep.pair[side] = event.target.value), again()) }, names.map((n) => h("option", { value: n, selected: n === keep.pair[side] }, n)));
  const cells = (design) => new Map(study.cells.filter((c) => c.design === design && c.reward !== null).map((c) => [c.task, c]));
  const [a, b] = keep.pair.map(cells);
  const both = [...a.keys()].filter((t) => b.has(t)).map((t) => ({ task: t, a: a.get(t).reward, b: b.get(t).reward }));
  const better = both.filter((p) => p.b > p.a).length;
  const worse = both.filter((p) => p.b < p.a).length;
  const mean = both.length ? both.reduce((sum, p) => sum + p.b - p.a, 0) / both.length : 0;
  return card("Two designs, task by task", both.length ? `Up is better on ${count(better)} tasks, right on ${count(worse)}; mean difference ${mean >= 0 ? "+" : "−"}${Math.abs(mean).toFixed(3)}.` : "No task was done by both.",
    h("p", {}, "Up ", choice(1, "Design of the upward axis"), " against ", choice(0, "Design of the rightward axis")), pairChart(both, keep.pair, (task) => choose(undefined, task)));
}

function interval(i, show) {
  if (!i) return "–";
  return [show(i.mean), i.low === null ? null : h("span", { cls: "muted" }, ` ${show(i.low)} … ${show(i.high)}`)];
}

function designsCard(study, keep, choose, again) {
  const input = h("input", { type: "search", placeholder: "Filter designs", "aria-label": "Filter designs", value: keep.words, onchange: (event) => ((keep.words = event.target.value), again()) });
  const words = keep.words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = study.designs.filter((d) => words.every((w) => d.design.toLowerCase().includes(w)));
  const made = table([
    { name: "design", cls: "nowrap", cell: (d) => [link(d.design, () => choose(d.design)), d.frontier ? [" ", h("span", { cls: "badge good" }, "frontier")] : null], sort: (d) => d.design },
    { name: "reward", num: true, cell: (d) => interval(d.reward, (x) => x.toFixed(3)), sort: (d) => d.reward?.mean ?? null },
    { name: "dollars a task", num: true, cell: (d) => interval(d.usd, dollars), sort: (d) => d.usd?.mean ?? null },
    { name: "time a task", num: true, cell: (d) => (d.seconds ? seconds(d.seconds.mean) : "–"), sort: (d) => d.seconds?.mean ?? null },
    { name: "workers", num: true, cell: (d) => d.workers.toFixed(1), sort: (d) => d.workers }, { name: "delegations", num: true, cell: (d) => d.delegations.toFixed(1), sort: (d) => d.delegations },
    { name: "tasks", num: true, cell: (d) => count(d.tasks), sort: (d) => d.tasks }, { name: "runs", num: true, cell: (d) => (d.counted === d.runs ? count(d.runs) : `${d.counted} of ${d.runs}`), sort: (d) => d.runs },
    { name: "in all", num: true, cell: (d) => dollars(d.total_usd), sort: (d) => d.total_usd },
  ], found, { by: 1, down: true, rowCls: (d) => (d.design === keep.design ? "total" : null) });
  const box = card("Designs", "Click a design to see its runs.", h("p", {}, input), made);
  box.classList.add("full");
  return box;
}

function heatCard(study, choose) {
  const at = new Map(study.cells.map((c) => [`${c.design}\n${c.task}`, c]));
  const cell = (d, t) => {
    const c = at.get(`${d}\n${t}`);
    if (!c) return h("td");
    const button = h("button", { type: "button", title: `${d} on ${t}: ${c.reward === null ? "no reward" : c.reward.toFixed(3)}, ${dollars(c.usd)}, ${plural(c.runs.length, "run")}`, onclick: () => choose(d, t) }, c.reward === null ? "·" : c.reward.toFixed(2).replace(/^0/, ""));
    if (c.reward !== null) button.style.setProperty("background", `color-mix(in srgb, var(--report) ${Math.round(4 + 44 * c.reward)}%, var(--panel))`);
    return h("td", {}, button);
  };
  const head = h("tr", {}, h("td"), study.tasks.map((t) => h("th", { cls: "rot", scope: "col", title: t }, h("span", {}, oneLine(t, 24)))));
  const body = study.designs.map((d) => h("tr", {}, h("th", { scope: "row" }, oneLine(d.design, 48)), study.tasks.map((t) => cell(d.design, t))));
  const box = card("Reward by task and design", "The stronger the green, the better. Click a cell for its runs.", h("div", { cls: "scroll" }, h("table", { cls: "heat" }, head, body)));
  box.classList.add("full");
  return box;
}

function rastersCard(home, keep) {
  const rows = home.rows.filter((r) => r.bars.length && (!keep.design || r.design === keep.design));
  const longest = Math.max(...rows.map((r) => r.seconds), 0.001);
  const box = card("How each run delegated", `One bar a delegation, one line a worker, all on one scale of ${seconds(longest)}${keep.design ? `; only ${keep.design}` : ""}.`,
    h("div", { cls: "rasters" }, rows.slice(0, 120).map((r) => h("button", { type: "button", cls: "raster", title: `${r.design} on ${r.task}`, onclick: () => (location.hash = `#/run/${encodeURIComponent(r.id)}`) }, raster(r, longest), h("span", {}, oneLine(r.task, 30)), h("span", {}, oneLine(r.design, 40))))));
  box.classList.add("full");
  return box;
}

function runsCard(home, keep) {
  const rows = home.rows.filter((r) => (!keep.task || r.task === keep.task) && (!keep.design || r.design === keep.design));
  return h("section", { cls: "card full", "aria-label": "Chosen runs" }, h("h2", {}, [keep.design, keep.task].filter(Boolean).join(" on ")), runsTable(rows));
}
