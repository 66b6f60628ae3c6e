/*
 * Where cards stand: in the band of their node, on their bus, in the frame of their IOMMU group.
 *
 * Nothing here makes markup of text: what the API says becomes text nodes and attributes only.
 */
"use strict";

const STATES = [
  ["stuck", "stuck", "the kernel has not finished a step"],
  ["missing", "missing", "claimed, but not on its node"],
  ["unknown", "unknown", "no agent has reported it, or its node has a problem"],
  ["pending", "pending", "claimed, not ready yet"],
  ["releasing", "releasing", "its claim is being deleted"],
  ["used", "in use", "a pod has it"],
  ["available", "available", "offered to the kubelet, and no pod has it"],
  ["claimable", "claimable", "may be claimed now"],
  ["refused", "refused", "its node needs it, or it cannot be claimed now"],
];
const WORD = Object.fromEntries(STATES.map(([state, word]) => [state, word]));
const KIDS_BELOW = 3; /* cards below each other at most */
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
let grouping = "node"; /* what a band is: a node, a resource, a pod or a user */

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

const NO_BAND = { node: "node not known", resource: "no resource", pod: "no pod", user: "no claim with an owner" };
const BAND_WORD = { node: "Node", resource: "Resource", pod: "Pod", user: "User" };

/* The name of the band of a card: of several pods, the first one's. */
function bandName(data) {
  switch (grouping) {
    case "resource": return ((data.facts || []).find(([label]) => label === "Resource name") || [])[1] || "";
    case "pod": return ((data.pods || [])[0] || {}).pod || "";
    case "user": return (data.claim && data.claim.owner) || "";
    default: return data.node || "";
  }
}

/* Bands without a name are the last ones, except a node's. */
const bandKey = (name) => name || (grouping === "node" ? "" : "\uffff");

function nodeOf(name) {
  let node = nodes.get(name);
  if (node) return node;
  const el = make("section", "node");
  const title = make("h2");
  const tree = make("div", "tree");
  title.id = `node-${nodes.size}-${name}`;
  title.append(make("span", "", name || NO_BAND[grouping]), make("span", "tally"), make("span", "sick"));
  el.setAttribute("aria-labelledby", title.id);
  el.append(title, tree);
  node = new Place(el, tree, null);
  Object.assign(node, { name, title, buses: new Map(), groups: new Map(), tally: {}, stale: true });
  node.chip = make("button");
  node.chip.type = "button";
  node.chip.append(make("span", "", name || (grouping === "node" ? "?" : NO_BAND[grouping])), make("div", "bar"));
  node.chip.addEventListener("click", () => goToNode(node));
  nodes.set(name, node);
  bands.add(node, bandKey(name));
  chips.add({ el: node.chip, of: node }, bandKey(name));
  return node;
}

/* "0000:04" of "0000:04:00.0"; what is no PCI address has no bus. */
function busName(address) {
  return /^[0-9a-f]{4,8}:[0-9a-f]{2}:/.test(address) ? address.slice(0, address.lastIndexOf(":")) : "";
}

/* A bus stands behind its bridges, named from the root down, as far to the right as it has of them. */
function hangBus(node, bus, behind) {
  const bridges = behind ? behind.split(" ") : [];
  const last = bridges.at(-1);
  const elsewhere = grouping === "node" ? "elsewhere" : "";
  const label = bus.name ? `bus ${bus.name}${last ? ` behind ${last}` : ""}` : elsewhere;
  bus.behind = behind;
  if (label) bus.el.setAttribute("aria-label", label);
  bus.el.firstChild.textContent = label;
  bus.el.style.marginInlineStart = bridges.length > 1 ? `${Math.min(bridges.length - 1, 8)}rem` : "";
  if (bus.key !== undefined) node.remove(bus);
  node.add(bus, bus.name ? [...bridges, bus.name].join(" ") : "zz");
}

function busOf(node, name, behind) {
  let bus = node.buses.get(name);
  if (bus) {
    if (behind && bus.behind !== behind) hangBus(node, bus, behind);
    return bus;
  }
  const el = make("div", name.endsWith(":00") || !name ? "bus trunk" : "bus");
  const spots = make("div", "spots");
  if (grouping === "node") el.setAttribute("role", "group");
  el.append(make("div", "mark"), spots);
  bus = new Place(el, spots, node);
  bus.name = name;
  node.buses.set(name, bus);
  hangBus(node, bus, behind);
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
    group = new Place(el, el, busOf(node, at, card.data.behind));
    group.name = card.data.group;
    group.id = name;
    group.owner = node;
    node.groups.set(name, group);
    group.above.add(group, card.data.address || card.id);
  } else if (order(card.data.address || card.id, group.key) < 0) {
    moveGroup(group, busOf(node, at, card.data.behind), card.data.address);
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
    group.el.setAttribute("role", "group");
    group.el.setAttribute("aria-label", `${label}, ${group.items.length} devices`);
  } else {
    group.el.removeAttribute("role");
    group.el.removeAttribute("aria-label");
  }
}

/* Many that hang on one card, virtual functions for one, stand beside each other. */
function widen(spot) {
  spot.el.classList.toggle("wide", spot.items.length > KIDS_BELOW);
}

/* Without the domain that nearly all machines have alone, as lspci shows it. */
const shortAddress = (address) => address.replace(/^0000:/, "");

const spotName = (data, address) => `${data.node || ""} ${address}`;
