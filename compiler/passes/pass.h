/* Passes: one pass, one file, one function of the same name.
 *    bool tl_pass_<file>(TlPassCx *cx, TlFunc *f)      true only if something changed
 * passes.def lists every pass (state in, state out, one line of doc); pipeline.c holds the order;
 * manager.c runs, verifies, prints and times; it alone changes a function's state. */
#ifndef TL_PASSES_PASS_H
#define TL_PASSES_PASS_H

#include "ir/ir.h"
#include "ir/target.h"

/* Of one tile, in one thread: more would live in local memory, and take minutes to compile. */
enum { TL_MAX_REGS_PER_THREAD = 1024 };

typedef struct TlPassTime {
   const char *name;
   double ms;
} TlPassTime;

/* Where lowering put a shared buffer, or what an operation needs for itself.  Times are operations
 * of the LAID function, numbered from 0 as its text has them. */
typedef struct TlSharedPlace {
   const TlFunc *func;
   uint32_t offset, bytes;
   uint32_t first, last; /* while these run it is taken; first is the one that asks for it */
   bool is_scratch;
} TlSharedPlace;

typedef struct TlPassCx {
   TlArena *scratch; /* reset by the manager after each pass */
   TlSources *sources;
   TlDiags *diags;          /* located late errors and remarks (cx->module's are the same) */
   const TlTarget *target;  /* NULL in target-free passes */
   bool verify_each;        /* also after passes that say they changed nothing */
   const char *print_after; /* pass name, "all" or NULL */
   void (*print)(void *user, const char *pass, const char *text); /* receives printed IR */
   void *print_user;
   bool checks_hints;   /* lowered code keeps what was promised, for the simulator to check */
   bool uses_boxes;     /* copies by tensor maps, where a load is boxes of a tensor */
   bool persists;       /* a block may run many programs: the launch record says how many blocks */
   bool short_programs; /* it does, too, where that pays for short programs only */
   bool failed;         /* a located error was reported: stop the pipeline */
   TL_VEC(TlPassTime) times;
   TL_VEC(TlSharedPlace) places; /* of the functions lowered so far, in their modules' arenas */
} TlPassCx;

typedef enum TlPassId {
#define TL_PASS(name, state_in, state_out, doc) TL_PASS_##name,
#include "passes/passes.def"
   TL_PASS_COUNT,
   TL_PASS_END = TL_PASS_COUNT /* of a list of passes */
} TlPassId;

#define TL_PASS(name, state_in, state_out, doc) bool tl_pass_##name(TlPassCx *cx, TlFunc *f);
#include "passes/passes.def"

/* The pass of this name; TL_PASS_END: there is none. */
TlPassId tl_pass_named(const char *name);
/* The passes up to TL_PASS_END in turn; false at the first that fails or needs another state. */
bool tl_run_passes(TlPassCx *cx, TlFunc *f, const TlPassId *ids);
/* The same, round after round until none changes anything. */
bool tl_run_passes_to_fixed_point(TlPassCx *cx, TlFunc *f, const TlPassId *ids,
                                  unsigned max_rounds);
/* "a,b,c", each the name of a pass. */
bool tl_run_named_passes(TlPassCx *cx, TlFunc *f, const char *list);
/* The whole order, readable in pipeline.c. */
bool tl_pipeline_typed(TlPassCx *cx, TlFunc *f);   /* clean-up of TYPED IR */
bool tl_pipeline_laid(TlPassCx *cx, TlFunc *f);    /* TYPED -> LAID for cx->target */
bool tl_pipeline_lowered(TlPassCx *cx, TlFunc *f); /* LAID -> LOWERED */

#endif
