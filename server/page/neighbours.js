// SPDX-License-Identifier: Apache-2.0
// Samples that are most similar to the image, by cosine similarity of a model's embeddings.
import * as api from "./api.js";
import {at, make} from "./dom.js";
import {nameOf, wordsOf} from "./picker.js";
import {fetched} from "./picture.js";
import {knows} from "./question.js";

const SHOWN = 5, AT_ONCE = 3;
const known = new Map();  // model and version -> promise of [{sample, vector}]

const vectorOf = (answer) => answer.features[0]?.values;

function cosine(a, b) {
  let dot = 0, aa = 0, bb = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb || 1);
}

// Returns the samples whose class is a class of the model; all samples if there are no such samples.
function fitting(about, samples) {
  const known = samples.filter((sample) => knows(about, nameOf(sample)));
  return known.length ? known : samples;
}

// Returns the parameters of a request for the embedding of one image.
function parametersOf({classes, features}) {
  const parameters = [["features", features[0]], ["priority", "low"]];
  return classes.length ? [["top_k", 1], ...parameters] : parameters;
}

// Returns the embeddings of all samples. They are requested once per version, with low priority.
function embedAll(card, samples) {
  const key = `${card.id} ${card.answer.version}`;
  if (!known.has(key)) {
    const waiting = [...samples], found = [];
    const work = async () => {
      for (let sample = waiting.shift(); sample; sample = waiting.shift()) {
        const answer = await api.classify(card.id, await fetched(sample.path), parametersOf(card.about));
        found.push({sample, vector: vectorOf(answer)});
      }
    };
    const all = Promise.all(Array.from({length: AT_ONCE}, work)).then(() => found);
    all.catch(() => known.delete(key));
    known.set(key, all);
  }
  return known.get(key);
}

// `current()` returns true if the cards are still displayed; `sampled` opens a sample.
export async function show(cards, samples, state, current, sampled) {
  const able = cards.filter((card) => card.answer && card.about.features.length);
  at("neighbours").hidden = samples.length === 0 || able.length === 0;
  const rows = [];
  for (const card of able) {
    const vector = vectorOf(card.answer);
    let all = [];
    try {
      all = await embedAll(card, fitting(card.about, samples));
    } catch {
      continue;
    }
    if (!current()) return;
    const nearest =
        all.filter(({sample, vector: other}) => nameOf(sample) !== state.sample && other?.length === vector.length)
            .map(({sample, vector: other}) => ({sample, near: cosine(vector, other)}))
            .sort((a, b) => b.near - a.near)
            .slice(0, SHOWN);
    rows.push(make(
        "div", {class: "row"}, make("h3", {class: "small"}, card.id),
        make(
            "ul", {},
            ...nearest.map(
                ({sample, near}) => make(
                    "li", {},
                    make(
                        "button", {type: "button", title: wordsOf(sample), click: () => sampled(nameOf(sample))},
                        make("img", {src: sample.path, alt: wordsOf(sample), loading: "lazy"})),
                    make("span", {}, near.toFixed(3)))))));
  }
  if (current()) at("neighbour-rows").replaceChildren(...rows);
}
