// How messages, calls and tools are shown, in an event and in a prompt alike.
import { h } from "./dom.js";
import { json, oneLine, textBox } from "./text.js";

export function section(name, ...nodes) {
  return [h("h3", {}, name), ...nodes];
}

function argumentsOf(call) {
  try {
    const found = JSON.parse(call.arguments);
    return found && typeof found === "object" ? found : null;
  } catch {
    return null;
  }
}

// A value as JSON; one that is nested without end, as far as can be said.
function pretty(value) {
  try {
    return JSON.stringify(value, null, 2);
  } catch {
    return "(nested too deeply to be shown; the raw arguments are in the event as the journal has it)";
  }
}

export function callView(call) {
  const found = argumentsOf(call);
  if (!found) return [h("div", { cls: "muted" }, `${oneLine(call.name, 60)}: its arguments are not JSON`), textBox(call.arguments)];
  if (call.name === "bash" && typeof found.command === "string") return [textBox(found.command)];
  return [h("div", { cls: "muted" }, oneLine(call.name, 60)), ...Object.entries(found).map(([name, value]) => [h("div", { cls: "muted" }, oneLine(name, 60)), textBox(typeof value === "string" ? value : pretty(value), { prose: name !== "command" })])];
}

export function bodyView(body) {
  if (body.role === "tool") return body.results.map((r, i) => section(`Result ${i + 1}: ${oneLine(r.name, 60)}${r.is_error ? " (an error)" : ""}`, textBox(r.text)));
  if (body.role === "user") return [textBox(body.text, { prose: true })];
  return [body.text ? textBox(body.text, { prose: true }) : null, (body.calls || []).map(callView)];
}

export function toolView(spec) {
  const box = h("details", { cls: "msg" }, h("summary", {}, h("b", {}, oneLine(spec.name, 60)), h("span", { cls: "text" }, oneLine(spec.description, 200))));
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(textBox(spec.description, { prose: true }), json(spec.parameters)));
  return box;
}
