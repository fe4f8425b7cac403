/** What is wrong, in one sentence. */
export class DistillError extends Error {}

/** Bytes, or where they are: an address, in Node a file too. */
export type Source = Uint8Array | ArrayBuffer | URL | string;

export type Role = "question" | "document";

/** What is kept of a document that was added; one of another index has what its input had, such as `url`. */
export interface Document {
  id: string;
  title?: string;
  [field: string]: unknown;
}

export interface Note {
  id: string;
  title?: string;
  text: string;
}

/** A passage that was found. */
export interface Hit {
  /** The cosines of the passage and of its best sentence to the question, weighed and added: at most 2. */
  score: number;
  document: Document;
  text: string;
  /** Start and end of the best sentence in `text`; null where sentences have no vectors. */
  sentence: [number, number] | null;
  /** Of the first hit, where the encoder tells: how likely it answers the question, from 0 to 1. */
  probability?: number;
  /** Of the first hit: whether that is enough by the encoder's card. */
  answered?: boolean;
}

/** An encoder that is open. Make it with `load`. */
export class Encoder {
  private constructor();
  readonly name: string;
  /** It tells encoders apart; an index has that of its own. */
  readonly fingerprint: string;
  /** The numbers of a vector. */
  readonly dimension: number;
  /** The vector of a text, of unit length. Some encoders read questions and documents differently. */
  encode(text: string, options?: { role?: Role }): Float32Array;
  /** A new index without documents. */
  createIndex(): Index;
  /** The index in an `index.bin`, of `save` or of `distill index`. Throws `DistillError` where it is none of this encoder. */
  openIndex(content: Uint8Array): Index;
}

/** Documents that are searched. Make it with `createIndex` or `openIndex` of an encoder. */
export class Index {
  private constructor();
  /** The number of documents. */
  readonly size: number;
  /** Add a document; one of the same id is replaced. Throws `DistillError` for an index that cannot be changed: of few bits or with words. */
  add(note: Note): void;
  /** Remove the document of an id; false where there is none. */
  remove(id: string): boolean;
  /** The nearest passages, best first, at most 256. */
  search(question: string, most?: number): Promise<Hit[]>;
  /** All documents with their texts; of blanks between two passages only that there are some. */
  documents(): Promise<(Document & { text: string })[]>;
  /** The content of an `index.bin`, which `openIndex` and Python's `distill search` read. */
  save(): Uint8Array;
  /** Give its memory back; it cannot be used from then on. */
  close(): void;
}

/** The encoder of this package, or another whose `encoder.bin` is given. */
export function load(options?: { encoder?: Source; program?: Source }): Promise<Encoder>;
