"use strict";
// Marks in figures show the row of the table that they were drawn from. Headers sort.
const tip = document.getElementById("tip");
const exhibits = JSON.parse(document.getElementById("data").textContent);
for (const [slug, data] of Object.entries(exhibits)) {
  for (const mark of document.querySelectorAll(`[id^="${slug}-row"]`)) {
    const number = Number(mark.id.slice(slug.length + 4));
    const row = data.rows[number];
    if (!row) continue;
    const line = document.querySelector(`tr[data-row="${slug}-${number}"]`);
    mark.addEventListener("mousemove", (event) => {
      tip.replaceChildren();
      row.forEach((cell, i) => {
        if (cell === "–") return;
        const part = document.createElement(i ? "div" : "b");
        part.textContent = i ? `${data.labels[i]}: ${cell}` : cell;
        tip.append(part);
      });
      tip.style.display = "block";
      const right = event.clientX + tip.offsetWidth + 24 > innerWidth;
      tip.style.left = `${right ? event.clientX - tip.offsetWidth - 12 : event.clientX + 14}px`;
      tip.style.top = `${Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 8)}px`;
      mark.classList.add("hot");
      if (line) line.classList.add("hot");
    });
    mark.addEventListener("mouseleave", () => {
      tip.style.display = "none";
      mark.classList.remove("hot");
      if (line) line.classList.remove("hot");
    });
  }
}
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th").forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
      };
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const x = key(a), y = key(b);
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        return (typeof x === "number" ? x - y : x.localeCompare(y)) * (up ? 1 : -1);
      });
      table.tBodies[0].append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}
