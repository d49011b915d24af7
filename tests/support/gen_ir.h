/* Random sound TYPED functions, from a seed, for property tests.
 * Every function has the parameters
 *    %in_i: ptr<i32>, %in_f: ptr<fp32>, %out_i: ptr<i32>, %out_f: ptr<fp32>,
 *    %n: i32 {div = 16}, %k: i32
 * reads in_i and in_f at 0 .. GEN_IN_ELEMS - 1 only, and writes each of its final values (cast to
 * i32 or fp32) to its own place of out_i or out_f, below GEN_OUT_ELEMS.  Loops end; nothing is
 * undefined but integer division by zero, for which tl_eval gives 0. */
#ifndef TESTS_SUPPORT_GEN_IR_H
#define TESTS_SUPPORT_GEN_IR_H

#include "ir/ir.h"

enum { GEN_IN_ELEMS = 1024, GEN_OUT_ELEMS = 8192 };

typedef struct GenOptions {
   unsigned num_ops; /* roughly, before control flow multiplies them */
   bool ints_only;   /* no floats and no loads of them */
   bool no_control;  /* straight line */
} GenOptions;

TlFunc *gen_ir_func(TlModule *m, uint64_t seed, GenOptions options);

#endif
