/*
 * The cards of devices, and where each stands: in the band of its node, on its bus, in the frame of its IOMMU
 * group, or below what it hangs on.
 *
 * Nothing here makes markup of text: what the API says becomes text nodes and attributes only.
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
  return text.slice(cut < 0 ? 0 : cut + 2).replace(/,? (Corporation|Inc\.|(Electronics )?Co\.?,? Ltd\.?|Ltd\.|Technologies|Limited)(?= )/g, "");
}

function footOf(data) {
  if (data.pods && data.pods.length) return data.pods.map((p) => p.pod).join(", ");
  if (data.state === "unknown") return data.reason || "";
  if (data.claim) {
    if (data.state === "ready") return data.claim.owner ? `claimed by ${data.claim.owner}` : "claimed";
    return data.claim.step || data.reason || "claimed";
  }
  return data.state === "refused" ? data.reason || "" : "";
}

function hayOf(data) {
  const parts = [data.name, data.node, data.address, data.text, data.driver, data.reason, WORD[data.state], data.kind];
  if (data.group) parts.push(`group ${data.group}$`); /* a group is asked for whole: 1 is not 14 */
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
    this.button.classList.toggle("roomy", !this.foot.textContent);
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
