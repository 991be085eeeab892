// SPDX-License-Identifier: Apache-2.0
// Main module: the page's state, the image, and a card for each model.
import * as api from "./api.js";
import * as burst from "./burst.js";
import {Card} from "./card.js";
import * as catalogue from "./catalogue.js";
import * as controls from "./controls.js";
import * as distance from "./distance.js";
import {at, percent} from "./dom.js";
import {sized} from "./heat.js";
import * as live from "./live.js";
import * as neighbours from "./neighbours.js";
import * as picker from "./picker.js";
import * as pictures from "./picture.js";
import {briefly, knows, offerOf, ON_PICTURE} from "./question.js";
import * as sheet from "./sheet.js";
import * as states from "./state.js";
import * as theme from "./theme.js";

let state = states.read(location.hash);
const LONGEST_WAIT = 1000;  // maximum time that thumbnails and polls wait for the first answer, in ms
const RETRY = 1000;  // milliseconds between two automatic retries
let models = [], samples = [], picture = null, cards = [], before = "", turn = 0, chosenTurn = 0, openingTurn = 0;
let missing = "";                  // name of a sample that could not be fetched
let beginning = null;              // promise of the running beginAgain(); null: none runs
let asking = false, retried = 0;  // asking: a request is in flight; retried: time of the last automatic retry
const abouts = new Map();  // descriptions of the models to choose from, by id

const say = (text) => {
  at("said").textContent = text;
};

function refuse(text, code = "") {
  at("trouble").hidden = !text;
  at("trouble").textContent = code ? `${text} (${code})` : text;
}

const chosen = () => state.models.map((id) => abouts.get(id)).filter(Boolean);

// Returns the first kind of attention map that a chosen model has and that can be drawn over the image, except "query",
// which needs a patch. Returns "none" if there is no such kind.
function firstKind() {
  for (const about of chosen()) {
    const kind = ON_PICTURE.find((each) => each !== "query" && offerOf(about, each));
    if (kind) return kind;
  }
  return "none";
}

// Returns the id of the default model: the first model that has the sample's class, otherwise the first model.
function firstModel() {
  const all = catalogue.choices(models);
  return (all.find(({id}) => state.sample && knows(abouts.get(id), state.sample)) ?? all[0])?.id;
}

// Loads the list of models. Keeps a model's last description if the server does not return it now, for example because
// the server is busy.
async function loadModels(loading = catalogue.load()) {
  const loaded = await loading;
  models = loaded.models;
  // A link may name a model without a version. If several versions of the model are ready, catalogue.load() returns
  // descriptions only for NAME@VERSION, so the description for NAME is requested here.
  const further = state.models.filter((id) => !loaded.abouts.has(id) && models.some(({name}) => name === id))
                      .map(async (id) => [id, await api.describe(id).catch(() => null)]);
  for (const [id, about] of [...loaded.abouts, ...await Promise.all(further)])
    abouts.set(id, about ?? abouts.get(id) ?? null);
}

function settle() {
  if (!state.models.length && firstModel()) state.models = [firstModel()];
  if (!state.kind && chosen().length) state.kind = firstKind();  // a kind can be chosen only if a model is known
}

const act = {
  state: () => state,
  head: (head) => change({head}),
  patch(patch) {
    if (!chosen().some((about) => offerOf(about, "query")))
      return say("None of these models has the query row of a patch.");
    if (state.kind !== "query") before = state.kind;
    const layer = state.kind === "query" ? state.layer : null;
    return change({kind: "query", patch, layer, head: state.kind === "query" ? state.head : null});
  },
  leave() {
    if (state.kind === "query") change({kind: before || firstKind(), patch: null, head: null, layer: null});
  },
  code({id, parameters, map}) {
    const found = picture.note ? null : samples.find((each) => picker.nameOf(each) === picture.sample);
    const file = found?.name ?? picture.blob.name, path = found?.path ?? "";
    const asked = {id, parameters, map, file, sample: path, origin: location.origin, token: api.hasToken()};
    sheet.showCode(asked, found ? null : picture.blob);
  },
};

function showControls() {
  controls.show(catalogue.choices(models), chosen(), state, change);
  const asks = chosen().some((about) => offerOf(about, "query"));
  // The page's address does not contain an uploaded image. If the page is opened again from the address, the user must
  // choose the image again.
  at("hint").textContent = !picture && !state.sample && models.length ? "Choose a picture to see the answers." :
      state.kind === "query" ?
      "The colours show where the framed patch looks. Click another patch, or press Escape to go back." :
      asks && picture?.bitmap ? "Click the picture to see where that patch looks." :
                                "";
}

function drawCards() {
  const peak = Math.max(0, ...cards.map((card) => card.peak));
  for (const card of cards)
    if (card.answer || card.failure) card.draw(picture, state, peak);
}

// Waits until changes are on the screen; returns at once if the page is hidden.
const painted = () => document.hidden ? Promise.resolve() :
                                        new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

function layCards() {
  const kept = new Map(cards.map((card) => [card.id, card]));
  for (const card of cards)
    if (!state.models.includes(card.id)) card.end();
  cards = state.models.map((id) => kept.get(id) ?? new Card(id, act));
  const box = at("answers");
  box.dataset.count = cards.length;
  const elements = cards.map((card) => card.element);
  if (elements.length !== box.children.length || elements.some((element, i) => element !== box.children[i]))
    box.replaceChildren(...elements);
}

const sentenceOf = (card) => {
  const first = card.answer?.predictions[0];
  return card.failure ? `${card.id}: ${card.failure.message}` :
      first           ? `${card.id}: ${card.answer.unsure ? "unsure, " : ""}${first.label}, ${percent(first.probability)}` :
      card.answer     ? `${card.id}: no classes` :
                        "";
};

async function ask() {
  const mine = ++turn;
  if (!picture) return;
  at("answers").dataset.asked = mine;
  layCards();
  const asked = cards, looked = {...state};
  asking = true;
  const answering = asked.map(async (card) => {
    const whole = await card.ask(picture, looked, abouts.get(card.id));
    if (!whole || mine !== turn) return whole;
    card.toldAbove = false;
    if (!card.failure) card.drawWords(looked);
    await painted();  // text is drawn first, because maps take longer
    if (mine === turn) drawCards();
    return whole;
  });
  picture.show();  // shows the image while the server computes
  const done = await Promise.all(answering);
  if (mine !== turn) return;
  asking = false;
  if (done.includes(false)) return;
  tellFailures(asked, looked);
  say(asked.map(sentenceOf).join(". "));
  distance.show(asked);
  at("answers").dataset.answered = mine;
  if (asked.some((card) => card.answer)) performance.mark("answered");
  neighbours.show(asked, samples, looked, () => mine === turn, sample);
}

// Shows an error only once if several models returned the same error.
function tellFailures(asked, looked) {
  const sentences = new Set(asked.map((card) => card.failure?.message));
  const once = asked.length > 1 && sentences.size === 1 && asked[0].failure;
  refuse(once ? asked[0].failure.message : "", once ? asked[0].failure.shortCode : "");
  for (const card of asked) {
    if (!card.failure) continue;
    card.toldAbove = Boolean(once);
    card.drawWords(looked);
  }
}

// Retries failed requests after the server is reachable again.
async function recover() {
  if (asking || performance.now() - retried < RETRY) return;
  const owed = cards.some((card) => card.failure && api.passes(card.failure));
  if (!owed && !missing && models.length) return;
  retried = performance.now();
  if (!models.length) return beginAgain();
  await loadModels().catch(() => {});
  showControls();
  if (missing) return sample(missing, "link");
  return ask();
}

// Writes the state into the address. Safari and Firefox throw after some hundred changes in a few seconds, for example
// while a slider moves. This does no harm, because a later change writes the whole state.
function remember() {
  try {
    history.replaceState(null, "", states.write(state) || location.pathname);
  } catch { /* a later change writes the state */
  }
}

// Applies `changes` to the state. Sends new requests, unless only the opacity changes.
function change(changes) {
  const quick = Object.keys(changes).every((name) => name === "opacity");
  state = {...state, ...changes};
  if (changes.models) settle();
  remember();
  if (quick) {
    controls.showOpacity(state);
    for (const card of cards) card.repaint?.(state.opacity / 100);
    return;
  }
  showControls();
  ask();
}

async function take(opened, note = opened.note) {
  refuse("");
  missing = "";
  picture = {...opened, shown: null, show() { return (this.shown ??= this.bitmap && sized(this.bitmap)); }};
  showControls();
  if (note) at("hint").textContent = note;
  await ask();
}

// Removes the image. Answers to pending requests are ignored.
function clearPicture() {
  ++turn;
  asking = false;
  picture = null;
  for (const card of cards) card.clear();
  at("distance").hidden = at("neighbours").hidden = true;
  showControls();
}

// Shows the sentence and scrolls to it: a user can drop a file on any part of the page, where the sentence may not be
// visible.
function refuseGiven(sentence) {
  refuse(sentence);
  at("trouble").scrollIntoView({block: "nearest"});
}

// Opens an image of the user. `of`: number of files that the user gave at once.
async function own(blob, of = 1) {
  const mine = ++openingTurn, chosenBefore = chosenTurn;
  let opened;
  try {
    opened = await pictures.open(blob);
  } catch (error) {
    if (!(error instanceof api.Refusal)) throw error;
    if (mine !== openingTurn) return;
    if (picture && !picture.bitmap) clearPicture();
    return refuseGiven(error.message);  // keeps the previous image
  }
  if (mine !== openingTurn || chosenBefore !== chosenTurn) return;
  ++chosenTurn;
  state = {...state, sample: ""};
  remember();
  picker.markSample("");
  const one = of > 1 ? `One picture at a time: of ${of} files, ${blob.name} is shown.` : "";
  return take(opened, [one, opened.note].filter(Boolean).join(" "));
}

// Opens a sample that the user chose by "hand" or by a "link". `bytes`: promise of the image if it is already being
// fetched.
async function sample(name, by = "hand", bytes = null) {
  const found = samples.find((each) => picker.nameOf(each) === name);
  if (!found) return refuse(`This server has no sample ${name}.`);
  const fits = (about) => knows(about, name);
  state = {...state, sample: name};
  // If no chosen model has the sample's class, chooses a model that has the class.
  if (by === "hand" && !chosen().some(fits) && [...abouts.values()].some(fits)) {
    state = {...state, models: [firstModel()], kind: "", layer: null, head: null, patch: null};
    settle();
  }
  remember();
  picker.markSample(name);
  const mine = ++chosenTurn, over = cards.map((card) => card.follow("Fetching the picture"));
  try {
    const opened = await pictures.open(await (bytes ?? pictures.fetched(found.path)));
    if (mine === chosenTurn) await take({...opened, sample: name});
  } catch (error) {
    if (!(error instanceof api.Refusal)) throw error;
    if (mine !== chosenTurn) return;
    for (const end of over) end();
    missing = api.passes(error) ? name : "";
    clearPicture();
    refuse(error.message, error.shortCode);
  }
}

function lock(wanted) {
  at("token").hidden = !wanted;
  document.body.classList.toggle("locked", wanted);
}

// Returns the promise of the initial image: the sample in the address. If the address has neither sample nor model, the
// initial image is the first sample.
function firstPicture() {
  if (!picture && !state.sample && !state.models.length && samples.length) state.sample = picker.nameOf(samples[0]);
  const found = samples.find((each) => picker.nameOf(each) === state.sample);
  const bytes = found ? pictures.fetched(found.path) : null;
  bytes?.catch(() => {});  // errors are handled where the image is opened
  return bytes;
}

async function begin(asked) {
  let bytes = null;
  try {
    const offers = await asked.offers;
    samples = offers.samples;
    at("burst-part").hidden = !offers.burst;
    bytes = firstPicture();
    await loadModels(asked.models);
    lock(false);
    refuse("");
  } catch (error) {
    if (error.status === 401) return needToken();
    if (error.status === 403) needToken();  // another token may have the permission
    return refuse(error.message, error.shortCode);
  }
  settle();
  showControls();
  if (!models.length) return refuse("The server has no model that is ready.");
  picker.showSamples(samples, sample);
  if (state.sample) return sample(state.sample, "link", bytes);
  return ask();  // sends an image that was uploaded before there was a model or a valid token
}

function beginAgain() {
  beginning ??= begin(catalogue.ask()).finally(() => {
    beginning = null;
  });
  return beginning;
}

function needToken() {
  refuse(api.hasToken() ? "The server does not know this token." : "");
  if (!at("token").hidden) return;
  lock(true);
  at("token-field").focus();
}

addEventListener("needs-token", () => at("token").hidden && needToken());
at("token").addEventListener("submit", (event) => {
  event.preventDefault();
  api.setToken(at("token-field").value);
  at("token-field").value = "";
  begin(catalogue.ask());
  live.look();
});
// The link "Skip to the answers" only moves the focus. If the browser followed the link, it would replace the address's
// fragment, which contains the state of the page.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("answers").focus();
});
addEventListener("hashchange", () => {
  const next = states.read(location.hash), moved = next.sample !== state.sample;
  state = next;
  settle();
  showControls();
  if (moved && state.sample)
    sample(state.sample, "link");
  else
    ask();
});

theme.start();
controls.start(change);
picker.start(own, refuseGiven);
sheet.start();
burst.start(
    () => picture && state.models.length ?
        [state.models[0], picture.blob, briefly(abouts.get(state.models[0]))] :
        null);
const begun = begin(catalogue.first);
Promise.race([begun, new Promise((done) => setTimeout(done, LONGEST_WAIT))]).then(() => {
  picker.showThumbnails();
  live.start(async () => {
    if (!models.length) return beginAgain();
    await loadModels().catch(() => {});
    return showControls();
  }, recover);
});
