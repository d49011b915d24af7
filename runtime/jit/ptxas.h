/* The assembler of the CUDA toolkit as a separate process: the only place that runs it.  Nothing is
 * ever linked with cuLink*, which ignores setmaxnreg. */
#ifndef TL_JIT_PTXAS_H
#define TL_JIT_PTXAS_H

#include <stdbool.h>
#include <stddef.h>

enum {
   TL_PTXAS_LIMIT_MS = 600000, /* where nobody says */
   TL_PTXAS_MOST_SAID = 1 << 20,
};

typedef struct TlPtxasRun {
   const char *program;  /* path */
   const char *arch;     /* "sm_90a" */
   const char *in, *out; /* files that do not exist; both are gone afterwards */
   bool line_info;
   bool verbose;          /* it also reports registers and memory of each kernel */
   bool keep_environment; /* else it gets none */
   unsigned limit_ms;     /* it is killed after this time; 0 = none */
} TlPtxasRun;

typedef struct TlPtxasResult {
   void *cubin; /* of malloc; NULL: none was made */
   size_t len;
   char *said;       /* of malloc: its output and errors; NULL = nothing, or no memory */
   bool has_run;     /* false: `error` says why */
   bool has_failed;  /* ended by itself and says so */
   bool was_killed;  /* by a signal */
   bool is_late;     /* killed after limit_ms */
   int error;        /* an errno */
   const char *step; /* what failed with it: "write its input", … */
} TlPtxasResult;

/* False when no cubin was made.  Call tl_ptxas_done in any case. */
bool tl_ptxas_run(const TlPtxasRun *run, const char *ptx, size_t ptx_len, TlPtxasResult *out);
/* Another tool of the toolkit, which takes what argv says and prints: what it prints is cut
 * once it has TL_PTXAS_MOST_SAID bytes.  Of run, program, keep_environment and limit_ms count. */
bool tl_ptxas_tool(const TlPtxasRun *run, char *const *argv, TlPtxasResult *out);
void tl_ptxas_done(TlPtxasResult *result);

#endif
