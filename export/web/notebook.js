// The part of the page where a visitor keeps notes of their own.
const element = id => document.getElementById(id);
const [form, title, text, list] = ["note", "title", "text", "kept"].map(element);

// `ask` asks the worker, `warn` says what is wrong, `changed` searches again; `count` notes are there.
export function openNotebook({ ask, warn, changed, warning, count }) {
  const notebook = new Notebook(ask, warn, changed);
  notebook.listen();
  notebook.say(count);
  if (warning) warn(warning);
  element("notes").hidden = false;
  return notebook;
}

class Notebook {
  constructor(ask, warn, changed) {
    Object.assign(this, { ask, warn, changed });
    // The note that is changed, null for a new one.
    this.id = null;
  }

  listen() {
    form.onsubmit = event => {
      event.preventDefault();
      this.keep();
    };
    element("leave").onclick = () => this.clear();
    element("notes").ontoggle = () => element("notes").open && this.show();
    // Another tab may have changed them.
    addEventListener("visibilitychange", () => document.visibilityState === "visible" && element("notes").open && this.show());
    element("save").onclick = () => this.save();
    element("load").onclick = () => element("file").click();
    element("file").onchange = ({ target }) => this.load(target);
  }

  // What the worker says, null where it failed, which is told.
  asked(kind, values) {
    return this.ask(kind, values, undefined, this.warn);
  }

  async show(change, value) {
    const answer = await this.asked("notes", { change, value });
    if (!answer) return false;
    this.say(answer.count);
    list.replaceChildren(...answer.list.map(note => this.item(note)), ...rest(answer.count, answer.list.length));
    if (change) this.changed();
    return true;
  }

  say(count) {
    element("noted").textContent = count ? `(${count})` : "";
    element("save").disabled = !count;
  }

  item(note) {
    const item = document.createElement("li");
    item.append(lineOf(nameOf(note)), button("Change", () => this.change(note), nameOf(note)), this.remover(note));
    return item;
  }

  // It asks once more, as what is removed is gone.
  remover(note) {
    const remover = button("Remove", () => (remover.textContent === "Remove" ? this.doubt(remover) : this.remove(note)), nameOf(note));
    remover.onblur = () => (remover.textContent = "Remove");
    return remover;
  }

  doubt(remover) {
    remover.textContent = "Really remove";
  }

  // A button by which a result that is a note is changed.
  opener(id) {
    return button("Change", async () => {
      const answer = await this.asked("note", { id });
      if (answer?.note) this.change(answer.note);
    });
  }

  change(note) {
    element("notes").open = true;
    this.id = note.id;
    title.value = note.title ?? "";
    text.value = note.text;
    element("leave").hidden = false;
    text.focus();
  }

  clear() {
    this.id = null;
    form.reset();
    element("leave").hidden = true;
    text.focus();
  }

  async keep() {
    const note = { id: this.id ?? newId(), title: title.value.trim(), text: text.value.trim() };
    if (!note.text) return text.focus();
    // Else a browser may give their room to others.
    navigator.storage?.persist?.().catch(() => {});
    // What was typed stays where it cannot be kept.
    if (await this.show("add", note)) this.clear();
  }

  async remove({ id }) {
    if (!(await this.show("remove", id))) return;
    if (id === this.id) this.clear();
    (list.querySelector("button") ?? text).focus();
  }

  async save() {
    const answer = await this.asked("file");
    if (!answer) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([answer.content]));
    link.download = "index.bin";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  async load(input) {
    const [file] = input.files;
    if (file) await this.show("load", { name: file.name, content: new Uint8Array(await file.arrayBuffer()) });
    input.value = "";
  }
}

// What is said of those that are not listed.
function rest(count, listed) {
  if (count === listed) return [];
  const item = document.createElement("li");
  item.append(lineOf(`The newest ${listed} of ${count}: search for the others.`));
  return [item];
}

function lineOf(content) {
  const line = document.createElement("span");
  line.dir = "auto";
  line.textContent = content;
  return line;
}

function nameOf({ title: name, text: content }) {
  return name || content;
}

function button(label, onclick, about) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: label, onclick });
  if (about) made.title = about.slice(0, 80);
  return made;
}

// By its time, with a number that two tabs do not share.
function newId() {
  return `${Date.now().toString(36)}-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
}
