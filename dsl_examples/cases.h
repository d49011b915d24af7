/* Kernels checked from a table: one row says which arrays there are, which launches make the
 * outputs, and the cases; one function of the host is the oracle.
 *
 *    {.name = "rms_norm",
 *     .arrays = "x: T[R*C], w: T[C], y: out T[R*C], rstd: out fp32[R]",
 *     .launches = {"rms_norm(x, w, y, rstd, R, C, eps) BLOCK=pow2(C)"},
 *     .cases = "T=fp32 R=5 C=63 eps=1e-5; T=bf16 R=2 C=1000 eps=1e-6", .oracle = rms_norm}
 *
 * A case gives names to integers, reals and words; they are used in all the other columns, there
 * with + - * / and ( ), min(a, b), max(a, b), cdiv(a, b) and pow2(a), the power of two not below a.
 *
 * An array is NAME: KIND TYPE[ELEMENTS] OPTIONS.  Kinds:
 *    (none)   an input of normal values, rounded to its type
 *    given    an input whose values the row's `prepare` writes
 *    out      checked against the oracle; poisoned before the first launch
 *    inout    random first, or written by `prepare`, checked after
 *    zeroed   zero first, checked after
 *    scratch  poisoned, not checked: one launch writes what another reads
 * Options:
 *    spread X  scales normal values
 *    bits N    leaves them N bits of fraction
 *    below N   makes them whole numbers from 0 to N - 1
 *    slack X   multiplies the tolerance of the array's type; `within X` replaces it
 *    floor X   the error is relative to elements of at least X: for results that are zero but for
 *              rounding
 *
 * A launch is KERNEL(ARGUMENTS), of KERNEL.tile, or FILE.KERNEL(ARGUMENTS), and then the values of
 * constexpr parameters.  An argument is an array, an expression (a real where a real is written),
 * None, or a name that a case gives to one of them.  warps=N sets the number of warps; flops=N, the
 * last, is for --time. */
#ifndef EXAMPLES_CASES_H
#define EXAMPLES_CASES_H

#include "support.h"

typedef struct ExCase ExCase; /* one case of a row while it runs */

enum { EX_MAX_LAUNCHES = 16 };

typedef struct ExRow {
   const char *name;
   const char *arrays;
   const char *launches[EX_MAX_LAUNCHES];
   const char *defaults;       /* names that a case need not give; may be NULL */
   const char *cases;          /* separated by ';' */
   const char *large;          /* further cases, on a GPU or with --size large; may be NULL */
   const char *gpu;            /* further cases that only a GPU does in time; may be NULL */
   const char *timed;          /* cases of --time; may be NULL */
   void (*prepare)(ExCase *c); /* writes the given arrays; may be NULL */
   void (*oracle)(ExCase *c);  /* writes what ex_want returns, zero at first, in double precision */
} ExRow;

/* Runs the rows, all or the one that `--only` names, that one also at other cases: `--cases TEXT`,
 * written as the column is.  With `--time` it prints how long the launches of the timed cases take
 * instead, with what they move and compute a second; with `--time` and `--describe FILE` it writes
 * those launches to the file, in JSON, and makes none.  Returns the exit status. */
int ex_run_rows(const char *program, const ExRow *rows, size_t num_rows, int argc, char **argv);

/* The case's names. */
size_t ex_size(const ExCase *c, const char *name);
double ex_real(const ExCase *c, const char *name); /* as the kernel gets it, in fp32 */
const char *ex_word(const ExCase *c, const char *name);
bool ex_is(const ExCase *c, const char *name, const char *word);
/* What an array held before the first launch; a `given` one is written through this. */
double *ex_in(const ExCase *c, const char *array);
/* What an output has to be. */
double *ex_want(const ExCase *c, const char *array);
size_t ex_elems(const ExCase *c, const char *array);
Example *ex_of(const ExCase *c); /* for ex_uniform in `prepare` */
#endif
