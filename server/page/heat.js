// SPDX-License-Identifier: Apache-2.0
// Draws a map over its image, as the server does: the image in grey, values interpolated between the centres of the
// cells, the part of the image outside the grid darkened.
import {paint} from "./colour.js";

const SHORTEST = 256, LONGEST = 1024;  // minimum and maximum of the longer side, in pixels
const FULL_GREY = 0.55;                // map weight at which the image becomes fully grey
const UNCOVERED = 0.35;                // brightness outside the grid

// Returns the image at the displayed size.
export function sized(bitmap) {
  const longer = Math.max(bitmap.width, bitmap.height);
  const scale = Math.min(Math.max(longer, SHORTEST), LONGEST) / longer;
  const canvas = new OffscreenCanvas(
      Math.max(1, Math.round(bitmap.width * scale)), Math.max(1, Math.round(bitmap.height * scale)));
  const context = canvas.getContext("2d", {willReadFrequently: true});
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

// Returns, for each of `to` output positions, the indices of four of the `from` input cells and the weights of these
// cells in a cubic convolution with a = -3/4. Border cells are repeated beyond the border.
function taps(from, to) {
  const a = -0.75, places = new Int32Array(4 * to), weights = new Float32Array(4 * to);
  for (let i = 0; i < to; i++) {
    const place = ((i + 0.5) * from) / to - 0.5, first = Math.floor(place), t = place - first;
    const near = (x) => ((a + 2) * x - (a + 3)) * x * x + 1;
    const far = (x) => ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    weights.set([far(1 + t), near(t), near(1 - t), far(2 - t)], 4 * i);
    for (let k = 0; k < 4; k++) places[4 * i + k] = Math.min(from - 1, Math.max(0, first - 1 + k));
  }
  return {places, weights};
}

// Interpolates [rows, columns] to [height, width].
export function interpolate(values, rows, columns, width, height) {
  const across = taps(columns, width), down = taps(rows, height);
  const wide = new Float32Array(rows * width), result = new Float32Array(height * width);
  for (let row = 0; row < rows; row++) {
    for (let x = 0; x < width; x++) {
      let sum = 0;
      for (let k = 4 * x; k < 4 * x + 4; k++) sum += across.weights[k] * values[row * columns + across.places[k]];
      wide[row * width + x] = sum;
    }
  }
  for (let y = 0; y < height; y++) {
    for (let k = 4 * y; k < 4 * y + 4; k++) {
      const weight = down.weights[k], from = down.places[k] * width;
      for (let x = 0; x < width; x++) result[y * width + x] += weight * wide[from + x];
    }
  }
  return result;
}

// Converts the rectangle `covers` from pixels of the image to whole pixels of the displayed image.
export function coveredPart(covers, picture, shown) {
  const across = shown.width / picture.width, down = shown.height / picture.height;
  const inside = (value, most) => Math.min(most, Math.max(0, Math.round(value)));
  const left = inside(covers.left * across, shown.width), top = inside(covers.top * down, shown.height);
  return {
    left,
    top,
    width: inside((covers.left + covers.width) * across, shown.width) - left,
    height: inside((covers.top + covers.height) * down, shown.height) - top
  };
}

// Returns the colours of a map for a part of the displayed image.
export function colours(map, part, range) {
  return paint(interpolate(map.values, map.rows, map.columns, part.width, part.height), range);
}

// Draws the image `shown`, and the colours `rgb` over its rectangle `part` with the opacity `weight`, 0 to 1.
export function compose(canvas, shown, rgb, part, weight) {
  const image = new ImageData(new Uint8ClampedArray(shown.data), shown.width, shown.height);
  const data = image.data, grey = Math.min(1, weight / FULL_GREY), dimmed = 1 - grey * (1 - UNCOVERED);
  for (let y = 0; y < shown.height; y++) {
    for (let x = 0; x < shown.width; x++) {
      const i = 4 * (y * shown.width + x), column = x - part.left, row = y - part.top;
      if (column < 0 || row < 0 || column >= part.width || row >= part.height) {
        for (let channel = 0; channel < 3; channel++) data[i + channel] *= dimmed;
        continue;
      }
      const from = 3 * (row * part.width + column);
      const light = 0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2];
      for (let channel = 0; channel < 3; channel++) {
        const below = data[i + channel] + grey * (light - data[i + channel]);
        data[i + channel] = below + weight * (rgb[from + channel] - below);
      }
    }
  }
  canvas.width = shown.width;
  canvas.height = shown.height;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// Draws a frame around one cell, visible on every colour.
export function markCell(canvas, part, rows, columns, cell) {
  const row = Math.floor(cell / columns), column = cell % columns;
  const left = part.left + (column * part.width) / columns, top = part.top + (row * part.height) / rows;
  const context = canvas.getContext("2d"), unit = Math.max(1, canvas.width / 400);
  for (const [colour, width] of [["#000", 5 * unit], ["#fff", 2.5 * unit]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(left, top, part.width / columns, part.height / rows);
  }
}
