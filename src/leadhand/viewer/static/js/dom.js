// The only way this program makes elements. Text becomes text nodes, always: nothing here, and nothing elsewhere,
// turns a string into markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (key === "value") node.value = value;
    else node.setAttribute(key === "cls" ? "class" : key, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

export function link(text, act, props) {
  return h("button", { type: "button", cls: "link", onclick: act, ...props }, text);
}

// A table from columns [{name, num, cell(row), sort(row)}]; headers sort where `sort` is given.
export function table(columns, rows, options = {}) {
  let by = options.by ?? null;
  let down = options.down ?? true;
  const body = h("tbody");
  const head = columns.map((column, i) => {
    const name = column.sort
      ? h("button", { type: "button", onclick: () => ((down = by === i ? !down : Boolean(column.num)), (by = i), draw()) }, column.name)
      : column.name;
    return h(column.name ? "th" : "td", { cls: column.num ? "num" : null, scope: column.name ? "col" : null, title: column.title }, name);
  });
  function draw() {
    const sorted = [...rows];
    if (by !== null) {
      const key = columns[by].sort;
      sorted.sort((a, b) => compare(key(a), key(b)) * (down ? -1 : 1));
    }
    head.forEach((cell, i) => {
      if (i === by) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    body.replaceChildren(...sorted.map((row) => line(columns, row, options)));
  }
  draw();
  const made = h("table", { cls: options.cls }, h("thead", {}, h("tr", {}, head)), body);
  return h("div", { cls: "scroll" }, made);
}

function line(columns, row, options) {
  const cells = columns.map((c) => h("td", { cls: [c.num ? "num" : "", c.cls || ""].join(" ").trim() || null }, c.cell(row)));
  return h("tr", { cls: options.rowCls ? options.rowCls(row) : null }, cells);
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}

export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
