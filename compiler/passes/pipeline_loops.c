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
 * Where products by wgmma go on into the next iteration, a group's copies come right behind the
 * wait for it, which leaves (S-1) G - 1 in flight: that wait, and the barrier that comes with it,
 * follow one for the products of the iteration before, so that nobody reads the stage any longer.
 *
 * Sums of one product that are still in flight leave the stage of the iteration before alone when
 * the copies to it come behind the wait for it (delay_waits).
 *
 * Where one stage fewer lets more blocks run side by side that would not fill a multiprocessor,
 * each group is copied to the stage that has just been read, behind its last reading, or behind the
 * product that reads it where registers do not hold its operands: S stages then run S iterations
 * ahead, as Triton's num_stages - 1 buffers do.  So is that of a product by wgmma that is waited
 * for in its iteration, where three or more stages leave room for few blocks.
 *
 * Where boxes of tensors can fill all rings, one thread sends for them instead (pipeline_boxes.c).
 *
 * Addresses and masks of later iterations come from a copy of the slice that computes them: of the
 * index, of what is outside, of carried values that run ahead in carried values of their own.
 * Loads among that, of a table of pages or of rows, run an iteration further ahead; what they give
 * is carried to the iteration that copies with it:
 *
 *    for i iter(page):   copies of iteration i + S-1, to addresses made of page
 *                        next = load the table for iteration i + S
 *                        ..  yield next
 *
 * Invariant: every iteration commits exactly G groups, whether its copies are masked off or not,
 * so that the number of groups in flight tells which copies have arrived; and a stage is copied to
 * only after a wait and a barrier that follow its last reading. */
#include "passes/pipeline_loops.h"
#include "ir/control.h"
#include "ir/pressure.h"
#include "ir/trips.h"
#include "ir/walk.h"
#include "layout/hw_layouts.h"
#include "passes/coalesce.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
#include "passes/lower/lower.h"
#include "passes/remark.h"

#include <assert.h>
#include <string.h>

/* A wait in the middle of the body comes with a barrier.  Up to one warp for each of the four
 * schedulers of a multiprocessor it costs little; more warps would be kept from multiplying while
 * another computes.  Copies issued two iterations before have come at the top anyway. */
enum { MOST_WARPS_OF_LATE_WAITS = 4, FAR_AHEAD = 2 };

/* Late copies keep addresses and masks alive through what is computed before them.  Held to what
 * ptxas makes of loops that need so many words, as tl_peak_words counts at this state: 412 spill
 * nothing, 425 spilled 132 bytes, and their products could not stay in flight either. */
enum { MOST_WORDS_OF_LATE_COPIES = 412 };

/* The index some stages ahead must be computable: a small constant step, or one of 32 bits. */
static bool
find_step(TlPipe *p)
{
   uint64_t bits;
   TlDtype t = tl_for_index(p->loop)->type->dtype;
   unsigned bytes = tl_dtype_info[t].bytes;
   if (tl_is_const(tl_for_step(p->loop), &bits))
      p->step = tl_bits_to_int(t, bits);
   else if (bytes == 4)
      return true;
   if (bytes >= 4 && p->step != 0 && p->step <= INT32_MAX / TL_MAX_STAGES &&
       p->step >= -INT32_MAX / TL_MAX_STAGES)
      return true;
   tl_pipe_refuse(p, p->loads.data[0].op, "the index of the loop cannot be computed ahead");
   return false;
}

/* ---- how many stages ---- */
/* The largest scratch area of one operation. */
static uint64_t
scratch_bytes(const TlPipe *p, const TlBlock *block)
{
   uint64_t most = 0;
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      uint64_t own = tl_scratch_bytes(p->cx->scratch, p->func, op);
      most = own > most ? own : most;
   }
   return most;
}

static bool
fits(const TlPipe *p, unsigned stages)
{
   uint64_t other = tl_pipe_buffer_bytes(p, p->func->body->block) + scratch_bytes(p, p->body);
   return tl_pipe_stage_bytes(p) * stages + other <= p->cx->target->max_shared_bytes;
}

/* Loads that would need memory of their own go first. */
static void
drop_extra_loads(TlPipe *p)
{
   size_t n = 0;
   for (size_t i = 0; i < p->loads.len; i++) {
      if (p->loads.data[i].alloc)
         p->loads.data[n++] = p->loads.data[i];
      else
         tl_pipe_refuse(p, p->loads.data[i].op, "two stages of it do not fit in shared memory");
   }
   p->loads.len = n;
}

/* As many of the stages asked for as are useful and fit; below 2 there is nothing to gain. */
static void
limit_stages(TlPipe *p)
{
   uint64_t trips = tl_known_trips(p->loop);
   unsigned asked = p->stages, useful = asked > TL_MAX_STAGES ? TL_MAX_STAGES : asked;
   if (useful > trips)
      useful = (unsigned)trips;
   if (useful > 1 && !fits(p, 2))
      drop_extra_loads(p);
   for (p->stages = useful; p->stages > 1 && !fits(p, p->stages);)
      p->stages--;
   if (p->stages < asked && p->stages < trips && tl_wants_remarks(p->cx->diags, "pipeline"))
      tl_report(p->cx->diags, R0415, p->loop->range, asked, (unsigned)tl_pipe_stage_bytes(p),
                p->stages < 2 ? "the loop is not pipelined" : "fewer are used");
   for (size_t i = 0; i < p->loads.len && p->stages < 2 && useful > 1; i++)
      tl_report(p->cx->diags, W0414, p->loads.data[i].op->range,
                "two stages of the loop do not fit in shared memory");
}

/* Blocks whose shared memory a multiprocessor holds when the loop's rings have so many stages. */
static uint64_t
blocks_that_fit(const TlPipe *p, unsigned stages)
{
   enum { BLOCK_BYTES = 1024 }; /* reserved for each */
   uint64_t all = p->cx->target->max_shared_bytes + BLOCK_BYTES;
   uint64_t own =
      tl_pipe_buffer_bytes(p, p->func->body->block) + BLOCK_BYTES + tl_pipe_stage_bytes(p) * stages;
   return all / own;
}

/* The same, by what its products take of the registers, too. */
static uint64_t
blocks_with(const TlPipe *p, unsigned stages)
{
   uint64_t fit = blocks_that_fit(p, stages);
   uint64_t most = tl_blocks_of_dots(p->cx->target, p->func->num_warps, p->body);
   return fit < most ? fit : most;
}

/* May the ring have one more stage?  Not where fewer blocks would run side by side, unless few_do
 * and their warps are enough to take turns anyway. */
static bool
has_room_for_another(const TlPipe *p, bool few_do)
{
   enum { ENOUGH_BLOCKS = 2, ENOUGH_WARPS = 8 };
   if (p->stages >= TL_MAX_STAGES || p->stages >= tl_known_trips(p->loop) ||
       !fits(p, p->stages + 1))
      return false;
   uint64_t now = blocks_with(p, p->stages), then = blocks_with(p, p->stages + 1);
   return then == now ||
          (few_do && then >= ENOUGH_BLOCKS && then * p->func->num_warps >= ENOUGH_WARPS);
}

static bool
waits_late(const TlPipe *p)
{
   return p->func->num_warps <= MOST_WARPS_OF_LATE_WAITS && p->ahead < FAR_AHEAD;
}

static unsigned
num_products(const TlBlock *body)
{
   unsigned n = 0;
   for (const TlOp *op = body->first; op; op = op->next)
      n += op->opcode == TL_OP_DOT;
   return n;
}

/* Copies behind the product, and the wait for the one before, may go to the stage that it read, for
 * a barrier more in an iteration.  Worth it where they would run one iteration ahead at most and no
 * other block makes up for that: a loop in a loop is of blocks that do one tile after the other. */
static bool
pays_to_issue_behind(const TlPipe *p)
{
   return p->stages - 2 < FAR_AHEAD && p->groups == 1 && num_products(p->body) == 1 &&
          tl_is_of_loop(tl_parent(p->loop));
}

/* Does the body only add products to what it carries? */
static bool
only_adds_up(const TlBlock *body)
{
   for (const TlOp *op = body->first; op; op = op->next) {
      const TlUse *use = op->opcode == TL_OP_DOT ? tl_result(op, 0)->uses : NULL;
      const TlValue *acc = use ? tl_arg(op, 2) : NULL;
      if (use && (use->next || use->user != body->last || acc->def || acc->block != body))
         return false;
   }
   return true;
}

/* Is it worth a barrier for each group that a ring has a stage less, and registers for addresses
 * that live until the copies?  Blocks of fewer warps than a multiprocessor has schedulers leave
 * some idle where few of them fit; half as many again must fit then.  (With four warps ptxas
 * spilled what the late copies keep alive: attention D 64, sm_89; with two, for a fourth block
 * beside three, flash-linear-attention's.)  Of loops that only add up products the registers are
 * known: the sums are what lives beside addresses.  What wgmma reads, it may still be reading. */
static bool
pays_to_refill(const TlPipe *p)
{
   enum { SCHEDULERS = 4, ENOUGH_WARPS = 2 * SCHEDULERS, MOST_REGISTERS = 255 /* of a thread */ };
   unsigned warps = p->func->num_warps;
   for (const TlOp *op = p->body->first; op; op = op->next)
      if (op->opcode == TL_OP_DOT && tl_is_by_wgmma(op))
         return false;
   for (size_t i = 0; i < p->loads.len; i++)
      if (p->loads.data[i].needs_boxes)
         return false;
   uint64_t now = blocks_that_fit(p, p->stages), then = blocks_that_fit(p, p->stages - 1);
   uint64_t most = only_adds_up(p->body) ? tl_blocks_of_dots(p->cx->target, warps, p->body)
                                         : tl_blocks_with(p->cx->target, warps, MOST_REGISTERS);
   then = then < most ? then : most;
   return warps < SCHEDULERS && now * warps < ENOUGH_WARPS && 2 * then >= 3 * now;
}

/* Is the body's only product waited for in its iteration, as a sum whose operand that makes, or for
 * what the body computes of it? */
static bool
waits_for_product(const TlPipe *p)
{
   return tl_pipe_waits_for_sum(p) || (num_products(p->body) == 1 && !tl_pipe_carries_products(p));
}

/* Blocks that there is room for when a ring has a stage less; 0: it keeps its stages.  A product
 * that is waited for in its iteration has read its stage by the end of it, which may be filled anew
 * then, as far ahead as before: worth it where that lets another block in beside few.  Of mma only
 * where a barrier is there anyway. */
static uint32_t
blocks_freed(const TlPipe *p)
{
   enum { FEWEST = 2 /* stages that are left */, ENOUGH_WARPS = 16 /* of a multiprocessor */ };
   uint64_t warps = p->func->num_warps, now = blocks_with(p, p->stages);
   if (p->stages <= FEWEST || warps > MOST_WARPS_OF_LATE_WAITS || now * warps >= ENOUGH_WARPS ||
       !(tl_only_by_wgmma(p->body) ? waits_for_product(p)
                                   : only_adds_up(p->body) && tl_pipe_fills_for_mma(p)) ||
       tl_peak_words(p->cx->scratch, p->body) > MOST_WORDS_OF_LATE_COPIES)
      return 0;
   uint64_t then = blocks_with(p, p->stages - 1), enough = ENOUGH_WARPS / warps;
   then = then < enough ? then : enough;
   return then > now ? (uint32_t)then : 0;
}

/* Where a product may still be reading the stage of the iteration before, that takes a stage.  For
 * blocks that are freed ptxas is asked only where the body computes nothing of its product: a
 * gradient of chunk scans does, and spilled 120 bytes when asked for four. */
static void
choose_distance(TlPipe *p)
{
   uint32_t blocks = p->refills ? 0 : blocks_freed(p);
   if (blocks) {
      p->refills = true;
      if (tl_pipe_waits_for_sum(p))
         p->func->blocks = blocks;
   }
   if (p->refills) {
      p->ahead = --p->stages;
      return;
   }
   p->ahead = p->stages - 1;
   if (p->stages < 2 || !tl_pipe_carries_products(p))
      return;
   bool only_sums = tl_pipe_only_sums_products(p);
   p->issues_late = !only_sums && waits_late(p) && tl_only_by_wgmma(p->body) &&
                    tl_peak_words(p->cx->scratch, p->body) <= MOST_WORDS_OF_LATE_COPIES;
   if (p->issues_late || tl_pipe_waits_for_sum(p))
      return; /* what the last product reads is written behind a wait for it */
   if (has_room_for_another(p, true))
      p->stages++;
   else if (only_sums && pays_to_issue_behind(p))
      p->issues_behind = true;
   else if (p->stages > 2 && only_sums)
      p->ahead--;
}

/* Boxes are sent for behind the first product, when the last one of the iteration before may still
 * read its stage.  A sum of one product alone is waited for by then (delay_waits).  Where another
 * stage would cost a block, boxes of later groups are sent for behind the wait for their own, as
 * copies are.  False: there is no other stage. */
static bool
choose_distance_of_boxes(TlPipe *p)
{
   bool only_sums = tl_pipe_only_sums_products(p);
   p->ahead = p->stages - 1;
   if (only_sums ? num_products(p->body) == 1
                 : !tl_pipe_carries_products(p) || tl_pipe_waits_for_sum(p))
      return true;
   p->issues_late = !only_sums && waits_late(p) && !has_room_for_another(p, false);
   if (p->issues_late)
      return p->ahead >= 1;
   if (has_room_for_another(p, true))
      p->stages++;
   else
      p->ahead--;
   return p->ahead >= 1;
}

/* Registers that the loop's tiles take where no ring holds them, with the sums of its products. */
static uint32_t
words_without_rings(const TlPipe *p)
{
   enum { WORD_BYTES = 4, LANES = 32, BESIDE = 32 };
   uint32_t words = BESIDE;
   for (const TlOp *op = p->body->first; op; op = op->next)
      words += op->opcode == TL_OP_DOT ? tl_words_of(tl_result(op, 0)->type) : 0;
   return words + (uint32_t)(tl_pipe_stage_bytes(p) / (p->func->num_warps * LANES * WORD_BYTES));
}

/* Rings that no product reads from give a loop time alone: what they hold goes through registers in
 * any case.  Of iterations that are known to be few, at most twice as many as the rings run ahead,
 * half run with rings that still fill or have been emptied.  That is not worth the blocks where few
 * warps fit, and half as many blocks again without rings: theirs have as many loads under way. */
static bool
costs_blocks(const TlPipe *p)
{
   enum { ENOUGH_WARPS = 16 /* of a multiprocessor */ };
   uint64_t warps = p->func->num_warps, now = blocks_with(p, p->stages);
   for (size_t i = 0; i < p->loads.len; i++)
      if (p->loads.data[i].alloc)
         return false;
   if (p->has_stages || now * warps >= ENOUGH_WARPS || tl_known_trips(p->loop) > 2 * p->ahead)
      return false;
   uint64_t then = blocks_that_fit(p, 0);
   uint64_t most = tl_blocks_with(p->cx->target, (uint32_t)warps, words_without_rings(p));
   return 2 * (then < most ? then : most) >= 3 * now;
}

/* True when boxes fill the loop's rings; the distance is theirs then. */
static bool
fill_by_boxes(TlPipe *p)
{
   unsigned stages = p->stages;
   bool ok = choose_distance_of_boxes(p) && !costs_blocks(p) && tl_pipe_choose_boxes(p);
   if (!ok) {
      p->stages = stages;
      p->issues_late = false;
   }
   return ok;
}

/* ---- rewriting ---- */
static TlValue *
index_at(TlPipe *p, TlBuilder *b, TlValue *from, int64_t iterations)
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

/* Copies of the group's loads, and the commit. */
static void
issue_group(TlPipe *p, TlBuilder *b, const TlPipeTarget *t, unsigned group)
{
   TlRange range = b->range;
   if (p->by_boxes) {
      tl_boxes_issue(p, b, t, group);
      b->range = range;
      return;
   }
   TlValue **token = tl_new_array(p->cx->scratch, TlValue *, p->loads.len);
   unsigned n = 0;
   for (size_t i = 0; i < p->loads.len; i++) {
      TlRingLoad *l = &p->loads.data[i];
      if (l->group != group)
         continue;
      b->range = l->op->range;
      TlValue *view = tl_ring_turned_view(p, b, l, tl_ring_view(b, l, t->slot, t->ahead));
      TlValue *args[3] = {tl_slice_mapped(t->map, tl_arg(l->op, 0)), view,
                          tl_mask_in(b, l->op, t->map, t->exists)};
      token[n++] = tl_build_n(b, TL_OP_ASYNC_COPY, args, 3, NULL,
                              TL_ATTRS_({TL_ATTR_CACHE, *tl_attr(l->op, TL_ATTR_CACHE)},
                                        {TL_ATTR_EVICT, *tl_attr(l->op, TL_ATTR_EVICT)}));
   }
   b->range = range;
   tl_build_n(b, TL_OP_ASYNC_COMMIT, token, n, NULL, TL_ATTRS_());
}

static TlOp *
build_wait(TlBuilder *b, unsigned num)
{
   return tl_build_n(b, TL_OP_ASYNC_WAIT, NULL, 0, NULL, TL_ATTRS_({TL_ATTR_NUM, {.i = num}}))->def;
}

/* The stage that many after `slot`: of boxes, only the thread that sends computes it. */
static TlValue *
slot_ahead(const TlPipe *p, TlBuilder *b, TlValue *slot, unsigned ahead)
{
   unsigned rest = p->stages - ahead; /* so many from 0 on do not wrap */
   uint64_t first;
   assert(ahead < p->stages);
   if (tl_is_const(slot, &first))
      return tl_const_int(b, TL_I32, (int64_t)((first + ahead) % p->stages));
   if (!ahead)
      return slot;
   TlValue *is_beyond = tl_b2(b, TL_OP_GE, slot, tl_const_int(b, TL_I32, rest));
   return tl_b3(b, TL_OP_SELECT, is_beyond,
                tl_b2(b, TL_OP_SUB, slot, tl_const_int(b, TL_I32, rest)),
                tl_b2(b, TL_OP_ADD, slot, tl_const_int(b, TL_I32, ahead)));
}

/* ---- loads of indices ---- */
/* What the loads give in the iteration of map, where it exists. */
static void
build_index_loads(TlPipe *p, TlBuilder *b, TlMap *map, TlValue *exists, TlValue **loaded)
{
   tl_slice_clone(&p->index, b, map);
   for (size_t i = 0; i < p->slice.loads.len; i++)
      loaded[i] = tl_load_in(b, p->slice.loads.data[i], map, exists);
}

static void
put_loaded(const TlPipe *p, TlMap *map, TlValue *const *loaded)
{
   for (size_t i = 0; i < p->slice.loads.len; i++)
      tl_map_put(map, tl_result(p->slice.loads.data[i], 0), loaded[i]);
}

/* Copies of the first p->ahead iterations, from that stage on; ahead: carried values of the first
 * iteration, then those of iteration p->ahead, and behind them what its loads of indices give. */
static void
build_prologue(TlPipe *p, TlBuilder *b, TlValue *slot, TlValue **ahead)
{
   TlValue *lower = tl_for_lower(p->loop), *upper = tl_for_upper(p->loop);
   for (size_t i = 0; i < p->loads.len; i++) {
      TlRingLoad *l = &p->loads.data[i];
      b->range = l->op->range;
      l->ring = tl_b0(b, TL_OP_LOCAL_ALLOC,
                      tl_type_memdesc(p->types, l->stage->dtype, l->stage->rank, l->stage->shape,
                                      l->stage->layout, p->stages));
   }
   if (p->by_boxes)
      tl_boxes_build_barriers(p);
   b->range = p->loop->range;
   TlValue *any = tl_is_before(b, p->loop, p->step, lower, upper);
   TlValue **loaded = ahead + p->slice.carried.len;
   for (unsigned s = 0; s <= p->ahead; s++) {
      TlValue *exists =
         s ? tl_b2(b, TL_OP_AND, any, tl_exists_after(b, p->loop, p->step, lower, s)) : any;
      TlMap *map = tl_slice_iteration(&p->slice, index_at(p, b, lower, s), ahead);
      build_index_loads(p, b, map, exists, loaded);
      if (s == p->ahead)
         break;
      put_loaded(p, map, loaded);
      tl_slice_clone(&p->slice, b, map);
      TlPipeTarget t = {
         .map = map, .slot = slot_ahead(p, b, slot, s), .exists = exists, .ahead = s};
      for (unsigned g = 0; g < p->groups; g++)
         issue_group(p, b, &t, g);
      for (size_t i = 0; i < p->slice.carried.len; i++)
         ahead[i] = tl_slice_mapped(map, tl_arg(p->body->last, p->slice.carried.data[i]));
   }
}

/* The stage after `slot`. */
static TlValue *
next_slot(TlPipe *p, TlBuilder *b, TlValue *slot)
{
   assert(p->stages >= 1 && p->stages <= TL_MAX_STAGES);
   if (p->stages == 1)
      return slot;
   TlValue *one = tl_const_int(b, TL_I32, 1), *zero = tl_const_int(b, TL_I32, 0);
   if (p->stages == 2)
      return tl_b2(b, TL_OP_XOR, slot, one);
   TlValue *is_last = tl_b2(b, TL_OP_EQ, slot, tl_const_int(b, TL_I32, p->stages - 1));
   return tl_b3(b, TL_OP_SELECT, is_last, zero, tl_b2(b, TL_OP_ADD, slot, one));
}

/* The body that is being built. */
typedef struct Body {
   TlBlock *block;
   unsigned num;    /* carried values of the old loop; behind them those that run ahead, .. */
   TlValue **ahead; /* .. whose next ones are here, and what loads of indices gave */
   TlValue *take, *parity; /* stage that is read, and with boxes its mbarrier's parity */
   TlPipeTarget to;        /* of copies */
   TlMap *map;             /* the same that `to` has */
   TlOp **wait;            /* by group: where it is waited for, NULL = at the top */
} Body;

/* Computes for the iteration ahead what copies need, and loads what the one behind it will. */
static void
build_ahead(TlPipe *p, TlBuilder *b, Body *body)
{
   TlValue *index = tl_for_index(body->block->region->parent);
   unsigned num_carried = (unsigned)p->slice.carried.len;
   TlValue **now = body->block->args + tl_first_carried(p->loop) + body->num;
   TlMap *map = tl_slice_iteration(&p->slice, index_at(p, b, index, p->ahead), now);
   put_loaded(p, map, now + num_carried);
   tl_slice_clone(&p->slice, b, map);
   body->to.map = body->map = map;
   for (unsigned i = 0; i < num_carried; i++)
      body->ahead[i] = tl_slice_mapped(map, tl_arg(p->body->last, p->slice.carried.data[i]));
   if (p->slice.loads.len)
      build_index_loads(
         p, b, tl_slice_iteration(&p->slice, index_at(p, b, index, p->ahead + 1), body->ahead),
         tl_exists_after(b, p->loop, p->step, index, p->ahead + 1), body->ahead + num_carried);
}

/* What is copied in the body reads the body's own arguments by now: they, too, are what they are in
 * the iteration ahead. */
static void
name_taken(const TlPipe *p, const Body *body)
{
   TlMap *map = body->map;
   tl_map_put(map, tl_for_index(body->block->region->parent),
              tl_slice_mapped(map, tl_for_index(p->loop)));
   for (size_t i = 0; i < p->slice.carried.len; i++) {
      unsigned at = p->slice.carried.data[i];
      tl_map_put(map, tl_carried(body->block, at), tl_slice_mapped(map, tl_carried(p->body, at)));
   }
}

/* Waits for groups that are used later, before their first use; with issues_late their copies come
 * behind. */
static void
build_late_waits(TlPipe *p, Body *body, unsigned last)
{
   for (size_t i = 0; i < p->loads.len; i++) {
      const TlRingLoad *l = &p->loads.data[i];
      if (l->group <= last)
         continue;
      last = l->group;
      TlBuilder b = tl_builder_before(l->first_use);
      b.range = p->loop->range;
      body->wait[last] =
         build_wait(&b, p->issues_late ? p->ahead * p->groups - 1
                                       : p->groups - 1 - last + p->ahead * p->groups);
      if (p->issues_late)
         issue_group(p, &b, &body->to, last);
   }
}

/* Each group is waited for before its first use; with issues_late later groups are sent for
 * behind. */
static void
build_waits_for_boxes(TlPipe *p, const Body *body)
{
   unsigned next = 0;
   for (size_t i = 0; i < p->loads.len; i++) {
      const TlRingLoad *l = &p->loads.data[i];
      if (l->group < next)
         continue;
      next = l->group + 1;
      TlBuilder b = tl_builder_before(l->first_use);
      b.range = p->loop->range;
      tl_boxes_wait(p, &b, l->group, body->take, body->parity);
      if (p->issues_late && l->group > 0)
         issue_group(p, &b, &body->to, l->group);
   }
}

/* The waits of the old body, now in the new one, and what is issued there. */
static void
build_transfers(TlPipe *p, Body *body, unsigned waited)
{
   if (!p->by_boxes)
      build_late_waits(p, body, waited);
   else
      build_waits_for_boxes(p, body);
   if (!p->by_boxes && !p->issues_behind)
      return;
   TlBuilder b = tl_builder_before(tl_boxes_place(body->block));
   b.range = p->loop->range;
   for (unsigned g = 0; g < (p->issues_late ? 1 : p->groups); g++)
      issue_group(p, &b, &body->to, g);
}

/* Would all words that the product reads from registers and the body's sums not fit them? */
static bool
overflows(const TlPipe *p, const TlBlock *body, const TlOp *dot)
{
   unsigned words = tl_words_of_products(body);
   for (unsigned i = 0; i < 2; i++)
      words += tl_type_is_tile(tl_arg(dot, i)->type) ? tl_words_of(tl_arg(dot, i)->type) : 0;
   return words > tl_registers_at_start(p->cx->target, p->func);
}

static void
note_place(const TlBlock *body, const TlMap *place, const TlOp *op, uintptr_t *last)
{
   while (op->block != body)
      op = tl_parent(op);
   uintptr_t at = (uintptr_t)tl_map_get(place, op);
   *last = at > *last ? at : *last;
}

/* The last operation of the body that reads the view, or what is a view of it.  Operands that would
 * not fit the registers are read piece by piece, while they are multiplied: by the product. */
static void
find_last_reading(const TlPipe *p, const TlBlock *body, const TlMap *place, const TlValue *view,
                  uintptr_t *last)
{
   for (const TlUse *u = view->uses; u; u = u->next) {
      const TlOp *op = u->user;
      note_place(body, place, op, last);
      for (unsigned i = 0; i < op->num_results; i++) {
         const TlValue *v = &op->results[i];
         if (v->type->kind == TL_TYPE_MEMDESC)
            find_last_reading(p, body, place, v, last);
         for (const TlUse *r = v->uses; r && op->opcode == TL_OP_LOCAL_LOAD; r = r->next)
            if (r->user->opcode == TL_OP_DOT && overflows(p, body, r->user))
               note_place(body, place, r->user, last);
      }
   }
}

/* Operations of a body next to each other. */
typedef struct Stretch {
   TlOp *first, *last;
} Stretch;

/* Copies of all groups at the end of the body. */
static Stretch *
build_refills(TlPipe *p, Body *body)
{
   Stretch *copies = tl_new_array(p->cx->scratch, Stretch, p->groups);
   TlOp *yield = body->block->last;
   TlBuilder b = tl_builder_before(yield);
   b.range = p->loop->range;
   for (unsigned g = 0; g < p->groups; g++) {
      TlOp *before = yield->prev;
      issue_group(p, &b, &body->to, g);
      copies[g] = (Stretch){before->next, yield->prev};
   }
   return copies;
}

static void
move_stretch(Stretch s, TlOp *to)
{
   for (TlOp *op = s.first, *next; op; op = next) {
      next = op == s.last ? NULL : op->next;
      tl_move_before(op, to);
   }
}

/* They go behind the last reading of their group, and of the groups before, and behind `top`, where
 * their addresses are.  A wait in the middle of the body leaves in flight what is committed before
 * it. */
static void
place_refills(TlPipe *p, Body *body, const TlOp *top, const Stretch *copies, TlValue *const *view)
{
   TlMap place; /* operation -> its number, from 1 on; those of the copies have none */
   TL_VEC(TlOp *) ops = {0};
   uintptr_t last, *behind = tl_new_array(p->cx->scratch, uintptr_t, p->groups);
   unsigned next = 0;
   tl_map_init(&place, p->cx->scratch);
   tl_vec_push(p->cx->scratch, &ops, (TlOp *)NULL);
   for (TlOp *op = body->block->first; op; op = op->next) {
      while (next < p->groups && op == copies[next].first)
         op = copies[next++].last->next;
      tl_map_put(&place, op, (void *)(uintptr_t)ops.len);
      tl_vec_push(p->cx->scratch, &ops, op);
   }
   last = (uintptr_t)tl_map_get(&place, top);
   for (unsigned g = 0; g < p->groups; g++) {
      for (size_t i = 0; i < p->loads.len; i++)
         if (p->loads.data[i].group == g)
            find_last_reading(p, body->block, &place, view[i], &last);
      assert(last + 1 < ops.len && "what the loop carries is read before its yield");
      behind[g] = last;
      move_stretch(copies[g], ops.data[last + 1]);
   }
   for (unsigned g = 0; g < p->groups; g++) {
      if (!body->wait[g])
         continue;
      unsigned in_flight = p->groups - 1 - g + (p->ahead - 1) * p->groups;
      for (unsigned k = 0; k < p->groups; k++)
         in_flight += behind[k] < (uintptr_t)tl_map_get(&place, body->wait[g]);
      tl_attr(body->wait[g], TL_ATTR_NUM)->i = in_flight;
   }
}

/* The parity turns where the stages begin anew. */
static TlValue *
next_parity(const TlPipe *p, TlBuilder *b, const Body *body)
{
   TlValue *one = tl_const_int(b, TL_I32, 1);
   TlValue *is_last = tl_b2(b, TL_OP_EQ, body->take, tl_const_int(b, TL_I32, p->stages - 1));
   TlValue *turned = tl_b2(b, TL_OP_XOR, body->parity, one);
   return tl_b3(b, TL_OP_SELECT, is_last, turned, body->parity);
}

static unsigned
num_running_ahead(const TlPipe *p)
{
   return (unsigned)(p->slice.carried.len + p->slice.loads.len);
}

static void
rewrite_body(TlPipe *p, TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR && loop != p->loop);
   unsigned num = p->loop->num_results, num_ahead = num_running_ahead(p);
   Body body = {.block = loop->regions[0]->block,
                .num = num,
                .ahead = tl_new_array(p->cx->scratch, TlValue *, num_ahead),
                .wait = tl_new_array(p->cx->scratch, TlOp *, p->groups)};
   TlBuilder b = tl_builder_at_end(p->func, body.block);
   TlValue *index = tl_for_index(loop);
   body.take = tl_carried(body.block, num + num_ahead);
   TlValue *second = tl_carried(body.block, num + num_ahead + 1); /* `put`, or the parity */
   body.parity = p->by_boxes ? second : NULL;
   b.range = p->loop->range;
   unsigned waited = waits_late(p) ? 0 : p->groups - 1; /* groups up to this one: here */
   if (!p->by_boxes)
      build_wait(&b, p->groups - 1 - waited + (p->ahead - 1) * p->groups);
   build_ahead(p, &b, &body);
   body.to.slot = p->by_boxes  ? slot_ahead(p, &b, body.take, p->ahead)
                  : p->refills ? body.take
                               : second;
   body.to.ahead = p->ahead % p->stages;
   body.to.exists = tl_exists_after(&b, p->loop, p->step, index, p->ahead);
   for (unsigned g = 0; g <= (p->issues_late ? waited : p->groups - 1); g++)
      if (!p->by_boxes && !p->issues_behind && !p->refills)
         issue_group(p, &b, &body.to, g);
   TlValue **view = tl_new_array(p->cx->scratch, TlValue *, p->loads.len);
   for (size_t i = 0; i < p->loads.len; i++)
      view[i] = tl_ring_view(&b, &p->loads.data[i], body.take, 0);
   TlValue *next = next_slot(p, &b, body.take);
   TlValue *second_next = p->by_boxes                 ? next_parity(p, &b, &body)
                          : p->ahead + 1 >= p->stages ? body.take
                                                      : next_slot(p, &b, second);

   TlOp *yield = p->body->last, *top = body.block->last;
   tl_take_body(p->body, body.block);
   name_taken(p, &body);
   build_transfers(p, &body, waited);
   const Stretch *copies = p->refills ? build_refills(p, &body) : NULL;
   for (unsigned i = 0; i < num_ahead; i++)
      tl_append_arg(yield, body.ahead[i]);
   tl_append_arg(yield, next);
   tl_append_arg(yield, second_next);
   for (size_t i = 0; i < p->loads.len; i++)
      tl_ring_read(p, &p->loads.data[i], view[i]);
   if (p->refills)
      place_refills(p, &body, top, copies, view);
}

/* Buffers that only the loop reads are filled behind the first copies: what is stored there has
 * been loaded, and a wait for it would hold up copies that need it not. */
static void
fill_behind_copies(TlPipe *p)
{
   TlMap between; /* operations from there to the loop */
   tl_map_init(&between, p->cx->scratch);
   for (TlOp *op = p->loop->prev, *prev; op && !op->num_regions; op = prev) {
      prev = op->prev;
      bool is_read = op->opcode != TL_OP_LOCAL_ALLOC || !op->num_args;
      for (const TlUse *u = is_read ? NULL : tl_result(op, 0)->uses; u; u = u->next)
         is_read |= tl_map_get(&between, u->user) != NULL;
      if (is_read)
         tl_map_put(&between, op, op);
      else
         tl_move_before(op, p->loop);
   }
}

static void
rewrite(TlPipe *p)
{
   assert(p->stages >= 1 && p->ahead >= 1 && p->loads.len > 0);
   TlOp *old = p->loop;
   TlValue *state[2];
   TlRingNest *nest = p->by_boxes ? tl_boxes_enter(p, state) : NULL;
   TlBuilder b = tl_builder_before(old);
   unsigned num = old->num_results, num_ahead = num_running_ahead(p);
   TlValue **more = tl_new_array(p->cx->scratch, TlValue *, num_ahead + 2);
   for (size_t i = 0; i < p->slice.carried.len; i++)
      more[i] = tl_init(old, p->slice.carried.data[i]);
   if (!nest) {
      state[0] = tl_const_int(&b, TL_I32, 0);
      state[1] = tl_const_int(&b, TL_I32, p->ahead % p->stages);
   }
   build_prologue(p, &b, state[0], more);
   fill_behind_copies(p);
   more[num_ahead] = state[0];
   more[num_ahead + 1] = state[1];
   TlOp *loop = tl_with_more(&b, old, more, num_ahead + 2);
   rewrite_body(p, loop);
   if (nest) {
      for (unsigned i = 0; i < 2; i++)
         state[i] = tl_result(loop, num + num_ahead + i);
      tl_boxes_leave(nest, state);
   } else {
      build_wait(&b, 0); /* boxes that nobody waits for are not sent for */
   }
   for (unsigned i = 0; i < num; i++)
      tl_replace_uses(tl_result(old, i), tl_result(loop, i));
   tl_remove(old);
}

static void
add_to(TlSlice *s, TlValue *v)
{
   bool ok = tl_slice_add(s, v);
   assert(ok && "checked one by one before");
   (void)ok;
}

static void
slice_addresses(TlPipe *p)
{
   tl_slice_init(&p->slice, p->cx->scratch, p->loop);
   tl_slice_init(&p->index, p->cx->scratch, p->loop);
   p->slice.takes_loads = true;
   for (size_t i = 0; i < p->loads.len; i++) {
      TlOp *op = p->loads.data[i].op;
      for (unsigned k = 0; k < op->num_args && k < 2; k++)
         add_to(&p->slice, tl_arg(op, k));
   }
   for (size_t i = 0; i < p->slice.loads.len; i++)
      for (unsigned k = 0; k < p->slice.loads.data[i]->num_args; k++)
         add_to(&p->index, tl_arg(p->slice.loads.data[i], k));
   for (size_t i = 0; i < p->index.carried.len; i++) /* it runs ahead as others do */
      add_to(&p->slice, tl_carried(p->body, p->index.carried.data[i]));
}

/* Who fills the rings of the loads found, in how many stages; false: the loop stays as it is. */
static bool
plan_rings(TlPipe *p)
{
   unsigned asked = p->stages;
   do {
      p->stages = asked;
      if (!p->loads.len)
         return false;
      limit_stages(p);
      if (p->stages < 2 || !p->loads.len)
         return false;
      tl_pipe_make_groups(p);
      p->refills = pays_to_refill(p);
      if (!p->refills && fill_by_boxes(p))
         return true;
   } while (tl_pipe_drop_needing_boxes(p));
   uint32_t blocks = p->func->blocks;
   choose_distance(p);
   if (costs_blocks(p)) {
      p->func->blocks = blocks;
      for (size_t i = 0; i < p->loads.len; i++)
         tl_pipe_refuse(p, p->loads.data[i].op, "more blocks run side by side without its ring");
      return false;
   }
   slice_addresses(p);
   return true;
}

static void
remark_rings(const TlPipe *p)
{
   if (!tl_wants_remarks(p->cx->diags, "pipeline"))
      return;
   tl_report(p->cx->diags, R0413, p->loop->range, p->stages, p->stages == 1 ? "" : "s",
             (unsigned)tl_pipe_stage_bytes(p), (unsigned)p->loads.len,
             p->loads.len == 1 ? "" : "s");
   for (size_t i = 0; i < p->loads.len; i++)
      tl_report(p->cx->diags, R0416, p->loads.data[i].op->range, p->ahead, p->ahead == 1 ? "" : "s",
                tl_memdesc_stage_bytes(p->loads.data[i].stage) * p->stages,
                waits_late(p) ? p->loads.data[i].group + 1 : 1, waits_late(p) ? p->groups : 1);
}

static bool
pipeline_loop(TlPassCx *cx, TlFunc *f, TlOp *loop)
{
   assert(loop->opcode == TL_OP_FOR);
   TlPipe p = {.cx = cx, .func = f, .types = f->module->types, .loop = loop};
   p.body = loop->regions[0]->block;
   p.has_stages = tl_attr_int(loop, TL_ATTR_NUM_STAGES) > 0;
   p.stages = tl_for_stages(loop);
   if (p.stages < 2 || !(p.has_stages || tl_block_has(p.body, TL_OP_DOT)) ||
       !tl_block_has(p.body, TL_OP_LOAD))
      return false;
   p.facts = tl_analysis_new(cx->scratch, f);
   tl_pipe_allow_boxes(&p);
   tl_pipe_find_loads(&p);
   if (!p.loads.len || !find_step(&p) || !plan_rings(&p))
      return false;
   remark_rings(&p);
   rewrite(&p);
   return true;
}

bool
tl_pass_pipeline_loops(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   if (!cx->target || !(cx->target->features & TL_FEAT_CP_ASYNC))
      return false;
   /* What is around a loop may be replaced with it, so all are found before. */
   TL_VEC(TlOp *) loops = {0};
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      if (op->opcode == TL_OP_FOR && tl_pipe_is_plain(op->regions[0]->block) &&
          !tl_is_copiers_own(f, op))
         tl_vec_push(cx->scratch, &loops, op);
   bool changed = false;
   for (size_t i = 0; i < loops.len; i++)
      changed |= pipeline_loop(cx, f, loops.data[i]);
   return changed;
}
