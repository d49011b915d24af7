/* Inline PTX on the CPU: a subset of the scalar instructions, run on the bits of registers.  Both
 * the CPU executor and the simulator use it.  docs/language.md lists the instructions.
 *
 * Approximate instructions (ex2, lg2, sin, cos, tanh, rcp, rsqrt, sqrt.approx, div.approx and
 * div.full) give the exact value rounded to nearest, which lies within the error that the PTX ISA
 * grants them. */
#ifndef TL_EXEC_PTX_H
#define TL_EXEC_PTX_H

#include "ir/ir.h"

typedef struct TlPtx TlPtx;
enum { TL_PTX_MAX_OPERANDS_OF_CALL = 64 }; /* arguments, and results */

/* The program of an inline_asm operation; lives as long as the arena.  NULL: *error, from the
 * arena, names the instruction that is not modelled. */
const TlPtx *tl_ptx_new(TlArena *arena, const TlOp *op, const char **error);

/* Runs it on n elements in groups of `pack`.  Operand k has num[k] elements at arg[k], 1 or n, one
 * after the other in memory form; results have n. */
void tl_ptx_apply(const TlPtx *p, const void *const *arg, const size_t *num, void *const *result,
                  size_t n);

#endif
