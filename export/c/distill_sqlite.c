/* An encoder in SQLite, a loadable extension over distill.c:

       cc -std=c99 -O3 -shared -fPIC -o distill_sqlite.so distill_sqlite.c distill.c -lm

       SELECT distill_encoder('encoder.bin');            -- opens it for this connection; the numbers of a vector
       (SELECT distill_embed('a question'))              -- its vector: float32, little-endian, of unit length; within
                                                         -- a query of its own it is computed once and not for each row
       distill_embed('a passage', 'document')            -- of any length; a question has limits
       distill_product(one, other)                       -- the cosine of two such vectors

   A vector is what sqlite-vec takes, too. */
#include "distill.h"

#include <sqlite3ext.h>
#include <string.h>

SQLITE_EXTENSION_INIT1

/* What a connection has opened, and by how many of its functions it is held. */
typedef struct {
    distill_encoder *encoder;
    void *bytes;
    int held;
} opened;

static void let_go(void *place)
{
    opened *one = place;
    if (--one->held)
        return;
    distill_close(one->encoder);
    distill_free(one->bytes);
    sqlite3_free(one);
}

static void fail(sqlite3_context *context, const char *function, const char *problem)
{
    char *text = sqlite3_mprintf("%s: %s", function, problem);
    sqlite3_result_error(context, text ? text : problem, -1);
    sqlite3_free(text);
}

static void open_encoder(sqlite3_context *context, int count, sqlite3_value **values)
{
    opened *one = sqlite3_user_data(context), new = {NULL, NULL, 0};
    const char *path = (const char *)sqlite3_value_text(values[0]);
    char *problem;
    size_t size = 0;
    distill_status status = path ? distill_read(path, &new.bytes, &size) : DISTILL_NO_FILE;
    (void)count;
    if (!status)
        status = distill_open(new.bytes, size, &new.encoder);
    if (status) {
        distill_free(new.bytes);
        problem = sqlite3_mprintf("%s: %s", path ? path : "NULL", distill_text(status));
        fail(context, "distill_encoder", problem ? problem : distill_text(status));
        sqlite3_free(problem);
        return;
    }
    distill_close(one->encoder);
    distill_free(one->bytes);
    one->encoder = new.encoder;
    one->bytes = new.bytes;
    sqlite3_result_int64(context, (sqlite3_int64)distill_dimension(one->encoder));
}

/* The role that a second argument names, -1 for another text. */
static int role_of(int count, sqlite3_value **values)
{
    const char *name = count > 1 ? (const char *)sqlite3_value_text(values[1]) : "question";
    if (name && !strcmp(name, "question"))
        return DISTILL_QUESTION;
    return name && !strcmp(name, "document") ? DISTILL_DOCUMENT : -1;
}

/* The limits of a question, as distill/encoders/files/questions.py has them for every way in. A text of fewer bytes is within
   them: a character is 18 at most where it is normalised, and a piece one or more. */
enum { MOST_CHARACTERS = 20000, MOST_PIECES = 16384, FEW_BYTES = 512 };

/* Whether a question is within the limits; if it is not, the result is an error. */
static int is_within(sqlite3_context *context, const distill_encoder *encoder, const char *text, size_t size)
{
    size_t most = MOST_CHARACTERS, found = 0;
    const char *unit = "characters";
    distill_status status = DISTILL_OK;
    char *problem;
    for (size_t i = 0; i < size; i++)
        found += ((unsigned char)text[i] & 0xC0) != 0x80;
    if (found <= most && size > FEW_BYTES) {
        most = MOST_PIECES;
        unit = "pieces";
        status = distill_tokenize(encoder, DISTILL_QUESTION, text, size, NULL, 0, &found);
    }
    if (status) {
        fail(context, "distill_embed", distill_text(status));
        return 0;
    }
    if (found <= most)
        return 1;
    problem = sqlite3_mprintf("%lld %s; a text has %lld at most", (sqlite3_int64)found, unit, (sqlite3_int64)most);
    fail(context, "distill_embed", problem ? problem : "the text is too long");
    sqlite3_free(problem);
    return 0;
}

static void embed(sqlite3_context *context, int count, sqlite3_value **values)
{
    const opened *one = sqlite3_user_data(context);
    const char *text = (const char *)sqlite3_value_text(values[0]);
    size_t size = (size_t)sqlite3_value_bytes(values[0]);
    int role = role_of(count, values);
    float *vector;
    distill_status status;
    if (!text)
        return; /* NULL of NULL */
    if (!one->encoder || role < 0) {
        fail(context, "distill_embed",
             role < 0 ? "expected 'question' or 'document'" : "no encoder; call distill_encoder('encoder.bin') first");
        return;
    }
    if (role == DISTILL_QUESTION && !is_within(context, one->encoder, text, size))
        return;
    vector = sqlite3_malloc64(distill_dimension(one->encoder) * sizeof *vector);
    if (!vector) {
        sqlite3_result_error_nomem(context);
        return;
    }
    status = distill_encode(one->encoder, (distill_role)role, text, size, vector);
    if (status) {
        sqlite3_free(vector);
        fail(context, "distill_embed", distill_text(status));
        return;
    }
    sqlite3_result_blob64(context, vector, distill_dimension(one->encoder) * sizeof *vector, sqlite3_free);
}

static void product_of_blobs(sqlite3_context *context, int count, sqlite3_value **values)
{
    int types[2] = {sqlite3_value_type(values[0]), sqlite3_value_type(values[1])};
    const char *one = sqlite3_value_blob(values[0]), *other = sqlite3_value_blob(values[1]);
    size_t size = (size_t)sqlite3_value_bytes(values[0]);
    double sum = 0;
    (void)count;
    if (types[0] == SQLITE_NULL || types[1] == SQLITE_NULL)
        return;
    if (types[0] != SQLITE_BLOB || types[1] != SQLITE_BLOB || size % sizeof(float) ||
        size != (size_t)sqlite3_value_bytes(values[1])) {
        fail(context, "distill_product", "expected two vectors of the same length");
        return;
    }
    if (size && (!one || !other)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    for (size_t i = 0; i < size; i += sizeof(float)) {
        float a, b;
        memcpy(&a, one + i, sizeof a);
        memcpy(&b, other + i, sizeof b);
        sum += (double)a * b;
    }
    sqlite3_result_double(context, sum);
}

typedef void function(sqlite3_context *context, int count, sqlite3_value **values);

/* It reads a file: no view and no trigger of a database that came from elsewhere may call it. */
enum { READS = SQLITE_UTF8 | SQLITE_DIRECTONLY };

static const struct {
    const char *name;
    int count, flags;
    function *call;
} FUNCTIONS[] = {{"distill_encoder", 1, READS, open_encoder},
                 {"distill_embed", 1, SQLITE_UTF8, embed},
                 {"distill_embed", 2, SQLITE_UTF8, embed},
                 {"distill_product", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, product_of_blobs}};

enum { COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

#if defined(_WIN32)
__declspec(dllexport)
#endif
int sqlite3_distillsqlite_init(sqlite3 *database, char **problem, const sqlite3_api_routines *api)
{
    opened *one;
    int code = SQLITE_OK, made = 0;
    SQLITE_EXTENSION_INIT2(api)
    (void)problem;
    one = sqlite3_malloc64(sizeof *one);
    if (!one)
        return SQLITE_NOMEM;
    memset(one, 0, sizeof *one);
    /* One of this function's own, so that a failure in between leaves it. SQLite lets go where it fails, too. */
    one->held = 1;
    for (; made < COUNT && code == SQLITE_OK; made++) {
        one->held++;
        code = sqlite3_create_function_v2(database, FUNCTIONS[made].name, FUNCTIONS[made].count, FUNCTIONS[made].flags, one,
                                          FUNCTIONS[made].call, NULL, NULL, let_go);
    }
    /* What fails is unloaded: nothing of it may stay behind. */
    for (int i = 0; code != SQLITE_OK && i < made - 1; i++)
        sqlite3_create_function_v2(database, FUNCTIONS[i].name, FUNCTIONS[i].count, FUNCTIONS[i].flags, NULL, NULL, NULL, NULL,
                                   NULL);
    let_go(one);
    return code;
}
