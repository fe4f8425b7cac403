// A file on a server of which only parts are loaded, or all of it, where it is kept or the server gives no less.
import { DistillError, entriesOf } from "./distill.js";

// Between two parts that are loaded together: a request of its own costs about as much.
const GAP = 512;
// The first part, which has the entries of all sections.
const FIRST = 4096;
// Bytes of parts that are held.
const HELD = 2 ** 26;

export class RangedFile {
  constructor(name, address, bytes, store) {
    Object.assign(this, { name, address, bytes, store, whole: null, stored: false, tag: null, parts: new Map(), held: 0 });
  }

  // What is kept of an earlier visit.
  async restore() {
    this.whole = (await (await this.store?.match(this.address))?.blob()) ?? null;
    if (this.whole) this.require(this.whole.size);
    this.stored = this.whole !== null;
  }

  async open() {
    await this.restore();
    const entries = entriesOf(await this.part(0, Math.min(FIRST, this.bytes)));
    if (!entries || !Object.keys(entries).length) throw new DistillError(`${this.name} is not what the page was written with. Put the whole folder there.`);
    if (Math.max(...Object.values(entries).map(entry => entry.end)) !== this.bytes) this.require(-1);
    this.entries = entries;
  }

  // The bytes from a place to another one.
  async part(start, end) {
    return (await this.read([[start, end]]))[0];
  }

  // Several parts; what is near one another is loaded together.
  async read(spans) {
    // Of this call alone, as another one may have what is held forgotten meanwhile.
    const here = new Map(spans.map(([start, end]) => [start, this.known(start, end)]));
    const missing = spans.filter(([start]) => !here.get(start));
    await Promise.all(joined(missing).map(group => this.load(group, here)));
    if (this.held > HELD) this.forget();
    return spans.map(([start, end]) => here.get(start).subarray(0, end - start));
  }

  known(start, end) {
    if (end === start) return new Uint8Array(0);
    const part = this.parts.get(start);
    return part?.length >= end - start ? part : null;
  }

  forget() {
    this.parts.clear();
    this.held = 0;
  }

  async load({ start, end, spans }, here) {
    const bytes = await this.bytesOf(start, end);
    for (const [from, to] of spans) {
      const part = bytes.slice(from - start, to - start);
      here.set(from, part);
      this.held += part.length - (this.parts.get(from)?.length ?? 0);
      this.parts.set(from, part);
    }
  }

  async bytesOf(start, end) {
    if (!this.whole) {
      const answer = await this.ask({ Range: `bytes=${start}-${end - 1}` });
      if (answer.status === 206) return this.ranged(answer, start, end);
      await this.take(answer);
    }
    return new Uint8Array(await this.whole.slice(start, end).arrayBuffer());
  }

  async ranged(answer, start, end) {
    const [, total] = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "") ?? [];
    if (total !== undefined) this.require(Number(total));
    this.requireSame(answer.headers.get("ETag") ?? answer.headers.get("Last-Modified"));
    const bytes = new Uint8Array(await arrive(this.name, answer.arrayBuffer()));
    if (bytes.length !== end - start) this.require(start + bytes.length);
    return bytes;
  }

  // The whole file, which is kept for the next time.
  async loadAll(progress = () => {}) {
    if (this.whole) return;
    const answer = await this.ask({});
    const reader = answer.body.getReader();
    const chunks = [];
    for (let chunk; !(chunk = await arrive(this.name, reader.read())).done; ) {
      chunks.push(chunk.value);
      progress(chunk.value.length);
    }
    await this.keep(new Blob(chunks));
  }

  async take(answer) {
    await this.keep(await arrive(this.name, answer.blob()));
  }

  async keep(blob) {
    this.require(blob.size);
    this.whole = blob;
    this.forget();
    // A page that is not served over HTTPS has no store, and a disk may be full.
    this.stored = Boolean(this.store) && (await this.store.put(this.address, new Response(blob)).then(() => true, () => false));
  }

  async ask(headers) {
    // A browser's own store lets one part of a file be asked for at a time.
    const answer = await arrive(this.name, fetch(this.address, { headers, cache: "no-store" }));
    if (answer.status === 416) this.require(-1);
    return requireWell(this.name, answer);
  }

  // Parts of two versions of a file do not go together.
  requireSame(tag) {
    this.tag ??= tag;
    if (tag !== this.tag) throw new DistillError(`${this.name} has changed on the server. Load the page again.`);
  }

  require(bytes) {
    if (bytes === this.bytes) return;
    throw notWhole(this.name, bytes < 0 ? "another number of bytes than its head says" : `${bytes} bytes of ${this.bytes}`);
  }
}

// What arrives over the network, or why it does not.
export async function arrive(name, arriving) {
  try {
    return await arriving;
  } catch {
    throw new DistillError(`${name} cannot be loaded: there is no network, or the server is gone. Load the page again.`);
  }
}

export function requireWell(name, answer) {
  if (!answer.ok) throw new DistillError(`${name} cannot be loaded: the server says ${answer.status}. Put the whole folder there.`);
  return answer;
}

export function notWhole(name, there) {
  return new DistillError(`${name} is not whole: ${there}. Put the whole folder there, and load the page again.`);
}

// Spans in order, those with little between them in one.
function joined(spans) {
  const groups = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = groups.at(-1);
    if (last && start - last.end <= GAP) {
      last.end = Math.max(last.end, end);
      last.spans.push([start, end]);
    } else groups.push({ start, end, spans: [[start, end]] });
  }
  return groups;
}
