// Addresses: #/ (runs), #/study, #/run/ID?tab=…&e=EVENT&agent=NAME&q=WORDS. Everything shown has one.
import { h } from "./dom.js";
import { open } from "./source.js";
import { openHome } from "./home.js";
import { openRun } from "./run.js";
import { applyTheme } from "./theme.js";

const root = document.getElementById("app");
const source = open();
const alone = document.querySelector('meta[name="leadhand-run"]')?.content; // the one run that is looked at
let page = null;
let shown = "";
let turn = 0;

function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return { view: view || "", id: rest.map(decodeURIComponent).join("/"), params: Object.fromEntries(new URLSearchParams(query || "")) };
}

function goIn(id) {
  return (params) => {
    const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== null && v !== undefined && v !== ""));
    const text = query.toString();
    location.hash = `#/run/${encodeURIComponent(id)}${text ? `?${text}` : ""}`;
  };
}

async function follow() {
  const mine = (turn += 1);
  let { view, id, params } = address();
  try {
    if (!location.hash && alone) {
      location.replace(`#/run/${encodeURIComponent(alone)}`);
      return;
    }
    if (view !== "run") {
      const home = await source.home();
      if (home.single && !location.hash.startsWith("#/study")) {
        location.replace(`#/run/${encodeURIComponent(home.single)}`);
        return;
      }
    }
    const wanted = view === "run" ? `run/${id}` : "home";
    if (wanted !== shown || !page) {
      page?.stop?.();
      page = null;
      const made = view === "run" ? await openRun(root, source, id, goIn(id)) : await openHome(root, source);
      if (mine !== turn) return made.stop?.();
      page = made;
      shown = wanted;
    }
    page.show(view === "run" ? params : { ...params, view });
  } catch (error) {
    root.replaceChildren(h("div", { cls: "empty" }, h("p", { cls: "bad" }, String(error.message || error)), h("a", { href: "#/" }, "All runs")));
    page = null;
  }
  return undefined;
}

// The hash is the address of what is shown: a skip link must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("content")?.focus();
});
applyTheme();
window.addEventListener("hashchange", follow);
follow();
