// SPDX-License-Identifier: Apache-2.0
// Panel of the page ("card") that shows one model's answer: the image with its map, classes, heads, and timings.
import * as api from "./api.js";
import {paint, paintBar, putRgb} from "./colour.js";
import {make, milliseconds, percent, plural, short} from "./dom.js";
import {colours, compose, coveredPart, markCell} from "./heat.js";
import {cellAt, KINDS, lack, ON_PICTURE, parametersOf, unknown} from "./question.js";
import {download, showModel} from "./sheet.js";

const PATIENCE = 400, LONG = 2000;  // time until progress is shown, and until the progress shows seconds, in ms
const LEAST_SHARE = 2;  // minimum end of the colour scale, as a multiple of uniform attention, which then looks flat
const STAGES = [["queue", "waiting"], ["decode", "decoding"], ["compute", "computing"], ["encode", "maps"]];

const flat = (map) => ({...map, values: Float32Array.from(map.values.flat())});
const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const isDiverging = (map) => map.diverging || map.values.some((value) => value < 0);

export class Card {
  // `act`: callbacks for the user's actions, {state(), patch([x, y]), leave(), head(h), code(card)}.
  constructor(id, act) {
    this.id = id;
    this.act = act;
    this.answer = this.map = this.failure = this.about = this.shown = null;
    this.heads = [];
    this.canvas = make("canvas", {
      role: "img",
      tabindex: 0,
      click: (event) => this.point(event),
      keydown: (event) => this.key(event),
      pointermove: (event) => this.read(event),
      pointerleave: () => this.tell()
    });
    this.bar = make("canvas", {"aria-hidden": "true"});
    this.ends = make("div", {class: "ends"});
    this.told = make("p", {class: "about"});
    this.legend = make("div", {class: "legend"}, this.bar, this.ends);
    this.words = make("div", {class: "said"});
    this.bytes = make("progress", {max: 1, "aria-hidden": "true"});
    this.stage = make("span");
    this.progress = make("p", {class: "progress", hidden: true}, this.stage, this.bytes);
    this.strip = make("div", {class: "strip"});
    this.frame = make("div", {class: "frame"}, this.canvas);
    this.side = make("div", {class: "words"}, this.words);
    this.element = make(
        "article", {class: "card", "data-model": id, "aria-label": id},
        make(
            "figure", {}, this.frame, this.legend,
            make("div", {class: "legend"}, this.told), this.strip),
        this.side);
  }

  // Sends a request; the card changes when the answer arrives. Returns false if a newer request replaced this request.
  async ask(picture, state, about) {
    this.stop?.abort();
    const {signal} = (this.stop = new AbortController());
    if (picture !== this.picture) {
      this.picture = picture;
      this.forget();
    }
    const over = this.follow();
    this.element.classList.toggle("stale", !this.answer);
    try {
      this.about = about ?? await api.describe(this.id);
      const classify = () => {
        this.parameters = parametersOf(this.about, state, this.answer?.grid);
        return api.classify(this.id, picture.blob, this.parameters, signal, (share) => this.sent = share);
      };
      let answer = await classify();
      if (state.kind === "query" && !this.answer && !lack(this.about, state)) {
        this.answer = answer;  // the answer's grid maps the chosen point to a patch
        answer = await classify();
      }
      this.failure = null;
      this.take(answer, state);
    } catch (error) {
      if (error.name === "AbortError") return false;
      if (!(error instanceof api.Refusal)) throw error;
      this.failure = error;
      this.forget();
    } finally {
      over();
    }
    this.element.classList.remove("asking", "stale");
    return true;
  }

  forget() {
    this.answer = this.map = null;
    this.heads = [];
  }

  // Shows the progress of a request or of its preparation. Returns a function that ends this display.
  follow(before = "") {
    clearInterval(this.following);
    this.element.classList.add("asking");
    this.element.classList.toggle("stale", Boolean(before));
    (this.element.classList.contains("blank") ? this.side : this.frame).prepend(this.progress);
    const since = performance.now();
    this.sent = 0;
    const show = () => {
      const waited = performance.now() - since;
      this.progress.hidden = waited < PATIENCE;
      this.bytes.hidden = before || this.sent >= 1;
      this.bytes.value = this.sent;
      const seconds = waited < LONG ? "" : `, ${plural(Math.round(waited / 1000), "second")} so far`;
      const now = this.sent < 1 ? `Sending the picture, ${percent(this.sent, 0)}` : "Waiting for the answer";
      this.stage.textContent = (before || now) + seconds;
    };
    const following = this.following = setInterval(show, 100);
    return () => {
      clearInterval(following);
      if (this.following === following) this.progress.hidden = true;
    };
  }

  // Aborts the request and stops its progress display.
  end() {
    this.stop?.abort();
    clearInterval(this.following);
  }

  // Removes the displayed image and answer, and aborts a pending request.
  clear() {
    this.end();
    this.picture = this.failure = null;
    this.forget();
    this.element.classList.remove("asking", "stale");
    this.element.classList.add("blank");
    this.words.replaceChildren(this.title());
  }

  take(answer, state) {
    this.answer = answer;
    const maps = answer.attention.filter((map) => map.kind === state.kind).map(flat);
    this.heads = ON_PICTURE.includes(state.kind) ? maps.filter((map) => map.head !== null) : [];
    this.map =
        (state.head === null ? maps.find((map) => map.head === null) : maps.find((map) => map.head === state.head)) ??
        maps[0] ?? null;
    if (lack(this.about, state)) this.map = null;
  }

  // Returns the largest value of the map, multiplied by the number of cells. All cards share one colour scale, which
  // main.js computes from these values.
  get peak() {
    if (!this.map?.covers || isDiverging(this.map)) return 0;
    return largest(this.map.values) * this.map.values.length;
  }

  // Draws the image with its map, and the buttons of the attention heads; drawWords draws the text.
  draw(picture, state, peak) {
    this.range = null;
    if (this.map) {
      const diverging = isDiverging(this.map);
      const high = diverging || !this.map.covers ? largest(this.map.values) :
                                                   Math.max(LEAST_SHARE, peak) / this.map.values.length;
      this.range = {high, diverging};
    }
    this.drawPicture(picture, state);
    this.missing = this.failure ? "" : lack(this.about, state);
    this.drawLegend();
    this.drawHeads(state);
  }

  drawPicture(picture, state) {
    const {canvas, map} = this;
    this.element.classList.toggle("blank", !picture.shown);  // `shown` is null if the browser cannot decode the image
    canvas.classList.toggle("matrix", Boolean(map) && !map.covers);
    if (!picture.shown) return;
    this.part = null;
    if (map && !map.covers) {
      canvas.width = map.columns;
      canvas.height = map.rows;
      putRgb(canvas, paint(map.values, this.range));
    } else if (map) {
      this.part = coveredPart(map.covers, picture.bitmap, picture.shown);
      const rgb = colours(map, this.part, this.range);
      this.repaint = (weight) => {
        compose(canvas, picture.shown, rgb, this.part, weight);
        if (map.kind === "query")
          markCell(canvas, this.part, map.rows, map.columns, cellAt(state.patch ?? [0.5, 0.5], map));
      };
      this.repaint(state.opacity / 100);
    } else {
      canvas.width = picture.shown.width;
      canvas.height = picture.shown.height;
      canvas.getContext("2d").putImageData(picture.shown, 0, 0);
      if (this.answer?.grid?.covers) this.part = coveredPart(this.answer.grid.covers, picture.bitmap, picture.shown);
    }
    if (!map?.covers) this.repaint = null;
    canvas.setAttribute("aria-label", this.describe(state));
  }

  describe(state) {
    const first = this.answer?.predictions[0];
    const what = this.map ?
        `${KINDS[this.map.kind]} of ${this.id}${this.map.layer === null ? "" : `, layer ${this.map.layer}`}` +
            `${this.map.head === null ? "" : `, head ${this.map.head}`}, over the picture` :
                                        `The picture, as ${this.id} got it`;
    const asks = this.about && this.about.attention.some((offer) => offer.kind === "query");
    return `${what}${first ? `: ${first.label} ${percent(first.probability)}` : ""}.` +
        (asks ? " Arrow keys choose the patch whose query row is shown; Escape goes back." : "");
  }

  drawLegend() {
    this.legend.hidden = !this.range;
    if (this.range) {
      paintBar(this.bar, this.range);
      const {high, diverging} = this.range, cells = this.map.values.length;
      const end = this.map.covers && !diverging ?
          `${percent(high, high < 0.01 ? 2 : 1)}, ${short(high * cells)}× an equal share` :
          short(high);
      this.ends.replaceChildren(
          ...(diverging ? [short(-high), "0", `+${end}`] : ["0", end]).map((text) => make("span", {}, text)));
    }
    this.tell();
  }

  tell(text = "") {
    const {map} = this;
    this.told.classList.toggle("lack", Boolean(this.missing) && !text);
    this.told.textContent = text || this.missing ||
        (map ? `${KINDS[map.kind]}${map.layer === null ? "" : `, layer ${map.layer}`}, ` +
                 `${
                     map.kind === "rollout" ? "all layers" :
                         map.head === null  ? "mean of the heads" :
                                              `head ${map.head}` }, ` +
                 `${map.rows} × ${map.columns}` :
               "");
  }

  drawWords(state) {
    const {answer, failure} = this;
    const parts = [this.title()];
    if (failure && this.toldAbove)
      parts.push(make("p", {class: "sentence"}, "No answer."));
    else if (failure)
      parts.push(make("div", {class: "trouble", role: "alert"}, failure.message, make("code", {}, failure.shortCode)));
    if (answer) parts.push(this.predictions());
    if (answer?.unsure)
      parts.push(make("p", {class: "sentence"}, "Unsure: with this confidence the model is often wrong."));
    if (answer && unknown(this.about, state)) parts.push(make("p", {class: "sentence"}, unknown(this.about, state)));
    if (answer) parts.push(this.times(), this.actions());
    this.words.replaceChildren(...parts);
  }

  title() {
    const version = this.answer?.version ?? this.id.split("@")[1] ?? this.about?.version;
    const precision = this.answer?.served_by.precision ?? this.about?.precision;
    return make(
        "div", {class: "title"}, make("h3", {}, this.id.split("@")[0]),
        version ? make("p", {class: "small"}, `version ${version}${precision ? `, ${precision}` : ""}`) : null);
  }

  actions() {
    const button = (text, click) => make("button", {type: "button", class: "quiet", click}, text);
    const name = `${this.picture.blob.name?.replace(/\.\w+$/, "") ?? "picture"}.${this.id.replace("@", "-")}`;
    const text = () => new Blob([JSON.stringify(this.answer, null, 2)], {type: "application/json"});
    const json = () => download(text(), `${name}.json`);
    const png = () => this.canvas.toBlob((blob) => blob && download(blob, `${name}.png`));
    return make(
        "div", {class: "actions", role: "group", "aria-label": `More of ${this.id}`},
        button("Use from code", () => this.act.code(this)), button("Save picture", png),
        button("Save JSON", json), button("About the model", () => showModel(this.about)));
  }

  predictions() {
    if (!this.answer.predictions.length)
      return make("p", {class: "sentence"}, "This model has no classes: it answers with vectors and attention.");
    const rows = this.answer.predictions.map(({label, probability}) => {
      const fill = make("i");
      fill.style.setProperty("--share", `${100 * probability}%`);
      return make(
          "li", {}, make("span", {}, label || "(no name)"), make("span", {class: "share"}, percent(probability)),
          make("div", {class: "bar", "aria-hidden": "true"}, fill));
    });
    return make(
        "div", {}, make("ol", {class: "predictions", "aria-label": `Classes by ${this.id}`}, ...rows),
        make(
            "div", {class: "axis", "aria-hidden": "true"},
            ...["0", "25", "50", "75", "100 %"].map((text) => make("span", {}, text))));
  }

  // Replaces the buttons of the attention heads, and keeps the focus.
  drawHeads(state) {
    this.strip.hidden = this.heads.length < 2;
    if (this.strip.hidden) return;
    const focused = this.strip.contains(document.activeElement) ? document.activeElement.dataset.head : null;
    this.strip.replaceChildren(...this.headStrip(state));
    if (focused !== null) this.strip.querySelector(`[data-head="${focused}"]`)?.focus();
  }

  headStrip(state) {
    const high = Math.max(...this.heads.map((map) => largest(map.values))), diverging = this.heads.some(isDiverging);
    const button = (map) => {
      const canvas = make("canvas", {width: map.columns, height: map.rows, "aria-hidden": "true"});
      putRgb(canvas, paint(map.values, {high, diverging}));
      const on = state.head === map.head;
      return make(
          "button", {
            type: "button",
            "aria-pressed": String(on),
            "aria-label": `Head ${map.head}`,
            title: `Head ${map.head}`,
            "data-head": map.head,
            click: () => this.act.head(on ? null : map.head)
          },
          canvas);
    };
    const end = diverging ? short(high) : percent(high, high < 0.01 ? 2 : 0);
    return [
      make(
          "p", {class: "small"},
          `The ${this.heads.length} heads of layer ${this.heads[0].layer}, on one scale to ${end}`),
      make("div", {class: "heads", role: "group", "aria-label": `Heads of ${this.id}`}, ...this.heads.map(button))
    ];
  }

  times() {
    const {timings_ms: times, batch} = this.answer;
    const stack = make("div", {class: "stack", "aria-hidden": "true"}), list = make("ul");
    STAGES.forEach(([stage, word], i) => {
      const piece = make("i", {class: `s${i}`});
      piece.style.setProperty("--share", `${times.total > 0 ? (100 * times[stage]) / times.total : 0}%`);
      stack.append(piece);
      list.append(
          make("li", {}, make("i", {class: `s${i}`, "aria-hidden": "true"}), `${word} ${milliseconds(times[stage])}`));
    });
    const company = batch.images > 1 ? `in a batch of ${plural(batch.images, "picture")}, ${batch.grids} sizes` :
                                       "alone in its batch";
    return make(
        "div", {class: "times"}, make("p", {class: "small"}, `Answered in ${milliseconds(times.total)}, ${company}`),
        stack, list);
  }

  // Returns the pointer's position in the map's grid, [x, y] from 0 to 1; null outside the grid.
  place(event) {
    if (!this.part) return null;
    const box = this.canvas.getBoundingClientRect();
    const scale = Math.min(box.width / this.canvas.width, box.height / this.canvas.height);  // CSS object-fit: contain
    const x = (event.clientX - box.left - (box.width - this.canvas.width * scale) / 2) / scale;
    const y = (event.clientY - box.top - (box.height - this.canvas.height * scale) / 2) / scale;
    const at = [(x - this.part.left) / this.part.width, (y - this.part.top) / this.part.height];
    return at.every((part) => part >= 0 && part < 1) ? at : null;
  }

  point(event) {
    const at = this.place(event);
    if (at) this.act.patch(at);
  }

  read(event) {
    const at = this.place(event);
    if (!at || !this.map?.covers) return this.tell();
    const cell = cellAt(at, this.map), value = this.map.values[cell];
    return this.tell(
        `Row ${Math.floor(cell / this.map.columns)}, column ${cell % this.map.columns}: ` +
        (this.range.diverging ? short(value) :
                                `${percent(value, 2)}, ${short(value * this.map.values.length)}× an equal share`));
  }

  key(event) {
    const steps =
        {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Enter: [0, 0], " ": [0, 0]};
    if (event.altKey || event.ctrlKey || event.metaKey) return;  // the browser's shortcuts, such as "back"
    if (event.key === "Escape") this.act.leave();
    const step = steps[event.key], grid = this.answer?.grid;
    if (!step || !grid) return;
    event.preventDefault();
    const cell = cellAt(this.act.state().patch ?? [0.5, 0.5], grid);
    const move = (place, by, count) => (Math.min(count - 1, Math.max(0, place + by)) + 0.5) / count;
    this.act.patch(
        [move(cell % grid.columns, step[0], grid.columns), move(Math.floor(cell / grid.columns), step[1], grid.rows)]);
  }
}
