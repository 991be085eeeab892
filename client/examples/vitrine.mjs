// SPDX-License-Identifier: Apache-2.0
// Classifies images by vitrine-server's HTTP API, in a browser or in Node 18 and later, without other packages.

// An error of the server. `code`: the canonical code ("RESOURCE_EXHAUSTED"); `status`: the HTTP status; `retryAfter`:
// seconds to wait before a retry, or 0.
export class VitrineError extends Error {
  constructor(message, { status, code, retryAfter }) {
    super(message);
    Object.assign(this, { name: "VitrineError", status, code, retryAfter });
  }
}

// Returns the answer for one image: {predictions: [{label, probability, ...}], attention: [{kind, png, ...}], timings_ms,
// ...}, described in docs/how-to/http.md. `picture` is a body for fetch: a File, a Blob or bytes. `attention` is a list of
// kinds, "mean" or "mean:-1:all"; maps of shape grid are PNG in base64.
// Throws VitrineError if the server rejects the request. Throws fetch's TypeError if no server answers, or if CORS does
// not permit the page.
export async function classify(server, model, picture, { topK, attention = [], token, signal } = {}) {
  const url = new URL(`/v1/models/${encodeURIComponent(model)}:classify`, server);
  if (topK !== undefined) url.searchParams.set("top_k", topK);
  for (const kind of attention) url.searchParams.append("attention", kind);
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(url, { method: "POST", body: picture, headers, signal });
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const retryAfter = Number(response.headers.get("Retry-After") ?? 0);
  let refusal = { error: text || response.statusText, code: "UNKNOWN" };
  try {
    refusal = JSON.parse(text);
  } catch {
    // The response is not from the server, but for example from a proxy in front of the server.
  }
  throw new VitrineError(refusal.error, { status: response.status, code: refusal.code, retryAfter });
}

// Returns a line for each prediction, such as "lark   91.2 %".
export function inWords(predictions) {
  const width = Math.max(...predictions.map(({ label }) => label.length));
  return predictions.map(({ label, probability }) => `${label.padEnd(width)}  ${(100 * probability).toFixed(1)} %`);
}
