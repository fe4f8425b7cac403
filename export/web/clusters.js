// The index of clusters.bin: the lists nearest to a question are loaded, then the records of the best candidates in these, whose
// vectors score them again.
import { CHECK } from "./checks.js";
import { DistillError, SUM, damaged, objectOf, sharesOf } from "./distill.js";
import { arrayIn, requireEntries } from "./sections.js";

const decoder = new TextDecoder();
// Of a list's entry the bytes before the code, and what they say: a record's place in units, and above it its size.
const ENTRY = 4;
const PLACES = 2 ** 24;
// Numbers at the start of a record: its bytes, row, sentences, and the bytes of vectors, text and document.
const HEAD = 6;
const VERSION = 2;
// Numbers of the head of the index that are read, and the most of an axis.
const NUMBERS = 10, WIDEST = 2 ** 16;
// How many times as many records are read of a file that is here already.
const WIDER = 20;
// What is left of the room of the lists for the heads of more requests, where no list is loaded.
const HEADS = 0.1;
// The most bytes of lists that are loaded while nobody asks, and how many at once.
const AHEAD = 2 ** 24, STEP = 2 ** 19;

export class ClusterIndex {
  constructor(encoder, file, core) {
    const entries = requireEntries(file.name, core);
    const array = (...wanted) => arrayIn(file.name, core, entries, ...wanted);
    Object.assign(this, { encoder, file });
    const [version, axes, width, places, kind, passages, listBytes, recordBytes, unit, weight] = array("numbers", Int32Array, NUMBERS);
    if (version !== VERSION) throw new DistillError(`${file.name} is of another version than this page. Export the page again.`);
    Object.assign(this, { axes, width, places, kind, passages, listBytes, recordBytes, unit, shares: sharesOf(weight) });
    this.starts = array("list_starts", Uint32Array, 2);
    this.turning = entries.axes ? decoded(array("axes", Int8Array), array("axes_scales", Float32Array)) : null;
    this.centroids = decoded(array("centroids", Int8Array), array("centroids_scales", Float32Array));
    this.books = decoded(array("books", Int8Array), array("books_scales", Float32Array));
    this.card = objectOf(file.name, array("card", Uint8Array));
    this.requireShapes();
  }

  requireShapes() {
    const { axes, width, places, kind, unit, starts, file } = this;
    const positive = [axes, width, places, unit, this.passages, this.listBytes, this.recordBytes].every(number => number > 0);
    const narrow = axes <= WIDEST && width <= WIDEST && width % places === 0 && kind >= 0 && kind <= SUM && unit % CHECK === 0;
    const turned = this.turning ? this.turning.length === width * axes : axes <= width;
    const coded = this.centroids.length === (starts.length - 1) * width && this.books.length === 256 * width;
    const weighs = this.shares.every(share => share >= 0 && share <= 2);
    if (!(positive && narrow && turned && coded && weighs)) throw damaged(file.name, "its arrays do not go together");
    const whole = starts.subarray(1).every((end, i) => end - starts[i] >= CHECK && (end - starts[i] - CHECK) % (ENTRY + places) === 0);
    if (!whole || !Array.isArray(this.card.titles)) throw damaged(file.name, "its lists or its titles are none");
  }

  about() {
    const { passages, sentences, documents, titles } = this.card;
    return { documents, passages, sentences, titles };
  }

  // The best passages of those that the nearest lists lead to; null where a newer question is there.
  async search(text, most, early, late) {
    const vector = await this.encoder.vector(text, late);
    if (!vector || late()) return null;
    if (vector.length !== this.axes) throw damaged(this.file.name, "it is of another encoder");
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
    if (this.all) return numbers.map(number => this.all[number]);
    return this.file.read("lists", numbers.map(number => [this.starts[number], this.starts[number + 1]]));
  }

  // Load all lists, which is little beside the records: every question then finds its best candidates. It goes on where it
  // was stopped, and stops for `busy`.
  async loadAhead(busy = () => false) {
    const { starts } = this;
    if (this.all || starts.at(-1) > AHEAD) return;
    this.ahead ??= [];
    while (this.ahead.length < starts.length - 1 && !busy()) {
      const [from, numbers] = [this.ahead.length, [...starts.keys()].slice(0, -1)];
      const next = numbers.filter(number => number >= from && (number === from || starts[number + 1] - starts[from] <= STEP));
      const lists = await this.lists(next);
      // Another call may have loaded them meanwhile.
      if (this.ahead.length === from) this.ahead.push(...lists);
    }
    if (this.ahead.length === starts.length - 1) this.all = this.ahead;
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
    let bytes = -Math.max(left, 0);
    const taken = candidates.filter((record, i) => (bytes += this.unit * unitsOf(record)) <= this.recordBytes * (this.file.whole ? WIDER : 1) || i < most);
    const spans = taken.map(record => {
      const start = this.unit * (record % PLACES);
      return [start, start + this.unit * unitsOf(record)];
    });
    return this.file.read("records", spans);
  }

  scored(question, record) {
    const content = record.slice();
    if (content.length < 4 * HEAD) throw damaged(this.file.name, "a record is cut");
    const [bytes, row, sentences, vectors, text, document] = new Uint32Array(content.buffer, 0, HEAD);
    const all = 4 * HEAD + (1 + sentences) * (4 + this.width) + 8 * sentences + text + document;
    const whole = bytes === all && bytes <= content.length && vectors === (1 + sentences) * this.width;
    if (!whole || (this.kind && !sentences)) throw damaged(this.file.name, "a record is not what its head says");
    const scales = new Float32Array(content.buffer, 4 * HEAD, 1 + sentences);
    const bounds = new Uint32Array(content.buffer, 4 * (HEAD + scales.length), 2 * sentences);
    const codes = new Int8Array(content.buffer, 4 * (HEAD + scales.length + bounds.length), vectors);
    const products = Array.from(scales, (scale, i) => scale * product(codes, i * this.width, question, this.width));
    const [first, ...rest] = products;
    const best = sentences ? rest.indexOf(Math.max(...rest)) : -1;
    const score = this.kind === SUM ? this.shares[0] * first + this.shares[1] * rest[best] : this.kind ? rest[best] : first;
    const start = codes.byteOffset + vectors;
    const texts = { text: content.subarray(start, start + text), document: content.subarray(start + text, start + text + document) };
    return { row, score, sentence: best < 0 ? null : bounds.slice(2 * best, 2 * best + 2), ...texts };
  }

  // What a page shows of a hit: the passage in three parts, the second its best sentence.
  shown({ row, score, sentence, text, document }) {
    const [start, end] = sentence ?? [0, 0];
    const parts = [text.subarray(0, start), text.subarray(start, end), text.subarray(end)].map(part => decoder.decode(part));
    return { row, score, document: objectOf(this.file.name, document), parts };
  }
}

// How many units a record has: of its highest byte so many, or from 128 eighths of a power of two.
function unitsOf(record) {
  const size = Math.floor(record / PLACES);
  return size < 128 ? size : (8 + (size & 7)) << ((size >> 3) - 12);
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
