/* What distill.c and distill_writer.c have in common; a program includes distill.h alone. */

#ifndef DISTILL_INSIDE_H
#define DISTILL_INSIDE_H

#include "distill.h"

#include <stdbool.h>
#include <string.h>

/* ---- Sections ---- */

enum { UINT8, INT8, INT32, UINT32, FLOAT32, UINT64, TYPES };

enum { HEAD = 16, ENTRY = 64, NAME = 24, ALIGNMENT = 64 };

static const uint8_t SIZES[TYPES] = {1, 1, 4, 4, 4, 8};

typedef struct {
    const uint8_t *bytes;
    uint32_t count;
} sections;

/* An array in a file; `data` is NULL where there is none. */
typedef struct {
    const void *data;
    size_t rows, columns;
} array;

distill_status distill_open_sections(const void *bytes, size_t size, sections *file);

/* The array of a name and a type; without data where there is none. */
array distill_section(const sections *file, const char *name, uint32_t type);

static inline uint32_t uint32_at(const uint8_t *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* ---- An encoder and an index ---- */

/* Numbers of the lists `settings` and `numbers`. */
enum { SETTINGS = 16 };

enum { SCORE_VECTOR, SCORE_SENTENCE, SCORE_SUM };

/* Of a passage's own vector beside its best sentence, in thousandths. */
enum { MOST_WEIGHT = 10000 };

/* Scales of unit rows are at most 1, but for their rounding. */
static const float GREATEST_SCALE = 2;

/* What an encoder's file says that it was made from, and the digits that an index knows it by. */
distill_span distill_name(const distill_encoder *encoder);
distill_span distill_fingerprint(const distill_encoder *encoder);

/* The weight of a passage in a new index, 0 for 1. */
int32_t distill_passage_weight(const distill_encoder *encoder);

/* ---- Texts and memory ---- */

static inline bool follows(uint8_t byte) { return (byte & 0xc0) == 0x80; }

/* The bytes of the character that a text begins with, 0 where it begins with none. */
static inline size_t character(const uint8_t *text, size_t size)
{
    uint32_t point;
    if (text[0] < 0x80)
        return 1;
    if (size >= 2 && (text[0] & 0xe0) == 0xc0)
        return follows(text[1]) && text[0] >= 0xc2 ? 2 : 0;
    if (size >= 3 && (text[0] & 0xf0) == 0xe0) {
        point = (text[0] & 0x0fu) << 12 | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu);
        return follows(text[1]) && follows(text[2]) && point >= 0x800 && (point < 0xd800 || point >= 0xe000) ? 3 : 0;
    }
    if (size >= 4 && (text[0] & 0xf8) == 0xf0) {
        point = (text[0] & 0x07u) << 18 | (text[1] & 0x3fu) << 12;
        return follows(text[1]) && follows(text[2]) && follows(text[3]) && point >= 0x10000 && point < 0x110000 ? 4 : 0;
    }
    return 0;
}

/* Memory that begins where a line of the cache does, behind the address of what `distill_free` frees. */
void *distill_reserve(size_t size);

#endif
