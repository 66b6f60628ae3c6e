/*
 * The cards of devices: what is written on each, and where it goes (places.js), or below which other it hangs.
 *
 * Nothing here makes markup of text: what the API says becomes text nodes and attributes only.
 */
"use strict";

/* --- cards -------------------------------------------------------------------------------------- */

/* "Intel 82574L Gigabit Network Connection" of "Ethernet controller: Intel Corporation 82574L ...". */
function shortText(text) {
  const cut = text.indexOf(": ");
  return text.slice(cut < 0 ? 0 : cut + 2).replace(/,? (Corporation|Inc\.|(Electronics )?Co\.?,? Ltd\.?|Ltd\.|Technologies|Limited)(?= )/g, "");
}

function footOf(data) {
  if (data.pods && data.pods.length) return data.pods.map((p) => p.pod).join(", ");
  if (data.state === "unknown") return data.reason || "";
  if (data.resourceClaim && !data.resourceClaim.prepared) return `${data.resourceClaim.name}: ${data.resourceClaim.reason}`;
  if (data.claim) {
    if (data.state === "available") return data.claim.owner ? `claimed by ${data.claim.owner}` : "claimed";
    return data.claim.step || data.reason || "claimed";
  }
  return ["claimable", "available", "used"].includes(data.state) ? "" : data.reason || "";
}

function hayOf(data) {
  const parts = [data.name, data.node, data.address, data.text, data.driver, data.reason, WORD[data.state], data.kind];
  if (data.group) parts.push(`group ${data.group}$`); /* a group is asked for whole: 1 is not 14 */
  if (data.claim) parts.push("claimed", data.claim.owner, data.claim.holder);
  if (data.resourceClaim) parts.push(data.resourceClaim.name, data.resourceClaim.pods, data.resourceClaim.reason);
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
    this.where = make("span", "where");
    this.at = make("span", "at");
    this.tag = make("span", "tag");
    this.text = make("span", "text");
    this.pill = make("span", "pill");
    this.foot = make("span", "foot");
    this.sign = makeSign("unknown");
    const top = make("span", "top");
    const middle = make("span", "middle");
    top.append(this.sign, this.where, this.at, this.tag);
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
    this.where.textContent = grouping !== "node" && data.address ? data.node || "" : "";
    this.at.textContent = data.address ? shortAddress(data.address) : data.name;
    this.tag.textContent = data.kind === "PCIDevice" && data.state !== "missing" ? tag : data.driver || "";
    this.text.textContent = data.text ? shortText(data.text) : data.address ? data.name : "";
    this.pill.textContent = data.group || "";
    this.foot.textContent = footOf(data);
    this.foot.classList.toggle("says", !["claimable", "refused", "available"].includes(data.state));
    this.button.title = [this.where.textContent, data.text].filter(Boolean).join(": ");
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

  /* What it hangs on, the group otherwise. Only the bands of nodes have buses. */
  findHome() {
    const { data } = this;
    const node = nodeOf(bandName(data));
    if (grouping !== "node") return busOf(node, "", "");
    if (data.on) {
      const name = spotName(data, data.on);
      const parent = places.get(name);
      if (!waiting.has(name)) waiting.set(name, new Set());
      waiting.get(name).add(this);
      if (parent && !parent.hangsOn(this)) return parent.spot;
    }
    return groupOf(node, this);
  }

  /* Or on it hangs what hangs on @card: objects say what their writers want. */
  hangsOn(card) {
    for (let at = this; at; at = at.home && at.home.card) if (at === card) return true;
    return false;
  }

  place() {
    const home = this.findHome();
    const key = grouping === "node" ? this.data.address || this.id : `${this.data.node || ""} ${this.data.address || this.id}`;
    if (home === this.home && key === this.spot.key) return;
    this.leave();
    this.home = home;
    this.spot.above = home;
    home.add(this.spot, key);
    if (this.spot.shown) home.show(this.spot.shown);
    if (home.owner) frame(home);
    else widen(home);
  }

  leave() {
    const { home } = this;
    if (!home) return;
    if (this.spot.shown) home.show(-this.spot.shown);
    home.remove(this.spot);
    this.spot.above = null;
    this.home = null;
    if (!home.owner) {
      widen(home);
      return;
    }
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
  const node = nodeOf(bandName(data));
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
  if (linked && linkOf(data) === linked) dirty.link = true;
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
  if (current === card) setCurrent(cards.values().next().value || null); /* until settleCurrent() */
  if (selected === card.id) closeDetails();
}

/* Rebuild all bands. */
function regroup(how) {
  for (const card of cards.values()) {
    countCard(card.data, -1);
    card.leave();
  }
  for (const node of [...nodes.values()]) dropNode(node);
  grouping = how;
  $("map").classList.toggle("flat", how !== "node");
  for (const card of cards.values()) {
    countCard(card.data, 1);
    card.write(card.data);
    card.place();
  }
  $("nodes").setAttribute("aria-label", `${BAND_WORD[how]}s`);
  wake();
}
