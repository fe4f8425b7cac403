/* See program.c. */
#ifndef STDLIB_H
#define STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *place, size_t size);
void free(void *place);
void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
