// The checks of a file's parts: the CRC-32 of a part stands behind it. Its seed is of the file and of the part's place, so that
// a part from elsewhere is not taken for it.
export const CHECK = 4;
const POLYNOMIAL = 0xedb88320;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ POLYNOMIAL : byte >>> 1;
  return byte;
});

export function crc32(content, seed = 0) {
  let sum = ~seed;
  for (let i = 0; i < content.length; i++) sum = TABLE[(sum ^ content[i]) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

// The check that stands behind a part.
export function checkOf(part) {
  return new DataView(part.buffer, part.byteOffset + part.length - CHECK).getUint32(0, true);
}

export function isRight(part, seed) {
  return crc32(part.subarray(0, -CHECK), seed) === checkOf(part);
}
