/* Text in, vector out, and the passages that are nearest to it: an encoder and a searcher without a library.

   An encoder is the file encoder.bin of `distill export --format c`, an index the file index.bin in the folder that
   `distill index` wrote; docs/formats.md says what is in them. Both are used where they lie in memory, mapped or read,
   and have to stay there until they are closed; the memory begins at a multiple of 8, best of 64. Nothing is global: what was
   opened is not changed by its use, and several threads may use it at once.

   Texts are UTF-8; a byte that belongs to no character counts as U+FFFD. */

#ifndef DISTILL_H
#define DISTILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DISTILL_OK = 0,
    DISTILL_NO_FILE,
    DISTILL_NO_MEMORY,
    DISTILL_NOT_WHOLE,
    DISTILL_NOT_AN_ENCODER,
    DISTILL_NOT_AN_INDEX,
    DISTILL_NEWER,
    DISTILL_OTHER_ENCODER,
    DISTILL_TOO_LONG,
    DISTILL_NO_PASSAGE,
    DISTILL_PACKED,
    DISTILL_NOT_CALIBRATED,
    DISTILL_NOT_CHANGEABLE,
    DISTILL_NO_TEXT,
    DISTILL_NOT_WRITTEN
} distill_status;

/* The status as a sentence in English. */
const char *distill_text(distill_status status);

typedef struct distill_encoder distill_encoder;
typedef struct distill_index distill_index;

/* A passage that was found: its row, the row of its best sentence, which is one of all sentences of the index, and the
   score. Without vectors of sentences the sentence is DISTILL_NONE. */
typedef struct {
    uint32_t passage;
    uint32_t sentence;
    float score;
} distill_hit;

#define DISTILL_NONE UINT32_MAX

/* Bytes somewhere in an index. */
typedef struct {
    const char *bytes;
    size_t size;
} distill_span;

/* Open an encoder whose file lies at `bytes`. */
distill_status distill_open(const void *bytes, size_t size, distill_encoder **encoder);
void distill_close(distill_encoder *encoder);

/* The numbers of a vector. */
size_t distill_dimension(const distill_encoder *encoder);

/* What a text is. Some encoders read a prompt before it, "query: " or "passage: "; to others both are the same. */
typedef enum { DISTILL_QUESTION = 0, DISTILL_DOCUMENT = 1 } distill_role;

/* The ids of a text: bos, its pieces, eos. At most `room` of them are written to `ids`; `count` is how many there are. */
distill_status distill_tokenize(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                                int32_t *ids, size_t room, size_t *count);

/* A text as pieces are looked for in it: with the prompt of its role, characters mapped, blanks as the pieces have them.
   At most `room` bytes of it are written to `normal`; `count` is how many there are. */
distill_status distill_normalise(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                                 char *normal, size_t room, size_t *count);

/* The vector of a text, of unit length, `distill_dimension` numbers. */
distill_status distill_encode(const distill_encoder *encoder, distill_role role, const char *text, size_t size,
                              float *vector);

/* Open an index whose file lies at `bytes`. An encoder that is not NULL has to be the one that made the index, or
   the one that the index names for its questions. */
distill_status distill_index_open(const void *bytes, size_t size, const distill_encoder *encoder,
                                  distill_index **index);
void distill_index_close(distill_index *index);

/* The numbers of passages, and of a question's vector. */
size_t distill_passages(const distill_index *index);
size_t distill_index_dimension(const distill_index *index);

/* The `k` passages with the highest scores for a question's vector, best first, of equal scores the lower row;
   `count` is how many there are, fewer of fewer passages. */
distill_status distill_search(const distill_index *index, const float *vector, size_t k, distill_hit *hits,
                              size_t *count);

/* How likely the first of the hits answers the question, from 0 to 1, by their scores: the best DISTILL_COMPARED of a
   search, best first, or all where there are fewer. Where it is below the threshold nothing is found; either pointer may
   be NULL. DISTILL_NOT_CALIBRATED where the encoder's file does not say it for the index's score. */
#define DISTILL_COMPARED 5
distill_status distill_probability(const distill_encoder *encoder, const distill_index *index, const distill_hit *hits,
                                   size_t count, float *probability, float *threshold);

/* Of an index of fewer bits than 8: how many of the best passages are to be scored again by their text, 0 for none.
   Search for so many at least, give each to `distill_rescore` with its text, then all to `distill_sort`. */
size_t distill_rescored(const distill_index *index);
distill_status distill_rescore(const distill_index *index, const distill_encoder *encoder, const float *vector,
                               const char *text, size_t size, distill_hit *hit);
void distill_sort(distill_hit *hits, size_t count);

/* The text of a passage. DISTILL_PACKED where the index has it deflated: see `distill_block`. */
distill_status distill_passage(const distill_index *index, uint32_t passage, distill_span *text);

/* The begin and end of a sentence in the text of its passage, bytes. */
distill_status distill_sentence(const distill_index *index, uint32_t sentence, size_t *begin, size_t *end);

/* What is kept of a passage's document, a JSON object. */
distill_status distill_document(const distill_index *index, uint32_t passage, distill_span *json);

/* The block of text that has a passage, as it is stored, plain or raw deflate; the passage is `size` bytes from
   `begin` on of the plain block. */
distill_status distill_block(const distill_index *index, uint32_t passage, distill_span *block, size_t *begin,
                             size_t *size);

/* ---- An index that changes: distill_writer.c ---- */

typedef struct distill_writer distill_writer;

/* The index whose file lies at `bytes`, which has to stay there until the writer is closed, or with NULL a new one. It is
   that of the encoder's documents, 8 bits a number and without words: DISTILL_NOT_CHANGEABLE for others. One thread at a
   time changes it. */
distill_status distill_writer_open(const distill_encoder *encoder, const void *bytes, size_t size, distill_writer **writer);
void distill_writer_close(distill_writer *writer);

size_t distill_writer_documents(const distill_writer *writer);

/* Add a document, which is then the last one, in the place of one that has its id. Its text is cut into passages, and these
   into sentences, behind full stops and the like; DISTILL_NO_TEXT where it is blank. After an error the writer is as it
   was. */
distill_status distill_writer_add(distill_writer *writer, const char *id, size_t id_size, const char *title,
                                  size_t title_size, const char *text, size_t text_size);

/* `removed` is 1 where a document had the id, else 0. */
distill_status distill_writer_remove(distill_writer *writer, const char *id, size_t id_size, int *removed);

/* The index as a file's content, to be freed with `distill_free`. */
distill_status distill_writer_save(const distill_writer *writer, void **bytes, size_t *size);

void distill_free(void *bytes);

#ifndef DISTILL_NO_FILES
/* A file's content, to be freed with `distill_free`. Mapping it with what the system has for that starts sooner. */
distill_status distill_read(const char *path, void **bytes, size_t *size);

/* Write a file, whole or not at all: aside, at the path with ".part" behind it, and then renamed. */
distill_status distill_write(const char *path, const void *bytes, size_t size);
#endif

#ifdef __cplusplus
}
#endif

#endif
