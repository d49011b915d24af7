/* Which loads of a loop can be copied to rings of shared memory ahead of use, what a stage of the
 * ring is, in which groups their copies come, and how the loop reads the ring then.
 * Invariant: a load is taken only when its address and mask can be computed without the loop's
 * effects, and nothing in the loop stores where it reads. */
#include "ir/control.h"
#include "ir/walk.h"
#include "layout/hw_layouts.h"
#include "passes/coalesce.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
#include "passes/lower/lower.h"
#include "passes/place/place.h"
#include "passes/pipeline_loops.h"
#include "passes/remark.h"
#include "passes/ring_boxes.h"

#include <assert.h>
#include <string.h>

enum { MAX_PATH = 4, MAX_DEPTH = 256, WIDEST_SWIZZLE = 128 };

void
tl_pipe_refuse(TlPipe *p, const TlOp *load, const char *why)
{
   if (!p->is_of_roles && tl_warnings_has(&p->cx->diags->warnings, TL_WARNING_NOT_PIPELINED))
      tl_report(p->cx->diags, W0414, load->range, why);
   else if (tl_wants_remarks(p->cx->diags, "pipeline"))
      tl_report(p->cx->diags, R0414, load->range, why);
}

/* ---- which loops ---- */
bool
tl_block_has(const TlBlock *block, TlOpcode opcode)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block))
      if (op->opcode == opcode)
         return true;
   return false;
}

bool
tl_orders_memory(const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      switch (op->opcode) {
      case TL_OP_FOR:
      case TL_OP_WHILE:
      case TL_OP_ATOMIC_CAS:
      case TL_OP_DEBUG_BARRIER:
      case TL_OP_GDC_WAIT:
      case TL_OP_DEVICE_ASSERT: /* what follows may be safe only where it holds */
         return true;
      case TL_OP_ATOMIC_RMW: /* its result may say that data is ready */
         if (tl_result(op, 0)->uses)
            return true;
         break;
      case TL_OP_INLINE_ASM:
         if (!tl_attr_int(op, TL_ATTR_PURE))
            return true;
         break;
      default:
         break;
      }
   }
   return false;
}

bool
tl_pipe_is_plain(const TlBlock *block)
{
   return !tl_orders_memory(block) && !tl_block_has(block, TL_OP_ASYNC_COPY) &&
          !tl_block_has(block, TL_OP_ASYNC_COMMIT) && !tl_block_has(block, TL_OP_ASYNC_WAIT) &&
          !tl_block_has(block, TL_OP_BARRIER_WAIT);
}

bool
tl_is_copiers_own(const TlFunc *f, const TlOp *op)
{
   for (; op; op = tl_parent(op))
      if (op->opcode == TL_OP_ROLE)
         return tl_attr_int(op, TL_ATTR_FIRST_WARP) >= f->num_warps;
   return false;
}

/* ---- memory that the loop writes ---- */
/* What a pointer is another element of, NULL: not known to be of any. */
static TlValue *
pointer_base(const TlValue *v)
{
   assert(v->def);
   switch (v->def->opcode) {
   case TL_OP_ADDPTR:
   case TL_OP_SPLAT:
   case TL_OP_BROADCAST:
   case TL_OP_EXPAND_DIMS:
   case TL_OP_RESHAPE:
   case TL_OP_TRANS:
   case TL_OP_CONVERT_LAYOUT:
   case TL_OP_HINT:
      return tl_arg(v->def, 0);
   case TL_OP_PICK: /* of lowered code */
      return v->def->num_args == 1 ? tl_arg(v->def, 0) : NULL;
   default:
      return NULL;
   }
}

/* Is the i-th value that the loop carries, a pointer, made of itself in each iteration?  It may be
 * exchanged for another one instead. */
static bool
stays_with_root(const TlOp *loop, unsigned i)
{
   const TlBlock *body = loop->regions[0]->block;
   const TlValue *v = tl_arg(body->last, i);
   for (unsigned steps = 0; v && steps < MAX_DEPTH && v != tl_carried(body, i); steps++)
      if (!v->def)
         return false;
      else if (v->def->opcode != TL_OP_FOR)
         v = pointer_base(v);
      else if (stays_with_root(v->def, v->index))
         v = tl_init(v->def, v->index);
      else
         return false;
   return v == tl_carried(body, i);
}

/* The parameter that a pointer is computed from, NULL when that is not known. */
const TlValue *
tl_pointer_root(const TlValue *v)
{
   for (unsigned steps = 0; v && steps < MAX_DEPTH; steps++) {
      const TlOp *loop = v->def ? v->def : v->block->region->parent;
      if (!loop)
         return v;
      if (v->def && loop->opcode != TL_OP_FOR) {
         v = pointer_base(v);
         continue;
      }
      if (loop->opcode != TL_OP_FOR || v == tl_for_index(loop))
         return NULL;
      unsigned i = v->def ? v->index : v->index - tl_first_carried(loop);
      v = stays_with_root(loop, i) ? tl_init(loop, i) : NULL;
   }
   return NULL;
}

/* May the body store where the load reads?  Different parameters are taken for different memory. */
bool
tl_is_stored_to(const TlBlock *block, const TlValue *root)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      if (op->opcode == TL_OP_STORE || op->opcode == TL_OP_ATOMIC_RMW) {
         const TlValue *to = tl_pointer_root(tl_arg(op, 0));
         if (!to || !root || to == root)
            return true;
      }
   }
   return false;
}

bool
tl_can_run_ahead(const TlPassCx *cx, TlOp *loop, const TlOp *load, unsigned most_words)
{
   TlSlice s;
   if (tl_words_of(tl_result(load, 0)->type) > most_words || tl_attr_int(load, TL_ATTR_VOLATILE) ||
       tl_attr_int(load, TL_ATTR_CACHE) == TL_CACHE_CV ||
       tl_is_stored_to(loop->regions[0]->block, tl_pointer_root(tl_arg(load, 0))))
      return false;
   tl_slice_init(&s, cx->scratch, loop);
   for (unsigned i = 0; i < load->num_args; i++)
      if (!tl_slice_add(&s, tl_arg(load, i)))
         return false;
   return true;
}

/* ---- which loads ---- */
/* Loads of the body that dots read, element by element or in another arrangement. */
static void
mark_feeding(TlPipe *p, TlMap *feeding)
{
   TL_VEC(TlValue *) todo = {0};
   for (TlOp *op = p->body->first; op; op = op->next)
      for (unsigned i = 0; op->opcode == TL_OP_DOT && i < 2; i++)
         tl_vec_push(p->cx->scratch, &todo, tl_arg(op, i));
   while (todo.len) {
      TlOp *op = tl_vec_pop(&todo)->def;
      if (!op || op->block != p->body || tl_map_has(feeding, op))
         continue;
      bool passes = tl_op_is_pure(op) && op->opcode != TL_OP_DOT && !op->num_regions;
      if (op->opcode != TL_OP_LOAD && op->opcode != TL_OP_LOCAL_ALLOC &&
          op->opcode != TL_OP_LOCAL_LOAD && !passes)
         continue;
      tl_map_put(feeding, op, op);
      for (unsigned i = 0; op->opcode != TL_OP_LOAD && i < op->num_args; i++)
         tl_vec_push(p->cx->scratch, &todo, tl_arg(op, i));
   }
}

/* A buffer is only read, and only in its iteration. */
static bool
is_only_read(const TlValue *buffer)
{
   for (const TlUse *u = buffer->uses; u; u = u->next) {
      const TlOp *op = u->user;
      bool is_read = op->opcode == TL_OP_LOCAL_TRANS
                        ? is_only_read(tl_result(op, 0))
                        : op->opcode == TL_OP_LOCAL_LOAD || op->opcode == TL_OP_DOT;
      if (!is_read)
         return false;
   }
   return true;
}

/* The first buffer that v fills, itself or transposed; order: dimension of v -> of the load. */
static bool
find_buffer(const TlPipe *p, TlRingLoad *load, const TlValue *v, const unsigned *order,
            unsigned depth)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      TlOp *op = u->user;
      if (op->block != p->body)
         continue;
      if (op->opcode == TL_OP_LOCAL_ALLOC && is_only_read(tl_result(op, 0))) {
         load->alloc = op;
         load->stage = tl_result(op, 0)->type;
         memcpy(load->order, order, v->type->rank * sizeof order[0]);
         return true;
      }
      unsigned next[TL_MAX_RANK];
      memcpy(next, order, v->type->rank * sizeof next[0]);
      if (op->opcode == TL_OP_TRANS) {
         TlInts o = tl_attr_ints(op, TL_ATTR_ORDER);
         for (unsigned d = 0; d < o.len; d++)
            next[d] = order[o.data[d]];
      } else if (op->opcode != TL_OP_CONVERT_LAYOUT) {
         continue;
      }
      if (depth < MAX_PATH && find_buffer(p, load, tl_result(op, 0), next, depth + 1))
         return true;
   }
   return false;
}

const TlType *
tl_ring_turned_type(const TlPipe *p, const TlRingLoad *l)
{
   const TlType *t = tl_result(l->op, 0)->type;
   unsigned back[TL_MAX_RANK];
   for (unsigned d = 0; d < t->rank; d++)
      back[l->order[d]] = d;
   TlLinear memory = tl_ll_transpose(l->stage->layout, back);
   return tl_type_memdesc(p->types, t->dtype, t->rank, t->shape,
                          tl_layout_intern(p->types, &memory), 1);
}

bool
tl_is_zero_fill(const TlOp *load)
{
   assert(load->opcode == TL_OP_LOAD);
   uint64_t bits;
   return load->num_args < 3 || (tl_is_const(tl_arg(load, 2), &bits) && bits == 0);
}

static const char too_narrow[] = "a thread has less than 4 neighbouring bytes under one mask";

TlLinear
tl_ring_rows(const TlType *t, const unsigned *order, bool is_swizzled)
{
   return is_swizzled ? tl_hw_shared_swizzled(t->rank, t->shape, tl_dtype_info[t->dtype].bytes,
                                              order, WIDEST_SWIZZLE)
                      : tl_hw_shared_plain(t->rank, t->shape, order);
}

/* May this user of a load read the ring itself, in the layout that it converts to? */
static bool
reads_ring(const TlRingLoad *l, const TlOp *user)
{
   return user->opcode == TL_OP_CONVERT_LAYOUT && user->block == l->op->block &&
          tl_is_zero_fill(l->op);
}

/* The buffer that elements of the load fill when they have become narrower, and that products read
 * their fragments from: these may come from the ring, without a barrier and a second trip through
 * shared memory, where they take no more registers there than the load does.  NULL: there is no
 * such buffer. */
static TlOp *
find_narrowed(const TlPipe *p, const TlOp *load)
{
   const TlValue *loaded = tl_result(load, 0);
   const TlUse *use = loaded->uses;
   const TlOp *cast = use && !use->next ? use->user : NULL;
   if (!cast || cast->opcode != TL_OP_CAST || cast->block != p->body || !tl_is_zero_fill(load))
      return NULL;
   const TlValue *narrow = tl_result(cast, 0);
   use = narrow->uses;
   TlOp *alloc = use && !use->next ? use->user : NULL;
   if (!alloc || alloc->opcode != TL_OP_LOCAL_ALLOC || alloc->block != p->body ||
       tl_dtype_info[narrow->type->dtype].bits >= tl_dtype_info[loaded->type->dtype].bits)
      return NULL;
   for (const TlUse *u = tl_result(alloc, 0)->uses; u; u = u->next) {
      const TlOp *read = u->user;
      if (read->opcode != TL_OP_LOCAL_LOAD || read->block != p->body ||
          tl_words_of(narrow->type) < tl_words_of(tl_result(read, 0)->type))
         return NULL;
   }
   return alloc;
}

static int64_t
wavefronts_of_reads(const TlValue *buffer, const TlLinear *rows, unsigned bytes)
{
   int64_t sum = 0;
   for (const TlUse *u = buffer->uses; u; u = u->next)
      sum +=
         tl_place_shared_wavefronts(tl_result(u->user, 0)->type->layout, rows, bytes, TL_TILE_LOAD);
   return sum;
}

/* Wavefronts of all reads of a ring with these rows. */
static int64_t
read_wavefronts(const TlRingLoad *l, const TlLinear *rows)
{
   int64_t sum = 0;
   bool is_read = false; /* in the load's own layout */
   const TlType *t = tl_result(l->op, 0)->type;
   unsigned bytes = tl_dtype_info[t->dtype].bytes;
   for (const TlUse *u = tl_result(l->op, 0)->uses; u; u = u->next) {
      bool is_other = reads_ring(l, u->user);
      if (is_other || !is_read)
         sum += tl_place_shared_wavefronts(
            is_other ? tl_result(u->user, 0)->type->layout : t->layout, rows, bytes, TL_TILE_LOAD);
      is_read |= !is_other;
   }
   return sum;
}

/* Rows of the ring that the fragments of a narrower buffer are read from, where these take no more
 * wavefronts there than on the way through the buffer; false: they do. */
static bool
choose_rows_of_fragments(const TlRingLoad *l, const TlAccess *a, TlLinear *rows)
{
   const TlType *t = tl_result(l->op, 0)->type;
   const TlValue *buffer = tl_result(l->narrowed, 0);
   unsigned bytes = tl_dtype_info[t->dtype].bytes;
   unsigned narrow = tl_dtype_info[buffer->type->dtype].bytes;
   TlLinear some[] = {tl_ring_rows(t, a->order, false), tl_ring_rows(t, a->order, true),
                      tl_fragment_rows(t, a->order[0])};
   int64_t least = INT64_MAX, through = INT64_MAX;
   for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++) {
      int64_t own = read_wavefronts(l, &some[i]);
      int64_t n = wavefronts_of_reads(buffer, &some[i], bytes);
      through = own < through ? own : through;
      if (n < least) {
         least = n;
         *rows = some[i];
      }
   }
   through += tl_place_shared_wavefronts(t->layout, buffer->type->layout, narrow, TL_TILE_STORE) +
              wavefronts_of_reads(buffer, buffer->type->layout, narrow);
   return least <= through;
}

static const TlType *
stage_with(const TlPipe *p, const TlType *t, const TlLinear *rows)
{
   return tl_type_memdesc(p->types, t->dtype, t->rank, t->shape, tl_layout_intern(p->types, rows),
                          1);
}

/* A ring that is read into registers: rows as they lie in global memory or swizzled, whatever reads
 * have fewer conflicts with; or, where a buffer with other rows is stored from there, swizzled for
 * reads across them. */
static void
choose_rows(TlPipe *p, TlRingLoad *l, bool is_read_across)
{
   const TlType *t = tl_result(l->op, 0)->type;
   TlAccess a = tl_access_of(p->facts, l->op);
   TlLinear plain = tl_ring_rows(t, a.order, false), swizzled = tl_ring_rows(t, a.order, true);
   bool is_swizzled = is_read_across || read_wavefronts(l, &swizzled) < read_wavefronts(l, &plain);
   for (unsigned d = 0; d < t->rank; d++)
      l->order[d] = d;
   l->alloc = NULL;
   l->is_turned = false;
   l->stage = stage_with(p, t, is_swizzled ? &swizzled : &plain);
   l->narrowed = is_read_across || p->affine ? NULL : find_narrowed(p, l->op);
   TlLinear rows; /* other ones than boxes have */
   if (l->narrowed && choose_rows_of_fragments(l, &a, &rows))
      l->stage = stage_with(p, t, &rows);
   else
      l->narrowed = NULL;
}

static bool
is_converted_only(const TlOp *load)
{
   const TlUse *use = tl_result(load, 0)->uses;
   return use && !use->next && use->user->opcode == TL_OP_CONVERT_LAYOUT;
}

static unsigned
copy_bytes(const TlPipe *p, const TlRingLoad *l)
{
   return tl_async_copy_bytes(p->cx->scratch, p->facts, l->op, tl_ring_turned_type(p, l));
}

static const char *
choose_ring(TlPipe *p, TlRingLoad *l)
{
   assert(l->op->opcode == TL_OP_LOAD);
   const TlType *t = tl_result(l->op, 0)->type;
   unsigned same[TL_MAX_RANK];
   for (unsigned d = 0; d < t->rank; d++)
      same[d] = d;
   if (!tl_is_zero_fill(l->op) || !find_buffer(p, l, tl_result(l->op, 0), same, 0)) {
      choose_rows(p, l, false);
   } else {
      l->is_turned = memcmp(l->order, same, t->rank * sizeof same[0]) != 0;
      if (copy_bytes(p, l) < TL_LEAST_COPY && is_converted_only(l->op))
         choose_rows(p, l, true);
   }
   return copy_bytes(p, l) < TL_LEAST_COPY ? too_narrow : NULL;
}

static const char of_a_load[] = "its address or mask depends on another load of the loop";

/* A load whose result the address or mask of a copy is made of: of a table of pages, of rows by
 * expert.  NULL when it can run ahead itself, which takes registers for what it gives. */
static const char *
check_index_load(const TlPipe *p, const TlOp *op)
{
   enum { MOST_WORDS = 8 };
   return !p->is_of_roles && tl_can_run_ahead(p->cx, p->loop, op, MOST_WORDS) ? NULL : of_a_load;
}

/* A load that the next value of what a loop carries is made of would have to run ahead as well. */
static const char *
check_carried(const TlPipe *p, const TlSlice *s)
{
   TlSlice next;
   tl_slice_init(&next, p->cx->scratch, p->loop);
   for (size_t i = 0; i < s->carried.len; i++)
      if (!tl_slice_add(&next, tl_carried(p->body, s->carried.data[i])))
         return of_a_load;
   return NULL;
}

/* NULL when the load can run ahead, else why not. */
static const char *
check_load(TlPipe *p, TlRingLoad *l)
{
   assert(l->op->block == p->body);
   TlOp *op = l->op;
   const TlType *t = tl_result(op, 0)->type;
   if (t->elem->kind != TL_TYPE_SCALAR || tl_dtype_info[t->dtype].bits < 8)
      return "its elements are not numbers of whole bytes";
   if (tl_attr_int(op, TL_ATTR_VOLATILE) || tl_attr_int(op, TL_ATTR_CACHE) == TL_CACHE_CV)
      return "it is volatile";
   if (tl_is_stored_to(p->body, tl_pointer_root(tl_arg(op, 0))))
      return "the loop may store to the same memory";
   TlSlice s;
   tl_slice_init(&s, p->cx->scratch, p->loop);
   s.takes_loads = true;
   for (unsigned i = 0; i < op->num_args && i < 2; i++)
      if (!tl_slice_add(&s, tl_arg(op, i)))
         return s.has_load ? of_a_load : "its address or mask cannot be computed ahead";
   const char *why = s.loads.len ? check_carried(p, &s) : NULL;
   for (size_t i = 0; i < s.loads.len && !why; i++)
      why = check_index_load(p, s.loads.data[i]);
   if (why)
      return why;
   why = choose_ring(p, l);
   l->needs_boxes = why && p->affine && !tl_why_no_boxes(p, l);
   return l->needs_boxes ? NULL : why;
}

void
tl_pipe_find_loads(TlPipe *p)
{
   TlMap feeding;
   tl_map_init(&feeding, p->cx->scratch);
   mark_feeding(p, &feeding);
   for (TlOp *op = p->body->first; op; op = op->next) {
      if (op->opcode != TL_OP_LOAD || tl_result(op, 0)->type->kind != TL_TYPE_TILE ||
          !(p->has_stages || tl_map_has(&feeding, op)))
         continue;
      TlRingLoad l = {.op = op};
      const char *why = check_load(p, &l);
      if (why)
         tl_pipe_refuse(p, op, why);
      else
         tl_vec_push(p->cx->scratch, &p->loads, l);
   }
}

bool
tl_pipe_drop_needing_boxes(TlPipe *p)
{
   size_t kept = 0, num = p->loads.len;
   for (size_t i = 0; i < num; i++) {
      if (p->loads.data[i].needs_boxes)
         tl_pipe_refuse(p, p->loads.data[i].op, too_narrow);
      else
         p->loads.data[kept++] = p->loads.data[i];
   }
   p->loads.len = kept;
   return kept < num;
}

/* ---- bytes ---- */
uint64_t
tl_pipe_stage_bytes(const TlPipe *p)
{
   uint64_t sum = 0;
   for (size_t i = 0; i < p->loads.len; i++)
      sum += tl_memdesc_stage_bytes(p->loads.data[i].stage);
   return sum;
}

static bool
becomes_ring(const TlPipe *p, const TlOp *alloc)
{
   for (size_t i = 0; i < p->loads.len; i++)
      if (p->loads.data[i].alloc == alloc || p->loads.data[i].narrowed == alloc)
         return true;
   return false;
}

/* Is a buffer read in the loop, or filled before and read after it? */
static bool
is_alive_in(const TlOp *alloc, const TlPipe *p)
{
   const TlOp *loop = tl_in_block(p->loop, alloc->block);
   bool is_before = loop && tl_stands_before(alloc, loop);
   for (const TlUse *u = tl_result(alloc, 0)->uses; u; u = u->next) {
      const TlOp *user = tl_in_block(u->user, alloc->block);
      if (tl_in_block(u->user, p->body) ||
          (is_before && user && user != loop && tl_stands_before(loop, user)))
         return true;
   }
   return false;
}

/* Shared bytes of other buffers that are alive in the loop. */
uint64_t
tl_pipe_buffer_bytes(const TlPipe *p, const TlBlock *block)
{
   uint64_t sum = 0;
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      bool is_of_roles = p->func->extra_warps && !tl_parent(op); /* others use it meanwhile */
      if (op->opcode == TL_OP_LOCAL_ALLOC && !becomes_ring(p, op) &&
          (is_of_roles || is_alive_in(op, p))) {
         const TlType *t = tl_result(op, 0)->type;
         sum += (uint64_t)tl_memdesc_stage_bytes(t) * t->count;
      }
   }
   return sum;
}

/* ---- groups of copies ---- */
static void
note_uses(const TlPipe *p, TlRingLoad *l, const TlMap *place, const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      if (u->user->opcode == TL_OP_LOCAL_TRANS) {
         note_uses(p, l, place, tl_result(u->user, 0));
         continue;
      }
      TlOp *op = tl_in_block(u->user, p->body);
      uint32_t at = (uint32_t)(uintptr_t)tl_map_get(place, op);
      if (!l->first_use || at < l->use_at) {
         l->first_use = op;
         l->use_at = at;
      }
   }
}

/* Does only the load's buffer come of it, through moves that the ring makes unnecessary? */
static bool
only_fills_buffer(const TlRingLoad *l)
{
   const TlValue *v = l->alloc ? tl_arg(l->alloc, 0) : NULL;
   for (; v && v != tl_result(l->op, 0); v = tl_arg(v->def, 0))
      if (v->uses->next)
         return false;
   return v && !v->uses->next;
}

/* Is a product computed between the two places?  One by wgmma is where something reads it. */
static bool
has_dot_between(const TlPipe *p, const TlMap *place, uint32_t from, uint32_t to)
{
   for (const TlOp *op = p->body->first; op; op = op->next) {
      uint32_t at = (uint32_t)(uintptr_t)tl_map_get(place, op);
      if (op->opcode != TL_OP_DOT || at >= to)
         continue;
      if (at >= from && !tl_is_by_wgmma(op))
         return true;
      for (const TlUse *u = tl_result(op, 0)->uses; u; u = u->next) {
         TlOp *user = tl_in_block(u->user, p->body);
         uint32_t read_at = (uint32_t)(uintptr_t)tl_map_get(place, user);
         if (tl_is_by_wgmma(op) && read_at >= from && read_at < to)
            return true;
      }
   }
   return false;
}

/* A load that no product reads, and that adds little to the bytes of the group before. */
static bool
is_beside(const TlRingLoad *l, uint64_t group_bytes)
{
   enum { LITTLE = 4 };
   return !l->alloc && (uint64_t)tl_memdesc_stage_bytes(l->stage) * LITTLE <= group_bytes;
}

/* Loads by first use, and the groups of their copies. */
void
tl_pipe_make_groups(TlPipe *p)
{
   TlMap place;
   uintptr_t at = 0;
   tl_map_init(&place, p->cx->scratch);
   for (TlOp *op = p->body->first; op; op = op->next)
      tl_map_put(&place, op, (void *)++at);
   for (size_t i = 0; i < p->loads.len; i++) {
      TlRingLoad l = p->loads.data[i];
      if (l.alloc)
         note_uses(p, &l, &place, tl_result(l.alloc, 0));
      if (!only_fills_buffer(&l))
         note_uses(p, &l, &place, tl_result(l.op, 0));
      size_t k = i;
      for (; k > 0 && p->loads.data[k - 1].use_at > l.use_at; k--)
         p->loads.data[k] = p->loads.data[k - 1];
      p->loads.data[k] = l;
   }
   uint32_t first = p->loads.data[0].use_at;
   uint64_t bytes = 0;
   p->groups = 1;
   for (size_t i = 0; i < p->loads.len; i++) {
      TlRingLoad *l = &p->loads.data[i];
      if (has_dot_between(p, &place, first, l->use_at) && !is_beside(l, bytes)) {
         p->groups++;
         first = l->use_at;
         bytes = 0;
      }
      l->group = p->groups - 1;
      bytes += tl_memdesc_stage_bytes(l->stage);
   }
}

/* ---- the ring as the body reads it ---- */
/* phase: how many iterations after the one at hand the stage is read. */
TlValue *
tl_ring_view(TlBuilder *b, const TlRingLoad *l, TlValue *slot, unsigned phase)
{
   assert(l->ring->type->kind == TL_TYPE_MEMDESC && phase < l->ring->type->count);
   return tl_t2(b, TL_OP_LOCAL_VIEW, l->stage, l->ring, slot, {TL_ATTR_PHASE, {.i = phase}});
}

/* The stage with the load's dimensions. */
TlValue *
tl_ring_turned_view(TlPipe *p, TlBuilder *b, const TlRingLoad *l, TlValue *view)
{
   unsigned rank = l->stage->rank;
   int64_t back[TL_MAX_RANK];
   if (!l->is_turned)
      return view;
   for (unsigned d = 0; d < rank; d++)
      back[l->order[d]] = d;
   return tl_t1(b, TL_OP_LOCAL_TRANS, tl_ring_turned_type(p, l), view,
                {TL_ATTR_ORDER, {.ints = tl_ints(p->func->module->arena, back, rank)}});
}

/* The load's value for those that take it in its own layout. */
static TlValue *
read_as_loaded(TlPipe *p, const TlRingLoad *l, TlValue *view)
{
   TlBuilder b = tl_builder_before(l->first_use);
   b.range = l->op->range;
   TlValue *v =
      tl_t1(&b, TL_OP_LOCAL_LOAD, tl_result(l->op, 0)->type, tl_ring_turned_view(p, &b, l, view));
   if (!tl_is_zero_fill(l->op))
      v = tl_b3(&b, TL_OP_SELECT, tl_arg(l->op, 1), v, tl_arg(l->op, 2));
   return v;
}

/* Its conversions read the ring themselves; what the first user needs is built before they go. */
static void
read_users(TlPipe *p, const TlRingLoad *l, TlValue *view)
{
   TlValue *loaded = tl_result(l->op, 0), *as_loaded = NULL;
   for (const TlUse *u = loaded->uses; u && !as_loaded; u = u->next)
      if (!reads_ring(l, u->user))
         as_loaded = read_as_loaded(p, l, view);
   for (TlUse *u = loaded->uses, *next; u; u = next) {
      TlOp *convert = u->user;
      next = u->next;
      if (!reads_ring(l, convert))
         continue;
      TlBuilder b = tl_builder_before(convert);
      TlValue *from = tl_ring_turned_view(p, &b, l, view), *to = tl_result(convert, 0);
      tl_replace_uses(to, tl_t1(&b, TL_OP_LOCAL_LOAD, to->type, from));
      tl_remove(convert);
   }
   if (as_loaded)
      tl_replace_uses(loaded, as_loaded);
}

/* Fragments come from the ring and become narrower in registers. */
static void
read_narrowed(TlPipe *p, const TlRingLoad *l, TlValue *view)
{
   TlOp *cast = tl_arg(l->narrowed, 0)->def;
   for (TlUse *u = tl_result(l->narrowed, 0)->uses, *next; u; u = next) {
      TlOp *read = u->user;
      TlValue *to = tl_result(read, 0);
      TlBuilder b = tl_builder_before(read);
      next = u->next;
      const TlType *t = tl_type_with_elem(p->types, to->type, tl_result(l->op, 0)->type->elem);
      TlValue *wide = tl_t1(&b, TL_OP_LOCAL_LOAD, t, tl_ring_turned_view(p, &b, l, view));
      TlOp *narrowed = tl_clone_op(&b, cast, NULL);
      tl_set_arg(narrowed, 0, wide);
      narrowed->results[0].type = to->type;
      tl_replace_uses(to, tl_result(narrowed, 0));
      tl_remove(read);
   }
   tl_remove(l->narrowed);
   tl_remove(cast);
}

/* Users of the load and of its buffers read the ring. */
void
tl_ring_read(TlPipe *p, TlRingLoad *l, TlValue *view)
{
   assert(view->type->kind == TL_TYPE_MEMDESC);
   TlValue *loaded = tl_result(l->op, 0);
   if (l->narrowed)
      read_narrowed(p, l, view);
   if (!only_fills_buffer(l))
      read_users(p, l, view);
   if (l->alloc) {
      TlValue *v = tl_arg(l->alloc, 0);
      tl_replace_uses(tl_result(l->alloc, 0), view);
      tl_remove(l->alloc);
      while (v != loaded && v->def->opcode != TL_OP_LOCAL_LOAD && tl_is_unused(v->def)) {
         TlOp *op = v->def;
         v = tl_arg(op, 0);
         tl_remove(op);
      }
   }
   tl_remove(l->op);
}

bool
tl_pipe_carries_products(const TlPipe *p)
{
   for (const TlOp *op = p->body->first; op; op = op->next) {
      const TlUse *use = op->opcode == TL_OP_DOT ? tl_result(op, 0)->uses : NULL;
      if (use && !use->next && use->user == p->body->last && tl_is_by_wgmma(op))
         return true;
   }
   return false;
}

/* Is the product one by wgmma that only adds to a value which the loop carries? */
static bool
is_sum(const TlPipe *p, const TlOp *dot)
{
   const TlValue *acc = tl_arg(dot, 2), *sum = tl_result(dot, 0);
   return !acc->def && acc->block == p->body && acc->index > 0 && !acc->uses->next &&
          !sum->uses->next && tl_arg(p->body->last, acc->index - 1) == sum && tl_is_by_wgmma(dot);
}

static bool
only_sums(const TlPipe *p, bool may_read_fragments)
{
   bool any = false;
   for (const TlOp *op = p->body->first; op; op = op->next) {
      if (op->opcode != TL_OP_DOT)
         continue;
      const TlValue *a = tl_arg(op, 0);
      bool is_read = a->type->kind == TL_TYPE_MEMDESC ||
                     (may_read_fragments && tl_value_is(a, TL_OP_LOCAL_LOAD));
      if (!is_sum(p, op) || !is_read)
         return false;
      any = true;
   }
   return any;
}

/* Does the body itself fill a buffer that the product reads?  What fills a ring comes ahead. */
static bool
reads_filled_buffer(const TlPipe *p, const TlOp *dot)
{
   for (unsigned i = 0; i < 2; i++) {
      const TlOp *op = tl_arg(dot, i)->def;
      while (op && (op->opcode == TL_OP_LOCAL_TRANS || op->opcode == TL_OP_LOCAL_LOAD))
         op = tl_arg(op, 0)->def;
      if (op && op->opcode == TL_OP_LOCAL_ALLOC && op->block == p->body && !becomes_ring(p, op))
         return true;
   }
   return false;
}

/* The body's only product; NULL: there is another, or none. */
static const TlOp *
only_product(const TlPipe *p)
{
   const TlOp *only = NULL;
   for (const TlOp *op = p->body->first; op; op = op->next)
      if (op->opcode == TL_OP_DOT) {
         if (only)
            return NULL;
         only = op;
      }
   return only;
}

bool
tl_pipe_fills_for_mma(const TlPipe *p)
{
   const TlOp *only = only_product(p);
   return only && !tl_is_by_wgmma(only) && reads_filled_buffer(p, only);
}

bool
tl_pipe_waits_for_sum(const TlPipe *p)
{
   const TlOp *only = only_product(p);
   return only && is_sum(p, only) &&
          (tl_arg(only, 0)->type->kind != TL_TYPE_MEMDESC || reads_filled_buffer(p, only));
}

bool
tl_pipe_only_sums_products(const TlPipe *p)
{
   return only_sums(p, false);
}

bool
tl_pipe_only_multiplies(const TlPipe *p)
{
   return only_sums(p, true);
}
