// SPDX-License-Identifier: Apache-2.0
// The form above the answers: models, attention, opacity.
import {at, make} from "./dom.js";
import {KINDS, offerOf} from "./question.js";
import {MOST_MODELS} from "./state.js";

function option(value, text, chosen) { return make("option", {value, selected: chosen}, text); }

function drawModels(all, state, change) {
  const box = at("models"), focused = document.activeElement?.value;
  const names = all.map(({id}) => id.split("@")[0]);  // a name without a version: the server chooses the version
  const gone = state.models.filter((id) => all.every((each) => each.id !== id))
                   .map((id) => ({id, text: names.includes(id) ? id : `${id} (not ready)`}));
  box.replaceChildren(...[...all, ...gone].map(({id, text}) => {
    const on = state.models.includes(id), full = state.models.length >= MOST_MODELS;
    return make(
        "label", {}, make("input", {
          type: "checkbox",
          name: "model",
          value: id,
          checked: on,
          disabled: !on && full,
          change: (event) => change(
              {models: event.target.checked ? [...state.models, id] : state.models.filter((each) => each !== id)})
        }),
        text);
  }));
  box.querySelector(`input[value="${CSS.escape(focused ?? "")}"]`)?.focus();
}

// Shows the form. `abouts`: the server's descriptions of the chosen models.
export function show(all, abouts, state, change) {
  drawModels(all, state, change);
  const kinds =
      Object.keys(KINDS).filter((kind) => kind === state.kind || abouts.some((about) => offerOf(about, kind)));
  at("kind").replaceChildren(
      ...kinds.map((kind) => option(kind, KINDS[kind] ?? kind, kind === state.kind)),
      option("none", "None", state.kind === "none"));
  const offers = abouts.map((about) => offerOf(about, state.kind)).filter(Boolean);
  const layers = Math.max(0, ...offers.map((offer) => offer.layers)),
        heads = Math.max(0, ...offers.map((offer) => offer.heads));
  const has_layers = layers > 0 && state.kind !== "rollout";
  at("layer-field").hidden = at("head-field").hidden = !has_layers;
  if (!has_layers) return showOpacity(state);
  const layer = at("layer");
  layer.max = layers - 1;
  layer.value = state.layer ?? layers - 1;
  layer.disabled = layers === 1;
  at("layer-text").textContent =
      state.layer === null ? `${layers - 1}, the last` : `${state.layer} of 0 to ${layers - 1}`;
  at("head").replaceChildren(
      option("", "mean of all", state.head === null),
      ...Array.from({length: heads}, (_, head) => option(head, head, state.head === head)));
  return showOpacity(state);
}

export function showOpacity(state) {
  at("opacity").value = state.opacity;
  at("opacity-text").textContent = `${state.opacity} %`;
}

export function start(change) {
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("kind").addEventListener("change", (event) => change({kind: event.target.value, head: null, layer: null}));
  at("layer").addEventListener("input", (event) => change({layer: Number(event.target.value)}));
  at("head").addEventListener(
      "change", (event) => change({head: event.target.value === "" ? null : Number(event.target.value)}));
  at("opacity").addEventListener("input", (event) => change({opacity: Number(event.target.value)}));
}
