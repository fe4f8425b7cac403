"""The page in a real browser: it finds what Python finds, offline, and asks no host but its own."""

import shutil

import pytest
from fixtures.chromium import Chromium, served

from distill.data.loading import load_dataset
from distill.data.readers import SAMPLE
from distill.encoders.catalog.loading import load_encoder
from distill.export.encode import Passages
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index

FIRST = "document.querySelector('#hits li')"
READY = "document.documentElement?.dataset.ready"
STATE = "document.getElementById('status').textContent"
LINES = [
    "The Danube rises in the Black Forest. It ends in the Black Sea, which is salty.",
    "Penicillin was noticed by Fleming. A mould had killed what grew in his dish!",
    "大熊猫吃竹子。它们住在山里。",
    "Coffee comes from Ethiopia. Who drank it first? Nobody knows.",
]


@pytest.fixture(scope="module")
def site(chromium, page_of, kb, tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("page") / "site", "multi12-ngram", kb / "index.bin")


def asked(tab, question):
    """What the page shows first after a question is typed: title, passage and its best sentence."""
    tab.value("document.getElementById('question').select()")
    tab.type(question)
    tab.until(f"document.getElementById('hits').dataset.question === {question.strip()!r}")
    parts = ("h2 .title", "p:not(.place)", "mark")
    return tuple(tab.value(f"{FIRST}.querySelector('{part}').textContent") for part in parts)


def test_a_question_in_every_script_finds_what_python_finds_online_and_offline(site, kb, tab):
    data, answers = load_dataset("sample", "en"), Answers(kb)
    questions = [data.select(name, "test")[place].text for place, name in enumerate(("ar", "de", "hi", "th", "zh"))]
    expected = [
        (hit.fields["title"], hit.text, hit.text[slice(*hit.sentence)])
        for hit in (answer.hits[0] for answer in answers.answers(questions, 1))
    ]
    with served(site) as address:
        tab.open(address)
        tab.until(READY)
        assert [asked(tab, question) for question in questions] == expected
        tab.until("navigator.serviceWorker.ready.then(() => true)")
        tab.until("caches.keys().then(keys => keys.length)")
        tab.until("caches.match('index.bin?' + document.documentElement.dataset.version).then(Boolean)")
    # The server is gone.
    tab.open(address)
    tab.until(READY)
    assert asked(tab, questions[-1]) == expected[-1]
    assert {one[: len(address)] for one in tab.requests} == {address} and tab.complaints == []


def test_an_index_of_a_bit_a_number_is_scored_again_as_in_python(page_of, tab, tmp_path):
    build_index(
        tmp_path / "kb", IndexChange([SAMPLE / "documents.jsonl"]), "multi12-static", IndexSettings(bits=COMPACT)
    )
    questions = [question.text for question in load_dataset("sample", "en").select("de", "test")[:4]]
    answers = Answers(tmp_path / "kb").answers(questions, 1)
    with served(page_of(tmp_path / "site", "multi12-static", tmp_path / "kb" / "index.bin")) as address:
        tab.open(address)
        tab.until(READY)
        for answer in answers:
            [hit] = answer.hits
            expected = hit.fields["title"], hit.text, hit.text[slice(*hit.sentence)]
            assert asked(tab, answer.question) == expected


# One in each language, about what the sample has and about what it has not.
HELD = {
    "ar": "ما أصل لعبة الشطرنج؟",
    "de": "Wer hat das Penicillin entdeckt?",
    "el": "Ποιος σχεδίασε το ποδήλατο που κυκλοφόρησε το 1885 με το όνομα Rover;",
    "en": "How many arms does an octopus have?",
    "es": "¿Qué comen los pandas gigantes?",
    "hi": "शतरंज का खेल कहाँ से आया?",
    "ro": "Când s-a născut Beethoven?",
    "ru": "Что едят большие панды?",
    "th": "หมากรุกมาจากไหน",
    "tr": "Dev panda ne yer?",
    "vi": "Ai đã phát hiện ra penicillin?",
    "zh": "咖啡来自哪里？",
}
MISSING = {
    "ar": "كم عدد لاعبي فريق كرة السلة؟",
    "de": "Welche Zinsen zahlt die Bank für ein Sparkonto?",
    "el": "Ποιος είναι ο πρωθυπουργός της Ιαπωνίας;",
    "en": "How do I reset the password of my router?",
    "es": "¿Qué vacunas necesita un perro recién nacido?",
    "hi": "क्रिकेट विश्व कप 2011 किसने जीता?",
    "ro": "Ce impozit pe venit plătește o firmă mică?",
    "ru": "Какой язык программирования выбрать для сайта?",
    "th": "วิธีต่ออายุใบขับขี่ทำอย่างไร",
    "tr": "Buzdolabı neden su akıtıyor?",
    "vi": "Lãi suất vay mua nhà hiện nay là bao nhiêu?",
    "zh": "怎样取消手机套餐？",
}


def test_nothing_is_found_where_the_sample_holds_no_answer_and_only_there(site, kb, tab):
    judged = {one.question: one for one in Answers(kb).answers([*HELD.values(), *MISSING.values()], 3)}
    assert [judged[question].answered for question in HELD.values()] == [True] * 12
    # Of these some are unsure, others not found, and one in Romanian is taken for an answer.
    assert sum(judged[question].probability < 0.5 for question in MISSING.values()) == 11
    # The last question of each verdict: what comes after the pause of one who types takes most of a second each.
    shown = {(answer.answered, answer.probability >= 0.5): answer for answer in judged.values()}
    assert shown.keys() == {(True, True), (True, False), (False, False)}
    with served(site) as address:
        tab.open(address)
        tab.until(READY)
        for answer in shown.values():
            asked(tab, answer.question)
            tab.until(f"document.getElementById('hits').dataset.shown === {answer.question!r}")
            share = f"{100 * answer.probability:.0f} %"
            # "4 %" is no part of the "94 %" of the question before.
            line = tab.until(f"/\\b{share}/.test({STATE}) && {STATE}")
            first = "" if answer.probability >= 0.5 else "Unsure" if answer.answered else "Nothing found"
            assert line.startswith(first or share)


def test_keys_move_through_the_results_and_back(site, tab):
    with served(site) as address:
        tab.open(f"{address}#q=Nil")
        tab.until(f"{READY} && {FIRST} !== null")
        for key, place in (("ArrowDown", 0), ("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", -1), ("ArrowDown", 0)):
            tab.press(key)
            assert tab.value("[...document.querySelectorAll('#hits li')].indexOf(document.activeElement)") == place
        tab.press("Escape")
        assert tab.value("document.activeElement.id") == "question"


def test_pasted_passages_are_searched_as_python_searches_them(tab, page_of, tmp_path):
    encoder = load_encoder("multi12-static")
    passages = Passages(encoder, LINES)
    with served(page_of(tmp_path / "site", "multi12-static")) as address:
        tab.open(address)
        tab.until(READY)
        tab.value("document.getElementById('passages').focus()")
        tab.type("\n".join(LINES))
        tab.until("document.getElementById('counted').textContent.startsWith('4 passages, 9 sentences')")
        for question in ("Wo endet die Donau?", "qui a bu du café en premier", "Was fressen Pandas?"):
            [[row]], [[score]] = passages.nearest([question], k=1)
            _, text, best = asked(tab, question)
            assert text == LINES[row] and best in text
            assert float(tab.value(f"{FIRST}.querySelector('.score').textContent")) == pytest.approx(score, abs=0.02)


def damaged(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("encoder.bin", lambda content: content[:-1000]),
        ("encoder.bin", lambda content: b"\0" * 64 + content[64:]),
        ("index.bin", lambda content: b"\0" * 64 + content[64:]),
        ("index.bin", None),
    ],
    ids=["truncated", "encoder", "index", "missing"],
)
def test_a_file_that_is_not_whole_is_named_in_one_line(site, tab, tmp_path, name, change):
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    damaged(folder, name, change) if change else (folder / name).unlink()
    with served(folder) as address:
        tab.open(address)
        line = tab.until(f"document.querySelector('#status.failed') && {STATE}")
    assert line.startswith(name) and "\n" not in line
    assert tab.value("document.getElementById('question').disabled")


def test_without_webassembly_or_scripts_a_line_says_so(site, chromium, tab):
    with served(site) as address:
        browser = Chromium(flags=["--js-flags=--jitless"])
        try:
            page = browser.page()
            page.open(address)
            assert "WebAssembly" in page.until(f"document.querySelector('#status.failed') && {STATE}")
        finally:
            browser.close()
        tab.send("Emulation.setScriptExecutionDisabled", value=True)
        tab.send("Page.navigate", url=address)
        line = tab.until("document.querySelector('noscript')?.innerText")
    assert "JavaScript" in line and "\n" not in line
