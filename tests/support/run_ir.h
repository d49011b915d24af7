/* A plain evaluator of TYPED functions for tests: whole tiles, one element at a time through
 * tl_eval.  It knows the operations that gen_ir.c makes, and says so when it meets another. */
#ifndef TESTS_SUPPORT_RUN_IR_H
#define TESTS_SUPPORT_RUN_IR_H

#include "ir/ir.h"
#include "support/gen_ir.h"

/* Addresses of the pointer parameters: multiples of 16 and of nothing more. */
enum {
   RUN_IN_I = 0x10000010,
   RUN_IN_F = 0x20000030,
   RUN_OUT_I = 0x30000050,
   RUN_OUT_F = 0x40000070
};

typedef struct Run {
   TlArena *arena; /* a scratch arena */
   int64_t program_id[3];
   int64_t n, k; /* the scalar parameters */
   uint32_t in_i[GEN_IN_ELEMS], in_f[GEN_IN_ELEMS];
   uint32_t out_i[GEN_OUT_ELEMS], out_f[GEN_OUT_ELEMS];
   /* called for every value as it is computed; bits has an entry for each element */
   void (*observe)(void *user, const TlValue *v, const uint64_t *bits);
   void *user;
   const char *error; /* why it stopped, or NULL */
} Run;

void run_ir_fill(Run *r, uint64_t seed); /* inputs; outputs zero */
bool run_ir(Run *r, const TlFunc *f);
/* Equal outputs; NaNs are equal to each other. */
bool run_ir_same(const Run *a, const Run *b);

#endif
