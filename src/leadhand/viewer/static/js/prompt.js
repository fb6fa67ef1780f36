// The exact prompt of a model call: system prompt, tools, and every message up to the head that the call named.
import { h, link } from "./dom.js";
import { count, oneLine, plural, textBox } from "./text.js";
import { bodyView, section, toolView } from "./bodies.js";

const LATEST = 60;

// What a compacted conversation leaves out: by message and result, the text in its place.
async function leftOut(run, chain, messages) {
  const found = new Map();
  const compacted = chain.filter((at) => run.model.kindOf(at) === "compacted");
  for (const { event } of await Promise.all(compacted.map((at) => run.api.event(at)))) {
    for (const { message, result, text } of event.elided || []) {
      const seq = messages[message ?? 0];
      found.set(seq, (found.get(seq) || new Map()).set(result ?? 0, text));
    }
  }
  return found;
}

export function promptView(run, seq) {
  const box = h("div", { cls: "prompt" });
  draw(run, seq, box);
  return box;
}

async function draw(run, seq, box) {
  const { model } = run;
  // A reply's own message is not in its prompt: the prompt ends in what it follows.
  const end = model.kindOf(seq) === "attempt_replied" ? model.of.data[seq] : seq;
  const chain = end < 0 ? [] : model.chain(end);
  const messages = chain.filter((at) => !["agent_started", "compacted"].includes(model.kindOf(at)));
  const root = chain.find((at) => model.kindOf(at) === "agent_started") ?? -1;
  const gone = await leftOut(run, chain, messages);
  const note = gone.size ? ` ${plural(gone.size, "of them has", "of them have")} old outputs left out, to make room.` : "";
  box.append(h("p", { cls: "muted" }, `${plural(messages.length, "message")} after the system prompt.${note}`));
  if (root >= 0) box.append(rootView(run, root));
  const list = h("div");
  const start = Math.max(0, messages.length - LATEST);
  if (start > 0) {
    const earlier = h("button", { type: "button", onclick: () => (earlier.remove(), list.prepend(...messages.slice(0, start).map((at, i) => messageView(run, at, i, gone.get(at))))) }, `Show the ${count(start)} messages before these`);
    box.append(earlier);
  }
  list.append(...messages.slice(start).map((at, i) => messageView(run, at, start + i, gone.get(at))));
  box.append(list);
}

function lazy(summary, fill, open = false) {
  const box = h("details", { cls: "msg", open }, summary);
  const show = () => box.open && box.childElementCount === 1 && fill(box);
  box.addEventListener("toggle", show);
  return box;
}

function rootView(run, seq) {
  const summary = h("summary", {}, h("b", {}, "system"), h("span", { cls: "text" }, "system prompt and tools"));
  return lazy(summary, async (box) => {
    const { root } = (await run.api.event(seq)).event;
    if (!root) return box.append(h("p", { cls: "muted" }, "not recorded"));
    box.append(textBox(root.system, { prose: true }), ...section("Tools", ...(root.tools || []).map(toolView)));
    return undefined;
  });
}

function messageView(run, seq, i, gone) {
  const { model } = run;
  const role = { attempt_replied: "assistant", results: "tool", delivery: "tool" }[model.kindOf(seq)] || "user";
  const text = h("span", { cls: "text bdi" });
  run.label(seq).then((label) => (text.textContent = oneLine(label, 200)));
  const summary = h("summary", {}, h("span", { cls: "muted" }, `${i + 1}`), h("b", {}, role), gone ? h("span", { cls: "badge" }, "shortened") : null, text);
  const box = lazy(summary, async (into) => {
    const { message } = (await run.api.event(seq)).event;
    into.append(...[bodyView(shortened(message.body, gone))].flat(Infinity).filter(Boolean), h("div", { cls: "more" }, link(`event ${seq} →`, () => run.go({ e: seq })), h("span", {}, message.id)));
  });
  box.dataset.seq = String(seq);
  return box;
}

function shortened(body, gone) {
  return gone ? { ...body, results: body.results.map((r, i) => (gone.has(i) ? { ...r, text: gone.get(i) } : r)) } : body;
}
