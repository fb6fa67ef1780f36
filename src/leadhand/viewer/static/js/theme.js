// Light or dark: as the system has it, or as it was chosen here.
import { h } from "./dom.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try {
    return localStorage.getItem("leadhand-theme");
  } catch {
    return null; // pages from disk may have no storage
  }
}

export function applyTheme() {
  document.documentElement.dataset.theme = chosen() || (dark.matches ? "dark" : "light");
}

export function themeButton(changed) {
  const button = h("button", { type: "button", title: "Light or dark", "aria-label": "Light or dark" }, "◐");
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("leadhand-theme", next);
    } catch {
      // then it holds for this page only
    }
    changed?.();
  });
  return button;
}

dark.addEventListener("change", applyTheme);
