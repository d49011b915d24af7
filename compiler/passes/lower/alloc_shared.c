/* Offsets of shared buffers and of scratch memory: first fit over lifetimes.
 *
 * Time is the preorder number of operations.  A buffer made in a loop body lives within one
 * iteration; one made outside and used inside lives to the loop's end.  A scratch area stays
 * reserved until the next operation with scratch, when there is room, so that neighbours alternate
 * between two areas and one barrier between them is enough.  Invariant: two buffers alive at one
 * time never overlap. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/lower/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct Buffer {
   TlOp *op;
   bool is_scratch;
   uint32_t bytes, align, offset;
   uint32_t begin, end; /* times, both inclusive */
} Buffer;

typedef struct Alloc {
   TlLowerCx *cx;
   TL_VEC(Buffer) buffers;
   uint32_t time;
   uint32_t num_ops;       /* walked so far */
   TL_VEC(uint32_t) op_at; /* number of the operation of each time, from time 1 on */
   TlMap buffer_of;        /* memdesc TlValue * -> index + 1 */
   uint32_t last_scratch;  /* index + 1 of the latest scratch buffer */
   bool keep_in_loops;     /* buffers made in a loop keep their place for the whole of it */
} Alloc;

/* Up to this much, places are not shared among the buffers of a loop: fewer barriers. */
enum { ROOMY_BYTES = 64 * 1024 };

uint32_t
tl_scratch_bytes(TlArena *arena, const TlFunc *f, const TlOp *op)
{
   TlLinear from, to;
   uint32_t num_warps = tl_warps_at(f, op);
   assert(num_warps && (num_warps & (num_warps - 1)) == 0);
   switch (op->opcode) {
   case TL_OP_CONVERT_LAYOUT:
      from = tl_layout_of(tl_arg(op, 0)->type);
      break;
   case TL_OP_EXPAND_DIMS:
   case TL_OP_RESHAPE:
   case TL_OP_TRANS:
      if (!tl_retyped_layout(op, &from))
         return 0;
      break;
   case TL_OP_BROADCAST:
      from = tl_layout_of(tl_arg(op, 0)->type);
      to = tl_broadcast_source(tl_arg(op, 0)->type, tl_result(op, 0)->type, NULL);
      return tl_convert_scratch(arena, tl_arg(op, 0)->type->elem, &from, &to);
   case TL_OP_JOIN:
   case TL_OP_CAT:
      from = tl_pair_layout(op);
      break;
   case TL_OP_REDUCE:
      return tl_reduce_scratch(op);
   case TL_OP_SCAN:
      return tl_scan_scratch(op, num_warps);
   case TL_OP_GATHER:
      return tl_gather_scratch(arena, op);
   case TL_OP_HISTOGRAM:
      return tl_histogram_scratch(op);
   case TL_OP_ATOMIC_RMW:
   case TL_OP_ATOMIC_CAS:
      return tl_atomic_scratch(op, (unsigned)__builtin_ctz(num_warps));
   default:
      return 0;
   }
   to = tl_layout_of(tl_result(op, 0)->type);
   return tl_convert_scratch(arena, tl_result(op, 0)->type->elem, &from, &to);
}

/* Buffers with a swizzle over 128-byte rows start at a multiple of its period. */
static uint32_t
alignment_of(uint32_t bytes)
{
   assert(bytes > 0);
   return bytes >= 1024 ? 1024 : bytes >= 128 ? 128 : 16;
}

static bool
is_buffer(const TlOp *op)
{
   return op->opcode == TL_OP_LOCAL_ALLOC || op->opcode == TL_OP_BARRIERS ||
          op->opcode == TL_OP_OWN_MAP;
}

static void
add_buffer(Alloc *a, TlOp *op, uint32_t bytes, bool is_scratch)
{
   assert(bytes > 0 && (is_scratch || is_buffer(op)));
   Buffer b = {.op = op,
               .is_scratch = is_scratch,
               .bytes = bytes,
               .align = is_scratch ? 128 : alignment_of(bytes),
               .begin = a->time,
               .end = a->time};
   tl_vec_push(a->cx->scratch, &a->buffers, b);
   if (!is_scratch)
      return;
   if (a->last_scratch)
      a->buffers.data[a->last_scratch - 1].end = a->time; /* alternate with the one before */
   a->last_scratch = (uint32_t)a->buffers.len;
}

static void
touch(Alloc *a, const TlValue *v)
{
   uintptr_t index = (uintptr_t)tl_map_get(&a->buffer_of, v);
   if (index && a->buffers.data[index - 1].end < a->time)
      a->buffers.data[index - 1].end = a->time;
}

static void
note_result(Alloc *a, TlOp *op)
{
   const TlType *t = op->num_results ? tl_result(op, 0)->type : NULL;
   if (op->opcode == TL_OP_OWN_MAP) {
      add_buffer(a, op, tl_own_map_bytes(a->cx->func, op), false);
      a->buffers.data[a->buffers.len - 1].begin = 1; /* no barrier orders it with others */
      a->buffers.data[a->buffers.len - 1].end = UINT32_MAX;
   }
   if (!t || t->kind != TL_TYPE_MEMDESC)
      return;
   if (is_buffer(op)) {
      add_buffer(a, op, tl_memdesc_stage_bytes(t) * t->count, false);
      if (op->opcode == TL_OP_BARRIERS) /* no barrier would order what came after their last use */
         a->buffers.data[a->buffers.len - 1].end = UINT32_MAX;
      tl_map_put(&a->buffer_of, tl_result(op, 0), (void *)(uintptr_t)a->buffers.len);
   } else if (op->num_args) { /* a view */
      tl_map_put(&a->buffer_of, tl_result(op, 0), tl_map_get(&a->buffer_of, tl_arg(op, 0)));
   }
}

static void
tick(Alloc *a)
{
   a->time++;
   tl_vec_push(a->cx->scratch, &a->op_at, a->num_ops - 1);
}

static void
walk(Alloc *a, const TlBlock *block)
{
   for (TlOp *op = block->first; op; op = op->next) {
      a->num_ops++;
      tick(a);
      for (unsigned i = 0; i < op->num_args; i++)
         touch(a, tl_arg(op, i));
      note_result(a, op);
      uint32_t bytes = tl_scratch_bytes(a->cx->scratch, a->cx->func, op);
      if (bytes)
         add_buffer(a, op, bytes, true);
      uint32_t start = a->time;
      size_t outside = a->buffers.len;
      for (unsigned i = 0; i < op->num_regions; i++)
         walk(a, op->regions[i]->block);
      if (!tl_is_loop(op))
         continue;
      tick(a);
      for (size_t i = 0; i < a->buffers.len; i++) { /* used in some iteration: alive in all */
         Buffer *b = &a->buffers.data[i];
         bool is_inside = i >= outside;
         if (b->is_scratch || b->end <= start || (is_inside && !a->keep_in_loops))
            continue;
         b->begin = is_inside ? start : b->begin;
         b->end = b->end < a->time ? a->time : b->end;
      }
   }
}

static bool
overlaps_in_time(const Buffer *a, const Buffer *b)
{
   assert(a->begin <= a->end && b->begin <= b->end);
   return a->begin <= b->end && b->begin <= a->end;
}

static int
larger_first(const void *x, const void *y)
{
   const Buffer *a = *(const Buffer *const *)x, *b = *(const Buffer *const *)y;
   if (a->bytes != b->bytes)
      return a->bytes > b->bytes ? -1 : 1;
   return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static uint64_t
first_fit(Buffer **placed, size_t n, const Buffer *b)
{
   assert(b->align && (b->align & (b->align - 1)) == 0);
   uint64_t at = 0;
   for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < n; i++) {
         const Buffer *p = placed[i];
         uint64_t p_end = (uint64_t)p->offset + p->bytes;
         if (overlaps_in_time(p, b) && at < p_end && p->offset < at + b->bytes) {
            at = (p_end + b->align - 1) / b->align * b->align;
            moved = true;
         }
      }
   }
   return at;
}

/* Places all buffers; the bytes needed. */
static uint64_t
place(Alloc *a)
{
   size_t n = a->buffers.len;
   Buffer **order = tl_new_array(a->cx->scratch, Buffer *, n);
   uint64_t total = 0;
   for (size_t i = 0; i < n; i++)
      order[i] = &a->buffers.data[i];
   if (n)
      qsort(order, n, sizeof order[0], larger_first);
   for (size_t i = 0; i < n; i++) {
      uint64_t at = first_fit(order, i, order[i]);
      if (at + order[i]->bytes > UINT32_MAX)
         return UINT32_MAX;
      order[i]->offset = (uint32_t)at;
      total = at + order[i]->bytes > total ? at + order[i]->bytes : total;
   }
   return total;
}

static void
end_scratch_early(Alloc *a)
{
   for (size_t i = 0; i < a->buffers.len; i++)
      if (a->buffers.data[i].is_scratch)
         a->buffers.data[i].end = a->buffers.data[i].begin;
}

/* The time at which the most bytes are alive. */
static uint32_t
peak_of(const Alloc *a)
{
   uint64_t most = 0;
   uint32_t peak = 0;
   for (size_t i = 0; i < a->buffers.len; i++) { /* it is some buffer's first moment */
      uint32_t time = a->buffers.data[i].begin;
      uint64_t sum = 0;
      for (size_t k = 0; k < a->buffers.len; k++) {
         const Buffer *b = &a->buffers.data[k];
         sum += b->begin <= time && time <= b->end ? b->bytes : 0;
      }
      if (sum > most) {
         most = sum;
         peak = time;
      }
   }
   return peak;
}

static unsigned
stages_of(const Buffer *b)
{
   bool is_ring = !b->is_scratch && tl_result(b->op, 0)->type->kind == TL_TYPE_MEMDESC;
   return is_ring ? tl_result(b->op, 0)->type->count : 1;
}

/* What the buffer is for: the operation that fills it. */
static const char *
purpose_of(const Buffer *b)
{
   const TlValue *filled = !b->is_scratch && b->op->num_args ? tl_arg(b->op, 0) : NULL;
   if (b->is_scratch)
      return tl_info(b->op)->text;
   return filled && filled->def ? tl_info(filled->def)->text : "load";
}

static bool
report_too_much(Alloc *a, uint64_t total, uint32_t limit)
{
   assert(total > limit);
   TlPassCx *pass = a->cx->pass;
   const char *arch = pass->target ? pass->target->arch : "this target";
   uint32_t peak = peak_of(a);
   size_t n = 0;
   Buffer **live = tl_new_array(a->cx->scratch, Buffer *, a->buffers.len);
   for (size_t i = 0; i < a->buffers.len; i++) {
      Buffer *b = &a->buffers.data[i];
      if (b->begin <= peak && peak <= b->end)
         live[n++] = b;
   }
   qsort(live, n, sizeof live[0], larger_first);
   unsigned most_stages = 1;
   tl_report(pass->diags, E0406, live[0]->op->range, limit, limit / 1024, arch, (unsigned)total,
             (unsigned)((total + 1023) / 1024));
   for (size_t i = 0; i < n; i++) {
      unsigned stages = stages_of(live[i]);
      tl_note(pass->diags, N0406, live[i]->op->range, live[i]->bytes, purpose_of(live[i]), stages,
              stages == 1 ? "" : "s", live[i]->bytes / stages);
      most_stages = stages > most_stages ? stages : most_stages;
   }
   tl_help(pass->diags, most_stages > 1 ? "fewer stages or smaller tiles need less shared memory"
                                        : "smaller tiles need less shared memory");
   return tl_fail(a->cx);
}

static uint32_t
op_at(const Alloc *a, uint32_t time)
{
   assert(time > 0 && a->op_at.len > 0);
   return time > a->op_at.len ? a->num_ops - 1 : a->op_at.data[time - 1];
}

/* For who asks later; the code does not depend on it. */
static void
remember(Alloc *a, const Buffer *b)
{
   TlSharedPlace place = {.func = a->cx->func,
                          .offset = b->offset,
                          .bytes = b->bytes,
                          .first = op_at(a, b->begin),
                          .last = op_at(a, b->end),
                          .is_scratch = b->is_scratch};
   tl_vec_push(a->cx->arena, &a->cx->pass->places, place);
}

static uint32_t
limit_of(const TlPassCx *cx)
{
   return cx->target ? cx->target->max_shared_bytes : 99 * 1024;
}

/* The bytes that all take. */
static uint64_t
arrange(Alloc *a, TlLowerCx *cx)
{
   *a = (Alloc){.cx = cx, .keep_in_loops = true};
   tl_map_init(&a->buffer_of, cx->scratch);
   walk(a, cx->func->body->block);
   uint64_t total = place(a);
   if (total > ROOMY_BYTES) {
      *a = (Alloc){.cx = cx};
      tl_map_init(&a->buffer_of, cx->scratch);
      walk(a, cx->func->body->block);
      total = place(a);
   }
   if (total > limit_of(cx->pass)) {
      end_scratch_early(a);
      total = place(a);
   }
   return total;
}

uint64_t
tl_shared_bytes_for(TlPassCx *cx, TlFunc *f)
{
   TlLowerCx lower = {.pass = cx, .func = f, .scratch = cx->scratch};
   Alloc a;
   return arrange(&a, &lower);
}

bool
tl_alloc_shared(TlLowerCx *cx)
{
   uint32_t limit = limit_of(cx->pass);
   Alloc a;
   uint64_t total = arrange(&a, cx);
   if (total > limit)
      return report_too_much(&a, total, limit);
   for (size_t i = 0; i < a.buffers.len; i++) {
      Buffer *b = &a.buffers.data[i];
      remember(&a, b);
      if (b->is_scratch) {
         TlScratchSlot *slot = tl_new(cx->scratch, TlScratchSlot);
         *slot = (TlScratchSlot){b->offset, b->bytes};
         tl_map_put(&cx->scratch_of, b->op, slot);
      } else {
         tl_attr(b->op, TL_ATTR_OFFSET)->i = b->offset;
      }
   }
   cx->func->shared_bytes = (uint32_t)total;
   return true;
}
