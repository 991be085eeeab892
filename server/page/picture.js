// SPDX-License-Identifier: Apache-2.0
// The chosen image: its bytes for the server, and its bitmap for the browser.
import {Refusal} from "./api.js";

const MOST_PIXELS = 16e6, LONGEST_SIDE = 8192;  // limits of the server's decoder
const MOST_BYTES = 16 * 2 ** 20;                // the server's limit of a body, by default

// Returns true if the server accepts the format of a file. `head`: at least the first 21 bytes of the file. Byte 20
// contains the flag of an animated WebP, which the server rejects.
const isTaken = (head) => {
  const start = String.fromCharCode(...head.slice(0, 16));
  if (/^RIFF....WEBPVP8X/s.test(start)) return (head[20] & 2) === 0;
  return /^(\xff\xd8|\x89PN|RIFF....WEBP)/s.test(start);
};

// Patterns of the first bytes of files that the browser may fail to decode, with the type for the error message.
const OTHERS = [
  [/^GIF8/, "a damaged GIF"], [/^BM.{4}\0{4}/s, "a damaged BMP"], [/^....ftypavi/s, "an AVIF picture"],
  [/^(\xff\x0a|\0\0\0\x0cJXL )/, "a JPEG XL"], [/^(\xff\x4f|\0\0\0\x0cjP)/, "a JPEG 2000"],
  [/^(8BPS|....ftypcrx)/s, "a raw or layered photo"],
  [/^%PDF/, "a PDF"], [/^PK\x03\x04/, "a ZIP archive or a document"], [/^(II\*\0|MM\0\*)/, "a TIFF"],
  [/^....ftyp(hei|hev|mif1|msf1)/s, "a HEIC photo"], [/^....ftyp/s, "a video"], [/^\x1aE\xdf\xa3/, "a video"],
  [/^\s*<(\?xml|svg|!DOCTYPE svg)/i, "a drawing (SVG)"], [/^(ID3|OggS|fLaC|RIFF....WAVE)/s, "a sound"],
  [/^(\xff\xfe|\xfe\xff|[\t\n\f\r\x20-\x7e\x80-\xff]*$)/, "a text"]
];

// Returns a sentence with the reason why a file, which the browser cannot decode, is rejected; empty if the server
// accepts the format. `head`: the first bytes of the file; null if the file cannot be read.
function unfit(head, blob) {
  const name = blob.name ?? "The pasted item", way = "Choose a JPEG, PNG or WebP.";
  if (!head) return `${name} cannot be read; it may be a folder, or a file that was removed. ${way}`;
  if (blob.size === 0) return `${name} is empty. ${way}`;
  if (isTaken(head)) return "";
  const start = String.fromCharCode(...head), found = OTHERS.find(([pattern]) => pattern.test(start));
  return found ? `${name} is ${found[1]}, which this page cannot show. ${way}` :
                 `${name} is not a picture that this browser or the server can read. ${way}`;
}

const headOf = async (blob, bytes) => new Uint8Array(await blob.slice(0, bytes).arrayBuffer());

// Encodes `bitmap` as a file with the name of `source` and the extension of `type`.
async function encoded(bitmap, source, type, scale = 1) {
  const canvas = new OffscreenCanvas(Math.ceil(bitmap.width * scale), Math.ceil(bitmap.height * scale));
  const context = canvas.getContext("2d");
  if (type === "image/jpeg") {  // a JPEG has no transparency; like the server, composites the image over white
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const blob = await canvas.convertToBlob({type, quality: 0.92});
  const stem = (source.name ?? "picture").replace(/\.\w+$/, "");
  return new File([blob], `${stem}.${type === "image/png" ? "png" : "jpg"}`, {type});
}

// Returns {blob, bitmap, note}: `bitmap` is null if the browser cannot decode the image (the server then reports the
// cause); `note` is a sentence about changes to the image (may be empty). A format that the server does not accept is
// converted to PNG, and an image with too many pixels or a too long side is reduced. If only the file is too large, the
// image is saved as a JPEG. Throws a Refusal for a file that is no image.
export async function open(blob) {
  let bitmap = null;
  try {
    bitmap = await createImageBitmap(blob);
  } catch {
    const sentence = unfit(await headOf(blob, 64).catch(() => null), blob);
    if (sentence) throw new Refusal(sentence, "");
    return {blob, bitmap, note: ""};
  }
  const pixels = bitmap.width * bitmap.height;
  const longest = Math.max(bitmap.width, bitmap.height);
  if (pixels > MOST_PIXELS || longest > LONGEST_SIDE) {
    const scale = Math.min(Math.sqrt(MOST_PIXELS / pixels), LONGEST_SIDE / longest) * 0.999;
    const sent = await encoded(bitmap, blob, "image/jpeg", scale);
    const smaller = await createImageBitmap(sent);
    return {
      blob: sent,
      bitmap: smaller,
      note: `The picture has ${bitmap.width} x ${bitmap.height} pixels; it was reduced here to ${
          smaller.width} x ${smaller.height}, as the server reads up to 16 megapixels and ${LONGEST_SIDE} a side.`
    };
  }
  const taken = isTaken(await headOf(blob, 21));
  const sent = taken ? blob : await encoded(bitmap, blob, "image/png");
  if (sent.size > MOST_BYTES) {
    const note = "The picture was saved as a smaller JPEG here, as the server reads files up to 16 MiB.";
    return {blob: await encoded(bitmap, blob, "image/jpeg"), bitmap, note};
  }
  return {blob: sent, bitmap, note: taken ? "" : "The picture was converted to PNG here."};
}

export async function fetched(path) {
  const response = await fetch(path).catch(() => null);
  const blob = await response?.blob().catch(() => null);
  const name = decodeURIComponent(path.split("/").pop());
  if (!blob || response.status >= 500)
    throw new Refusal("The server does not answer. The picture is shown as soon as it does.", "UNREACHABLE");
  if (!response.ok) throw new Refusal(`There is no sample ${name} here any more.`, "NOT_FOUND", response.status);
  return new File([blob], name, {type: blob.type});
}
