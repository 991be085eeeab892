// SPDX-License-Identifier: Apache-2.0
// Dark or light theme. The system's settings apply until the user presses the button.
import {at} from "./dom.js";

const KEY = "vitrine-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const stored = () => {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
};
const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

const show = () => {
  at("theme").textContent = isDark() ? "Light" : "Dark";
};

export function start() {
  if (stored()) document.documentElement.dataset.theme = stored();
  show();
  system.addEventListener("change", show);
  at("theme").addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch { /* the theme is not stored */
    }
    show();
  });
}
