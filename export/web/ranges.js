// A file on a server of which only parts are loaded, or all of it, where it is kept or the server gives no less.
import { CHECK, checkOf, isRight } from "./checks.js";
import { DistillError, damaged, entriesOf } from "./distill.js";

// Between two parts that are loaded together: a request of its own costs about as much.
const GAP = 512;
// The first part, which has the entries of all sections.
const FIRST = 4096;
// Bytes of parts that are held.
const HELD = 2 ** 26;
// The section that a page opens with.
const CORE = "core";

export class RangedFile {
  constructor(name, address, bytes, store) {
    const known = { whole: null, stored: false, tag: null, entries: null, seed: 0, parts: new Map(), held: 0 };
    Object.assign(this, { name, address, bytes, store }, known);
  }

  // What is kept of an earlier visit.
  async restore() {
    this.whole = (await (await this.store?.match(this.address))?.blob()) ?? null;
    if (this.whole && this.whole.size !== this.bytes) await this.drop();
    this.stored = this.whole !== null;
  }

  // The first section, with whose check those of all other parts begin.
  async open() {
    await this.restore();
    const first = await this.right(0, Math.min(FIRST, this.bytes), bytes => this.requireEntries(entriesOf(bytes)));
    this.entries = entriesOf(first);
    const { start, end } = this.entries[CORE];
    const core = await this.right(start, end, bytes => this.requireRight(isRight(bytes, 0)));
    this.seed = checkOf(core);
    return core.subarray(0, -CHECK);
  }

  // Parts of a section, without their checks; what is near one another is loaded together.
  async read(section, spans) {
    const { start = 0, end = 0 } = this.entries[section] ?? {};
    const possible = spans.every(([from, to]) => from >= 0 && to - from >= CHECK && start + to <= end);
    if (!possible) throw damaged(this.name, `${section} has no such part`);
    // Of this call alone, as another one may have what is held forgotten meanwhile.
    const here = new Map(spans.map(([from]) => [from, this.parts.get(start + from)]));
    const missing = spans.filter(([from]) => !here.get(from));
    await Promise.all(joined(missing).map(group => this.load(start, group, here)));
    if (this.held > HELD) this.forget();
    return spans.map(([from]) => here.get(from));
  }

  forget() {
    this.parts.clear();
    this.held = 0;
  }

  async load(section, { start, end, spans }, here) {
    const partOf = (bytes, [from, to]) => bytes.subarray(from - start, to - start);
    const areRight = bytes => spans.every(span => isRight(partOf(bytes, span), this.seed ^ span[0]));
    const bytes = await this.right(section + start, section + end, found => this.requireRight(areRight(found)));
    for (const span of spans) {
      const part = partOf(bytes, span).slice(0, -CHECK);
      here.set(span[0], part);
      this.held += part.length - (this.parts.get(section + span[0])?.length ?? 0);
      this.parts.set(section + span[0], part);
    }
  }

  // Bytes that are what is asked for. Those that are not are never held, and are asked for once more, past every cache.
  async right(start, end, require) {
    try {
      const bytes = await this.bytesOf(start, end);
      require(bytes);
      return bytes;
    } catch {
      if (this.whole) await this.drop();
    }
    const bytes = await this.bytesOf(start, end, true);
    require(bytes);
    return bytes;
  }

  async bytesOf(start, end, again = false) {
    if (!this.whole) {
      const same = this.tag && !again ? { "If-Range": this.tag } : {};
      const past = again ? `&again=${Date.now()}` : "";
      const answer = await this.ask({ Range: `bytes=${start}-${end - 1}`, ...same }, this.address + past);
      this.requireSame(answer, again);
      if (answer.status === 206) return this.ranged(answer, start, end);
      await this.take(answer);
    }
    return new Uint8Array(await this.whole.slice(start, end).arrayBuffer());
  }

  async ranged(answer, start, end) {
    const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(answer.headers.get("Content-Range")) ?? [];
    if (total !== undefined && total !== "*") this.require(Number(total));
    this.requireRight(Number(first) === start && Number(last) === end - 1);
    const bytes = new Uint8Array(await arrive(this.name, answer.arrayBuffer()));
    this.requireRight(bytes.length === end - start);
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

  // What was kept is wrong.
  async drop() {
    Object.assign(this, { whole: null, stored: false });
    await this.store?.delete(this.address);
  }

  async ask(headers, address = this.address) {
    // A browser's own store lets one part of a file be asked for at a time.
    const answer = await arrive(this.name, fetch(address, { headers, cache: "no-store" }));
    if (answer.status === 416) this.require(-1);
    return requireWell(this.name, answer);
  }

  // Another version of the file is noticed before its bytes are taken; asked again, its checks tell whether they are wrong.
  requireSame(answer, again) {
    const known = again ? null : this.tag;
    const etag = answer.headers.get("ETag");
    this.tag = etag?.startsWith('"') ? etag : answer.headers.get("Last-Modified");
    if (!known || known === this.tag) return;
    answer.body?.cancel();
    throw wrong(this.name);
  }

  requireRight(right) {
    if (!right) throw wrong(this.name);
  }

  // Sections of bytes, one behind the other, to the end of the file.
  requireEntries(entries) {
    const all = Object.values(entries ?? {});
    if (!all.length || !entries[CORE]) throw damaged(this.name, "its head is not that of such a file");
    let least = 0;
    for (const { type, rows, columns, start, end } of all) {
      if (type !== 0 || start < least || end - start !== rows * columns) throw damaged(this.name, "its head says what cannot be");
      least = end;
    }
    if (least !== this.bytes) this.require(-1);
    this.requireRight(entries[CORE].end - entries[CORE].start >= CHECK);
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

function wrong(name) {
  return new DistillError(`${name} came with other bytes than were asked for, twice: it has changed on the server, or a cache is wrong. Ask again, or load the page again.`);
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
