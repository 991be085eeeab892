// SPDX-License-Identifier: Apache-2.0
// The server's HTTP API, and what it refuses.

const KEY = "vitrine-token";
let token = "";
try {
  token = sessionStorage.getItem(KEY) ?? "";
} catch { /* a browser that stores nothing */
}

export const setToken = (text) => {
  token = text;
  try {
    sessionStorage.setItem(KEY, text);
  } catch { /* kept for this page alone */
  }
};

// What the server would not do: its sentence, its canonical code and the status of HTTP.
export class Refusal extends Error {
  constructor(sentence, code, status = 0, retryAfter = 0) {
    super(sentence);
    Object.assign(this, {code, status, retryAfter});
  }
  get shortCode() { return this.status ? `${this.code}, HTTP ${this.status}` : this.code; }
}

async function refusalOf(response) {
  let said = {};
  try {
    said = await response.json();
  } catch { /* no JSON: the status has to do */
  }
  return new Refusal(
      said.error ?? `The server answered ${response.status} without a sentence.`, said.code ?? "UNKNOWN",
      response.status, Number(response.headers.get("Retry-After") ?? 0));
}

// Throws a Refusal; an AbortError where `signal` says so. Who answers 401 is told to "needs-token" of the window.
export async function call(path, options = {}) {
  const headers = token ? {Authorization: `Bearer ${token}`} : {};
  let response;
  try {
    response = await fetch(path, {...options, headers, cache: "no-store"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server does not answer; it has ended, or the network is gone.", "UNREACHABLE");
  }
  if (response.status === 401) dispatchEvent(new Event("needs-token"));
  if (!response.ok) throw await refusalOf(response);
  return response.json();
}

// "NAME" or "NAME@VERSION".
const pathOf = (id) => {
  const [name, version] = id.split("@");
  return `/v1/models/${encodeURIComponent(name)}${version ? `/versions/${encodeURIComponent(version)}` : ""}`;
};

export const models = async () => (await call("/v1/models")).models;
export const describe = (id) => call(pathOf(id));
export const status = (signal) => call("/v1/status", {signal});
export const samples = async () => (await call("/page/samples")).samples;
// `parameters`: [name, value] pairs of docs/how-to/http.md.
export const classify = (id, picture, parameters, signal) =>
    call(`${pathOf(id)}:classify?${new URLSearchParams(parameters)}`, {method: "POST", body: picture, signal});
