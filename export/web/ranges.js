// A file on a server of which only parts are loaded, or all of it, where it is kept or the server gives no less.
import { DistillError } from "./distill.js";
import { entriesOf } from "./sections.js";

// Between two parts that are loaded together: a request of its own costs about as much.
const GAP = 512;
// The first part, which has the entries of all sections.
const FIRST = 4096;
// Bytes of parts that are held.
const HELD = 2 ** 26;

export class RangedFile {
  constructor(name, address, bytes, store) {
    Object.assign(this, { name, address, bytes, store, whole: null, parts: new Map(), held: 0 });
  }

  // What is kept of an earlier visit.
  async restore() {
    this.whole = (await (await this.store?.match(this.address))?.blob()) ?? null;
    if (this.whole) this.require(this.whole.size);
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
    const missing = spans.filter(([start, end]) => end > start && !this.knows(start, end));
    await Promise.all(joined(missing).map(group => this.load(group)));
    const found = spans.map(([start, end]) => (end > start ? this.parts.get(start).bytes.subarray(0, end - start) : new Uint8Array(0)));
    if (this.held > HELD) this.forget();
    return found;
  }

  knows(start, end) {
    const part = this.parts.get(start);
    return part !== undefined && part.bytes.length >= end - start;
  }

  forget() {
    this.parts.clear();
    this.held = 0;
  }

  async load({ start, end, spans }) {
    const bytes = await this.bytesOf(start, end);
    for (const [from, to] of spans) {
      this.parts.set(from, { bytes: bytes.slice(from - start, to - start) });
      this.held += to - from;
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
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (bytes.length !== end - start) this.require(start + bytes.length);
    return bytes;
  }

  // The whole file, which is kept for the next time.
  async loadAll(progress = () => {}) {
    if (this.whole) return;
    const answer = await this.ask({});
    const reader = answer.body.getReader();
    const chunks = [];
    for (let chunk; !(chunk = await reader.read()).done; ) {
      chunks.push(chunk.value);
      progress(chunk.value.length);
    }
    await this.keep(new Blob(chunks));
  }

  async take(answer) {
    await this.keep(await answer.blob());
  }

  async keep(blob) {
    this.require(blob.size);
    this.whole = blob;
    this.forget();
    await this.store?.put(this.address, new Response(blob)).catch(() => {});
  }

  async ask(headers) {
    let answer;
    try {
      // A browser's own store lets one part of a file be asked for at a time.
      answer = await fetch(this.address, { headers, cache: "no-store" });
    } catch {
      throw new DistillError(`${this.name} cannot be loaded: there is no network, or the server is gone. Load the page again.`);
    }
    if (!answer.ok) throw new DistillError(`${this.name} cannot be loaded: the server says ${answer.status}. Put the whole folder there.`);
    return answer;
  }

  require(bytes) {
    if (bytes === this.bytes) return;
    const there = bytes < 0 ? "another number of bytes than its head says" : `${bytes} bytes of ${this.bytes}`;
    throw new DistillError(`${this.name} is not whole: ${there}. Put the whole folder there, and load the page again.`);
  }
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
