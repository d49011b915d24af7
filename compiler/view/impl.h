/* What the parts of the view share. */
#ifndef TL_VIEW_IMPL_H
#define TL_VIEW_IMPL_H

#include "ir/print.h"
#include "base/json.h"
#include "view/view.h"

typedef enum TlViewStage {
   TL_VIEW_TYPED,
   TL_VIEW_LAID,
   TL_VIEW_LOWERED,
   TL_VIEW_PTX,
   TL_VIEW_SASS,
   TL_VIEW_STAGES
} TlViewStage;

typedef struct TlViewText {
   const char *text; /* NULL: not made */
   size_t len;
   const char *missing;   /* why it was not */
   TL_VEC(uint32_t) from; /* for each line: index into places, 0 = nothing known */
} TlViewText;

typedef struct TlViewLayout {
   const TlLinear *layout;
   const char *name; /* "#l0" */
} TlViewLayout;

/* A value of LAID that has a layout. */
typedef struct TlViewUse {
   const TlLinear *layout;
   const char *name;    /* NULL: an argument of a region that the text leaves without one */
   const char *type;    /* without layout */
   unsigned elem_bytes; /* as in memory */
   bool is_shared;
   uint32_t line; /* of its definition in LAID, from 1 */
} TlViewUse;

/* An operation of LAID, kept beyond it. */
typedef struct TlViewLaidOp {
   const char *what;
   uint32_t line, place;
} TlViewLaidOp;

/* A shared buffer: asked for in LAID, placed by lowering. */
typedef struct TlViewBuffer {
   uint32_t op; /* its number in LAID */
   uint32_t offset, bytes, stages;
   uint32_t first, last; /* operations of LAID, while it is taken */
   bool is_scratch, is_barriers, is_placed;
   uint32_t number;  /* on the page, of one that is placed */
   const char *what; /* text of the operation */
   const char *name; /* what is in it, for people */
   const char *type; /* NULL: scratch memory */
   const TlLinear *layout;
   uint32_t place;
   TL_VEC(uint32_t) use_lines; /* of LAID */
} TlViewBuffer;

typedef enum TlViewAct {
   TL_ACT_COPY, /* global to shared memory, asynchronous */
   TL_ACT_COMMIT,
   TL_ACT_WAIT_COPIES, /* until at most `num` groups are in flight */
   TL_ACT_COPY_ARRIVE, /* at barrier `addr`, when the copies so far have landed */
   TL_ACT_EXPECT,
   TL_ACT_BARRIER_WAIT,
   TL_ACT_BARRIER_ARRIVE,
   TL_ACT_DOT, /* asynchronous if is_async, else done when it is issued */
   TL_ACT_WAIT_DOTS,
   TL_ACT_SYNC,
   TL_ACT_READ,   /* shared memory */
   TL_ACT_WRITE,  /* likewise */
   TL_ACT_ATOMIC, /* of either memory */
   TL_ACT_LOAD,   /* global memory */
   TL_ACT_STORE,
   TL_ACT_MATH,
   TL_ACT_COUNT
} TlViewAct;

enum { TL_VIEW_MAX_SLOTS = 2 };

/* Something that a role does, in the order in which it does it. */
typedef struct TlViewEvent {
   TlViewAct act;
   uint32_t role; /* 0: all warps, before and after the roles; else number of the role, from 1 */
   uint32_t line; /* of LOWERED, from 1 */
   uint32_t place;
   uint32_t trip; /* of the innermost loop around it, from 1; 0 = in none */
   uint32_t num;  /* waits: left in flight; math: registers computed */
   bool is_async, has_address;
   bool is_masked;    /* its predicate is false: it takes nothing */
   uint32_t address;  /* of a barrier */
   uint32_t parity;   /* waits */
   uint32_t arrivals; /* that it makes, as far as its role goes */
   unsigned num_slots;
   struct {
      uint32_t buffer, stage; /* index into buffers */
   } slot[TL_VIEW_MAX_SLOTS]; /* that it touches */
} TlViewEvent;

/* An access of shared memory by one warp, as its instruction makes it. */
typedef struct TlViewAccess {
   uint32_t line, place; /* of LOWERED */
   const char *what;
   uint32_t buffer; /* index, or UINT32_MAX */
   unsigned bytes;  /* of a lane */
   bool is_known;   /* what follows is */
   unsigned wavefronts, minimum;
   unsigned num_lanes; /* that give addresses */
   uint32_t lane_address[32];
   unsigned lanes_seen; /* so far */
} TlViewAccess;

typedef struct TlViewRole {
   const char *name;
   uint32_t warps, registers;
} TlViewRole;

/* An mbarrier, by its address. */
typedef struct TlViewBarrier {
   uint32_t address, arrivals;
} TlViewBarrier;

typedef struct TlViewTrace {
   int64_t assumed; /* value of every integer argument */
   bool is_cut;     /* too long: only its beginning */
   TL_VEC(TlViewEvent) events;
   TL_VEC(TlViewAccess) accesses;
   TL_VEC(TlViewRole) roles; /* [0]: all warps */
   TL_VEC(TlViewBarrier) barriers;
} TlViewTrace;

struct TlView {
   TlArena *arena;
   TlSources *sources;
   const TlFunc *func; /* the kernel; others are ignored */
   TlRange range;
   TlViewText stage[TL_VIEW_STAGES];
   TL_VEC(TlRange) places; /* [0]: nowhere */
   TlMap place_of;
   TL_VEC(TlViewLayout) layouts; /* of LAID, in the order of their names */
   TL_VEC(TlViewUse) uses;
   TL_VEC(TlViewLaidOp) laid_ops;
   TL_VEC(TlViewBuffer) buffers;
   TlViewTrace trace;
   uint32_t shared_bytes, num_warps, extra_warps, num_stages;
};

/* stages.c */
uint32_t tl_view_place(TlView *v, TlRange range); /* index into places */
uint32_t tl_view_line_place(TlView *v, uint32_t file, uint32_t line, uint32_t column);
void tl_view_put_stages(TlView *v, TlSb *out);
void tl_view_put_sources(TlView *v, TlSb *out);

/* layouts.c */
void tl_view_layouts(TlView *v, const TlFunc *laid, const TlPrintIndex *index,
                     const uint32_t *lines);
void tl_view_put_layouts(TlView *v, TlSb *out);

/* shared.c */
void tl_view_buffers(TlView *v, const TlPrintIndex *laid, const uint32_t *lines);
void tl_view_put_in_place(TlView *v, const TlSharedPlace *places, size_t num);
/* The buffer of these bytes: of several that have them one after the other, that which `place`
 * fills, else the one that was filled last (by index, 0 = never).  UINT32_MAX: none. */
uint32_t tl_view_buffer_at(const TlView *v, uint32_t begin, uint32_t place,
                           const uint32_t *filled_at);
void tl_view_put_shared(TlView *v, const TlTarget *target, TlSb *out);

/* trace.c */
void tl_view_trace(TlView *v, const TlFunc *lowered, const TlPrintIndex *index,
                   const uint32_t *lines);

/* timeline.c */
void tl_view_put_timeline(TlView *v, TlSb *out);

/* facts.c */
void tl_view_put_facts(TlView *v, const TlViewFacts *facts, TlSb *out);

#endif
