// Files of sections in JavaScript: read where they lie, and put together.

const HEAD = 16;
const ENTRY = 64;
const NAME = 24;
const ALIGNMENT = 64;
const MAGIC = "distill\0";
const TYPES = [Uint8Array, Int8Array, Int32Array, Uint32Array, Float32Array, BigUint64Array];
const decoder = new TextDecoder();
const coder = new TextEncoder();

// What the first bytes of a file say of its sections, by name; null where more of it is needed.
export function entriesOf(bytes) {
  if (bytes.length < HEAD) return null;
  const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (decoder.decode(bytes.subarray(0, 8)) !== MAGIC || head.getUint32(8, true) !== 1) return {};
  const count = head.getUint32(12, true);
  if (bytes.length < HEAD + count * ENTRY) return null;
  const entries = {};
  for (let i = 0, at = HEAD; i < count; i++, at += ENTRY) {
    const name = decoder.decode(bytes.subarray(at, at + NAME)).replace(/\0+$/, "");
    const [rows, columns, start, size] = [32, 40, 48, 56].map(place => Number(head.getBigUint64(at + place, true)));
    entries[name] = { type: head.getUint32(at + 24, true), dimensions: head.getUint32(at + 28, true), rows, columns, start, end: start + size };
  }
  return entries;
}

// The array of an entry in the bytes of a file that begin at a place of it.
export function arrayOf(entry, bytes, place = 0) {
  const Type = TYPES[entry.type];
  const content = bytes.subarray(entry.start - place, entry.end - place);
  const start = content.byteOffset % Type.BYTES_PER_ELEMENT ? content.slice() : content;
  return new Type(start.buffer, start.byteOffset, start.length / Type.BYTES_PER_ELEMENT);
}

// The bytes of a file of such sections: of each its name, type, dimensions, rows, columns, and bytes.
export function fileOf(sections) {
  let end = HEAD + sections.length * ENTRY;
  const starts = sections.map(({ bytes }) => {
    const start = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    end = start + bytes.length;
    return start;
  });
  const file = new Uint8Array(end);
  const head = new DataView(file.buffer);
  file.set(coder.encode(MAGIC));
  head.setUint32(8, 1, true);
  head.setUint32(12, sections.length, true);
  sections.forEach(({ name, type, dimensions, rows, columns, bytes }, i) => {
    const at = HEAD + i * ENTRY;
    file.set(coder.encode(name), at);
    head.setUint32(at + 24, type, true);
    head.setUint32(at + 28, dimensions, true);
    [rows, columns, starts[i], bytes.length].forEach((number, j) => head.setBigUint64(at + 32 + 8 * j, BigInt(number), true));
    file.set(bytes, starts[i]);
  });
  return file;
}
