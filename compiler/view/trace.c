/* What a LOWERED kernel does in which order: its scalar integers are computed, everything else is
 * left unknown.  The run is that of program (0, 0, 0) of a grid of one, with one number in place of
 * all integer arguments, the smallest tried for which some inner loop that copies or multiplies
 * goes round often enough.  Conditions that hang on unknown values are taken as true.
 *
 * A run for lane 0 gives the events; runs for the others give the addresses of a warp's accesses of
 * shared memory, and so its bank conflicts. */
#include "view/impl.h"

#include "ir/control.h"
#include "ir/walk.h"
#include "layout/cost.h"

#include <assert.h>
#include <string.h>

enum {
   MAX_STEPS = 60000, /* operations of one run */
   MAX_EVENTS = 3000,
   MAX_REGS = 64, /* of one value; more are unknown */
   UNKNOWN_TRIPS = 4,
   MAX_CARRIED = 32, /* by one loop; more are unknown */
   QUIET_TRIPS = 64, /* of a loop without events */
   LANES = 32,
   MATRIX_ROWS = 8, /* of ldmatrix: a lane gives the address of each */
};

typedef struct Known {
   TlBits *bits; /* NULL: never known so far */
   uint32_t n;   /* 0: not known now */
} Known;

typedef struct Machine {
   TlView *view;
   const TlFunc *func;
   TlMap line_of;      /* const TlOp * -> line in LOWERED */
   TlMap access_of;    /* const TlOp * -> index of its access, plus 1 */
   TlMap loops;        /* const TlOp * -> LOUD, INNERMOST */
   Known *values;      /* by id */
   TlViewTrace *trace; /* NULL: a trial run, or one for another lane */
   bool wants_addresses;
   uint32_t *filled_at; /* by buffer: a number that grows with each filling */
   uint32_t num_fillings;
   uint32_t lane, steps;
   uint32_t role, role_warps, trip;
   uint32_t most_trips; /* of an innermost loop with events */
   int64_t assumed;
} Machine;

/* ---- values ---- */
static TlDtype
dtype_of(const TlValue *v)
{
   return tl_type_elem(v->type)->dtype;
}

static bool
may_be_known(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   return (t->kind == TL_TYPE_SCALAR || t->kind == TL_TYPE_REGS) && elem->kind == TL_TYPE_SCALAR &&
          tl_dtype_is_int(elem->dtype) && tl_type_num_regs(t) <= MAX_REGS;
}

static void
forget(Machine *m, const TlValue *v)
{
   m->values[v->id].n = 0;
}

/* Room for the value's registers, which the caller fills. */
static TlBits *
learn(Machine *m, const TlValue *v)
{
   Known *k = &m->values[v->id];
   uint32_t n = tl_type_num_regs(v->type);
   if (!k->bits)
      k->bits = tl_new_array(m->view->arena, TlBits, n);
   k->n = n;
   return k->bits;
}

static bool
is_known(const Machine *m, const TlValue *v)
{
   return m->values[v->id].n > 0;
}

static bool
known_int(const Machine *m, const TlValue *v, int64_t *out)
{
   const Known *k = &m->values[v->id];
   if (k->n)
      *out = tl_bits_to_int(dtype_of(v), k->bits[0]);
   return k->n > 0;
}

static void
learn_int(Machine *m, const TlValue *v, int64_t value)
{
   TlBits *bits = learn(m, v);
   for (uint32_t i = 0; i < m->values[v->id].n; i++)
      bits[i] = tl_int_to_bits(dtype_of(v), value);
}

static void
copy_value(Machine *m, const TlValue *from, const TlValue *to)
{
   const Known *k = &m->values[from->id];
   if (!k->n || !may_be_known(to->type)) {
      forget(m, to);
      return;
   }
   uint32_t n = k->n;
   TlBits *bits = learn(m, to);
   memmove(bits, m->values[from->id].bits, n * sizeof *bits);
}

/* ---- arithmetic ---- */
static void
compute_eltwise(Machine *m, const TlOp *op)
{
   const TlValue *r = tl_result(op, 0);
   TlDtype dtypes[4];
   TlBits args[4];
   if (op->num_args > 4)
      return;
   for (unsigned a = 0; a < op->num_args; a++)
      if (!is_known(m, tl_arg(op, a)) ||
          m->values[tl_arg(op, a)->id].n != tl_type_num_regs(r->type))
         return;
   TlBits *bits = learn(m, r);
   for (uint32_t i = 0; i < m->values[r->id].n; i++) {
      bool undefined = false;
      for (unsigned a = 0; a < op->num_args; a++) {
         dtypes[a] = dtype_of(tl_arg(op, a));
         args[a] = m->values[tl_arg(op, a)->id].bits[i];
      }
      bits[i] = tl_eval(op->opcode, op->attrs, dtype_of(r), dtypes, args, &undefined);
   }
}

/* One register of the operands, taken as one row of registers. */
static bool
picked(const Machine *m, const TlOp *op, int64_t index, TlBits *out)
{
   for (unsigned a = 0; a < op->num_args; a++) {
      const Known *k = &m->values[tl_arg(op, a)->id];
      uint32_t n = tl_type_num_regs(tl_arg(op, a)->type);
      if (index < n) {
         if (k->n)
            *out = k->bits[index];
         return k->n > 0;
      }
      index -= n;
   }
   return false;
}

static void
compute_pick(Machine *m, const TlOp *op)
{
   const TlValue *r = tl_result(op, 0);
   TlInts index = tl_attr_ints(op, TL_ATTR_INDEX);
   TlBits bits[MAX_REGS];
   for (size_t i = 0; i < index.len; i++)
      if (!picked(m, op, index.data[i], &bits[i]))
         return;
   memcpy(learn(m, r), bits, index.len * sizeof bits[0]);
}

static void
compute_splat(Machine *m, const TlOp *op)
{
   int64_t value;
   if (known_int(m, tl_arg(op, 0), &value))
      learn_int(m, tl_result(op, 0), value);
}

/* The result is known afterwards, or not. */
static void
compute(Machine *m, const TlOp *op)
{
   const TlValue *r = tl_result(op, 0);
   if (op->num_results != 1 || !may_be_known(r->type))
      return;
   if (op->opcode == TL_OP_CONSTANT)
      learn_int(m, r, tl_bits_to_int(dtype_of(r), tl_attr_bits(op, TL_ATTR_VALUE)));
   else if (op->opcode == TL_OP_LANE_ID)
      learn_int(m, r, m->lane);
   else if (op->opcode == TL_OP_WARP_ID || op->opcode == TL_OP_PROGRAM_ID ||
            op->opcode == TL_OP_BLOCK_ID)
      learn_int(m, r, 0);
   else if (op->opcode == TL_OP_NUM_PROGRAMS || op->opcode == TL_OP_NUM_BLOCKS)
      learn_int(m, r, 1);
   else if (op->opcode == TL_OP_SPLAT)
      compute_splat(m, op);
   else if (op->opcode == TL_OP_PICK)
      compute_pick(m, op);
   else if (op->opcode == TL_OP_SHFL) /* what a warp has in common, as far as it is asked for */
      copy_value(m, tl_arg(op, 0), r);
   else if (tl_has_trait(op, TL_TRAIT_ELTWISE))
      compute_eltwise(m, op);
}

/* ---- accesses of shared memory ---- */
static bool
is_of_matrices(const TlOp *op)
{
   return op->opcode == TL_OP_LDMATRIX || op->opcode == TL_OP_STMATRIX;
}

/* What a lane moves; 0: op makes no access that the lanes give addresses of. */
static unsigned
bytes_of_lane(const TlOp *op)
{
   enum { ROW_BYTES = 16 };
   bool is_read = tl_has_trait(op, TL_TRAIT_READS_SHARED);
   if (op->opcode == TL_OP_CP_ASYNC)
      return (unsigned)tl_attr_int(op, TL_ATTR_BYTES);
   if (op->opcode == TL_OP_TMA_LOAD || (!is_read && !tl_has_trait(op, TL_TRAIT_WRITES_SHARED)))
      return 0;
   if (is_of_matrices(op))
      return ROW_BYTES;
   TlDtype t = dtype_of(op->num_results ? tl_result(op, 0) : tl_arg(op, 1));
   int64_t vec = tl_has_attr(op, TL_ATTR_VEC) ? tl_attr_int(op, TL_ATTR_VEC) : 1;
   return (unsigned)vec * tl_dtype_info[t].bytes;
}

/* An atomic changes what has been put there. */
static bool
is_filling(const TlOp *op)
{
   return tl_has_trait(op, TL_TRAIT_WRITES_SHARED) && !tl_has_trait(op, TL_TRAIT_READS_SHARED);
}

/* What fills a buffer is known by its place, what reads it by the filling. */
static uint32_t
buffer_of(Machine *m, const TlOp *op, uint32_t address)
{
   uint32_t place = is_filling(op) ? tl_view_place(m->view, op->range) : 0;
   uint32_t i = tl_view_buffer_at(m->view, address, place, m->filled_at);
   if (i != UINT32_MAX && is_filling(op))
      m->filled_at[i] = ++m->num_fillings;
   return i;
}

/* Of the first access that the operation makes. */
static bool
address_of(const Machine *m, const TlOp *op, uint32_t *out)
{
   int64_t address;
   if (!known_int(m, tl_arg(op, 0), &address))
      return false;
   TlInts offsets =
      tl_has_attr(op, TL_ATTR_OFFSETS) ? tl_attr_ints(op, TL_ATTR_OFFSETS) : (TlInts){0};
   *out = (uint32_t)(address + (offsets.len ? offsets.data[0] : 0));
   return true;
}

static void
finish_access(TlViewAccess *a, bool is_of_rows)
{
   bool is_aligned = a->bytes >= 1 && a->bytes <= 16 && (a->bytes & (a->bytes - 1)) == 0;
   for (unsigned i = 0; i < a->num_lanes; i++)
      is_aligned = is_aligned && a->lane_address[i] % a->bytes == 0;
   if (!is_aligned)
      return;
   TlSharedCost cost = is_of_rows ? tl_cost_matrices(a->lane_address, a->num_lanes / MATRIX_ROWS)
                                  : tl_cost_shared(a->lane_address, a->bytes);
   a->is_known = true;
   a->wavefronts = cost.wavefronts;
   a->minimum = cost.minimum;
}

/* Without an address the buffer is that of the bytes which the operation may touch. */
static uintptr_t
add_access(Machine *m, const TlOp *op, const uint32_t *address)
{
   TlExtent extent;
   TlViewAccess a = {.line = (uint32_t)(uintptr_t)tl_map_get(&m->line_of, op),
                     .place = tl_view_place(m->view, op->range),
                     .what = tl_info(op)->text,
                     .buffer = UINT32_MAX,
                     .bytes = bytes_of_lane(op),
                     .num_lanes = LANES};
   if (address)
      a.buffer = buffer_of(m, op, *address);
   else if (tl_attr_extent(op, &extent))
      a.buffer = buffer_of(m, op, (uint32_t)extent.begin);
   if (is_of_matrices(op))
      a.num_lanes = MATRIX_ROWS * (unsigned)tl_attr_int(op, TL_ATTR_NUM);
   tl_vec_push(m->view->arena, &m->view->trace.accesses, a);
   uintptr_t number = m->view->trace.accesses.len;
   tl_map_put(&m->access_of, op, (void *)number);
   return number;
}

/* The address of this lane, once; lanes come in order. */
static void
note_access(Machine *m, const TlOp *op)
{
   uintptr_t number = (uintptr_t)tl_map_get(&m->access_of, op);
   uint32_t address;
   bool has_address = address_of(m, op, &address);
   if (!number)
      number = add_access(m, op, has_address ? &address : NULL);
   TlViewAccess *a = &m->view->trace.accesses.data[number - 1];
   if (!has_address || a->lanes_seen != m->lane || a->lanes_seen >= a->num_lanes)
      return;
   a->lane_address[a->lanes_seen++] = address;
   if (a->lanes_seen == a->num_lanes)
      finish_access(a, is_of_matrices(op));
}

/* ---- events ---- */
static TlViewEvent *
add_event(Machine *m, const TlOp *op, TlViewAct act)
{
   TlViewTrace *t = m->trace;
   TlViewEvent e = {.act = act,
                    .role = m->role,
                    .line = (uint32_t)(uintptr_t)tl_map_get(&m->line_of, op),
                    .place = tl_view_place(m->view, op->range),
                    .trip = m->trip};
   tl_vec_push(m->view->arena, &t->events, e);
   return &tl_vec_last(&t->events);
}

static void
add_slot(Machine *m, TlViewEvent *e, const TlOp *op, uint32_t address)
{
   uint32_t i = buffer_of(m, op, address);
   if (i == UINT32_MAX || e->num_slots == TL_VIEW_MAX_SLOTS)
      return;
   const TlViewBuffer *b = &m->view->buffers.data[i];
   e->slot[e->num_slots].buffer = i;
   e->slot[e->num_slots++].stage = b->stages ? (address - b->offset) / (b->bytes / b->stages) : 0;
}

/* Its predicate, where there is one, is known to be false for all accesses. */
static bool
is_masked(const Machine *m, const TlOp *op)
{
   const TlValue *pred = tl_pred(op);
   if (!pred || !is_known(m, pred))
      return false;
   for (uint32_t i = 0; i < m->values[pred->id].n; i++)
      if (m->values[pred->id].bits[i])
         return false;
   return true;
}

/* Something done by all lanes that has nothing more to it. */
static void
plain_event(Machine *m, const TlOp *op, TlViewAct act)
{
   TlViewEvent *e = add_event(m, op, act);
   bool is_wait = act == TL_ACT_WAIT_COPIES || act == TL_ACT_WAIT_DOTS;
   e->num = is_wait ? (uint32_t)tl_attr_int(op, TL_ATTR_NUM) : 0;
}

static void
touch_event(Machine *m, const TlOp *op, TlViewAct act)
{
   uint32_t address;
   TlViewEvent *e = add_event(m, op, act);
   e->is_masked = is_masked(m, op);
   if (address_of(m, op, &address))
      add_slot(m, e, op, address);
}

/* Where the first instruction's operand begins: what stands before it has offsets of its own. */
static bool
product_address(const Machine *m, const TlOp *op, unsigned operand, uint32_t *out)
{
   int64_t address;
   if (!tl_wgmma_is_shared(op, operand) || !known_int(m, tl_arg(op, operand), &address))
      return false;
   TlInts offsets = tl_attr_ints(op, TL_ATTR_OFFSETS);
   TlReps reps = tl_attr_reps(op);
   size_t first = operand == 1 && tl_wgmma_is_shared(op, 0) ? (size_t)(reps.m * reps.k) : 0;
   *out = (uint32_t)(address + (first < offsets.len ? offsets.data[first] : 0));
   return true;
}

static void
dot_event(Machine *m, const TlOp *op, TlViewAct act)
{
   TlViewEvent *e = add_event(m, op, act);
   e->is_async = op->opcode == TL_OP_WGMMA;
   uint32_t address;
   for (unsigned i = 0; e->is_async && i < 2; i++)
      if (product_address(m, op, i, &address))
         add_slot(m, e, op, address);
}

/* mbarrier operations: their barrier, a wait's parity; the barrier of a box. */
static const TlValue *
barrier_of(const TlOp *op)
{
   return tl_arg(op, op->opcode == TL_OP_TMA_LOAD ? 2 : 0);
}
static const TlValue *
parity_of(const TlOp *wait)
{
   return tl_arg(wait, 1);
}

static void
note_barrier(const Machine *m, const TlOp *op, TlViewEvent *e)
{
   int64_t address;
   e->has_address = known_int(m, barrier_of(op), &address);
   e->address = e->has_address ? (uint32_t)address : 0;
}

/* Arrivals are those of the whole role: where a predicate chooses threads, one of each warp; of
 * both blocks of a cluster, which do the same. */
static void
barrier_event(Machine *m, const TlOp *op, TlViewAct act)
{
   int64_t parity;
   if (is_masked(m, op))
      return;
   TlViewEvent *e = add_event(m, op, act);
   note_barrier(m, op, e);
   e->arrivals = act == TL_ACT_EXPECT ? 1 : tl_pred(op) ? m->role_warps : m->role_warps * LANES;
   if (act == TL_ACT_BARRIER_ARRIVE && tl_attr_int(op, TL_ATTR_BOTH))
      e->arrivals *= 2;
   if (act != TL_ACT_BARRIER_WAIT)
      return;
   e->has_address = e->has_address && known_int(m, parity_of(op), &parity);
   e->parity = e->has_address ? (uint32_t)parity : 0;
}

/* What makes a barrier is no event: it tells how many arrivals a phase takes. */
static void
make_barrier(Machine *m, const TlOp *op, TlViewAct act)
{
   int64_t address;
   (void)act;
   if (known_int(m, barrier_of(op), &address))
      tl_vec_push(m->view->arena, &m->trace->barriers,
                  (TlViewBarrier){(uint32_t)address, (uint32_t)tl_attr_int(op, TL_ATTR_ARRIVALS)});
}

static void
box_event(Machine *m, const TlOp *op, TlViewAct act)
{
   touch_event(m, op, act);
   note_barrier(m, op, &tl_vec_last(&m->trace->events));
}

/* Arithmetic in one go is one event. */
static void
math_event(Machine *m, const TlOp *op, TlViewAct act)
{
   const TlValue *r = op->num_results ? tl_result(op, 0) : NULL;
   bool is_math = r && (tl_has_trait(op, TL_TRAIT_ELTWISE) || op->opcode == TL_OP_SHFL) &&
                  tl_type_elem(r->type)->kind == TL_TYPE_SCALAR && tl_dtype_is_float(dtype_of(r));
   if (!is_math)
      return;
   uint32_t cost = tl_type_num_regs(r->type) * (tl_has_trait(op, TL_TRAIT_COSTLY) ? 4 : 1);
   TlViewEvent *last = m->trace->events.len ? &tl_vec_last(&m->trace->events) : NULL;
   bool goes_on = last && last->act == act && last->role == m->role && last->trip == m->trip;
   TlViewEvent *e = goes_on ? last : add_event(m, op, act);
   e->num += cost;
}

/* What operations are in the picture.  A loop around a loud one is followed to its end. */
typedef struct EventRule {
   void (*note)(Machine *m, const TlOp *op, TlViewAct act);
   TlViewAct act;
   bool is_loud;
} EventRule;

static const EventRule event_rule[TL_OP_COUNT] = {
   [TL_OP_CP_ASYNC] = {touch_event, TL_ACT_COPY, true},
   [TL_OP_TMA_LOAD] = {box_event, TL_ACT_COPY, true},
   [TL_OP_CP_ASYNC_COMMIT] = {plain_event, TL_ACT_COMMIT, false},
   [TL_OP_CP_ASYNC_WAIT] = {plain_event, TL_ACT_WAIT_COPIES, false},
   [TL_OP_CP_ASYNC_ARRIVE] = {barrier_event, TL_ACT_COPY_ARRIVE, false},
   [TL_OP_MBAR_INIT] = {make_barrier, TL_ACT_COUNT, false},
   [TL_OP_MBAR_EXPECT] = {barrier_event, TL_ACT_EXPECT, false},
   [TL_OP_MBAR_ARRIVE] = {barrier_event, TL_ACT_BARRIER_ARRIVE, false},
   [TL_OP_MBAR_WAIT] = {barrier_event, TL_ACT_BARRIER_WAIT, true},
   [TL_OP_WGMMA] = {dot_event, TL_ACT_DOT, true},
   [TL_OP_MMA] = {dot_event, TL_ACT_DOT, true},
   [TL_OP_WGMMA_WAIT] = {plain_event, TL_ACT_WAIT_DOTS, false},
   [TL_OP_BAR_SYNC] = {plain_event, TL_ACT_SYNC, false},
   [TL_OP_CLUSTER_SYNC] = {plain_event, TL_ACT_SYNC, false},
   [TL_OP_LD_SHARED] = {touch_event, TL_ACT_READ, false},
   [TL_OP_LDMATRIX] = {touch_event, TL_ACT_READ, false},
   [TL_OP_ST_SHARED] = {touch_event, TL_ACT_WRITE, false},
   [TL_OP_STMATRIX] = {touch_event, TL_ACT_WRITE, false},
   [TL_OP_ATOM_SHARED] = {touch_event, TL_ACT_ATOMIC, false},
   [TL_OP_LD_GLOBAL] = {plain_event, TL_ACT_LOAD, true},
   [TL_OP_ST_GLOBAL] = {plain_event, TL_ACT_STORE, false},
   [TL_OP_TMA_STORE] = {plain_event, TL_ACT_STORE, false},
   [TL_OP_ATOM_RMW] = {plain_event, TL_ACT_ATOMIC, false},
   [TL_OP_ATOM_CAS] = {plain_event, TL_ACT_ATOMIC, false},
};

static void
note_event(Machine *m, const TlOp *op)
{
   const EventRule *rule = &event_rule[op->opcode];
   if (rule->note)
      rule->note(m, op, rule->act);
   else
      math_event(m, op, TL_ACT_MATH);
}

/* ---- control ---- */
static void run_block(Machine *m, const TlBlock *block);

static bool
is_over(const Machine *m)
{
   return m->steps >= MAX_STEPS || (m->trace && m->trace->events.len >= MAX_EVENTS);
}

/* Loops with events, and of these the ones that have no other around the event. */
enum { LOUD = 1, INNERMOST = 2 };

static void
mark_loops(Machine *m)
{
   const TlBlock *top = m->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      uintptr_t mark = LOUD | INNERMOST;
      for (const TlOp *p = event_rule[op->opcode].is_loud ? tl_parent(op) : NULL; p;
           p = tl_parent(p)) {
         if (!tl_is_loop(p))
            continue;
         uintptr_t known = (uintptr_t)tl_map_get(&m->loops, p);
         if ((known | mark) == known)
            break; /* and so are those around it */
         tl_map_put(&m->loops, p, (void *)(known | mark));
         mark = LOUD;
      }
   }
}

/* What the region `from` ends with becomes the next arguments of `to`.  All at once: what ends it
 * may be such an argument itself. */
static void
carry(Machine *m, const TlOp *loop, const TlBlock *from, const TlBlock *to)
{
   struct {
      bool is_known;
      TlBits bits[MAX_REGS];
   } next[MAX_CARRIED];
   for (unsigned i = 0; i < loop->num_results && i < MAX_CARRIED; i++) {
      const Known *k = &m->values[tl_yielded(from, i)->id];
      next[i].is_known = k->n > 0 && may_be_known(tl_carried(to, i)->type);
      if (next[i].is_known)
         memcpy(next[i].bits, k->bits, k->n * sizeof *k->bits);
   }
   for (unsigned i = 0; i < loop->num_results; i++) {
      const TlValue *arg = tl_carried(to, i);
      if (i < MAX_CARRIED && next[i].is_known)
         memcpy(learn(m, arg), next[i].bits, tl_type_num_regs(arg->type) * sizeof(TlBits));
      else
         forget(m, arg);
   }
}

static void
carry_in(Machine *m, const TlOp *loop)
{
   for (unsigned i = 0; i < loop->num_results; i++)
      copy_value(m, tl_init(loop, i), tl_carried(loop->regions[0]->block, i));
}

static void
carry_out(Machine *m, const TlOp *loop, const TlBlock *from)
{
   for (unsigned i = 0; i < loop->num_results; i++)
      copy_value(m, tl_carried(from, i), tl_result(loop, i));
}

static void
run_for(Machine *m, const TlOp *op)
{
   const TlBlock *body = op->regions[0]->block;
   int64_t lower = 0, upper = 0, step = 1;
   bool is_counted = known_int(m, tl_for_lower(op), &lower);
   bool bounds = known_int(m, tl_for_upper(op), &upper) && known_int(m, tl_for_step(op), &step);
   uintptr_t marks = (uintptr_t)tl_map_get(&m->loops, op);
   bool is_loud = marks & LOUD, knows = is_counted && bounds && step != 0;
   uint32_t most = knows ? (is_loud ? MAX_STEPS : QUIET_TRIPS) : is_loud ? UNKNOWN_TRIPS : 1;
   uint32_t outer = m->trip, trips = 0;
   carry_in(m, op);
   for (int64_t at = lower;; at = (int64_t)((uint64_t)at + (uint64_t)step)) { /* may wrap */
      if ((knows && (step > 0 ? at >= upper : at <= upper)) || trips >= most || is_over(m))
         break;
      m->trip = ++trips;
      if (is_counted && step != 0)
         learn_int(m, tl_for_index(op), at);
      else
         forget(m, tl_for_index(op));
      run_block(m, body);
      carry(m, op, body, body);
   }
   carry_out(m, op, body);
   m->trip = outer;
   if ((marks & INNERMOST) && trips > m->most_trips && knows)
      m->most_trips = trips;
}

static void
run_while(Machine *m, const TlOp *op)
{
   const TlBlock *head = op->regions[0]->block, *body = op->regions[1]->block;
   const TlValue *goes_on = tl_arg(head->last, 0);
   uint32_t outer = m->trip;
   carry_in(m, op);
   for (uint32_t trips = 1; !is_over(m); trips++) {
      int64_t is_true;
      run_block(m, head);
      bool is_sure = known_int(m, goes_on, &is_true);
      carry(m, op, head, body);
      if (is_sure ? !is_true : trips > UNKNOWN_TRIPS)
         break;
      m->trip = trips;
      run_block(m, body);
      carry(m, op, body, head);
   }
   carry_out(m, op, body);
   m->trip = outer;
}

static void
run_if(Machine *m, const TlOp *op)
{
   int64_t is_true = 1;
   if (!known_int(m, tl_arg(op, 0), &is_true))
      is_true = 1;
   const TlBlock *taken = op->regions[is_true ? 0 : 1]->block;
   run_block(m, taken);
   for (unsigned i = 0; i < op->num_results; i++)
      copy_value(m, tl_yielded(taken, i), tl_result(op, i));
}

static const char *
warps_text(TlArena *arena, uint32_t first, uint32_t num)
{
   return num == 1 ? tl_arena_printf(arena, "warp %u", first)
                   : tl_arena_printf(arena, "warps %u–%u", first, first + num - 1);
}

static void
run_role(Machine *m, const TlOp *op)
{
   uint32_t first = (uint32_t)tl_attr_int(op, TL_ATTR_FIRST_WARP);
   uint32_t warps = (uint32_t)tl_attr_int(op, TL_ATTR_NUM_WARPS);
   uint32_t outer = m->role_warps;
   if (m->trace) {
      TlViewRole r = {warps_text(m->view->arena, first, warps), warps,
                      (uint32_t)tl_attr_int(op, TL_ATTR_REGISTERS)};
      tl_vec_push(m->view->arena, &m->trace->roles, r);
      m->role = (uint32_t)m->trace->roles.len - 1;
   }
   m->role_warps = warps;
   run_block(m, op->regions[0]->block);
   m->role = 0;
   m->role_warps = outer;
}

static void
run_plain(Machine *m, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results; i++)
      forget(m, tl_result(op, i));
   compute(m, op);
   if (m->wants_addresses && bytes_of_lane(op))
      note_access(m, op);
   if (m->trace)
      note_event(m, op);
}

static void
run_block(Machine *m, const TlBlock *block)
{
   for (const TlOp *op = block->first; op && !is_over(m); op = op->next) {
      m->steps++;
      if (op->opcode == TL_OP_FOR)
         run_for(m, op);
      else if (op->opcode == TL_OP_WHILE)
         run_while(m, op);
      else if (op->opcode == TL_OP_IF)
         run_if(m, op);
      else if (op->opcode == TL_OP_ROLE)
         run_role(m, op);
      else
         run_plain(m, op);
   }
}

/* ---- runs ---- */
static void
run(Machine *m)
{
   const TlBlock *body = m->func->body->block;
   m->steps = m->most_trips = m->role = m->trip = 0;
   m->role_warps = m->func->num_warps;
   for (uint32_t i = 0; i < m->func->next_value_id; i++)
      m->values[i].n = 0;
   for (unsigned i = 0; i < body->num_args; i++)
      if (may_be_known(body->args[i]->type))
         learn_int(m, body->args[i], m->assumed);
   memset(m->filled_at, 0, m->view->buffers.len * sizeof *m->filled_at);
   run_block(m, body);
}

/* The number that makes a picture: the main loop fills its stages, and goes on for a while. */
static void
assume(Machine *m)
{
   uint32_t wanted = m->func->num_stages + 3, best = 0;
   int64_t chosen = 64;
   for (int64_t n = 64; n <= 1 << 16 && best < wanted; n += n < 2048 ? 64 : n) {
      m->assumed = n;
      run(m);
      if (m->most_trips > best) {
         best = m->most_trips;
         chosen = n;
      }
   }
   m->assumed = chosen;
}

void
tl_view_trace(TlView *v, const TlFunc *lowered, const TlPrintIndex *index, const uint32_t *lines)
{
   TlViewTrace *t = &v->trace;
   assert(lowered->state == TL_STATE_LOWERED);
   Machine m = {.view = v, .func = lowered};
   tl_map_init(&m.line_of, v->arena);
   tl_map_init(&m.access_of, v->arena);
   for (size_t i = 0; i < index->ops.len; i++)
      tl_map_put(&m.line_of, index->ops.data[i].op, (void *)(uintptr_t)lines[i]);
   m.values = tl_new_array(v->arena, Known, lowered->next_value_id + 1);
   tl_map_init(&m.loops, v->arena);
   mark_loops(&m);
   m.filled_at = tl_new_array(v->arena, uint32_t, v->buffers.len + 1);
   assume(&m);
   *t = (TlViewTrace){.assumed = m.assumed};
   uint32_t warps = tl_total_warps(lowered);
   TlViewRole all = {warps_text(v->arena, 0, warps), warps, 0};
   tl_vec_push(v->arena, &t->roles, all);
   m.trace = t;
   run(&m);
   t->is_cut = is_over(&m);
   m.trace = NULL;
   m.wants_addresses = true;
   for (m.lane = 0; m.lane < LANES; m.lane++)
      run(&m);
}
