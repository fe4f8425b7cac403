// The page: a question goes to the worker as it is typed, what comes back is shown.
"use strict";

const MOST = 10;
// Between a key and the search, and until a screen reader is told.
const PAUSE = 60;
const SILENCE = 600;
// As likely as not.
const EVEN = 0.5;
const EXAMPLE = [
  "The Danube rises in the Black Forest and flows through ten countries. It ends in the Black Sea.",
  "Alexander Fleming bemerkte 1928, dass ein Schimmelpilz die Bakterien in einer Schale getötet hatte. Daraus wurde das Penicillin.",
  "Las abejas bailan para decir a las demás dónde hay flores. El ángulo del baile indica la dirección del sol.",
  "القهوة نبات أصله من إثيوبيا. انتشر شربها في اليمن قبل أن تصل إلى أوروبا.",
  "大熊猫每天要花十几个小时吃竹子。它们的消化系统却是食肉动物的。",
  "Юрий Гагарин облетел Землю за сто восемь минут. Он приземлился недалеко от Волги.",
  "भारत का सबसे ऊँचा पर्वत कंचनजंगा है। यह नेपाल की सीमा पर है।",
  "Van Gölü Türkiye'nin en büyük gölüdür. Suyu sodalı olduğu için içinde tek bir balık türü yaşar.",
];

const element = id => document.getElementById(id);
const [question, state, hits, start, passages] = ["question", "status", "hits", "start", "passages"].map(element);
const { version, encoder, index, pieces, clusters } = document.documentElement.dataset;
const searched = Boolean(index || clusters);
const scope = new URL("./", location.href).href;
const numbers = new Intl.NumberFormat("en");
const waiting = new Map();
let worker = null;
let asked = 0;
let pause = 0;
let silence = 0;
let notebook = null;

if (location.protocol === "file:") {
  fail("This page has to come from a server: run python -m http.server in its folder, and open http://localhost:8000.");
} else if (typeof WebAssembly === "undefined") {
  fail("This page searches with WebAssembly, and this browser has it turned off.");
} else if (typeof Worker === "undefined") {
  fail("This page searches in a web worker, and this browser has none.");
} else {
  begin();
}

function fail(text) {
  state.textContent = text;
  state.classList.add("failed");
  state.setAttribute("role", "alert");
  element("progress").hidden = true;
  question.disabled = true;
}

async function begin() {
  state.textContent = "Loading …";
  element("progress").hidden = false;
  worker = new Worker("engine.js", { type: "module" });
  worker.onmessage = ({ data }) => (data.kind === "progress" ? loading(data) : arrived(data));
  worker.onerror = event => fail(`The search cannot start: ${event.message || "engine.js or distill.js is missing, or the server does not call it JavaScript"}.`);
  const sizesOf = { encoder, index, pieces, clusters };
  const files = Object.entries(sizesOf).filter(([, bytes]) => bytes).map(([name, bytes]) => ({ name: `${name}.bin`, bytes: Number(bytes) }));
  const notes = import("./notebook.js");
  const about = await ask("open", { files, version, scope, byRanges: Boolean(clusters) });
  if (!about) return;
  element("progress").hidden = true;
  sizes(about.bytes);
  if (searched) titled(about);
  else pasting();
  question.disabled = false;
  if (!state.classList.contains("failed")) state.textContent = "";
  if (about.notes) notebook = (await notes).openNotebook({ ask, warn, changed: again, ...about.notes });
  if (about.all) offerAll(about.all);
  document.documentElement.dataset.ready = about.loading.toFixed(0);
  question.value = new URLSearchParams(location.hash.slice(1)).get("q") || question.value;
  if (matchMedia("(hover: hover)").matches) question.focus();
  // What is kept for the next visit waits for the first answer.
  if (question.value) await search();
  keep();
}

// All of a page by ranges, for a visitor who wants to ask without a network.
function offerAll(bytes) {
  const [all, button] = ["all", "load-all"].map(element);
  all.hidden = false;
  all.querySelector("span").textContent = `${megabytes(bytes)}, for questions without a network`;
  button.onclick = async () => {
    button.disabled = true;
    element("progress").hidden = false;
    const kept = await ask("keep", { scope }, undefined, warn);
    element("progress").hidden = true;
    button.disabled = false;
    if (!kept) return;
    all.hidden = true;
    state.textContent = kept.stored ? "All of this page is kept in this browser." : "All is loaded, and this browser does not keep it for the next visit.";
    notebook ??= (await import("./notebook.js")).openNotebook({ ask, warn, changed: again, ...kept.notes });
  };
}

// What went wrong, and leaves the rest as it is.
function warn(text) {
  clearTimeout(silence);
  state.textContent = text;
  state.classList.add("failed");
}

// What is loaded now is there without a network the next time.
function keep() {
  navigator.serviceWorker?.register("offline.js").catch(() => {});
}

// The worker's answer, null where it failed; `early` gets what comes before it, `failed` why.
function ask(kind, values, early, failed = fail) {
  const number = ++asked;
  return new Promise(resolve => {
    waiting.set(number, { resolve, early, failed });
    worker.postMessage({ ...values, kind, number });
  });
}

function arrived(data) {
  const { resolve, early, failed } = waiting.get(data.number) || {};
  if (data.early) return early?.(data);
  waiting.delete(data.number);
  if (data.kind === "failed") (failed || fail)(data.text);
  resolve?.(data.kind === "failed" || data.kind === "late" ? null : data);
}

function loading({ done, total }) {
  if (state.classList.contains("failed")) return;
  element("progress").value = done / total;
  state.textContent = `Loading ${megabytes(done)} of ${megabytes(total)} …`;
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function sizes(program) {
  const parts = [`Encoder ${megabytes(encoder)}`, ...(searched ? [`index ${megabytes(index || clusters)}`] : [])];
  element("sizes").textContent = `${parts.join(", ")}, program ${(program / 1e3).toFixed(0)} kB. No server computes anything.`;
}

function counted(count, one, many) {
  return `${numbers.format(count)} ${count === 1 ? one : many}`;
}

// What a page says of itself where whoever made it says nothing.
function describe(text) {
  if (element("about").dataset.usual) element("about").textContent = text;
}

function titled({ documents, passages: count, titles }) {
  const all = `${counted(count, "passage", "passages")} of ${counted(documents, "document", "documents")}`;
  const seen = clusters ? "The server sees which parts of its files a question needs." : "Nothing that you type leaves it.";
  describe(`${all}, searched in this page${clusters ? "" : " alone"}. ${seen}`);
  start.replaceChildren(...[...new Set(titles)].slice(0, 8).map(suggestion));
  start.hidden = !titles.length;
}

function suggestion(title) {
  const button = document.createElement("button");
  button.type = "button";
  button.dir = "auto";
  button.textContent = title;
  button.onclick = () => {
    question.value = title;
    question.focus();
    search();
  };
  return button;
}

function pasting() {
  describe("Paste passages, and ask about them in another language. Nothing of it leaves this page.");
  element("paste").hidden = false;
  passages.oninput = () => {
    clearTimeout(pause);
    pause = setTimeout(read, 300);
  };
  element("example").onclick = async () => {
    passages.value = EXAMPLE.join("\n");
    await read();
    question.focus();
  };
  read();
}

// Blank lines part passages where there are any, else every line is one.
function lines() {
  const text = passages.value.replace(/\r/g, "").trim();
  return text.split(/\n\s*\n/.test(text) ? /\n\s*\n/ : /\n/).map(line => line.trim()).filter(Boolean);
}

async function read() {
  const answer = await ask("passages", { texts: lines() });
  if (!answer) return;
  const { count, sentences } = answer;
  element("counted").textContent = count ? `${counted(count, "passage", "passages")}, ${counted(sentences, "sentence", "sentences")}` : "";
  search();
}

question.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(search, PAUSE);
});
element("ask").addEventListener("submit", event => {
  event.preventDefault();
  clearTimeout(pause);
  search();
});

async function search() {
  const text = question.value.trim();
  history.replaceState(null, "", text ? `#${new URLSearchParams({ q: text })}` : location.pathname + location.search);
  const answer = text ? await ask("search", { text, most: MOST }, early => show(text, early), warn) : { hits: [], ms: 0 };
  if (answer && show(text, answer)) hits.dataset.question = text;
}

// Search once more, what is shown already too: a note has changed.
function again() {
  delete hits.dataset.rows;
  state.classList.remove("failed");
  return search();
}

// Show what a question found; false where another one has been typed meanwhile.
function show(text, answer) {
  if (text !== question.value.trim()) return false;
  start.hidden = !searched || Boolean(text) || !start.childElementCount;
  const rows = answer.hits.map(hit => `${hit.row} ${hit.score}`).join();
  if (rows !== hits.dataset.rows) hits.replaceChildren(...answer.hits.map(shown));
  hits.dataset.rows = rows;
  if (hits.dataset.shown !== text) hits.dataset.first = answer.ms;
  hits.classList.toggle("nothing", isNothing(answer));
  Object.assign(hits.dataset, { shown: text, ms: answer.ms });
  clearTimeout(silence);
  if (text) silence = setTimeout(said, hits.dataset.said ? SILENCE : 0, answer);
  else if (!state.classList.contains("failed")) state.textContent = "";
  return true;
}

function said({ hits: shownHits, ms, probability, least }) {
  hits.dataset.said = "once";
  state.classList.remove("failed");
  const time = `the nearest ${counted(shownHits.length, "passage", "passages")} in ${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  const likely = probability === undefined ? "" : `${(100 * probability).toFixed(0)} % likely that the first answers`;
  const nothing = shownHits.length && isNothing({ probability, least });
  const doubt = probability < EVEN ? "Unsure: " : "";
  state.textContent = nothing ? `Nothing found: ${likely}; ${time}` : doubt + [likely, likely || doubt ? time : time.replace("the", "The")].filter(Boolean).join(", ");
}

function isNothing({ probability, least }) {
  return probability < least;
}

function shown({ score, note, document: { id, title, path, url, language, lang }, parts: [before, best, after] }) {
  const item = document.createElement("li");
  item.tabIndex = -1;
  item.dir = "auto";
  if (language || lang) item.lang = language || lang;
  const head = document.createElement("h2");
  const place = String(note ? "" : path || id || "");
  const name = title || (note ? "Your note" : place);
  head.append(titleOf(name, url), ...(note ? [notebook.opener(note)] : []), scoreOf(score));
  const text = document.createElement("p");
  text.dir = "auto";
  const mark = document.createElement("mark");
  mark.textContent = best;
  text.append(withoutTitle(before, title), ...(best ? [mark] : []), after);
  item.append(head, ...placeOf(place, name), text);
  return item;
}

// The title stands above the text already.
function withoutTitle(before, title) {
  return title && before.startsWith(`${title}\n`) ? before.slice(title.length).replace(/^\n+/, "") : before;
}

// The file of a passage, or the id of its record, unless the title says it.
function placeOf(place, name) {
  if (!place || place === name) return [];
  const line = document.createElement("p");
  line.className = "place";
  line.dir = "auto";
  line.textContent = place;
  return [line];
}

function titleOf(title, url) {
  const linked = /^https?:\/\//.test(url || "");
  const name = document.createElement(linked ? "a" : "span");
  if (linked) Object.assign(name, { href: url, rel: "noreferrer noopener" });
  name.className = "title";
  name.dir = "auto";
  name.textContent = title || "";
  return name;
}

function scoreOf(score) {
  const span = document.createElement("span");
  span.className = "score";
  span.title = "the cosines of passage and sentence to the question, at most 2";
  span.textContent = score.toFixed(2);
  return span;
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const all = [...hits.children];
  const place = all.indexOf(document.activeElement);
  const inside = place >= 0 || [question, document.body].includes(document.activeElement);
  if (event.key === "ArrowDown" && inside && all.length) move(all[Math.min(place + 1, all.length - 1)], event);
  else if (event.key === "ArrowUp" && place >= 0) move(all[place - 1] || question, event);
  else if (event.key === "Escape" && place >= 0) move(question, event);
  else if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) move(question, event);
});

function move(target, event) {
  event.preventDefault();
  target.focus();
  if (target === question) question.select();
}
