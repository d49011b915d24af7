/* Products by wgmma are waited for where they are read, and not before.
 *
 * As lowered, each product is waited for at once.  Here a wait goes down to the first operation
 * that cannot do without it, and those of sums that a loop carries to the next iteration:
 *
 *    before:   for (sum): a = wgmma, wait; b = wgmma, wait; reads a; reads b
 *                         sum = wgmma p, sum; wait
 *    after:    for (sum in flight):  a = wgmma; b = wgmma
 *                         wait for all but one: a, and the sum of the iteration before
 *                         reads a; wait: b; reads b
 *                         sum = wgmma p, sum
 *              wait: sum
 *
 * Products are done in the order in which they were begun.  So a wait for one is a wait for all
 * that began before, and how many began after is its `num`.  Copies of later iterations, issued
 * before the first product, go behind it: the tensor cores have work while addresses are made.
 *
 * A product in flight reads shared memory, and registers of A.  Before something is written there
 * it is waited for; around a loop only what is far from all writes stays in flight (the stages of
 * rings tell, see pipeline_loops), and something else of the next iteration waits for it before
 * its registers are written again.
 *
 * Loops that only add products up are delay_waits' business. */
#include "ir/control.h"
#include "ir/pressure.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/pass.h"
#include "passes/ring_distance.h"

#include <assert.h>

/* A product in flight needs the registers that it reads, and its result lives longer.  Held to what
 * ptxas makes of loops whose values take so many words at once, as tl_peak_words counts: of 255
 * registers 243 spill nothing, 246 and 251 did. */
enum { MOST_FLIGHTS = 64, ALL_REGISTERS = 255, WORDS_BESIDE = 11 };

/* A product of the block and the wait for it. */
typedef struct Flight {
   TlOp *product, *wait;
   TlOp *before; /* the wait goes there; NULL: the product goes on into the next iteration, .. */
   unsigned position; /* .. number of its sum among the carried values, .. */
   TlOp *next_before; /* .. before what that one must have waited for it, if anything, .. */
   bool only_adds;    /* .. and whether it only adds to the sum, in flight */
   bool is_done;      /* a wait has been built */
} Flight;

typedef struct Sink {
   TlPassCx *cx;
   TlBlock *block;
   TlOp *loop; /* whose body it is, or NULL */
   TL_VEC(Flight) flights;
   TlMap place; /* operation of the block -> number */
} Sink;

static uintptr_t
place_of(const Sink *s, const TlOp *op)
{
   return (uintptr_t)tl_map_get(&s->place, op);
}

static bool
reads(const TlOp *op, const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next)
      if (tl_in_block(u->user, op->block) == op)
         return true;
   return false;
}

/* ---- what a product in flight lets pass ---- */
typedef bool Meets(const TlExtent *write, const TlExtent *read);

/* Does the operation write shared memory that the product reads, as `meets` sees it? */
static bool
writes_operand(const TlOp *op, const TlOp *product, Meets *meets)
{
   TlExtent write = {.end = INT32_MAX, .phase = -1};
   if (!tl_has_trait(op, TL_TRAIT_WRITES_SHARED))
      return false;
   tl_attr_extent(op, &write);
   for (unsigned k = tl_wgmma_is_shared(product, 0) ? 0 : 1; k < 2; k++) {
      TlExtent read = tl_wgmma_extent(product, k);
      if (meets(&write, &read))
         return true;
   }
   return false;
}

/* What the iteration before reads. */
static bool
meets_around(const TlExtent *w, const TlExtent *r)
{
   return !tl_is_far(w, r);
}

/* May it come between a product and the wait for it, apart from what it reads and writes? */
static bool
may_pass(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_WGMMA:
   case TL_OP_WGMMA_WAIT:
   case TL_OP_CP_ASYNC:
   case TL_OP_CP_ASYNC_COMMIT:
   case TL_OP_CP_ASYNC_WAIT:
   case TL_OP_FENCE_ASYNC:
   case TL_OP_MBAR_WAIT:
   case TL_OP_MBAR_EXPECT:
   case TL_OP_TMA_LOAD:
   case TL_OP_LD_GLOBAL:
   case TL_OP_LD_SHARED:
   case TL_OP_ST_SHARED:
   case TL_OP_LDMATRIX:
      return true;
   default:
      return tl_op_is_pure(op);
   }
}

/* The operation that first writes the registers from which the product reads A; NULL: none of the
 * block does. */
static TlOp *
first_writer_of_a(const Sink *s, const TlOp *product)
{
   TL_VEC(const TlValue *) todo = {0};
   TlOp *first = NULL;
   if (!tl_wgmma_is_shared(product, 0))
      tl_vec_push(s->cx->scratch, &todo, tl_arg(product, 0));
   while (todo.len) {
      TlOp *op = tl_vec_pop(&todo)->def;
      if (!op || op->block != s->block)
         continue;
      first = !first || place_of(s, op) < place_of(s, first) ? op : first;
      for (unsigned i = 0; op->opcode == TL_OP_PICK && i < op->num_args; i++)
         tl_vec_push(s->cx->scratch, &todo, tl_arg(op, i));
   }
   return first;
}

/* A wait for a stage is a loop.  Where registers are written for a product behind it while another
 * one, begun before it, reads its own, ptxas puts all products of the kernel one after the other
 * (C7513). */
static bool
splits_registers(const Sink *s, const TlOp *op, const TlOp *product)
{
   return op->opcode == TL_OP_MBAR_WAIT && place_of(s, op) > place_of(s, product) &&
          first_writer_of_a(s, product);
}

/* Threads that meet wait for no product: what it reads is written behind a barrier that comes after
 * the wait (insert_barriers).  In loops barriers give the groups of warps their turns. */
static bool
is_plain_barrier(const Sink *s, const TlOp *op)
{
   return op->opcode == TL_OP_BAR_SYNC && !s->loop && tl_first_warp_at(op) < 0;
}

/* The first operation from op on before which the product must be done; NULL: none in the block. */
static TlOp *
first_stop(const Sink *s, TlOp *op, const TlOp *product, const TlValue *sum)
{
   const TlOp *last = product->block->last;
   for (; op != last; op = op->next)
      if (!(may_pass(op) || is_plain_barrier(s, op)) || reads(op, sum) ||
          writes_operand(op, product, tl_meets_here) || splits_registers(s, op, product))
         return op;
   return NULL;
}

/* ---- the products of a block ---- */
static bool
find_flights(Sink *s)
{
   uintptr_t n = 0;
   tl_map_init(&s->place, s->cx->scratch);
   for (TlOp *op = s->block->first; op; op = op->next) {
      tl_map_put(&s->place, op, (void *)++n);
      if (op->opcode == TL_OP_WGMMA_WAIT) {
         Flight *f = s->flights.len ? &s->flights.data[s->flights.len - 1] : NULL;
         if (!f || f->wait || op->num_results != 1 || tl_arg(op, 0) != tl_result(f->product, 0) ||
             tl_attr_int(op, TL_ATTR_NUM) != 0)
            return false;
         f->wait = op;
      } else if (op->opcode == TL_OP_WGMMA) {
         const TlValue *product = tl_result(op, 0);
         bool is_new = !s->flights.len || s->flights.data[s->flights.len - 1].wait;
         if (!is_new || !product->uses || product->uses->next || s->flights.len == MOST_FLIGHTS)
            return false;
         tl_vec_push(s->cx->scratch, &s->flights, ((Flight){.product = op}));
      }
   }
   return s->flights.len && s->flights.data[s->flights.len - 1].wait;
}

/* ---- around the loop ---- */
/* Do the writes of the next iteration that come before that operation leave alone what the product
 * reads? */
static bool
is_far_from_writes(const Sink *s, const TlOp *product, const TlOp *before)
{
   for (const TlOp *op = s->block->first; op != before; op = tl_walk_next(op, s->block))
      if (writes_operand(op, product, meets_around))
         return false;
   return true;
}

static TlOp *
earlier(const Sink *s, TlOp *a, TlOp *b)
{
   return !a || (b && place_of(s, b) < place_of(s, a)) ? b : a;
}

/* May the product that ends up in the carried values go on into the next iteration? */
static bool
find_way_around(Sink *s, Flight *f)
{
   const TlOp *end = s->block->last;
   const TlUse *use = tl_result(f->wait, 0)->uses;
   if (!s->loop || s->loop->opcode != TL_OP_FOR || !use || use->next || use->user != end)
      return false;
   f->position = (unsigned)(use - end->args);
   const TlValue *carried = tl_carried(s->block, f->position);
   TlOp *writer = first_writer_of_a(s, f->product);
   f->only_adds = carried->uses && !carried->uses->next && carried->uses->user == f->product;
   if (f->only_adds) {
      f->next_before = writer;
      return true;
   }
   f->next_before = earlier(s, first_stop(s, s->block->first, f->product, carried), writer);
   return f->next_before && place_of(s, f->next_before) < place_of(s, f->product);
}

/* The first wait for a product of the body: one for the sums of the iteration before as well. */
static TlOp *
first_wait(const Sink *s)
{
   TlOp *first = NULL;
   for (size_t i = 0; i < s->flights.len; i++)
      first = earlier(s, first, s->flights.data[i].before);
   return first;
}

/* Does a wait of the next iteration come before the registers and the memory that the product reads
 * are written again?  first: that of a product which does not go on. */
static bool
is_covered(const Sink *s, const Flight *f, TlOp *first)
{
   TlOp *cover = f->only_adds ? first : earlier(s, first, f->next_before);
   if (!cover || (f->next_before && place_of(s, cover) > place_of(s, f->next_before)))
      return false;
   return is_far_from_writes(s, f->product, cover);
}

/* A place for each wait; false: none would move. */
static bool
choose_places(Sink *s)
{
   bool any = false;
   for (size_t i = 0; i < s->flights.len; i++) {
      Flight *f = &s->flights.data[i];
      f->before = first_stop(s, f->wait->next, f->product, tl_result(f->wait, 0));
      if (!f->before && !find_way_around(s, f))
         f->before = s->block->last;
      any |= f->before != f->wait->next;
   }
   TlOp *first = first_wait(s);
   for (size_t i = 0; i < s->flights.len; i++) {
      Flight *f = &s->flights.data[i];
      if (!f->before && !is_covered(s, f, first))
         f->before = s->block->last;
   }
   return any;
}

/* ---- the rewrite ---- */
typedef struct Waiting {
   TL_VEC(TlValue *) old, args, kept;
   TL_VEC(const TlType *) types;
} Waiting;

/* in_flight is waited for; what stands for the finished product becomes the wait's result. */
static void
add_result(Sink *s, Waiting *w, TlValue *in_flight, TlValue *finished)
{
   TlArena *arena = s->cx->scratch;
   TlTypes *types = tl_op_func(s->block->first)->module->types;
   tl_vec_push(arena, &w->args, in_flight);
   tl_vec_push(arena, &w->old, finished);
   tl_vec_push(arena, &w->types, tl_type_in_flight(types, in_flight->type, false));
}

static void
build_wait(Sink *s, TlBuilder *b, Waiting *w, int64_t num)
{
   for (size_t i = 0; i < w->kept.len; i++)
      tl_vec_push(s->cx->scratch, &w->args, w->kept.data[i]);
   TlAttrInit attr = {TL_ATTR_NUM, {.i = num}};
   TlOp *wait = tl_build(b, TL_OP_WGMMA_WAIT, w->args.data, (unsigned)w->args.len, w->types.data,
                         (unsigned)w->types.len, &attr, 1, 0);
   for (unsigned i = 0; i < wait->num_results; i++) {
      tl_replace_uses(w->old.data[i], tl_result(wait, i));
      tl_set_arg(wait, i, w->args.data[i]);
   }
}

/* Values of the loop that stay in flight around it. */
static void
carry(Sink *s, const Flight *f)
{
   TlTypes *types = tl_op_func(s->loop)->module->types;
   TlBuilder before = tl_builder_before(s->loop);
   before.range = s->loop->range;
   TlValue *init = tl_init(s->loop, f->position);
   const TlType *flying = tl_type_in_flight(types, init->type, true);
   tl_set_init(s->loop, f->position, tl_t1(&before, TL_OP_WGMMA_START, flying, init));
   tl_carried(s->block, f->position)->type = flying;
   tl_result(s->loop, f->position)->type = flying;
   tl_set_yielded(s->block, f->position, tl_result(f->product, 0));
}

static void
wait_behind_loop(Sink *s)
{
   Waiting w = {0};
   for (size_t i = 0; i < s->flights.len; i++) {
      const Flight *f = &s->flights.data[i];
      if (!f->before)
         add_result(s, &w, tl_result(s->loop, f->position), tl_result(s->loop, f->position));
   }
   TlBuilder b = tl_builder_before(s->loop->next);
   b.range = s->loop->range;
   if (w.args.len)
      build_wait(s, &b, &w, 0);
}

/* Number of products begun before op, and the newest of those that it waits for: -1, those of the
 * iteration before; -2: none. */
static int64_t
newest_at(const Sink *s, const TlOp *op, int64_t *begun)
{
   int64_t newest = -2;
   *begun = 0;
   for (size_t i = 0; i < s->flights.len; i++) {
      const Flight *f = &s->flights.data[i];
      *begun += place_of(s, f->product) < place_of(s, op);
      if (f->before == op)
         newest = (int64_t)i;
      else if (!f->before && !f->only_adds && f->next_before == op && !f->is_done && newest == -2)
         newest = -1;
   }
   return newest;
}

/* All waits that come before op, as one: also for what is done by then anyway. */
static void
wait_before(Sink *s, TlOp *op)
{
   int64_t begun, newest = newest_at(s, op, &begun);
   Waiting w = {0};
   if (newest == -2)
      return;
   for (size_t i = 0; i < s->flights.len; i++) {
      Flight *f = &s->flights.data[i];
      if (f->is_done || (f->before && (int64_t)i > newest) || (!f->before && f->only_adds))
         continue;
      f->is_done = true;
      if (!f->before) {
         add_result(s, &w, tl_carried(s->block, f->position), tl_carried(s->block, f->position));
         continue;
      }
      add_result(s, &w, tl_result(f->product, 0), tl_result(f->wait, 0));
      if (!tl_wgmma_is_shared(f->product, 0))
         tl_vec_push(s->cx->scratch, &w.kept, tl_arg(f->product, 0));
   }
   TlBuilder b = tl_builder_before(op);
   b.range = op->range;
   if (w.args.len)
      build_wait(s, &b, &w, begun - 1 - newest);
}

static bool
makes_scalars(const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results; i++)
      if (op->results[i].type->kind == TL_TYPE_REGS)
         return false;
   return tl_op_is_pure(op) && !op->num_regions;
}

/* Copies before the first product go behind those begun with it, unless a wait counts them. */
static void
issue_products_first(Sink *s)
{
   TlOp *from = s->block->first, *to = s->flights.data[0].product;
   while (from != to && from->opcode != TL_OP_CP_ASYNC)
      from = from->next;
   for (const TlOp *op = from; op != to; op = op->next)
      if (op->opcode == TL_OP_CP_ASYNC_WAIT || op->opcode == TL_OP_WGMMA_WAIT)
         return;
   for (const TlOp *op = to; op->opcode == TL_OP_WGMMA || makes_scalars(op); op = op->next)
      to = op->opcode == TL_OP_WGMMA ? op->next : to;
   for (TlOp *op = from, *next; op != s->flights.data[0].product; op = next) {
      next = op->next;
      if (op->opcode == TL_OP_CP_ASYNC || op->opcode == TL_OP_CP_ASYNC_COMMIT)
         tl_move_before(op, to);
   }
}

static void
rewrite(Sink *s)
{
   TlOp *const end = s->block->last;
   for (size_t i = 0; i < s->flights.len; i++)
      if (!s->flights.data[i].before)
         carry(s, &s->flights.data[i]);
   for (TlOp *op = s->block->first, *next; op; op = next) {
      next = op->next;
      wait_before(s, op);
   }
   for (size_t i = 0; i < s->flights.len; i++)
      tl_remove(s->flights.data[i].wait);
   if (s->loop && end->opcode == TL_OP_YIELD) {
      wait_behind_loop(s);
      issue_products_first(s);
   }
}

/* Have the threads that run the block registers for products in flight? */
static bool
has_room(TlPassCx *cx, const TlFunc *f, const TlBlock *block)
{
   unsigned most =
      cx->target ? tl_registers_at(cx->target, f, block->region->parent) : ALL_REGISTERS;
   return tl_peak_words(cx->scratch, block) + WORDS_BESIDE <= most;
}

static bool
sink_in(TlPassCx *cx, const TlFunc *f, TlBlock *block)
{
   Sink s = {.cx = cx, .block = block, .loop = block->region->parent};
   if (s.loop && s.loop->opcode != TL_OP_FOR)
      s.loop = NULL;
   if (!find_flights(&s) || !has_room(cx, f, block) || !choose_places(&s))
      return false;
   rewrite(&s);
   return true;
}

bool
tl_pass_sink_waits(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   TlBlock *top = f->body->block;
   bool changed = sink_in(cx, f, top);
   for (TlOp *op = tl_walk_inner(top), *next; op; op = next) {
      next = tl_walk_inner_next(op, top);
      for (unsigned r = op->num_regions; r-- > 0;) /* a loop, with one region, may be replaced */
         changed |= sink_in(cx, f, op->regions[r]->block);
   }
   return changed;
}
