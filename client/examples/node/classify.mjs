// SPDX-License-Identifier: Apache-2.0
// Classifies an image and saves its attention map:
//
//   node client/examples/node/classify.mjs http://127.0.0.1:8000 eit-mini-cifar10 cat.jpg attention.png
import { readFile, writeFile } from "node:fs/promises";
import { classify, inWords } from "../vitrine.mjs";

const [server, model, path, map] = process.argv.slice(2);
if (path === undefined) {
  console.error("usage: node classify.mjs SERVER MODEL PICTURE [MAP.png]");
  process.exit(2);
}
try {
  const answer = await classify(server, model, await readFile(path), { topK: 3, attention: map ? ["mean"] : [] });
  for (const line of inWords(answer.predictions)) console.log(line);
  console.log(`${answer.model} version ${answer.version}, ${answer.timings_ms.total} ms`);
  if (map) await writeFile(map, Buffer.from(answer.attention[0].png, "base64"));
} catch (error) {
  console.error(`${path}: ${error.message}${error.cause ? `: ${error.cause.message}` : ""}`);
  process.exit(1);
}
