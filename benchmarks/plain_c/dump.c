/* Texts of a file to their ids and vectors:  dump encoder.bin texts.bin output.bin
   A text is its role, 0 or 1, and its size, int32 both, then its bytes; of each come the number of its ids, int32, the
   ids, and the vector. */
#include "distill.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1 << 16 };

int main(int count, char **arguments)
{
    static int32_t ids[ROOM];
    static float vector[32768];
    void *bytes = NULL, *texts = NULL;
    size_t size = 0, all = 0, many = 0;
    distill_encoder *encoder = NULL;
    FILE *output = count > 3 ? fopen(arguments[3], "wb") : NULL;
    if (!output || distill_read(arguments[1], &bytes, &size) || distill_read(arguments[2], &texts, &all) ||
        distill_open(bytes, size, &encoder))
        return 1;
    for (char *place = texts; place < (char *)texts + all;) {
        int32_t *head = (int32_t *)(void *)place, number;
        distill_role role = head[0] ? DISTILL_DOCUMENT : DISTILL_QUESTION;
        size_t length = (size_t)head[1];
        char *text = place + 2 * sizeof *head;
        if (distill_tokenize(encoder, role, text, length, ids, ROOM, &many) || distill_encode(encoder, role, text, length, vector))
            return 1;
        number = (int32_t)many;
        fwrite(&number, sizeof number, 1, output);
        fwrite(ids, sizeof *ids, many < ROOM ? many : ROOM, output);
        fwrite(vector, sizeof *vector, distill_dimension(encoder), output);
        place = text + (length + 3) / 4 * 4;
    }
    distill_close(encoder);
    distill_free(texts);
    distill_free(bytes);
    return fclose(output);
}
