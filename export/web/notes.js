// A visitor's own notes: an index that IndexedDB keeps as the bytes of an index.bin, one for each encoder of a page.
import { DistillError } from "./distill.js";

// The version of what is kept, and its place in the database.
const VERSION = 1;
const PLACE = "notes";
const REASONS = {
  QuotaExceededError: "There is no room left in this browser, and the notes are as they were. Remove some, or save them as a file.",
  VersionError: "The notes in this browser are of a newer version of this page, and stay as they are. Load the page again.",
};

export class Notes {
  constructor(encoder, scope) {
    this.encoder = encoder;
    this.key = encoder.fingerprint;
    this.base = `distill notes ${scope}`;
    this.index = encoder.createIndex();
    // How often notes have been kept: another tab of the page may have done it since.
    this.times = 0;
    this.last = Promise.resolve();
    // What a visitor is told who may have notes and does not see them.
    this.warning = "";
  }

  static async open(encoder, scope) {
    const notes = new Notes(encoder, scope);
    try {
      await notes.renew();
      notes.warning = await notes.others();
    } catch (error) {
      // Where nothing can be kept there is nothing, and who keeps a note is told.
      if (!error.cause || error.cause.name === "VersionError") notes.warning = error.message;
    }
    return notes;
  }

  // Those of the page's other encoders stay, and have another space.
  async others() {
    const keys = await within(this.base, "readonly", place => answered(place.getAllKeys()));
    return keys.length && !keys.includes(this.key) ? "Your notes here were made with another encoder: they are kept, and not searched." : "";
  }

  // Take what is kept, where another tab has changed it.
  async renew() {
    const kept = await within(this.base, "readonly", place => answered(place.get(this.key)));
    // What is gone from the browser is kept again with the next change.
    if (!kept) this.times = 0;
    if (!kept || kept.times === this.times) return;
    try {
      this.replace(this.encoder.openIndex(kept.content));
    } catch (error) {
      throw new DistillError(`Your notes here cannot be read, and stay as they are: ${error.message}`);
    }
    this.times = kept.times;
  }

  replace(index) {
    this.index.close();
    this.index = index;
  }

  get count() {
    return this.index.size;
  }

  get passages() {
    return this.count ? this.index.current().passages : 0;
  }

  // The newest first.
  async list(most) {
    return (await this.index.documents()).slice(-most).reverse();
  }

  async find(id) {
    return (await this.index.documents()).find(note => note.id === id);
  }

  // As a page shows hits, each a note.
  async search(text, most) {
    const hits = this.count ? await this.index.nearest(text, most) : [];
    return hits.map(hit => ({ ...hit, note: hit.document.id }));
  }

  add(note) {
    return this.change(() => this.index.add(note));
  }

  remove(id) {
    return this.change(() => this.index.remove(id));
  }

  // The documents of a file come in, but for those whose ids notes here have.
  load({ name, content }) {
    return this.change(async () => {
      try {
        this.replace(await this.joined(content));
      } catch (error) {
        throw new DistillError(`${name} cannot be loaded: ${error.message.replace("index.bin: ", "")}`);
      }
    });
  }

  // The index of a file, with the notes.
  async joined(content) {
    const index = this.encoder.openIndex(content);
    try {
      index.change();
      const notes = await this.index.documents();
      notes.forEach(({ id, title, text }) => index.add({ id, title: String(title ?? ""), text }));
      return index;
    } catch (error) {
      index.close();
      throw error;
    }
  }

  // One change after the other; where one fails the notes are as before.
  change(apply) {
    const done = this.last.then(() => this.changed(apply));
    this.last = done.catch(() => {});
    return done;
  }

  async changed(apply) {
    let kept = false;
    while (!kept) {
      await this.renew();
      const before = this.index.save();
      try {
        await apply();
        kept = await this.keep();
      } catch (error) {
        this.replace(this.encoder.openIndex(before));
        throw error;
      }
    }
  }

  // False where another tab has kept something meanwhile.
  async keep() {
    const kept = { content: this.index.save(), times: this.times + 1 };
    const alone = await within(this.base, "readwrite", async place => {
      const { times = 0 } = (await answered(place.get(this.key))) ?? {};
      if (times !== this.times) return false;
      await answered(place.put(kept, this.key));
      return true;
    });
    if (alone) this.times = kept.times;
    return alone;
  }
}

// What `work` gives of the place of the notes, when it is kept. Opened for each alone, so that no tab waits for another.
async function within(base, mode, work) {
  let database;
  try {
    database = await opened(base);
    const transaction = database.transaction(PLACE, mode, { durability: "strict" });
    const [given] = await Promise.all([work(transaction.objectStore(PLACE)), ended(transaction)]);
    return given;
  } catch (error) {
    const text = REASONS[error.name] ?? `This browser keeps no notes of this page (${error.name}: ${error.message}).`;
    throw new DistillError(text, { cause: error });
  } finally {
    database?.close();
  }
}

function opened(base) {
  const opening = indexedDB.open(base, VERSION);
  opening.onupgradeneeded = () => opening.result.createObjectStore(PLACE);
  return answered(opening);
}

function answered(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
}
