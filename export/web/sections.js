// Files of sections in JavaScript: read where they lie, and put together.

import { ENTRY, HEAD, MAGIC, TYPES } from "./distill.js";

const ALIGNMENT = 64;
const coder = new TextEncoder();

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
