/* The program of the page: what engine.js calls of export/c/distill.c and distill_writer.c, and the part of a C library that
   it needs. One encoder is enough for a page; of indexes and writers there may be several, each known by its address. */

#include "distill_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN(name) __attribute__((export_name(#name)))

/* ---- What engine.js calls ---- */

enum { MOST = 256 };

static distill_encoder *encoder;
static float *vector;
static distill_hit best[MOST];

/* Room for a file or a text, at a multiple of 64; 0 where there is none. */
SHOWN(reserve) void *reserve(size_t size) { return distill_reserve(size); }

/* Free such room, or a file that was saved. */
SHOWN(release) void release(void *room) { distill_free(room); }

/* Open an encoder in the place of the one that is open, which stays where the new one is refused. */
SHOWN(open_encoder) int32_t open_encoder(const void *bytes, size_t size)
{
    distill_encoder *opened;
    float *room = NULL;
    distill_status status = distill_open(bytes, size, &opened);
    if (status == DISTILL_OK && !(room = malloc(distill_dimension(opened) * sizeof *room))) {
        distill_close(opened);
        status = DISTILL_NO_MEMORY;
    }
    if (status != DISTILL_OK)
        return (int32_t)status;
    free(vector);
    distill_close(encoder);
    encoder = opened;
    vector = room;
    return DISTILL_OK;
}

/* The status of an index, which is put at `place` where it is well. */
SHOWN(open_index) int32_t open_index(const void *bytes, size_t size, distill_index **place)
{
    return (int32_t)distill_index_open(bytes, size, encoder, place);
}

SHOWN(close_index) void close_index(distill_index *index) { distill_index_close(index); }

SHOWN(dimension) size_t dimension(void) { return distill_dimension(encoder); }

/* The status of a text of a role; `vector_of` is then its vector. */
SHOWN(encode) int32_t encode(const char *text, size_t size, int32_t role)
{
    return (int32_t)distill_encode(encoder, role ? DISTILL_DOCUMENT : DISTILL_QUESTION, text, size, vector);
}

SHOWN(vector_of) const float *vector_of(void) { return vector; }

/* The ids of a text of a role: how many there are, of which `written` has the first `room`; a status below 0 where it failed. */
SHOWN(tokenize) int32_t tokenize(const char *text, size_t size, int32_t role, int32_t *written, size_t room)
{
    size_t count = 0;
    distill_status status =
        distill_tokenize(encoder, role ? DISTILL_DOCUMENT : DISTILL_QUESTION, text, size, written, room, &count);
    return status == DISTILL_OK ? (int32_t)count : -(int32_t)status;
}

/* The bytes of a text as pieces are looked for in it, likewise. */
SHOWN(normalise) int32_t normalise(const char *text, size_t size, int32_t role, char *written, size_t room)
{
    size_t count = 0;
    distill_status status =
        distill_normalise(encoder, role ? DISTILL_DOCUMENT : DISTILL_QUESTION, text, size, written, room, &count);
    return status == DISTILL_OK ? (int32_t)count : -(int32_t)status;
}

/* How many passages were found for the question that was encoded last, which `hits` has; a status below 0 where it failed. */
SHOWN(search) int32_t search(const distill_index *index, size_t most)
{
    size_t count = 0;
    distill_status status = distill_search(index, vector, most < MOST ? most : MOST, best, &count);
    return status == DISTILL_OK ? (int32_t)count : -(int32_t)status;
}

SHOWN(hits) const distill_hit *hits(void) { return best; }

/* The products of a question and rows of codes of fewer bits than 8: of each byte `table` has the product for each of
   its 256 values, 256 numbers a byte of a row. */
SHOWN(products) void products(const uint8_t *codes, const float *scales, size_t rows, size_t width, const float *table,
                              float *found)
{
    for (size_t row = 0; row < rows; row++, codes += width) {
        float sums[4] = {0, 0, 0, 0};
        size_t fours = width / 4 * 4;
        for (size_t i = 0; i < fours; i += 4)
            for (size_t j = 0; j < 4; j++)
                sums[j] += table[(i + j) * 256 + codes[i + j]];
        for (size_t i = fours; i < width; i++)
            sums[0] += table[i * 256 + codes[i]];
        found[row] = (sums[0] + sums[1] + sums[2] + sums[3]) * scales[row];
    }
}

/* ---- An index that changes ---- */

static void *file;
static size_t file_size;

/* Begin to change an index, a new one where there are no bytes. The status; where it is well, the writer is put at
   `place`. */
SHOWN(writer_open) int32_t writer_open(const void *bytes, size_t size, distill_writer **place)
{
    return (int32_t)distill_writer_open(encoder, bytes, size, place);
}

SHOWN(writer_close) void writer_close(distill_writer *writer) { distill_writer_close(writer); }

SHOWN(writer_documents) size_t writer_documents(const distill_writer *writer)
{
    return distill_writer_documents(writer);
}

SHOWN(writer_add) int32_t writer_add(distill_writer *writer, const char *id, size_t id_size, const char *title,
                                     size_t title_size, const char *text, size_t text_size)
{
    return (int32_t)distill_writer_add(writer, id, id_size, title, title_size, text, text_size);
}

/* 1 where a document was removed, 0 where none has the id; a status below 0 where it failed. */
SHOWN(writer_remove) int32_t writer_remove(distill_writer *writer, const char *id, size_t id_size)
{
    int removed = 0;
    distill_status status = distill_writer_remove(writer, id, id_size, &removed);
    return status == DISTILL_OK ? removed : -(int32_t)status;
}

/* The status; `saved` is then the file, to be given to `release`. */
SHOWN(writer_save) int32_t writer_save(const distill_writer *writer)
{
    return (int32_t)distill_writer_save(writer, &file, &file_size);
}

SHOWN(saved) const void *saved(void) { return file; }

SHOWN(saved_size) size_t saved_size(void) { return file_size; }

/* A status as a text that ends with a zero. */
SHOWN(problem) const char *problem(int32_t status) { return distill_text((distill_status)status); }

/* ---- Memory ---- */

enum { PAGE = 65536, UNIT = 16 };

/* Blocks from the end of what the linker placed to the end of the memory, in order; `size` counts what follows. */
typedef struct block {
    struct block *next;
    size_t size;
    size_t used;
    size_t unused;
} block;

_Static_assert(sizeof(block) == UNIT, "room behind a block begins at a multiple of 16");

extern unsigned char __heap_base;
static block *first, *last;

/* A free block of at least this size behind the last one, NULL where the memory cannot grow. */
static block *grown(size_t size)
{
    size_t end = (size_t)__builtin_wasm_memory_size(0) * PAGE;
    size_t start = last ? end : ((size_t)&__heap_base + UNIT - 1) / UNIT * UNIT;
    size_t room = end - start;
    if (room < size + UNIT) {
        size_t pages = (size + UNIT - room) / PAGE + 1;
        if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1)
            return NULL;
        room += pages * PAGE;
    }
    block *new = (block *)start;
    *new = (block){NULL, room - UNIT, 0, 0};
    if (last)
        last->next = new;
    else
        first = new;
    last = new;
    return new;
}

/* Give back what a block has beyond the size that is needed. */
static void split(block *one, size_t size)
{
    if (one->size < size + 2 * UNIT)
        return;
    block *rest = (block *)((unsigned char *)(one + 1) + size);
    *rest = (block){one->next, one->size - size - UNIT, 0, 0};
    one->next = rest;
    one->size = size;
    if (last == one)
        last = rest;
}

/* Join a free block with the free ones behind it. */
static void join(block *one)
{
    while (one->next && !one->next->used) {
        if (last == one->next)
            last = one;
        one->size += UNIT + one->next->size;
        one->next = one->next->next;
    }
}

void *malloc(size_t size)
{
    if (size > (size_t)-1 - 2 * PAGE)
        return NULL;
    size = (size + UNIT - 1) / UNIT * UNIT;
    block *one = first;
    for (; one; one = one->next) {
        if (one->used)
            continue;
        join(one);
        if (one->size >= size)
            break;
    }
    if (!one && !(one = grown(size)))
        return NULL;
    split(one, size);
    one->used = 1;
    return one + 1;
}

void *calloc(size_t count, size_t size)
{
    if (size && count > (size_t)-1 / size)
        return NULL;
    void *place = malloc(count * size);
    return place ? memset(place, 0, count * size) : NULL;
}

void free(void *place)
{
    if (place)
        ((block *)place - 1)->used = 0;
}

void *realloc(void *place, size_t size)
{
    size_t before = place ? ((block *)place - 1)->size : 0;
    void *copy = malloc(size);
    if (!copy)
        return NULL;
    if (place)
        memcpy(copy, place, before < size ? before : size);
    free(place);
    return copy;
}

/* ---- Order, texts and numbers ---- */

static void swap(unsigned char *a, unsigned char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* Let an item of a heap sink below the greater ones. */
static void sink(unsigned char *items, size_t at, size_t count, size_t size,
                 int (*compare)(const void *, const void *))
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare(items + child * size, items + (child + 1) * size) < 0)
            child++;
        if (compare(items + at * size, items + child * size) >= 0)
            return;
        swap(items + at * size, items + child * size, size);
    }
}

void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t at = count / 2; at-- > 0;)
        sink(items, at, count, size, compare);
    for (size_t end = count; end-- > 1;) {
        swap(items, (unsigned char *)items + end * size, size);
        sink(items, 0, end, size, compare);
    }
}

int memcmp(const void *one, const void *other, size_t size)
{
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

int strncmp(const char *one, const char *other, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char a = (unsigned char)one[i], b = (unsigned char)other[i];
        if (a != b || !a)
            return a - b;
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}

/* e^x of 0 <= x <= 40: 2^k times the series of what is left. */
static double exponential(double x)
{
    int k = (int)(x / 0.6931471805599453 + 0.5);
    double rest = x - k * 0.6931471805599453, term = 1, sum = 1;
    for (int i = 1; i < 15; i++)
        sum += term *= rest / i;
    union {
        uint64_t bits;
        double value;
    } power = {(uint64_t)(k + 1023) << 52};
    return sum * power.value;
}

float tanhf(float x)
{
    double a = x < 0 ? -(double)x : (double)x, y;
    if (!(a < 20))
        return a > 0 ? (x < 0 ? -1.0f : 1.0f) : x;
    y = a < 1e-3 ? a - a * a * a / 3 : 1 - 2 / (exponential(2 * a) + 1);
    return (float)(x < 0 ? -y : y);
}
