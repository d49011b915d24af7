/* Compiles an input under limits and runs what comes out on the CPU executor and the simulator. */
#ifndef TESTS_FUZZ_EXECUTE_H
#define TESTS_FUZZ_EXECUTE_H

#include "tilec/tilec.h"

/* The choices of an input's first line, "#choices 0123456789abcdef" in any kind of comment: a
 * hexadecimal digit each, 0 where there is none. */
enum { FUZZ_CHOICES = 16 };
typedef struct FuzzChoices {
   unsigned char digit[FUZZ_CHOICES];
} FuzzChoices;
enum {
   FUZZ_KERNEL,  /* number of the kernel among the file's */
   FUZZ_TARGET,  /* sm_90a, sm_80, .. */
   FUZZ_OPT,     /* -O level, strict floats, checks */
   FUZZ_WARPS,   /* 0 = its own, else 2^(n-1) */
   FUZZ_STAGES,  /* 0 = its own */
   FUZZ_POINTEE, /* element type of pointers without a written type */
   FUZZ_SCALAR,  /* value of integer arguments and constants */
   FUZZ_SUFFIX,  /* .tile, .py */
};
FuzzChoices fuzz_choices(const char *text, size_t len);

/* Compiles; then runs in both ways.  `suffix`: "tile", "py" or "tir". */
void fuzz_execute(const char *text, size_t len, const char *suffix, FuzzChoices c);

#endif
