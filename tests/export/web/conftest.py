"""Pages of the released encoders, as `distill export --format web` leaves them, but for the gate."""

import pytest


@pytest.fixture(scope="session")
def page_of():
    """A maker of pages: `page_of(folder, name of a released encoder, index.bin or None, by ranges)`."""
    from distill.encoders.catalog.bundle import read_scoring
    from distill.encoders.catalog.kinds import find_folder
    from distill.encoders.tokenizer import Tokenizer
    from distill.export.form import Form
    from distill.export.formats.format import Lengths, format_of
    from distill.export.student import form_of_bundle
    from distill.export.web.site import add_index
    from distill.search_engine.indexing.clusters import write_clusters

    class Bundle:
        """What the format asks a student for."""

        def __init__(self, name):
            self.name, self.tokenizer = name, Tokenizer.load(find_folder(name) / "tokenizer.model")

    def make(folder, name, index=None, by_ranges=False):
        folder.mkdir()
        said = read_scoring(name)
        form = form_of_bundle(find_folder(name), Form("web"))
        format_of("web").write(Bundle(name), folder, form.precision, Lengths())
        format_of("web").add_answerable(folder, said["answerable"], said["passage_weight"])
        if index:
            clusters = folder.parent / "clusters.bin" if by_ranges else None
            if clusters:
                write_clusters(index.parent, clusters)
            add_index(folder, index, clusters=clusters)
        return folder

    return make


@pytest.fixture(scope="session")
def kb(tmp_path_factory):
    """The sample's passages, indexed by `multi12-ngram`: the index's folder."""
    from distill.data.readers import SAMPLE
    from distill.search_engine.indexing.building import IndexChange, build_index

    folder = tmp_path_factory.mktemp("index") / "kb"
    build_index(folder, IndexChange([SAMPLE / "documents.jsonl"]), "multi12-ngram")
    return folder


@pytest.fixture
def tab(chromium):
    tab = chromium.page()
    yield tab
    tab.close()
