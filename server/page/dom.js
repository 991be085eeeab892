// SPDX-License-Identifier: Apache-2.0
// DOM elements, and formatted numbers.

export const at = (id) => document.getElementById(id);

const fill = (element, properties, children) => {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function")
      element.addEventListener(name, value);
    else
      element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

// Creates an element with attributes, listeners (`click: f`) and children. Text is never parsed as HTML.
export const make = (tag, properties = {}, ...children) => fill(document.createElement(tag), properties, children);
export const draw = (tag, properties = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
// Formats a number with about three significant digits.
export const short = (value) => {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  return Number(value.toPrecision(size >= 0.001 ? 3 : 2)).toString();
};
export const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
export const bytes = (count) => {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${count >= 10 || unit === 0 ? count.toFixed(0) : count.toFixed(1)} ${units[unit]}`;
};
