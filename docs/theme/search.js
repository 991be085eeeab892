// SPDX-License-Identifier: Apache-2.0
// The theme's search reads a hyphen as "without", and the words of a flag as alternatives. This code makes all words of a flag mandatory
// except the last, which the user may still be typing: "--max-queue-re" becomes "+max +queue re".
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
