// The first page of a folder: its runs; and the study they make, where there is more than one design.
import { h } from "./dom.js";
import { count, dollars, oneLine } from "./text.js";
import { runsTable } from "./home-table.js";
import { studyView } from "./study.js";
import { themeButton } from "./theme.js";

export async function openHome(root, source) {
  const page = new HomePage(root, source);
  await page.load();
  return page;
}

// The address of a study with a choice in it.
function goStudy(params) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value)).toString();
  location.hash = `#/study${query ? `?${query}` : ""}`;
}

class HomePage {
  constructor(root, source) {
    this.source = source;
    this.params = {};
    this.words = "";
    this.tabs = h("div", { cls: "tabs", role: "tablist" });
    this.facts = h("div", { cls: "facts" });
    this.name = h("h1", { cls: "bdi" }, "Runs");
    this.pane = h("div", { cls: "pane", id: "content", tabindex: "-1" });
    root.replaceChildren(h("div", { cls: "frame" }, h("header", { cls: "top" }, h("div", { cls: "name" }, this.name), this.facts, h("div", { cls: "right" }, themeButton(() => this.draw()))), h("main", { cls: "main" }, this.tabs, this.pane)));
    this.timer = setInterval(() => this.home?.running && !this.home.reading && !document.hidden && !source.static && this.load(true), 2000);
  }

  stop() {
    clearInterval(this.timer);
    clearTimeout(this.later);
  }

  async load(again = false) {
    this.home = await this.source.home();
    document.title = `${oneLine(this.home.name, 40)} · Leadhand`;
    if (again && !this.busy) this.draw();
    if (this.home.reading && !this.source.static) this.later = setTimeout(() => this.load(true), 100);
  }

  // Nothing is made anew while somebody writes or presses something.
  get busy() {
    return this.pane.contains(document.activeElement) && document.activeElement.matches("input, select");
  }

  show(params) {
    this.params = params;
    this.draw();
  }

  draw() {
    const { home } = this;
    const { study, rows } = home;
    const view = study && this.params.view !== "runs" && (this.params.view === "study" || study.designs.length > 1) ? "study" : "runs";
    this.name.textContent = oneLine(home.name, 60);
    const ended = rows.filter((r) => r.status !== "running" && r.status !== "reading" && !r.attempt).length;
    const planned = study?.planned ? ` of ${count(study.planned)}` : "";
    const total = rows.reduce((sum, r) => sum + r.usd, 0);
    this.facts.replaceChildren(h("span", { cls: "fact" }, h("b", {}, `${count(ended)}${planned}`), ` ${ended === 1 && !planned ? "run" : "runs"} ended`),
      home.reading ? h("span", { cls: "badge" }, `reading ${count(home.reading)} more`) : "", home.running ? h("span", { cls: "badge live" }, `${home.running} running`) : "", h("span", { cls: "fact" }, h("b", {}, dollars(total)), " in all"));
    const tab = (key, name) => h("button", { type: "button", role: "tab", "aria-selected": String(view === key), onclick: () => (location.hash = `#/${key}`) }, name);
    this.tabs.replaceChildren(...(study ? [tab("study", "Study"), tab("runs", "Runs")] : [tab("runs", "Runs")]));
    const at = this.pane.scrollTop;
    const kept = this.drawn === view && this.keep;
    if (view === "study") this.keep = studyView(this.pane, home, kept || {}, this.params, goStudy);
    else this.#runs(rows);
    this.drawn = view;
    this.pane.scrollTop = at;
    document.documentElement.dataset.status = home.running ? "running" : "still";
  }

  #runs(rows) {
    const input = h("input", { type: "search", cls: "filter", placeholder: "Filter by task, design, status", "aria-label": "Filter runs", value: this.words });
    const place = h("div");
    const draw = () => {
      this.words = input.value;
      const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((r) => words.every((w) => `${r.id} ${r.task} ${r.design} ${r.status}`.toLowerCase().includes(w)));
      place.replaceChildren(found.length ? runsTable(found) : h("p", { cls: "empty" }, rows.length ? "No run fits." : "No runs here yet; `leadhand demo` makes one."));
    };
    input.addEventListener("input", draw);
    draw();
    this.pane.replaceChildren(h("div", { cls: "page" }, h("p", {}, input), place));
  }
}
