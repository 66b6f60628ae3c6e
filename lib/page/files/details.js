/* What is known of one device, in the panel at the side; and all that keys do. */
"use strict";

const EVENTS_SHOWN = 50;
const NEIGHBOURS = 80; /* cards looked at for the next one up or down */

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

/* "3 h": how long ago that was. */
function ageOf(then) {
  const seconds = Math.max(0, Math.round((Date.now() - then) / 1000));
  const [by, unit] = seconds < 120 ? [1, "s"] : seconds < 7200 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "d"];
  return `${Math.round(seconds / by)} ${unit}`;
}

/* "3 h ago", with the time itself as its title. */
function timeOf(text) {
  const made = make("time");
  const then = Date.parse(text);
  made.dateTime = text;
  made.textContent = Number.isNaN(then) ? text : `${ageOf(then)} ago`;
  if (!Number.isNaN(then)) made.title = new Date(then).toISOString();
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

function titleOf(data) {
  const title = make("h2", "", data.address || data.name);
  const head = make("p", `head s-${data.state}`);
  title.tabIndex = -1;
  /* "Available" is the reason of a claimable device, and the word for another state. */
  const why = data.reason && data.reason !== "Available" && !["available", "used"].includes(data.state) ? `: ${data.reason}` : "";
  head.append(makeSign(data.state), make("span", "", WORD[data.state] + why));
  return [title, make("p", "", data.text || ""), head, ...(data.say ? [make("p", "", data.say)] : [])];
}

function detailsOf(data) {
  const made = document.createDocumentFragment();
  section(made, data.kind, pairs([["Name", data.name], ["Node", data.node], ["Driver", data.driver],
    ["IOMMU group", data.group], ...(data.facts || [])]));
  if (data.pods && data.pods.length)
    section(made, "Pods", pairs(data.pods.map((p) => [p.container || "container", p.pod])));
  if (data.resourceClaim) {
    const { name, pods, prepared, reason, say: why } = data.resourceClaim;
    section(made, "ResourceClaim", pairs([["Name", name], ["For", pods], ["Prepared", prepared ? "yes" : `no: ${reason}`], ["Because", why]]));
  }
  if (data.claim) {
    section(made, "Claim", pairs([["Owner", data.claim.owner || "(no user)"], ["Step", data.claim.step], ["Held by", data.claim.holder],
      ["Being deleted", data.claim.deleting]]), conditionsOf(data.claim.conditions));
  }
  if (data.conditions && data.conditions.length) section(made, "Conditions of the device", conditionsOf(data.conditions));
  section(made, "Events", ...eventsOf(data.id));
  return made;
}

function drawDetails() {
  const card = cards.get(selected);
  const focused = $("title").contains(document.activeElement);
  dirty.details = false;
  if (!card) return;
  $("title").replaceChildren(...titleOf(card.data));
  $("facts").replaceChildren(detailsOf(card.data));
  drawActs();
  if (focused) $("title").querySelector("h2").focus();
}

function openDetails(card) {
  const before = cards.get(selected);
  if (before) before.button.setAttribute("aria-expanded", "false");
  selected = card.id;
  card.button.setAttribute("aria-expanded", "true");
  $("details").hidden = false;
  drawDetails();
  $("details").scrollTop = 0;
  $("title").querySelector("h2").focus({ preventScroll: true });
  setLinkTo(linkOf(card.data));
}

function closeDetails() {
  const card = cards.get(selected);
  selected = null;
  $("details").hidden = true;
  setLinkTo("");
  if (!card) return;
  card.button.setAttribute("aria-expanded", "false");
  card.button.focus();
}

/* --- links -------------------------------------------------------------------------------------- */

/* "#NODE/ADDRESS" opens the details of a device; what has no address of its own has its name besides. */
function linkOf(data) {
  const own = ["PCIDevice", "USBDevice", "MediatedDevice"].includes(data.kind) && data.address;
  return `${data.node || ""}/${own || (data.address ? `${data.address}:${data.name}` : data.name)}`;
}

/* The rest of the address, the secret of the local map included, stays. */
function setLinkTo(link) {
  const hash = link ? `#${encodeURI(link)}` : "";
  if (location.hash !== hash) history.replaceState(null, "", location.pathname + location.search + hash);
}

let linked = ""; /* of a device that has not come yet */

function readLink() {
  try {
    linked = decodeURI(location.hash.slice(1));
  } catch {
    linked = "";
  }
  if (!linked.includes("/")) linked = ""; /* an anchor of the page */
  followLink();
}

function followLink() {
  if (!linked) return;
  for (const card of cards.values()) {
    if (linkOf(card.data) !== linked) continue;
    linked = "";
    if (selected !== card.id) {
      setCurrent(card);
      picked = true;
      card.button.scrollIntoView({ block: "center" });
      openDetails(card);
    }
    return;
  }
}

/* --- keys --------------------------------------------------------------------------------------- */

function setCurrent(card) {
  if (current) current.button.tabIndex = -1;
  current = card;
  if (card) card.button.tabIndex = 0;
}

let picked = false; /* by the user; else Tab comes to the first that is shown */

function settleCurrent() {
  const stays = current && (current.button === document.activeElement || (picked && current.matches));
  if (!stays && matching) setCurrent(firstCard());
}

function focusCard(card) {
  if (!card) return;
  picked = true;
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
  } else if ($("meanings").open) {
    $("meanings").open = false;
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
  } else if (event.key === "/" && !event.target.closest("input, select")) {
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
