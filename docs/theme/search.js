// SPDX-License-Identifier: Apache-2.0
// The theme's search takes a hyphen for "without" and the words of a flag for alternatives. All words of a flag but the last, which may not
// be whole yet, are asked for instead: "--max-queue-re" becomes "+max +queue re".
const flag = /(^|\s)-*([a-z0-9]+(?:-[a-z0-9]*)+|(?<=--)[a-z0-9]+)(?=\s|$)/gi;
const flagWords = (query) =>
  query.replace(flag, (_, before, name) => {
    const words = name.split("-").filter(Boolean);
    return before + words.map((word, i) => (i + 1 < words.length ? "+" : "") + word).join(" ");
  });

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  const isQuery = message?.type === 2 && typeof message.data === "string";
  return post.call(this, isQuery ? {...message, data: flagWords(message.data)} : message, ...rest);
};
