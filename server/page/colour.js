// SPDX-License-Identifier: Apache-2.0
// Conversion of a map's values to colours. The colours are the same as in overlays that the server draws. Each scale
// interpolates linearly between 33 colours.

const INFERNO =
    "000004 040312 0b0724 150b37 210c4a 2f0a5b 3d0965 4a0c6b 57106e 64156e 71196e 7d1e6d 8a226a 972766 a32c61 b0315b " +
    "bc3754 c63d4d d04545 da4e3c e35933 eb6429 f1711f f67e14 f98c0a fb9b06 fcaa0f fbba1f f9c932 f5d949 f2e865 f3f586 fcffa4";
const DIVERGING =
    "135baf 3163b4 456cb9 5575bd 647ec2 7188c6 7f91cb 8b9bcf 98a5d4 a3aed8 afb8dc bbc2e1 c7cce5 d3d7e9 dfe1ee eaecf2 " +
    "f6f6f6 f5e9e7 f4dcd9 f2cfca f0c3bc edb6ae eaa9a0 e69c92 e39186 df8478 da776b d56a5e cf5c52 ca4e45 c43f39 bd2d2d b61622";

const STEPS = 256;

function tableOf(text) {
  const knots = text.split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const table = new Uint8ClampedArray(3 * STEPS);
  for (let step = 0; step < STEPS; step++) {
    const place = (step / (STEPS - 1)) * (knots.length - 1);
    const low = Math.min(Math.floor(place), knots.length - 2);
    for (let channel = 0; channel < 3; channel++) {
      table[3 * step + channel] = knots[low][channel] + (place - low) * (knots[low + 1][channel] - knots[low][channel]);
    }
  }
  return table;
}
const sequential = tableOf(INFERNO), diverging = tableOf(DIVERGING);

// Returns RGB bytes of values. `range`, {high, diverging}, is the scale: 0 to high, or -high to high if `diverging` is
// true.
export function paint(values, range) {
  const table = range.diverging ? diverging : sequential;
  const low = range.diverging ? -range.high : 0;
  const scale = range.high > 0 ? (STEPS - 1) / (range.high - low) : 0;
  const bytes = new Uint8ClampedArray(3 * values.length);
  for (let i = 0; i < values.length; i++) {
    const step = scale ? Math.round(Math.min(STEPS - 1, Math.max(0, (values[i] - low) * scale))) : STEPS / 2;
    bytes[3 * i] = table[3 * step];
    bytes[3 * i + 1] = table[3 * step + 1];
    bytes[3 * i + 2] = table[3 * step + 2];
  }
  return bytes;
}

// Draws the whole colour scale as a strip.
export function paintBar(canvas, range) {
  canvas.width = STEPS;
  canvas.height = 1;
  const ramp = Float32Array.from({length: STEPS}, (_, i) => i / (STEPS - 1));
  putRgb(
      canvas, paint(range.diverging ? ramp.map((part) => 2 * part - 1) : ramp, {high: 1, diverging: range.diverging}));
}

// Draws one pixel per RGB colour.
export function putRgb(canvas, rgb) {
  const image = new ImageData(canvas.width, canvas.height);
  for (let i = 0; i < canvas.width * canvas.height; i++) {
    image.data.set([rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], 255], 4 * i);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
