// The index of clusters.bin: the lists nearest to a question are loaded, then the records of the best candidates in these, whose
// vectors score them again.
import { DistillError, SUM } from "./distill.js";
import { arrayOf } from "./sections.js";

const decoder = new TextDecoder();
// Of a list's entry the bytes before the code, and what they say: a record's place in units, and above it its size.
const ENTRY = 4;
const PLACES = 2 ** 24;
// Numbers at the start of a record: its bytes, row, sentences, and the bytes of vectors, text and document.
const HEAD = 6;
const VERSION = 1;
// How many times as many records are read of a file that is here already.
const WIDER = 20;
// What is left of the room of the lists for the heads of more requests, where no list is loaded.
const HEADS = 0.1;
// The most bytes of lists that are loaded while nobody asks, and how many at once.
const AHEAD = 2 ** 24, STEP = 2 ** 19;

export class ClusterIndex {
  constructor(encoder, file, head) {
    const array = name => file.entries[name] && arrayOf(file.entries[name], head, file.entries.numbers.start);
    Object.assign(this, { encoder, file });
    const [version, axes, width, places, kind, passages, listBytes, recordBytes, unit] = array("numbers");
    if (version !== VERSION) throw new DistillError(`${file.name} is of a newer version than this page. Export the page again.`);
    Object.assign(this, { axes, width, places, kind, passages, listBytes, recordBytes, unit });
    this.starts = array("list_starts");
    this.turning = array("axes") && decoded(array("axes"), array("axes_scales"));
    this.centroids = decoded(array("centroids"), array("centroids_scales"));
    this.books = decoded(array("books"), array("books_scales"));
    this.card = JSON.parse(decoder.decode(array("card")));
  }

  static async open(encoder, file) {
    // All that stands before the lists.
    const { numbers, lists } = file.entries;
    return new ClusterIndex(encoder, file, await file.part(numbers.start, lists.start));
  }

  about() {
    const { passages, sentences, documents, titles } = this.card;
    return { documents, passages, sentences, titles };
  }

  // The best passages of those that the nearest lists lead to; null where a newer question is there.
  async search(text, most, early, late) {
    const vector = await this.encoder.vector(text, late);
    if (!vector || late()) return null;
    const question = this.turned(vector);
    const numbers = this.all ? [...this.starts.keys()].slice(0, -1) : this.nearest(question);
    const lists = await this.lists(numbers);
    if (late()) return null;
    const loaded = this.all ? this.listBytes * HEADS : lists.reduce((sum, list) => sum + list.length, 0);
    const records = await this.records(this.candidates(question, numbers, lists), most, this.listBytes - loaded);
    const hits = records.map(record => this.scored(question, record));
    return hits.sort((a, b) => b.score - a.score || a.row - b.row).slice(0, most);
  }

  async lists(numbers) {
    if (this.all) return numbers.map(number => this.all.subarray(this.starts[number], this.starts[number + 1]));
    const begin = this.file.entries.lists.start;
    return this.file.read(numbers.map(number => [begin + this.starts[number], begin + this.starts[number + 1]]));
  }

  // Load all lists, which is little beside the records: every question then finds its best candidates. It goes on where it
  // was stopped, and stops for `busy`.
  async loadAhead(busy = () => false) {
    const { start, end } = this.file.entries.lists;
    if (this.all || end - start > AHEAD) return;
    this.ahead ??= { content: new Uint8Array(end - start), done: 0 };
    const { content } = this.ahead;
    while (this.ahead.done < content.length && !busy()) {
      const { done } = this.ahead;
      content.set(await this.file.bytesOf(start + done, Math.min(start + done + STEP, end)), done);
      this.ahead.done = Math.min(done + STEP, content.length);
    }
    if (this.ahead.done === content.length) this.all = content;
  }

  turned(question) {
    const rows = this.turning;
    if (!rows) return Float32Array.from({ length: this.width }, (_, i) => (i < this.axes ? question[i] : 0));
    return Float32Array.from({ length: this.width }, (_, i) => product(rows, i * this.axes, question, this.axes));
  }

  // The lists whose centroids have the greatest products, as many as are loaded for a question.
  nearest(question) {
    const products = Float32Array.from({ length: this.starts.length - 1 }, (_, i) => this.near(question, i));
    const order = [...products.keys()].sort((a, b) => products[b] - products[a] || a - b);
    let bytes = 0;
    return order.filter((number, i) => (bytes += this.starts[number + 1] - this.starts[number]) <= this.listBytes || !i);
  }

  near(question, list) {
    return product(this.centroids, list * this.width, question, this.width);
  }

  // The records of the vectors in lists, each with the greatest of its products, best first.
  candidates(question, numbers, lists) {
    const table = this.tableOf(question);
    const best = new Map();
    lists.forEach((list, i) => {
      const near = this.near(question, numbers[i]);
      const count = list.length / (ENTRY + this.places);
      const entries = new DataView(list.buffer, list.byteOffset, list.length);
      for (let at = 0; at < count; at++) {
        const record = entries.getUint32(ENTRY * at, true);
        const score = near + coded(table, list, ENTRY * count + at * this.places, this.places);
        if (!(best.get(record) >= score)) best.set(record, score);
      }
    });
    return [...best].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([record]) => record);
  }

  // The product of the question's numbers of each place and each of its 256 codewords.
  tableOf(question) {
    const size = this.width / this.places;
    return Float32Array.from({ length: this.places * 256 }, (_, i) =>
      product(this.books, i * size, question.subarray(Math.floor(i / 256) * size), size));
  }

  // As many of the records as are loaded for a question, of bytes that the lists left too, and at least `most`.
  async records(candidates, most, left) {
    const begin = this.file.entries.records.start;
    let bytes = -Math.max(left, 0);
    const taken = candidates.filter((record, i) => (bytes += this.unit * (Math.floor(record / PLACES) || 256)) <= this.recordBytes * (this.file.whole ? WIDER : 1) || i < most);
    const spans = taken.map(record => {
      const start = begin + this.unit * (record % PLACES);
      return [start, Math.min(start + this.unit * (Math.floor(record / PLACES) || 256), this.file.bytes)];
    });
    const contents = await this.file.read(spans);
    return Promise.all(contents.map((content, i) => this.completed(content, spans[i][0])));
  }

  // A record that is longer than its size can say is loaded to its end.
  async completed(content, start) {
    const bytes = new DataView(content.buffer, content.byteOffset).getUint32(0, true);
    return bytes <= content.length ? content : this.file.part(start, start + bytes);
  }

  scored(question, record) {
    const content = record.slice();
    const [, row, sentences, vectors, text, document] = new Uint32Array(content.buffer, 0, HEAD);
    const scales = new Float32Array(content.buffer, 4 * HEAD, vectors / this.width);
    const bounds = new Uint32Array(content.buffer, 4 * (HEAD + scales.length), 2 * sentences);
    const codes = new Int8Array(content.buffer, 4 * (HEAD + scales.length + bounds.length), vectors);
    const products = Array.from(scales, (scale, i) => scale * product(codes, i * this.width, question, this.width));
    const [whole, ...rest] = products;
    const best = sentences ? rest.indexOf(Math.max(...rest)) : -1;
    const score = this.kind === SUM ? whole + rest[best] : this.kind ? rest[best] : whole;
    const start = codes.byteOffset + vectors;
    const texts = { text: content.subarray(start, start + text), document: content.subarray(start + text, start + text + document) };
    return { row, score, sentence: best < 0 ? null : bounds.slice(2 * best, 2 * best + 2), ...texts };
  }

  // What a page shows of a hit: the passage in three parts, the second its best sentence.
  shown({ row, score, sentence, text, document }) {
    const [start, end] = sentence ?? [0, 0];
    const parts = [text.subarray(0, start), text.subarray(start, end), text.subarray(end)].map(part => decoder.decode(part));
    return { row, score, document: JSON.parse(decoder.decode(document)), parts };
  }
}

function decoded(codes, scales) {
  const width = codes.length / scales.length;
  return Float32Array.from(codes, (code, i) => code * scales[Math.floor(i / width)]);
}

function coded(table, codes, start, places) {
  let sum = 0;
  for (let place = 0; place < places; place++) sum += table[256 * place + codes[start + place]];
  return sum;
}

function product(rows, start, question, size) {
  let sum = 0;
  for (let i = 0; i < size; i++) sum += rows[start + i] * question[i];
  return sum;
}
