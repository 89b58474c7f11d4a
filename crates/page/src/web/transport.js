// The models of this page, which work in a thread of the browser, in place of a server.

import { load } from "./engine/attentive.js";

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
const say = (id, text) => (document.getElementById(id).textContent = text);
let opening = null;

// Uses a newer version of the files that has been stored meanwhile, if there is one.
async function takeNewer() {
  const registration = await navigator.serviceWorker?.getRegistration();
  if (registration?.waiting && navigator.serviceWorker.controller) {
    const changed = new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
    registration.waiting.postMessage("take over");
    await changed;
    location.reload();
    await new Promise(() => {}); // Until the page is gone.
  }
}

// Keeps the files for use without a network. Browsers offer it to secure pages only.
async function keepOffline() {
  try {
    await navigator.serviceWorker?.register("offline.js");
  } catch (error) {
    console.warn(`The files are not kept for use without a network: ${error.message}`);
  }
}

async function openModels() {
  say("loading", "Loading …");
  try {
    await takeNewer();
    const loaded = await load(".", {
      progress: (bytes, total) => say("loading", `Loading: ${megabytes(bytes)} of ${megabytes(total)} MB`),
    });
    const licenses = loaded.manifest.models.filter(({ license }) => license).map(({ name, license }) => `${name}: ${license}`);
    say("licenses", licenses.length ? `Licenses: ${licenses.join("; ")}.` : "");
    keepOffline();
    return loaded;
  } catch (error) {
    opening = null; // The next request tries again.
    throw error;
  } finally {
    say("loading", "");
  }
}

async function transport(path, options) {
  opening ??= openModels();
  const models = await opening;
  if (models.lost) {
    opening = null;
    throw models.lost;
  }
  return models.fetch(`/${path}`, options);
}

// The error of a response that broke off.
const brokenOff = (error) => error;
