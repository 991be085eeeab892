// SPDX-License-Identifier: Apache-2.0
// Lists of the models and the sample images of the server. Imports only api.js, so that the requests for this data
// begin while the rest of the page still loads.
import * as api from "./api.js";

// Returns the models to choose from: NAME, or NAME@VERSION for each version if several versions are ready. The version
// labelled `stable` comes first.
export function choices(models) {
  return models.flatMap(({name, versions}) => {
    const ready = versions.filter((version) => version.state === "ready");
    if (ready.length < 2) return [{id: name, text: name}];
    ready.sort((a, b) => b.labels.includes("stable") - a.labels.includes("stable"));
    return ready.map(
        ({version, labels}) => ({id: `${name}@${version}`, text: [`${name} ${version}`, ...labels].join(", ")}));
  });
}

// Returns {models, abouts}; `abouts` maps the id of each choice to the model's description, or to null if the server
// returned no description.
export async function load() {
  const models = await api.models();
  const told = choices(models).map(async ({id}) => [id, await api.describe(id).catch(() => null)]);
  return {models, abouts: new Map(await Promise.all(told))};
}

// Requests the models and the samples. Returns the promises, {models, offers}; `offers` never rejects.
export function ask() {
  const asked = {models: load(), offers: api.offers().catch(() => ({samples: [], burst: false}))};
  asked.models.catch(() => {});  // errors are handled where the promise is awaited
  return asked;
}

export const first = ask();
