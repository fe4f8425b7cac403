/* Texts and files that are broken by chance, given to the encoder and the searcher: meant for a build with sanitizers.

       fuzz encoder.bin texts.txt seed texts files [index.bin ...]

       fuzz encoder.bin < files

   `texts` texts, lines of texts.txt that are changed, and `files` files, copies of encoder.bin and of each index.bin that are
   changed or cut, each in memory of just its size. Prints how many files were opened all the same. Without more than the
   encoder files come from the standard input, each behind its size, uint64: consistent.py makes them. */

#include "distill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096, IDS = 64, HITS = 7 };

typedef struct {
    void *bytes;
    size_t size;
} content;

static uint64_t state;

/* A number below `end`: xorshift64. */
static size_t below(size_t end)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return end ? (size_t)(state % end) : 0;
}

static content read_or_leave(const char *path)
{
    content file = {NULL, 0};
    distill_status status = distill_read(path, &file.bytes, &file.size);
    if (status) {
        fprintf(stderr, "%s: %s\n", path, distill_text(status));
        exit(1);
    }
    return file;
}

/* A line of the texts, changed at up to eight places. */
static size_t changed_text(const content *texts, char *text)
{
    const char *all = texts->bytes;
    size_t start = below(texts->size), size = below(below(8) ? 200 : LONGEST - 8);
    size = size < texts->size - start ? size : texts->size - start;
    memcpy(text, all + start, size);
    for (size_t change = below(9); change; change--) {
        size_t place = below(size + 1);
        switch (below(4)) {
        case 0:
            if (place < size)
                text[place] = (char)below(256);
            break;
        case 1:
            memmove(text + place + 1, text + place, size - place);
            text[place] = (char)below(256);
            size++;
            break;
        case 2: size = place; break;
        default:
            if (place < size)
                text[place] = "  \t\n\0\xe2\xef\xf0"[below(8)];
        }
    }
    return size;
}

/* A text in memory of its own size. */
static void use_text(const distill_encoder *encoder, const char *text, size_t size, int vectors)
{
    const distill_role role = below(2) ? DISTILL_DOCUMENT : DISTILL_QUESTION;
    int32_t ids[IDS];
    size_t count;
    char *copy = malloc(size ? size : 1);
    float *vector = malloc(distill_dimension(encoder) * sizeof *vector);
    if (!copy || !vector)
        exit(1);
    memcpy(copy, text, size);
    if (distill_tokenize(encoder, role, copy, size, ids, below(IDS), &count) || count < 2)
        exit(1);
    if (vectors && distill_encode(encoder, role, copy, size, vector))
        exit(1);
    free(vector);
    free(copy);
}

static void try_texts(const content *file, const content *texts, size_t count)
{
    distill_encoder *encoder;
    char text[LONGEST];
    if (distill_open(file->bytes, file->size, &encoder))
        exit(1);
    for (size_t i = 0; i < count; i++) {
        size_t size = changed_text(texts, text);
        use_text(encoder, text, size, size < 200 && !below(4));
    }
    distill_close(encoder);
}

/* A copy with some other bytes, most of them in the head or in small sections, and at times cut or longer. */
static content changed_file(const content *file)
{
    content copy = {NULL, file->size};
    size_t head = 16 + 64 * (size_t)((const uint8_t *)file->bytes)[12];
    if (!below(4))
        copy.size = below(2) ? below(file->size) : file->size + below(100);
    copy.bytes = calloc(copy.size + !copy.size, 1);
    if (!copy.bytes)
        exit(1);
    memcpy(copy.bytes, file->bytes, copy.size < file->size ? copy.size : file->size);
    for (size_t change = below(6) * (copy.size > 0); change; change--) {
        size_t end = below(3) == 0 ? copy.size : below(2) ? head : head + 2048;
        ((uint8_t *)copy.bytes)[below(end < copy.size ? end : copy.size)] = (uint8_t)(below(2) ? below(256) : below(4));
    }
    return copy;
}

/* All that can be asked of an index, and of an encoder of its dimension where there is one. */
static void use_index(const distill_index *index, const distill_encoder *encoder)
{
    distill_hit hits[HITS];
    distill_span span;
    size_t count, begin, end;
    float probability, threshold;
    float *vector = calloc(distill_index_dimension(index), sizeof *vector);
    if (!vector)
        exit(1);
    for (size_t i = 0; i < distill_index_dimension(index); i++)
        vector[i] = (float)below(100) - 50;
    if (distill_search(index, vector, below(HITS + 1), hits, &count))
        exit(1);
    for (size_t i = 0; i < count; i++) {
        unsigned sum = 0;
        if (!distill_passage(index, hits[i].passage, &span))
            for (size_t j = 0; j < span.size; j++)
                sum += (unsigned char)span.bytes[j];
        if (!distill_document(index, hits[i].passage, &span))
            for (size_t j = 0; j < span.size; j++)
                sum += (unsigned char)span.bytes[j];
        state ^= sum & 1;
        distill_block(index, hits[i].passage, &span, &begin, &end);
        distill_sentence(index, hits[i].sentence, &begin, &end);
    }
    for (size_t i = 0; encoder && distill_rescored(index) && i < count; i++)
        distill_rescore(index, encoder, vector, "The Nile. It is long.", 21, hits + i);
    distill_sort(hits, count);
    if (encoder)
        distill_probability(encoder, index, hits, count, &probability, &threshold);
    free(vector);
}

static size_t try_files(const content *file, const content *texts, size_t count, int is_index)
{
    size_t opened = 0;
    char text[LONGEST];
    for (size_t i = 0; i < count; i++) {
        content copy = changed_file(file);
        distill_encoder *encoder = NULL;
        distill_index *index = NULL;
        if (is_index && !distill_index_open(copy.bytes, copy.size, NULL, &index)) {
            use_index(index, NULL);
            opened++;
        }
        if (!is_index && !distill_open(copy.bytes, copy.size, &encoder)) {
            size_t size = changed_text(texts, text);
            use_text(encoder, text, size < 200 ? size : 200, 1);
            opened++;
        }
        distill_index_close(index);
        distill_close(encoder);
        free(copy.bytes);
    }
    return opened;
}

/* Files from the standard input, as an encoder, as an index, and as one of the encoder. */
static int try_given(const content *file)
{
    static const char text[] = "the Nile, teh Nile and 3 rivers";
    distill_encoder *encoder;
    uint64_t size;
    size_t files = 0, encoders = 0, indexes = 0, own = 0;
    if (distill_open(file->bytes, file->size, &encoder))
        return 1;
    for (; fread(&size, sizeof size, 1, stdin) == 1; files++) {
        void *bytes = malloc((size_t)size);
        distill_encoder *other = NULL;
        distill_index *index = NULL, *of_encoder = NULL;
        if (!bytes || fread(bytes, 1, (size_t)size, stdin) != size)
            return 1;
        if (!distill_open(bytes, (size_t)size, &other)) {
            use_text(other, text, sizeof text - 1, 1);
            encoders++;
        }
        if (!distill_index_open(bytes, (size_t)size, NULL, &index)) {
            use_index(index, NULL);
            indexes++;
        }
        if (!distill_index_open(bytes, (size_t)size, encoder, &of_encoder)) {
            use_index(of_encoder, encoder);
            own++;
        }
        distill_index_close(of_encoder);
        distill_index_close(index);
        distill_close(other);
        free(bytes);
    }
    distill_close(encoder);
    printf("%lu files; opened: %lu encoders, %lu indexes, %lu of the encoder\n", (unsigned long)files,
           (unsigned long)encoders, (unsigned long)indexes, (unsigned long)own);
    return 0;
}

int main(int count, char **arguments)
{
    content file, texts, index;
    size_t some;
    if (count != 2 && count < 6)
        return 2;
    file = read_or_leave(arguments[1]);
    state = 1;
    if (count == 2) {
        int code = try_given(&file);
        distill_free(file.bytes);
        return code;
    }
    texts = read_or_leave(arguments[2]);
    state = strtoull(arguments[3], NULL, 10) * 2 + 1;
    some = (size_t)strtoull(arguments[5], NULL, 10);
    try_texts(&file, &texts, (size_t)strtoull(arguments[4], NULL, 10));
    printf("encoders opened: %lu of %lu\n", (unsigned long)try_files(&file, &texts, some, 0), (unsigned long)some);
    for (int place = 6; place < count; place++) {
        index = read_or_leave(arguments[place]);
        printf("indexes opened: %lu of %lu\n", (unsigned long)try_files(&index, &texts, some, 1), (unsigned long)some);
        distill_free(index.bytes);
    }
    distill_free(file.bytes);
    distill_free(texts.bytes);
    return 0;
}
