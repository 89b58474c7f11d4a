// Keeps the files of the page, so that it works without a network. Each version of the files has a store of its own, which is
// complete before it is used; other requests are none of its business.

const PREFIX = `attentive ${registration.scope} `;
const STORE = PREFIX + VERSION;

const address = (path) => new URL(path, registration.scope).href;
const KEPT = new Set(PATHS.map(address));

// Stores all files. Those that the browser has already are not transferred again.
async function keep() {
  const store = await caches.open(STORE);
  for (const url of KEPT) {
    const response = await fetch(url, { cache: "no-cache" });
    if (!response.ok) {
      throw new Error(`${url}: status ${response.status}`);
    }
    // A new response, since pages refuse those that were redirected.
    const headers = { "Content-Type": response.headers.get("Content-Type") ?? "application/octet-stream" };
    await store.put(url, new Response(response.body, { headers }));
  }
}

async function forgetOthers() {
  const others = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== STORE);
  await Promise.all(others.map((name) => caches.delete(name)));
}

async function answer(request, url) {
  const store = await caches.open(STORE);
  return (await store.match(url)) ?? fetch(request);
}

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(forgetOthers()));
// The page asks a new version to take over before it loads anything.
addEventListener("message", ({ data }) => data === "take over" && skipWaiting());
addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const plain = url.split(/[?#]/)[0];
  if (method === "GET" && KEPT.has(plain)) {
    event.respondWith(answer(event.request, plain));
  }
});
