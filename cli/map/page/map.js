/*
 * The page: cards that come as server-sent events (cli/map/map_card.h), drawn as a tree per node.
 *
 * Nothing here makes markup of text: what the API says becomes text nodes and attributes only. Changes are
 * queued, and drawn for a few milliseconds of each frame, so that 2,000 of them do not hold up a key.
 */
"use strict";

const STATES = [
  ["stuck", "stuck", "the kernel has not let a step end"],
  ["missing", "missing", "claimed, but not on its node"],
  ["unknown", "unknown", "nobody has said, or its node is not well"],
  ["pending", "pending", "claimed, not ready yet"],
  ["releasing", "releasing", "its claim is being deleted"],
  ["used", "in use", "a pod has it"],
  ["ready", "ready", "claimed, and pods can have it"],
  ["free", "free", "may be claimed"],
  ["refused", "refused", "its node needs it, or it cannot be lent"],
];
const WORD = Object.fromEntries(STATES.map(([state, word]) => [state, word]));
const FRAME_MS = 8; /* of drawing in a frame */
const EVENTS_SHOWN = 50;
const NEIGHBOURS = 80; /* cards looked at for the next one up or down */
const natural = new Intl.Collator("en", { numeric: true }).compare;

/* PCI addresses are hexadecimal and of one length; all else is in the order that people count in. */
function order(a, b) {
  if (!a.includes(":") || !b.includes(":")) return natural(a, b);
  return a < b ? -1 : Number(a > b);
}

const $ = (id) => document.getElementById(id);

function make(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

function makeSign(state) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "sign");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#sign-${state}`);
  svg.append(use);
  return svg;
}

/* --- what is known ------------------------------------------------------------------------------ */

const cards = new Map(); /* id -> Card               */
const nodes = new Map(); /* name -> Place of the band */
const nodeFacts = new Map(); /* name -> the Node's card   */
const events = new Map(); /* device id -> Map of event id -> event */
const eventOf = new Map(); /* event id -> device id */
const places = new Map(); /* "node NODE 0000:00:1d.0" -> Card that others hang on */
const waiting = new Map(); /* the same -> Set of cards that wait for it            */
const counts = Object.fromEntries(STATES.map(([state]) => [state, 0]));
let epoch = 0; /* of the stream; what an older one told is dropped at its end */
let current = null; /* the card that Tab comes to */
let selected = null; /* id of the card whose details are open */
let matching = 0;
const wanted = { terms: [], states: new Set() };

/* An element whose children stand in an order, and which hides when it shows none. */
class Place {
  constructor(el, inner, above) {
    this.el = el;
    this.inner = inner || el;
    this.above = above;
    this.items = [];
    this.shown = 0;
    el.hidden = true;
  }

  add(item, key) {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (order(this.items[middle].key, key) < 0) low = middle + 1;
      else high = middle;
    }
    item.key = key;
    this.inner.insertBefore(item.el, this.items[low] ? this.items[low].el : null);
    this.items.splice(low, 0, item);
  }

  remove(item) {
    this.items.splice(this.items.indexOf(item), 1);
    item.el.remove();
  }

  show(by) {
    for (let place = this; place; place = place.above) {
      const was = place.shown > 0;
      place.shown += by;
      if (was !== place.shown > 0) place.el.hidden = was;
    }
  }
}

/* --- where a card stands ------------------------------------------------------------------------ */

function nodeOf(name) {
  let node = nodes.get(name);
  if (node) return node;
  const el = make("section", "node");
  const title = make("h2");
  const tree = make("div", "tree");
  title.id = `node-${nodes.size}-${name}`;
  title.append(make("span", "", name || "node not known"), make("span", "tally"), make("span", "sick"));
  el.setAttribute("aria-labelledby", title.id);
  el.append(title, tree);
  node = new Place(el, tree, null);
  Object.assign(node, { name, title, buses: new Map(), groups: new Map(), tally: {}, stale: true });
  node.chip = make("button");
  node.chip.type = "button";
  node.chip.append(make("span", "", name || "?"), make("div", "bar"));
  node.chip.addEventListener("click", () => goToNode(node));
  nodes.set(name, node);
  bands.add(node, name);
  chips.add({ el: node.chip, of: node }, name);
  return node;
}

/* "0000:04" of "0000:04:00.0"; what is no PCI address has no bus. */
function busName(address) {
  return /^[0-9a-f]{4,8}:[0-9a-f]{2}:/.test(address) ? address.slice(0, address.lastIndexOf(":")) : "";
}

function busOf(node, name) {
  let bus = node.buses.get(name);
  if (bus) return bus;
  const el = make("div", name.endsWith(":00") || !name ? "bus trunk" : "bus");
  const spots = make("div", "spots");
  const label = name ? `bus ${name}` : "elsewhere";
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", label);
  el.append(make("div", "mark", label), spots);
  bus = new Place(el, spots, node);
  node.buses.set(name, bus);
  node.add(bus, name || "zz");
  return bus;
}

/* The functions of an IOMMU group stand in one frame, on the bus of the first of them. */
function groupOf(node, card) {
  const name = card.data.group || `of ${card.id}`;
  const at = busName(card.data.address || "");
  let group = node.groups.get(name);
  if (!group) {
    const el = make("div", "group");
    el.append(make("div", "mark"));
    el.setAttribute("role", "group");
    group = new Place(el, el, busOf(node, at));
    group.name = card.data.group;
    group.id = name;
    group.owner = node;
    node.groups.set(name, group);
    group.above.add(group, card.data.address || card.id);
  } else if (order(card.data.address || card.id, group.key) < 0) {
    moveGroup(group, busOf(node, at), card.data.address);
  }
  return group;
}

function moveGroup(group, bus, key) {
  const shown = group.shown;
  if (shown) group.above.show(-shown);
  group.above.remove(group);
  group.above = bus;
  bus.add(group, key);
  if (shown) bus.show(shown);
}

function frame(group) {
  const many = group.items.length > 1 && group.name;
  const label = `IOMMU group ${group.name}`;
  group.el.classList.toggle("many", Boolean(many));
  if (many) {
    group.el.firstChild.textContent = `${label} \u00b7 ${group.items.length} devices`;
    group.el.setAttribute("aria-label", `${label}, ${group.items.length} devices`);
  } else {
    group.el.removeAttribute("aria-label");
  }
}

/* Without the domain that nearly all machines have alone, as lspci shows it. */
const shortAddress = (address) => address.replace(/^0000:/, "");

const spotName = (data, address) => `${data.node || ""} ${address}`;

/* --- cards -------------------------------------------------------------------------------------- */

/* "Intel 82574L Gigabit Network Connection" of "Ethernet controller: Intel Corporation 82574L ...". */
function shortText(text) {
  const cut = text.indexOf(": ");
  return text.slice(cut < 0 ? 0 : cut + 2).replace(/,? (Corporation|Inc\.|Co\.,? Ltd\.|Ltd\.|Technologies|Limited)(?= )/g, "");
}

function footOf(data) {
  if (data.pods && data.pods.length) return data.pods.map((p) => p.pod).join(", ");
  if (data.claim) {
    if (data.state === "ready") return data.claim.owner ? `claimed by ${data.claim.owner}` : "claimed";
    return data.claim.step || data.reason || "claimed";
  }
  return data.state === "refused" || data.state === "unknown" ? data.reason || "" : "";
}

function hayOf(data) {
  const parts = [data.name, data.node, data.address, data.text, data.driver, data.reason, WORD[data.state], data.kind];
  if (data.group) parts.push(`group ${data.group}`);
  if (data.claim) parts.push("claimed", data.claim.owner, data.claim.holder);
  for (const pod of data.pods || []) parts.push(pod.pod);
  for (const [, value] of data.facts || []) parts.push(value);
  return parts.filter(Boolean).join("\n").toLowerCase();
}

class Card {
  constructor(id) {
    this.id = id;
    this.el = make("div", "spot");
    this.button = make("button", "card");
    this.kids = make("div", "kids");
    this.button.type = "button";
    this.button.tabIndex = -1;
    this.button.card = this;
    this.button.setAttribute("aria-expanded", "false");
    this.button.setAttribute("aria-controls", "details");
    this.at = make("span", "at");
    this.tag = make("span", "tag");
    this.text = make("span", "text");
    this.pill = make("span", "pill");
    this.foot = make("span", "foot");
    this.sign = makeSign("unknown");
    const top = make("span", "top");
    const middle = make("span", "middle");
    top.append(this.sign, this.at, this.tag);
    middle.append(this.text, this.pill);
    this.button.append(top, middle, this.foot);
    this.el.append(this.button, this.kids);
    this.spot = new Place(this.el, this.kids, null);
    this.spot.card = this;
    this.home = null; /* the Place that the spot is in */
    this.matches = false;
  }

  write(data) {
    const before = this.data;
    const tag = data.driver || (data.port ? "" : "no driver");
    this.data = data;
    this.hay = hayOf(data);
    this.at.textContent = shortAddress(data.address || data.name);
    this.tag.textContent = data.kind === "PCIDevice" && data.state !== "missing" ? tag : data.driver || "";
    this.text.textContent = data.text ? shortText(data.text) : data.address ? data.name : "";
    this.pill.textContent = data.group || "";
    this.foot.textContent = footOf(data);
    this.foot.classList.toggle("says", !["free", "refused", "ready"].includes(data.state));
    this.button.title = data.text || "";
    this.el.classList.toggle("port", Boolean(data.port));
    if (!before || before.state !== data.state) {
      this.button.className = `card s-${data.state}${this.matches ? "" : " context"}`;
      this.sign.firstChild.setAttribute("href", `#sign-${data.state}`);
    }
    this.button.setAttribute("aria-label", this.label());
    return before && before.state !== data.state;
  }

  label() {
    const { data } = this;
    const said = [data.address || data.name, data.text, WORD[data.state], this.foot.textContent];
    if (data.driver) said.push(`driver ${data.driver}`);
    if (data.group) said.push(`IOMMU group ${data.group}`);
    said.push(`on ${data.node || "an unknown node"}`);
    return said.filter(Boolean).join(", ");
  }

  /* What it hangs on, the group otherwise. */
  findHome() {
    const { data } = this;
    const node = nodeOf(data.node || "");
    if (data.on) {
      const name = spotName(data, data.on);
      const parent = places.get(name);
      if (!waiting.has(name)) waiting.set(name, new Set());
      waiting.get(name).add(this);
      if (parent && parent !== this) return parent.spot;
    }
    return groupOf(node, this);
  }

  place() {
    const home = this.findHome();
    const key = this.data.address || this.id;
    if (home === this.home && key === this.spot.key) return;
    this.leave();
    this.home = home;
    this.spot.above = home;
    home.add(this.spot, key);
    if (this.spot.shown) home.show(this.spot.shown);
    if (home.owner) frame(home);
  }

  leave() {
    const { home } = this;
    if (!home) return;
    if (this.spot.shown) home.show(-this.spot.shown);
    home.remove(this.spot);
    this.spot.above = null;
    this.home = null;
    if (!home.owner) return;
    if (home.items.length === 0) {
      home.above.remove(home);
      home.owner.groups.delete(home.id);
    } else {
      frame(home);
    }
  }

  /* Others may hang on it, or have waited for it. */
  settle() {
    const name = spotName(this.data, this.data.address);
    if (this.data.kind !== "PCIDevice" || !this.data.address || places.get(name) === this) return;
    this.unsettle();
    places.set(name, this);
    this.stands = name;
    for (const kid of waiting.get(name) || []) kid.place();
  }

  unsettle() {
    if (!this.stands || places.get(this.stands) !== this) return;
    places.delete(this.stands);
    for (const kid of waiting.get(this.stands) || []) kid.place();
    this.stands = null;
  }

  judge() {
    const matches = (wanted.states.size === 0 || wanted.states.has(this.data.state)) &&
      wanted.terms.every((term) => this.hay.includes(term));
    if (matches === this.matches) return;
    this.matches = matches;
    matching += matches ? 1 : -1;
    this.button.classList.toggle("context", !matches);
    this.spot.show(matches ? 1 : -1);
  }
}

function countCard(data, by) {
  const node = nodeOf(data.node || "");
  counts[data.state] += by;
  node.tally[data.state] = (node.tally[data.state] || 0) + by;
  node.stale = true;
  dirty.totals = true;
}

function putDevice(data) {
  let card = cards.get(data.id);
  const before = card && card.data;
  if (!card) {
    card = new Card(data.id);
    cards.set(data.id, card);
  }
  card.epoch = epoch;
  if (before) countCard(before, -1);
  if (before && before.on && before.on !== data.on) (waiting.get(spotName(before, before.on)) || new Set()).delete(card);
  const changed = card.write(data);
  countCard(data, 1);
  card.place();
  card.settle();
  card.judge();
  if (changed) tellChange(card);
  if (!current) setCurrent(card);
  if (selected === card.id) dirty.details = true;
}

function tellChange(card) {
  card.button.classList.add("fresh");
  setTimeout(() => card.button.classList.remove("fresh"), 1700);
  card.button.setAttribute("aria-expanded", String(selected === card.id));
  if (card.id === selected || card.button === document.activeElement)
    say(`${card.data.address || card.data.name} is now ${WORD[card.data.state]}`);
}

function dropDevice(card) {
  if (card.matches) {
    card.matches = false;
    matching -= 1;
    card.spot.show(-1);
  }
  cards.delete(card.id);
  card.unsettle();
  if (card.data.on) (waiting.get(spotName(card.data, card.data.on)) || new Set()).delete(card);
  card.leave();
  countCard(card.data, -1);
  if (current === card) setCurrent(cards.values().next().value || null);
  if (selected === card.id) closeDetails();
}

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
const dirty = { totals: false, details: false, filter: null };
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
  for (const node of [...nodes.values()]) if (node.stale) drawNode(node);
  const all = wanted.terms.length === 0 && wanted.states.size === 0;
  const text = all ? `${cards.size} devices, ${nodes.size} nodes` : `${matching} of ${cards.size} devices`;
  if ($("count").textContent !== text) $("count").textContent = text;
  $("empty").hidden = matching > 0;
  if (!matching) $("empty").textContent = emptyText(all);
}

function emptyText(all) {
  if (!all && cards.size) return "No device matches. Esc in the filter clears it.";
  return synced ? "The cluster has no devices: does hostdev-agent run on its nodes?" : "Reading the cluster";
}

function drawNode(node) {
  const facts = nodeFacts.get(node.name);
  const parts = STATES.filter(([state]) => node.tally[state] > 0);
  const [, tally, sick] = node.title.children;
  const total = parts.reduce((sum, [state]) => sum + node.tally[state], 0);
  node.stale = false;
  if (total === 0) {
    dropNode(node);
    return;
  }
  const words = parts.map(([state, word]) => `${node.tally[state]} ${word}`).join(", ");
  const ill = !facts ? "there is no Node of this name" : facts.ready === "True" ? "" : `not ready: ${facts.say || facts.ready}`;
  tally.textContent = [words, facts && facts.kernel].filter(Boolean).join(" \u00b7 ");
  sick.textContent = [ill, facts && facts.cordoned ? "cordoned" : ""].filter(Boolean).join(", ");
  node.chip.setAttribute("aria-label", `Node ${node.name}: ${words}${ill ? `, ${ill}` : ""}`);
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

/* Anew for all cards, a few in each frame. */
function filter() {
  const text = $("filter").value.trim().toLowerCase();
  wanted.terms = text ? text.replace(/\bgroup (\d)/g, "group\u0000$1").split(/\s+/).map((t) => t.replace("\u0000", " ")) : [];
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
  }
}

/* --- details ------------------------------------------------------------------------------------ */

function section(into, title, ...parts) {
  if (parts.length === 0) return;
  into.append(make("h3", "", title), ...parts);
}

function pairs(rows) {
  const list = make("dl");
  for (const [label, value] of rows) {
    if (value) list.append(make("dt", "", label), make("dd", "", value));
  }
  return list;
}

/* "2026-01-02 03:04:05", and how long ago that is. */
function timeOf(text) {
  const made = make("time");
  const then = Date.parse(text);
  made.dateTime = text;
  if (Number.isNaN(then)) {
    made.textContent = text;
    return made;
  }
  const seconds = Math.max(0, Math.round((Date.now() - then) / 1000));
  const [by, unit] = seconds < 120 ? [1, "s"] : seconds < 7200 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "d"];
  made.textContent = `${Math.round(seconds / by)} ${unit} ago`;
  made.title = new Date(then).toISOString();
  return made;
}

function conditionsOf(conditions) {
  const list = make("ul");
  for (const c of conditions) {
    const item = make("li", c.status === "True" ? "good" : c.status === "False" ? "bad" : "");
    item.append(make("b", "", `${c.type}: ${c.status}`), ` ${c.reason || ""} `);
    if (c.since) item.append(timeOf(c.since));
    if (c.message) item.append(make("p", "", c.message));
    list.append(item);
  }
  return list;
}

function eventsOf(id) {
  const list = make("ul");
  const known = [...(events.get(id) || new Map()).values()].sort((a, b) => (a.at < b.at ? 1 : -1));
  for (const event of known.slice(0, EVENTS_SHOWN)) {
    const item = make("li", event.type === "Warning" ? "bad" : "");
    item.append(make("b", "", event.reason || ""), event.count > 1 ? ` \u00d7${event.count} ` : " ");
    if (event.at) item.append(timeOf(event.at));
    item.append(make("p", "", event.message || ""));
    list.append(item);
  }
  return known.length ? [list] : [];
}

function detailsOf(data) {
  const made = document.createDocumentFragment();
  const title = make("h2", "", data.address || data.name);
  const head = make("p", `head s-${data.state}`);
  title.tabIndex = -1;
  head.append(makeSign(data.state), make("span", "", `${WORD[data.state]}${data.reason ? `: ${data.reason}` : ""}`));
  made.append(title, make("p", "", data.text || ""), head);
  if (data.say) made.append(make("p", "", data.say));
  section(made, data.kind, pairs([["Name", data.name], ["Node", data.node], ["Driver", data.driver],
    ["IOMMU group", data.group], ...(data.facts || [])]));
  if (data.pods && data.pods.length)
    section(made, "Pods", pairs(data.pods.map((p) => [p.container || "container", p.pod])));
  if (data.claim) {
    section(made, "Claim", pairs([["Owner", data.claim.owner], ["Step", data.claim.step], ["Held by", data.claim.holder],
      ["Being deleted", data.claim.deleting]]), conditionsOf(data.claim.conditions));
  }
  if (data.conditions && data.conditions.length) section(made, "Conditions of the device", conditionsOf(data.conditions));
  section(made, "Events", ...eventsOf(data.id));
  return made;
}

function drawDetails() {
  const card = cards.get(selected);
  const focused = $("facts").contains(document.activeElement);
  dirty.details = false;
  if (!card) return;
  $("facts").replaceChildren(detailsOf(card.data));
  if (focused) $("facts").querySelector("h2").focus();
}

function openDetails(card) {
  const before = cards.get(selected);
  if (before) before.button.setAttribute("aria-expanded", "false");
  selected = card.id;
  card.button.setAttribute("aria-expanded", "true");
  $("details").hidden = false;
  drawDetails();
  $("details").scrollTop = 0;
  $("facts").querySelector("h2").focus({ preventScroll: true });
}

function closeDetails() {
  const card = cards.get(selected);
  selected = null;
  $("details").hidden = true;
  if (!card) return;
  card.button.setAttribute("aria-expanded", "false");
  card.button.focus();
}

/* --- keys --------------------------------------------------------------------------------------- */

function setCurrent(card) {
  if (current) current.button.tabIndex = -1;
  current = card;
  if (card) card.button.tabIndex = 0;
}

function focusCard(card) {
  if (!card) return;
  setCurrent(card);
  card.button.focus({ preventScroll: true });
  card.button.scrollIntoView({ block: "nearest" });
}

/* Of the cards in the order of the page, @step after (or before) @card those that are shown. */
function* walk(card, step) {
  const all = $("map").getElementsByClassName("card");
  let at = Array.prototype.indexOf.call(all, card.button);
  for (at += step; at >= 0 && at < all.length; at += step) {
    if (!all[at].classList.contains("context") && all[at].checkVisibility()) yield all[at].card;
  }
}

function firstCard() {
  for (const button of $("map").getElementsByClassName("card")) if (button.card.matches) return button.card;
  return null;
}

function lastCard() {
  const all = [...$("map").getElementsByClassName("card")].reverse();
  const found = all.find((button) => button.card.matches);
  return found ? found.card : null;
}

/* The nearest card of the next row that way. */
function vertical(card, step) {
  const from = card.button.getBoundingClientRect();
  let best = null;
  let row = null;
  let seen = 0;
  for (const next of walk(card, step)) {
    const to = next.button.getBoundingClientRect();
    if (seen++ > NEIGHBOURS) break;
    if (step > 0 ? to.top < from.bottom - 1 : to.bottom > from.top + 1) continue;
    if (row !== null && Math.abs(to.top - row) > from.height) break;
    const away = Math.abs(to.left - from.left);
    if (row === null) row = to.top;
    if (!best || away < best.away) best = { away, card: next };
  }
  return best ? best.card : walk(card, step).next().value;
}

function goToNode(node) {
  for (const button of node.el.getElementsByClassName("card")) {
    if (!button.card.matches) continue;
    node.el.scrollIntoView({ block: "start" });
    focusCard(button.card);
    return;
  }
}

const moves = {
  ArrowRight: (card) => walk(card, 1).next().value,
  ArrowLeft: (card) => walk(card, -1).next().value,
  ArrowDown: (card) => vertical(card, 1),
  ArrowUp: (card) => vertical(card, -1),
  Home: firstCard,
  End: lastCard,
};

function onEscape(event) {
  const input = $("filter");
  if (event.target === input && input.value) {
    input.value = "";
    filter();
  } else if (selected) {
    closeDetails();
  } else if (event.target === input) {
    focusCard(current);
  } else {
    return;
  }
  event.preventDefault();
}

function onKey(event) {
  const card = event.target.card;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    onEscape(event);
  } else if (event.key === "/" && event.target !== $("filter")) {
    event.preventDefault();
    $("filter").focus();
    $("filter").select();
  } else if (event.target === $("filter") && (event.key === "Enter" || event.key === "ArrowDown")) {
    event.preventDefault();
    focusCard(firstCard());
  } else if (card && moves[event.key]) {
    event.preventDefault();
    focusCard(moves[event.key](card));
  }
}

/* --- the stream --------------------------------------------------------------------------------- */

let stream = null;
let heard = 0;
let silence = 15000; /* ms, after which the stream counts as lost */
let synced = false;

function say(text) {
  $("said").textContent = text;
}

function setLink(link, text) {
  if ($("link").dataset.link !== link && link !== "opening") say(text);
  $("link").dataset.link = link;
  $("link-text").textContent = text;
}

/* What cannot be read is missing from the page: say so. */
function onBeat({ about, kinds }) {
  const devices = ["pcidevices", "usbdevices"];
  const wrong = Object.entries(kinds).filter(([name, kind]) => / \(/.test(kind.text) && !(kind.read && !kind.installed && !devices.includes(name)));
  silence = about.every_ms * 3;
  synced = Boolean(kinds.pcidevices && kinds.pcidevices.read);
  $("cluster").textContent = about.cluster;
  $("trouble").hidden = wrong.length === 0;
  $("trouble").textContent = `Not up to date: ${wrong.map(([, kind]) => kind.text).join("; ")}`;
  setLink("live", "live");
  dirty.totals = true;
  wake();
}

function listen(name, act) {
  stream.addEventListener(name, (event) => {
    heard = performance.now();
    act(JSON.parse(event.data));
  });
}

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
$("search").addEventListener("submit", (event) => event.preventDefault());
$("close").addEventListener("click", closeDetails);
$("map").addEventListener("click", (event) => {
  const button = event.target.closest(".card");
  if (!button) return;
  setCurrent(button.card);
  openDetails(button.card);
});
document.addEventListener("keydown", onKey);
new ResizeObserver(measureHead).observe(document.querySelector("header"));
setInterval(watchSilence, 2500);
connect();
