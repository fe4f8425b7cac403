/* An encoder in SQLite, a loadable extension over distill.c:

       cc -std=c99 -O3 -shared -fPIC -o distill_sqlite.so distill_sqlite.c distill.c -lm

       SELECT distill_encoder('encoder.bin');            -- opens it for this connection; the numbers of a vector
       distill_embed('a question')                       -- its vector: float32, little-endian, of unit length
       distill_embed('a passage', 'document')
       distill_product(one, other)                       -- the cosine of two vectors

   A vector is what sqlite-vec takes, too. */
#include "distill.h"

#include <sqlite3ext.h>
#include <string.h>

SQLITE_EXTENSION_INIT1

/* What a connection has opened. */
typedef struct {
    distill_encoder *encoder;
    void *bytes;
} opened;

static void close_opened(void *place)
{
    opened *one = place;
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
    opened *one = sqlite3_user_data(context), new = {NULL, NULL};
    const char *path = (const char *)sqlite3_value_text(values[0]);
    size_t size = 0;
    distill_status status = path ? distill_read(path, &new.bytes, &size) : DISTILL_NO_FILE;
    (void)count;
    if (!status)
        status = distill_open(new.bytes, size, &new.encoder);
    if (status) {
        distill_free(new.bytes);
        fail(context, "distill_encoder", distill_text(status));
        return;
    }
    distill_close(one->encoder);
    distill_free(one->bytes);
    *one = new;
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
    const char *one = sqlite3_value_blob(values[0]), *other = sqlite3_value_blob(values[1]);
    size_t size = (size_t)sqlite3_value_bytes(values[0]);
    double sum = 0;
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    if (size != (size_t)sqlite3_value_bytes(values[1]) || size % sizeof(float)) {
        fail(context, "distill_product", "expected two vectors of the same length");
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

#if defined(_WIN32)
__declspec(dllexport)
#endif
int sqlite3_distillsqlite_init(sqlite3 *database, char **problem, const sqlite3_api_routines *api)
{
    opened *one;
    int code;
    SQLITE_EXTENSION_INIT2(api)
    (void)problem;
    one = sqlite3_malloc64(sizeof *one);
    if (!one)
        return SQLITE_NOMEM;
    memset(one, 0, sizeof *one);
    /* It reads a file: no view and no trigger of a database that came from elsewhere may call it. SQLite closes what was
       opened with the connection, and here where it fails. */
    code = sqlite3_create_function_v2(database, "distill_encoder", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, one, open_encoder, NULL,
                                      NULL, close_opened);
    for (int count = 1; count <= 2 && code == SQLITE_OK; count++)
        code = sqlite3_create_function_v2(database, "distill_embed", count, SQLITE_UTF8, one, embed, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function_v2(database, "distill_product", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                          product_of_blobs, NULL, NULL, NULL);
    return code;
}
