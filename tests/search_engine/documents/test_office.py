"""PDF and DOCX are read by the extra `files`: files made here by hand, byte by byte."""

import zipfile

import pytest

from distill.search_engine.documents.read_documents import read_documents

PARAGRAPH = '<w:p>{}<w:r><w:t xml:space="preserve">{}</w:t></w:r></w:p>'
HEADING = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
SPACE = "http://schemas.openxmlformats.org"


def pdf(*pages, title="(Timetable)"):
    """A PDF of a line a page, with a title."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, line in enumerate(pages):
        shown = f"BT /F 12 Tf 9 9 Td ({line}) Tj ET"
        objects += [
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F 3 0 R>>>>"
            f"/Contents {5 + 2 * number} 0 R>>",
            f"<</Length {len(shown)}>>stream\n{shown}\nendstream",
        ]
    objects.append(f"<</Title {title}>>")
    content, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = f"trailer<</Size {size}/Root 1 0 R/Info {len(objects)} 0 R>>\nstartxref\n{len(content)}\n%%EOF"
    return f"{content}xref\n0 {size}\n0000000000 65535 f \n{table}{tail}".encode()


def test_the_pages_of_a_pdf_are_one_document(tmp_path):
    pytest.importorskip("pypdf")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("The ferry leaves", "at nine."))
    [document] = read_documents([path])
    name = path.as_posix()
    assert document.text == "The ferry leaves\nat nine."
    assert document.fields == {"id": name, "title": "Timetable", "path": name}
    path.write_bytes(pdf("The ferry", title="null"))
    [document] = read_documents([path])
    assert document.fields["title"] == "a"


def docx(path, body):
    """A DOCX of a body, in which a paragraph may have the style of a title."""
    word = f'xmlns:w="{SPACE}/wordprocessingml/2006/main" xmlns:m="{SPACE}/officeDocument/2006/math"'
    link = f'<Relationships xmlns="{SPACE}/package/2006/relationships"><Relationship Id="r" '
    link += f'Type="{SPACE}/officeDocument/2006/relationships/'
    style = '<w:style w:type="paragraph" w:styleId="{}"><w:name w:val="{}"/></w:style>'
    styles = "".join(style.format(*pair) for pair in (("Heading1", "heading 1"), ("Title", "Title")))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{SPACE}/package/2006/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        file.writestr("_rels/.rels", f'{link}officeDocument" Target="word/document.xml"/></Relationships>')
        file.writestr("word/_rels/document.xml.rels", f'{link}styles" Target="styles.xml"/></Relationships>')
        file.writestr("word/styles.xml", f"<w:styles {word}>{styles}</w:styles>")
        file.writestr("word/document.xml", f"<w:document {word}><w:body>{body}</w:body></w:document>")


def test_paragraphs_and_headings_of_a_docx_are_blocks(tmp_path):
    pytest.importorskip("mammoth")
    path = tmp_path / "a.docx"
    docx(path, PARAGRAPH.format(HEADING, "Timetable") + PARAGRAPH.format("", "The ferry &amp; the train."))
    [document] = read_documents([path])
    assert (document.text, document.fields["title"]) == ("Timetable\n\nThe ferry & the train.", "Timetable")


def test_equations_ruby_and_breaks_of_a_docx_are_text_and_what_is_hidden_is_not(tmp_path):
    pytest.importorskip("mammoth")
    path, run = tmp_path / "a.docx", '<w:r>{}<w:t xml:space="preserve">{}</w:t></w:r>'
    half = "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>"
    reading, base = run.format("", "とう"), run.format("", "東")
    ruby = f"<w:r><w:ruby><w:rubyPr/><w:rt>{reading}</w:rt><w:rubyBase>{base}</w:rubyBase></w:ruby></w:r>"
    hidden = run.format("<w:rPr><w:vanish/></w:rPr>", "hidden") + run.format(
        '<w:rPr><w:vanish w:val="0"/></w:rPr>', "c"
    )
    breaks = f'<w:bdo>{run.format("", "d")}</w:bdo><w:r><w:br w:type="page"/></w:r>{run.format("<w:cr/>", "e")}'
    title = '<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr>' + run.format("", "Report") + "</w:p>"
    docx(path, title + PARAGRAPH.format(HEADING, "One") + f"<w:p>{half}{ruby}{hidden}{breaks}</w:p>")
    [document] = read_documents([path])
    assert (document.text, document.fields["title"]) == ("Report\n\nOne\n\na/b東cd\n\ne", "Report")
