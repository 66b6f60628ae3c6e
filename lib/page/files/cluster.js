/*
 * The map in the cluster: the browser lists and watches the objects itself, as its user.
 *
 * The page comes from a Service, through the API server. So the API server is at the same origin, and every request
 * of this file has the rights of the user who looks. Nothing is sent to the Service itself.
 *
 * Watches are WebSockets: browsers open only six other connections to one host.
 */
"use strict";

const PROXY = /\/api\/v1\/namespaces\/[^/]+\/services\/[^/]+\/proxy\/$/;
const PAGE_LIMIT = 500; /* objects in one answer to a list */
const FIRST_WAIT = 800; /* ms until a failed list is tried again; doubled up to the last */
const LAST_WAIT = 30000;
const NEXT_LOOK = 60000; /* ms until a kind that the cluster does not have is asked for again */
const CHANGES_MS = 250; /* from the first change until cards are drawn */
const BEAT_MS = 5000;
const HURRY_MS = 15000; /* then devices are shown although a kind has not been read */
const SAID_MAX = 2000; /* characters of an answer that are shown */

const inCluster = PROXY.test(location.pathname);
const apiBase = location.pathname.replace(PROXY, "/");

/* --- requests ----------------------------------------------------------------------------------- */

class ApiError extends Error {
  constructor(code, reason, message) {
    super(message.slice(0, SAID_MAX));
    this.code = code; /* HTTP status; 0: no answer; -1: no watch */
    this.reason = reason;
  }
}

async function errorOf(answer) {
  const text = await answer.text().catch(() => "");
  let told = {};
  try {
    told = JSON.parse(text);
  } catch {
    told = { message: text.trim() };
  }
  return new ApiError(answer.status, told.reason || answer.statusText, told.message || `HTTP status ${answer.status}`);
}

/* The texts of the header Warning. */
function warningsOf(answer) {
  const found = (answer.headers.get("Warning") || "").matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g);
  return [...found].map(([, text]) => text.replace(/\\(.)/g, "$1").slice(0, SAID_MAX));
}

/* The answer's object, and its warnings; throws an ApiError. */
async function request(method, path, body) {
  const headers = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(apiBase + path, { method, headers, body: body && JSON.stringify(body), cache: "no-store", redirect: "error" });
  } catch {
    throw new ApiError(0, "NoConnection", "no connection to the API server");
  }
  if (!answer.ok) throw await errorOf(answer);
  return { object: await answer.json(), warnings: warningsOf(answer) };
}

/* --- lists and watches -------------------------------------------------------------------------- */

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const jitter = (ms) => ms * (0.75 + Math.random() / 2);

function pathOf(kind, more) {
  const query = new URLSearchParams(more);
  if (kind.fields) query.set("fieldSelector", kind.fields);
  return `${kind.api}/${kind.plural}?${query}`;
}

/* All objects of a kind, and the version from which a watch goes on. */
async function list(kind) {
  const items = [];
  let more = "";
  for (;;) {
    const { object } = await request("GET", pathOf(kind, { limit: PAGE_LIMIT, ...(more ? { continue: more } : {}) }));
    items.push(...(object.items || []));
    more = object.metadata.continue;
    if (!more) return { items, version: object.metadata.resourceVersion };
  }
}

/* Why a watch was refused: a WebSocket does not tell. */
async function probe(kind, version) {
  await request("GET", pathOf(kind, { limit: 1, resourceVersion: version, watch: 1, timeoutSeconds: 1 })).catch((error) => {
    if (error instanceof ApiError) throw error; /* what a watch answers is not one JSON object */
  });
}

function openSocket(kind, version) {
  const query = { watch: 1, allowWatchBookmarks: true, resourceVersion: version, timeoutSeconds: 300 + Math.floor(Math.random() * 300) };
  const address = new URL(apiBase + pathOf(kind, query), location.href);
  address.protocol = address.protocol.replace("http", "ws");
  return new WebSocket(address);
}

/* Follow the changes after @version until the connection ends; the version to go on from, "" if it has expired. */
function watch(kind, version) {
  return new Promise((done) => {
    const socket = openSocket(kind, version);
    let opened = false;
    let last = version;
    socket.onopen = () => {
      opened = true;
      kind.trouble = kind.error = "";
      tellBeat();
    };
    socket.onmessage = ({ data }) => {
      const { type, object } = JSON.parse(data);
      if (type === "ERROR") {
        last = "";
        socket.close();
        return;
      }
      last = object.metadata.resourceVersion || last;
      if (type !== "BOOKMARK") model.set(kind, storeName(object), type === "DELETED" ? undefined : object);
    };
    socket.onclose = () => {
      done({ opened, last });
    };
  });
}

/* List and watch one kind for ever. */
async function follow(kind) {
  let wait = FIRST_WAIT;
  let version = "";
  for (;;) {
    try {
      if (!version) {
        const listed = await list(kind);
        kind.installed = true;
        model.replace(kind, listed.items);
        version = listed.version;
      }
      const start = performance.now();
      const { opened, last } = await watch(kind, version);
      if (!opened) {
        await probe(kind, version);
        throw new ApiError(-1, "NoWatch", "watches cannot be opened: does a proxy refuse WebSockets?");
      }
      version = last;
      if (performance.now() - start > 1000) {
        wait = FIRST_WAIT;
        continue;
      }
    } catch (error) {
      version = "";
      noteFailure(kind, error);
      if (!kind.installed) wait = NEXT_LOOK;
    }
    await sleep(jitter(wait));
    wait = Math.min(wait * 2, LAST_WAIT);
  }
}

function noteFailure(kind, error) {
  if (!(error instanceof ApiError)) console.error(error);
  kind.installed = error.code !== 404;
  if (!kind.installed) model.replace(kind, []);
  const word = { "-1": "no watch", 0: "no connection", 401: "not logged in", 403: "denied", 404: "not installed" }[error.code] || `status ${error.code}`;
  kind.trouble = `${kind.plural}: ${kind.read ? "watching" : "listing"} (${word})`;
  kind.error = String(error.message).slice(0, SAID_MAX);
  tellBeat();
}

/* --- the page's source -------------------------------------------------------------------------- */

let changing = null; /* the timer, while cards wait to be drawn */
const model = new Model(() => {
  changing ||= setTimeout(takeChanges, CHANGES_MS);
});
let viewer = ""; /* the user's name, as the API server knows it; "": not known */

/* The state of all kinds, as cli/map/map_watch.c tells it. */
function tellBeat() {
  const kinds = Object.fromEntries(Object.values(model.kinds).filter((kind) => kind.key !== "own events").map((kind) =>
    [kind.plural, { read: kind.read, installed: kind.installed, text: kind.trouble || `${kind.plural}: watching`, error: kind.installed ? kind.error : "" }]));
  onBeat({ about: { cluster: viewer ? `as ${viewer}` : location.host, every_ms: BEAT_MS }, kinds });
  if (Object.values(model.kinds).every((kind) => /no connection/.test(kind.trouble)))
    setLink("lost", "no connection: does kubectl proxy still run? Trying again");
}

function takeChanges() {
  changing = null;
  const { cards: told, gone } = model.take();
  for (const data of told) later(() => put(data));
  for (const id of gone) later(() => drop(id));
}

/* Ask the API server who its user is. A cluster older than 1.28 does not tell. */
async function askViewer() {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const { object } = await request("POST", "apis/authentication.k8s.io/v1/selfsubjectreviews", review).catch(() => ({ object: {} }));
  viewer = ((object.status || {}).userInfo || {}).username || "";
  model.setViewer(viewer);
  tellBeat();
}

function openCluster() {
  for (const kind of Object.values(model.kinds)) follow(kind);
  setTimeout(() => model.hurry(), HURRY_MS);
  setInterval(tellBeat, BEAT_MS);
  askViewer();
}
