/* An index that changes at random, and indexes that are broken by chance: meant for a build with sanitizers.

       fuzz_writer encoder.bin texts.txt seed runs files

   In each of `runs` documents out of texts.txt, changed, come and go; what is saved is opened, by the searcher and by another
   writer, which saves the same bytes. Of what came out, `files` copies are changed or cut, each in memory of just its size;
   those that are opened are changed and saved, and what is saved is opened. Prints how many were saved and opened.

   With -DFAILING and the linker's --wrap=malloc, --wrap=calloc and --wrap=realloc memory is refused now and then, and what
   was not done for that has changed nothing. */

#include "distill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 3000, IDS = 6, KEPT = 16, HITS = 4 };

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

/* Pieces of memory until one is refused, 0: none is. */
static size_t left;

#if defined(FAILING)

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *place, size_t size);

static int refuses(void) { return left && !--left; }

void *__wrap_malloc(size_t size) { return refuses() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return refuses() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *place, size_t size) { return refuses() ? NULL : __real_realloc(place, size); }

#endif

static void require(int right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static content read_or_leave(const char *path)
{
    content file = {NULL, 0};
    require(!distill_read(path, &file.bytes, &file.size), path);
    return file;
}

/* A part of the texts, in memory of its size, with some bytes that are others. */
static content some_text(const content *texts, size_t longest)
{
    size_t begin = below(texts->size), size = below(longest);
    content text = {NULL, size < texts->size - begin ? size : texts->size - begin};
    text.bytes = malloc(text.size ? text.size : 1);
    require(text.bytes != NULL, "no memory");
    memcpy(text.bytes, (const char *)texts->bytes + begin, text.size);
    for (size_t change = below(6) * (text.size > 0); change; change--)
        ((char *)text.bytes)[below(text.size)] = below(3) ? ".\n\"\\ \0\xe3\xf0"[below(8)] : (char)below(256);
    return text;
}

static content some_id(void)
{
    static const char *const ids[IDS] = {"", "1", "a \"b\"\n", "\xff", "\xe0\xa4\xb9", "{\"id\": \"1\"}"};
    const char *id = ids[below(IDS)];
    content copy = {malloc(strlen(id) + 1), strlen(id)};
    require(copy.bytes != NULL, "no memory");
    memcpy(copy.bytes, id, copy.size);
    return copy;
}

/* The file of what there is, while memory is refused and while it is not. */
static content saved(const distill_writer *writer)
{
    content file = {NULL, 0};
    distill_status status;
    left = below(8);
    status = distill_writer_save(writer, &file.bytes, &file.size);
    left = 0;
    require(!status || (status == DISTILL_NO_MEMORY && !file.bytes), "save");
    require(!status || !distill_writer_save(writer, &file.bytes, &file.size), "the index is not saved");
    return file;
}

static void require_same(const distill_writer *writer, const content *before)
{
    content after = saved(writer);
    require(after.size == before->size && !memcmp(after.bytes, before->bytes, after.size), "it has changed");
    distill_free(after.bytes);
}

static distill_status add_or_remove(distill_writer *writer, const content *id, const content *title, const content *text)
{
    size_t before = distill_writer_documents(writer), after;
    int removed = 0;
    distill_status status;
    if (below(3)) {
        status = distill_writer_add(writer, id->bytes, id->size, title->bytes, title->size, text->bytes, text->size);
        after = distill_writer_documents(writer);
        require(status ? after == before : after - before <= 1, "add");
        return status;
    }
    status = distill_writer_remove(writer, id->bytes, id->size, &removed);
    require(distill_writer_documents(writer) == before - (size_t)removed, "remove");
    return status;
}

static void change(distill_writer *writer, const content *texts)
{
    content id = some_id(), title = some_text(texts, 30), text = some_text(texts, below(4) ? 200 : LONGEST);
    content before = {NULL, 0};
    distill_status status;
    const size_t failing = below(2) ? below(60) : 0;
    if (failing)
        before = saved(writer);
    left = failing;
    status = add_or_remove(writer, &id, &title, &text);
    left = 0;
    require(!status || status == DISTILL_NO_TEXT || (failing && status == DISTILL_NO_MEMORY), "add or remove");
    if (failing && status)
        require_same(writer, &before);
    distill_free(before.bytes);
    free(id.bytes);
    free(title.bytes);
    free(text.bytes);
}

/* What was saved, in memory of its size, is one that is opened, searched, and saved as it is. */
static void check(const distill_encoder *encoder, const content *file, size_t documents, int with_bytes)
{
    content again = {NULL, 0};
    distill_writer *writer;
    distill_index *index;
    distill_hit hits[HITS];
    distill_span span;
    size_t count;
    float *vector = calloc(distill_dimension(encoder), sizeof *vector);
    require(vector != NULL, "no memory");
    vector[0] = 1;
    require(!distill_index_open(file->bytes, file->size, encoder, &index), "the index is not opened");
    require(!distill_search(index, vector, HITS, hits, &count), "the index is not searched");
    for (size_t i = 0; i < count; i++)
        require(!distill_passage(index, hits[i].passage, &span) && !distill_document(index, hits[i].passage, &span),
                "a passage is not there");
    distill_index_close(index);
    require(!distill_writer_open(encoder, file->bytes, file->size, &writer), "the index is not changed");
    require(distill_writer_documents(writer) == documents, "documents are lost");
    require(!distill_writer_save(writer, &again.bytes, &again.size), "the index is not saved again");
    require(!with_bytes || (again.size == file->size && !memcmp(again.bytes, file->bytes, file->size)), "it is another one");
    distill_free(again.bytes);
    distill_writer_close(writer);
    free(vector);
}

/* Changes, and the file of what is there then. */
static content run(const distill_encoder *encoder, const content *texts, const content *from)
{
    content file;
    distill_writer *writer;
    distill_status status;
    left = below(8);
    status = distill_writer_open(encoder, from ? from->bytes : NULL, from ? from->size : 0, &writer);
    left = 0;
    require(!status || (status == DISTILL_NO_MEMORY && !writer), "open");
    require(!status || !distill_writer_open(encoder, from ? from->bytes : NULL, from ? from->size : 0, &writer), "open");
    for (size_t some = below(12); some; some--)
        change(writer, texts);
    file = saved(writer);
    check(encoder, &file, distill_writer_documents(writer), 1);
    distill_writer_close(writer);
    return file;
}

/* A copy with some other bytes, most of them in the head or in small sections, and at times cut or longer. */
static content changed_file(const content *file)
{
    content copy = {NULL, file->size};
    size_t head = 16 + 64 * (size_t)((const uint8_t *)file->bytes)[12];
    if (!below(8))
        copy.size = below(2) ? below(file->size) : file->size + below(100);
    copy.bytes = calloc(copy.size + !copy.size, 1);
    require(copy.bytes != NULL, "no memory");
    memcpy(copy.bytes, file->bytes, copy.size < file->size ? copy.size : file->size);
    for (size_t some = below(4) * (copy.size > 0); some; some--) {
        size_t end = below(4) ? copy.size : below(2) ? head : head + 512;
        ((uint8_t *)copy.bytes)[below(end < copy.size ? end : copy.size)] = (uint8_t)(below(2) ? below(256) : below(4));
    }
    return copy;
}

static int try_file(const distill_encoder *encoder, const content *texts, const content *file)
{
    content made;
    distill_writer *writer;
    if (distill_writer_open(encoder, file->bytes, file->size, &writer))
        return 0;
    for (size_t some = below(4); some; some--)
        change(writer, texts);
    made = saved(writer);
    check(encoder, &made, distill_writer_documents(writer), 0);
    distill_free(made.bytes);
    distill_writer_close(writer);
    return 1;
}

int main(int count, char **arguments)
{
    content own, texts, kept[KEPT] = {{NULL, 0}};
    distill_encoder *encoder;
    size_t runs, files, made = 0, opened = 0;
    if (count != 6)
        return 2;
    own = read_or_leave(arguments[1]);
    texts = read_or_leave(arguments[2]);
    state = strtoull(arguments[3], NULL, 10) * 2 + 1;
    runs = (size_t)strtoull(arguments[4], NULL, 10);
    files = (size_t)strtoull(arguments[5], NULL, 10);
    require(!distill_open(own.bytes, own.size, &encoder), "the encoder is not opened");
    for (size_t i = 0; i < runs; i++) {
        content *from = kept + below(KEPT), file = run(encoder, &texts, from->bytes && below(2) ? from : NULL);
        distill_free(from->bytes);
        *from = file;
        made++;
    }
    for (size_t i = 0; i < files; i++) {
        const content *from = kept + below(KEPT);
        content copy;
        if (!from->bytes)
            continue;
        copy = changed_file(from);
        opened += (size_t)try_file(encoder, &texts, &copy);
        free(copy.bytes);
    }
    printf("indexes saved: %lu of %lu; opened: %lu of %lu broken files\n", (unsigned long)made, (unsigned long)runs,
           (unsigned long)opened, (unsigned long)files);
    for (size_t i = 0; i < KEPT; i++)
        distill_free(kept[i].bytes);
    distill_close(encoder);
    distill_free(own.bytes);
    distill_free(texts.bytes);
    return 0;
}
