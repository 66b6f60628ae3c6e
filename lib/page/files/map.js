/*
 * What comes, and what is drawn of it: server-sent events of `kubectl hostdev map` (cli/map/map_card.h), or in the
 * cluster the cards that the browser makes itself (cluster.js).
 *
 * Changes are queued, and drawn for a few milliseconds of each frame, so that 2,000 of them do not hold up a
 * key.
 */
"use strict";

const FRAME_MS = 8; /* of drawing in a frame */
const ERRORS_SHOWN = 3;
const NEEDED = ["pcidevices", "pcideviceclaims", "usbdevices", "usbdeviceclaims"];
const MARKS = [
  ["frame", "dashed frame", "an IOMMU group: its functions are claimed together"],
  ["lone", "dashed number", "the IOMMU group of a single function"],
  ["edge", "coloured edge", "the state, as the sign"],
  ["ill", "dashed band", "a node that is gone, not Ready or without an agent: what is shown may be old"],
];
const FAULTS = { NodeGone: "gone", NodeNotReady: "NotReady", AgentNotRunning: "no agent" }; /* as cli/model/node_fault.c has it */

/* --- what comes --------------------------------------------------------------------------------- */

function putEvent(event) {
  dropEvent(event.id);
  if (!event.about) return;
  if (!events.has(event.about)) events.set(event.about, new Map());
  events.get(event.about).set(event.id, { ...event, epoch });
  eventOf.set(event.id, event.about);
  if (selected === event.about) dirty.details = true;
}

function dropEvent(id) {
  const about = eventOf.get(id);
  if (about === undefined) return;
  eventOf.delete(id);
  events.get(about).delete(id);
  if (selected === about) dirty.details = true;
}

function putNode(data) {
  nodeFacts.set(data.name, { ...data, epoch });
  if (nodes.has(data.name)) nodes.get(data.name).stale = true;
  dirty.totals = true;
}

function put(data) {
  if (data.kind === "Node") putNode(data);
  else if (data.kind === "Event") putEvent(data);
  else putDevice(data);
}

function drop(id) {
  if (cards.has(id)) dropDevice(cards.get(id));
  else if (id.startsWith("event/")) dropEvent(id);
  else if (id.startsWith("node/")) nodeFacts.delete(id.slice(5));
  for (const node of nodes.values()) if (id === `node/${node.name}`) node.stale = true;
  dirty.totals = true;
}

/* The stream has told all: what only an earlier one told is gone. */
function sweep() {
  for (const card of [...cards.values()]) if (card.epoch !== epoch) dropDevice(card);
  for (const list of events.values()) for (const event of [...list.values()]) if (event.epoch !== epoch) dropEvent(event.id);
  for (const node of [...nodeFacts.values()]) if (node.epoch !== epoch) drop(node.id);
}

const queue = []; /* functions: the stream's words, in their order */
const dirty = { totals: false, details: false, link: false, filter: null };
let drawing = false;

function later(work) {
  queue.push(work);
  wake();
}

function wake() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(draw);
}

function draw() {
  const end = performance.now() + FRAME_MS;
  let at = 0;
  while (at < queue.length && performance.now() < end) queue[at++]();
  queue.splice(0, at);
  while (dirty.filter && performance.now() < end) judgeNext();
  if (queue.length === 0 && !dirty.filter) {
    if (dirty.totals) drawTotals();
    if (dirty.details) drawDetails();
    if (dirty.link) followLink();
    dirty.link = false;
  }
  drawing = queue.length > 0 || Boolean(dirty.filter);
  if (drawing) requestAnimationFrame(draw);
}

/* --- totals and filter -------------------------------------------------------------------------- */

const bands = new Place($("map"), $("map"), null);
const chips = new Place($("nodes"), $("nodes"), null);
const legend = new Map();

function drawTotals() {
  dirty.totals = false;
  for (const [state, word] of STATES) {
    const button = legend.get(state);
    button.classList.toggle("none", counts[state] === 0);
    button.lastChild.textContent = counts[state];
    button.setAttribute("aria-label", `${word}: ${counts[state]}`);
  }
  for (const node of [...nodes.values()]) if (node.stale || node.ill) drawNode(node); /* it says since when */
  const all = wanted.terms.length === 0 && wanted.states.size === 0;
  const text = all ? `${counted(cards.size, "device")}, ${counted(nodes.size, grouping)}` : `${matching} of ${counted(cards.size, "device")}`;
  if ($("count").textContent !== text) $("count").textContent = text;
  settleCurrent();
  $("empty").hidden = matching > 0;
  if (!matching) $("empty").textContent = emptyText(all);
}

function counted(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

function emptyText(all) {
  if (!all && cards.size) return "No device matches. Esc in the filter clears it.";
  if (synced) return "The cluster has no devices: does hostdev-agent run on its nodes?";
  return failing ? "The cluster cannot be read. The errors are above." : "Reading the cluster";
}

/* "NotReady for 3 h: KubeletNotReady: container runtime is down"; "": nothing that is known of. */
function faultOf(node) {
  if (grouping !== "node") return "";
  const gone = nodesRead && node.name ? { fault: "NodeGone", say: "the cluster has no such node" } : {};
  const { fault, since, why, say: text } = nodeFacts.get(node.name) || gone;
  const then = Date.parse(since);
  if (!fault) return "";
  const start = `${FAULTS[fault] || fault}${Number.isNaN(then) ? "" : ` for ${ageOf(then)}`}`;
  return [start, why, text].filter(Boolean).join(": ");
}

function drawNode(node) {
  const facts = grouping === "node" ? nodeFacts.get(node.name) : null;
  const parts = STATES.filter(([state]) => node.tally[state] > 0);
  const [, tally, sick] = node.title.children;
  const total = parts.reduce((sum, [state]) => sum + node.tally[state], 0);
  node.stale = false;
  if (total === 0) {
    dropNode(node);
    return;
  }
  const words = parts.map(([state, word]) => `${node.tally[state]} ${word}`).join(", ");
  const ill = faultOf(node);
  node.ill = Boolean(ill);
  for (const el of [node.el, node.chip]) el.classList.toggle("ill", node.ill);
  tally.textContent = [words, facts && facts.kernel].filter(Boolean).join(" \u00b7 ");
  const cordoned = facts && facts.cordoned ? "cordoned" : "";
  const said = [cordoned, ill].filter(Boolean).join(", ");
  sick.replaceChildren(...(ill ? [makeSign("unknown"), said] : [said]));
  node.chip.setAttribute("aria-label", `${node.name ? `${BAND_WORD[grouping]} ${node.name}` : NO_BAND[grouping]}: ${[words, said].filter(Boolean).join(", ")}`);
  node.chip.lastChild.replaceChildren(...parts.map(([state]) => {
    const part = make("i", `s-${state}`);
    part.style.flexGrow = node.tally[state];
    return part;
  }));
}

function dropNode(node) {
  nodes.delete(node.name);
  bands.remove(node);
  chips.remove(chips.items.find((item) => item.of === node));
}

/* Update all cards, a few in each frame. */
function filter() {
  const text = $("filter").value.trim().toLowerCase();
  wanted.terms = text ? text.replace(/\bgroup (\d+)(?=\s|$)/g, "group\u0000$1$$").split(/\s+/).map((t) => t.replace("\u0000", " ")) : [];
  dirty.filter = [...cards.values()];
  dirty.totals = true;
  wake();
}

function judgeNext() {
  for (let i = 0; i < 50 && dirty.filter.length; i++) {
    const card = dirty.filter.pop();
    if (cards.get(card.id) === card) card.judge();
  }
  if (dirty.filter.length) return;
  dirty.filter = null;
  dirty.totals = true;
  if (wanted.terms.length || wanted.states.size) say(`${matching} of ${cards.size} devices`);
}

function makeLegend() {
  for (const [state, word, means] of STATES) {
    const button = make("button", `s-${state}`);
    button.type = "button";
    button.title = `${word}: ${means}`;
    button.setAttribute("aria-pressed", "false");
    button.append(makeSign(state), make("span", "", word), make("b", "", "0"));
    button.addEventListener("click", () => {
      const on = !wanted.states.delete(state);
      if (on) wanted.states.add(state);
      button.setAttribute("aria-pressed", String(on));
      filter();
    });
    legend.set(state, button);
    $("legend").append(button);
    const term = make("dt", `s-${state}`);
    term.append(makeSign(state), word);
    $("meanings-list").append(term, make("dd", "", means));
  }
  for (const [mark, word, means] of MARKS) {
    const term = make("dt");
    term.append(make("span", `sample ${mark}`), word);
    $("meanings-list").append(term, make("dd", "", means));
  }
}

/* --- the stream --------------------------------------------------------------------------------- */

let stream = null;
let heard = 0;
let silence = 15000; /* ms, after which the stream counts as lost */
let synced = false;
let failing = false; /* a list that the map is nothing without */
let nodesRead = false; /* or one without a Node may have one */

function say(text) {
  $("said").textContent = text;
}

function setLink(link, text) {
  if ($("link").dataset.link !== link && link !== "opening") say(text);
  $("link").dataset.link = link;
  $("link-text").textContent = text;
}

/* Each error once, and not all of them if they are many. */
function whyOf(wrong) {
  const errors = [...new Set(wrong.map(([, kind]) => kind.error).filter(Boolean))];
  const shown = errors.slice(0, ERRORS_SHOWN);
  if (errors.length > shown.length) shown.push(`and ${errors.length - shown.length} more`);
  return shown.length ? `: ${shown.join("; ")}` : "";
}

/* The user may not list it, and the map is right without it. */
function isHidden([name, kind]) {
  return !NEEDED.includes(name) && / \(denied\)/.test(kind.text);
}

function troubleOf(wrong) {
  const failed = wrong.filter((one) => !isHidden(one));
  const hidden = wrong.filter(isHidden).map(([name]) => name);
  const said = failed.length ? [`Not up to date: ${failed.map(([, kind]) => kind.text).join("; ")}${whyOf(failed)}`] : [];
  if (hidden.length) said.push(`Not shown, because you may not list them: ${hidden.join(", ")}`);
  return said.join(". ");
}

function tellLink(kinds, wrong) {
  failing = wrong.some(([name]) => NEEDED.includes(name));
  if (failing) setLink("failing", synced ? "not up to date" : "cannot read the cluster");
  else if (NEEDED.some((name) => !kinds[name].read)) setLink("opening", "reading the cluster");
  else setLink("live", "live");
}

/* What cannot be read is missing from the page: say so. */
function onBeat({ about, kinds }) {
  const devices = ["pcidevices", "usbdevices"];
  const wrong = Object.entries(kinds).filter(([name, kind]) => / \(/.test(kind.text) && !(kind.read && !kind.installed && !devices.includes(name)));
  silence = about.every_ms * 3;
  synced = Boolean(kinds.pcidevices && kinds.pcidevices.read);
  if (nodesRead !== kinds.nodes.read) for (const node of nodes.values()) node.stale = true;
  nodesRead = kinds.nodes.read;
  $("cluster").textContent = about.cluster;
  $("trouble").hidden = wrong.length === 0;
  $("trouble").textContent = troubleOf(wrong);
  $("trouble").classList.toggle("calm", wrong.every(isHidden));
  if (!nodesRead) $("trouble").textContent += "; whether nodes are ready is not known";
  tellLink(kinds, wrong);
  dirty.totals = true;
  wake();
}

function listen(name, act) {
  stream.addEventListener(name, (event) => {
    heard = performance.now();
    act(JSON.parse(event.data));
  });
}

/* Of `kubectl hostdev map`. */
function connect() {
  if (stream) stream.close();
  stream = new EventSource("changes");
  heard = performance.now();
  listen("begin", () => later(() => { epoch += 1; }));
  listen("beat", onBeat);
  listen("change", ({ cards: told, gone }) => {
    for (const data of told) later(() => put(data));
    for (const id of gone) later(() => drop(id));
  });
  listen("end", () => later(sweep));
  stream.addEventListener("error", () => {
    setLink("lost", "no connection: does kubectl hostdev map still run? Trying again");
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  });
}

function watchSilence() {
  if (performance.now() - heard < silence) return;
  setLink("lost", "nothing heard: trying again");
  connect();
}

function measureHead() {
  document.documentElement.style.setProperty("--head", `${document.querySelector("header").offsetHeight}px`);
}

bands.el.hidden = chips.el.hidden = false;
makeLegend();
$("filter").addEventListener("input", filter);
$("by").value = grouping; /* a browser keeps the choice of before */
$("by").addEventListener("change", () => regroup($("by").value));
addEventListener("hashchange", readLink);
$("search").addEventListener("submit", (event) => event.preventDefault());
$("close").addEventListener("click", closeDetails);
$("map").addEventListener("click", (event) => {
  const button = event.target.closest(".card");
  if (!button) return;
  setCurrent(button.card);
  openDetails(button.card);
  picked = true;
});
document.addEventListener("keydown", onKey);
new ResizeObserver(measureHead).observe(document.querySelector("header"));
readLink();
if (inCluster) {
  openCluster();
} else {
  setInterval(watchSilence, 2500);
  connect();
}
