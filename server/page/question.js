// SPDX-License-Identifier: Apache-2.0
// Makes the parameters of a request to one model, from what the model offers and what the state of the page selects.
// Also makes the sentences that say why a model cannot answer. All functions are pure.

export const KINDS = {
  class: "Class token",
  mean: "Mean over queries",
  rollout: "Rollout",
  query: "Query row of a patch",
  "class-attention": "Class attention",
  weights: "Weights, as a matrix",
  scores: "Scores, as a matrix",
  channels: "Channels, as a matrix",
};
export const ON_PICTURE = ["class", "class-attention", "mean", "rollout", "query"];

export const offerOf = (about, kind) => about?.attention.find((offer) => offer.kind === kind);
const words = (list) => (list.length < 2 ? list.join("") : `${list.slice(0, -1).join(", ")} and ${list.at(-1)}`);
const upTo = (count, word) => (count === 1 ? `one ${word}` : `${count} ${word}s, 0 to ${count - 1}`);

// Returns a sentence that says why the model does not have the map that `state` selects; empty if the model has it.
export function lack(about, state) {
  if (!about || ["", "none"].includes(state.kind)) return "";
  const offer = offerOf(about, state.kind);
  const kinds = about.attention.map((each) => each.kind).filter((kind) => kind in KINDS);
  if (!offer) {
    return `${about.name} has no attention of kind ${state.kind}` +
        (kinds.length ? `; it has ${words(kinds)}.` : ", nor of any other kind.");
  }
  if (state.kind === "rollout") return "";
  if (state.layer !== null && state.layer >= offer.layers) {
    return `${about.name} has no layer ${state.layer} of this kind; it has ${upTo(offer.layers, "layer")}.`;
  }
  if (state.head !== null && state.head >= offer.heads) {
    return `${about.name} has no head ${state.head}; it has ${upTo(offer.heads, "head")}.`;
  }
  return "";
}

// `wordsOf` splits a sample's name, GROUP/CLASS-anything.jpg or GROUP/anything-CLASS.png. `knows` returns true if one
// of the parts is the name of a class of the model.
const wordsOf = (sample) => sample.split("/").pop().split(/[-.]/);
export const knows = (about, sample) => Boolean(about?.classes.some((label) => wordsOf(sample).includes(label)));

// Returns a sentence which says that the model does not have the sample's class. Returns "" if the model has the class
// or has no classes, or if the image is not a sample.
export function unknown(about, state) {
  if (!state.sample || !about?.classes.length || knows(about, state.sample)) return "";
  const {classes} = about,
        some =
            classes.length > 5 ? `${classes.slice(0, 4).join(", ")} and ${classes.length - 4} others` : words(classes);
  return `This sample shows none of its classes: ${some}.`;
}

// Returns the parameters of a request for the shortest answer. A model without classes has no predictions, so one
// feature vector is requested instead.
export const briefly = (about) => about?.classes.length === 0 ? [["features", about.features[0]]] : [["top_k", 1]];

// Returns the index, row * columns + column, of the grid's cell that contains the point `patch`, [x, y] from 0 to 1.
export const cellAt = (patch, grid) => Math.min(grid.rows - 1, Math.floor(patch[1] * grid.rows)) * grid.columns +
    Math.min(grid.columns - 1, Math.floor(patch[0] * grid.columns));

// Returns the parameters of a request. `grid`: the grid in the last answer, needed to compute the index of a patch.
export function parametersOf(about, state, grid) {
  const parameters = about.classes.length ? [["top_k", Math.min(5, about.classes.length)]] : [];
  if (about.features.length) parameters.push(["features", about.features[0]]);
  const attention = [];
  const offer = offerOf(about, state.kind);
  if (offer && !lack(about, state)) {
    const layer = state.layer ?? -1;
    if (state.kind === "rollout")
      attention.push("rollout");
    else if (!ON_PICTURE.includes(state.kind))
      attention.push(`${state.kind}:${layer}:${state.head ?? ""}`);
    else if (state.kind !== "query" || grid) {
      const patch = state.kind === "query" ? `:${cellAt(state.patch ?? [0.5, 0.5], grid)}` : "";
      attention.push(`${state.kind}:${layer}:${patch}`);
      if (offer.heads > 1) attention.push(`${state.kind}:${layer}:all${patch}`);
    }
  }
  if (offerOf(about, "distance")) attention.push("distance");
  for (const each of attention) parameters.push(["attention", each]);
  if (attention.length) parameters.push(["attention_encoding", "float"]);
  return parameters;
}
