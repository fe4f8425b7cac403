// Encoder and index in WebAssembly, for a page, a worker and Node: what encodes, reads and searches. It loads nothing by itself.

// Bytes of an address in the program's memory.
const ADDRESS = 4;
// Bytes of a passage that was found: its row, that of its best sentence, its score.
const HIT = 12;
// The kind of the score of an index that is a passage's and its best sentence's together.
export const SUM = 2;
// In place of a sentence, where there is none.
const NONE = 0xffffffff;
// Passages whose vectors are kept.
const KNOWN = 2000;
// The first passages, by whose scores the probability that the best one answers is told, and the points of its line.
export const COMPARED = 5;
// Passages that the program gives of a question at most.
const MOST = 256;
const POINTS = 12;
// A collection of so many passages, or fewer, is a small one.
const FEW = 10;
// The numbers of a score: five, and the points' places and heights.
const CALIBRATED = 5 + 2 * POINTS;
// A file of sections: the bytes of its head, of an entry, and of a name.
export const HEAD = 16, ENTRY = 64, NAME = 24, MAGIC = "distill\0";
export const TYPES = [Uint8Array, Int8Array, Int32Array, Uint32Array, Float32Array, BigUint64Array];
// U+FEFF at the begin of a passage is a part of it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const coder = new TextEncoder();
// What a text is, as the program counts it.
const QUESTION = 0, DOCUMENT = 1;
const ROLES = { question: QUESTION, document: DOCUMENT };
// Characters of a question once it is normalised, as distill/encoders/files/questions.py has them for every way in.
const CHARACTERS = 20000;
// What closes a sentence, as encode.py cuts passages.
const END = /[.!?…।؟]["'»”’)\]]*\s+|[。！？][」』”’）]*|\n\s*/gu;

// What is wrong, in a sentence for the person who asked.
export class DistillError extends Error {
  name = "DistillError";
}

export function damaged(name, what) {
  return new DistillError(`${name} is damaged: ${what}.`);
}

// What JSON in the bytes of a file says, an object always.
export function objectOf(name, bytes) {
  let value = null;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    // It is none.
  }
  if (value === null || typeof value !== "object") throw damaged(name, "a part of it is no JSON");
  return value;
}

// What distill.wasm does, in one memory: an encoder, and any number of indexes of its.
export class Program {
  constructor(calls, bytes, inflate) {
    this.calls = calls;
    this.bytes = bytes;
    this.inflated = inflate;
    this.room = this.reserve(ADDRESS);
    // The question whose vector the program has.
    this.asked = null;
  }

  // The program in the bytes of distill.wasm; `inflate` takes raw deflate, where a browser's own is not there.
  static async start(content, inflate = inflated) {
    let instance;
    try {
      ({ instance } = await WebAssembly.instantiate(content, {}));
    } catch (error) {
      throw new DistillError(`The search cannot run here: WebAssembly with SIMD is needed (${error.message}).`);
    }
    return new Program(instance.exports, content.byteLength, inflate);
  }

  // The bytes of raw deflate, no more than there may be.
  async inflate(name, content, most) {
    try {
      return await this.inflated(content, most);
    } catch (error) {
      throw damaged(name, `a part of it cannot be inflated (${error.message})`);
    }
  }

  // An address with so many bytes of room, at a multiple of 64.
  reserve(bytes) {
    const place = this.calls.reserve(bytes) >>> 0;
    if (!place) throw new DistillError(`There is not enough memory for ${(bytes / 1e6).toFixed(0)} MB.`);
    return place;
  }

  release(...places) {
    places.forEach(place => this.calls.release(place));
  }

  // The address of a file's content.
  place(content) {
    const place = this.reserve(content.length);
    this.view(Uint8Array, place, content.length).set(content);
    return place;
  }

  view(Type, place, length) {
    return new Type(this.calls.memory.buffer, place, length);
  }

  openEncoder(place, bytes) {
    this.require(this.calls.open_encoder(place, bytes), "encoder.bin");
    this.asked = null;
    this.dimension = this.calls.dimension();
    this.encoder = place;
    const { answerable: rows, passage_weight: weight } = sectionsOf(this, place);
    this.shares = sharesOf(weight?.[0]);
    // A copy: memory that has grown is another buffer.
    this.answerable = rows?.length === 3 * CALIBRATED ? rows.slice() : null;
  }

  // The number by which the program knows the index that lies at a place.
  openIndex(place, bytes) {
    this.require(this.calls.open_index(place, bytes, this.room), "index.bin");
    return this.handle();
  }

  // What the last call has opened.
  handle() {
    return this.view(Uint32Array, this.room, 1)[0];
  }

  // How likely the first of the hits among so many passages answers, and the least at which something is found; nothing
  // where it is not known.
  answered(kind, hits, passages) {
    const [best, margin, few, usual, least, ...line] = this.answerable?.subarray(kind * CALIBRATED, (kind + 1) * CALIBRATED) ?? [];
    if (!best && !margin) return {};
    if (!hits.length) return { probability: 0, least };
    let others = 0;
    for (let i = 1; i < COMPARED; i++) others += (hits[i]?.score ?? usual) / (COMPARED - 1);
    const first = hits[0].score;
    const small = FEW / Math.max(passages, FEW);
    return { probability: heightOf(line, best * first + margin * (first - others) + few * small), least };
  }

  require(code, name) {
    if (code) throw new DistillError(`${name}: ${this.problem(code)}.`);
  }

  problem(code) {
    const start = this.calls.problem(code) >>> 0;
    const rest = new Uint8Array(this.calls.memory.buffer, start);
    return decoder.decode(rest.subarray(0, rest.indexOf(0)));
  }

  // What a call gives of texts of any length, by the address and the length of each.
  withTexts(texts, call) {
    const contents = texts.map(text => coder.encode(text));
    const places = [];
    try {
      contents.forEach(content => places.push(this.place(content)));
      return call(...contents.flatMap((content, i) => [places[i], content.length]));
    } finally {
      this.release(...places);
    }
  }

  // The vector of a question, or of a document: some encoders read a prompt before each.
  vector(text, role = QUESTION) {
    this.asked = null;
    const code = this.withTexts([text], (place, bytes) => this.calls.encode(place, bytes, role));
    if (code) throw new DistillError(`The text cannot be encoded: ${this.problem(code)}.`);
    if (role === QUESTION) this.asked = text;
    return this.view(Float32Array, this.calls.vector_of() >>> 0, this.dimension).slice();
  }

  // That of a question which several indexes are asked.
  question(text) {
    return this.asked === text ? this.view(Float32Array, this.calls.vector_of() >>> 0, this.dimension).slice() : this.vector(text);
  }

  search(index, text, most) {
    this.question(text);
    const count = this.calls.search(index, most);
    if (count < 0) throw new DistillError(`The question cannot be answered: ${this.problem(-count)}.`);
    const hits = new DataView(this.calls.memory.buffer, this.calls.hits() >>> 0, count * HIT);
    return Array.from({ length: count }, (_, i) => ({
      row: hits.getUint32(i * HIT, true),
      sentence: hits.getUint32(i * HIT + 4, true),
      score: hits.getFloat32(i * HIT + 8, true),
    }));
  }
}

// The height at x of a line of `POINTS` points, whose heights stand behind them.
function heightOf(line, x) {
  const at = line.slice(0, POINTS);
  const heights = line.slice(POINTS);
  const place = at.findIndex(point => point >= x);
  if (place === 0) return heights[0];
  if (place < 0) return heights[POINTS - 1];
  const share = (x - at[place - 1]) / (at[place] - at[place - 1]);
  return heights[place - 1] + share * (heights[place] - heights[place - 1]);
}

// What the first bytes of a file say of its sections, by name; null where more of it is needed.
export function entriesOf(bytes) {
  if (bytes.length < HEAD) return null;
  const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (decoder.decode(bytes.subarray(0, 8)) !== MAGIC || head.getUint32(8, true) !== 1) return {};
  const count = head.getUint32(12, true);
  if (bytes.length < HEAD + count * ENTRY) return null;
  const entries = {};
  for (let i = 0, at = HEAD; i < count; i++, at += ENTRY) {
    const name = decoder.decode(bytes.subarray(at, at + NAME)).replace(/\0.*$/s, "");
    if (Object.hasOwn(entries, name)) return {};
    const [rows, columns, start, size] = [32, 40, 48, 56].map(place => Number(head.getBigUint64(at + place, true)));
    entries[name] = { type: head.getUint32(at + 24, true), dimensions: head.getUint32(at + 28, true), rows, columns, start, end: start + size };
  }
  return entries;
}

// The arrays of a file of sections, in the program's memory.
export function sectionsOf(program, place) {
  const entries = entriesOf(new Uint8Array(program.calls.memory.buffer, place));
  const view = ({ type, rows, columns, start }) => program.view(TYPES[type], place + start, rows * columns);
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, view(entry)]));
}

// What the score of a passage's own vector and that of its best sentence are multiplied by, of a weight in thousandths, 0 for 1.
export function sharesOf(weight) {
  return weight ? [2 * weight / (1000 + weight), 2000 / (1000 + weight)] : [1, 1];
}

// The index at a place: of 8 bits a number the program searches it, of fewer the lines below do.
export function indexAt(program, place, bytes) {
  const handle = program.openIndex(place, bytes);
  try {
    const few = requireParts(sectionsOf(program, place)).numbers[3] < 8;
    return few ? new CompactIndexFile(program, place, handle) : new IndexFile(program, place, handle);
  } catch (error) {
    program.calls.close_index(handle);
    throw error;
  }
}

// What is read of an index here is there, and goes together. The program looks at the arrays that it reads itself.
function requireParts(sections) {
  const types = { numbers: Int32Array, card: Uint8Array, documents: Uint8Array, document_starts: BigUint64Array, text: Uint8Array };
  Object.assign(types, { document_of: Uint32Array, passage_offsets: Uint32Array, text_lengths: Uint32Array, text_blocks: BigUint64Array });
  Object.assign(types, { sentence_starts: Uint32Array, sentence_bounds: Uint32Array, passage_scales: Float32Array });
  if (sections.numbers?.[4]) types.sentence_scales = Float32Array;
  for (const [name, Type] of Object.entries(types)) {
    if (!(sections[name] instanceof Type)) throw damaged("index.bin", `${name} is missing`);
  }
  const { document_of: documents, document_starts: starts, passage_offsets: offsets } = sections;
  const known = documents.every(document => document < starts.length - 1);
  if (!known || offsets.length !== documents.length) throw damaged("index.bin", "its passages are of no documents");
  return sections;
}

class IndexFile {
  constructor(program, place, handle) {
    this.program = program;
    this.place = place;
    this.handle = handle;
    // How many are reading it, and whether it goes when they have read.
    this.readers = 0;
    this.old = false;
    this.blocks = new Map();
    const { numbers, card } = this.again();
    this.kind = numbers[4];
    this.packed = numbers[5] === 1;
    this.size = numbers[6] || 1;
    this.card = objectOf("index.bin", card);
    this.passages = this.card.passages;
    this.own = this.card.fingerprint === decoder.decode(sectionsOf(program, program.encoder).fingerprint);
  }

  // Memory that has grown is another buffer.
  again() {
    if (this.sections?.text.buffer !== this.program.calls.memory.buffer) {
      this.sections = sectionsOf(this.program, this.place);
    }
    return this.sections;
  }

  async search(text, most) {
    return this.program.search(this.handle, text, most);
  }

  // What is read of it, which stays until then, whatever takes its place meanwhile.
  async read(reading) {
    this.readers++;
    try {
      return await reading();
    } finally {
      this.readers--;
      if (this.old) this.leave();
    }
  }

  // Give its memory back, as soon as nobody reads it.
  leave() {
    this.old = true;
    if (this.readers) return;
    this.program.calls.close_index(this.handle);
    this.program.release(...this.places());
  }

  places() {
    return [this.place];
  }

  about() {
    const count = this.again().document_starts.length - 1;
    const step = Math.max(1, Math.floor(count / 10));
    const titles = [];
    for (let row = 0; row < count && titles.length < 10; row += step) titles.push(this.document(row).title);
    const { passages, sentences, documents } = this.card;
    return { documents, passages, sentences, titles: titles.filter(Boolean) };
  }

  document(row) {
    const { documents, document_starts: starts } = this.again();
    return objectOf("index.bin", documents.subarray(Number(starts[row]), Number(starts[row + 1])));
  }

  // Each document with its text, of which an index has no blanks that lie between two passages.
  async wholes() {
    const { document_of: documents, passage_offsets: offsets, document_starts: starts } = this.again();
    const rows = Array.from(documents, (document, row) => ({ document, row, offset: offsets[row] }));
    const wholes = Array.from({ length: starts.length - 1 }, () => ({ text: "", end: 0 }));
    for (const { document, row, offset } of rows) {
      const passage = await this.passage(row);
      const whole = wholes[document];
      const gap = Math.min(Math.max(offset - whole.end, 0), 2);
      // One that begins with sentences of the passage before it has these once.
      const more = passage.subarray(Math.max(whole.end - offset, 0));
      whole.text += (gap > 1 ? "\n" : " ").repeat(gap) + decoder.decode(more);
      whole.end = offset + passage.length;
    }
    return wholes.map(({ text }, row) => ({ ...this.document(row), text: text.trim() }));
  }

  // What a page shows of a hit: the passage in three parts, the second its best sentence.
  async shown({ row, score, sentence }) {
    const passage = await this.passage(row);
    const { document_of: documents, sentence_bounds: bounds } = this.again();
    const document = this.document(documents[row]);
    const known = sentence !== NONE;
    const [start, end] = known ? bounds.subarray(2 * sentence, 2 * sentence + 2) : [0, 0];
    const parts = [passage.subarray(0, start), passage.subarray(start, end), passage.subarray(end)];
    return { row, score, document, parts: parts.map(part => decoder.decode(part)) };
  }

  async passage(row) {
    const number = Math.floor(row / this.size);
    const block = this.packed ? await this.block(number) : null;
    const { text, text_blocks: bounds, text_lengths: lengths } = this.again();
    let start = 0;
    for (let before = number * this.size; before < row; before++) start += lengths[before];
    const end = start + lengths[row];
    if (end > (block ?? text.subarray(Number(bounds[number]), Number(bounds[number + 1]))).length) throw damaged("index.bin", "a passage is cut");
    if (block) return block.subarray(start, end);
    start += Number(bounds[number]);
    // A copy: memory may grow before it is read.
    return text.slice(start, start + lengths[row]);
  }

  async block(number) {
    if (!this.blocks.has(number)) {
      if (this.blocks.size > 200) this.blocks.clear();
      const { text, text_blocks: bounds, text_lengths: lengths } = this.again();
      const content = text.slice(Number(bounds[number]), Number(bounds[number + 1]));
      const bytes = lengths.subarray(number * this.size, (number + 1) * this.size).reduce((sum, length) => sum + length, 0);
      this.blocks.set(number, await this.program.inflate("index.bin", content, bytes));
    }
    return this.blocks.get(number);
  }
}

// An index of 1, 2 or 4 bits a number: the best passages by these are scored again by their text, as in Python. In a
// browser products by a table of bytes take a seventh of the time of distill_search, which spells rows out.
class CompactIndexFile extends IndexFile {
  constructor(program, place, handle) {
    super(program, place, handle);
    const { numbers, passage_vectors: rows, document_of: documents } = this.again();
    [, , this.axes, this.bits, this.score, , , this.candidates] = numbers;
    this.shares = sharesOf(this.score === SUM ? numbers[8] : 0);
    this.count = documents.length;
    this.width = rows.length / this.count;
    if (!this.own) throw new DistillError("index.bin: the index was made by another encoder.");
    const room = Math.max(this.count, this.again().sentence_bounds.length / 2) * 4;
    this.table = program.reserve(this.width * 256 * 4);
    this.products = program.reserve(room);
    this.known = new Map();
  }

  places() {
    return [this.place, this.table, this.products];
  }

  // For each byte of a row and each of its values the product with the question's numbers.
  fill(question) {
    const table = this.program.view(Float32Array, this.table, this.width * 256);
    const per = 8 / this.bits;
    const mask = (1 << this.bits) - 1;
    for (let byte = 0; byte < this.width; byte++) {
      for (let code = 0; code < 256; code++) {
        let sum = 0;
        for (let i = 0, axis = byte * per; i < per && axis < this.axes; i++, axis++) {
          sum += (2 * ((code >> (i * this.bits)) & mask) - mask) * question[axis];
        }
        table[byte * 256 + code] = sum;
      }
    }
  }

  scores(kind, count) {
    const { [`${kind}_vectors`]: codes, [`${kind}_scales`]: scales } = this.again();
    this.program.calls.products(codes.byteOffset, scales.byteOffset, count, this.width, this.table, this.products);
    return this.program.view(Float32Array, this.products, count);
  }

  // The score of each passage by its codes, and the row of its best sentence.
  quick() {
    const { sentence_starts: starts } = this.again();
    const scores = this.score === 1 ? new Float32Array(this.count) : this.scores("passage", this.count).slice();
    const sentences = new Uint32Array(this.count).fill(NONE);
    if (this.score === 0) return { scores, sentences };
    const products = this.scores("sentence", starts[this.count]);
    for (let row = 0; row < this.count; row++) {
      let best = starts[row];
      for (let at = best + 1; at < starts[row + 1]; at++) if (products[at] > products[best]) best = at;
      scores[row] = this.shares[0] * scores[row] + this.shares[1] * products[best];
      sentences[row] = best;
    }
    return { scores, sentences };
  }

  // The first hits, by few bits, are sent `early`; the true ones take longer, and are null where that is `late`.
  async search(text, most, early, late) {
    const question = this.program.question(text);
    this.fill(question);
    const { scores, sentences } = this.quick();
    const rows = greatest(scores, Math.max(most, this.candidates));
    if (!this.candidates) return rows.map(row => ({ row, score: scores[row], sentence: sentences[row] }));
    if (!rows.every(row => this.known.has(row))) {
      await early(rows.slice(0, most).map(row => ({ row, score: scores[row], sentence: sentences[row] })));
    }
    const hits = [];
    for (const row of rows) {
      if (!this.known.has(row)) await turn();
      if (late()) return null;
      hits.push(this.scored(question, row, await this.vectors(row)));
    }
    return hits.sort((a, b) => b.score - a.score || a.row - b.row).slice(0, most);
  }

  // Those of a passage and of its sentences, kept for the next question.
  async vectors(row) {
    if (this.known.has(row)) return this.known.get(row);
    if (this.known.size >= KNOWN) this.known.clear();
    const passage = await this.passage(row);
    const { sentence_starts: starts, sentence_bounds: bounds } = this.again();
    const vector = (start, end) => this.program.vector(decoder.decode(passage.slice(start, end)), DOCUMENT);
    const sentences = [];
    for (let at = starts[row]; this.score && at < starts[row + 1]; at++) {
      sentences.push(vector(...bounds.slice(2 * at, 2 * at + 2)));
    }
    const vectors = { whole: this.score === 1 ? null : vector(0, passage.length), sentences };
    this.known.set(row, vectors);
    return vectors;
  }

  scored(question, row, { whole, sentences }) {
    const products = sentences.map(sentence => dot(question, sentence));
    const best = Math.max(...products);
    const score = this.shares[0] * (whole ? dot(question, whole) : 0) + (this.score ? this.shares[1] * best : 0);
    return { row, score, sentence: this.score ? this.again().sentence_starts[row] + products.indexOf(best) : NONE };
  }
}

// The bytes of raw deflate, as a browser inflates them, `most` of them at most.
async function inflated(content, most) {
  const reader = new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let bytes = 0;
  for (let part; !(part = await reader.read()).done; parts.push(part.value)) {
    bytes += part.value.length;
    if (bytes > most) {
      await reader.cancel();
      throw new RangeError("more bytes than there may be");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// Let a message in that has come meanwhile.
function turn() {
  return new Promise(resolve => setTimeout(resolve));
}

// The rows with the greatest scores, of equal ones the lower.
function greatest(scores, most) {
  const order = (a, b) => scores[b] - scores[a] || a - b;
  const best = [];
  for (let row = 0; row < scores.length; row++) {
    if (best.length === most && scores[row] <= scores[best[most - 1]]) continue;
    best.push(row);
    best.sort(order);
    best.length = Math.min(best.length, most);
  }
  return best;
}

// Passages that a visitor pastes, searched as `Passages` of encode.py does.
export class Pasted {
  constructor(program, texts, before) {
    this.program = program;
    this.known = new Map();
    this.passages = texts.map(text => this.kept(text, before?.known));
    this.sentences = this.passages.reduce((sum, passage) => sum + passage.sentences.length, 0);
  }

  kept(text, before) {
    const passage = this.known.get(text) || before?.get(text) || passageOf(this.program, text);
    this.known.set(text, passage);
    return passage;
  }

  search(text, most) {
    const question = this.program.question(text);
    const hits = this.passages.map((passage, row) => {
      const scores = passage.sentences.map(({ vector }) => dot(question, vector));
      const best = scores.indexOf(Math.max(...scores));
      const { start, end } = passage.sentences[best];
      const parts = [passage.text.slice(0, start), passage.text.slice(start, end), passage.text.slice(end)];
      const [ofPassage, ofSentence] = this.program.shares;
      const score = ofPassage * dot(question, passage.vector) + ofSentence * scores[best];
      return { row, score, document: { title: `Passage ${row + 1}` }, parts };
    });
    return hits.sort((a, b) => b.score - a.score || a.row - b.row).slice(0, most);
  }
}

function passageOf(program, text) {
  return {
    text,
    vector: program.vector(text, DOCUMENT),
    sentences: sentencesOf(text).map(([start, end]) => ({ start, end, vector: program.vector(text.slice(start, end), DOCUMENT) })),
  };
}

function sentencesOf(text) {
  const ends = Array.from(text.matchAll(END), match => match.index + match[0].length);
  const bounds = [];
  [0, ...ends].forEach((start, i) => {
    const part = text.slice(start, ends[i] ?? text.length);
    if (part.trim()) bounds.push([start + part.length - part.trimStart().length, start + part.trimEnd().length]);
  });
  return bounds.length ? bounds : [[0, text.length]];
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// An encoder that is open: a text in, a vector out, and indexes of documents.
export class Encoder {
  constructor(program) {
    this.program = program;
    const { name, fingerprint } = sectionsOf(program, program.encoder);
    this.name = decoder.decode(name);
    this.fingerprint = decoder.decode(fingerprint);
    this.dimension = program.dimension;
  }

  // By the contents of encoder.bin and distill.wasm.
  static async open(encoder, program, inflate) {
    const started = await Program.start(program, inflate);
    started.openEncoder(started.place(encoder), encoder.length);
    return new Encoder(started);
  }

  encode(text, options = {}) {
    requireText("encode", text);
    requireObject("encode", options, "its options, such as { role: \"document\" }");
    const { role = "question" } = options;
    if (!Object.hasOwn(ROLES, role)) throw new DistillError(`encode: expected the role question or document, got ${role}.`);
    return this.program.vector(text, ROLES[role]);
  }

  createIndex() {
    return new Index(this.program);
  }

  openIndex(content) {
    if (!(content instanceof Uint8Array)) throw new DistillError("openIndex: expected the bytes of an index.bin, a Uint8Array.");
    return new Index(this.program, content);
  }
}

// An index that can be changed. What has been changed lies in the program's writer, until it is searched or saved.
export class Index {
  constructor(program, content = null) {
    this.program = program;
    this.file = null;
    this.writer = 0;
    this.changed = false;
    this.closed = false;
    if (content) {
      this.file = this.open(program.place(content), content.length);
    } else {
      this.change();
      this.changed = true;
    }
  }

  // How many documents there are.
  get size() {
    this.requireOpen();
    return this.writer ? this.program.calls.writer_documents(this.writer) : this.file.card.documents;
  }

  add(document) {
    requireObject("add", document, "a document, such as { id, title, text }");
    const { id, title = "", text, ...more } = document;
    Object.entries({ id, title, text }).forEach(([name, part]) => requireText(`add, ${name}`, part));
    const [other] = Object.keys(more);
    if (other) throw new DistillError(`add: a document has id, title and text, and no ${other}.`);
    const writer = this.change();
    const code = this.program.withTexts([id, title, text], (...texts) => this.program.calls.writer_add(writer, ...texts));
    if (code) throw new DistillError(`The document ${id} cannot be added: ${this.program.problem(code)}.`);
    this.changed = true;
  }

  remove(id) {
    requireText("remove", id);
    const writer = this.change();
    const code = this.program.withTexts([id], (...texts) => this.program.calls.writer_remove(writer, ...texts));
    if (code < 0) throw new DistillError(`The document ${id} cannot be removed: ${this.program.problem(-code)}.`);
    if (code) this.changed = true;
    return code === 1;
  }

  async search(text, most = 10) {
    requireText("search", text);
    requireQuestion("search", text);
    if (!Number.isInteger(most) || most < 1) throw new DistillError(`search: expected a whole number of at least 1 of hits, got ${most}.`);
    const { kind, passages } = this.current();
    const nearest = await this.nearest(text, Math.min(Math.max(most, COMPARED), MOST));
    const { probability, least } = this.program.answered(kind, nearest, passages);
    const likely = probability === undefined ? {} : { probability, answered: probability >= least };
    return nearest.slice(0, most).map((hit, i) => ({ ...asHit(hit), ...(i ? {} : likely) }));
  }

  // The nearest passages as a page shows them.
  async nearest(text, most) {
    const file = this.current();
    return file.read(async () => {
      const hits = await file.search(text, most, () => {}, () => false);
      return Promise.all(hits.map(hit => file.shown(hit)));
    });
  }

  // What is kept of each document, with its text.
  async documents() {
    const file = this.current();
    return file.read(() => file.wholes());
  }

  save() {
    const { place, bytes } = this.current();
    return this.program.view(Uint8Array, place, bytes).slice();
  }

  // Give its memory back.
  close() {
    this.closed = true;
    this.stopWriting();
    this.file?.leave();
    this.file = null;
  }

  open(place, bytes) {
    try {
      return Object.assign(indexAt(this.program, place, bytes), { bytes });
    } catch (error) {
      this.program.release(place);
      throw error;
    }
  }

  // The writer of its file, or of a new one.
  change() {
    this.requireOpen();
    if (!this.writer) {
      const { place = 0, bytes = 0 } = this.file || {};
      const code = this.program.calls.writer_open(place, bytes, this.program.room);
      if (code) throw new DistillError(`The index cannot be changed: ${this.program.problem(code)}.`);
      this.writer = this.program.handle();
    }
    return this.writer;
  }

  requireOpen() {
    if (this.closed) throw new DistillError("The index is closed: open it again, or make another one.");
  }

  stopWriting() {
    if (this.writer) this.program.calls.writer_close(this.writer);
    this.writer = 0;
    this.changed = false;
  }

  // Its file, with all changes.
  current() {
    this.requireOpen();
    if (this.changed) {
      const code = this.program.calls.writer_save(this.writer);
      if (code) throw new DistillError(`The index cannot be saved: ${this.program.problem(code)}.`);
      const file = this.open(this.program.calls.saved() >>> 0, this.program.calls.saved_size() >>> 0);
      this.stopWriting();
      this.file?.leave();
      this.file = file;
    }
    return this.file;
  }
}

function asHit({ score, document, parts: [before, best, after] }) {
  const sentence = best ? [before.length, before.length + best.length] : null;
  return { score, document, text: before + best + after, sentence };
}

// A soft hyphen is no letter. Each character is normalised by itself, as one may become 18.
export function requireQuestion(call, text) {
  if (!text.replace(/[\xad\x1c-\x1f\x85]/g, "").trim()) throw new DistillError(`${call}: the question is empty; give a text.`);
  const characters = Array.from(text);
  const length = characters.reduce((sum, one) => sum + Array.from(one.normalize("NFKC")).length, 0);
  const what = length === characters.length ? "characters" : "characters once it is normalised";
  if (length > CHARACTERS) throw new DistillError(`${call}: ${length} ${what}; a text has ${CHARACTERS} at most.`);
}

function requireText(call, text) {
  if (typeof text !== "string") throw new DistillError(`${call}: expected a text, got ${kindOf(text)}.`);
}

export function requireObject(call, value, expected) {
  if (value === null || typeof value !== "object") throw new DistillError(`${call}: expected ${expected}, got ${kindOf(value)}.`);
}

function kindOf(value) {
  return value === null ? "null" : typeof value;
}
