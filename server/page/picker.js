// SPDX-License-Identifier: Apache-2.0
// Ways to choose an image: a file, a drop, a paste, the camera, a sample. Each calls `picked(file, of)` (`of`: number
// of files given), `sampled(name)` or `refuse(sentence)`.
import {at, make} from "./dom.js";

export const nameOf = (sample) => `${sample.group}/${sample.name}`;
export const wordsOf = (sample) => sample.name.replace(/\.\w+$/, "").replaceAll("-", " ");

let pictured = false;

// Loads the thumbnails of the current samples and of samples added later. Call it after the first answer: if
// the thumbnails loaded earlier, they would delay this answer.
export function showThumbnails() {
  pictured = true;
  for (const image of at("samples").querySelectorAll("img")) image.src = image.dataset.path;
}

export function showSamples(samples, sampled) {
  const strip = at("samples");
  strip.hidden = samples.length === 0;
  strip.replaceChildren();
  samples.forEach((sample, i) => {
    if (i > 0 && samples[i - 1].group !== sample.group)
      strip.append(make("span", {class: "gap", "aria-hidden": "true"}));
    strip.append(make(
        "button", {
          type: "button",
          "aria-pressed": "false",
          "data-name": nameOf(sample),
          title: wordsOf(sample),
          click: () => sampled(nameOf(sample))
        },
        make("img", {
          "data-path": sample.path,
          alt: wordsOf(sample),
          loading: "lazy",
          decoding: "async",
          fetchpriority: "low",
          width: 64,
          height: 64
        })));
  });
  if (pictured) showThumbnails();
}

export function markSample(name) {
  for (const button of at("samples").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.name === name));
  }
}

const pictureOf = (items) => [...(items ?? [])].find((file) => file.type.startsWith("image/")) ?? items?.[0];

function startDrop(picked, refuse) {
  let depth = 0;
  const show = () => document.body.classList.toggle("dropping", depth > 0);
  addEventListener("dragenter", (event) => {
    event.preventDefault();
    depth++;
    show();
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    show();
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    show();
    const files = event.dataTransfer?.files, file = pictureOf(files);
    if (file) return picked(file, files.length);
    return refuse("The dropped item is not a file. Save the picture first, then choose it.");
  });
}

function startCamera(picked, refuse) {
  const dialog = at("camera"), video = at("video");
  let asked = false;  // true: a stream was requested; a second stream would never be stopped
  at("open-camera").addEventListener("click", async () => {
    if (asked) return;
    asked = true;
    try {
      if (!navigator.mediaDevices) throw new Error("browsers allow it only with https or on this machine");
      video.srcObject = await navigator.mediaDevices.getUserMedia({video: {facingMode: "environment"}});
      dialog.showModal();
    } catch (error) {
      refuse(`There is no camera for this page: ${error.message}.`);
    } finally {
      asked = false;
    }
  });
  dialog.addEventListener("close", () => {
    for (const track of video.srcObject?.getTracks() ?? []) track.stop();
    video.srcObject = null;
  });
  at("close-camera").addEventListener("click", () => dialog.close());
  at("take").addEventListener("click", async () => {
    if (!video.videoWidth) return;
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
    canvas.getContext("2d").drawImage(video, 0, 0);
    const blob = await canvas.convertToBlob({type: "image/jpeg", quality: 0.92});
    dialog.close();
    picked(new File([blob], "camera.jpg", {type: blob.type}));
  });
}

export function start(picked, refuse) {
  const file = at("file");
  at("choose").addEventListener("click", () => file.click());
  file.addEventListener("change", () => {
    if (file.files[0]) picked(file.files[0]);
    file.value = "";
  });
  addEventListener("paste", (event) => {
    const files = event.clipboardData?.files, file = pictureOf(files);
    if (file) return picked(file, files.length);
    if (!(event.target instanceof HTMLInputElement)) refuse("The pasted item is not a picture. Copy one, or choose a file.");
  });
  startDrop(picked, refuse);
  startCamera(picked, refuse);
}
