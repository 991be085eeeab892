// SPDX-License-Identifier: Apache-2.0
// What the server has: models, what each of them can be asked, samples. Nothing but api.js comes before it, so that it
// is asked for while the rest of the page is still on its way.
import * as api from "./api.js";

// The models that can be asked: a name, or NAME@VERSION for each where several versions are ready.
export function choices(models) {
  return models.flatMap(({name, versions}) => {
    const ready = versions.filter((version) => version.state === "ready");
    if (ready.length < 2) return [{id: name, text: name}];
    return ready.map(
        ({version, labels}) => ({id: `${name}@${version}`, text: [`${name} ${version}`, ...labels].join(", ")}));
  });
}

// {models, abouts}: `abouts` by the id of a choice, null where it was not told.
export async function load() {
  const models = await api.models();
  const told = choices(models).map(async ({id}) => [id, await api.describe(id).catch(() => null)]);
  return {models, abouts: new Map(await Promise.all(told))};
}

// {models, offers}: promises, of which `offers` never fails.
export function ask() {
  const asked = {models: load(), offers: api.offers().catch(() => ({samples: [], burst: false}))};
  asked.models.catch(() => {});  // who waits for it is told
  return asked;
}

export const first = ask();
