/* See program.c. */
#ifndef STRING_H
#define STRING_H

#include <stddef.h>

#define memcpy __builtin_memcpy
#define memmove __builtin_memmove
#define memset __builtin_memset
int memcmp(const void *one, const void *other, size_t size);
int strncmp(const char *one, const char *other, size_t size);
size_t strlen(const char *text);

#endif
