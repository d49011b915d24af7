/* Software pipelining: loads of a loop become asynchronous copies into rings of shared memory.
 *
 * In innermost `for` loops, loads that feed dots (and any load of a loop with its own num_stages)
 * are issued num_stages - 1 iterations ahead.  Where a product by wgmma may still be reading the
 * stage of the iteration before, the ring has a stage more, or the distance is one less:
 *
 *    ring = local_alloc : S stages, for each load
 *    prologue: for s in 0 .. S-2:  copies of iteration s -> stage s, masked off when there is no
 *              such iteration
 *    for:      wait for the copies of this iteration that are needed first
 *              copies of iteration i + S-1 -> stage (i + S-1) % S, read by iteration i-1
 *              the old body, reading stage i % S; waits for later copies before their first use
 *    wait for all: masked-off copies still write zeros
 *
 * Copies of an iteration are committed in G groups, in the order of their first uses: loads whose
 * first uses have no dot between them share one.  After the newest commit, a wait for group g of
 * some iteration leaves the groups committed after it in flight, whose number is known: at the top
 * (G-1 - g) + (S-2) G, after the copies of the iteration G more.
 *
 * Addresses and masks of later iterations come from a copy of the slice that computes them: of the
 * index, of what is outside, of carried values that run ahead in carried values of their own.
 * Invariant: every iteration commits exactly G groups, whether its copies are masked off or not,
 * so that the number of groups in flight tells which copies have arrived; and a stage is copied to
 * only after a wait and a barrier that follow its last reading. */
#include "passes/pipeline_loops.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "layout/hw_layouts.h"
#include "passes/coalesce.h"
#include "passes/dot_layouts.h"
#include "passes/lower/lower.h"
#include "passes/remark.h"

#include <assert.h>
#include <string.h>

enum { MAX_STAGES = 16, MAX_PATH = 4, MAX_DEPTH = 256 };

/* A wait in the middle of the body comes with a barrier.  Up to one warp for each of the four
 * schedulers of a multiprocessor it costs little; more warps would be kept from multiplying while
 * another computes. */
enum { MOST_WARPS_OF_LATE_WAITS = 4 };

/* A load that becomes copies. */
typedef struct Load {
   TlOp *op;
   TlOp *alloc;                 /* the buffer that it fills for dots, or NULL */
   const TlType *stage;         /* one stage of the ring */
   unsigned order[TL_MAX_RANK]; /* dimension of the ring -> of the load */
   bool is_turned;              /* order is not the identity */
   TlOp *first_use; /* operation of the body that reads it, or holds the one that does */
   uint32_t use_at; /* its place in the body */
   unsigned group;  /* of its copies, by first use */
   TlValue *ring;   /* set by the rewrite */
} Load;

typedef struct Pipe {
   TlPassCx *cx;
   TlFunc *func;
   TlTypes *types;
   TlAnalysis *facts;
   TlOp *loop;
   TlBlock *body; /* of the old loop */
   TL_VEC(Load) loads;
   TlSlice slice; /* what all copies need */
   unsigned stages, groups;
   unsigned ahead;  /* iterations that copies run ahead: stages - 1 or stages - 2 */
   int64_t step;    /* of the index; 0: known at run time only, of either sign */
   bool has_stages; /* the loop has its own num_stages */
} Pipe;

static void
refuse(Pipe *p, const TlOp *load, const char *why)
{
   if (tl_remarks_on(p->cx, "pipeline"))
      tl_report(p->cx->diags, R0414, load->range, why);
}

/* ---- which loops ---- */
static bool
has_opcode(const TlBlock *block, TlOpcode opcode)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block))
      if (op->opcode == opcode)
         return true;
   return false;
}

/* Nothing that orders memory or counts groups of its own. */
static bool
is_plain_body(const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      switch (op->opcode) {
      case TL_OP_FOR:
      case TL_OP_WHILE:
      case TL_OP_ATOMIC_CAS:
      case TL_OP_DEBUG_BARRIER:
      case TL_OP_GDC_WAIT:
      case TL_OP_ASYNC_COPY:
      case TL_OP_ASYNC_COMMIT:
      case TL_OP_ASYNC_WAIT:
         return false;
      case TL_OP_ATOMIC_RMW: /* its result may say that data is ready */
         if (tl_result(op, 0)->uses)
            return false;
         break;
      case TL_OP_INLINE_ASM:
         if (!tl_attr_int(op, TL_ATTR_PURE))
            return false;
         break;
      default:
         break;
      }
   }
   return true;
}

/* ---- memory that the loop writes ---- */
/* The parameter that a pointer is computed from, NULL when that is not known. */
static const TlValue *
root_of(const TlValue *v)
{
   for (unsigned steps = 0; steps < MAX_DEPTH; steps++) {
      if (!v->def) {
         const TlOp *parent = v->block->region->parent;
         if (!parent)
            return v;
         if (parent->opcode != TL_OP_FOR || v == tl_for_index(parent))
            return NULL;
         v = tl_init(parent, v->index - tl_first_carried(parent));
         continue;
      }
      switch (v->def->opcode) {
      case TL_OP_ADDPTR:
      case TL_OP_SPLAT:
      case TL_OP_BROADCAST:
      case TL_OP_EXPAND_DIMS:
      case TL_OP_RESHAPE:
      case TL_OP_TRANS:
      case TL_OP_CONVERT_LAYOUT:
      case TL_OP_HINT:
         v = tl_arg(v->def, 0);
         break;
      case TL_OP_FOR:
         v = tl_init(v->def, v->index);
         break;
      default:
         return NULL;
      }
   }
   return NULL;
}

/* May the body store where the load reads?  Different parameters are taken for different memory. */
static bool
is_stored_to(const TlBlock *block, const TlValue *root)
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      if (op->opcode == TL_OP_STORE || op->opcode == TL_OP_ATOMIC_RMW) {
         const TlValue *to = root_of(tl_arg(op, 0));
         if (!to || !root || to == root)
            return true;
      }
   }
   return false;
}

/* ---- which loads ---- */
/* Loads of the body that dots read, element by element or in another arrangement. */
static void
mark_feeding(Pipe *p, TlMap *feeding)
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
find_buffer(const Pipe *p, Load *load, const TlValue *v, const unsigned *order, unsigned depth)
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

/* The ring's stage as the load sees it. */
static const TlType *
view_type(const Pipe *p, const Load *l)
{
   const TlType *t = tl_result(l->op, 0)->type;
   unsigned back[TL_MAX_RANK];
   for (unsigned d = 0; d < t->rank; d++)
      back[l->order[d]] = d;
   TlLinear memory = tl_ll_transpose(l->stage->layout, back);
   return tl_type_memdesc(p->types, t->dtype, t->rank, t->shape,
                          tl_layout_intern(p->types, &memory), 1);
}

/* Are masked-off elements what a copy leaves for them? */
static bool
is_zero_fill(const TlOp *load)
{
   assert(load->opcode == TL_OP_LOAD);
   uint64_t bits;
   return load->num_args < 3 || (tl_is_const(tl_arg(load, 2), &bits) && bits == 0);
}

static const char *
choose_ring(Pipe *p, Load *l)
{
   assert(l->op->opcode == TL_OP_LOAD);
   const TlType *t = tl_result(l->op, 0)->type;
   const TlValue *ptr = tl_arg(l->op, 0), *mask = tl_pred(l->op);
   unsigned same[TL_MAX_RANK];
   for (unsigned d = 0; d < t->rank; d++)
      same[d] = d;
   if (!is_zero_fill(l->op) || !find_buffer(p, l, tl_result(l->op, 0), same, 0)) {
      TlAccess a = tl_access_of(p->facts, ptr, mask);
      TlLinear memory = tl_hw_shared_plain(t->rank, t->shape, a.order);
      memcpy(l->order, same, sizeof same);
      l->stage = tl_type_memdesc(p->types, t->dtype, t->rank, t->shape,
                                 tl_layout_intern(p->types, &memory), 1);
   }
   l->is_turned = memcmp(l->order, same, t->rank * sizeof same[0]) != 0;
   unsigned bytes = tl_async_copy_bytes(p->cx->scratch, p->facts, ptr, mask, view_type(p, l));
   return bytes < 4 ? "a thread has less than 4 neighbouring bytes under one mask" : NULL;
}

/* NULL when the load can run ahead, else why not. */
static const char *
check_load(Pipe *p, Load *l)
{
   assert(l->op->block == p->body);
   TlOp *op = l->op;
   const TlType *t = tl_result(op, 0)->type;
   if (t->elem->kind != TL_TYPE_SCALAR || tl_dtype_info[t->dtype].bits < 8)
      return "its elements are not numbers of whole bytes";
   if (tl_attr_int(op, TL_ATTR_VOLATILE) || tl_attr_int(op, TL_ATTR_CACHE) == TL_CACHE_CV)
      return "it is volatile";
   if (is_stored_to(p->body, root_of(tl_arg(op, 0))))
      return "the loop may store to the same memory";
   TlSlice s;
   tl_slice_init(&s, p->cx->scratch, p->loop);
   for (unsigned i = 0; i < op->num_args && i < 2; i++)
      if (!tl_slice_add(&s, tl_arg(op, i)))
         return s.has_load ? "its address or mask depends on another load of the loop"
                           : "its address or mask cannot be computed ahead";
   return choose_ring(p, l);
}

static void
find_loads(Pipe *p)
{
   TlMap feeding;
   tl_map_init(&feeding, p->cx->scratch);
   mark_feeding(p, &feeding);
   for (TlOp *op = p->body->first; op; op = op->next) {
      if (op->opcode != TL_OP_LOAD || tl_result(op, 0)->type->kind != TL_TYPE_TILE ||
          !(p->has_stages || tl_map_has(&feeding, op)))
         continue;
      Load l = {.op = op};
      const char *why = check_load(p, &l);
      if (why)
         refuse(p, op, why);
      else
         tl_vec_push(p->cx->scratch, &p->loads, l);
   }
}

/* The index some stages ahead must be computable: a small constant step, or one of 32 bits. */
static bool
find_step(Pipe *p)
{
   uint64_t bits;
   TlDtype t = tl_for_index(p->loop)->type->dtype;
   unsigned bytes = tl_dtype_info[t].bytes;
   if (tl_is_const(tl_for_step(p->loop), &bits))
      p->step = tl_bits_to_int(t, bits);
   else if (bytes == 4)
      return true;
   if (bytes >= 4 && p->step != 0 && p->step <= INT32_MAX / MAX_STAGES &&
       p->step >= -INT32_MAX / MAX_STAGES)
      return true;
   refuse(p, p->loads.data[0].op, "the index of the loop cannot be computed ahead");
   return false;
}

/* ---- how many stages ---- */
static uint64_t
stage_bytes(const Pipe *p)
{
   uint64_t sum = 0;
   for (size_t i = 0; i < p->loads.len; i++)
      sum += tl_memdesc_stage_bytes(p->loads.data[i].stage);
   return sum;
}

static bool
becomes_ring(const Pipe *p, const TlOp *alloc)
{
   for (size_t i = 0; i < p->loads.len; i++)
      if (p->loads.data[i].alloc == alloc)
         return true;
   return false;
}

static bool
is_used_in(const TlValue *v, const TlBlock *body)
{
   for (const TlUse *u = v->uses; u; u = u->next)
      if (tl_in_block(u->user, body))
         return true;
   return false;
}

/* Shared bytes of other buffers that are alive in the loop. */
static uint64_t
buffer_bytes(const Pipe *p, const TlBlock *block)
{
   uint64_t sum = 0;
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      if (op->opcode == TL_OP_LOCAL_ALLOC && !becomes_ring(p, op) &&
          is_used_in(tl_result(op, 0), p->body)) {
         const TlType *t = tl_result(op, 0)->type;
         sum += (uint64_t)tl_memdesc_stage_bytes(t) * t->count;
      }
   }
   return sum;
}

/* The largest scratch area of one operation. */
static uint64_t
scratch_bytes(const Pipe *p, const TlBlock *block)
{
   uint64_t most = 0;
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      uint64_t own = tl_scratch_bytes(p->cx->scratch, p->func, op);
      most = own > most ? own : most;
   }
   return most;
}

/* Trip count when the bounds are constants, else a large number. */
static uint64_t
known_trips(const Pipe *p)
{
   uint64_t bits[2];
   TlDtype t = tl_for_index(p->loop)->type->dtype;
   if (!p->step || !tl_is_const(tl_for_lower(p->loop), &bits[0]) ||
       !tl_is_const(tl_for_upper(p->loop), &bits[1]))
      return UINT64_MAX;
   __int128 from = tl_bits_to_int(t, bits[0]), to = tl_bits_to_int(t, bits[1]);
   __int128 way = p->step > 0 ? to - from : from - to, step = p->step > 0 ? p->step : -p->step;
   return way <= 0 ? 0 : (uint64_t)((way + step - 1) / step);
}

static bool
fits(const Pipe *p, unsigned stages)
{
   uint64_t other = buffer_bytes(p, p->func->body->block) + scratch_bytes(p, p->body);
   return stage_bytes(p) * stages + other <= p->cx->target->max_shared_bytes;
}

/* Loads that would need memory of their own go first. */
static void
drop_extra_loads(Pipe *p)
{
   size_t n = 0;
   for (size_t i = 0; i < p->loads.len; i++) {
      if (p->loads.data[i].alloc)
         p->loads.data[n++] = p->loads.data[i];
      else
         refuse(p, p->loads.data[i].op, "two stages of it do not fit in shared memory");
   }
   p->loads.len = n;
}

/* As many of the stages asked for as are useful and fit; below 2 there is nothing to gain. */
static void
limit_stages(Pipe *p)
{
   uint64_t trips = known_trips(p);
   unsigned asked = p->stages, useful = asked > MAX_STAGES ? MAX_STAGES : asked;
   if (useful > trips)
      useful = (unsigned)trips;
   if (useful > 1 && !fits(p, 2))
      drop_extra_loads(p);
   for (p->stages = useful; p->stages > 1 && !fits(p, p->stages);)
      p->stages--;
   if (p->stages < asked && p->stages < trips && tl_remarks_on(p->cx, "pipeline"))
      tl_report(p->cx->diags, R0415, p->loop->range, asked, (unsigned)stage_bytes(p),
                p->stages < 2 ? "the loop is not pipelined" : "fewer are used");
}

/* Does the body only add products by wgmma to what it carries?  Then one of them may be in flight
 * while the next is begun (delay_waits): copies leave alone what the iteration before reads. */
static bool
only_sums_products(const Pipe *p)
{
   bool any = false;
   for (const TlOp *op = p->body->first; op; op = op->next) {
      TlDotForm form;
      TlWgmmaOperand shared[2];
      if (op->opcode != TL_OP_DOT)
         continue;
      const TlValue *acc = tl_arg(op, 2), *sum = tl_result(op, 0);
      bool is_carried = !acc->def && acc->block == p->body && acc->index > 0 && !acc->uses->next &&
                        !sum->uses->next && tl_arg(p->body->last, acc->index - 1) == sum;
      if (!is_carried || tl_arg(op, 0)->type->kind != TL_TYPE_MEMDESC ||
          !tl_match_wgmma(op, &form, shared))
         return false;
      any = true;
   }
   return any;
}

/* May the ring have one more stage?  Not where fewer blocks would run side by side, unless their
 * warps are enough to take turns anyway. */
static bool
has_room_for_another(const Pipe *p)
{
   enum { BLOCK_BYTES = 1024, ENOUGH_BLOCKS = 2, ENOUGH_WARPS = 8 }; /* reserved for each block */
   uint64_t all = p->cx->target->max_shared_bytes + BLOCK_BYTES, now, then;
   if (p->stages >= MAX_STAGES || p->stages >= known_trips(p) || !fits(p, p->stages + 1))
      return false;
   now = all / (stage_bytes(p) * p->stages + BLOCK_BYTES);
   then = all / (stage_bytes(p) * (p->stages + 1) + BLOCK_BYTES);
   return then == now || (then >= ENOUGH_BLOCKS && then * p->func->num_warps >= ENOUGH_WARPS);
}

/* Where a product may still be reading the stage of the iteration before, that takes a stage. */
static void
choose_distance(Pipe *p)
{
   p->ahead = p->stages - 1;
   if (p->stages < 2 || !only_sums_products(p))
      return;
   if (has_room_for_another(p))
      p->stages++;
   else if (p->stages > 2)
      p->ahead--;
}

/* ---- groups of copies ---- */
static void
note_uses(const Pipe *p, Load *l, const TlMap *place, const TlValue *v)
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
only_fills_buffer(const Load *l)
{
   const TlValue *v = l->alloc ? tl_arg(l->alloc, 0) : NULL;
   for (; v && v != tl_result(l->op, 0); v = tl_arg(v->def, 0))
      if (v->uses->next)
         return false;
   return v && !v->uses->next;
}

static bool
has_dot_between(const Pipe *p, const TlMap *place, uint32_t from, uint32_t to)
{
   for (const TlOp *op = p->body->first; op; op = op->next) {
      uint32_t at = (uint32_t)(uintptr_t)tl_map_get(place, op);
      if (op->opcode == TL_OP_DOT && at >= from && at < to)
         return true;
   }
   return false;
}

/* Loads by first use, and the groups of their copies. */
static void
make_groups(Pipe *p)
{
   TlMap place;
   uintptr_t at = 0;
   tl_map_init(&place, p->cx->scratch);
   for (TlOp *op = p->body->first; op; op = op->next)
      tl_map_put(&place, op, (void *)++at);
   for (size_t i = 0; i < p->loads.len; i++) {
      Load l = p->loads.data[i];
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
   p->groups = 1;
   for (size_t i = 1; i < p->loads.len; i++) {
      Load *l = &p->loads.data[i];
      if (has_dot_between(p, &place, first, l->use_at)) {
         p->groups++;
         first = l->use_at;
      }
      l->group = p->groups - 1;
   }
}

static bool
waits_late(const Pipe *p)
{
   return p->func->num_warps <= MOST_WARPS_OF_LATE_WAITS;
}

/* ---- rewriting ---- */
static TlValue *
index_at(Pipe *p, TlBuilder *b, TlValue *from, int64_t iterations)
{
   assert(iterations >= 0);
   TlDtype t = from->type->dtype;
   if (iterations == 0)
      return from;
   TlValue *way = p->step
                     ? tl_const_int(b, t, iterations * p->step)
                     : tl_b2(b, TL_OP_MUL, tl_for_step(p->loop), tl_const_int(b, t, iterations));
   return tl_b2(b, TL_OP_ADD, from, way);
}

/* a before b in the direction of the step. */
static TlValue *
is_before(Pipe *p, TlBuilder *b, TlValue *x, TlValue *y)
{
   if (p->step)
      return tl_b2(b, p->step > 0 ? TL_OP_LT : TL_OP_GT, x, y);
   TlValue *step = tl_for_step(p->loop), *zero = tl_const_int(b, step->type->dtype, 0);
   return tl_b3(b, TL_OP_SELECT, tl_b2(b, TL_OP_GT, step, zero), tl_b2(b, TL_OP_LT, x, y),
                tl_b2(b, TL_OP_GT, x, y));
}

static TlValue *
widened(Pipe *p, TlBuilder *b, TlValue *v)
{
   return tl_t1(b, TL_OP_CAST, tl_type_scalar(p->types, TL_I64), v);
}

/* Is there an iteration that many after the one with index `from`, which itself exists?  The index
 * there may overflow: the distance to the bound is compared unsigned, or all in 64 bits. */
static TlValue *
exists_after(Pipe *p, TlBuilder *b, TlValue *from, int64_t iterations)
{
   assert(iterations >= 0);
   TlDtype t = from->type->dtype, u = tl_dtype_info[t].bytes == 8 ? TL_U64 : TL_U32;
   TlValue *upper = tl_for_upper(p->loop);
   if (p->step == 0) {
      TlValue *way = tl_b2(b, TL_OP_MUL, widened(p, b, tl_for_step(p->loop)),
                           tl_const_int(b, TL_I64, iterations));
      return is_before(p, b, tl_b2(b, TL_OP_ADD, widened(p, b, from), way), widened(p, b, upper));
   }
   bool up = p->step > 0;
   TlValue *way = tl_b2(b, TL_OP_SUB, up ? upper : from, up ? from : upper);
   if (t != u)
      way = tl_t1(b, TL_OP_BITCAST, tl_type_scalar(p->types, u), way);
   return tl_b2(b, TL_OP_GT, way, tl_const_int(b, u, iterations * (up ? p->step : -p->step)));
}

/* phase: how many iterations after the one at hand the stage is read. */
static TlValue *
stage_view(TlBuilder *b, const Load *l, TlValue *slot, unsigned phase)
{
   assert(l->ring->type->kind == TL_TYPE_MEMDESC && phase < l->ring->type->count);
   return tl_t2(b, TL_OP_LOCAL_VIEW, l->stage, l->ring, slot, {TL_ATTR_PHASE, {.i = phase}});
}

/* The stage with the load's dimensions. */
static TlValue *
turned_view(Pipe *p, TlBuilder *b, const Load *l, TlValue *view)
{
   unsigned rank = l->stage->rank;
   int64_t back[TL_MAX_RANK];
   if (!l->is_turned)
      return view;
   for (unsigned d = 0; d < rank; d++)
      back[l->order[d]] = d;
   return tl_t1(b, TL_OP_LOCAL_TRANS, view_type(p, l), view,
                {TL_ATTR_ORDER, {.ints = tl_ints(p->func->module->arena, back, rank)}});
}

/* The load's mask in the iteration of map, and the iteration exists. */
static TlValue *
copy_mask(Pipe *p, TlBuilder *b, const TlOp *load, const TlMap *map, TlValue *exists)
{
   const TlType *ptr = tl_arg(load, 0)->type;
   TlValue *mask = load->num_args > 1 ? tl_slice_mapped(map, tl_arg(load, 1)) : NULL;
   const TlType *t =
      mask ? mask->type : tl_type_with_elem(p->types, ptr, tl_type_scalar(p->types, TL_I1));
   TlValue *all = tl_t1(b, TL_OP_SPLAT, t, exists);
   return mask ? tl_b2(b, TL_OP_AND, mask, all) : all;
}

/* Copies of all loads of the iteration that many ahead, and the commits. */
static void
issue_copies(Pipe *p, TlBuilder *b, const TlMap *map, TlValue *slot, unsigned ahead,
             TlValue *exists)
{
   TlRange range = b->range;
   TlValue **token = tl_new_array(p->cx->scratch, TlValue *, p->loads.len);
   unsigned n = 0;
   for (size_t i = 0; i < p->loads.len; i++) {
      Load *l = &p->loads.data[i];
      b->range = l->op->range;
      TlValue *view = turned_view(p, b, l, stage_view(b, l, slot, ahead));
      TlValue *args[3] = {tl_slice_mapped(map, tl_arg(l->op, 0)), view,
                          copy_mask(p, b, l->op, map, exists)};
      token[n++] = tl_build_n(b, TL_OP_ASYNC_COPY, args, 3, NULL,
                              TL_ATTRS_({TL_ATTR_CACHE, *tl_attr(l->op, TL_ATTR_CACHE)},
                                        {TL_ATTR_EVICT, *tl_attr(l->op, TL_ATTR_EVICT)}));
      b->range = range;
      if (i + 1 == p->loads.len || l[1].group != l->group) {
         tl_build_n(b, TL_OP_ASYNC_COMMIT, token, n, NULL, TL_ATTRS_());
         n = 0;
      }
   }
}

static void
build_wait(TlBuilder *b, unsigned num)
{
   tl_build_n(b, TL_OP_ASYNC_WAIT, NULL, 0, NULL, TL_ATTRS_({TL_ATTR_NUM, {.i = num}}));
}

/* Copies of the first p->ahead iterations; ahead: carried values of the first iteration, then those
 * of iteration p->ahead. */
static void
build_prologue(Pipe *p, TlBuilder *b, TlValue **ahead)
{
   TlValue *lower = tl_for_lower(p->loop), *upper = tl_for_upper(p->loop);
   for (size_t i = 0; i < p->loads.len; i++) {
      Load *l = &p->loads.data[i];
      b->range = l->op->range;
      l->ring = tl_b0(b, TL_OP_LOCAL_ALLOC,
                      tl_type_memdesc(p->types, l->stage->dtype, l->stage->rank, l->stage->shape,
                                      l->stage->layout, p->stages));
   }
   b->range = p->loop->range;
   TlValue *any = is_before(p, b, lower, upper);
   for (unsigned s = 0; s < p->ahead; s++) {
      TlMap map;
      tl_map_init(&map, p->cx->scratch);
      tl_map_put(&map, tl_for_index(p->loop), index_at(p, b, lower, s));
      for (size_t i = 0; i < p->slice.carried.len; i++)
         tl_map_put(&map, tl_carried(p->body, p->slice.carried.data[i]), ahead[i]);
      tl_slice_clone(&p->slice, b, &map);
      TlValue *exists = s ? tl_b2(b, TL_OP_AND, any, exists_after(p, b, lower, s)) : any;
      issue_copies(p, b, &map, tl_const_int(b, TL_I32, s), s, exists);
      for (size_t i = 0; i < p->slice.carried.len; i++)
         ahead[i] = tl_slice_mapped(&map, tl_arg(p->body->last, p->slice.carried.data[i]));
   }
}

/* Users of the load and of its buffers read the ring. */
static void
read_ring(Pipe *p, Load *l, TlValue *view)
{
   assert(view->type->kind == TL_TYPE_MEMDESC);
   TlValue *loaded = tl_result(l->op, 0);
   if (!only_fills_buffer(l)) {
      TlBuilder b = tl_builder_before(l->first_use);
      b.range = l->op->range;
      TlValue *v = tl_t1(&b, TL_OP_LOCAL_LOAD, loaded->type, turned_view(p, &b, l, view));
      if (!is_zero_fill(l->op))
         v = tl_b3(&b, TL_OP_SELECT, tl_arg(l->op, 1), v, tl_arg(l->op, 2));
      tl_replace_uses(loaded, v);
   }
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

/* The stage after `slot`. */
static TlValue *
next_slot(Pipe *p, TlBuilder *b, TlValue *slot)
{
   assert(p->stages >= 2 && p->stages <= MAX_STAGES);
   TlValue *one = tl_const_int(b, TL_I32, 1), *zero = tl_const_int(b, TL_I32, 0);
   if (p->stages == 2)
      return tl_b2(b, TL_OP_XOR, slot, one);
   TlValue *is_last = tl_b2(b, TL_OP_EQ, slot, tl_const_int(b, TL_I32, p->stages - 1));
   return tl_b3(b, TL_OP_SELECT, is_last, zero, tl_b2(b, TL_OP_ADD, slot, one));
}

static void
rewrite_body(Pipe *p, TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR && loop != p->loop);
   TlBlock *body = loop->regions[0]->block;
   TlBuilder b = tl_builder_at_end(p->func, body);
   unsigned num = p->loop->num_results, num_ahead = (unsigned)p->slice.carried.len;
   TlValue *index = tl_for_index(loop), *take = tl_carried(body, num + num_ahead),
           *put = tl_carried(body, num + num_ahead + 1);
   b.range = p->loop->range;
   unsigned last = waits_late(p) ? 0 : p->groups - 1; /* of the groups waited for here */
   build_wait(&b, p->groups - 1 - last + (p->ahead - 1) * p->groups);
   TlMap map;
   tl_map_init(&map, p->cx->scratch);
   tl_map_put(&map, tl_for_index(p->loop), index_at(p, &b, index, p->ahead));
   for (unsigned i = 0; i < num_ahead; i++)
      tl_map_put(&map, tl_carried(p->body, p->slice.carried.data[i]), tl_carried(body, num + i));
   tl_slice_clone(&p->slice, &b, &map);
   issue_copies(p, &b, &map, put, p->ahead, exists_after(p, &b, index, p->ahead));
   TlValue **view = tl_new_array(p->cx->scratch, TlValue *, p->loads.len);
   for (size_t i = 0; i < p->loads.len; i++)
      view[i] = stage_view(&b, &p->loads.data[i], take, 0);
   TlValue *next = next_slot(p, &b, take);
   TlValue *put_next = p->ahead + 1 == p->stages ? take : next_slot(p, &b, put);

   TlOp *yield = p->body->last;
   TlValue **ahead = tl_new_array(p->cx->scratch, TlValue *, num_ahead);
   for (unsigned i = 0; i < num_ahead; i++)
      ahead[i] = tl_slice_mapped(&map, tl_arg(yield, p->slice.carried.data[i]));
   while (p->body->first)
      tl_move_to_end(p->body->first, body);
   for (unsigned i = 0; i <= num; i++)
      tl_replace_uses(p->body->args[i], body->args[i]);
   for (unsigned i = 0; i < num_ahead; i++)
      tl_append_arg(yield, ahead[i]);
   tl_append_arg(yield, next);
   tl_append_arg(yield, put_next);
   for (size_t i = 0; i < p->loads.len; i++) {
      Load *l = &p->loads.data[i];
      if (l->group > last) {
         b = tl_builder_before(l->first_use);
         build_wait(&b, p->groups - 1 - l->group + p->ahead * p->groups);
         last = l->group;
      }
   }
   for (size_t i = 0; i < p->loads.len; i++)
      read_ring(p, &p->loads.data[i], view[i]);
}

static void
rewrite(Pipe *p)
{
   assert(p->stages >= 2 && p->loads.len > 0);
   TlOp *old = p->loop;
   TlBuilder b = tl_builder_before(old);
   unsigned num_ahead = (unsigned)p->slice.carried.len;
   TlValue **more = tl_new_array(p->cx->scratch, TlValue *, num_ahead + 2);
   for (unsigned i = 0; i < num_ahead; i++)
      more[i] = tl_init(old, p->slice.carried.data[i]);
   build_prologue(p, &b, more);
   more[num_ahead] = tl_const_int(&b, TL_I32, 0);
   more[num_ahead + 1] = tl_const_int(&b, TL_I32, p->ahead);
   TlOp *loop = tl_for_with_more(&b, old, more, num_ahead + 2);
   rewrite_body(p, loop);
   build_wait(&b, 0);
   for (unsigned i = 0; i < old->num_results; i++)
      tl_replace_uses(tl_result(old, i), tl_result(loop, i));
   tl_remove(old);
}

static bool
pipeline_loop(TlPassCx *cx, TlFunc *f, TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR);
   Pipe p = {.cx = cx, .func = f, .types = f->module->types, .loop = loop};
   int64_t asked = tl_attr_int(loop, TL_ATTR_NUM_STAGES);
   p.body = loop->regions[0]->block;
   p.has_stages = asked > 0;
   p.stages = asked > 0 ? (unsigned)asked : f->num_stages;
   if (p.stages < 2 || !is_plain_body(p.body) || !(p.has_stages || has_opcode(p.body, TL_OP_DOT)) ||
       !has_opcode(p.body, TL_OP_LOAD))
      return false;
   p.facts = tl_analysis_new(cx->scratch, f);
   find_loads(&p);
   if (!p.loads.len)
      return false;
   if (!find_step(&p))
      return false;
   limit_stages(&p);
   if (p.stages < 2 || !p.loads.len)
      return false;
   choose_distance(&p);
   make_groups(&p);
   tl_slice_init(&p.slice, cx->scratch, loop);
   for (size_t i = 0; i < p.loads.len; i++) {
      TlOp *op = p.loads.data[i].op;
      for (unsigned k = 0; k < op->num_args && k < 2; k++) {
         bool ok = tl_slice_add(&p.slice, tl_arg(op, k));
         assert(ok && "checked one by one before");
         (void)ok;
      }
   }
   if (tl_remarks_on(cx, "pipeline"))
      tl_report(cx->diags, R0413, loop->range, p.stages, (unsigned)stage_bytes(&p),
                (unsigned)p.loads.len, p.loads.len == 1 ? "" : "s");
   for (size_t i = 0; i < p.loads.len && tl_remarks_on(cx, "pipeline"); i++)
      tl_report(cx->diags, R0416, p.loads.data[i].op->range, p.ahead, p.ahead == 1 ? "" : "s",
                tl_memdesc_stage_bytes(p.loads.data[i].stage) * p.stages,
                waits_late(&p) ? p.loads.data[i].group + 1 : 1, waits_late(&p) ? p.groups : 1);
   rewrite(&p);
   return true;
}

bool
tl_pass_pipeline_loops(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   if (!cx->target || !(cx->target->features & TL_FEAT_CP_ASYNC))
      return false;
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      if (op->opcode == TL_OP_FOR)
         changed |= pipeline_loop(cx, f, op);
   }
   return changed;
}
