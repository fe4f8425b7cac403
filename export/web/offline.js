// Keeps the page: what it has loaded once is there without a network. Every version of the page has its own store.
"use strict";

const VERSION = "$version";
const STORE = `distill $${VERSION} $${self.registration.scope}`;
const FILES = ["./", "index.html", "manifest.webmanifest", $files];

self.addEventListener("install", event => {
  const files = FILES.map(file => new Request(file, { cache: "reload" }));
  event.waitUntil(caches.open(STORE).then(store => store.addAll(files)).then(() => self.skipWaiting()));
});

// Stores of this page's other versions are dropped, those of other pages are not.
self.addEventListener("activate", event => {
  const older = name => name.startsWith("distill ") && name.endsWith(` $${self.registration.scope}`) && name !== STORE;
  const drop = async () => {
    await Promise.all((await caches.keys()).filter(older).map(name => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(drop());
});

self.addEventListener("fetch", event => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  const kept = async () => {
    const store = await caches.open(STORE);
    return (await store.match(request, { ignoreSearch: request.mode === "navigate" })) || fetch(request);
  };
  event.respondWith(kept());
});
