/* Rings that boxes of tensors fill without warps of their own: the first thread of the block sends
 * for them, in place of copies by all threads.
 *
 *    full = barriers, ring = local_alloc
 *    prologue: for s in 0 .. S-2:  expect(full, s), boxes -> stage s, where there is an iteration s
 *    for:      wait(full, stage, parity) before the first use
 *              a = first product                 begun: the tensor cores are at work meanwhile
 *              expect, boxes of iteration i + S-1 -> its stage
 *              the rest of the old body
 *
 * Each group of copies has an mbarrier a stage: a wait for one takes no count of what was issued
 * behind it, and threads that multiply have no addresses to make.  That everybody is done with the
 * stage that is filled anew, a barrier of the block says (insert_barriers), as for copies.
 *
 * A loop that runs more than once begins where it ended: stage and parity are carried through all
 * that is outside, so that the mbarriers are made once.  Each box that is sent for is waited for by
 * the iteration that it is for, so none is under way where the loop ends, however many iterations
 * there were; of none, and of a condition that does not hold, both come out as they went in.  That
 * all are done with the ring, and that what threads stored where it lies is fenced, says a barrier
 * before the next prologue (insert_barriers).
 *
 * Done where wgmma computes all products: what comes by boxes and what wgmma reads meets in no
 * register. */
#include "ir/affine.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "layout/hw_layouts.h"
#include "passes/dot_layouts.h"
#include "passes/lower/lower.h"
#include "passes/pipeline_loops.h"
#include "passes/remark.h"
#include "passes/ring_boxes.h"

#include <assert.h>

/* ---- which loops ---- */
/* The first product of the body, not of a condition in it; NULL: there is none. */
static TlOp *
first_product(const TlBlock *body)
{
   TlOp *op = body->first;
   while (op && op->opcode != TL_OP_DOT)
      op = op->next;
   return op;
}

static size_t
maps_of(const TlFunc *f)
{
   size_t n = 0;
   for (const TlOp *op = f->body->block->first; op; op = op->next)
      n += op->opcode == TL_OP_TENSOR_MAP;
   return n;
}

static const char *
find_boxes(TlPipe *p)
{
   const char *why = NULL;
   for (size_t i = 0; i < p->loads.len && !why; i++)
      why = tl_why_no_boxes(p, &p->loads.data[i]);
   for (size_t i = 0; i < p->loads.len && !why; i++)
      p->loads.data[i].boxes = tl_ring_boxes(p, &p->loads.data[i], &why);
   return why;
}

/* What coordinates need takes the place of what addresses and masks need. */
static bool
slice_coordinates(TlPipe *p)
{
   tl_slice_init(&p->slice, p->cx->scratch, p->loop);
   for (size_t i = 0; i < p->loads.len; i++) {
      const TlBoxAccess *x = p->loads.data[i].boxes;
      for (unsigned k = 0; k < x->rank; k++)
         if (!tl_slice_add(&p->slice, x->coordinate[k]))
            return false;
   }
   return true;
}

void
tl_pipe_allow_boxes(TlPipe *p)
{
   const TlPassCx *cx = p->cx;
   if (!cx->uses_boxes || !(cx->target->features & TL_FEAT_WGMMA) || p->func->extra_warps ||
       !first_product(p->body) || !tl_only_by_wgmma(p->body))
      return;
   p->affine = tl_affine_new(cx->scratch, p->func);
   tl_affine_doubt_arguments(p->affine);
}

bool
tl_pipe_choose_boxes(TlPipe *p)
{
   const TlPassCx *cx = p->cx;
   if (!p->affine || maps_of(p->func) + p->loads.len > TL_MAX_MAPS)
      return false;
   const char *why = find_boxes(p);
   if (!why && !slice_coordinates(p))
      why = "its coordinates cannot be computed ahead";
   p->by_boxes = !why;
   for (size_t i = 0; i < p->loads.len; i++)
      tl_ring_boxes_remark(cx, &p->loads.data[i], why);
   return p->by_boxes;
}

/* ---- barriers ---- */
TlValue *
tl_ring_barriers(TlBuilder *b, unsigned stages, unsigned arrivals)
{
   static const uint32_t shape[] = {1};
   TlLinear memory = tl_hw_shared_plain(1, shape, (const unsigned[]){0});
   TlTypes *types = b->module->types;
   return tl_b0(b, TL_OP_BARRIERS,
                tl_type_memdesc(types, TL_I64, 1, shape, tl_layout_intern(types, &memory), stages),
                {TL_ATTR_ARRIVALS, {.i = arrivals}});
}

/* The operation before which mbarriers are made: at the top of the kernel, behind the maps, where
 * all threads see them, and behind the first loads, which are under way while the threads meet. */
static TlOp *
place_of_barriers(const TlPipe *p)
{
   TlMap loaded;
   tl_map_init(&loaded, p->cx->scratch);
   for (TlOp *op = p->func->body->block->first;; op = op->next) {
      bool is_load = op->opcode == TL_OP_LOAD;
      if (op->opcode == TL_OP_BARRIERS || op == p->loop || op->num_regions ||
          (!is_load && !tl_op_is_pure(op)))
         return op;
      for (unsigned i = 0; i < op->num_args; i++)
         if (tl_arg(op, i)->def && tl_map_get(&loaded, tl_arg(op, i)->def))
            return op;
      if (is_load)
         tl_map_put(&loaded, op, op);
   }
}

void
tl_boxes_build_barriers(TlPipe *p)
{
   TlOp *at = place_of_barriers(p);
   TlBuilder b = tl_builder_before(at);
   b.range = p->loop->range;
   p->full = tl_ring_barriers(&b, p->stages * p->groups, 1);
   if (at->opcode != TL_OP_BARRIERS)
      tl_build_n(&b, TL_OP_DEBUG_BARRIER, NULL, 0, NULL, TL_ATTRS_());
}

static TlValue *
barrier_of(const TlPipe *p, TlBuilder *b, unsigned group, TlValue *slot)
{
   return group ? tl_b2(b, TL_OP_ADD, slot, tl_const_int(b, TL_I32, group * p->stages)) : slot;
}

void
tl_boxes_wait(const TlPipe *p, TlBuilder *b, unsigned group, TlValue *slot, TlValue *parity)
{
   TlValue *args[] = {p->full, barrier_of(p, b, group, slot), parity};
   tl_build_n(b, TL_OP_BARRIER_WAIT, args, 3, NULL, TL_ATTRS_());
}

void
tl_boxes_issue(TlPipe *p, TlBuilder *b, const TlPipeTarget *t, unsigned group)
{
   TlValue *at = barrier_of(p, b, group, t->slot), *args[] = {p->full, at, t->exists};
   int64_t bytes = 0;
   for (size_t i = 0; i < p->loads.len; i++)
      if (p->loads.data[i].group == group)
         bytes += tl_memdesc_stage_bytes(p->loads.data[i].stage);
   tl_build_n(b, TL_OP_BARRIER_EXPECT, args, 3, NULL, TL_ATTRS_({TL_ATTR_BYTES, {.i = bytes}}));
   for (size_t i = 0; i < p->loads.len; i++) {
      const TlRingLoad *l = &p->loads.data[i];
      if (l->group != group)
         continue;
      b->range = l->op->range;
      TlValue *view = tl_ring_view(b, l, t->slot, t->ahead);
      tl_ring_boxes_copy(p, b, l, view, p->full, at, t->map, t->exists);
   }
}

/* Behind the first product: it is under way while a thread sends for more. */
TlOp *
tl_boxes_place(const TlBlock *body)
{
   TlOp *product = first_product(body);
   assert(product && product->next);
   return product->next;
}

/* ---- stage and parity, around the loop ---- */
/* One of the loops and conditions around. */
typedef struct Around {
   TlOp *op;
   unsigned region; /* that the ring's loop is in */
   TlValue *before[2];
} Around;

struct TlRingNest {
   TL_VEC(Around) around; /* from the innermost to the outermost loop */
};

static unsigned
region_of(const TlOp *op, const TlBlock *block)
{
   for (unsigned r = 0; r < op->num_regions; r++)
      if (op->regions[r]->block == block)
         return r;
   assert(false && "a region of the operation");
   return 0;
}

static TlRingNest *
find_nest(const TlPipe *p)
{
   TlRingNest *nest = tl_new(p->cx->scratch, TlRingNest);
   size_t loops = 0;
   for (TlOp *inner = p->loop, *op = tl_parent(inner); op; inner = op, op = tl_parent(op)) {
      assert(tl_is_branching(op));
      Around a = {.op = op, .region = region_of(op, inner->block)};
      tl_vec_push(p->cx->scratch, &nest->around, a);
      loops = tl_is_loop(op) ? nest->around.len : loops;
   }
   nest->around.len = loops; /* conditions around all of them run once */
   return nest;
}

TlRingNest *
tl_boxes_enter(TlPipe *p, TlValue *state[2])
{
   TlRingNest *nest = find_nest(p);
   size_t n = nest->around.len;
   TlBuilder b = tl_builder_before(n ? nest->around.data[n - 1].op : p->loop);
   b.range = p->loop->range;
   state[0] = state[1] = tl_const_int(&b, TL_I32, 0);
   while (n-- > 0) {
      Around *a = &nest->around.data[n];
      unsigned num = a->op->num_results;
      a->op = tl_carrying(a->op, state, 2);
      for (unsigned i = 0; i < 2; i++) {
         a->before[i] = state[i];
         if (tl_is_loop(a->op))
            state[i] = tl_carried(a->op->regions[a->region]->block, num + i);
      }
   }
   return nest;
}

/* The region without the ring's loop passes on what it begins with. */
void
tl_boxes_leave(TlRingNest *nest, TlValue *state[2])
{
   for (size_t n = 0; n < nest->around.len; n++) {
      const Around *a = &nest->around.data[n];
      unsigned num = a->op->num_results - 2;
      for (unsigned r = 0; r < a->op->num_regions; r++) {
         TlBlock *block = a->op->regions[r]->block;
         for (unsigned i = 0; i < 2; i++) {
            TlValue *other = tl_is_loop(a->op) ? tl_carried(block, num + i) : a->before[i];
            tl_append_arg(block->last, r == a->region ? state[i] : other);
         }
      }
      for (unsigned i = 0; i < 2; i++)
         state[i] = tl_result(a->op, num + i);
   }
}
