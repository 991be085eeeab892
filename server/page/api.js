// SPDX-License-Identifier: Apache-2.0
// Client of the server's HTTP API, and its errors.

const KEY = "vitrine-token";
let token = "";
try {
  token = sessionStorage.getItem(KEY) ?? "";
} catch { /* the browser stores nothing */
}

export const setToken = (text) => {
  token = text;
  try {
    sessionStorage.setItem(KEY, text);
  } catch { /* the token is lost with this page */
  }
};

// An error from the server: its message, canonical code and HTTP status.
export class Refusal extends Error {
  constructor(sentence, code, status = 0, retryAfter = 0) {
    super(sentence);
    Object.assign(this, {code, status, retryAfter});
  }
  get shortCode() { return this.status ? `${this.code}, HTTP ${this.status}` : this.code; }
}

// Returns true if the server is unreachable, is shutting down or is still loading its models. In these cases a retry
// may succeed.
export const passes = (refusal) => ["UNREACHABLE", "UNAVAILABLE"].includes(refusal.code);

const LIMIT = 65e3;  // time limit of an answer after the upload, in ms; a little more than the server's limit
const unreachable = () =>
    new Refusal("The server does not answer. The page will retry.", "UNREACHABLE");

function refusalOf(status, text, retryAfter) {
  let said = {};
  try {
    said = JSON.parse(text);
  } catch { /* no JSON: only the status is known */
  }
  // A proxy answers 502, 503 or 504 while it cannot reach the server.
  const code = said.code ?? ([502, 503, 504].includes(status) ? "UNAVAILABLE" : "UNKNOWN");
  return new Refusal(
      said.error?.message ?? said.error ?? `The server answered ${status} without a message.`, code, status,
      Number(retryAfter ?? 0));
}

// Returns the JSON of a successful response. Throws a Refusal for other text, such as a proxy's page with status 200.
async function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal("The answer is no JSON; it may be from a proxy. The page will retry.", "UNAVAILABLE", 200);
  }
}

// Returns the JSON of `path`. Throws a Refusal, or AbortError on abort. A 401 dispatches "needs-token" to the window.
export async function call(path, {signal, limit = LIMIT} = {}) {
  const headers = token ? {Authorization: `Bearer ${token}`} : {};
  const signals = [AbortSignal.timeout(limit), ...(signal ? [signal] : [])];
  let response, text;
  try {
    response = await fetch(path, {headers, cache: "no-store", signal: AbortSignal.any(signals)});
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (response.status === 401) dispatchEvent(new Event("needs-token"));
  if (!response.ok) throw refusalOf(response.status, text, response.headers.get("Retry-After"));
  return jsonOf(text);
}

// Sends an image. During the upload, calls `sent` with the share of the bytes that are uploaded so far. Uses
// XMLHttpRequest, because fetch reports no upload progress.
function post(path, body, signal, sent = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.timeout = LIMIT;
    if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
    const began = performance.now();
    const moved = (share) => {
      request.timeout = performance.now() - began + LIMIT;  // XMLHttpRequest counts this from the request's start
      sent(share);
    };
    request.upload.onprogress = ({loaded, total}) => moved(total ? loaded / total : 0);
    request.upload.onload = () => moved(1);
    request.onerror = request.ontimeout = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("another question came", "AbortError"));
    request.onload = () => {
      if (request.status === 401) dispatchEvent(new Event("needs-token"));
      if (request.status === 200) return resolve(jsonOf(request.responseText));
      return reject(refusalOf(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    };
    if (signal?.aborted) return request.onabort();
    signal?.addEventListener("abort", () => request.abort(), {once: true});
    return request.send(body);
  });
}

// Returns the path of a model; `id` is "NAME" or "NAME@VERSION".
const pathOf = (id) => {
  const [name, version] = id.split("@");
  return `/v1/models/${encodeURIComponent(name)}${version ? `/versions/${encodeURIComponent(version)}` : ""}`;
};

export const hasToken = () => token !== "";
export const models = async () => (await call("/v1/models")).models;
export const describe = (id) => call(pathOf(id));
export const status = (limit) => call("/v1/status", {limit});
// Returns {samples, burst}: sample images, and whether the page may send many requests at once.
export async function offers() {
  const found = await call("/page/samples");
  for (const sample of found.samples) sample.path = sample.path.split("/").map(encodeURIComponent).join("/");
  return found;
}
// Returns the path of a request that classifies an image. `parameters`: [name, value] pairs, as in
// docs/how-to/http.md.
export const classifyPath = (id, parameters) => `${pathOf(id)}:classify?${new URLSearchParams(parameters)}`;
export const classify = (id, picture, parameters, signal, sent) =>
    post(classifyPath(id, parameters), picture, signal, sent);
