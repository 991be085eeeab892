// SPDX-License-Identifier: Apache-2.0
// Asks vitrine-server's --http what is on a picture, from a browser or from Node 18 and later; needs nothing else.

// What the server, or nobody, answered: `code` is that of gRPC ("RESOURCE_EXHAUSTED"), `status` that of HTTP,
// `retryAfter` the seconds after which a retry makes sense, or 0.
export class VitrineError extends Error {
  constructor(message, { status, code, retryAfter }) {
    super(message);
    Object.assign(this, { name: "VitrineError", status, code, retryAfter });
  }
}

// The answer for one picture: {predictions: [{label, probability, ...}], attention: [{kind, png, ...}], timings_ms, ...},
// as docs/how-to/http.md has it. `picture` is what fetch takes as a body: a File, a Blob, bytes. `attention` is a list of kinds,
// "mean" or "mean:-1:all"; maps that lie on the picture come as PNG in base64.
// VitrineError: the server refused it. TypeError, as fetch throws it: there is no server, or no CORS for this page.
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
    // Something between here and the server answered.
  }
  throw new VitrineError(refusal.error, { status: response.status, code: refusal.code, retryAfter });
}

// "lark   91.2 %", a line for each.
export function inWords(predictions) {
  const width = Math.max(...predictions.map(({ label }) => label.length));
  return predictions.map(({ label, probability }) => `${label.padEnd(width)}  ${(100 * probability).toFixed(1)} %`);
}
