/* What `tilec run` does with the arrays of a launch: prints, saves, compares; the closing line. */
#ifndef TL_COMMAND_RUN_RESULTS_H
#define TL_COMMAND_RUN_RESULTS_H

#include "command/array.h"
#include "command/arguments.h"

/* A use of --expect: read before the launch, so that a wrong name costs no run. */
typedef struct TlExpected {
   const TlCmdArg *arg;
   const char *path;
   TlArray want;
   double tolerance;
   TlArrayDiff diff;
} TlExpected;

typedef struct TlRunResults {
   TlCommand *c;
   TlCmdArgs *args;
   TL_VEC(TlExpected) expected;
   uint64_t *before; /* hash of each array that the kernel may write; NULL: not taken */
} TlRunResults;

/* Before anything is compiled: the names and files of --print, --save and --expect; an exit code,
 * after a message unless it is 0. */
int tl_results_open(TlRunResults *r, TlCommand *c, TlCmdArgs *args);
/* Right before the launch: what the arrays hold. */
void tl_results_before(TlRunResults *r, const TilecKernelInfo *kernel);
/* After it: prints, saves, compares; an exit code. */
int tl_results_after(TlRunResults *r);
/* What was changed, saved and found as expected: "; changed y; saved y.npy". */
void tl_results_summary(const TlRunResults *r, TlSb *out);
void tl_results_close(TlRunResults *r);

#endif
