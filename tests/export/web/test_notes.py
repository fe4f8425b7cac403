"""Notes that a visitor keeps in the page: found, changed, removed, in files and in Python; and nothing is lost."""

import base64
import shutil

import pytest
from fixtures.chromium import served

from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import Index

MODEL = "multi12-static"
READY = "document.documentElement?.dataset.ready"
STATE = "document.getElementById('status').textContent"
FIRST = "document.querySelector('#hits li p:not(.place)')?.textContent"
LISTED = "[...document.querySelectorAll('#kept li > span')].map(one => one.textContent)"
KEY = "The key of the shed hangs behind the clock in the kitchen."
CAKE = "Grandmother's plum cake bakes for fifty minutes.\n\nIt needs a kilogram of plums."
LONG = " ".join(f"Bed {number} of the garden has the flowers of the year {1900 + number}." for number in range(60))
# What is kept in the page's database: its name, and the records by their keys.
KEPT = """(async () => {
  const [{ name, version }] = await indexedDB.databases();
  const base = await new Promise(done => (indexedDB.open(name).onsuccess = event => done(event.target.result)));
  const place = base.transaction("notes").objectStore("notes");
  const answer = asked => new Promise(done => (asked.onsuccess = () => done(asked.result)));
  const [keys, records] = await Promise.all([answer(place.getAllKeys()), answer(place.getAll())]);
  base.close();
  const text = content => content.reduce((whole, byte) => whole + String.fromCharCode(byte), "");
  return { name, version, records: Object.fromEntries(keys.map((key, i) => [key, btoa(text(records[i].content))])) };
})()"""
# Another version of the database, or another record in it.
PUT = """(async ([version, key, content]) => {
  const [{ name }] = await indexedDB.databases();
  const opened = indexedDB.open(name, version);
  const base = await new Promise(done => (opened.onsuccess = () => done(opened.result)));
  const change = base.transaction("notes", "readwrite");
  if (key) change.objectStore("notes").put({ times: 9, content: new Uint8Array(content) }, key);
  await new Promise(done => (change.oncomplete = done));
  base.close();
})"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Folders of indexes by Python: of one document, and the same compact."""
    folder = tmp_path_factory.mktemp("python")
    (folder / "towers.txt").write_text("The tower of the town burned down in the year 1721.", encoding="utf-8")
    for name, settings in (("kb", None), ("compact", IndexSettings(bits=COMPACT))):
        build_index(folder / name, IndexChange([folder / "towers.txt"]), MODEL, settings)
    return folder


@pytest.fixture(scope="module")
def site(chromium, page_of, python, tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("page") / "site", MODEL, python / "kb" / "index.bin")


@pytest.fixture
def tabs(chromium):
    """A maker of tabs that show an address."""
    opened = []

    def make(address):
        opened.append(chromium.page())
        shown(opened[-1], address)
        return opened[-1]

    yield make
    for tab in opened:
        tab.close()


def shown(tab, address):
    tab.open(address)
    tab.until(READY)
    tab.value("document.getElementById('notes').open = true")


def typed(tab, text, title=""):
    for place, content in (("title", title), ("text", text)):
        tab.value(f"document.getElementById({place!r}).select()")
        tab.type(content) if content else tab.value(f"document.getElementById({place!r}).value = ''")
    tab.value("document.getElementById('keep').click()")


def kept(tab, text, title=""):
    typed(tab, text, title)
    tab.until("document.getElementById('text').value === ''")


def pressed(tab, name, label):
    """Press the button of a note in the list."""
    row = f"[...document.querySelectorAll('#kept li')].find(one => one.textContent.startsWith({name!r}))"
    tab.value(f"[...{row}.querySelectorAll('button')].find(one => one.textContent === {label!r}).click()")


def asked(tab, question):
    """The first result's text, after a question is typed."""
    tab.value("document.getElementById('question').select()")
    tab.type(question)
    tab.until(f"document.getElementById('hits').dataset.question === {question!r}")
    return tab.value(FIRST)


def records(tab):
    """The files in the database, by the encoder's fingerprint."""
    return {key: base64.b64decode(content) for key, content in tab.value(KEPT)["records"].items()}


def loaded(tab, path):
    tab.send("DOM.enable")
    root = tab.send("DOM.getDocument")["root"]["nodeId"]
    node = tab.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    tab.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])


def failed(tab, *words):
    """The line on what went wrong; questions can be asked all the same."""
    line = tab.until(f"document.querySelector('#status.failed') && {STATE}")
    assert all(word in line for word in words) and "\n" not in line and line.endswith("."), line
    assert not tab.value("document.getElementById('question').disabled")


def as_index(content, folder):
    folder.mkdir()
    (folder / "index.bin").write_bytes(content)
    return folder


def test_notes_are_kept_changed_and_removed_and_python_reads_them(site, tabs, python, tmp_path):
    with served(site) as address:
        tab = tabs(address)
        assert asked(tab, "Wo ist der Schlüssel?").startswith("The tower")
        kept(tab, KEY, "Shed")
        tab.until(f"{FIRST} === {KEY!r}")
        kept(tab, CAKE)
        kept(tab, LONG, "Garden")
        assert tab.value(LISTED) == ["Garden", CAKE, "Shed"]
        shown(tab, address)
        tab.until(f"{LISTED}.length === 3")
        assert asked(tab, "Wie lange muss der Kuchen backen?") == CAKE
        # From the list of results, and from that of notes.
        tab.value("document.querySelector('#hits li button').click()")
        tab.until(f"document.getElementById('text').value === {CAKE!r}")
        kept(tab, "The plum cake is eaten up.")
        tab.until(f"{FIRST} === 'The plum cake is eaten up.'")
        pressed(tab, "Garden", "Change")
        assert tab.value("document.getElementById('text').value") == LONG
        tab.value("document.getElementById('leave').click()")
        pressed(tab, "Shed", "Remove")
        assert len(tab.value(LISTED)) == 3
        pressed(tab, "Shed", "Really remove")
        tab.until(f"{LISTED}.length === 2")
        assert asked(tab, "Wo ist der Schlüssel des Schuppens?") != KEY
        shown(tab, address)
        assert asked(tab, "Wo ist der Schlüssel?") != KEY and tab.complaints == []
        tab.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        tab.value("document.getElementById('save').click()")
        [content] = records(tab).values()
        tab.until(f"{LISTED}.length === 2")
    answers = Answers(as_index(content, tmp_path / "kb"), MODEL)
    assert [fields.get("title") or "" for fields in answers.index.all_fields()] == ["Garden", ""]
    [answer] = answers.answers(["Is there any cake?"], 1)
    assert answer.hits[0].text == "The plum cake is eaten up."
    assert (tmp_path / "index.bin").read_bytes() == content


def test_a_file_comes_in_beside_the_notes_and_one_that_is_none_does_not(site, tabs, python, tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8" * 500)
    with served(site) as address:
        tab = tabs(address)
        kept(tab, KEY)
        loaded(tab, tmp_path / "photo.jpg")
        failed(tab, "photo.jpg", "cannot be loaded")
        loaded(tab, python / "compact" / "index.bin")
        tab.until(f"{STATE}.includes('compact')")
        assert tab.value(LISTED) == [KEY]
        loaded(tab, python / "kb" / "index.bin")
        tab.until(f"{LISTED}.length === 2")
        [content] = records(tab).values()
    index = Index(as_index(content, tmp_path / "kb"))
    assert [index.text(row).decode() for row in range(2)] == [Index(python / "kb").text(0).decode(), KEY]


def test_two_tabs_keep_notes_of_both(site, tabs):
    with served(site) as address:
        one, other = tabs(address), tabs(address)
        for number, tab in enumerate((one, other, one)):
            kept(tab, f"Note {number}.")
        assert one.value(LISTED) == ["Note 2.", "Note 1.", "Note 0."]


def test_without_room_a_note_stays_in_its_box_and_the_others_as_they_are(site, tabs, chromium):
    with served(site) as address:
        tab = chromium.page()
        room = {"method": "Storage.overrideQuotaForOrigin", "origin": address.rstrip("/")}
        tab.send(**room, quotaSize=1)
        shown(tab, address)
        typed(tab, KEY)
        failed(tab, "no room")
        assert tab.value("document.getElementById('text').value") == KEY and tab.value(LISTED) == []
        tab.send(**room, quotaSize=300_000)
        kept(tab, KEY)
        before = records(tab)
        # With vectors of all its sentences it is a megabyte.
        typed(tab, LONG * 30)
        failed(tab, "no room")
        assert tab.value("document.getElementById('text').value") == LONG * 30
        assert tab.value(LISTED) == [KEY] and records(tab) == before
        assert asked(tab, "Where is the key of the shed?") == KEY
        tab.send(**room)
        kept(tab, LONG * 30)
        assert tab.value(LISTED)[1:] == [KEY]
        tab.close()


def test_notes_of_another_encoder_a_broken_file_and_a_newer_version_stay_as_they_are(site, tabs):
    with served(site) as address:
        tab = tabs(address)
        tab.value(f"{PUT}([1, 'another', [1, 2, 3]])")
        shown(tab, address)
        failed(tab, "another encoder")
        kept(tab, KEY)
        content = records(tab)
        assert content["another"] == b"\1\2\3" and len(content) == 2
        [ours] = content.keys() - {"another"}
        tab.value(f"{PUT}([1, {ours!r}, [1, 2, 3]])")
        shown(tab, address)
        failed(tab, "cannot be read")
        tab.value(f"{PUT}([2])")
        shown(tab, address)
        failed(tab, "newer version")
        typed(tab, CAKE)
        tab.until(f"document.getElementById('text').value === {CAKE!r}")
        failed(tab, "newer version")
        assert asked(tab, "tower").startswith("The tower")
        assert records(tab) == {ours: b"\1\2\3", "another": b"\1\2\3"} and tab.value(KEPT)["version"] == 2


def test_where_the_browser_keeps_nothing_a_note_says_so(site, tabs, tmp_path):
    folder = shutil.copytree(site, tmp_path / "site")
    path = folder / "notes.js"
    path.write_text("const indexedDB = undefined;\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with served(folder) as address:
        tab = tabs(address)
        failed(tab, "keeps no notes")
        asked(tab, "tower")
        tab.until(f"{STATE} && !document.querySelector('#status.failed')")
        typed(tab, KEY)
        failed(tab, "keeps no notes")
        assert tab.value("document.getElementById('text').value") == KEY and tab.value(LISTED) == []
        # Who does not open them is not told.
        tab.open(address)
        tab.until(READY)
        assert tab.value(STATE) == ""
