// SPDX-License-Identifier: Apache-2.0
// A short burst of requests from the page, to show the effect of load on latency.
import * as api from "./api.js";
import {at, draw, milliseconds, short} from "./dom.js";
import {look} from "./live.js";

const REQUESTS = 200, AT_ONCE = 6, EVERY = 250;
const WIDTH = 640, HEIGHT = 150, LEFT = 44, BOTTOM = 22, TOP = 10;

export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

function chart(results, ended) {
  const high = Math.max(1, ...results.map((result) => result.took)), long = Math.max(1, ended);
  const x = (time) => LEFT + (time / long) * (WIDTH - LEFT - 6),
        y = (took) => HEIGHT - BOTTOM - (took / high) * (HEIGHT - BOTTOM - TOP);
  const svg = draw(
      "svg",
      {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Time of each answer, in the order they came"});
  for (const part of [0, 0.5, 1]) {
    svg.append(
        draw("line", {class: "grid-line", x1: LEFT, x2: WIDTH, y1: y(part * high), y2: y(part * high)}),
        draw("text", {x: LEFT - 6, y: y(part * high) + 4, "text-anchor": "end"}, milliseconds(part * high)));
  }
  for (const {at: time, took, refused} of results) {
    svg.append(draw("circle", {class: refused ? "miss" : "hit", cx: x(time), cy: y(took), r: 2.5}));
  }
  svg.append(draw("text", {x: WIDTH - 6, y: HEIGHT - 4, "text-anchor": "end"}, `${(long / 1000).toFixed(1)} s`));
  return svg;
}

function sentence(results, ended) {
  const answered = results.filter((result) => !result.refused), refused = results.length - answered.length;
  const times = answered.map((result) => result.took).sort((a, b) => a - b);
  const company = answered.reduce((sum, result) => sum + result.images, 0) / (answered.length || 1);
  if (results.every((result) => result.refused?.code === "UNREACHABLE"))
    return `The server does not answer: all ${refused} were lost.`;
  if (!times.length)
    return `All ${refused} were refused: ${results[0].refused.message} (${results[0].refused.shortCode})`;
  return `${short((1000 * answered.length) / ended)} answers a second; half within ${
             milliseconds(quantile(times, 0.5))} (p50), ` +
      `99 of 100 within ${milliseconds(quantile(times, 0.99))} (p99); ${short(company)} pictures a batch; ${
             refused} refused.`;
}

// Enables the load button. `target()` returns [model, blob, parameters] to send, or null without an image.
export function start(target) {
  const button = at("burst");
  button.addEventListener("click", async () => {
    const wanted = target();
    if (!wanted) {
      at("burst-text").textContent = "Choose a picture first.";
      return;
    }
    button.disabled = true;
    at("burst-text").textContent = `Sending ${REQUESTS} requests…`;
    const results = [], began = performance.now();
    let left = REQUESTS;
    const work = async () => {
      while (left-- > 0) {
        const since = performance.now();
        const result = {refused: null, images: 0};
        try {
          result.images = (await api.classify(...wanted)).batch.images;
        } catch (error) {
          result.refused = error;
        }
        results.push({...result, at: performance.now() - began, took: performance.now() - since});
      }
    };
    const watch = setInterval(() => {
      look();
      at("burst-chart").replaceChildren(chart(results, performance.now() - began));
    }, EVERY);
    await Promise.all(Array.from({length: AT_ONCE}, work));
    clearInterval(watch);
    const ended = performance.now() - began;
    at("burst-chart").replaceChildren(chart(results, ended));
    at("burst-text").textContent = sentence(results, ended);
    button.disabled = false;
    look();
  });
}
