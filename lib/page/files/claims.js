/*
 * What can be done about one device: the command that does it, and in the cluster the buttons.
 *
 * A button sends one request to the API server as the user who looks; the API server decides, and its refusal is
 * shown. Nothing is asked of the controller.
 */
"use strict";

const CLAIMS = { PCIDevice: "pcideviceclaims", USBDevice: "usbdeviceclaims" };
const acts = new Map(); /* card id -> what is under way: { busy, error, warnings, asking, group } */

const actOf = (id) => acts.get(id) || {};

function setAct(id, act) {
  acts.set(id, act);
  if (selected === id) drawActs();
}

/* --- the command -------------------------------------------------------------------------------- */

/* Alone, its claim would wait for the other devices of its IOMMU group: the agent says so. */
const isShared = (data) => data.state === "claimable" && data.reason === "GroupShared";

/* Somebody claims the devices of the group one by one. */
function hasClaimBeside(data) {
  const device = model.get("pcidevices", data.name);
  return Boolean(device) && model.siblings(device).some((name) => model.get(CLAIMS.PCIDevice, name));
}

function takesGroup(data) {
  const { group = !hasClaimBeside(data) } = actOf(data.id);
  return isShared(data) && group;
}

/* A word for a shell: names come from the API server. */
const quoted = (word) => (/^[\w./:-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

function commandOf(data) {
  const verb = !CLAIMS[data.kind] ? "why" : data.claim ? (data.claim.deleting ? "why" : "release") : data.state === "claimable" ? "claim" : "why";
  const group = verb === "claim" && takesGroup(data) ? " --include-group" : "";
  return `kubectl hostdev ${verb} ${quoted(data.name)}${group}`;
}

function commandRow(data) {
  const row = make("p", "command");
  const text = make("code", "", commandOf(data));
  const copy = make("button", "", "Copy");
  copy.type = "button";
  copy.dataset.act = "copy";
  copy.setAttribute("aria-label", "Copy the command");
  copy.addEventListener("click", () => {
    const done = () => say("The command is copied");
    const select = () => getSelection().selectAllChildren(text); /* for the user to copy */
    if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).then(done, select);
    else select();
  });
  row.append(text, copy);
  return row;
}

/* --- claim and release -------------------------------------------------------------------------- */

async function send(data, method, path, body, done) {
  setAct(data.id, { ...actOf(data.id), busy: true, asking: false, error: "", warnings: [] });
  try {
    const { warnings } = await request(method, path, body);
    setAct(data.id, { warnings });
    say(done);
  } catch (error) {
    setAct(data.id, { ...actOf(data.id), busy: false, error: error.message });
  }
}

/* The fields are those that `kubectl hostdev claim` writes; the webhook adds the owner. */
function claimDevice(data) {
  const spec = {};
  if (data.kind === "PCIDevice") Object.assign(spec, { address: data.address, nodeName: data.node });
  if (takesGroup(data)) spec.includeIOMMUGroup = true;
  const claim = { apiVersion: "devices.harvesterhci.io/v1beta1", kind: `${data.kind}Claim`, metadata: { name: data.name }, spec };
  return send(data, "POST", `${DEVICES_API}/${CLAIMS[data.kind]}?fieldManager=hostdev-map`, claim, `${data.name} is claimed`);
}

/* Only the claim that is on the screen: another one of its name has another uid. */
function releaseDevice(data) {
  const claim = model.get(CLAIMS[data.kind], data.name);
  if (!claim) return null;
  const options = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: claim.metadata.uid } };
  const path = `${DEVICES_API}/${CLAIMS[data.kind]}/${encodeURIComponent(data.name)}`;
  return send(data, "DELETE", path, options, `the claim of ${data.name} is being deleted`);
}

function actButton(name, text, busy, act) {
  const button = make("button", "", text);
  button.type = "button";
  button.dataset.act = name;
  button.disabled = Boolean(busy);
  button.addEventListener("click", act);
  return button;
}

function groupBox(data) {
  if (!isShared(data)) return [];
  const label = make("label", "whole");
  const box = make("input");
  box.type = "checkbox";
  box.dataset.act = "group";
  box.checked = takesGroup(data);
  box.addEventListener("change", () => setAct(data.id, { ...actOf(data.id), group: box.checked, error: "" }));
  label.append(box, `with its whole IOMMU group ${data.group}`);
  return [label];
}

function buttonsOf(data) {
  const act = actOf(data.id);
  if (!CLAIMS[data.kind]) return [];
  if (!data.claim) {
    if (data.state !== "claimable") return [];
    return [actButton("claim", act.busy ? "Claiming" : "Claim", act.busy, () => claimDevice(data)), ...groupBox(data)];
  }
  if (data.claim.deleting) return [];
  if (!act.asking) return [actButton("release", act.busy ? "Releasing" : "Release", act.busy, () => setAct(data.id, { asking: true }))];
  const whose = data.claim.owner ? `${data.claim.owner} has it. ` : "";
  return [make("span", "ask", `${whose}Release it?`), actButton("sure", "Release", false, () => releaseDevice(data)),
    actButton("keep", "Keep", false, () => setAct(data.id, {}))];
}

function actsOf(data) {
  const act = actOf(data.id);
  const row = make("p", "buttons");
  const parts = [];
  if (inCluster) row.append(...buttonsOf(data));
  if (row.childNodes.length) parts.push(row);
  for (const warning of act.warnings || []) parts.push(make("p", "warning", warning));
  if (act.error) {
    const refusal = make("p", "refusal", act.error);
    refusal.setAttribute("role", "alert");
    parts.push(refusal);
  }
  return [...parts, commandRow(data)];
}

/* The focus stays on the same button, or goes to the first one. */
function drawActs() {
  const card = cards.get(selected);
  const focused = $("acts").contains(document.activeElement) && document.activeElement.dataset.act;
  if (!card) return;
  const { data } = card;
  const drawn = JSON.stringify([data.id, data.state, data.claim && [data.claim.owner, data.claim.deleting], actOf(data.id), isShared(data), takesGroup(data)]);
  if ($("acts").drawn === drawn) return;
  $("acts").drawn = drawn;
  $("acts").replaceChildren(...actsOf(data));
  if (!focused) return;
  const next = $("acts").querySelector(`[data-act="${focused}"]:enabled`) || $("acts").querySelector("[data-act=sure], [data-act]:enabled");
  if (next) next.focus();
}
