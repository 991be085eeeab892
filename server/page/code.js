// SPDX-License-Identifier: Apache-2.0
// Code in curl, Python and JavaScript that sends the request of a card. The functions are pure.
import {classifyPath} from "./api.js";

const VARIABLE = "VITRINE_TOKEN";

// Return the text as a quoted and escaped string, for a shell (`shell`), or for Python and JavaScript (`quoted`).
const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
const quoted = (text) => JSON.stringify(text);

// `asked`: id (of the model), parameters, origin (of the server), file (name of the image file), sample (path of the
// image at the server; "" if it was uploaded), token (true if a token was sent), map (the displayed map, {head} or
// null).
export function curl(asked) {
  const address = asked.origin + classifyPath(asked.id, asked.parameters);
  const token = asked.token ? `-H "Authorization: Bearer $${VARIABLE}" ` : "";
  const file = shell(asked.file);
  const first = asked.sample ? `curl -s -o ${file} ${shell(asked.origin + asked.sample)}\n` : "";
  return `${first}curl ${token}--data-binary ${shell(`@${asked.file}`)} \\\n  ${shell(address)}\n`;
}

const asksClasses = (asked) => asked.parameters.some(([name]) => name === "top_k");

export function javascript(asked) {
  const address = asked.origin + classifyPath(asked.id, asked.parameters);
  const token = asked.token ? `, headers: {Authorization: \`Bearer \${process.env.${VARIABLE}}\`}` : "";
  const picture = asked.sample ?
      `const picture = await (await fetch(${quoted(asked.origin + asked.sample)})).arrayBuffer();\n` :
      `import {readFile} from "node:fs/promises";\n\nconst picture = await readFile(${quoted(asked.file)});\n`;
  const options = `{method: "POST", body: picture${token}}`;
  return `${picture}const response = await fetch(\n  ${quoted(address)},\n  ${options});\n` +
      `const answer = await response.json();\nif (!response.ok) throw new Error(answer.error);\n` +
      (asksClasses(asked) ?
           `for (const {label, probability} of answer.predictions) console.log(label, probability.toFixed(4));\n` :
           `console.log(answer.features[0].values);\n`);
}

// Converts "KIND:LAYERS:HEADS:QUERY" of the HTTP API to an argument of the Python client.
function attention(text) {
  const [kind, layers, heads, query] = text.split(":");
  const list = (numbers) => (numbers === "all" ? `"all"` : `[${numbers}]`);
  const parts = [quoted(kind)];
  if (layers) parts.push(`layers=${list(layers)}`);
  if (heads) parts.push(`heads=${list(heads)}`);
  if (query) parts.push(`query=${query}`);
  return parts.length === 1 ? parts[0] : `vitrine.Attention(${parts.join(", ")})`;
}

export function python(asked) {
  const [model, version] = asked.id.split("@"), url = new URL(asked.origin);
  const values = (name) => asked.parameters.filter(([each]) => each === name).map(([, value]) => value);
  const secure = url.protocol === "https:";
  const place = `${url.hostname}:${url.port || (secure ? 443 : 80)}`;
  const how = [quoted(place), ...(secure ? ["tls=True"] : [])];
  const wishes = [quoted(asked.file), quoted(model)];
  if (version) wishes.push(/^\d+$/.test(version) ? `version=${version}` : `version_label=${quoted(version)}`);
  for (const top of asksClasses(asked) ? values("top_k") : [0]) wishes.push(`top_k=${top}`);
  for (const features of values("features")) wishes.push(`features=${quoted(features)}`);
  const maps = values("attention").map(attention);
  if (maps.length) wishes.push(`attention=[${maps.join(", ")}]`);
  const fetch = asked.sample ?
      `import urllib.request\n\nimport vitrine\n\nurllib.request.urlretrieve(${quoted(asked.origin + asked.sample)}, ${
          quoted(asked.file)})\n` :
      "import vitrine\n\n";
  const shown = asked.map?.head == null ? "result.attention[0]" :
                                          `next(each for each in result.attention if each.head == ${asked.map.head})`;
  const note = asked.token ? `# The token is read from $${VARIABLE}.\n` : "";
  return `${fetch}${note}with vitrine.Client(${how.join(", ")}) as client:\n    result = client.classify(\n        ${
             wishes.join(",\n        ")},\n    )\n` +
      (asksClasses(asked) ? `for found in result.predictions:\n    print(found.label, round(found.probability, 4))\n` :
                            `print(result.features[${quoted(values("features")[0])}])\n`) +
      (asked.map ? `${shown}.draw().save("attention.png")\n` : "");
}

export const LANGUAGES = [["curl", curl], ["Python", python], ["JavaScript", javascript]];
