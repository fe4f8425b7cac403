/* Questions, one a line, to the passages of an index that answer them:  ./example encoder.bin kb/index.bin < questions.txt
   Without an index, texts to the first numbers of their vectors:        ./example encoder.bin < texts.txt */
#include "distill.h"
#include <stdio.h>
#include <string.h>

/* The best three passages for a question's vector: score, probability of the first, best sentence. */
static distill_status print_hits(const distill_encoder *encoder, const distill_index *index, const float *vector)
{
    distill_hit hits[DISTILL_COMPARED];
    size_t count, i;
    float probability;
    distill_status status = distill_search(index, vector, DISTILL_COMPARED, hits, &count);
    if (!status && !distill_probability(encoder, index, hits, count, &probability, NULL))
        printf("%.0f %% likely that the first passage answers\n", 100 * probability);
    for (i = 0; !status && i < count && i < 3; i++) {
        distill_span text;
        size_t begin = 0, end;
        if ((status = distill_passage(index, hits[i].passage, &text)))
            break;
        end = text.size;
        if (hits[i].sentence != DISTILL_NONE)
            status = distill_sentence(index, hits[i].sentence, &begin, &end);
        if (!status)
            printf("%.3f %.*s\n", hits[i].score, (int)(end - begin), text.bytes + begin);
    }
    return status;
}

int main(int count, char **arguments)
{
    static float vector[32768]; /* no encoder gives more numbers */
    static char line[65536];
    void *bytes = NULL, *kb = NULL;
    size_t size = 0, kb_size = 0;
    distill_encoder *encoder = NULL;
    distill_index *index = NULL;
    distill_status status = distill_read(count > 1 ? arguments[1] : "encoder.bin", &bytes, &size);
    if (!status)
        status = distill_open(bytes, size, &encoder);
    if (!status && count > 2 && !(status = distill_read(arguments[2], &kb, &kb_size)))
        status = distill_index_open(kb, kb_size, encoder, &index);
    while (!status && fgets(line, sizeof line, stdin)) {
        /* A question has more than blanks and soft hyphens. */
        if (index && !line[strspn(line, " \t\r\n\xc2\xad")])
            continue;
        status = distill_encode(encoder, DISTILL_QUESTION, line, strcspn(line, "\n"), vector);
        if (!status && index)
            status = print_hits(encoder, index, vector);
        else if (!status)
            printf("%.6f %.6f %.6f\n", vector[0], vector[1], vector[2]);
    }
    if (status)
        fprintf(stderr, "%s\n", distill_text(status));
    return (int)status;
}
