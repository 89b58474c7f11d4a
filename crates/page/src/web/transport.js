// The models of this page, which work in a thread of the browser, in place of a server.

import { load } from "./engine/attentive.js";

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
let opening = null;

// Keeps the files for use without a network. Without a secure connection, browsers do not offer it.
async function keepOffline() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) {
    return;
  }
  try {
    await serviceWorker.register("offline.js");
    await serviceWorker.ready;
  } catch (error) {
    console.warn(`The files are not kept for use without a network: ${error.message}`);
  }
}

async function openModels() {
  const status = document.getElementById("loading");
  status.textContent = "Loading …";
  await keepOffline();
  const loaded = await load(".", {
    progress: (bytes, total) => (status.textContent = `Loading: ${megabytes(bytes)} of ${megabytes(total)} MB`),
  });
  status.textContent = "";
  const licenses = loaded.manifest.models.filter(({ license }) => license).map(({ name, license }) => `${name}: ${license}`);
  document.getElementById("licenses").textContent = licenses.length ? `Licenses: ${licenses.join("; ")}.` : "";
  return loaded;
}

async function transport(path, options) {
  opening ??= openModels();
  try {
    return await (await opening).fetch(`/${path}`, options);
  } catch (error) {
    document.getElementById("loading").textContent = "";
    throw error;
  }
}
