// A page by ranges: what it opens with, and all of it, where a visitor keeps it for questions without a network.
import { ClusterIndex } from "./clusters.js";
import { PieceEncoder } from "./pieces.js";
import { RangedFile } from "./ranges.js";
import { sectionsOf } from "./distill.js";

export class RangedPage {
  // Of each file its name and bytes: the whole encoder, its pieces, and the clusters of the index.
  constructor(program, files, version, store) {
    const [whole, pieces, clusters] = files.map(({ name, bytes }) => new RangedFile(name, `${name}?${version}`, bytes, store));
    Object.assign(this, { program, whole, pieces, clusters });
  }

  async open() {
    const [, core] = await Promise.all([this.whole.restore(), this.clusters.open()]);
    this.encoder = this.hasEncoder ? await this.wholeEncoder() : await PieceEncoder.open(this.program, this.pieces);
    this.index = new ClusterIndex(this.encoder, this.clusters, core);
    if (this.clusters.whole) await this.index.loadAhead();
  }

  get hasEncoder() {
    return this.whole.whole !== null;
  }

  get kept() {
    return this.hasEncoder && this.clusters.whole !== null;
  }

  get bytes() {
    return this.whole.bytes + this.clusters.bytes;
  }

  async wholeEncoder() {
    const content = new Uint8Array(await this.whole.whole.arrayBuffer());
    this.program.openEncoder(this.program.place(content), content.length);
    const fingerprint = new TextDecoder().decode(sectionsOf(this.program, this.program.encoder).fingerprint);
    const encoder = { fingerprint, vector: async text => this.program.vector(text) };
    this.encoder?.retire(encoder);
    return encoder;
  }

  // Load all that is not there yet; the encoder that is opened then has all pieces. False where the browser keeps nothing.
  async keep(progress) {
    await this.whole.loadAll(progress);
    await this.clusters.loadAll(progress);
    if (this.encoder instanceof PieceEncoder) this.encoder = this.index.encoder = await this.wholeEncoder();
    await this.index.loadAhead();
    return this.whole.stored && this.clusters.stored;
  }
}
