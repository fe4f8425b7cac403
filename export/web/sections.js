// Files of sections in JavaScript: read where they lie, and put together.

import { ENTRY, HEAD, MAGIC, TYPES, damaged, entriesOf } from "./distill.js";

const ALIGNMENT = 64;
const coder = new TextEncoder();

// The entries of a whole file of sections, by name.
export function requireEntries(name, content) {
  const entries = entriesOf(content) ?? {};
  if (!Object.keys(entries).length) throw damaged(name, "its core is none");
  for (const [section, { type, rows, columns, start, end }] of Object.entries(entries)) {
    const well = end <= content.length && end - start === rows * columns * TYPES[type]?.BYTES_PER_ELEMENT;
    if (!well) throw damaged(name, `${section} is not what its entry says`);
  }
  return entries;
}

// The array of an entry in the bytes of a file, of the type that it has to be of, and of so many numbers at least.
export function arrayIn(name, content, entries, section, Type, least = 0) {
  const entry = Object.hasOwn(entries, section) ? entries[section] : null;
  if (!entry || TYPES[entry.type] !== Type) throw damaged(name, `${section} is missing`);
  const bytes = content.subarray(entry.start, entry.end);
  const start = bytes.byteOffset % Type.BYTES_PER_ELEMENT ? bytes.slice() : bytes;
  const array = new Type(start.buffer, start.byteOffset, start.length / Type.BYTES_PER_ELEMENT);
  if (array.length < least) throw damaged(name, `${section} is cut`);
  return array;
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
