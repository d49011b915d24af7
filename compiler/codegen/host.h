/* LOWERED IR to code for this CPU, one call for each thread of a block: the same walk and the same
 * rules as for the GPU where plain integer, fp32 and fp64 arithmetic means the same on both, and a
 * call of a model for everything else.  The caller brings the models, so that this folder knows no
 * simulator.
 *
 * A model gets the registers of its operation in memory: operand k begins at frame + arg_at[k],
 * result k at frame + result_at[k], one element after the other in its memory form (i1 a byte,
 * pointers 8 bytes), each array aligned to 16.  The frame lies on the thread's own stack.  fp16,
 * bf16 and fp8 values are bit patterns for the generated code: all their arithmetic is the
 * models'. */
#ifndef TL_CODEGEN_HOST_H
#define TL_CODEGEN_HOST_H

#include "ir/ir.h"

/* What generated code reads of a thread; the models' owner puts more after it. */
typedef struct TlHostThread {
   uint32_t tid;  /* in the block */
   int32_t steps; /* loop iterations until TlHostModels.step is called */
} TlHostThread;

typedef struct TlHostSite {
   const TlOp *op;
   uint32_t index;                 /* sites count from 0 in program order */
   uint32_t first_warp, num_warps; /* of the enclosing role; the whole block when there is none */
   const uint32_t *arg_at, *result_at;
   void *model; /* for the models' owner, set before the first run */
} TlHostSite;

typedef void TlHostModel(TlHostThread *t, const TlHostSite *site, unsigned char *frame);

/* What generated code calls instead of an LLVM intrinsic of one type that this CPU lacks. */
typedef struct TlHostIntrinsic {
   const char *name;       /* "llvm.fma"; NULL ends the list */
   unsigned bits;          /* of the floating-point type */
   void (*function)(void); /* float (*)(float, ..) or double (*)(double, ..) */
} TlHostIntrinsic;

typedef struct TlHostModels {
   TlHostModel *op[TL_OP_COUNT];      /* NULL: the common rule makes code for it */
   const TlHostIntrinsic *intrinsics; /* may be NULL */
   void (*step)(TlHostThread *t, const TlHostSite *loop); /* when steps is below 0 */
} TlHostModels;

typedef struct TlHostCode {
   void (*entry)(TlHostThread *t, const uint64_t *args); /* args: bits of each run-time parameter */
   size_t stack_bytes;                                   /* enough for entry, models not counted */
   TlHostSite **sites;
   unsigned num_sites;
   void *jit; /* private */
} TlHostCode;

/* f must be LOWERED and sound and must outlive the code.  NULL: a located error was reported. */
TlHostCode *tl_host_compile(TlArena *arena, const TlFunc *f, TlSources *sources, TlDiags *diags,
                            const TlHostModels *models);
/* Gives the machine code back; NULL is fine.  The rest belongs to the arena. */
void tl_host_free(TlHostCode *code);

#endif
