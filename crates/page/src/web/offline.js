// Keeps the files of the page, so that it works without a network. Each version of the files has a store of its own.

const PREFIX = "attentive ";
const STORE = `${PREFIX}${registration.scope} ${VERSION}`;

const isOld = (name) => name.startsWith(`${PREFIX}${registration.scope} `) && name !== STORE;

async function begin() {
  for (const name of (await caches.keys()).filter(isOld)) {
    await caches.delete(name);
  }
  await clients.claim();
}

// Files are stored when they are first asked for: the page asks for all of them when it opens.
async function answer(request) {
  const store = await caches.open(STORE);
  const known = await store.match(request);
  if (known) {
    return known;
  }
  const response = await fetch(request, { cache: "no-cache" });
  if (response.status === 200) {
    await store.put(request, response.clone());
  }
  return response;
}

addEventListener("install", (event) => event.waitUntil(Promise.all([skipWaiting(), caches.open(STORE).then((store) => store.addAll(PAGE))])));
addEventListener("activate", (event) => event.waitUntil(begin()));
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(registration.scope)) {
    event.respondWith(answer(request));
  }
});
