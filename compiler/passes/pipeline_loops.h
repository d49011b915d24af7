/* Loads that run ahead of their iteration: what the passes about pipelined loops share. */
#ifndef TL_PASSES_PIPELINE_LOOPS_H
#define TL_PASSES_PIPELINE_LOOPS_H

#include "ir/analysis.h"
#include "passes/pass.h"

enum { TL_MAX_STAGES = 16 };

/* Operations of a loop's body that compute values from the index, from carried values and from what
 * is defined outside, without effects: they can be computed for a later iteration.  A carried value
 * in the slice brings the computation of its next one with it; a condition of which a result is
 * needed, what its regions compute for that, and may have effects besides. */
typedef struct TlSlice {
   TlArena *arena;
   TlOp *loop;
   TlMap members;            /* TlOp *, or TlValue * carried, loaded or of a condition -> itself */
   TL_VEC(TlOp *) ops;       /* of the body itself, in program order */
   TL_VEC(unsigned) carried; /* positions among the carried values */
   TL_VEC(TlOp *) loads;     /* of indices: members without what they read, given by `map` */
   bool takes_loads;         /* such loads are taken, not refused */
   bool has_load;            /* why adding failed: a load is in the way, else some other effect */
} TlSlice;

void tl_slice_init(TlSlice *s, TlArena *arena, TlOp *loop);
/* Adds what v needs; false, and the slice is spoilt, when that has effects or reads memory. */
bool tl_slice_add(TlSlice *s, TlValue *v);
/* Copies the operations; map holds the index and the carried values of an iteration (keys: the
 * arguments of the old body) and what the loads give there, and receives the copies. */
void tl_slice_clone(const TlSlice *s, TlBuilder *b, TlMap *map);
/* The map of an iteration with that index and those carried values of the slice. */
TlMap *tl_slice_iteration(const TlSlice *s, TlValue *index, TlValue *const *carried);
/* What v became: itself when it is defined outside. */
TlValue *tl_slice_mapped(const TlMap *map, TlValue *v);

/* A load that becomes copies. */
typedef struct TlRingLoad {
   TlOp *op;
   TlOp *alloc;                 /* the buffer that it fills for dots, or NULL */
   TlOp *narrowed;              /* or the one filled with its narrower elements, not needed then */
   const TlType *stage;         /* one stage of the ring */
   unsigned order[TL_MAX_RANK]; /* dimension of the ring -> of the load */
   bool is_turned;              /* order is not the identity */
   TlOp *first_use;           /* operation of the body that reads it, or holds the one that does */
   uint32_t use_at;           /* its place in the body */
   unsigned group;            /* of its copies, by first use */
   TlValue *ring;             /* set by the rewrite */
   struct TlBoxAccess *boxes; /* that fill the stage, NULL: threads copy it, .. */
   const char *why_no_boxes;  /* .. for this reason */
   bool needs_boxes;          /* threads cannot copy it */
} TlRingLoad;

typedef struct TlPipe {
   TlPassCx *cx;
   TlFunc *func;
   TlTypes *types;
   TlAnalysis *facts;
   TlOp *loop;
   TlBlock *body; /* of the old loop */
   TL_VEC(TlRingLoad) loads;
   TlSlice slice; /* what all copies need, .. */
   TlSlice index; /* .. and what the loads among that need, which run an iteration further ahead */
   unsigned stages, groups;
   unsigned ahead;          /* iterations that copies run ahead: stages - 2 .. stages */
   int64_t step;            /* of the index; 0: known at run time only, of either sign */
   bool has_stages;         /* the loop has its own num_stages */
   bool is_of_roles;        /* what is refused here, the loop's own warps may copy yet */
   bool issues_late;        /* copies of a group come behind the wait for it */
   bool issues_behind;      /* all copies come behind the only product */
   bool refills;            /* copies of a group come behind its last reading, to the same stage */
   struct TlAffine *affine; /* boxes may fill stages; NULL: only threads copy */
   bool by_boxes;           /* the loop's first thread has boxes fill all its rings .. */
   TlValue *full;           /* .. and these mbarriers tell: one a stage, group after group */
} TlPipe;

/* Where copies of an iteration go: what its addresses became, and its stage. */
typedef struct TlPipeTarget {
   const TlMap *map;
   TlValue *slot, *exists;
   unsigned ahead;
} TlPipeTarget;

/* The load's mask in the iteration of map, and the iteration exists. */
TlValue *tl_mask_in(TlBuilder *b, const TlOp *load, const TlMap *map, TlValue *exists);
/* What the load gives there. */
TlValue *tl_load_in(TlBuilder *b, const TlOp *load, const TlMap *map, TlValue *exists);

/* ---- pipeline_loads.c ---- */
void tl_pipe_refuse(TlPipe *p, const TlOp *load, const char *why); /* a remark */
/* Is there a loop in the block, or something that loads may not go past? */
bool tl_orders_memory(const TlBlock *block);
/* Neither that nor something that counts groups of its own. */
bool tl_pipe_is_plain(const TlBlock *block);
/* Is the operation of warps that copy for others?  Of it only what addresses need will be left. */
bool tl_is_copiers_own(const TlFunc *f, const TlOp *op);
bool tl_block_has(const TlBlock *block, TlOpcode opcode);
/* The parameter that a pointer is computed from, NULL when that is not known. */
const TlValue *tl_pointer_root(const TlValue *v);
/* May the block store where a load of that root reads?  Different parameters are taken for
 * different memory. */
bool tl_is_stored_to(const TlBlock *block, const TlValue *root);
/* May the load of at most so many words be made iterations ahead, into registers? */
bool tl_can_run_ahead(const TlPassCx *cx, TlOp *loop, const TlOp *load, unsigned most_words);
void tl_pipe_find_loads(TlPipe *p);
/* Refuses what only boxes could copy; false: there was no such load. */
bool tl_pipe_drop_needing_boxes(TlPipe *p);
void tl_pipe_make_groups(TlPipe *p); /* sorts the loads by first use */
uint64_t tl_pipe_stage_bytes(const TlPipe *p);
/* Shared bytes of other buffers that are alive in the loop. */
uint64_t tl_pipe_buffer_bytes(const TlPipe *p, const TlBlock *block);
/* Does the body only add products by wgmma to what it carries?  Then one of them may be in flight
 * while the next is begun (delay_waits): copies leave alone what the iteration before reads. */
bool tl_pipe_only_sums_products(const TlPipe *p);
/* The same where left operands may also be read from a buffer: nothing is computed between. */
bool tl_pipe_only_multiplies(const TlPipe *p);
/* Is the body's only product a sum that is waited for before the iteration ends?  Where no other
 * wait comes before what it reads is written again, it goes on into the next iteration only if it
 * reads nothing that the body writes, registers or buffers (delay_waits). */
bool tl_pipe_waits_for_sum(const TlPipe *p);
/* Is the body's only product one of mma that reads a buffer which the body itself fills?  The
 * barrier behind what fills it also tells that other threads have read their parts of the stage. */
bool tl_pipe_fills_for_mma(const TlPipe *p);
/* Does a product by wgmma end up in what the body carries, unread?  It may go on into the next
 * iteration (sink_waits), under the same condition. */
bool tl_pipe_carries_products(const TlPipe *p);
/* Stage `slot` of the load's ring; phase: how many iterations after the one at hand it is read. */
TlValue *tl_ring_view(TlBuilder *b, const TlRingLoad *l, TlValue *slot, unsigned phase);
/* What a stage is to the load. */
const TlType *tl_ring_turned_type(const TlPipe *p, const TlRingLoad *l);
/* The stage with the load's dimensions. */
TlValue *tl_ring_turned_view(TlPipe *p, TlBuilder *b, const TlRingLoad *l, TlValue *view);
/* Users of the load and of its buffers read the ring. */
void tl_ring_read(TlPipe *p, TlRingLoad *l, TlValue *view);

/* ---- pipeline_boxes.c ---- */
/* mbarriers, one a stage. */
TlValue *tl_ring_barriers(TlBuilder *b, unsigned stages, unsigned arrivals);
/* Sets affine where boxes could fill this loop's rings: then loads are found that need them. */
void tl_pipe_allow_boxes(TlPipe *p);
/* Decides by_boxes; then the slice is what coordinates need. */
bool tl_pipe_choose_boxes(TlPipe *p);
void tl_boxes_build_barriers(TlPipe *p);
/* Stage and parity with which the loop begins; what is outside of it carries them.  What it ends
 * with is still to be told. */
typedef struct TlRingNest TlRingNest;
TlRingNest *tl_boxes_enter(TlPipe *p, TlValue *state[2]);
void tl_boxes_leave(TlRingNest *nest, TlValue *state[2]);
void tl_boxes_issue(TlPipe *p, TlBuilder *b, const TlPipeTarget *t, unsigned group);
void tl_boxes_wait(const TlPipe *p, TlBuilder *b, unsigned group, TlValue *slot, TlValue *parity);
/* The operation of the body before which boxes of a later iteration are sent for: behind its first
 * product. */
TlOp *tl_boxes_place(const TlBlock *body);

/* The loop or condition with more values, which begin as those given, and with empty regions,
 * before b's cursor; the caller moves the bodies and the uses of the results over. */
TlOp *tl_with_more(TlBuilder *b, const TlOp *old, TlValue *const *more, unsigned num_more);
/* The body's operations go behind those of the other, whose first arguments stand for its own. */
void tl_take_body(TlBlock *from, TlBlock *to);
/* The same in its place with more values; what its regions yield for them is still to be added. */
TlOp *tl_carrying(TlOp *old, TlValue *const *more, unsigned num_more);

/* Of a loop with that constant step, 0 = of either sign.
 * x before y in the direction of the step: scalar i1. */
TlValue *tl_is_before(TlBuilder *b, const TlOp *loop, int64_t step, TlValue *x, TlValue *y);
/* Is there an iteration that many after the one with index `from`, which itself exists? */
TlValue *tl_exists_after(TlBuilder *b, const TlOp *loop, int64_t step, TlValue *from,
                         int64_t iterations);

enum { TL_LEAST_COPY = 4 }; /* bytes of an asynchronous copy (PTX ISA, "cp.async") */
/* Are masked-off elements what a copy leaves for them? */
bool tl_is_zero_fill(const TlOp *load);
/* Rows of a ring in the order of global memory; swizzled: what lies in a column is apart. */
TlLinear tl_ring_rows(const TlType *t, const unsigned *order, bool is_swizzled);

#endif
