/*
 * The cards of devices, nodes and events, made of the API server's objects.
 *
 * In the cluster the browser reads the objects itself, so this file does what cli/map and cli/model do for
 * `kubectl hostdev map`. tests/flow/api/test_map_cluster.py compares the cards of both.
 */
"use strict";

const DEVICES_API = "apis/devices.harvesterhci.io/v1beta1";
const OWN_API = "apis/hostdev.io/v1alpha1";
const KINDS = [
  { key: "pcidevices", api: DEVICES_API, prefix: "pci" },
  { key: "pcideviceclaims", api: DEVICES_API, prefix: "pci" },
  { key: "usbdevices", api: DEVICES_API, prefix: "usb" },
  { key: "usbdeviceclaims", api: DEVICES_API, prefix: "usb" },
  { key: "mediateddevices", api: OWN_API, prefix: "mdev" },
  { key: "vgpudevices", api: DEVICES_API, prefix: "vgpu" },
  { key: "migconfigurations", api: DEVICES_API, prefix: "mig" },
  { key: "nodes", api: "api/v1", prefix: "node" },
  { key: "resourceclaims", api: "apis/resource.k8s.io/v1", prefix: "resourceclaim" }, /* on the cards of their devices */
  { key: "events", api: "api/v1", prefix: "event", fields: "involvedObject.apiVersion=devices.harvesterhci.io/v1beta1" },
  { key: "own events", plural: "events", api: "api/v1", prefix: "event", fields: "involvedObject.apiVersion=hostdev.io/v1alpha1" },
];
const ABOUT = { PCIDevice: "pci", PCIDeviceClaim: "pci", USBDevice: "usb", USBDeviceClaim: "usb", MediatedDevice: "mdev",
  VGPUDevice: "vgpu", MigConfiguration: "mig" };
const TOLD = { /* reasons of NodeReachable, the most important one first */
  NodeGone: "a claim says that the cluster has no such node",
  NodeNotReady: "a claim says that the node is not Ready",
  AgentNotRunning: "a claim says that no pod of hostdev-agent runs on the node",
};
const CONFLICTS = {
  divided: ["refused", "Divided", "an SRIOVNetworkDevice, SRIOVGPUDevice or VGPUDevice divides it"],
  usb: ["refused", "USBDevicesClaimed", "USB devices behind this controller, or one of its IOMMU group, are claimed, or a pod has them"],
  owner: ["refused", "GroupOwned",
    "another user has claimed a function of its IOMMU group, and all claims of a group must have one owner"],
  group: ["claimable", "GroupClaimed", "the claim of another function has its whole IOMMU group, which one pod at a time can use"],
  hidden: ["unknown", "NotRead", "whether it is claimed is not known: you may not read its claim"],
  usbHidden: ["unknown", "NotRead",
    "whether USB devices behind it, or its IOMMU group, are claimed is not known: you may not read USBDeviceClaims"],
};
const SKIP_VFIO = "pcidevices.harvesterhci.io/skip-vfio-binding"; /* such a claim leaves the device on its driver */

/* --- parts of a card ---------------------------------------------------------------------------- */

/* Without the fields that are empty. */
function filled(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
}

function factsOf(rows) {
  const known = (value) => (typeof value === "number" ? value >= 0 : Boolean(value));
  return rows.filter(([, value]) => known(value)).map(([label, value]) => [label, String(value)]);
}

const idsOf = (vendor, device) => (vendor && device ? `${vendor}:${device}` : "");
const storeName = ({ metadata: meta }) => (meta.namespace ? `${meta.namespace}/${meta.name}` : meta.name);
const nodeNameOf = (said, object) => said || (object.metadata.labels || {}).nodename || "";
const conditionOf = (list, type) => (list || []).find((c) => c.type === type);

function conditionsPart(list) {
  return (list || []).map((c) => filled({ type: c.type, status: c.status, reason: c.reason, message: c.message,
    since: c.lastTransitionTime }));
}

function podsPart(list) {
  return (list || []).map((a) => filled({ pod: `${a.namespace || ""}/${a.pod || ""}`, container: a.container }));
}

function claimPart(claim) {
  const { metadata: meta, spec = {}, status = {} } = claim;
  return filled({ owner: spec.userName, step: status.step, holder: status.holder, since: meta.creationTimestamp,
    deleting: meta.deletionTimestamp, conditions: conditionsPart(status.conditions) });
}

/* --- Dynamic Resource Allocation, as in cli/model/dra.c ------------------------------------------ */

const DRA_DRIVER = "hostdev.io";
const NAME_MAX = 63;

/* The name of a device in ResourceSlices; "": it can have none. */
function draName(type, address) {
  const name = `${type}-${address}`.replace(/[^0-9A-Za-z]/g, "-").toLowerCase();
  return address && name.length <= NAME_MAX && !name.endsWith("-") ? name : "";
}

const poolNode = (pool) => pool.split("/")[0];

function resultsOf(claim) {
  const { devices = {} } = ((claim && claim.status) || {}).allocation || {};
  return (devices.results || []).filter((result) => result.driver === DRA_DRIVER);
}

function resourceClaimPart(claim, { allocations, node, dra }) {
  if (!claim) return null;
  const { metadata: meta, status = {} } = claim;
  const prepared = (allocations || []).some((a) => a.resourceClaim === meta.name && a.namespace === meta.namespace);
  const own = (status.devices || []).find((one) => one.driver === DRA_DRIVER && one.device === dra && poolNode(one.pool || "") === node &&
    conditionOf(one.conditions, "Ready"));
  const ready = own && conditionOf(own.conditions, "Ready");
  const why = ready && ready.status === "False" ? { reason: ready.reason, say: ready.message }
    : { reason: "Allocated", say: "allocated to it, and no container has it yet" };
  const pods = (status.reservedFor || []).filter((one) => one.resource === "pods").map((one) => `${meta.namespace}/${one.name}`);
  return filled({ name: `${meta.namespace}/${meta.name}`, pods: pods.join(","), prepared, ...(prepared ? {} : why) });
}

/* --- states, as in cli/model/state.c ------------------------------------------------------------ */

const verdict = (state, reason, say) => filled({ state, reason, say });
const byCondition = (state, c) => verdict(state, c.reason, c.message);
const findStuck = (list) => (list || []).find((c) => c.reason === "Stuck" && c.status !== "True");

function judgeClaim({ claim, there }) {
  const { status = {}, metadata: meta } = claim;
  const reach = conditionOf(status.conditions, "NodeReachable");
  const ready = conditionOf(status.conditions, "Ready");
  const isReady = ready && ready.status === "True";
  if (reach && reach.status === "False") return byCondition("unknown", reach);
  if (meta.deletionTimestamp) return ready ? byCondition("releasing", ready) : verdict("releasing", "Releasing", "the claim is being deleted");
  if (!ready)
    return verdict(there ? "pending" : "missing", "NotSeen",
      "waiting for the agent of its node: is there a device of that name, and does hostdev-agent run there?");
  if (isReady && !there)
    return verdict("unknown", "NotRead", "the claim is Ready, but its device cannot be read: whether a pod has it is not known");
  if (isReady) return byCondition("available", ready);
  return byCondition(!there || ready.reason === "DeviceGone" ? "missing" : "pending", ready);
}

function judgeDevice({ conditions, conflict, resource }) {
  const claimable = conditionOf(conditions, "Claimable");
  const offered = conditionOf(conditions, "Offered");
  if (offered && offered.status === "True") return byCondition(offered.reason === "BoundOnDemand" ? "used" : "available", offered);
  if (resource) return verdict("available", "Lent", "the HostDeviceConfig offers it");
  if (resource === "") return verdict("refused", "NotLent", "no entry of the HostDeviceConfig offers mediated devices of its type");
  if (!claimable || !["True", "False"].includes(claimable.status))
    return verdict("unknown", "NotSaid", "no agent has said whether it may be claimed");
  if (claimable.status === "True" && conflict) return verdict(...CONFLICTS[conflict]);
  if (claimable.status === "True") return byCondition("claimable", claimable);
  return byCondition(claimable.reason === "DeviceGone" ? "missing" : "refused", claimable);
}

const YIELDS = ["claimable", "refused", "pending", "available"]; /* to "in use", if a pod has the device */

function stateOf(facts) {
  const stuck = facts.claim && findStuck((facts.claim.status || {}).conditions);
  if (stuck) return byCondition("stuck", stuck);
  if (facts.fault) return verdict("unknown", facts.fault.reason, facts.fault.message);
  const found = facts.claim ? judgeClaim(facts) : judgeDevice(facts);
  const yields = YIELDS.includes(found.state) || (found.state === "unknown" && !facts.claim);
  if (((facts.allocations || []).length || facts.resourceClaim) && yields) found.state = "used";
  return found;
}

/* Of a vGPU, or of MIG instances. */
function partState(conditions, used, fault) {
  const stuck = findStuck(conditions);
  const ready = conditionOf(conditions, "Ready");
  if (stuck) return byCondition("stuck", stuck);
  if (fault) return verdict("unknown", fault.reason, fault.message);
  if (!ready) return verdict("pending", "NotSeen", "waiting for the agent of its node");
  if (ready.status === "True") return byCondition(used ? "used" : "available", ready);
  return byCondition(ready.reason === "DeviceGone" ? "missing" : "pending", ready);
}

/* --- cards, as in cli/map/map_card.c ------------------------------------------------------------ */

function pciCard(id, { device, claim, resourceClaim, fault, conflict }) {
  const { metadata: meta, status = {} } = device || {};
  const spec = (claim && claim.spec) || {};
  const state = stateOf({ there: Boolean(device), conditions: status.conditions, allocations: status.allocations, claim, resourceClaim, fault,
    conflict });
  const head = { id, kind: "PCIDevice", name: (device || claim).metadata.name,
    node: device ? nodeNameOf(status.nodeName, device) : nodeNameOf(spec.nodeName, claim), ...state, resourceClaim,
    claim: claim && claimPart(claim) };
  if (!device) return filled({ ...head, address: spec.address });
  return filled({ ...head, address: status.address, behind: (status.bridges || []).join(" "), on: status.physicalFunction,
    text: status.description, driver: status.kernelDriverInUse, group: status.iommuGroup,
    port: (status.classId || "").startsWith("0604"), since: meta.creationTimestamp,
    facts: factsOf([["Vendor, device", idsOf(status.vendorId, status.deviceId)],
      ["Subsystem", idsOf(status.subsystemVendorId, status.subsystemDeviceId)], ["Class", status.classId],
      ["Serial number", status.serialNumber], ["NUMA node", status.numaNode], ["SR-IOV", status.role],
      ["Virtual functions", status.totalVFs ? status.numVFs || 0 : -1], ["Virtual function of", status.physicalFunction],
      ["Resource name", status.resourceName], ["Original driver", (meta.annotations || {})["harvesterhci.io/pcideviceDriver"]]]),
    conditions: conditionsPart(status.conditions), pods: podsPart(status.allocations) });
}

function usbCard(id, { device, claim, resourceClaim, fault, conflict }) {
  const { metadata: meta, status = {} } = device || {};
  const told = (claim && claim.status) || {};
  const state = stateOf({ there: Boolean(device), conditions: status.conditions, allocations: status.allocations, claim, resourceClaim, fault,
    conflict });
  const head = { id, kind: "USBDevice", name: (device || claim).metadata.name,
    node: device ? nodeNameOf(status.nodeName, device) : nodeNameOf(told.nodeName, claim), ...state, resourceClaim,
    claim: claim && claimPart(claim) };
  if (!device) return filled({ ...head, address: told.portPath, on: told.pciAddress });
  return filled({ ...head, address: status.portPath, on: status.pciAddress, text: status.description,
    driver: ((status.interfaces || [])[0] || {}).driver, since: meta.creationTimestamp,
    facts: factsOf([["Vendor, product", idsOf(status.vendorID, status.productID)], ["Class", status.classType],
      ["Serial number", status.serialNumber], ["Device file", status.devicePath], ["On controller", status.pciAddress],
      ["Speed in Mbit/s", status.speedMbps || -1], ["Resource name", status.resourceName], ["Used by", status.holder]]),
    conditions: conditionsPart(status.conditions), pods: podsPart(status.allocations) });
}

function mdevCard(id, { device, resourceClaim, fault }) {
  const { metadata: meta, status = {} } = device;
  return filled({ id, kind: "MediatedDevice", name: meta.name, node: nodeNameOf(status.nodeName, device),
    ...stateOf({ there: true, resource: status.resourceName || "", allocations: status.allocations, resourceClaim, fault }), resourceClaim,
    address: status.uuid, on: status.pciAddress || status.parent, text: status.typeName, group: status.iommuGroup,
    since: meta.creationTimestamp,
    facts: factsOf([["Type", status.type], ["Parent", status.parent], ["NUMA node", status.numaNode],
      ["Made by", status.createdByHostdev ? "hostdev" : "somebody else"], ["Resource name", status.resourceName]]),
    conditions: [], pods: podsPart(status.allocations) });
}

function vgpuCard(id, { device: vgpu, functionOf, fault }) {
  const { metadata: meta, spec = {}, status = {} } = vgpu;
  const allocations = ((functionOf && functionOf.status) || {}).allocations || [];
  if (!spec.enabled && status.vGPUStatus !== "vGPUConfigured") return null;
  return filled({ id, kind: "VGPUDevice", name: meta.name, node: nodeNameOf(spec.nodeName, vgpu), on: spec.address,
    ...partState(status.conditions, allocations.length > 0, fault), address: "vGPU",
    text: status.configureVGPUTypeName || spec.vGPUTypeName, since: meta.creationTimestamp,
    conditions: conditionsPart(status.conditions), pods: allocations.length ? podsPart(allocations) : null });
}

function migCard(id, { device: mig, fault }) {
  const { metadata: meta, spec = {}, status = {} } = mig;
  const made = (status.profileStatus || []).filter((profile) => (profile.vGPUID || []).length);
  if (!spec.enabled && !made.length) return null;
  return filled({ id, kind: "MigConfiguration", name: meta.name, node: nodeNameOf(spec.nodeName, mig), on: spec.gpuAddress,
    ...partState(status.conditions, false, fault), address: "MIG",
    text: made.map((profile) => `${profile.vGPUID.length} of ${profile.total || 0} ${profile.name || "MIG"}`).join(", "),
    since: meta.creationTimestamp, conditions: conditionsPart(status.conditions) });
}

function nodeCard(id, { device: node, fault }) {
  const { metadata: meta, spec = {}, status = {} } = node;
  const info = status.nodeInfo || {};
  return filled({ id, kind: "Node", name: meta.name, fault: fault && fault.reason, why: fault && fault.why,
    say: fault && fault.message, since: fault && fault.since, cordoned: spec.unschedulable, kernel: info.kernelVersion,
    kubelet: info.kubeletVersion });
}

function eventCard(id, event) {
  const { metadata: meta, involvedObject: object = {} } = event;
  const about = object.name && ABOUT[object.kind] ? `${ABOUT[object.kind]}/${object.name}` : "";
  return { ...filled({ id, kind: "Event", name: meta.name, about, type: event.type, reason: event.reason,
    message: event.message, at: event.lastTimestamp || event.eventTime || meta.creationTimestamp }), count: event.count || 0 };
}

/* --- all objects -------------------------------------------------------------------------------- */

/* The objects by kind, and the cards that must be rebuilt; @changed is called when there are any. */
class Model {
  constructor(changed) {
    this.changed = changed;
    this.kinds = Object.fromEntries(KINDS.map((kind) => [kind.key, { ...kind, plural: kind.plural || kind.key, objects: new Map(),
      read: false, installed: true, trouble: "", error: "" }]));
    this.touched = new Set();
    this.told = new Map(); /* node -> { reason: number of claims that say so } */
    this.hurried = false; /* show devices although not all kinds have been read */
    this.viewer = ""; /* the user's name; "": not known */
    this.resourceClaims = null; /* "NODE/DEVICE", as ResourceSlices name it -> ResourceClaim; null: must be made again */
  }

  get(key, name) {
    return this.kinds[key].objects.get(name);
  }

  touch(kind, name) {
    this.touched.add(`${kind.prefix}/${name}`);
    this.changed();
  }

  touchAll(key, node) {
    const kind = this.kinds[key];
    for (const [name, object] of kind.objects) if (node === undefined || this.nodeOf(kind, object) === node) this.touch(kind, name);
  }

  touchNode(node) {
    for (const key of KINDS.slice(0, 7).map((kind) => kind.key)) this.touchAll(key, node);
    if (node !== undefined) this.touch(this.kinds.nodes, node);
  }

  nodeOf(kind, object) {
    const { spec = {}, status = {} } = object;
    return nodeNameOf(["pcideviceclaims", "vgpudevices", "migconfigurations"].includes(kind.key) ? spec.nodeName : status.nodeName, object);
  }

  /* Store @object (undefined: it is gone), and note which cards change with it. */
  set(kind, name, object) {
    const before = kind.objects.get(name);
    if (object) kind.objects.set(name, object);
    else kind.objects.delete(name);
    if (kind.key === "resourceclaims") {
      this.resourceClaims = null;
      this.touchClaimed(before, object);
      return;
    }
    this.touch(kind, name);
    if (kind.prefix === "pci" && this.get("vgpudevices", name)) this.touch(this.kinds.vgpudevices, name);
    if (kind.key === "vgpudevices" && this.get("pcidevices", name)) this.touch(this.kinds.pcidevices, name);
    if (kind.key === "pcideviceclaims") this.touchGroup(this.get("pcidevices", name));
    if (kind.prefix === "usb") for (const one of [before, object, this.get("usbdevices", name)]) this.touchController(one);
    if (kind.key.endsWith("deviceclaims")) this.countTold(kind, before, object);
    if (kind.key === "nodes" && JSON.stringify(this.judgeNode(before)) !== JSON.stringify(this.judgeNode(object))) this.touchNode(name);
  }

  /* A ResourceClaim concerns the nodes whose devices are allocated to it. */
  touchClaimed(...claims) {
    const found = new Set(claims.flatMap((claim) => resultsOf(claim).map((result) => poolNode(result.pool))));
    for (const node of found) for (const key of ["pcidevices", "usbdevices", "mediateddevices"]) this.touchAll(key, node);
  }

  indexClaims() {
    this.resourceClaims = new Map();
    const claims = [...this.kinds.resourceclaims.objects.values()];
    const key = ({ metadata: meta }) => `${meta.namespace}/${meta.name}`;
    claims.sort((a, b) => (key(a) < key(b) ? -1 : 1));
    for (const claim of claims) {
      for (const { pool, device, adminAccess } of resultsOf(claim)) {
        const at = `${poolNode(pool)}/${device}`;
        if (!adminAccess && !this.resourceClaims.has(at)) this.resourceClaims.set(at, claim);
      }
    }
  }

  /* The ResourceClaim that has a device; null: none is known. */
  resourceClaimOf(type, device, address) {
    const node = nodeNameOf((device.status || {}).nodeName, device);
    const dra = draName(type, address || "");
    if (!this.resourceClaims) this.indexClaims();
    const claim = dra && this.resourceClaims.get(`${node}/${dra}`);
    return claim ? resourceClaimPart(claim, { allocations: (device.status || {}).allocations, node, dra }) : null;
  }

  setViewer(name) {
    this.viewer = name;
    this.touchAll("pcidevices");
  }

  /* The objects of the other functions of its IOMMU group have these names, if there are such. */
  siblings({ metadata: meta, status = {} }) {
    const members = status.iommuGroupMembers || [];
    if (members.length < 2 || !status.nodeName) return [];
    const suffix = (address) => address.toLowerCase().replace(/[^0-9a-z]/g, "");
    const prefix = meta.name.slice(0, meta.name.length - suffix(status.address || "").length);
    return members.map((address) => prefix + suffix(address)).filter((name) => name !== meta.name);
  }

  /* A claim concerns the other functions of the group. */
  touchGroup(device) {
    for (const name of device ? this.siblings(device) : []) if (this.get("pcidevices", name)) this.touch(this.kinds.pcidevices, name);
  }

  /* A USB controller cannot be claimed while USB devices behind it are. */
  touchController(usb) {
    const { nodeName, pciAddress } = (usb && usb.status) || {};
    if (!nodeName || !pciAddress) return;
    for (const [name, { status = {} }] of this.kinds.pcidevices.objects)
      if (status.nodeName === nodeName && status.address === pciAddress) this.touch(this.kinds.pcidevices, name);
  }

  countTold(kind, before, object) {
    for (const [claim, by] of [[object, 1], [before, -1]]) {
      const reach = claim && conditionOf((claim.status || {}).conditions, "NodeReachable");
      const node = claim && this.nodeOf(kind, claim);
      if (!node || !reach || reach.status !== "False" || !reach.reason) continue;
      const counts = this.told.get(node) || {};
      counts[reach.reason] = (counts[reach.reason] || 0) + by;
      this.told.set(node, counts);
      this.touchNode(node);
    }
  }

  /* The whole kind has been listed: what is not in @list is gone. */
  replace(kind, list) {
    const names = new Set(list.map(storeName));
    const first = !kind.read;
    for (const name of [...kind.objects.keys()]) if (!names.has(name)) this.set(kind, name);
    kind.read = true;
    for (const object of list) this.set(kind, storeName(object), object);
    if (!first) return;
    if (kind.key === "nodes") this.touchNode();
    for (const { key, prefix } of KINDS.slice(0, 4)) if (prefix === kind.prefix) this.touchAll(key);
    if (kind.key === "usbdeviceclaims") this.touchAll("pcidevices"); /* of devices behind controllers */
    this.changed();
  }

  hurry() {
    if (this.hurried) return;
    this.hurried = true;
    for (const { key } of KINDS.slice(0, 4)) this.touchAll(key);
  }

  nodesKnown() {
    return this.kinds.nodes.read && this.kinds.nodes.installed;
  }

  judgeNode(node) {
    if (!node) return { reason: "NodeGone", message: "the cluster has no such node" };
    const ready = conditionOf((node.status || {}).conditions, "Ready");
    if (!ready || ready.status === "True") return null;
    return { reason: "NodeNotReady", why: ready.reason, message: ready.message, since: ready.lastTransitionTime };
  }

  /* Why the reports about a node's devices may be out of date; null: nothing is known of that. */
  faultOf(node) {
    if (!node) return null;
    const known = this.nodesKnown();
    const fault = known ? this.judgeNode(this.get("nodes", node)) : null;
    const counts = this.told.get(node) || {};
    const reason = Object.keys(TOLD).find((each) => counts[each] > 0 && (!known || each === "AgentNotRunning"));
    return fault || (reason ? { reason, message: TOLD[reason] } : null);
  }

  /* Claims of other functions of its IOMMU group. */
  groupConflict(device) {
    const claims = this.siblings(device).map((name) => this.get("pcideviceclaims", name)).filter(Boolean);
    const isOthers = ({ metadata: meta, spec = {} }) => this.viewer && spec.userName && spec.userName !== this.viewer &&
      (meta.annotations || {})[SKIP_VFIO] === undefined;
    if (claims.some(isOthers)) return "owner";
    return claims.some(({ spec = {} }) => spec.includeIOMMUGroup) ? "group" : "";
  }

  /* As in cli/map/map_watch.c. */
  conflictOf(device) {
    const { metadata: meta, status = {} } = device;
    const vgpu = this.get("vgpudevices", meta.name);
    const isController = (status.classId || "").startsWith("0c03");
    if (!this.kinds.pcideviceclaims.read) return "hidden";
    if (vgpu && (vgpu.spec || {}).enabled) return "divided";
    if (isController && status.nodeName && status.address)
      for (const [name, { status: usb = {} }] of this.kinds.usbdevices.objects)
        if (usb.nodeName === status.nodeName && usb.pciAddress === status.address &&
            ((usb.allocations || []).length || this.get("usbdeviceclaims", name))) return "usb";
    const conflict = this.groupConflict(device);
    return conflict !== "owner" && isController && !this.kinds.usbdeviceclaims.read ? "usbHidden" : conflict;
  }

  deviceCard(id, name, key, claims, make) {
    const device = this.get(key, name);
    const claim = this.get(claims, name);
    const read = this.hurried || (this.kinds[key].read && this.kinds[claims].read);
    if ((!device && !claim) || !read) return null;
    const fault = this.faultOf(device ? this.nodeOf(this.kinds[key], device) : this.nodeOf(this.kinds[claims], claim));
    const hidden = this.kinds[claims].read ? "" : "hidden";
    const { address, portPath } = (device && device.status) || {};
    const resourceClaim = device && (key === "pcidevices" ? this.resourceClaimOf("pci", device, address) : this.resourceClaimOf("usb", device, portPath));
    return make(id, { device, claim, resourceClaim, fault, conflict: device && key === "pcidevices" ? this.conflictOf(device) : hidden });
  }

  /* The card of that id; null: there is none. */
  card(id) {
    const cut = id.indexOf("/");
    const name = id.slice(cut + 1);
    const of = (key, make) => {
      const device = this.get(key, name);
      return device ? make(id, { device, functionOf: this.get("pcidevices", name), fault: this.faultOf(this.nodeOf(this.kinds[key], device)) }) : null;
    };
    switch (id.slice(0, cut)) {
      case "pci": return this.deviceCard(id, name, "pcidevices", "pcideviceclaims", pciCard);
      case "usb": return this.deviceCard(id, name, "usbdevices", "usbdeviceclaims", usbCard);
      case "mdev": return of("mediateddevices", (made, facts) => mdevCard(made, { ...facts,
        resourceClaim: this.resourceClaimOf("mdev", facts.device, (facts.device.status || {}).uuid) }));
      case "vgpu": return of("vgpudevices", vgpuCard);
      case "mig": return of("migconfigurations", migCard);
      case "node": return this.get("nodes", name) ? nodeCard(id, { device: this.get("nodes", name), fault: this.faultOf(name) }) : null;
      default: {
        const event = this.get("events", name) || this.get("own events", name);
        return event ? eventCard(id, event) : null;
      }
    }
  }

  /* The cards that have changed since the last call, and the ids of those that are gone. */
  take() {
    const told = [];
    const gone = [];
    for (const id of this.touched) {
      const card = this.card(id);
      if (card) told.push(card);
      else gone.push(id);
    }
    this.touched.clear();
    return { cards: told, gone };
  }
}
