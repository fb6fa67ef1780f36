// Text from models is hostile: terminal codes, direction overrides and invisible characters are made harmless and
// visible before they reach the page, and megabytes are shown a piece at a time.
import { h } from "./dom.js";

const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[PX^_][^\x1b]{0,4096}\x1b\\|[ -/]*[0-~])/g;
const HIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f])/gu;
const FIRST = 24000;
const NEXT = 200000;

function visible(character) {
  const code = character.codePointAt(0);
  if (code < 32) return String.fromCodePoint(0x2400 + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

// What is safe to show of a text, over several lines.
export function plain(text) {
  return text.replace(ANSI, "").replace(/\r\n?/g, "\n").replace(HIDDEN, visible);
}

// The same on one line.
export function oneLine(text, most = 300) {
  return plain(text.slice(0, 4 * most)).replace(/\s+/g, " ").trim().slice(0, most);
}

// A piece of a line: its spaces at either end stay.
export function inLine(text, most = 300) {
  return plain(text.slice(0, most)).replace(/\s+/g, " ");
}

// A box of text that starts with a piece and gives more when asked.
export function textBox(text, options = {}) {
  const raw = String(text ?? "");
  const box = h("pre", { cls: `text${options.prose ? " prose" : ""}`, tabindex: raw.length > 3000 ? "0" : null });
  if (!raw) {
    box.append(h("span", { cls: "muted" }, "(empty)"));
    return box;
  }
  let at = 0;
  const note = h("span");
  const more = h("button", { type: "button", onclick: () => grow(NEXT) });
  const copy = h("button", { type: "button", onclick: () => navigator.clipboard?.writeText(raw) }, "Copy all");
  const foot = h("div", { cls: "more" }, more, copy, note);
  function grow(by) {
    const end = Math.min(raw.length, at + by);
    box.append(document.createTextNode(plain(raw.slice(at, end))));
    at = end;
    more.hidden = at >= raw.length;
    more.textContent = `Show ${count(Math.min(NEXT, raw.length - at))} more`;
    note.textContent = at < raw.length ? `${count(at)} of ${count(raw.length)} characters` : `${count(raw.length)} characters`;
  }
  grow(options.first ?? FIRST);
  const codes = raw.slice(0, 1e6).match(ANSI)?.length ?? 0;
  if (codes) foot.append(h("span", {}, `${count(codes)} terminal codes left out`));
  return raw.length > FIRST || codes ? h("div", {}, box, foot) : box;
}

export function json(value) {
  return textBox(JSON.stringify(value, null, 2));
}

// --- numbers ---

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(n) {
  return WHOLE.format(n);
}

export function dollars(usd) {
  if (!usd) return "$0";
  if (usd < 0.00005) return "<$0.0001";
  return usd >= 1 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4)}`;
}

export function seconds(value) {
  if (value < 60) return `${value.toFixed(1)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${String(Math.floor(value % 60)).padStart(2, "0")} s`;
  return `${Math.floor(value / 3600)} h ${String(Math.floor((value % 3600) / 60)).padStart(2, "0")} min`;
}

export function clock(ms) {
  const total = ms / 1000;
  if (total < 60) return `${total.toFixed(2)} s`;
  const minutes = Math.floor(total / 60);
  const rest = (total % 60).toFixed(1).padStart(4, "0");
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest.slice(0, 2)}`;
}

export function tokens(n) {
  if (n < 1000) return String(n);
  return n < 1e6 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(2)}M`;
}

export function percent(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(part / whole < 0.1 ? 1 : 0)} %` : "–";
}

export function plural(n, word, many = `${word}s`) {
  return `${count(n)} ${n === 1 ? word : many}`;
}

export function model(name) {
  // As leadhand.core.names.short_model.
  if (!name.startsWith("scripted/")) return name.split("/").pop() || name;
  const script = name.split(":").pop().split("/").pop();
  return script === "rehearsal" ? "scripted" : `scripted ${script}`;
}
