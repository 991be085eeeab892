// SPDX-License-Identifier: Apache-2.0
// Plot of attention distance per layer: dots for heads, a line for the mean of the heads, one scale for all models.
import {at, draw, make, short} from "./dom.js";

const WIDTH = 320, HEIGHT = 190, LEFT = 34, BOTTOM = 26, TOP = 8;

// Returns a round number of pixels at or above `value`.
function ceiling(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 2, 2.5, 4, 5, 10].find((step) => step * unit >= value);
}

function chart(name, map, high) {
  // null is a head without a distance.
  const layers = map.values.map((heads) => heads.filter((value) => value !== null));
  const x = (layer) => LEFT + ((layer + 0.5) * (WIDTH - LEFT)) / layers.length;
  const y = (value) => HEIGHT - BOTTOM - (value / high) * (HEIGHT - BOTTOM - TOP);
  const means =
      layers.map((heads) => heads.length > 0 ? heads.reduce((sum, value) => sum + value, 0) / heads.length : null);
  const label = means.map((mean) => mean === null ? "none" : short(mean)).join(", ");
  const svg = draw("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `${name}: mean distance by layer ${label} pixels`
  });
  for (const part of [0, 0.5, 1]) {
    svg.append(
        draw("line", {class: "grid-line", x1: LEFT, x2: WIDTH, y1: y(part * high), y2: y(part * high)}),
        draw("text", {x: LEFT - 6, y: y(part * high) + 4, "text-anchor": "end"}, short(part * high)));
  }
  layers.forEach((heads, layer) => {
    for (const value of heads) svg.append(draw("circle", {class: "dots", cx: x(layer), cy: y(value), r: 3}));
    svg.append(draw("text", {x: x(layer), y: HEIGHT - 8, "text-anchor": "middle"}, layer));
  });
  const points = means.flatMap((mean, layer) => mean === null ? [] : [`${x(layer)},${y(mean)}`]);
  svg.append(draw("polyline", {class: "mean", points: points.join(" ")}));
  return make("figure", {class: "plain"}, svg, make("figcaption", {class: "small"}, `${name}, by layer`));
}

export function show(cards) {
  const having = cards.map((card) => [card.id, card.answer?.attention.find((map) => map.kind === "distance")])
                     .filter(([, map]) => map);
  at("distance").hidden = having.length === 0;
  const high = ceiling(Math.max(1e-6, ...having.flatMap(([, map]) => map.values.flat())));
  at("distance-charts").replaceChildren(...having.map(([id, map]) => chart(id, map, high)));
}
