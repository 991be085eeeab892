// SPDX-License-Identifier: Apache-2.0
// Dialogs over the page: the code of the shown request, and the model card with the properties of a model.
import {LANGUAGES} from "./code.js";
import {at, make, percent, plural} from "./dom.js";

function open(title, ...content) {
  at("sheet-title").textContent = title;
  at("sheet-content").replaceChildren(...content);
  at("sheet").showModal();
}

export function start() { at("close-sheet").addEventListener("click", () => at("sheet").close()); }

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {  // browsers allow the clipboard only for https and localhost
    getSelection().selectAllChildren(at("code-text"));
    button.textContent = "Selected, press Ctrl C";
  }
}

// `asked`: see code.js. `picture`: the file that the code reads; null if the server has the file.
export function showCode(asked, picture) {
  const code = make("code", {id: "code-text"});
  const copying = make("button", {type: "button", click: () => copy(copying, code.textContent)}, "Copy");
  const tabs = LANGUAGES.map(([name, write]) => make("button", {
                               type: "button",
                               "aria-pressed": "false",
                               click: () => {
                                 code.textContent = write(asked);
                                 copying.textContent = "Copy";
                                 for (const tab of tabs)
                                   tab.setAttribute("aria-pressed", String(tab.textContent === name));
                               }
                             },
                                                    name));
  open(
      `Use ${asked.id} from code`,
      make(
          "div", {class: "sources"}, make("div", {class: "tabs", role: "group", "aria-label": "Language"}, ...tabs),
          copying),
      make("pre", {class: "listing", tabindex: 0}, code),
      make(
          "div", {class: "hint"},
          picture &&
              make("p", {}, `The code reads ${picture.name}, the picture as the server got it. `,
                   make("button", {type: "button", class: "quiet", click: () => download(picture, picture.name)}, "Save it")),
          "Python needs the package of client/python, and the address where the server accepts ",
          "gRPC; JavaScript is a module. All of HTTP is in ", make("a", {href: "/openapi.json", target: "_blank", rel: "noopener"}, "openapi.json"), "."));
  tabs[0].click();
}

const date = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 10);

function rowsOf(about) {
  const metrics = (about.metrics ?? []).map(({name, split, value, images}) =>
      `${name} ${value <= 1 ? percent(value) : value} of ${images.toLocaleString("en")} ${split} pictures`);
  return [
    ["Version", `${about.version}, computed in ${about.precision}`],
    ["Input", about.input],
    ["Measured", metrics.join("; ")],
    ["Trained on", about.data],
    ["Recipe", about.recipe],
    ["Licence", about.licence || "not stated"],
    ["Published", about.created_unix_seconds ? date(about.created_unix_seconds) : ""],
    ["Parameters", about.parameters.toLocaleString("en")],
    ["Classes", about.classes.length ? `${about.classes.length}: ${about.classes.join(", ")}` : "none"],
    [
      "Attention",
      about.attention.map(({kind, layers, heads}) => `${kind} (${plural(layers, "layer")}, ${plural(heads, "head")})`)
          .join(", ")
    ],
    ["Features", about.features.join(", ")],
    ["Weights", about.weights_sha256 ? `SHA-256 ${about.weights_sha256}` : ""],
  ];
}

export function showModel(about) {
  const rows = rowsOf(about).filter(([, value]) => value);
  open(
      about.name,
      make(
          "dl", {class: "model-card"},
          ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
}

// Downloads a file.
export function download(blob, name) {
  const link = make("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
}
