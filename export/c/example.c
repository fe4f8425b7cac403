/* Texts, one a line, to the first numbers of their vectors:  ./example encoder.bin < texts.txt */
#include "distill.h"
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments)
{
    static float vector[32768]; /* no encoder gives more numbers */
    static char line[65536];
    void *bytes = NULL;
    size_t size = 0;
    distill_encoder *encoder = NULL;
    distill_status status = distill_read(count > 1 ? arguments[1] : "encoder.bin", &bytes, &size);
    if (!status)
        status = distill_open(bytes, size, &encoder);
    while (!status && fgets(line, sizeof line, stdin) && !(status = distill_encode(encoder, DISTILL_QUESTION, line, strcspn(line, "\n"), vector)))
        printf("%.6f %.6f %.6f\n", vector[0], vector[1], vector[2]);
    if (status)
        fprintf(stderr, "%s\n", distill_text(status));
    return (int)status;
}
