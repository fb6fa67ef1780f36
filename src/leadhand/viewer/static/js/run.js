// The page of one run: timeline, tabs, drawer, search, keys; live while the run goes on.
import { h, link } from "./dom.js";
import { dollars, inLine, oneLine, plural, seconds } from "./text.js";
import { RunModel } from "./model.js";
import { Timeline } from "./timeline.js";
import { Legend } from "./legend.js";
import { EventList } from "./events.js";
import { detail, title } from "./detail.js";
import { agentView } from "./agent.js";
import { overview } from "./overview.js";
import { files, reports, result } from "./tabs.js";
import { findings, isIntegrity } from "./standout.js";
import { themeButton } from "./theme.js";

const PRESSES = ["pointerdown", "pointerup", "pointercancel"];
const TABS = [["overview", "Overview"], ["events", "Events"], ["reports", "Reports"], ["files", "Files"], ["result", "Result"], ["findings", "Findings"]];

// Opens a run in `root`. `go(params)` changes the address; the page follows by `show(params)`.
export async function openRun(root, source, id, go) {
  const api = source.run(id);
  const feed = ahead(api);
  const head = await api.head().catch((error) => {
    feed.stop();
    throw error;
  });
  const page = new RunPage(root, api, head, go, source.static, feed);
  await page.ready;
  return page;
}

// The deltas are asked for before anybody can take them: one wait less.
function ahead(api) {
  const kept = [];
  let take = (delta) => kept.push(delta);
  let state = () => {};
  const stop = api.live((delta) => take(delta), (name) => state(name));
  const to = (taker, teller) => {
    [take, state] = [taker, teller];
    kept.splice(0).forEach(taker);
  };
  return { stop, to };
}

class RunPage {
  constructor(root, api, head, go, isStatic, feed) {
    this.api = { ...api, event: remembered(api.event) };
    this.model = new RunModel(head);
    this.go = (params) => go({ ...this.kept(), ...params });
    this.params = {};
    this.labels = new Map();
    this.isStatic = isStatic;
    const act = { select: (seq) => this.go({ e: seq, agent: null, q: null }), agent: (name) => this.go({ agent: name, e: null, q: null }), label: (seq) => this.label(seq), known: (seq) => this.known(seq) };
    this.timeline = new Timeline(this.model, act);
    this.events = new EventList(this.model, act);
    this.legend = new Legend();
    this.#frame(root);
    this.ready = new Promise((resolve) => (this.#loaded = resolve));
    this.keys = (event) => this.#key(event);
    document.addEventListener("keydown", this.keys);
    // Nothing is made anew under a finger: the click would be lost.
    this.press = (event) => (this.pressed = event.type === "pointerdown");
    for (const name of PRESSES) document.addEventListener(name, this.press, true);
    this.stopLive = feed.stop;
    feed.to((delta) => this.#take(delta), (state) => this.#state(state));
    this.ticking = setInterval(() => this.model.running && this.timeline.update(), 500);
  }
  #loaded = null;

  stop() {
    this.stopLive();
    clearInterval(this.ticking);
    clearTimeout(this.redrawing);
    document.removeEventListener("keydown", this.keys);
    for (const name of PRESSES) document.removeEventListener(name, this.press, true);
    this.timeline.stop();
    this.events.stop();
  }

  // What stays in the address when something else is opened.
  kept() {
    return { tab: this.params.tab };
  }

  #frame(root) {
    this.header = h("div", { cls: "facts" });
    this.status = h("span");
    this.search = h("input", { type: "search", cls: "search", placeholder: "Search all text  ( / )", "aria-label": "Search all text of this run" });
    this.search.addEventListener("keydown", (event) => event.key === "Enter" && this.search.value.trim() && this.go({ q: this.search.value.trim(), e: null, agent: null }));
    const help = h("button", { type: "button", title: "Keys", "aria-label": "Keys", onclick: () => this.#help() }, "?");
    const top = h("header", { cls: "top" },
      h("div", { cls: "name" }, this.model.head.alone ? null : link("Runs", () => (location.hash = "#/"), { title: "All runs" }), h("h1", { cls: "bdi" }, oneLine(this.model.head.task, 60)), h("span", { cls: "sub" }, teamWords(this.model.head.design)), this.status),
      this.header, h("div", { cls: "right" }, this.search, help, themeButton(() => this.timeline.draw())));
    this.progress = h("div", { cls: "progress", role: "progressbar", "aria-label": "Reading the journal", hidden: true });
    this.tabs = h("div", { cls: "tabs", role: "tablist", "aria-label": "Views of this run", onkeydown: (event) => this.#turn(event) });
    this.pane = h("div", { cls: "pane", role: "tabpanel", id: "content", tabindex: "-1" });
    this.drawerTitle = h("h2", { cls: "grow" });
    this.content = h("div", { cls: "content" });
    this.steps = h("span", {}, h("button", { type: "button", title: "Previous event (k)", "aria-label": "Previous event", onclick: () => this.#step(-1) }, "↑"), " ", h("button", { type: "button", title: "Next event (j)", "aria-label": "Next event", onclick: () => this.#step(1) }, "↓"));
    this.drawer = h("aside", { cls: "drawer", hidden: true, "aria-label": "Details" }, h("header", {}, this.drawerTitle, this.steps, h("button", { type: "button", "aria-label": "Close", title: "Close (Esc)", onclick: () => this.#close() }, "✕")), this.content);
    const main = h("main", { cls: "main" }, this.timeline.node, this.legend.node, this.tabs, this.pane);
    root.replaceChildren(h("div", { cls: "frame run" }, top, this.progress, h("div", { cls: "body" }, main, this.drawer)));
    document.title = `${oneLine(this.model.head.task, 40)} · Leadhand`;
  }

  #close() {
    this.go({ e: null, agent: null, q: null });
  }

  // --- data ---

  #take(delta) {
    const { model } = this;
    const before = model.count;
    const grew = delta.count !== before;
    model.apply(delta);
    if (grew) model.heard = delta.reading >= 1 && this.seen ? performance.now() : 0;
    this.seen = true;
    this.whole ||= model.reading >= 1;
    this.progress.hidden = this.whole;
    this.progress.style.setProperty("width", `${100 * model.reading}%`);
    this.#facts();
    this.timeline.update();
    this.legend.update(model);
    this.#tabs();
    if (this.#loaded) {
      this.#loaded();
      this.#loaded = null;
    } else this.#soon();
    if (grew && Number(this.params.e) >= before) this.#drawer(this.params); // its event was still to come
  }

  // Tabs follow less often than the timeline: they are made anew each time.
  #soon() {
    const wait = Math.max(0, (this.redrawn || 0) + 600 - performance.now());
    this.redrawing ??= setTimeout(() => {
      this.redrawing = null;
      this.redrawn = performance.now();
      if (this.pressed) this.#soon();
      else this.#redraw();
    }, wait);
  }

  // The open tab again, unless somebody is reading in it something that does not change.
  #redraw() {
    const tab = this.params.tab || "overview";
    if (tab === "events") this.events.update();
    else if (tab === "overview" || tab === "findings" || tab === "files") {
      const at = this.pane.scrollTop;
      if (!this.pane.contains(document.activeElement) && !this.pane.querySelector("details[open]")) {
        this.#fill(tab);
        this.pane.scrollTop = at;
      }
    }
  }

  #state(state) {
    this.connection = state;
    this.#facts();
  }

  #facts() {
    const { model } = this;
    const s = model.summary;
    if (!s) return;
    const fact = (value, word) => h("span", { cls: "fact" }, h("b", {}, value), word ? ` ${word}` : "");
    const counts = s.total === null ? "" : ` (${s.passed} of ${s.total})`;
    const reward = s.reward === null ? (s.grading ? [fact("grading", s.grading)] : []) : [fact(`reward ${s.reward.toFixed(3)}`, counts)];
    const unknown = s.unknown_usd ? [h("span", { cls: "fact warn" }, `+ ≤ ${dollars(Math.max(s.unknown_usd, 0.0001))} unknown`)] : [];
    this.header.replaceChildren(...reward, fact(dollars(s.settled_usd)), ...unknown, fact(seconds(s.team_s)), fact(plural(s.steps, "step").replace(/ .*/, ""), "steps"), fact(String(s.delegations.length), s.delegations.length === 1 ? "delegation" : "delegations"));
    const badge = (text, cls) => h("span", { cls: `badge ${cls}` }, text);
    const badges = [];
    if (model.reading < 1 && !this.whole) badges.push(badge(`reading ${Math.floor(100 * model.reading)} %`, ""));
    else if (s.status === "running") badges.push(this.isStatic ? badge("not ended", "warn") : this.connection === "lost" ? badge("connection lost", "bad") : badge("running", "live"));
    else badges.push(badge(s.status.replaceAll("_", " "), s.status === "finished" ? "good" : s.valid ? "warn" : "bad"));
    if (s.status !== "running" && !s.valid) badges.push(badge("not valid", "bad"));
    const found = model.marks.filter(isIntegrity).length;
    if (found) badges.push(h("button", { type: "button", cls: `badge ${s.valid ? "warn" : "bad"}`, onclick: () => this.go({ tab: "findings" }) }, plural(found, "integrity finding")));
    if (s.degraded) badges.push(badge("degraded", "bad"));
    if (s.resumed) badges.push(badge("resumed", "warn"));
    if (model.error) badges.push(h("span", { cls: "badge bad", title: model.error }, oneLine(model.error, 120)));
    this.status.replaceChildren(...badges.flatMap((b) => [b, " "]));
    document.documentElement.dataset.status = s.status;
    document.documentElement.dataset.count = String(model.count);
    document.documentElement.dataset.reading = String(model.reading);
    document.documentElement.dataset.looked = String(model.looked);
  }

  // --- labels, in parts of some hundreds ---

  known(seq) {
    const size = this.model.head.rows_per_part;
    return this.labels.get(Math.floor(seq / size))?.have?.[seq % size];
  }
  async label(seq) {
    const known = this.known(seq);
    if (known !== undefined) return known;
    const size = this.model.head.rows_per_part;
    const k = Math.floor(seq / size);
    let part = this.labels.get(k);
    if (!part || (part.have && part.have.length <= seq % size)) {
      part = {};
      part.promise = this.api.part(`rows-${k}`).then((have) => (part.have = have), () => (part.have = []));
      this.labels.set(k, part);
    }
    return (await part.promise)[seq % size] ?? "";
  }

  // --- what the address says ---

  show(params) {
    const before = this.params;
    this.params = params;
    const tab = params.tab || "overview";
    if (before.tab !== params.tab || before.who !== params.who || !this.pane.childElementCount) {
      this.#tabs();
      this.#fill(tab);
    }
    this.#drawer(params);
  }

  // Arrow keys go through the tabs, as readers of screens expect.
  #turn(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    const at = this.buttons.findIndex(({ button }) => button === document.activeElement);
    const { button } = this.buttons[(at + by + this.buttons.length) % this.buttons.length];
    button.focus();
    button.click();
    event.preventDefault();
  }

  #tabs() {
    const tab = this.params.tab || "overview";
    const marks = this.model.marks.filter(([, level]) => level !== "note");
    const worst = marks.some(([, level]) => level === "error") ? " bad" : "";
    this.buttons ??= TABS.map(([key, name]) => {
      const button = h("button", { type: "button", role: "tab", onclick: () => this.go({ tab: key === "overview" ? null : key, e: this.params.e, agent: this.params.agent, q: this.params.q }) }, name);
      const count = h("span", { hidden: true });
      button.append(key === "findings" ? count : "");
      this.tabs.append(button);
      return { key, button, count };
    });
    for (const { key, button, count } of this.buttons) {
      button.setAttribute("aria-selected", String(key === tab));
      button.setAttribute("tabindex", key === tab ? "0" : "-1");
      if (key === tab && this.shownTab !== tab) this.tabs.scrollLeft = button.offsetLeft - this.tabs.offsetLeft - 60; // a phone shows some of them
      count.className = `count${worst}`;
      count.hidden = !marks.length;
      count.textContent = String(marks.length);
    }
    this.shownTab = tab;
  }

  async #fill(tab) {
    const { pane, model } = this;
    if (!model.summary) return;
    pane.style.setProperty("overflow", tab === "events" ? "hidden" : "auto");
    pane.style.setProperty("display", tab === "events" ? "flex" : "block");
    if (tab === "events") {
      pane.replaceChildren(this.events.node);
      const index = model.agents.findIndex((a) => a.name === this.params.who);
      if (index >= 0) this.events.show(index);
      else this.events.update();
      return;
    }
    const make = { overview, findings, files, reports, result }[tab] || overview;
    const asked = (this.asked = {});
    let node;
    try {
      node = await make(this);
    } catch (error) {
      node = h("div", { cls: "empty bad" }, String(error.message || error));
    }
    if (this.asked === asked) pane.replaceChildren(node);
  }

  async #drawer({ e, agent, q }) {
    const asked = e === undefined || e === null ? -1 : Number(e);
    const seq = asked >= 0 && asked < this.model.count ? Math.floor(asked) : -1;
    const open = seq >= 0 || agent || q;
    const key = `${seq}/${agent}/${q}`;
    // Asked for first: while it is on its way, the rest of the page is drawn.
    const coming = seq >= 0 && !agent && !q && this.opened !== key ? this.#fetch(seq) : null;
    if (this.drawer.hidden && coming) {
      this.drawerTitle.textContent = title(this, seq);
      this.content.replaceChildren(); // what was there when it was closed
    }
    this.drawer.hidden = !open;
    this.steps.hidden = !(seq >= 0);
    this.timeline.agentChosen = agent || null;
    if (this.events.selected !== seq) this.events.select(seq);
    this.timeline.select(seq);
    if (!open) return;
    if (this.opened === key) return;
    this.opened = key;
    try {
      if (q) await this.#results(q, key);
      else if (agent) this.#agent(agent);
      else {
        const wanted = () => this.opened === key;
        const name = (nodes) => wanted() && ((this.drawerTitle.textContent = title(this, seq)), this.content.replaceChildren(...nodes), (this.content.scrollTop = 0));
        const entry = await soon(coming, () => name([h("p", { cls: "muted" }, "Loading…")]));
        name(await detail(this, seq, entry));
      }
    } catch (error) {
      this.content.replaceChildren(h("p", { cls: "bad" }, String(error.message || error)));
    }
  }

  // An event, and at the same time those that it is shown with: the reply that made a call, and what came of it.
  #fetch(seq) {
    const { model } = this;
    const start = model.startOf.data[seq];
    const near = [model.endOf.data[seq], start, model.of.data[start >= 0 ? start : seq]];
    if (["attempt_started", "command", "command_ended", "tool", "tool_ended", "wait", "finish"].includes(model.kindOf(seq))) for (const at of near) if (at >= 0) this.api.event(at).catch(() => {}); // said where it is shown
    return this.api.event(seq);
  }

  #agent(name) {
    this.drawerTitle.textContent = oneLine(name, 60);
    const known = this.model.line(name);
    this.content.replaceChildren(...(known ? agentView(this, name) : [h("p", { cls: "muted" }, "There is no such agent.")]));
    this.content.scrollTop = 0;
  }

  async #results(words, key) {
    this.search.value = words;
    this.drawerTitle.textContent = `Search: ${oneLine(words, 60)}`;
    const said = h("p", { cls: "muted", role: "status" }, "Searching…");
    this.content.replaceChildren(said);
    const { hits, more } = await this.api.search(words, (part) => (said.textContent = `Searching… ${Math.round(100 * part)} %`));
    if (this.opened !== key) return;
    const { model } = this;
    const shown = once(model, hits);
    said.textContent = shown.length ? `${more ? "The first " : ""}${plural(shown.length, "event")}` : "Nothing found.";
    this.content.append(...shown.map((hit) => h("button", { type: "button", cls: "hit", "data-seq": hit.seq, onclick: () => this.go({ e: hit.seq, q: null }) },
      h("div", { cls: "who" }, `${model.agentName(hit.seq) || "run"} · ${model.word(hit.seq)}${hit.places > 1 ? ` · ${hit.places} places` : ""}`),
      h("span", { cls: "bdi" }, inLine(hit.before), h("mark", {}, inLine(hit.match)), inLine(hit.after)))));
  }

  // --- keys ---

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape") {
      if (typing) event.target.blur();
      else this.#close();
      return;
    }
    if (typing) return;
    const is = (kind) => this.events.nextOf((seq) => this.model.kindOf(seq) === kind);
    const act = {
      j: () => this.#step(1), k: () => this.#step(-1), g: () => this.#open(is("delegation_started")), r: () => this.#open(is("delegation_ended")),
      n: () => this.#open(this.events.nextOf((seq) => this.model.bad.data[seq] === 1)), "/": () => this.search.focus(), "?": () => this.#help(), f: () => this.timeline.fit(),
    }[event.key];
    if (act) {
      act();
      event.preventDefault();
    }
  }
  #step(by) {
    if (!this.events.found.length) this.events.found = this.model.filter();
    this.#open(this.events.next(by));
  }
  #open(seq) {
    if (seq >= 0) this.go({ e: seq, agent: null, q: null });
  }

  #help() {
    this.opened = "help";
    this.drawer.hidden = false;
    this.steps.hidden = true;
    this.drawerTitle.textContent = "Keys";
    const keys = [["j  k", "next, previous event of the list"], ["g", "next delegation"], ["r", "next report"], ["n", "next problem"], ["/", "search all text"], ["f", "show all of the run"], ["Esc", "close"], ["← → + −", "move and zoom, when the timeline has the focus"], ["wheel, pinch", "zoom; drag to move"]];
    this.content.replaceChildren(h("div", { cls: "keys" }, keys.map(([key, what]) => [h("span", {}, h("kbd", {}, key)), h("span", {}, what)])));
  }
}

// What a command printed stands in its outcome and again in the results that its agent was given: shown once.
function once(model, hits) {
  const seen = new Set();
  return hits.filter((hit) => {
    const said = JSON.stringify([model.agent.data[hit.seq], hit.before, hit.match, hit.after]);
    const again = model.kindOf(hit.seq) === "results" && seen.has(said);
    seen.add(said);
    return !again;
  });
}

// The latest events that were asked for: they never change.
function remembered(get) {
  const kept = new Map();
  return (seq) => {
    let found = kept.get(seq);
    if (found) return found;
    found = get(seq);
    kept.set(seq, found);
    found.catch(() => kept.delete(seq));
    if (kept.size > 12) kept.delete(kept.keys().next().value);
    return found;
  };
}

// What comes; if it takes longer than a blink, the reader is told.
async function soon(coming, tell) {
  const late = setTimeout(tell, 120);
  try {
    return await coming;
  } finally {
    clearTimeout(late);
  }
}

export function teamWords(design) {
  if (design.strategy && design.strategy !== "team") return `${design.strategy} · ${design.k} agents`;
  if (design.solo) return "solo";
  const size = design.workers === null ? `up to ${design.max_workers}` : String(design.workers);
  return `lead + ${size} · ${design.guidance} · ${design.schedule}`;
}
