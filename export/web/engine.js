// The worker of the page: it fetches the files, keeps them, and answers messages, so that the page stays quick meanwhile.
import { COMPARED, DistillError, Encoder, Pasted, Program, SUM, indexAt, requireQuestion } from "./distill.js";
import { Notes } from "./notes.js";
import { RangedPage } from "./ranged.js";
import { arrive, notWhole, requireWell } from "./ranges.js";

// Notes that a page lists.
const LISTED = 100;
// Milliseconds after an answer until more is loaded.
const PAUSE = 1000;

let program = null;
let index = null;
let pasted = null;
let notes = null;
// Of a page by ranges, what loads its parts.
let ranged = null;
// The number of the newest question: an older one is given up.
let newest = 0;

self.onmessage = async ({ data }) => {
  if (data.kind === "search") newest = data.number;
  try {
    postMessage({ number: data.number, ...(await ANSWERS[data.kind](data)) });
  } catch (error) {
    const text = error instanceof DistillError ? error.message : `${error.name}: ${error.message}`;
    postMessage({ number: data.number, kind: "failed", text });
  }
};

const ANSWERS = {
  async open({ files, version, scope, byRanges }) {
    const start = performance.now();
    const store = await storeOf(version, scope);
    program = await Program.start(await (await response("distill.wasm", version, null)).arrayBuffer());
    await (byRanges ? openRanged(files, version, store) : openWhole(files, version, store));
    await openNotes(scope);
    const loading = performance.now() - start;
    return { kind: "open", loading, bytes: program.bytes, notes: describeNotes(), all: countMissing(), ...(index ? index.about() : {}) };
  },

  async search({ number, text, most }) {
    const start = performance.now();
    requireQuestion("question", text);
    const noted = notes ? await notes.search(text, Math.max(most, COMPARED)) : [];
    const early = async hits => postMessage({ number, early: true, ...(await answerOf(hits, noted, most, start)) });
    const hits = await (index || pasted).search(text, Math.max(most, COMPARED), early, () => number !== newest);
    if (hits) loadAhead(number);
    return hits ? answerOf(hits, noted, most, start) : { kind: "late" };
  },

  async passages({ texts }) {
    const start = performance.now();
    pasted = new Pasted(program, texts, pasted);
    return { kind: "passages", count: texts.length, sentences: pasted.sentences, ms: performance.now() - start };
  },

  // All of a page by ranges, for questions without a network.
  async keep({ scope }) {
    let done = 0;
    const stored = await ranged.keep(bytes => postMessage({ kind: "progress", done: (done += bytes), total: ranged.bytes }));
    await openNotes(scope);
    return { kind: "kept", stored, notes: describeNotes() };
  },

  // The notes, after a change or none: `add`, `remove` or `load`.
  async notes({ change, value }) {
    await (change ? notes[change](value) : notes.renew());
    return { kind: "notes", count: notes.count, list: await notes.list(LISTED) };
  },

  async note({ id }) {
    return { kind: "note", note: await notes.find(id) };
  },

  async file() {
    return { kind: "file", content: notes.index.save() };
  },
};

async function openWhole(files, version, store) {
  const places = await load(files, version, store);
  program.openEncoder(places[0], files[0].bytes);
  if (files[1]) index = indexAt(program, places[1], files[1].bytes);
  // The first text takes longer than all others, so it is none of a visitor's.
  program.vector("?");
}

async function openRanged(files, version, store) {
  ranged = new RangedPage(program, files, version, store);
  await ranged.open();
  index = ranged.index;
}

// What makes the next questions better, while nobody asks; without a network it is tried again after the next one.
async function loadAhead(number) {
  if (!ranged || navigator.connection?.saveData) return;
  await new Promise(resolve => setTimeout(resolve, PAUSE));
  await ranged.index.loadAhead(() => number !== newest).catch(() => {});
}

// Notes are encoded by an encoder that has all pieces.
async function openNotes(scope) {
  if (!ranged || ranged.hasEncoder) notes ??= await Notes.open(new Encoder(program), scope);
}

function describeNotes() {
  return notes && { warning: notes.warning, count: notes.count };
}

// The bytes of a page by ranges that are not all here.
function countMissing() {
  return ranged && !ranged.kept ? ranged.bytes : 0;
}

// What the page shows of the nearest passages and notes, and how likely the first answers.
async function answerOf(passages, noted, most, start) {
  const { kind, passages: count } = index || { kind: SUM, passages: pasted.passages.length };
  // The cosine of a passage, or of its best sentence, counts as much as both of a note.
  const share = kind === SUM ? 1 : 0.5;
  const nearest = [...passages, ...noted.map(hit => ({ ...hit, score: hit.score * share }))].sort((a, b) => b.score - a.score);
  const ms = performance.now() - start;
  const answered = kind === SUM || !noted.length ? program.answered(kind, nearest, count + (notes?.passages ?? 0)) : {};
  const hits = nearest.slice(0, most).map(hit => (hit.parts ? hit : index.shown(hit)));
  return { kind: "hits", ms, ...answered, hits: await Promise.all(hits) };
}

async function storeOf(version, scope) {
  try {
    return await caches.open(`distill ${version} ${scope}`);
  } catch {
    return null; // a page that is not served over HTTPS, or a full disk
  }
}

// A file's response: from the store, where it is there, else from the server, and into the store.
async function response(name, version, store) {
  const address = name === "distill.wasm" ? name : `${name}?${version}`;
  const kept = await store?.match(address);
  if (kept) return kept;
  const answer = requireWell(name, await arrive(name, fetch(address)));
  store?.put(address, answer.clone()).catch(() => {});
  return answer;
}

// The places of files in the program's memory, into which they are read together.
async function load(files, version, store) {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  let done = 0;
  const progress = bytes => postMessage({ kind: "progress", done: (done += bytes), total });
  const places = files.map(file => program.reserve(file.bytes));
  await Promise.all(files.map(async (file, i) => read(file, places[i], await response(file.name, version, store), progress)));
  return places;
}

async function read({ name, bytes }, place, answer, progress) {
  const reader = answer.body.getReader();
  let end = 0;
  for (let part; !(part = await reader.read()).done; end += part.value.length) {
    if (end + part.value.length > bytes) throw notWhole(name, `${end + part.value.length} bytes of ${bytes}`);
    program.view(Uint8Array, place + end, part.value.length).set(part.value);
    progress(part.value.length);
  }
  if (end !== bytes) throw notWhole(name, `${end} bytes of ${bytes}`);
}
