// SPDX-License-Identifier: Apache-2.0
// State of the server, polled about every second while the page is visible. If the server hangs, the page shows this
// within two seconds.
import * as api from "./api.js";
import {at, bytes, draw, make, milliseconds, percent, plural, short} from "./dom.js";

const PERIOD = 800, TICK = 100, KEPT = 60;
const SLOW = 900, HANGS = 3000, LIMIT = 10000;  // ms after which a poll is shown as slow, shown as down, and aborted
const history = {
  rate: [],
  flight: [],
  queue: [],
  batch: []
};
let last = null, latest = null, looking = false, looked = -Infinity, told = () => {}, heard = () => {};
let silent = 0;  // start of the first poll without an answer; 0: the last poll was answered

function sparkline(values) {
  const most = Math.max(1e-9, ...values);
  const points =
      values.map((value, i) => `${(100 * i) / Math.max(values.length - 1, 1)},${26 - (24 * value) / most}`).join(" ");
  return draw(
      "svg", {viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true"}, draw("polyline", {points}));
}

const figure = (name, value, unit, values) => make(
    "div", {}, make("dt", {}, name),
    make("dd", {}, value, make("small", {}, unit ? ` ${unit}` : ""), values?.length > 2 ? sparkline(values) : null));

const keep = (list, value) => {
  list.push(value);
  if (list.length > KEPT) list.shift();
};

// Adds the load at this poll, and the rates since the last poll, to the histories that the page plots.
function follow(status) {
  const now = performance.now();
  keep(history.flight, status.load.in_flight);
  keep(history.queue, status.load.queue_requests);
  const sum = (name) => status.models.reduce((total, model) => total + model[name], 0);
  const requests = sum("requests"), batches = sum("batches");
  if (last && now - last.now < PERIOD / 2) return;  // polls during a burst are too close together for computing a rate
  if (last) {
    const answered = Math.max(0, requests - last.requests), made = Math.max(0, batches - last.batches);
    keep(history.rate, (1000 * answered) / (now - last.now));
    keep(history.batch, made ? answered / made : 0);
  }
  last = {now, requests, batches};
}

// Formats seconds in the largest time unit for which the number is at least 2.
const since = (seconds) => {
  const [unit, length] =
      [["day", 86400], ["hour", 3600], ["minute", 60]].find(([, each]) => seconds >= 2 * each) ?? ["second", 1];
  return plural(Math.floor(seconds / length), unit);
};

// Lists the problems if there are several; the verdict states the worst problem.
function showProblems(problems) {
  at("problems").hidden = problems.length < 2;
  at("problems").replaceChildren(...problems.map(
      ({severity, sentence}) => make("li", {"data-severity": severity}, sentence)));
}

function showFacts(status) {
  const rollbacks = status.models.reduce((sum, model) => sum + model.rollbacks + model.operator_rollbacks, 0);
  const {compute, load} = status;
  at("facts").textContent = [
    `Up ${since((Date.parse(status.time) - Date.parse(status.started)) / 1000)}`,
    `device ${status.device}`,
    compute.precision,
    status.cpu_limit_cores ? `${short(status.cpu_limit_cores)} cores` : "",
    status.memory_limit_bytes ? `memory limit ${bytes(status.memory_limit_bytes)}` : "",
    `${bytes(load.in_flight_bytes)} of ${bytes(load.in_flight_limit_bytes)} of pictures`,
    load.answer_limit_bytes ? `${bytes(load.answer_bytes)} of answers not yet taken` : "",
    rollbacks ? `${plural(rollbacks, "rollback")} since the start` : "",
  ].filter(Boolean).join(", ");
}

function showFigures({load, models}) {
  const busy = load.executors.reduce((sum, lane) => sum + lane.busy_ratio, 0) / (load.executors.length || 1);
  at("figures").replaceChildren(
      figure("Requests", short(history.rate.at(-1) ?? 0), "/ s", history.rate),
      figure("In flight", load.in_flight, `of ${load.in_flight_limit}`, history.flight),
      figure("In the queue", load.queue_requests, "", history.queue),
      figure("Longest wait", milliseconds(1000 * load.queue_oldest_seconds), "", null),
      figure("Rejected for load", short(models.reduce((sum, model) => sum + model.shed_per_second, 0)), "/ s", null),
      figure("Requests per batch", short(history.batch.at(-1) ?? 0), "", history.batch),
      figure("Executors busy", percent(busy, 0), `of ${load.executors.length}, last minute`, null));
}

function showVersions(versions) {
  at("versions")
      .replaceChildren(...versions.map(
          (version) => make(
              "tr", {}, make("th", {scope: "row"}, version.model), make("td", {}, version.version || "all"),
              make("td", {}, version.state.toLowerCase(),
                   version.reason ? make("p", {class: "small"}, version.reason) : null),
              make("td", {}, version.labels.join(", ")),
              ...[`${short(version.traffic_percent)} %`, short(version.requests_per_second),
                  short(version.errors_per_second), bytes(version.device_bytes)]
                  .map((text) => make("td", {class: "number"}, text)))));
}

function showHead(sentence, severity) {
  at("verdict").textContent = sentence;
  at("health").dataset.severity = severity;
}

function showLost(error) {
  const sentence = error.status === 401 ? "A token is required" :
      api.passes(error)                 ? "Not reachable, trying again" :
                                          error.message;
  showHead(sentence, "down");
  at("live-verdict").textContent = error.message;
}

// Shows that the server is slow or hangs, once polls have had no answer for SLOW milliseconds.
function showSlow() {
  const waited = silent ? performance.now() - silent : 0;
  if (waited < SLOW) return;
  const sentence = `No answer for ${plural(Math.max(1, Math.round(waited / 1000)), "second")}`;
  showHead(sentence, waited < HANGS ? "degraded" : "down");
  at("live-verdict").textContent = `${sentence}. What is shown here is from before.`;
}

export async function look() {
  if (looking) return;
  looking = true;
  const began = performance.now();
  silent ||= began;
  try {
    show(await api.status(LIMIT));
    silent = 0;
  } catch (error) {
    if (!(error instanceof api.Refusal)) throw error;
    if (performance.now() - began >= LIMIT) return;  // the server still hangs
    silent = 0;
    showLost(error);
  } finally {
    looked = performance.now();
    looking = false;
  }
}

function show(status) {
  follow(status);
  const ready =
      new Set(status.versions.filter((version) => version.state === "READY").map((version) => version.model)).size;
  showHead(
      status.severity === "ok" ? `Ready, ${ready} ${ready === 1 ? "model" : "models"}` :
          status.severity === "down" ? "Down" :
                                       "Degraded",
      status.severity);
  at("live-verdict").textContent = status.verdict;
  showProblems(status.problems);
  showFigures(status);
  showVersions(status.versions);
  showFacts(status);
  at("about").textContent =
      `Vitrine ${status.version} on ${status.compute.cpu}, ${status.compute.path}, ${status.compute.lanes} executors`;
  const states = status.versions.map((version) => `${version.model} ${version.version} ${version.state}`).join();
  if (latest !== null && latest !== states) told();
  latest = states;
  heard();
}

// Polls while the page is visible. `changed`: called if versions changed; `answered`: called after every answered poll.
export function start(changed, answered) {
  told = changed;
  heard = answered;
  setInterval(() => {
    if (document.hidden) {
      silent = 0;  // a hidden page does not poll
      return;
    }
    if (looking) silent ||= performance.now();  // ignores the time in which the page was hidden
    showSlow();
    if (performance.now() - looked >= PERIOD) look();
  }, TICK);
  return look();
}
