// SPDX-License-Identifier: Apache-2.0
// A picture that was chosen: the bytes that the server gets, and what the browser shows.
import {Refusal} from "./api.js";

const MOST_PIXELS = 16e6, LONGEST_SIDE = 8192;  // that the server decodes

// By its first 12 bytes: a format of the server's.
const isTaken = (head) => (head[0] === 0xff && head[1] === 0xd8) ||
    (head[0] === 0x89 && head[1] === 0x50 && head[2] === 0x4e) ||
    (String.fromCharCode(...head.slice(0, 4)) === "RIFF" && String.fromCharCode(...head.slice(8, 12)) === "WEBP");

async function encoded(bitmap, type, scale = 1) {
  const canvas = new OffscreenCanvas(Math.ceil(bitmap.width * scale), Math.ceil(bitmap.height * scale));
  const context = canvas.getContext("2d");
  if (type === "image/jpeg") {  // has no transparency, which the server lays over white
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({type, quality: 0.92});
}

// {blob, bitmap, note}: `bitmap` is null where the browser cannot read it, and the server says what is wrong with it;
// `note` tells what was changed on the way. Another format than the server's is brought to PNG here, and what is too
// large for it made smaller.
export async function open(blob) {
  let bitmap = null;
  try {
    bitmap = await createImageBitmap(blob);
  } catch {
    return {blob, bitmap, note: ""};
  }
  const pixels = bitmap.width * bitmap.height;
  const longest = Math.max(bitmap.width, bitmap.height);
  if (pixels > MOST_PIXELS || longest > LONGEST_SIDE) {
    const scale = Math.min(Math.sqrt(MOST_PIXELS / pixels), LONGEST_SIDE / longest) * 0.999;
    const sent = await encoded(bitmap, "image/jpeg", scale);
    const smaller = await createImageBitmap(sent);
    return {
      blob: sent,
      bitmap: smaller,
      note: `The picture has ${bitmap.width} x ${bitmap.height} pixels; it was made smaller here, to ${
          smaller.width} x ${smaller.height}, as the server reads up to 16 megapixels and ${LONGEST_SIDE} a side.`
    };
  }
  if (isTaken(new Uint8Array(await blob.slice(0, 12).arrayBuffer()))) return {blob, bitmap, note: ""};
  return {blob: await encoded(bitmap, "image/png"), bitmap, note: "The picture was brought to PNG here."};
}

export async function fetched(path) {
  const response = await fetch(path).catch(() => null);
  if (!response?.ok)
    throw new Refusal(`The sample ${path.split("/").pop()} is not there any more.`, "NOT_FOUND", response?.status);
  return response.blob();
}
