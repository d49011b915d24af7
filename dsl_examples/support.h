/* What every example host shares: the command line, random inputs rounded to their type, poisoned
 * outputs, launches through the public API, and the comparison with a double-precision oracle.
 * A host prints one line per case and ends with status 1 as soon as one case is wrong.  Failures of
 * the runtime itself (no such file, the kernel does not compile) end the process at once. */
#ifndef EXAMPLES_SUPPORT_H
#define EXAMPLES_SUPPORT_H

#include "tilec/runtime.h"

#include <stdio.h>

typedef struct Example {
   TilecRuntime *rt;
   TilecExecutor executor; /* CUDA or CPU or SIM */
   bool large;             /* the sizes of a GPU run; else those that a CPU does in a second */
   uint64_t seed;          /* of every random input; printed */
   uint64_t rng;           /* state of the generator */
   const char *source_dir; /* where the .tile files are */
   const char *name;       /* of the example */
   const char *only;       /* the one row of a table to run; NULL: all */
   unsigned repeats;       /* of a table's launches, to time them; 0: check them instead */
   size_t shift;           /* --shift N: elements between the start of a buffer and its array */
   void *bits;        /* --bits FILE, which gets a line per case: a hash of the outputs' bits */
   uint64_t hash;     /* of what was fetched since the last case */
   FILE *description; /* of a table's launches, which are then not made; NULL: none wanted */
   unsigned cases, failures;
} Example;

/* A typed array on the host and in a buffer of the executor.  `value` holds its elements as
 * doubles, of an input what the kernel reads, of an output after ex_fetch what it wrote.  Around
 * them lie poisoned ones, checked by ex_fetch. */
typedef struct ExArray {
   TilecDtype dtype;
   size_t elems;
   double *value;
   TilecBuffer *buffer;
   size_t shift, guard; /* poisoned elements before and behind it */
} ExArray;

/* Reads --on auto|cpu|sim|cuda, --seed N, --size small|large, --source DIR,
 * --shift N, --bits FILE, and for tables --only ROW and --time REPEATS; opens the executor. */
void ex_open(Example *ex, const char *name, int argc, char **argv);
/* An option of one example: NAME VALUE.  A list of them ends with a NULL name. */
typedef struct ExOption {
   const char *name;
   const char **value;
} ExOption;
void ex_open_with(Example *ex, const char *name, int argc, char **argv, const ExOption *own);
/* The value of an option that is a number from 1 to `most`; else the process ends. */
int32_t ex_whole_number(const Example *ex, const char *option, const char *text, int32_t most);
/* Gives ex->rt the compiler; called by ex_open. */
void ex_attach_compiler(Example *ex);
const char *ex_executor_name(const Example *ex);
/* End the process with a line on stderr; ex_must unless `status` is TILEC_OK. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
_Noreturn void ex_die(const Example *ex, const char *format, ...);
void ex_must(const Example *ex, TilecStatus status, const char *what);
/* Prints a summary when something was wrong and returns the exit status. */
int ex_close(Example *ex);

/* An array of normal values times `spread`, rounded to dtype, and to `fraction_bits` of fraction
 * where that is fewer. */
ExArray ex_random(Example *ex, TilecDtype dtype, size_t elems, double spread, int fraction_bits);
/* Whole numbers from 0 to end - 1, each as likely. */
ExArray ex_random_below(Example *ex, TilecDtype dtype, size_t elems, double end);
ExArray ex_zeros(Example *ex, TilecDtype dtype, size_t elems);
/* An array filled with NaN, or with the integer that stands for it. */
ExArray ex_output(Example *ex, TilecDtype dtype, size_t elems);
void ex_fetch(Example *ex, ExArray *out);
/* Adds to the hash of the case what was fetched in another way. */
void ex_hash(Example *ex, const void *bytes, size_t size);
/* Writes values, rounded to the array's type. */
void ex_write(Example *ex, ExArray *a, const double *value);
void ex_free_array(ExArray *a);
TilecArg ex_arg(const ExArray *a);
/* Zeroed; the caller frees it. */
double *ex_doubles(size_t elems);
void *ex_allocate(size_t count, size_t size);
double ex_uniform(Example *ex); /* the generator's next number, between 0 and 1 */
double ex_normal(Example *ex);  /* of variance 1 */

typedef struct ExKernel {
   TilecModule *module;
   TilecKernel *kernel;
} ExKernel;
/* num_warps 0: the kernel's own.  defines end with NULL. */
ExKernel ex_kernel(Example *ex, const char *file, const char *kernel, uint32_t num_warps,
                   const char *const *defines);
void ex_free_kernel(ExKernel *k);
/* Launches over the kernel's own grid and waits. */
void ex_launch(Example *ex, const ExKernel *k, const TilecArg *args, size_t num_args);
/* The median time of a launch in microseconds, of `repeats` after three unmeasured ones. */
double ex_time(Example *ex, const ExKernel *k, const TilecArg *args, size_t num_args);

/* Largest relative L2 error that the default arithmetic of a type is held to, sums in fp32. */
double ex_tolerance(TilecDtype dtype);
const char *ex_dtype_name(TilecDtype dtype);
size_t ex_dtype_bytes(TilecDtype dtype);     /* 0 for TILEC_DTYPE_NONE */
TilecDtype ex_dtype_named(const char *name); /* TILEC_DTYPE_NONE when there is none */
double ex_round(TilecDtype dtype, double x);
double ex_round_to(TilecDtype dtype, int fraction_bits, double x); /* of fraction, if it has more */
/* Elements as they lie in memory, and back.  The values are ones that the type holds. */
void ex_pack(TilecDtype dtype, const double *value, size_t elems, void *bytes);
void ex_unpack(TilecDtype dtype, const void *bytes, size_t elems, double *value);
/* ||out - oracle|| / ||oracle||, 0 when they are equal; infinite when an element is not finite. */
double ex_relative_l2(const ExArray *out, const double *oracle);
double ex_relative_l2_of(const double *out, const double *oracle, size_t elems);
/* The same for an oracle that may be all but zero: relative to no less than elements of `floor`. */
double ex_relative_l2_above(const ExArray *out, const double *oracle, double floor);
/* Counts and prints one case: "elu fp32 n=98432  on cpu  rel L2 3.1e-08  ok". */
void ex_report(Example *ex, const char *what, double error, double tolerance);

/* Calls work(context, part, parts) for every part, each in its own thread; returns when all are
 * done. */
typedef void ExWork(void *context, size_t part, size_t parts);
void ex_in_threads(ExWork *work, void *context, size_t parts);
size_t ex_processors(void);

/* Sorts them; of an even number the upper one in the middle. */
double ex_median(double *values, size_t count);
/* The smallest power of two that is >= n. */
size_t ex_next_power_of_two(size_t n);
#endif
