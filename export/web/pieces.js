// The question encoder of pieces.bin: each question gets an encoder of its own, of the core, the pieces that its text may be cut
// into, and the rows of those that it is cut into. Its vectors are those of the whole encoder, bit for bit.
import { CHECK } from "./checks.js";
import { DistillError, TYPES, damaged, entriesOf } from "./distill.js";
import { arrayIn, fileOf, requireEntries } from "./sections.js";

const QUESTION = 0;
// Numbers in the list `settings`, and how many there are at least.
const ROWS = 4, TABLE = 7, MIXED = 3, SETTINGS = 8;
// A piece that no text is cut into: one that a spelling stands for, and no more.
const CONTROL = 3;
const INT32 = 2, UINT32 = 3, FLOAT32 = 4, UINT8 = 0;
const SIZES = [1, 1, 4, 4, 4, 8];
// Of the core, what says where the rest is.
const DIRECTORY = ["always", "bucket_keys", "bucket_key_starts", "bucket_starts", "row_parts"];
// Bytes of a bucket that is inflated, of the core for each byte of the file, and of what pieces begin with, at most.
const BUCKET = 2 ** 20, INFLATED = 4, LONGEST = 256;
// Numbers that a piece in a block has, apart from its type, and those of a part of the table.
const PIECE = 4, PART = 4;

export class PieceEncoder {
  constructor(program, file, core) {
    const entries = requireEntries(file.name, core);
    const array = (...wanted) => arrayIn(file.name, core, entries, ...wanted);
    const fingerprint = new TextDecoder().decode(array("fingerprint", Uint8Array));
    Object.assign(this, { program, file, place: 0, successor: null, fingerprint });
    this.settings = array("settings", Int32Array, SETTINGS);
    this.tokenizer = array("tokenizer", Int32Array, 3);
    this.bucketStarts = array("bucket_starts", Uint32Array, 1);
    this.keys = keysOf(array("bucket_keys", Uint8Array), array("bucket_key_starts", Uint32Array, 1));
    this.longest = [...this.keys.keys()].reduce((most, key) => Math.max(most, key.length), 0);
    this.rows = this.settings[ROWS];
    this.second = this.settings[TABLE] === MIXED ? array("table.6", Int32Array, 1)[0] : Infinity;
    this.parts = partsOf(array("row_parts", Int32Array));
    this.requireShapes();
    this.always = this.piecesOf(array("always", Uint8Array));
    this.fixed = Object.entries(entries)
      .filter(([name]) => !DIRECTORY.includes(name))
      .map(([name, entry]) => ({ name, ...entry, bytes: core.subarray(entry.start, entry.end) }));
  }

  static async open(program, file) {
    const core = await program.inflate(file.name, await file.open(), INFLATED * file.bytes);
    const encoder = new PieceEncoder(program, file, core);
    encoder.use(encoder.composed([]).content);
    return encoder;
  }

  // A row has just the bytes that the parts of the table take of it, and each id has one: so few pieces need little room.
  requireShapes() {
    const { bucketStarts, keys, longest, rows, second, file } = this;
    if (keys.size !== bucketStarts.length - 1 || longest > LONGEST) throw damaged(file.name, "its buckets are not those of its keys");
    const first = Math.min(rows, second);
    for (const [group, count] of [[0, first], [1, rows - first]]) {
      const { rows: there, columns } = file.entries[`rows.${group}`] ?? {};
      const whole = count === there && (count === 0 || columns === this.sizeOf(group) + CHECK);
      if (!whole || count < 0) throw damaged(file.name, `rows.${group} is not that of its settings`);
    }
    const well = this.parts.every(({ group, type, columns }) => columns > 0 && TYPES[type] && (group === 0 || group === 1));
    if (!well) throw damaged(file.name, "row_parts says what cannot be");
  }

  // The vector of a question, null where it is `late`. Between two waits an encoder is opened and used, so that questions
  // may overlap.
  async vector(text, late = () => false) {
    const pieces = this.successor ? [] : await this.piecesIn(text);
    if (this.successor || late()) return this.successor?.vector(text) ?? null;
    const { content, ids } = this.composed(pieces);
    this.use(content);
    const numbers = [...new Set(this.tokens(text))];
    const rows = await this.rowsOf(numbers.map(number => ids[number]));
    if (this.successor || late()) return this.successor?.vector(text) ?? null;
    const entries = entriesOf(content);
    numbers.forEach((number, i) => this.fill(content, entries, number, ids, rows[i]));
    this.use(content);
    return this.program.vector(text);
  }

  use(content) {
    const place = this.program.place(content);
    try {
      this.program.openEncoder(place, content.length);
    } catch (error) {
      this.program.release(place);
      throw error;
    }
    if (this.place) this.program.release(this.place);
    this.place = place;
  }

  // From now on another encoder answers, which the program has opened: questions under way go to it.
  retire(successor) {
    this.successor = successor;
    this.program.release(this.place);
  }

  tokens(text) {
    return this.written(text, INT32, (...given) => this.program.calls.tokenize(...given));
  }

  // What a call writes of a text, which is told first how much that is.
  written(text, type, call) {
    return this.program.withTexts([text], (place, bytes) => {
      const count = this.counted(call(place, bytes, QUESTION, 0, 0));
      const room = this.program.reserve(count * SIZES[type] || 1);
      try {
        this.counted(call(place, bytes, QUESTION, room, count));
        return this.program.view(type === INT32 ? Int32Array : Uint8Array, room, count).slice();
      } finally {
        this.program.release(room);
      }
    });
  }

  counted(count) {
    if (count < 0) throw new DistillError(`The question cannot be read: ${this.program.problem(-count)}.`);
    return count;
  }

  // The pieces that a text may be cut into: those of the bucket of each of its places.
  async piecesIn(text) {
    const normal = this.written(text, UINT8, (...given) => this.program.calls.normalise(...given));
    const string = Array.from(normal, byte => String.fromCharCode(byte)).join("");
    const buckets = new Set();
    for (let at = 0; at < string.length; at++) {
      for (let size = 1; size <= this.longest && at + size <= string.length; size++) {
        const bucket = this.keys.get(string.substring(at, at + size));
        if (bucket !== undefined) buckets.add(bucket);
      }
    }
    const numbers = [...buckets].sort((a, b) => a - b);
    const spans = numbers.map(number => [this.bucketStarts[number], this.bucketStarts[number + 1]]);
    const contents = await this.file.read("buckets", spans);
    const blocks = await Promise.all(contents.map(content => this.program.inflate(this.file.name, content, BUCKET)));
    return blocks.flatMap(block => this.piecesOf(block));
  }

  // The bytes of a row of a group.
  sizeOf(group) {
    return this.parts.filter(part => part.group === group).reduce((sum, part) => sum + part.bytes, 0);
  }

  // The rows of pieces, by their ids.
  async rowsOf(ids) {
    const { second } = this;
    const rowsIn = async (group, some) => {
      const size = this.sizeOf(group) + CHECK;
      const starts = some.map(id => (id - (group ? second : 0)) * size);
      return this.file.read(`rows.${group}`, starts.map(start => [start, start + size]));
    };
    const [first, rest] = [ids.filter(id => id < second), ids.filter(id => id >= second)];
    const rows = (await Promise.all([rowsIn(0, first), rowsIn(1, rest)])).flat();
    const all = new Map([...first, ...rest].map((id, i) => [id, rows[i]]));
    return ids.map(id => all.get(id));
  }

  // The pieces in a block: ids, scores, sizes, numbers of spelled ids, these ids, types, and texts, one behind the other.
  piecesOf(block) {
    const bytes = block.slice();
    const view = new DataView(bytes.buffer);
    const count = bytes.length < 4 ? Infinity : view.getUint32(0, true);
    const spelled = 4 + 4 * (PIECE - 1) * count;
    let target = 4 + 4 * PIECE * count;
    this.requireBlock(target <= bytes.length);
    const number = (place, i) => view.getUint32(place + 4 * i, true);
    const sum = place => Array.from({ length: count }, (_, i) => number(place, i)).reduce((total, one) => total + one, 0);
    const types = target + 4 * sum(spelled);
    let text = types + count;
    this.requireBlock(text + sum(4 + 8 * count) === bytes.length);
    return Array.from({ length: count }, (_, i) => {
      const [id, size, length] = [number(4, i), number(4 + 8 * count, i), number(spelled, i)];
      const stands = Array.from({ length }, (_, j) => number(target, j));
      this.requireBlock(stands.every(one => one < this.rows));
      target += 4 * length;
      text += size;
      const score = view.getFloat32(4 + 4 * count + 4 * i, true);
      return { id, score, type: bytes[types + i], text: bytes.subarray(text - size, text), stands };
    });
  }

  requireBlock(whole) {
    if (!whole) throw damaged(this.file.name, "a block of pieces is not what its head says");
  }

  // An encoder of some pieces, whose rows are zeros, and the id of each of its own.
  composed(pieces) {
    const all = inOrder([...this.always, ...pieces]);
    const number = new Map(all.map(({ id }, i) => [id, i]));
    const rows = all.findIndex(({ id }) => id >= this.settings[ROWS]);
    const known = rows < 0 ? all.length : rows;
    const second = all.findIndex(({ id }) => id >= this.second);
    const first = second < 0 ? known : Math.min(second, known);
    const sections = this.fixed.map(section => this.adapted(section, number, known, first));
    sections.push(...vocabularyOf(all, number, known));
    this.parts.forEach(part => sections.push(part.empty(part.group ? known - first : first)));
    return { content: fileOf(sections), ids: all.map(({ id }) => id) };
  }

  // The sections that say how many pieces and rows there are.
  adapted(section, number, known, first) {
    if (section.name === "settings") return { ...section, bytes: bytesOf(this.settings.with(ROWS, known)) };
    if (section.name === "table.6") return { ...section, bytes: bytesOf(Int32Array.of(first)) };
    if (section.name !== "tokenizer") return section;
    return { ...section, bytes: bytesOf(this.tokenizer.map((value, i) => (i < 3 ? number.get(value) : value))) };
  }

  // Put the row of a piece into the parts of the table.
  fill(content, entries, number, ids, row) {
    const group = Number(ids[number] >= this.second);
    const before = group ? ids.findIndex(id => id >= this.second) : 0;
    let at = 0;
    for (const part of this.parts.filter(part => part.group === group)) {
      content.set(row.subarray(at, at + part.bytes), entries[part.name].start + (number - before) * part.bytes);
      at += part.bytes;
    }
  }
}

// The buckets by the bytes that their pieces begin with.
function keysOf(bytes, starts) {
  const string = Array.from(bytes, byte => String.fromCharCode(byte)).join("");
  return new Map(Array.from(starts.subarray(1), (end, i) => [string.substring(starts[i], end), i]));
}

// The parts of the table that have a row for each id.
function partsOf(numbers) {
  return Array.from({ length: Math.floor(numbers.length / PART) }, (_, i) => {
    const [part, group, type, columns] = numbers.subarray(PART * i, PART * (i + 1));
    const name = `table.${part}`;
    const bytes = columns * SIZES[type];
    return {
      name, group, type, columns, bytes,
      empty: rows => ({ name, type, dimensions: 2, rows, columns: rows ? columns : 0, bytes: new Uint8Array(rows * bytes) }),
    };
  });
}

// Pieces by their ids, each once, with those that spellings stand for.
function inOrder(pieces) {
  const all = new Map(pieces.map(piece => [piece.id, piece]));
  for (const id of pieces.flatMap(piece => piece.stands)) {
    if (!all.has(id)) all.set(id, { id, score: 0, type: CONTROL, text: new Uint8Array(0), stands: [] });
  }
  return [...all.values()].sort((a, b) => a.id - b.id);
}

function vocabularyOf(all, number, known) {
  const starts = new Uint32Array(all.length + 1);
  all.forEach(({ text }, i) => (starts[i + 1] = starts[i] + text.length));
  const texts = new Uint8Array(starts[all.length]);
  all.forEach(({ text }, i) => texts.set(text, starts[i]));
  const stands = all.slice(known).flatMap(piece => [...piece.stands.map(id => number.get(id)), -1]);
  return [
    column("pieces", UINT8, texts),
    column("piece_starts", UINT32, starts),
    column("piece_scores", FLOAT32, Float32Array.from(all, ({ score }) => score)),
    column("piece_types", UINT8, Uint8Array.from(all, ({ type }) => type)),
    ...(stands.length ? [column("spellings", INT32, Int32Array.from(stands))] : []),
  ];
}

function column(name, type, array) {
  return { name, type, dimensions: 1, rows: array.length, columns: 1, bytes: bytesOf(array) };
}

function bytesOf(array) {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
