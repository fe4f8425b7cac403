/* See distill.h. C99; in the order: texts as characters, sentences and passages, JSON, documents, the index in a file,
   documents that come and go, the file of what there is. */

#include "distill_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A new index is as `distill index` makes one. */
enum { LENGTH = 1000, OVERLAP = 0, PER_BLOCK = 64, FORMAT = 1, LARGEST = 127 };

/* Where a number stands in the list `numbers`. */
enum { VERSION, DIMENSION, AXES, BITS, SCORE, PACKED, BLOCK, AGAIN, WEIGHT };

static const uint8_t UNKNOWN[] = {0xef, 0xbf, 0xbd};

/* ---- Bytes that grow ---- */

typedef struct {
    uint8_t *bytes;
    size_t size, room;
    bool failed;
} string;

static void put(string *out, const void *bytes, size_t size)
{
    if (!out->failed && size > out->room - out->size) {
        bool fits = size < SIZE_MAX / 4 && out->room < SIZE_MAX / 4;
        size_t room = out->room + out->room / 2 + size;
        uint8_t *more = fits ? realloc(out->bytes, room) : NULL;
        out->failed = !more;
        out->bytes = more ? more : out->bytes;
        out->room = more ? room : out->room;
    }
    if (out->failed || !size)
        return;
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_text(string *out, const char *text) { put(out, text, strlen(text)); }

static void put_number(string *out, size_t number)
{
    char digits[20];
    size_t first = sizeof digits;
    do
        digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    put(out, digits + first, sizeof digits - first);
}

/* A text as whole UTF-8: a byte that belongs to no character is U+FFFD. */
static void put_whole(string *out, const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t at = 0, taken; at < size; at += taken ? taken : 1) {
        taken = character(bytes + at, size - at);
        put(out, taken ? bytes + at : UNKNOWN, taken ? taken : sizeof UNKNOWN);
    }
}

/* ---- Texts as characters ---- */

/* The characters of a text, and where each begins in its bytes; one more stands behind the last. */
typedef struct {
    uint32_t *points, *begins;
    size_t count;
} letters;

static uint32_t point_of(const uint8_t *bytes, size_t size)
{
    uint32_t point = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++)
        point = point << 6 | (bytes[i] & 0x3fu);
    return point;
}

static bool take_letters(letters *text, const string *whole)
{
    size_t most = whole->size + 1;
    text->points = most < SIZE_MAX / 4 ? malloc(most * sizeof *text->points) : NULL;
    text->begins = most < SIZE_MAX / 4 ? malloc(most * sizeof *text->begins) : NULL;
    if (!text->points || !text->begins)
        return false;
    for (size_t at = 0, size; at < whole->size; at += size) {
        size = character(whole->bytes + at, whole->size - at);
        text->points[text->count] = point_of(whole->bytes + at, size);
        text->begins[text->count++] = (uint32_t)at;
    }
    text->begins[text->count] = (uint32_t)whole->size;
    return true;
}

/* Those of Python's str.isspace. */
static bool is_blank(uint32_t point)
{
    return (point >= 9 && point <= 13) || (point >= 0x1c && point <= 0x20) || point == 0x85 || point == 0xa0 ||
           point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
           point == 0x202f || point == 0x205f || point == 0x3000;
}

/* What stands on the letter before it: marks of the scripts that are written today, joiners, tones of skin, tags and ends
   of Hangul's syllables. Letters between marks are among them: a text is cut before those all the same, a bit earlier. */
static const uint32_t MARKS[][2] = {
    {0x300, 0x36f},     {0x483, 0x489},     {0x591, 0x5c7},     {0x610, 0x61a},     {0x64b, 0x65f},     {0x670, 0x670},
    {0x6d6, 0x6ed},     {0x711, 0x711},     {0x730, 0x74a},     {0x7a6, 0x7b0},     {0x7eb, 0x7f3},     {0x816, 0x82d},
    {0x859, 0x85b},     {0x897, 0x89f},     {0x8ca, 0x8ff},     {0xdca, 0xddf},     {0xdf2, 0xdf3},     {0xe31, 0xe3a},
    {0xe47, 0xe4e},     {0xeb1, 0xebc},     {0xec8, 0xece},     {0xf18, 0xf19},     {0xf35, 0xf3f},     {0xf71, 0xfc6},
    {0x102b, 0x103e},   {0x1056, 0x109d},   {0x1160, 0x11ff},   {0x135d, 0x135f},   {0x1712, 0x1715},   {0x1732, 0x1734},
    {0x17b4, 0x17dd},   {0x180b, 0x180f},   {0x18a9, 0x18a9},   {0x1920, 0x193b},   {0x1a17, 0x1a1b},   {0x1a55, 0x1a7f},
    {0x1ab0, 0x1ace},   {0x1b00, 0x1b04},   {0x1b34, 0x1b44},   {0x1b6b, 0x1b82},   {0x1ba1, 0x1bad},   {0x1be6, 0x1bf3},
    {0x1c24, 0x1c37},   {0x1cd0, 0x1cf9},   {0x1dc0, 0x1dff},   {0x200c, 0x200d},   {0x20d0, 0x20f0},   {0x302a, 0x302f},
    {0x3099, 0x309a},   {0xa66f, 0xa67d},   {0xa802, 0xa80b},   {0xa823, 0xa82c},   {0xa880, 0xa881},   {0xa8b4, 0xa8c5},
    {0xa8e0, 0xa8ff},   {0xa926, 0xa92d},   {0xa947, 0xa953},   {0xa980, 0xa983},   {0xa9b3, 0xa9c0},   {0xaa29, 0xaa4d},
    {0xabe3, 0xabed},   {0xd7b0, 0xd7fb},   {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},   {0xff9e, 0xff9f},   {0x1f3fb, 0x1f3ff},
    {0xe0020, 0xe007f}, {0xe0100, 0xe01ef},
};

enum { JOINER = 0x200d };

/* India's scripts from Devanagari to Malayalam have 128 places each, and their marks at the same ones. */
static bool is_indian(uint32_t point) { return point >= 0x900 && point < 0xd80; }

static bool is_mark(uint32_t point)
{
    uint32_t place = point & 0x7f;
    if (is_indian(point))
        return place <= 3 || (place >= 0x3a && place <= 0x4f) || (place >= 0x51 && place <= 0x57) || place == 0x62 ||
               place == 0x63;
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS && MARKS[i][0] <= point; i++)
        if (point <= MARKS[i][1])
            return true;
    return false;
}

/* True where a character and the one before it are one letter to a reader. */
static bool is_within(const letters *text, size_t at)
{
    uint32_t before;
    if (at == 0 || at >= text->count)
        return false;
    before = text->points[at - 1];
    if (is_mark(text->points[at]))
        return before >= 0x20 && (before < 0x7f || before > 0x9f) && before != 0x2028 && before != 0x2029;
    /* A sign that takes a consonant's vowel joins it to the next. */
    return before == JOINER || (is_indian(before) && (before & 0x7f) == 0x4d && is_indian(text->points[at]));
}

/* ---- Sentences and passages ---- */

/* Begin and end, in characters, or in sentences. */
typedef struct {
    size_t begin, end;
} place;

typedef struct {
    place *all;
    size_t count, room;
} places;

static bool put_place(places *out, size_t begin, size_t end)
{
    if (out->count == out->room) {
        size_t room = 2 * out->room + 16;
        place *more = room < SIZE_MAX / sizeof *more ? realloc(out->all, room * sizeof *more) : NULL;
        if (!more)
            return false;
        out->all = more;
        out->room = room;
    }
    out->all[out->count].begin = begin;
    out->all[out->count++].end = end;
    return true;
}

static bool is_one_of(uint32_t point, const uint32_t *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (points[i] == point)
            return true;
    return false;
}

#define IS_ONE_OF(point, points) is_one_of(point, points, sizeof(points) / sizeof *(points))

/* What ends a sentence and what closes it behind that, where blanks follow, and where none have to. */
static const uint32_t ENDS[] = {'.', '!', '?', 0x2026, 0x964, 0x61f};
static const uint32_t CLOSING[] = {'"', '\'', 0xbb, 0x201d, 0x2019, ')', ']'};
static const uint32_t WIDE_ENDS[] = {0x3002, 0xff01, 0xff1f};
static const uint32_t WIDE_CLOSING[] = {0x300d, 0x300f, 0x201d, 0x2019, 0xff09};

static size_t behind_blanks(const letters *text, size_t at)
{
    while (at < text->count && is_blank(text->points[at]))
        at++;
    return at;
}

/* The end of a sentence whose last character stands before a place, 0 where it is none: END of export/encode.py. */
static size_t end_behind(const letters *text, size_t at)
{
    size_t end = at;
    if (IS_ONE_OF(text->points[at - 1], ENDS)) {
        while (end < text->count && IS_ONE_OF(text->points[end], CLOSING))
            end++;
        return behind_blanks(text, end) > end ? behind_blanks(text, end) : 0;
    }
    if (!IS_ONE_OF(text->points[at - 1], WIDE_ENDS))
        return 0;
    while (end < text->count && IS_ONE_OF(text->points[end], WIDE_CLOSING))
        end++;
    while (is_within(text, end))
        end++;
    return end;
}

/* The end of the sentence that begins at a place, with the blanks behind it. */
static size_t sentence_end(const letters *text, size_t begin)
{
    for (size_t at = begin; at < text->count; at++) {
        size_t end = at > begin ? end_behind(text, at) : 0;
        if (end)
            return end;
        if (text->points[at] == '\n')
            return behind_blanks(text, at);
    }
    return text->count;
}

/* The last place up to `most` and behind `least` that is not within a letter; `most` where there is none. */
static size_t letter_before(const letters *text, size_t most, size_t least)
{
    for (size_t at = most; at > least; at--)
        if (!is_within(text, at))
            return at;
    return most;
}

/* Where a sentence that is too long is cut: at the last blank that leaves half of the length, else before a letter. */
static size_t cut_of(const letters *text, size_t begin, size_t length)
{
    for (size_t at = begin + length + 1; at-- > begin + length / 2;)
        if (is_blank(text->points[at]) && !is_within(text, at + 1))
            return at;
    return letter_before(text, begin + length, begin + length / 2);
}

static bool put_sentence(const letters *text, size_t begin, size_t end, size_t length, places *out)
{
    while (end - begin > length) {
        size_t cut = cut_of(text, begin, length);
        if (!put_place(out, begin, cut))
            return false;
        begin = behind_blanks(text, cut);
    }
    return put_place(out, begin, end);
}

/* The sentences of a text, none of them blank, of at most `length` characters, as distill/vocabulary/words/cutting.py cuts them. */
static bool cut_sentences(const letters *text, size_t length, places *out)
{
    for (size_t begin = 0, next; begin < text->count; begin = next) {
        size_t first = behind_blanks(text, begin), end = next = sentence_end(text, begin);
        while (end > first && is_blank(text->points[end - 1]))
            end--;
        if (first < end && !put_sentence(text, first, end, length, out))
            return false;
    }
    return true;
}

/* The passages: as many sentences each as `length` has room for, beginning with those last ones of the passage before that
   have at most `overlap` characters. */
static bool cut_passages(const places *sentences, size_t length, size_t overlap, places *out)
{
    const place *all = sentences->all;
    for (size_t first = 0, last = 0; last < sentences->count;) {
        size_t reached = last;
        while (last < sentences->count && all[last].end - all[first].begin <= length)
            last++;
        if (last == reached) {
            /* What would be repeated leaves no room for a new sentence. */
            first = reached;
            continue;
        }
        if (!put_place(out, first, last))
            return false;
        for (first++; first < last && all[last - 1].end - all[first].begin > overlap;)
            first++;
    }
    return true;
}

/* ---- JSON ---- */

/* What is left of it to read. */
typedef struct {
    const uint8_t *at, *end;
    bool inside;
} json;

/* A name and a value as they stand there, a name without its quotes. */
typedef struct {
    distill_span name, value;
} field;

static distill_span span_of(const uint8_t *from, const uint8_t *to)
{
    distill_span span = {(const char *)from, (size_t)(to - from)};
    return span;
}

static bool is_text(distill_span span, const char *text)
{
    return span.size == strlen(text) && !memcmp(span.bytes, text, span.size);
}

/* The next character that is no blank, 0 at the end; it is taken where it is the one that is looked for. */
static uint8_t next_sign(json *rest, uint8_t wanted)
{
    while (rest->at < rest->end && (*rest->at == ' ' || (*rest->at >= '\t' && *rest->at <= '\r')))
        rest->at++;
    if (rest->at == rest->end)
        return 0;
    return *rest->at == wanted ? *rest->at++ : *rest->at;
}

/* What stands between quotes, the first of which is taken. */
static bool take_string(json *rest, distill_span *inside)
{
    const uint8_t *begin = rest->at;
    for (; rest->at < rest->end; rest->at++) {
        if (*rest->at == '"') {
            *inside = span_of(begin, rest->at++);
            return true;
        }
        if (*rest->at == '\\' && ++rest->at == rest->end)
            return false;
    }
    return false;
}

/* An object or a list, of which what opens it is taken. */
static bool skip_nested(json *rest)
{
    distill_span inside;
    size_t depth = 1;
    while (depth && rest->at < rest->end) {
        uint8_t sign = *rest->at++;
        if (sign == '"' && !take_string(rest, &inside))
            return false;
        depth += sign == '{' || sign == '[';
        depth -= sign == '}' || sign == ']';
    }
    return !depth;
}

static bool take_value(json *rest, distill_span *value)
{
    uint8_t sign = next_sign(rest, 0);
    const uint8_t *begin = rest->at;
    distill_span inside;
    if (!sign)
        return false;
    if (sign == '"' || sign == '{' || sign == '[') {
        rest->at++;
        if (!(sign == '"' ? take_string(rest, &inside) : skip_nested(rest)))
            return false;
    } else
        while (rest->at < rest->end && *rest->at > ' ' && *rest->at != ',' && *rest->at != '}')
            rest->at++;
    *value = span_of(begin, rest->at);
    return value->size > 0;
}

/* The next field of the object that is all there is: 1, or 0 behind the last one, -1 where it is none. */
static int next_field(json *rest, field *one)
{
    bool first = !rest->inside;
    if (first && next_sign(rest, '{') != '{')
        return -1;
    rest->inside = true;
    if (next_sign(rest, '}') == '}')
        return next_sign(rest, 0) ? -1 : 0;
    if ((!first && next_sign(rest, ',') != ',') || next_sign(rest, '"') != '"' || !take_string(rest, &one->name))
        return -1;
    return next_sign(rest, ':') == ':' && take_value(rest, &one->value) ? 1 : -1;
}

/* The value of a name, the last one as in Python; without bytes where there is none, or no object. */
static distill_span value_of(distill_span object, const char *name)
{
    json rest = {(const uint8_t *)object.bytes, (const uint8_t *)object.bytes + object.size, false};
    distill_span value = {NULL, 0};
    field one;
    int more;
    while ((more = next_field(&rest, &one)) > 0)
        if (is_text(one.name, name))
            value = one.value;
    if (more < 0)
        value.bytes = NULL;
    return value;
}

/* A whole number of a few digits; -1 for anything else. */
static long number_in(distill_span value)
{
    long number = 0;
    if (!value.bytes || value.size > 9)
        return -1;
    for (size_t i = 0; i < value.size; i++) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9')
            return -1;
        number = 10 * number + (value.bytes[i] - '0');
    }
    return number;
}

static uint32_t hexadecimal(const uint8_t *digits)
{
    uint32_t number = 0;
    for (size_t i = 0; i < 4; i++) {
        uint32_t digit = digits[i] | 0x20u;
        number = number << 4 | ((digit >= 'a' ? digit - 'a' + 10 : digit - '0') & 15);
    }
    return number;
}

static size_t put_point(uint32_t point, uint8_t bytes[4])
{
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; point >>= 6)
        bytes[i] = (uint8_t)(0x80 | (point & 0x3f));
    bytes[0] = (uint8_t)(size == 1 ? point : (0xf00u >> size & 0xff) | point);
    return size;
}

/* The character of \uXXXX, or of two, of which `\u` is taken; half of one is U+FFFD. */
static uint32_t escaped_point(const uint8_t **at, const uint8_t *end)
{
    uint32_t point, low;
    if (end - *at < 4) {
        *at = end;
        return 0xfffd;
    }
    point = hexadecimal(*at);
    *at += 4;
    if (point >= 0xd800 && point < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        low = hexadecimal(*at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            return 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return point >= 0xd800 && point < 0xe000 ? 0xfffd : point;
}

/* The next bytes of what a string of JSON says, and how many; there is one at least. */
static size_t unescaped(const uint8_t **at, const uint8_t *end, uint8_t bytes[4])
{
    static const char signs[] = "nrtbf", meant[] = "\n\r\t\b\f";
    uint8_t sign = *(*at)++;
    if (sign == '\\' && *at < end) {
        sign = *(*at)++;
        if (sign == 'u')
            return put_point(escaped_point(at, end), bytes);
        for (size_t i = 0; signs[i]; i++)
            if (sign == (uint8_t)signs[i]) {
                bytes[0] = (uint8_t)meant[i];
                return 1;
            }
    }
    bytes[0] = sign;
    return 1;
}

/* A text, whole UTF-8, as a string of JSON, as Python writes it. */
static void put_string(string *out, const uint8_t *text, size_t size)
{
    static const char signs[] = "nrtbf\"\\", meant[] = "\n\r\t\b\f\"\\", digits[] = "0123456789abcdef";
    put_text(out, "\"");
    for (size_t i = 0, sign; i < size; i++) {
        char escape[] = {'\\', 'u', '0', '0', digits[text[i] >> 4], digits[text[i] & 15]};
        for (sign = 0; meant[sign] && meant[sign] != (char)text[i];)
            sign++;
        if (signs[sign]) {
            escape[1] = signs[sign];
            put(out, escape, 2);
        } else
            put(out, text[i] < 0x20 ? escape : (const char *)text + i, text[i] < 0x20 ? sizeof escape : 1);
    }
    put_text(out, "\"");
}

/* ---- Documents ---- */

/* Rows one behind the other: those of a file, or of a document that came later. `starts` has the first sentence of each
   passage, and the end of the last one. */
typedef struct {
    const int8_t *passage_codes, *sentence_codes;
    const float *passage_scales, *sentence_scales;
    const uint32_t *starts, *bounds, *lengths, *offsets;
    const uint8_t *text, *objects;
} rows;

/* A document's rows, the first ones and how many, and its bytes. `own` is what is freed with it. */
typedef struct {
    const rows *in;
    void *own;
    uint64_t hash;
    size_t passage, sentence, text, object;
    size_t passages, sentences, text_size, object_size;
} document;

struct distill_writer {
    const distill_encoder *encoder;
    size_t dimension, length, overlap, count, room;
    int32_t numbers[SETTINGS];
    distill_span card;
    string new_card;
    rows file;
    document *documents;
};

static bool has_sentences(const distill_writer *writer) { return writer->numbers[SCORE] != SCORE_VECTOR; }

/* What stands in quotes as a document's id; without bytes where there is none. */
static distill_span id_in(distill_span object)
{
    distill_span id = value_of(object, "id");
    if (!id.bytes || id.size < 2 || id.bytes[0] != '"')
        id.bytes = NULL;
    else {
        id.bytes++;
        id.size -= 2;
    }
    return id;
}

/* FNV-1a, 64 bits, of what an id says. */
static uint64_t hash_of(distill_span id)
{
    const uint8_t *at = (const uint8_t *)id.bytes, *end = at + id.size;
    uint64_t hash = 0xcbf29ce484222325u;
    uint8_t bytes[4];
    while (at < end)
        for (size_t i = 0, count = unescaped(&at, end, bytes); i < count; i++)
            hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static bool is_same_id(distill_span one, distill_span other)
{
    const uint8_t *at = (const uint8_t *)one.bytes, *end = at + one.size;
    const uint8_t *at_other = (const uint8_t *)other.bytes, *end_other = at_other + other.size;
    uint8_t bytes[4], others[4];
    size_t some = 0, count = 0, i = 0, j = 0;
    for (;;) {
        if (i == some)
            some = at < end ? unescaped(&at, end, bytes) : 0, i = 0;
        if (j == count)
            count = at_other < end_other ? unescaped(&at_other, end_other, others) : 0, j = 0;
        if (!some || !count)
            return some == count;
        if (bytes[i++] != others[j++])
            return false;
    }
}

static distill_span object_of(const document *one)
{
    distill_span object = {(const char *)one->in->objects + one->object, one->object_size};
    return object;
}

/* The place of the document that has the id, a string of JSON without its quotes, or else the number of documents. */
static size_t find_document(const distill_writer *writer, distill_span id)
{
    uint64_t hash = hash_of(id);
    size_t place = 0;
    while (place < writer->count && !(writer->documents[place].hash == hash &&
                                      is_same_id(id_in(object_of(writer->documents + place)), id)))
        place++;
    return place;
}

static void take_out(distill_writer *writer, size_t place)
{
    free(writer->documents[place].own);
    writer->count--;
    memmove(writer->documents + place, writer->documents + place + 1,
            (writer->count - place) * sizeof *writer->documents);
}

/* Room for one more document. */
static bool make_room(distill_writer *writer)
{
    size_t room = writer->room + writer->room / 2 + 16;
    document *more;
    if (writer->count < writer->room)
        return true;
    more = room < SIZE_MAX / sizeof *more ? realloc(writer->documents, room * sizeof *more) : NULL;
    if (more) {
        writer->documents = more;
        writer->room = room;
    }
    return more != NULL;
}

/* ---- The index in a file ---- */

enum {
    CARD,
    NUMBERS,
    PASSAGE_VECTORS,
    PASSAGE_SCALES,
    SENTENCE_VECTORS,
    SENTENCE_SCALES,
    SENTENCE_STARTS,
    TEXT_LENGTHS,
    DOCUMENT_OF,
    PASSAGE_OFFSETS,
    DOCUMENT_STARTS,
    SENTENCE_BOUNDS,
    DOCUMENTS,
    TEXT,
    TEXT_BLOCKS,
    PARTS
};

/* In the order in which Python writes them. */
static const struct {
    const char *name;
    uint32_t type, dimensions;
} FORMS[PARTS] = {
    {"card", UINT8, 1},           {"numbers", INT32, 1},          {"passage_vectors", INT8, 2},
    {"passage_scales", FLOAT32, 1}, {"sentence_vectors", INT8, 2},  {"sentence_scales", FLOAT32, 1},
    {"sentence_starts", UINT32, 1}, {"text_lengths", UINT32, 1},    {"document_of", UINT32, 1},
    {"passage_offsets", UINT32, 1}, {"document_starts", UINT64, 1}, {"sentence_bounds", UINT32, 2},
    {"documents", UINT8, 1},        {"text", UINT8, 1},             {"text_blocks", UINT64, 1},
};

/* True where a file has nothing but what is written again: words of passages that change are not. */
static bool has_known_parts(const sections *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        const char *name = (const char *)file->bytes + HEAD + (size_t)i * ENTRY;
        size_t part = 0;
        while (part < PARTS && strncmp(name, FORMS[part].name, NAME))
            part++;
        if (part == PARTS)
            return false;
    }
    return true;
}

static const void *part_at(const sections *file, size_t part, size_t rows)
{
    array found = distill_section(file, FORMS[part].name, FORMS[part].type);
    return found.rows == rows && (FORMS[part].dimensions == 2 || found.columns == 1) ? found.data : NULL;
}

/* How a card says that documents are cut, and whose vectors they have. */
static distill_status take_card(distill_writer *writer)
{
    distill_span own = distill_fingerprint(writer->encoder), said = value_of(writer->card, "fingerprint");
    long length = number_in(value_of(writer->card, "length")), overlap = number_in(value_of(writer->card, "overlap"));
    if (!said.bytes || length < 1 || overlap < 0 || overlap >= length)
        return DISTILL_NOT_AN_INDEX;
    for (size_t part = 0; part < 3; part++) {
        static const char *const counts[] = {"documents", "passages", "sentences"};
        if (!value_of(writer->card, counts[part]).bytes)
            return DISTILL_NOT_AN_INDEX;
    }
    if (is_text(value_of(writer->card, "hybrid"), "true"))
        return DISTILL_NOT_CHANGEABLE;
    if (said.size != own.size + 2 || memcmp(said.bytes + 1, own.bytes, own.size) ||
        (size_t)writer->numbers[DIMENSION] != writer->dimension)
        return DISTILL_OTHER_ENCODER;
    writer->length = (size_t)length;
    writer->overlap = (size_t)overlap;
    return DISTILL_OK;
}

/* The text of a document lies behind that of the one before it, and a block of it begins with a passage. */
typedef struct {
    const uint64_t *blocks, *objects;
    const uint32_t *document_of;
    size_t passages, documents, end, text; /* `text`: where that of the next document begins, `end`: where all of it ends */
} order;

static bool take_passage(const distill_writer *writer, const order *file, size_t passage, document *one)
{
    const rows *all = &writer->file;
    size_t per = (size_t)writer->numbers[BLOCK], begin = file->text + one->text_size;
    if (all->lengths[passage] > file->end - begin || (passage % per == 0 && file->blocks[passage / per] != begin))
        return false;
    for (uint32_t row = all->starts[passage]; row < all->starts[passage + 1]; row++) {
        const uint32_t *bounds = all->bounds + 2 * (size_t)row;
        if (bounds[0] > bounds[1] || bounds[1] > all->lengths[passage])
            return false;
    }
    one->text_size += all->lengths[passage];
    one->sentences += all->starts[passage + 1] - all->starts[passage];
    one->passages++;
    return true;
}

static distill_status take_document(distill_writer *writer, order *file, size_t number, size_t passage)
{
    document one = {&writer->file, NULL, 0, passage, writer->file.starts[passage], file->text, 0, 0, 0, 0, 0};
    distill_span id;
    one.object = (size_t)file->objects[number];
    one.object_size = (size_t)(file->objects[number + 1] - file->objects[number]);
    id = id_in(object_of(&one));
    if (!id.bytes)
        return DISTILL_NOT_AN_INDEX;
    one.hash = hash_of(id);
    for (; passage < file->passages && file->document_of[passage] == number; passage++)
        if (!take_passage(writer, file, passage, &one))
            return DISTILL_NOT_AN_INDEX;
    if (!make_room(writer))
        return DISTILL_NO_MEMORY;
    file->text += one.text_size;
    writer->documents[writer->count++] = one;
    return DISTILL_OK;
}

static int by_hash(const void *left, const void *right)
{
    uint64_t a = (*(const document *const *)left)->hash, b = (*(const document *const *)right)->hash;
    return (a > b) - (a < b);
}

/* No two documents may have one id: a change of it would leave the other. */
static distill_status require_distinct(const distill_writer *writer)
{
    const document **sorted = malloc((writer->count + 1) * sizeof *sorted);
    distill_status status = sorted ? DISTILL_OK : DISTILL_NO_MEMORY;
    for (size_t i = 0; i < writer->count && !status; i++)
        sorted[i] = writer->documents + i;
    if (!status)
        qsort(sorted, writer->count, sizeof *sorted, by_hash);
    for (size_t i = 1; i < writer->count && !status; i++)
        for (size_t j = i; j-- > 0 && sorted[j]->hash == sorted[i]->hash;)
            if (is_same_id(id_in(object_of(sorted[j])), id_in(object_of(sorted[i]))))
                status = DISTILL_NOT_AN_INDEX;
    free(sorted);
    return status;
}

static distill_status take_documents(distill_writer *writer, order *file)
{
    distill_status status = DISTILL_OK;
    size_t passage = 0;
    for (size_t number = 0; !status && number < file->documents; number++) {
        status = take_document(writer, file, number, passage);
        passage += status ? 0 : writer->documents[number].passages;
    }
    if (!status && (passage != file->passages || file->text != file->end))
        status = DISTILL_NOT_AN_INDEX;
    return status ? status : require_distinct(writer);
}

/* The sections of an index that was opened, and which are therefore there in these shapes. */
static distill_status take_rows(distill_writer *writer, const sections *file)
{
    rows *all = &writer->file;
    array vectors = distill_section(file, "passage_vectors", INT8), text = distill_section(file, "text", UINT8);
    array starts = distill_section(file, "document_starts", UINT64), bounds = distill_section(file, "sentence_bounds", UINT32);
    size_t count = vectors.rows, sentences = has_sentences(writer) ? bounds.rows : 0;
    order those = {distill_section(file, "text_blocks", UINT64).data, starts.data, part_at(file, DOCUMENT_OF, count), count,
                   starts.rows - 1, text.rows, 0};
    all->passage_codes = vectors.data;
    all->sentence_codes = has_sentences(writer) ? part_at(file, SENTENCE_VECTORS, sentences) : NULL;
    all->passage_scales = part_at(file, PASSAGE_SCALES, count);
    all->sentence_scales = has_sentences(writer) ? part_at(file, SENTENCE_SCALES, sentences) : NULL;
    all->starts = part_at(file, SENTENCE_STARTS, count + 1);
    all->bounds = bounds.data;
    all->lengths = part_at(file, TEXT_LENGTHS, count);
    all->offsets = part_at(file, PASSAGE_OFFSETS, count);
    all->text = text.data;
    all->objects = distill_section(file, "documents", UINT8).data;
    return all->offsets ? take_documents(writer, &those) : DISTILL_NOT_AN_INDEX;
}

static distill_status take_file(distill_writer *writer, const void *bytes, size_t size)
{
    distill_index *index;
    sections file;
    array card, numbers;
    distill_status status = distill_index_open(bytes, size, NULL, &index);
    distill_index_close(index);
    if (status)
        return status;
    status = distill_open_sections(bytes, size, &file);
    card = distill_section(&file, "card", UINT8);
    numbers = distill_section(&file, "numbers", INT32);
    if (status || !card.data || card.columns != 1)
        return DISTILL_NOT_AN_INDEX;
    memcpy(writer->numbers, numbers.data, sizeof writer->numbers);
    writer->card = span_of(card.data, (const uint8_t *)card.data + card.rows);
    if (writer->numbers[BITS] != 8 || writer->numbers[PACKED] || writer->numbers[AGAIN] || !has_known_parts(&file))
        return DISTILL_NOT_CHANGEABLE;
    status = take_card(writer);
    return status ? status : take_rows(writer, &file);
}

/* What `distill index` writes where nothing is said. */
static distill_status make_card(distill_writer *writer)
{
    const int32_t numbers[] = {FORMAT, (int32_t)writer->dimension, (int32_t)writer->dimension, 8, SCORE_SUM, 0, PER_BLOCK};
    distill_span name = distill_name(writer->encoder), fingerprint = distill_fingerprint(writer->encoder);
    string *card = &writer->new_card, whole = {NULL, 0, 0, false};
    memcpy(writer->numbers, numbers, sizeof numbers);
    writer->numbers[WEIGHT] = distill_passage_weight(writer->encoder);
    writer->length = LENGTH;
    writer->overlap = OVERLAP;
    put_whole(&whole, name.bytes, name.size);
    put_text(card, "{\"format\": 1, \"encoder\": ");
    put_string(card, whole.bytes, whole.size);
    put_text(card, ", \"fingerprint\": ");
    put_string(card, (const uint8_t *)fingerprint.bytes, fingerprint.size);
    put_text(card, ", \"length\": ");
    put_number(card, LENGTH);
    put_text(card, ", \"overlap\": ");
    put_number(card, OVERLAP);
    put_text(card, ", \"language\": \"auto\", \"score\": \"sum\", \"bits\": 8, \"hybrid\": false, \"dimension\": ");
    put_number(card, writer->dimension);
    put_text(card, ", \"axes\": ");
    put_number(card, writer->dimension);
    put_text(card, ", \"documents\": 0, \"passages\": 0, \"sentences\": 0}");
    card->failed = card->failed || whole.failed;
    free(whole.bytes);
    writer->card = span_of(card->bytes, card->bytes + card->size);
    return card->failed ? DISTILL_NO_MEMORY : DISTILL_OK;
}

distill_status distill_writer_open(const distill_encoder *encoder, const void *bytes, size_t size, distill_writer **writer)
{
    distill_status status;
    *writer = calloc(1, sizeof **writer);
    if (!*writer)
        return DISTILL_NO_MEMORY;
    (*writer)->encoder = encoder;
    (*writer)->dimension = distill_dimension(encoder);
    status = bytes ? take_file(*writer, bytes, size) : make_card(*writer);
    if (status) {
        distill_writer_close(*writer);
        *writer = NULL;
    }
    return status;
}

void distill_writer_close(distill_writer *writer)
{
    if (!writer)
        return;
    while (writer->count)
        take_out(writer, writer->count - 1);
    free(writer->documents);
    free(writer->new_card.bytes);
    free(writer);
}

size_t distill_writer_documents(const distill_writer *writer) { return writer->count; }

/* ---- Documents that come and go ---- */

/* What there is of all documents together. */
typedef struct {
    size_t passages, sentences, text, objects;
} totals;

static totals totals_of(const distill_writer *writer)
{
    totals sums = {0, 0, 0, 0};
    for (size_t i = 0; i < writer->count; i++) {
        sums.passages += writer->documents[i].passages;
        sums.sentences += writer->documents[i].sentences;
        sums.text += writer->documents[i].text_size;
        sums.objects += writer->documents[i].object_size;
    }
    return sums;
}

/* A document that is being made: its texts, its sentences and passages, and, at the end, its rows in memory of its own. */
typedef struct {
    string text, object;
    letters characters;
    places sentences, passages;
    float *vector;
    document made;
} draft;

/* The rows of a new document with all that they lead to, in one piece of memory. */
typedef struct {
    rows all;
    int8_t *passage_codes, *sentence_codes;
    float *passage_scales, *sentence_scales;
    uint32_t *starts, *bounds, *lengths, *offsets;
    uint8_t *text, *object;
} note;

/* The sentences of all passages, which repeat some where these overlap, and the bytes of their texts. */
static void count_rows(draft *one)
{
    const uint32_t *begins = one->characters.begins;
    document *made = &one->made;
    made->passages = one->passages.count;
    made->object_size = one->object.size;
    for (size_t i = 0; i < one->passages.count; i++) {
        place passage = one->passages.all[i];
        made->sentences += passage.end - passage.begin;
        made->text_size += begins[one->sentences.all[passage.end - 1].end] - begins[one->sentences.all[passage.begin].begin];
    }
}

/* Floats and whole numbers lie first, bytes behind them. */
static note *reserve_note(const document *made, size_t dimension)
{
    const uint64_t numbers = 4 * (uint64_t)made->passages + 1 + 3 * (uint64_t)made->sentences;
    const uint64_t size = sizeof(note) + 4 * numbers + ((uint64_t)made->passages + made->sentences) * dimension +
                          made->text_size + made->object_size;
    note *one = size < SIZE_MAX / 2 ? malloc((size_t)size) : NULL;
    if (!one)
        return NULL;
    one->passage_scales = (float *)(one + 1);
    one->sentence_scales = one->passage_scales + made->passages;
    one->starts = (uint32_t *)(one->sentence_scales + made->sentences);
    one->lengths = one->starts + made->passages + 1;
    one->offsets = one->lengths + made->passages;
    one->bounds = one->offsets + made->passages;
    one->passage_codes = (int8_t *)(one->bounds + 2 * made->sentences);
    one->sentence_codes = one->passage_codes + made->passages * dimension;
    one->text = (uint8_t *)(one->sentence_codes + made->sentences * dimension);
    one->object = one->text + made->text_size;
    one->all.passage_codes = one->passage_codes;
    one->all.sentence_codes = one->sentence_codes;
    one->all.passage_scales = one->passage_scales;
    one->all.sentence_scales = one->sentence_scales;
    one->all.starts = one->starts;
    one->all.bounds = one->bounds;
    one->all.lengths = one->lengths;
    one->all.offsets = one->offsets;
    one->all.text = one->text;
    one->all.objects = one->object;
    return one;
}

static void fill_texts(const draft *from, note *into)
{
    const uint32_t *begins = from->characters.begins;
    const place *sentences = from->sentences.all;
    uint32_t row = 0;
    size_t text = 0;
    for (size_t i = 0; i < from->passages.count; i++) {
        place passage = from->passages.all[i];
        uint32_t begin = begins[sentences[passage.begin].begin], end = begins[sentences[passage.end - 1].end];
        into->starts[i] = row;
        into->offsets[i] = begin;
        into->lengths[i] = end - begin;
        memcpy(into->text + text, from->text.bytes + begin, end - begin);
        text += end - begin;
        for (size_t place = passage.begin; place < passage.end; place++, row++) {
            into->bounds[2 * row] = begins[sentences[place].begin] - begin;
            into->bounds[2 * row + 1] = begins[sentences[place].end] - begin;
        }
    }
    into->starts[from->passages.count] = row;
    memcpy(into->object, from->object.bytes, from->object.size);
}

/* The codes of a vector and their scale, rounded to the nearest ones. An encoder that is broken gives what is no number. */
static distill_status round_vector(const float *vector, size_t n, int8_t *codes, float *scale)
{
    float most = 0;
    for (size_t i = 0; i < n; i++) {
        float size = fabsf(vector[i]);
        if (!(size <= GREATEST_SCALE))
            return DISTILL_NOT_AN_ENCODER;
        most = size > most ? size : most;
    }
    *scale = most / LARGEST;
    for (size_t i = 0; i < n; i++) {
        float code = rintf(vector[i] / (*scale > 0 ? *scale : 1));
        codes[i] = (int8_t)(code > LARGEST ? LARGEST : code < -LARGEST ? -LARGEST : code);
    }
    return DISTILL_OK;
}

static distill_status encode(const distill_writer *writer, const uint8_t *text, size_t size, float *vector, int8_t *codes,
                             float *scale)
{
    distill_status status = distill_encode(writer->encoder, DISTILL_DOCUMENT, (const char *)text, size, vector);
    return status ? status : round_vector(vector, writer->dimension, codes, scale);
}

static distill_status encode_sentences(const distill_writer *writer, note *one, size_t passage, const uint8_t *text,
                                       float *vector)
{
    distill_status status = DISTILL_OK;
    size_t n = writer->dimension, first = one->starts[passage];
    if (one->starts[passage + 1] - first == 1) {
        /* The passage itself. */
        memcpy(one->sentence_codes + first * n, one->passage_codes + passage * n, n);
        one->sentence_scales[first] = one->passage_scales[passage];
        return DISTILL_OK;
    }
    for (size_t row = first; !status && row < one->starts[passage + 1]; row++) {
        const uint32_t *bounds = one->bounds + 2 * row;
        status = encode(writer, text + bounds[0], bounds[1] - bounds[0], vector, one->sentence_codes + row * n,
                        one->sentence_scales + row);
    }
    return status;
}

static distill_status fill_vectors(const distill_writer *writer, size_t passages, note *one, float *vector)
{
    const uint8_t *text = one->text;
    distill_status status = DISTILL_OK;
    for (size_t i = 0; !status && i < passages; text += one->lengths[i++]) {
        status = encode(writer, text, one->lengths[i], vector, one->passage_codes + i * writer->dimension,
                        one->passage_scales + i);
        if (!status && has_sentences(writer))
            status = encode_sentences(writer, one, i, text, vector);
    }
    return status;
}

/* The passages of a text, and what is kept of its document. */
static distill_status take_text(const distill_writer *writer, const char *text, size_t size, draft *one)
{
    if (size > UINT32_MAX / sizeof UNKNOWN - 1)
        return DISTILL_TOO_LONG;
    put_whole(&one->text, text, size);
    if (one->text.failed || !take_letters(&one->characters, &one->text) ||
        !cut_sentences(&one->characters, writer->length, &one->sentences) ||
        !cut_passages(&one->sentences, writer->length, writer->overlap, &one->passages))
        return DISTILL_NO_MEMORY;
    return one->passages.count ? DISTILL_OK : DISTILL_NO_TEXT;
}

static void put_whole_string(string *out, const char *text, size_t size)
{
    string whole = {NULL, 0, 0, false};
    put_whole(&whole, text, size);
    put_string(out, whole.bytes, whole.size);
    out->failed = out->failed || whole.failed;
    free(whole.bytes);
}

static distill_status make_note(const distill_writer *writer, draft *one)
{
    note *made;
    distill_status status;
    count_rows(one);
    one->made.own = made = reserve_note(&one->made, writer->dimension);
    one->vector = malloc(writer->dimension * sizeof *one->vector);
    if (!made || !one->vector)
        return DISTILL_NO_MEMORY;
    fill_texts(one, made);
    status = fill_vectors(writer, one->passages.count, made, one->vector);
    one->made.in = &made->all;
    return status;
}

/* Put a document behind the others, in the place of the one with its id. */
static distill_status put_document(distill_writer *writer, document *made)
{
    distill_span id = id_in(object_of(made));
    totals sums = totals_of(writer);
    size_t before;
    if (sums.passages >= UINT32_MAX - 1 - made->passages || sums.sentences >= UINT32_MAX - 1 - made->sentences)
        return DISTILL_TOO_LONG;
    if (!make_room(writer))
        return DISTILL_NO_MEMORY;
    made->hash = hash_of(id);
    before = find_document(writer, id);
    if (before < writer->count)
        take_out(writer, before);
    writer->documents[writer->count++] = *made;
    made->own = NULL;
    return DISTILL_OK;
}

static void free_draft(draft *one)
{
    free(one->text.bytes);
    free(one->object.bytes);
    free(one->characters.points);
    free(one->characters.begins);
    free(one->sentences.all);
    free(one->passages.all);
    free(one->vector);
    free(one->made.own);
}

distill_status distill_writer_add(distill_writer *writer, const char *id, size_t id_size, const char *title,
                                  size_t title_size, const char *text, size_t text_size)
{
    draft one;
    distill_status status;
    memset(&one, 0, sizeof one);
    status = take_text(writer, text, text_size, &one);
    put_text(&one.object, "{\"id\": ");
    put_whole_string(&one.object, id, id_size);
    put_text(&one.object, ", \"title\": ");
    put_whole_string(&one.object, title, title_size);
    put_text(&one.object, "}");
    if (!status && one.object.failed)
        status = DISTILL_NO_MEMORY;
    if (!status)
        status = make_note(writer, &one);
    if (!status)
        status = put_document(writer, &one.made);
    free_draft(&one);
    return status;
}

distill_status distill_writer_remove(distill_writer *writer, const char *id, size_t id_size, int *removed)
{
    string quoted = {NULL, 0, 0, false};
    size_t place;
    *removed = 0;
    put_whole_string(&quoted, id, id_size);
    if (quoted.failed) {
        free(quoted.bytes);
        return DISTILL_NO_MEMORY;
    }
    place = find_document(writer, span_of(quoted.bytes + 1, quoted.bytes + quoted.size - 1));
    free(quoted.bytes);
    *removed = place < writer->count;
    if (*removed)
        take_out(writer, place);
    return DISTILL_OK;
}

/* ---- The file of what there is ---- */

/* Where a section lies and how large it is; one that is not written has no columns. */
typedef struct {
    uint64_t offset, rows, columns;
} extent;

/* The card with the numbers of what there is now. */
static void put_card(const distill_writer *writer, const totals *sums, string *out)
{
    const uint8_t *begin = (const uint8_t *)writer->card.bytes, *end = begin + writer->card.size, *done = begin;
    json rest = {begin, end, false};
    field one;
    while (next_field(&rest, &one) > 0) {
        bool documents = is_text(one.name, "documents"), passages = is_text(one.name, "passages");
        if (!documents && !passages && !is_text(one.name, "sentences"))
            continue;
        put(out, done, (size_t)((const uint8_t *)one.value.bytes - done));
        put_number(out, documents ? writer->count : passages ? sums->passages : sums->sentences);
        done = (const uint8_t *)one.value.bytes + one.value.size;
    }
    put(out, done, (size_t)(end - done));
}

/* The bytes of the file. */
static uint64_t lay_out(const distill_writer *writer, const totals *sums, size_t card, extent parts[PARTS])
{
    const uint64_t passages = sums->passages, sentences = sums->sentences, n = writer->dimension;
    const uint64_t per = (uint64_t)writer->numbers[BLOCK];
    const uint64_t shapes[PARTS][2] = {{card, 1},          {SETTINGS, 1},          {passages, n},
                                       {passages, 1},      {sentences, n},         {sentences, 1},
                                       {passages + 1, 1},  {passages, 1},          {passages, 1},
                                       {passages, 1},      {writer->count + 1, 1}, {sentences, 2},
                                       {sums->objects, 1}, {sums->text, 1},        {(passages + per - 1) / per + 1, 1}};
    uint64_t end = HEAD;
    for (size_t i = 0; i < PARTS; i++) {
        bool written = has_sentences(writer) || (i != SENTENCE_VECTORS && i != SENTENCE_SCALES);
        parts[i].rows = written ? shapes[i][0] : 0;
        parts[i].columns = written ? shapes[i][1] : 0;
        end += written ? ENTRY : 0;
    }
    for (size_t i = 0; i < PARTS; i++) {
        if (!parts[i].columns)
            continue;
        parts[i].offset = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        end = parts[i].offset + parts[i].rows * parts[i].columns * SIZES[FORMS[i].type];
    }
    return end;
}

static uint32_t write_entries(const extent parts[PARTS], uint8_t *out)
{
    uint32_t count = 0;
    for (size_t i = 0; i < PARTS; i++) {
        uint8_t *entry = out + HEAD + (size_t)count * ENTRY;
        uint64_t size = parts[i].rows * parts[i].columns * SIZES[FORMS[i].type];
        if (!parts[i].columns)
            continue;
        memcpy(entry, FORMS[i].name, strlen(FORMS[i].name));
        memcpy(entry + NAME, &FORMS[i].type, 4);
        memcpy(entry + NAME + 4, &FORMS[i].dimensions, 4);
        memcpy(entry + 32, &parts[i].rows, 8);
        memcpy(entry + 40, &parts[i].columns, 8);
        memcpy(entry + 48, &parts[i].offset, 8);
        memcpy(entry + 56, &size, 8);
        count++;
    }
    return count;
}

/* A document's rows into a section, behind those of the documents before it, of which there are `before`. */
static void copy_rows(const extent *part, uint8_t *out, size_t before, const void *rows, size_t first, size_t count,
                      size_t size)
{
    if (part->columns && count)
        memcpy(out + part->offset + before * size, (const uint8_t *)rows + first * size, count * size);
}

/* Those of its rows that are written as they are. */
static void copy_document(const distill_writer *writer, const document *one, const totals *before,
                          const extent parts[PARTS], uint8_t *out)
{
    const rows *in = one->in;
    size_t n = writer->dimension, passage = one->passage, sentence = one->sentence, count = one->passages;
    copy_rows(parts + PASSAGE_VECTORS, out, before->passages, in->passage_codes, passage, count, n);
    copy_rows(parts + PASSAGE_SCALES, out, before->passages, in->passage_scales, passage, count, sizeof(float));
    copy_rows(parts + SENTENCE_VECTORS, out, before->sentences, in->sentence_codes, sentence, one->sentences, n);
    copy_rows(parts + SENTENCE_SCALES, out, before->sentences, in->sentence_scales, sentence, one->sentences, sizeof(float));
    copy_rows(parts + SENTENCE_BOUNDS, out, before->sentences, in->bounds, sentence, one->sentences, 2 * sizeof(uint32_t));
    copy_rows(parts + TEXT_LENGTHS, out, before->passages, in->lengths, passage, count, sizeof(uint32_t));
    copy_rows(parts + PASSAGE_OFFSETS, out, before->passages, in->offsets, passage, count, sizeof(uint32_t));
    copy_rows(parts + TEXT, out, before->text, in->text, one->text, one->text_size, 1);
    copy_rows(parts + DOCUMENTS, out, before->objects, in->objects, one->object, one->object_size, 1);
}

/* Where its passages stand among all. */
static void place_document(const distill_writer *writer, size_t number, const totals *before, const extent parts[PARTS],
                           uint8_t *out)
{
    const document *one = writer->documents + number;
    const uint32_t *starts = one->in->starts + one->passage;
    uint32_t *all_starts = (uint32_t *)(out + parts[SENTENCE_STARTS].offset);
    uint32_t *document_of = (uint32_t *)(out + parts[DOCUMENT_OF].offset);
    uint64_t *objects = (uint64_t *)(out + parts[DOCUMENT_STARTS].offset);
    uint64_t *blocks = (uint64_t *)(out + parts[TEXT_BLOCKS].offset), text = before->text;
    size_t per = (size_t)writer->numbers[BLOCK];
    objects[number + 1] = before->objects + one->object_size;
    for (size_t i = 0; i < one->passages; i++) {
        size_t row = before->passages + i;
        document_of[row] = (uint32_t)number;
        all_starts[row + 1] = (uint32_t)(before->sentences + (starts[i + 1] - starts[0]));
        if (row % per == 0)
            blocks[row / per] = text;
        text += one->in->lengths[one->passage + i];
    }
}

static void write_file(const distill_writer *writer, const string *card, const extent parts[PARTS], uint8_t *out)
{
    const uint32_t version = 1, count = write_entries(parts, out);
    totals before = {0, 0, 0, 0};
    uint64_t *blocks = (uint64_t *)(out + parts[TEXT_BLOCKS].offset);
    memcpy(out, "distill", 8);
    memcpy(out + 8, &version, 4);
    memcpy(out + 12, &count, 4);
    memcpy(out + parts[CARD].offset, card->bytes, card->size);
    memcpy(out + parts[NUMBERS].offset, writer->numbers, sizeof writer->numbers);
    for (size_t number = 0; number < writer->count; number++) {
        const document *one = writer->documents + number;
        copy_document(writer, one, &before, parts, out);
        place_document(writer, number, &before, parts, out);
        before.passages += one->passages;
        before.sentences += one->sentences;
        before.text += one->text_size;
        before.objects += one->object_size;
    }
    blocks[parts[TEXT_BLOCKS].rows - 1] = before.text;
}

distill_status distill_writer_save(const distill_writer *writer, void **bytes, size_t *size)
{
    totals sums = totals_of(writer);
    string card = {NULL, 0, 0, false};
    extent parts[PARTS];
    uint64_t end;
    *bytes = NULL;
    *size = 0;
    put_card(writer, &sums, &card);
    memset(parts, 0, sizeof parts);
    end = lay_out(writer, &sums, card.size, parts);
    if (!card.failed && end < SIZE_MAX)
        *bytes = distill_reserve((size_t)end);
    if (*bytes) {
        memset(*bytes, 0, (size_t)end);
        write_file(writer, &card, parts, *bytes);
        *size = (size_t)end;
    }
    free(card.bytes);
    return *bytes ? DISTILL_OK : DISTILL_NO_MEMORY;
}
