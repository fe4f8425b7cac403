// The package's encoder: distill.js with the files that lie beside it, in a browser, a worker and Node.
import { DistillError, Encoder, Index, requireObject } from "./distill.js";

export { DistillError, Encoder, Index };

// Each address stands here as a whole, as bundlers look for it.
export async function load(files = {}) {
  requireObject("load", files, "other files than the package's, such as { encoder }");
  const { encoder, program } = files;
  const [model, code] = await Promise.all([
    contentOf(encoder ?? new URL("./encoder.bin", import.meta.url)),
    contentOf(program ?? new URL("./distill.wasm", import.meta.url)),
  ]);
  return Encoder.open(model, code, await inflateHere());
}

// Bytes as they are, or those of an address; in Node of a file, too.
function contentOf(source) {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  const address = String(source);
  return isNode() && !/^(https?|data|blob):/.test(address) ? fileContent(address) : fetched(address);
}

async function fileContent(address) {
  const { readFile } = await builtIn("fs/promises");
  try {
    return await readFile(address.startsWith("file:") ? new URL(address) : address);
  } catch (error) {
    throw new DistillError(`${address}: the file cannot be read (${error.code ?? error.message}).`);
  }
}

async function fetched(address) {
  let answer;
  try {
    answer = await fetch(address);
  } catch {
    throw new DistillError(`${address}: there is no network, or the server is gone.`);
  }
  if (!answer.ok) throw new DistillError(`${address}: the server says ${answer.status}.`);
  return new Uint8Array(await answer.arrayBuffer());
}

// Node 18 does not know raw deflate by its streams.
async function inflateHere() {
  if (!isNode()) return undefined;
  const [{ inflateRaw }, { promisify }] = await Promise.all([builtIn("zlib"), builtIn("util")]);
  const inflated = promisify(inflateRaw);
  return (content, most) => inflated(content, { maxOutputLength: Math.max(most, 1) });
}

function isNode() {
  return typeof process === "object" && Boolean(process.versions?.node);
}

// By a name that bundlers for browsers do not read.
function builtIn(name) {
  const module = `node:${name}`;
  return import(/* webpackIgnore: true */ /* @vite-ignore */ module);
}
