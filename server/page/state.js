// SPDX-License-Identifier: Apache-2.0
// State of the page, stored after the # of the address, so that a link shows the same state.

export const MOST_MODELS = 4;

const DEFAULTS = {
  sample: "",   // "GROUP/NAME"; empty: an uploaded image, or none yet
  models: [],   // "NAME" or "NAME@VERSION"; empty: the first suitable model
  kind: "",     // kind of attention; empty: the first model's first kind; "none": no map
  layer: null,  // counted from 0; null: the last
  head: null,   // counted from 0; null: the mean
  patch: null,  // point [x, y] of the grid, from 0 to 1, whose query row is shown
  opacity: 55,  // opacity of the map, in percent
};

const whole = (text) => (text !== null && /^\d+$/.test(text) ? Number(text) : null);

export function read(hash) {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const patch = (said.get("patch") ?? "").split(",").map(Number);
  return {
    sample: said.get("sample") ?? DEFAULTS.sample,
    models: [...new Set((said.get("models") ?? "").split(",").filter(Boolean))].slice(0, MOST_MODELS),
    kind: said.get("kind") ?? DEFAULTS.kind,
    layer: whole(said.get("layer")),
    head: whole(said.get("head")),
    patch: patch.length === 2 && patch.every((part) => part >= 0 && part <= 1) ? patch : null,
    opacity: Math.min(100, whole(said.get("opacity")) ?? DEFAULTS.opacity),
  };
}

export function write(state) {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    const text = name === "patch" && value ? value.map((part) => part.toFixed(3)).join(",") : String(value ?? "");
    if (text !== String(DEFAULTS[name] ?? "")) said.set(name, text);
  }
  return said.size ? `#${said.toString().replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%40", "@")}` : "";
}
