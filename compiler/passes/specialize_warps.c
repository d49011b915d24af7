/* Two roles for the warps of a block: some copy what loops multiply, the others compute.
 *
 * Where loops multiply by wgmma what they load, four more warps run the part of the kernel that the
 * addresses of these loads need, and copy to rings of shared memory; the kernel's own warps run
 * the rest and read the rings.  No barrier of the block is left in the loops, so that each group of
 * four warps goes on by itself: one multiplies while another computes.
 *
 *    full, empty = barriers, rings = local_alloc     for each group of copies of a channel
 *    role (producer): the kernel, of which only the addresses are left
 *       for:  wait(empty, stage)     the consumers are done with what was there
 *             copies -> stage; arrive(full, stage) when they have landed
 *    role (consumer): the kernel
 *       for:  wait(full, stage) before the first use
 *             the old body
 *             arrive(empty, stage) after the last use
 *
 * Where a stage is boxes of a tensor that the launch knows (ring_boxes.h), one thread sends for
 * them in place of the copies: expect(full, stage) arrives, and the boxes' bytes count for the
 * phase.  If boxes fill all rings, one warp does, and more registers are left to the consumers.
 *
 * A tile that is loaded before such loops and only multiplied in them (attention's rows) comes by
 * boxes as well where all rings do: a channel of its own, passed once each time the loops are. In a
 * loop over tiles it has two stages where there is room, so that the next tile's is there in time.
 *
 * Maps that the kernel makes itself are made by the producer, where the kernel did.  Before one is
 * made anew, all boxes that were sent for by the old one have landed.
 *
 * Loops of one block whose stages are alike share a channel: its stage and parity are carried from
 * one to the next and around the loops outside, the same way in both roles.
 *
 * Invariant: both roles pass each stage the same number of times; a stage is written between a wait
 * for `empty` and an arrival at `full`, and read between a wait for `full` and an arrival at
 * `empty`. */
#include "ir/control.h"
#include "ir/walk.h"
#include "layout/hw_layouts.h"
#include "passes/dot_layouts.h"
#include "passes/live_words.h"
#include "passes/lower/lower.h"
#include "passes/persist_grid.h"
#include "passes/pipeline_loops.h"
#include "passes/remark.h"
#include "passes/ring_boxes.h"
#include "passes/specialize_warps.h"

#include <assert.h>
#include <string.h>

enum {
   LANES = 32,
   PRODUCER_WARPS = 4,
   MAX_GROUPS = 8,
};

/* How the block's registers are shared out: of a thread, together no more than all had at the
 * start. */
typedef struct Shares {
   unsigned copying_warps; /* of the four */
   unsigned producer, consumer;
   unsigned most_sums; /* words of products that leave a consumer enough for the rest */
} Shares;

/* Threads that copy have addresses to hold, and one that makes maps has more than coordinates;
 * consumers that compute between products want more than those that only add products up. */
static const Shares by_threads = {PRODUCER_WARPS, 56, 224, 160}, by_boxes = {1, 24, 240, 192},
                    by_own_maps = {1, 40, 232, 184},
                    sums_by_threads = {PRODUCER_WARPS, 88, 208, 136};

unsigned
tl_most_words_of_products(const TlPassCx *cx)
{
   return (cx->uses_boxes ? &by_boxes : &by_threads)->most_sums;
}

/* Rings that successive loops fill and read in turn. */
typedef struct Channel {
   TlBlock *block;  /* where its stage begins to be counted */
   TlPipe *pipe;    /* the first loop: all have its loads and groups */
   TlValue **rings; /* by load */
   TlValue *full[MAX_GROUPS], *empty[MAX_GROUPS];
   unsigned stages;
} Channel;

/* A loop that becomes two. */
typedef struct Pair {
   TlPipe pipe; /* its loop is the consumer's in the end */
   Channel *channel;
   TlValue *slot, *parity; /* carried */
   bool needs_own_maps;    /* nothing but boxes by these makes it worth roles */
} Pair;

/* Where all that was sent for is to have landed: before an operation, or behind one that gives the
 * stage and the parity. */
typedef struct Landing {
   Channel *channel;
   TlOp *before; /* NULL: behind */
   TlValue *slot, *parity;
} Landing;

/* A tile that loops multiply and that is loaded before them. */
typedef struct Standing {
   TlOp *load, *alloc;
   TlBlock *block, *outer; /* of both, and where its stages begin to be counted */
   TlBoxAccess box;
   unsigned stages, position;    /* of the block's arguments: its stage, and then its parity */
   TlValue *ring, *full, *empty; /* empty: NULL where it is filled once */
   TlValue *slot, *parity;
} Standing;

typedef struct Special {
   TlPassCx *cx;
   TlFunc *func;
   TL_VEC(Pair *) pairs;
   TL_VEC(Channel *) channels;
   TL_VEC(Standing *) standing;
   TL_VEC(Landing) landings;
   TlMap seen; /* values that the producer needs */
   const char *why;
   TlAffine *affine; /* NULL: threads copy everything */
   const Shares *shares;
   bool by_origin;   /* pointers from tables are told apart by these */
   bool no_own_maps; /* tried in vain */
} Special;

static bool
is_by_boxes(const Special *s)
{
   return s->shares->copying_warps == 1;
}

/* ---- which loops ---- */
static bool
multiplies_by_wgmma(const TlBlock *body)
{
   for (const TlOp *op = body->first; op; op = op->next)
      if (op->opcode == TL_OP_DOT && tl_is_by_wgmma(op))
         return true;
   return false;
}

/* The block in which the stages of the channel of a loop, or of a load before loops, begin to be
 * counted: that of the outermost loop.  NULL when something else than loops and, around them,
 * conditions is outside; *has_condition: or between them. */
static TlBlock *
block_of_nest(const TlOp *inner, bool *has_condition)
{
   TlBlock *block = inner->block;
   bool is_in_condition = false;
   *has_condition = false;
   for (const TlOp *within = inner, *op = tl_parent(inner); op; within = op, op = tl_parent(op)) {
      if (tl_is_loop(op) && within->block == tl_loop_body(op)) {
         *has_condition |= is_in_condition;
         block = op->block;
      } else if (op->opcode != TL_OP_IF) {
         return NULL;
      }
      is_in_condition |= op->opcode == TL_OP_IF;
   }
   return block;
}

/* The same where no condition is between. */
static TlBlock *
block_of_loops(const TlOp *inner)
{
   bool has_condition;
   TlBlock *block = block_of_nest(inner, &has_condition);
   return has_condition ? NULL : block;
}

static void
add_loop(Special *s, TlOp *loop)
{
   Pair *pair = tl_new(s->cx->scratch, Pair);
   TlPipe *p = &pair->pipe;
   *p = (TlPipe){.cx = s->cx,
                 .func = s->func,
                 .types = s->func->module->types,
                 .loop = loop,
                 .body = loop->regions[0]->block,
                 .is_of_roles = true,
                 .has_stages = true, /* all loads that can, take the way around the registers */
                 .affine = s->affine,
                 .stages = tl_for_stages(loop)};
   if (p->stages < 2 || !tl_pipe_is_plain(p->body) || !multiplies_by_wgmma(p->body) ||
       !block_of_nest(loop, &pair->needs_own_maps) || (pair->needs_own_maps && s->no_own_maps))
      return;
   p->facts = tl_analysis_new(s->cx->scratch, s->func);
   tl_pipe_find_loads(p);
   if (!p->loads.len)
      return;
   tl_pipe_make_groups(p);
   if (p->groups <= MAX_GROUPS)
      tl_vec_push(s->cx->scratch, &s->pairs, pair);
}

/* ---- what the producer needs ---- */
static void need(Special *s, const TlValue *v);

static void
need_control(Special *s, const TlOp *op)
{
   for (; op; op = tl_parent(op)) {
      for (unsigned i = 0; i < tl_first_init(op); i++)
         need(s, tl_arg(op, i));
      if (op->opcode == TL_OP_WHILE)
         need(s, tl_arg(op->regions[0]->block->last, 0));
   }
}

/* May the kernel store where a load reads? */
static bool
may_be_stored_to(const Special *s, const TlOp *load)
{
   const TlBlock *top = s->func->body->block;
   if (!s->by_origin)
      return tl_is_stored_to(top, tl_pointer_root(tl_arg(load, 0)));
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if ((op->opcode == TL_OP_STORE || op->opcode == TL_OP_ATOMIC_RMW) &&
          tl_may_be_one_tensor(tl_arg(op, 0), tl_arg(load, 0)))
         return true;
   return false;
}

/* Operations that every thread can do for itself, with what no store of the kernel changes. */
static void
need_op(Special *s, const TlOp *op)
{
   bool is_load = op->opcode == TL_OP_LOAD && !tl_attr_int(op, TL_ATTR_VOLATILE);
   if (is_load && may_be_stored_to(s, op))
      s->why = "its address depends on memory that the kernel may store to";
   else if ((!is_load && !tl_op_is_pure(op)) || op->num_regions || op->opcode == TL_OP_DOT ||
            op->opcode == TL_OP_LOCAL_LOAD || tl_scratch_bytes(s->cx->scratch, s->func, op))
      s->why = "its address depends on what threads exchange";
   for (unsigned i = 0; i < op->num_args; i++)
      need(s, op->args[i].value);
}

static void
need(Special *s, const TlValue *v)
{
   if (s->why || tl_map_has(&s->seen, v))
      return;
   tl_map_put(&s->seen, v, (void *)v);
   const TlOp *op = v->def ? v->def : v->block->region->parent;
   if (!op)
      return; /* a parameter */
   need_control(s, v->def ? tl_parent(op) : op);
   if (!tl_is_branching(op)) {
      need_op(s, op);
      return;
   }
   if (v->def)
      need_control(s, op);
   else if (op->opcode == TL_OP_FOR && v == tl_for_index(op))
      return;
   TlJoin join = tl_join(op, v->def ? v->index : v->index - tl_first_carried(op));
   for (unsigned i = 0; i < join.num_in; i++)
      need(s, join.in[i]);
}

/* NULL when the four warps can make all addresses, else why not. */
static const char *
why_not_ahead(Special *s, const Pair *pair)
{
   tl_map_init(&s->seen, s->cx->scratch);
   s->why = NULL;
   need_control(s, pair->pipe.loop);
   for (size_t i = 0; i < pair->pipe.loads.len; i++) {
      const TlOp *load = pair->pipe.loads.data[i].op;
      if (may_be_stored_to(s, load))
         return "the kernel may store to the same memory";
      for (unsigned k = 0; k < load->num_args && k < 2; k++)
         need(s, load->args[k].value);
   }
   return s->why;
}

/* Does the kernel order memory or threads in ways that two roles would have to keep? */
static bool
is_plain_kernel(const TlFunc *f)
{
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      switch (op->opcode) {
      case TL_OP_ATOMIC_CAS:
      case TL_OP_DEBUG_BARRIER:
      case TL_OP_GDC_WAIT:
      case TL_OP_GDC_LAUNCH:
      case TL_OP_DEVICE_ASSERT:
      case TL_OP_ROLE:
         return false;
      case TL_OP_ATOMIC_RMW:
         if (op->results[0].uses)
            return false;
         break;
      default:
         break;
      }
   }
   return true;
}

static void
find_loops(Special *s)
{
   const TlBlock *top = s->func->body->block;
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_FOR)
         add_loop(s, op);
   size_t n = 0;
   for (size_t i = 0; i < s->pairs.len; i++) {
      Pair *pair = s->pairs.data[i];
      const char *why = why_not_ahead(s, pair);
      bool tells_apart = false;
      if (why && s->affine && !s->no_own_maps) {
         s->by_origin = true;
         tells_apart = !why_not_ahead(s, pair);
         s->by_origin = false;
      }
      pair->needs_own_maps |= tells_apart;
      if (!why || tells_apart)
         s->pairs.data[n++] = pair;
      else
         tl_pipe_refuse(&pair->pipe, pair->pipe.loads.data[0].op, why);
   }
   s->pairs.len = n;
}

/* Is there a while without a loop that the producer copies for?  Of one with such a loop it can
 * compute the condition (need_control); another it would repeat without an end. */
static bool
has_while_of_others(const Special *s)
{
   const TlBlock *top = s->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_ours = op->opcode != TL_OP_WHILE;
      for (size_t i = 0; i < s->pairs.len && !is_ours; i++)
         is_ours = tl_in_block(s->pairs.data[i]->pipe.loop, tl_loop_body(op)) != NULL;
      if (!is_ours)
         return true;
   }
   return false;
}

/* ---- channels ---- */
static bool
is_alike(const TlPipe *a, const TlPipe *b)
{
   if (a->loads.len != b->loads.len || a->groups != b->groups)
      return false;
   for (size_t i = 0; i < a->loads.len; i++)
      if (a->loads.data[i].stage != b->loads.data[i].stage ||
          a->loads.data[i].group != b->loads.data[i].group)
         return false;
   return true;
}

static void
join_channel(Special *s, Pair *pair)
{
   TlPipe *p = &pair->pipe;
   bool has_condition;
   TlBlock *block = block_of_nest(p->loop, &has_condition);
   for (size_t i = 0; i < s->channels.len && !pair->channel; i++) {
      Channel *c = s->channels.data[i];
      if (c->block == block && is_alike(c->pipe, p))
         pair->channel = c;
   }
   if (!pair->channel) {
      pair->channel = tl_new(s->cx->scratch, Channel);
      *pair->channel = (Channel){.block = block, .pipe = p};
      tl_vec_push(s->cx->scratch, &s->channels, pair->channel);
   }
   unsigned asked = p->stages < TL_MAX_STAGES ? p->stages : TL_MAX_STAGES;
   if (pair->channel->stages < asked)
      pair->channel->stages = asked;
}

/* A buffer that has a channel, and so lives throughout. */
static bool
has_channel(const Special *s, const TlOp *alloc)
{
   for (size_t i = 0; i < s->standing.len; i++)
      if (s->standing.data[i]->alloc == alloc)
         return true;
   for (size_t i = 0; i < s->pairs.len; i++)
      for (size_t k = 0; k < s->pairs.data[i]->pipe.loads.len; k++)
         if (s->pairs.data[i]->pipe.loads.data[k].alloc == alloc)
            return true;
   return false;
}

/* The last operation of the block that reads the buffer or a view of it, or holds one that does. */
static void
note_end(const TlValue *buffer, const TlBlock *top, const TlMap *place, uintptr_t *end)
{
   for (const TlUse *u = buffer->uses; u; u = u->next) {
      uintptr_t at = (uintptr_t)tl_map_get(place, tl_in_block(u->user, top));
      *end = at > *end ? at : *end;
      if (u->user->opcode == TL_OP_LOCAL_TRANS || u->user->opcode == TL_OP_LOCAL_VIEW)
         note_end(tl_result(u->user, 0), top, place, end);
   }
}

/* What comes behind the last loop, and behind what is around it where that repeats it. */
static const TlOp *
first_behind(const Special *s)
{
   const TlOp *last = s->pairs.data[s->pairs.len - 1]->pipe.loop;
   for (const TlOp *op = last; op; op = tl_parent(op))
      last = op->opcode == TL_OP_IF ? last : op;
   return last->next;
}

/* The most shared bytes that everything else takes at a time, before the last loop ends. */
static uint64_t
other_bytes(const Special *s)
{
   const TlBlock *top = s->func->body->block;
   const TlOp *behind = first_behind(s);
   TlMap place;
   uintptr_t num = 0;
   tl_map_init(&place, s->cx->scratch);
   for (const TlOp *op = top->first; op; op = op->next)
      tl_map_put(&place, op, (void *)++num);
   uint64_t *taken = tl_new_array(s->cx->scratch, uint64_t, num + 1), most = 0;
   uint64_t *scratch = tl_new_array(s->cx->scratch, uint64_t, num + 1);
   for (const TlOp *op = top->first; op != behind; op = tl_walk_next(op, top)) {
      uint64_t own = tl_scratch_bytes(s->cx->scratch, s->func, op);
      uintptr_t at = (uintptr_t)tl_map_get(&place, tl_in_block((TlOp *)op, top));
      scratch[at] = own > scratch[at] ? own : scratch[at];
      if (op->opcode != TL_OP_LOCAL_ALLOC || has_channel(s, op))
         continue;
      const TlType *t = op->results[0].type;
      uintptr_t begin = (uintptr_t)tl_map_get(&place, tl_in_block((TlOp *)op, top)), end = begin;
      note_end(&op->results[0], top, &place, &end);
      for (; begin <= end; begin++)
         taken[begin] += (uint64_t)tl_memdesc_stage_bytes(t) * t->count;
   }
   for (uintptr_t i = 0; i <= num; i++)
      most = taken[i] + scratch[i] > most ? taken[i] + scratch[i] : most;
   return most; /* a second area to alternate with is taken where there is room */
}

/* Shared bytes of rings and of tiles before loops that have a channel. */
static uint64_t
channel_bytes(const Special *s)
{
   enum { BARRIER_BYTES = 1024 };
   uint64_t sum = BARRIER_BYTES;
   for (size_t i = 0; i < s->channels.len; i++)
      sum += tl_pipe_stage_bytes(s->channels.data[i]->pipe) * s->channels.data[i]->stages;
   for (size_t i = 0; i < s->standing.len; i++)
      sum += tl_memdesc_stage_bytes(tl_result(s->standing.data[i]->alloc, 0)->type) *
             s->standing.data[i]->stages;
   return sum;
}

/* As many stages as asked for and fit; false when two do not. */
static bool
limit_stages(Special *s)
{
   uint64_t other = other_bytes(s);
   while (channel_bytes(s) + other > s->cx->target->max_shared_bytes) {
      Channel *most = s->channels.data[0];
      for (size_t i = 1; i < s->channels.len; i++)
         most = s->channels.data[i]->stages > most->stages ? s->channels.data[i] : most;
      if (--most->stages < 2)
         return false;
   }
   return true;
}

/* ---- stages, counted around loops ---- */
static bool
holds_loop_of(const Special *s, const Channel *c, const TlOp *op)
{
   for (size_t i = 0; i < s->pairs.len; i++) {
      const Pair *pair = s->pairs.data[i];
      for (unsigned r = 0; r < op->num_regions && pair->channel == c; r++)
         if (tl_in_block(pair->pipe.loop, op->regions[r]->block))
            return true;
   }
   return false;
}

static Pair *
pair_of(const Special *s, const Channel *c, const TlOp *loop)
{
   for (size_t i = 0; i < s->pairs.len; i++)
      if (s->pairs.data[i]->pipe.loop == loop && s->pairs.data[i]->channel == c)
         return s->pairs.data[i];
   return NULL;
}

static void
replace_block(Special *s, const TlBlock *from, TlBlock *body)
{
   for (size_t i = 0; i < s->channels.len; i++)
      if (s->channels.data[i]->block == from)
         s->channels.data[i]->block = body;
   for (size_t i = 0; i < s->standing.len; i++)
      if (s->standing.data[i]->block == from)
         s->standing.data[i]->block = body;
}

/* The loop or condition carries two values more; the ends of its regions do not yield them yet. */
static TlOp *
carry_two(Special *s, TlOp *old, TlValue *const more[2])
{
   const TlBlock *from[2] = {NULL};
   for (unsigned r = 0; r < old->num_regions; r++)
      from[r] = old->regions[r]->block;
   TlOp *op = tl_carrying(old, more, 2);
   for (size_t i = 0; i < s->pairs.len; i++)
      if (s->pairs.data[i]->pipe.loop == old) {
         s->pairs.data[i]->pipe.loop = op;
         s->pairs.data[i]->pipe.body = tl_loop_body(op);
      }
   for (unsigned r = 0; r < op->num_regions; r++)
      replace_block(s, from[r], op->regions[r]->block);
   return op;
}

/* Stage and parity after the ones given. */
static void
next_stage(TlBuilder *b, unsigned stages, TlValue *state[2])
{
   TlValue *one = tl_const_int(b, TL_I32, 1), *zero = tl_const_int(b, TL_I32, 0);
   TlValue *next = tl_b2(b, TL_OP_ADD, state[0], one);
   TlValue *is_last = tl_b2(b, TL_OP_EQ, next, tl_const_int(b, TL_I32, stages));
   TlValue *turned = tl_b2(b, TL_OP_XOR, state[1], one);
   state[0] = tl_b3(b, TL_OP_SELECT, is_last, zero, next);
   state[1] = tl_b3(b, TL_OP_SELECT, is_last, turned, state[1]);
}

/* The loop carries stage and parity: the state is that at the beginning of its body then. */
static TlOp *
enter_loop(Special *s, TlOp *op, TlValue *state[2])
{
   assert(tl_is_loop(op) && "block_of_nest");
   unsigned num = op->num_results;
   TlOp *loop = carry_two(s, op, state);
   TlBlock *body = tl_loop_body(loop), *condition = loop->regions[0]->block;
   for (unsigned i = 0; i < 2 && condition != body; i++)
      tl_append_arg(condition->last, tl_carried(condition, num + i));
   state[0] = tl_carried(body, num);
   state[1] = tl_carried(body, num + 1);
   return loop;
}

/* The body yields the state, which is that behind the loop then. */
static void
leave_loop(TlOp *loop, TlValue *state[2])
{
   for (unsigned i = 0; i < 2; i++) {
      tl_append_arg(tl_loop_body(loop)->last, state[i]);
      state[i] = tl_result(loop, loop->num_results - 2 + i);
   }
}

static bool
sends_by(const Special *s, const Channel *c, const TlOp *map)
{
   for (size_t i = 0; i < s->pairs.len && map->opcode == TL_OP_OWN_MAP; i++) {
      const TlPipe *p = &s->pairs.data[i]->pipe;
      for (size_t k = 0; k < p->loads.len && s->pairs.data[i]->channel == c; k++)
         if (p->loads.data[k].boxes && p->loads.data[k].boxes->map->def == map)
            return true;
   }
   return false;
}

/* NULL: behind what gives the state.  Where nothing was sent for since another landing, that is
 * enough. */
static void
add_landing(Special *s, Channel *c, TlOp *before, TlValue *const state[2])
{
   const Landing *last = s->landings.len ? &tl_vec_last(&s->landings) : NULL;
   bool is_done = last && before && last->before && last->channel == c && last->slot == state[0] &&
                  last->before->block == before->block;
   Landing l = {.channel = c, .before = before, .slot = state[0], .parity = state[1]};
   if (!is_done)
      tl_vec_push(s->cx->scratch, &s->landings, l);
}

static void count_stages(Special *s, Channel *c, TlBlock *block, TlValue *state[2]);

/* Through the regions of a condition: one without loops of the channel passes on what it has. */
static void
count_in_condition(Special *s, Channel *c, TlOp *old, TlValue *state[2])
{
   unsigned num = old->num_results;
   TlOp *op = carry_two(s, old, state);
   for (unsigned r = 0; r < op->num_regions; r++) {
      TlValue *inner[2] = {state[0], state[1]};
      count_stages(s, c, op->regions[r]->block, inner);
      for (unsigned i = 0; i < 2; i++)
         tl_append_arg(op->regions[r]->block->last, inner[i]);
   }
   for (unsigned i = 0; i < 2; i++)
      state[i] = tl_result(op, num + i);
}

/* Carries the channel's stage and parity through the loops of the block. */
static void
count_stages(Special *s, Channel *c, TlBlock *block, TlValue *state[2])
{
   for (TlOp *op = block->first, *next; op; op = next) {
      next = op->next;
      Pair *pair = pair_of(s, c, op);
      if (sends_by(s, c, op))
         add_landing(s, c, op, state);
      if (!pair && !holds_loop_of(s, c, op))
         continue;
      if (op->opcode == TL_OP_IF) {
         count_in_condition(s, c, op, state);
         continue;
      }
      TlOp *loop = enter_loop(s, op, state);
      if (pair) {
         TlBuilder b = tl_builder_before(tl_loop_body(loop)->last);
         pair->slot = state[0];
         pair->parity = state[1];
         next_stage(&b, c->stages, state);
      } else {
         count_stages(s, c, tl_loop_body(loop), state);
      }
      leave_loop(loop, state);
   }
}

/* The same of a tile before loops, through the loops around it. */
static void
count_standing(Special *s, Standing *x, TlBlock *block, TlValue *state[2])
{
   if (block == x->block) {
      TlBuilder b = tl_builder_before(block->last);
      x->position = state[0]->index;
      next_stage(&b, x->stages, state);
      return;
   }
   TlOp *loop = enter_loop(s, tl_in_block(x->load, block), state);
   count_standing(s, x, tl_loop_body(loop), state);
   leave_loop(loop, state);
}

/* Those of all tiles before loops; a loop that is built anew for one of them has other values for
 * the others. */
static void
count_all_standing(Special *s)
{
   for (size_t i = 0; i < s->standing.len; i++) {
      Standing *x = s->standing.data[i];
      TlBuilder b = tl_builder_before(x->outer->first);
      b.range = x->load->range;
      TlValue *zero = tl_const_int(&b, TL_I32, 0), *state[2] = {zero, zero};
      x->slot = x->parity = zero;
      if (x->block != x->outer)
         count_standing(s, x, x->outer, state);
   }
   for (size_t i = 0; i < s->standing.len; i++) {
      Standing *x = s->standing.data[i];
      if (x->block == x->outer)
         continue;
      x->slot = x->block->args[x->position];
      x->parity = x->block->args[x->position + 1];
   }
}

/* ---- boxes ---- */
/* Boxes fill the ring in all loops of its channel, or in none. */
static bool
find_boxes(Special *s, const Channel *c, size_t load)
{
   bool ok = true;
   for (size_t i = 0; i < s->pairs.len; i++) {
      TlPipe *p = &s->pairs.data[i]->pipe;
      TlRingLoad *l = &p->loads.data[load];
      if (s->pairs.data[i]->channel == c)
         l->boxes = tl_ring_boxes(p, l, &l->why_no_boxes);
      ok = ok && (l->boxes || s->pairs.data[i]->channel != c);
   }
   for (size_t i = 0; i < s->pairs.len && !ok; i++) {
      TlRingLoad *l = &s->pairs.data[i]->pipe.loads.data[load];
      if (s->pairs.data[i]->channel != c || !l->boxes)
         continue;
      l->boxes = NULL;
      l->why_no_boxes = "threads fill the same ring in another loop";
   }
   return ok;
}

/* Those by maps that the kernel makes itself. */
static bool
has_own_maps(const TlPipe *p)
{
   for (size_t i = 0; i < p->loads.len; i++)
      if (p->loads.data[i].boxes && p->loads.data[i].boxes->is_own)
         return true;
   return false;
}

/* Whose shares they are when boxes fill all rings. */
static const Shares *
shares_of_boxes(const Special *s)
{
   for (size_t i = 0; i < s->pairs.len; i++)
      if (has_own_maps(&s->pairs.data[i]->pipe))
         return &by_own_maps;
   return &by_boxes;
}

/* False when threads would have to copy what they cannot. */
static bool
choose_boxes(Special *s)
{
   bool all = s->affine != NULL, only_sums = true;
   size_t maps = 0;
   for (size_t i = 0; i < s->pairs.len; i++) {
      const TlPipe *p = &s->pairs.data[i]->pipe;
      maps += p->loads.len;
      only_sums = only_sums && tl_pipe_only_multiplies(p) &&
                  tl_words_of_dots(p->body) <= sums_by_threads.most_sums;
   }
   for (size_t i = 0; i < s->channels.len && s->affine; i++)
      for (size_t k = 0; k < s->channels.data[i]->pipe->loads.len; k++)
         all = maps <= TL_MAX_MAPS && find_boxes(s, s->channels.data[i], k) && all;
   s->shares = all ? shares_of_boxes(s) : only_sums ? &sums_by_threads : &by_threads;
   for (size_t i = 0; i < s->pairs.len; i++)
      for (size_t k = 0; k < s->pairs.data[i]->pipe.loads.len; k++) {
         const TlRingLoad *l = &s->pairs.data[i]->pipe.loads.data[k];
         if (l->needs_boxes && !l->boxes)
            return false;
      }
   return true;
}

static void
remark_copies(const Special *s, const TlPipe *p)
{
   for (size_t i = 0; i < p->loads.len; i++) {
      const TlRingLoad *l = &p->loads.data[i];
      const char *why = l->why_no_boxes ? l->why_no_boxes : "a launch makes at most 16 tensor maps";
      tl_ring_boxes_remark(s->cx, l, l->boxes ? NULL : why);
   }
}

/* Bytes of boxes in a stage of the group, and whether threads copy some of it. */
static uint64_t
bytes_of_boxes(const TlPipe *p, unsigned group, bool *has_threads)
{
   uint64_t bytes = 0;
   *has_threads = false;
   for (size_t i = 0; i < p->loads.len; i++) {
      const TlRingLoad *l = &p->loads.data[i];
      if (l->group != group)
         continue;
      bytes += l->boxes ? tl_memdesc_stage_bytes(l->stage) : 0;
      *has_threads |= !l->boxes;
   }
   return bytes;
}

/* ---- tiles before loops ---- */
static bool
is_in_pair(const Special *s, TlOp *op)
{
   for (size_t i = 0; i < s->pairs.len; i++)
      if (tl_in_block(op, s->pairs.data[i]->pipe.body))
         return true;
   return false;
}

/* Is the buffer only multiplied, in a loop of ours for one? */
static bool
is_only_multiplied(const Special *s, const TlValue *buffer, bool *in_loop)
{
   for (const TlUse *u = buffer->uses; u; u = u->next) {
      bool is_product = u->user->opcode == TL_OP_DOT && tl_is_by_wgmma(u->user);
      *in_loop |= is_product && is_in_pair(s, u->user);
      if (u->user->opcode == TL_OP_LOCAL_TRANS) {
         if (!is_only_multiplied(s, tl_result(u->user, 0), in_loop))
            return false;
      } else if (!is_product) {
         return false;
      }
   }
   return true;
}

/* Can the producer send for it as often as the consumers pass there? */
static bool
can_stand(Special *s, TlOp *load, TlOp *alloc)
{
   bool in_loop = false;
   if (alloc->block != load->block || is_in_pair(s, load) || !block_of_loops(load) ||
       !is_only_multiplied(s, tl_result(alloc, 0), &in_loop) || !in_loop ||
       tl_attr_int(load, TL_ATTR_VOLATILE) || may_be_stored_to(s, load))
      return false;
   tl_map_init(&s->seen, s->cx->scratch);
   s->why = NULL;
   need_control(s, tl_parent(load));
   return !s->why;
}

/* Where boxes fill all rings, tiles before their loops may come the same way; not by maps of the
 * kernel's own, whose landings are those of rings. */
static void
find_standing(Special *s)
{
   const TlBlock *top = s->func->body->block;
   size_t maps = 0;
   for (size_t i = 0; i < s->pairs.len; i++)
      maps += s->pairs.data[i]->pipe.loads.len;
   for (TlOp *op = top->first; op && maps < TL_MAX_MAPS; op = tl_walk_next(op, top)) {
      const TlUse *use = op->opcode == TL_OP_LOAD ? tl_result(op, 0)->uses : NULL;
      if (!use || use->next || use->user->opcode != TL_OP_LOCAL_ALLOC ||
          !can_stand(s, op, use->user))
         continue;
      const TlType *buffer = tl_result(use->user, 0)->type;
      Standing *x = tl_new(s->cx->scratch, Standing);
      *x = (Standing){.load = op,
                      .alloc = use->user,
                      .block = op->block,
                      .stages = 1,
                      .outer = block_of_loops(op)};
      if (tl_box_access(s->affine, op, buffer, &x->box) || x->box.is_own ||
          tl_box_access_build(s->cx->scratch, s->func, op, buffer, &x->box))
         continue;
      tl_vec_push(s->cx->scratch, &s->standing, x);
      uint64_t bytes = channel_bytes(s) + other_bytes(s), most = s->cx->target->max_shared_bytes;
      if (bytes > most) { /* it shares its memory with what lives at other times */
         s->standing.len--;
         continue;
      }
      if (x->outer != x->block && bytes + tl_memdesc_stage_bytes(buffer) <= most)
         x->stages = 2;
      maps++;
   }
}

static void
build_standing(Special *s, TlBuilder *b, Standing *x)
{
   const TlType *t = tl_result(x->alloc, 0)->type;
   b->range = x->load->range;
   x->full = tl_ring_barriers(b, x->stages, 1);
   if (x->outer != x->block)
      x->empty = tl_ring_barriers(b, x->stages, s->func->num_warps);
   x->ring = tl_b0(
      b, TL_OP_LOCAL_ALLOC,
      tl_type_memdesc(s->func->module->types, t->dtype, t->rank, t->shape, t->layout, x->stages));
}

/* ---- rings and barriers ---- */
static void
build_channel(Special *s, TlBuilder *b, Channel *c)
{
   const TlPipe *p = c->pipe;
   b->range = p->loop->range;
   c->rings = tl_new_array(s->cx->scratch, TlValue *, p->loads.len);
   for (unsigned g = 0; g < p->groups; g++) {
      bool has_threads, has_boxes = bytes_of_boxes(p, g, &has_threads) > 0;
      c->full[g] =
         tl_ring_barriers(b, c->stages, (has_threads ? PRODUCER_WARPS * LANES : 0u) + has_boxes);
      c->empty[g] = tl_ring_barriers(b, c->stages, s->func->num_warps);
   }
   for (size_t i = 0; i < p->loads.len; i++) {
      const TlType *t = p->loads.data[i].stage;
      c->rings[i] =
         tl_b0(b, TL_OP_LOCAL_ALLOC,
               tl_type_memdesc(p->types, t->dtype, t->rank, t->shape, t->layout, c->stages));
   }
}

static void
build_wait(TlBuilder *b, TlValue *barriers, TlValue *slot, TlValue *parity)
{
   TlValue *args[] = {barriers, slot, parity};
   tl_build_n(b, TL_OP_BARRIER_WAIT, args, 3, NULL, TL_ATTRS_());
}

static TlValue *
guarded_view(TlBuilder *b, const TlRingLoad *l, TlValue *slot)
{
   return tl_t2(b, TL_OP_LOCAL_VIEW, l->stage, l->ring, slot, {TL_ATTR_GUARDED, {.i = 1}});
}

/* ---- the producer ---- */
static void
copy_group(const TlMap *map, TlBuilder *b, Pair *pair, unsigned group, TlValue *slot)
{
   TlPipe *p = &pair->pipe;
   for (size_t i = 0; i < p->loads.len; i++) {
      TlRingLoad *l = &p->loads.data[i];
      if (l->group != group)
         continue;
      b->range = l->op->range;
      TlValue *view = guarded_view(b, l, slot);
      if (l->boxes) {
         tl_ring_boxes_copy(p, b, l, view, pair->channel->full[group], slot, map, NULL);
         continue;
      }
      TlValue *args[3] = {tl_slice_mapped(map, tl_arg(l->op, 0)),
                          tl_ring_turned_view(p, b, l, view),
                          l->op->num_args > 1 ? tl_slice_mapped(map, tl_arg(l->op, 1)) : NULL};
      tl_build_n(b, TL_OP_ASYNC_COPY, args, args[2] ? 3 : 2, NULL,
                 TL_ATTRS_({TL_ATTR_CACHE, *tl_attr(l->op, TL_ATTR_CACHE)},
                           {TL_ATTR_EVICT, *tl_attr(l->op, TL_ATTR_EVICT)}));
   }
}

static void
produce(const TlMap *map, Pair *pair)
{
   const Channel *c = pair->channel;
   TlValue *slot = tl_slice_mapped(map, pair->slot), *parity = tl_slice_mapped(map, pair->parity);
   TlOp *loop = slot->block->region->parent;
   TlBuilder b = tl_builder_before(loop->regions[0]->block->last);
   b.range = loop->range;
   TlValue *other = tl_b2(&b, TL_OP_XOR, parity, tl_const_int(&b, TL_I32, 1));
   for (unsigned g = 0; g < pair->pipe.groups; g++) {
      bool has_threads;
      TlValue *args[] = {c->full[g], slot};
      uint64_t bytes = bytes_of_boxes(&pair->pipe, g, &has_threads);
      build_wait(&b, c->empty[g], slot, other);
      if (bytes)
         tl_build_n(&b, TL_OP_BARRIER_EXPECT, args, 2, NULL,
                    TL_ATTRS_({TL_ATTR_BYTES, {.i = (int64_t)bytes}}));
      copy_group(map, &b, pair, g, slot);
      b.range = loop->range;
      if (has_threads)
         tl_build_n(&b, TL_OP_COPY_ARRIVE, args, 2, NULL, TL_ATTRS_());
   }
}

/* In the place of the load's copy. */
static void
produce_standing(const TlMap *map, const Standing *x)
{
   const TlType *t = tl_result(x->alloc, 0)->type;
   TlBuilder b = tl_builder_before(tl_slice_mapped(map, tl_result(x->load, 0))->def);
   b.range = x->load->range;
   TlValue *slot = tl_slice_mapped(map, x->slot);
   if (x->empty) {
      TlValue *parity = tl_slice_mapped(map, x->parity);
      build_wait(&b, x->empty, slot, tl_b2(&b, TL_OP_XOR, parity, tl_const_int(&b, TL_I32, 1)));
   }
   TlValue *expected[] = {x->full, slot};
   tl_build_n(&b, TL_OP_BARRIER_EXPECT, expected, 2, NULL,
              TL_ATTRS_({TL_ATTR_BYTES, {.i = tl_memdesc_stage_bytes(t)}}));
   TlValue *view = tl_t2(&b, TL_OP_LOCAL_VIEW, t, x->ring, slot, {TL_ATTR_GUARDED, {.i = 1}});
   tl_box_access_copy(&b, &x->box, view, x->full, slot, map, NULL);
}

/* Stages before the one that comes next were filled in this round of the ring, the others in the
 * one before, or never: a phase that has not begun counts as complete there. */
static void
produce_landing(TlBlock *copies, const TlMap *map, const Landing *l)
{
   const Channel *c = l->channel;
   TlValue *slot = tl_slice_mapped(map, l->slot), *parity = tl_slice_mapped(map, l->parity);
   TlOp *at =
      l->before ? ((TlValue *)tl_map_get(map, tl_result(l->before, 0)))->def : slot->def->next;
   TlBuilder b = at ? tl_builder_before(at) : tl_builder_at_end(tl_op_func(slot->def), copies);
   b.range = c->pipe->loop->range;
   TlValue *other = tl_b2(&b, TL_OP_XOR, parity, tl_const_int(&b, TL_I32, 1));
   for (unsigned stage = 0; stage < c->stages; stage++) {
      TlValue *number = tl_const_int(&b, TL_I32, stage);
      TlValue *is_of_round = tl_b2(&b, TL_OP_LT, number, slot);
      TlValue *phase = tl_b3(&b, TL_OP_SELECT, is_of_round, parity, other);
      for (unsigned g = 0; g < c->pipe->groups; g++)
         build_wait(&b, c->full[g], number, phase);
   }
}

/* A warp stays until its copies have landed. */
static void
wait_for_copies(TlBuilder *b)
{
   tl_build_n(b, TL_OP_ASYNC_COMMIT, NULL, 0, NULL, TL_ATTRS_());
   tl_build_n(b, TL_OP_ASYNC_WAIT, NULL, 0, NULL, TL_ATTRS_({TL_ATTR_NUM, {.i = 0}}));
}

/* What is not for addresses loses its effect, and then its reason to be there. */
static void
drop_effects(TlBlock *block)
{
   for (TlOp *op = tl_walk_inner(block), *next; op; op = next) {
      next = tl_walk_inner_next(op, block);
      bool has_effect = tl_has_trait(op, TL_TRAIT_WRITE) ||
                        (tl_has_attr(op, TL_ATTR_PURE) && !tl_attr_int(op, TL_ATTR_PURE)) ||
                        (op->opcode == TL_OP_LOAD && tl_attr_int(op, TL_ATTR_VOLATILE));
      if (!has_effect || op->num_regions || op->opcode == TL_OP_LOCAL_ALLOC ||
          op->opcode == TL_OP_ASSUME)
         continue;
      tl_remove_poisoned(op);
   }
}

/* The tile over the warps that copy: what other warps held goes to registers of these. */
static const TlType *
over_producer_warps(Special *s, const TlType *t)
{
   unsigned keep = (unsigned)__builtin_ctz(s->shares->copying_warps);
   if (t->kind != TL_TYPE_TILE || t->layout->num[TL_HW_WARP] <= keep)
      return t;
   TlLinear l = tl_ll_warps_to_registers(t->layout, keep);
   TlTypes *types = s->func->module->types;
   return tl_type_with_layout(types, t, tl_layout_intern(types, &l));
}

static void
spread_block(Special *s, TlBlock *top)
{
   for (TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      for (unsigned i = 0; i < op->num_results; i++)
         op->results[i].type = over_producer_warps(s, op->results[i].type);
      for (unsigned r = 0; r < op->num_regions; r++)
         for (unsigned i = 0; i < op->regions[r]->block->num_args; i++) {
            TlValue *arg = op->regions[r]->block->args[i];
            arg->type = over_producer_warps(s, arg->type);
         }
   }
}

/* ---- the consumer ---- */
/* The first and the last operation of the block that reads the value or a view of it, or holds one
 * that does; of those found before as well. */
static void
note_uses(const TlBlock *body, const TlValue *v, TlOp **first, TlOp **last, TlMap *place)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      TlOp *op = tl_in_block(u->user, body);
      if (!op)
         continue;
      uintptr_t at = (uintptr_t)tl_map_get(place, op);
      if (!*first || at < (uintptr_t)tl_map_get(place, *first))
         *first = op;
      if (!*last || at > (uintptr_t)tl_map_get(place, *last))
         *last = op;
      bool is_view = u->user->opcode == TL_OP_LOCAL_TRANS || u->user->opcode == TL_OP_LOCAL_LOAD ||
                     u->user->opcode == TL_OP_CONVERT_LAYOUT;
      if (is_view)
         note_uses(body, tl_result(u->user, 0), first, last, place);
   }
}

static void
consume_group(Pair *pair, unsigned group, TlMap *place)
{
   const Channel *c = pair->channel;
   TlPipe *p = &pair->pipe;
   TlOp *first = NULL, *last = NULL, *any = NULL;
   for (size_t i = 0; i < p->loads.len; i++) {
      TlRingLoad *l = &p->loads.data[i];
      if (l->group != group)
         continue;
      first = first ? first : l->first_use; /* they are sorted */
      note_uses(p->body, tl_result(l->op, 0), &any, &last, place);
      if (l->alloc)
         note_uses(p->body, tl_result(l->alloc, 0), &any, &last, place);
   }
   assert(first && last && "a load that nobody uses is gone");
   TlBuilder b = tl_builder_before(first);
   b.range = p->loop->range;
   build_wait(&b, c->full[group], pair->slot, pair->parity);
   b = last->next ? tl_builder_before(last->next) : tl_builder_before(last);
   b.range = p->loop->range;
   TlValue *args[] = {c->empty[group], pair->slot};
   tl_build_n(&b, TL_OP_BARRIER_ARRIVE, args, 2, NULL, TL_ATTRS_());
}

static void
number_operations(TlArena *scratch, const TlBlock *block, TlMap *place)
{
   uintptr_t at = 0;
   tl_map_init(place, scratch);
   for (TlOp *op = block->first; op; op = op->next)
      tl_map_put(place, op, (void *)++at);
}

static void
consume_standing(Special *s, const Standing *x)
{
   TlMap place;
   TlOp *first = NULL, *last = NULL;
   TlValue *buffer = tl_result(x->alloc, 0);
   number_operations(s->cx->scratch, x->block, &place);
   note_uses(x->block, buffer, &first, &last, &place);
   assert(first && last && last->next && "is_only_multiplied");
   TlBuilder b = tl_builder_before(first);
   b.range = x->load->range;
   build_wait(&b, x->full, x->slot, x->parity);
   tl_replace_uses(buffer, tl_t2(&b, TL_OP_LOCAL_VIEW, buffer->type, x->ring, x->slot,
                                 {TL_ATTR_GUARDED, {.i = 1}}));
   if (x->empty) {
      b = tl_builder_before(last->next);
      b.range = x->load->range;
      TlValue *args[] = {x->empty, x->slot};
      tl_build_n(&b, TL_OP_BARRIER_ARRIVE, args, 2, NULL, TL_ATTRS_());
   }
   tl_remove(x->alloc);
   tl_remove(x->load);
}

static void
consume(Pair *pair)
{
   TlPipe *p = &pair->pipe;
   TlMap place;
   number_operations(p->cx->scratch, p->body, &place);
   for (unsigned g = 0; g < p->groups; g++)
      consume_group(pair, g, &place);
   TlBuilder b = tl_builder_before(p->body->first);
   TlValue **view = tl_new_array(p->cx->scratch, TlValue *, p->loads.len);
   for (size_t i = 0; i < p->loads.len; i++) {
      b.range = p->loads.data[i].op->range;
      view[i] = guarded_view(&b, &p->loads.data[i], pair->slot);
   }
   for (size_t i = 0; i < p->loads.len; i++)
      tl_ring_read(p, &p->loads.data[i], view[i]);
}

/* ---- the rewrite ---- */
static TlOp *
build_role(TlBuilder *b, unsigned first, unsigned warps, unsigned registers)
{
   TlAttrInit attrs[] = {{TL_ATTR_FIRST_WARP, {.i = first}},
                         {TL_ATTR_NUM_WARPS, {.i = warps}},
                         {TL_ATTR_REGISTERS, {.i = registers}}};
   return tl_build(b, TL_OP_ROLE, NULL, 0, NULL, 0, attrs, 3, 1);
}

static void
end_role(TlFunc *f, TlOp *role)
{
   TlBuilder b = tl_builder_inside(f, role, 0, role->range);
   tl_build_yield(&b, NULL, 0);
}

static void
split_roles(Special *s)
{
   TlFunc *f = s->func;
   TlBlock *top = f->body->block;
   TlOp *first = top->first, *end = top->last;
   TlBuilder b = tl_builder_before(first);
   b.range = f->range;
   for (size_t i = 0; i < s->channels.len; i++)
      build_channel(s, &b, s->channels.data[i]);
   for (size_t i = 0; i < s->standing.len; i++)
      build_standing(s, &b, s->standing.data[i]);
   for (size_t i = 0; i < s->pairs.len; i++)
      for (size_t k = 0; k < s->pairs.data[i]->pipe.loads.len; k++)
         s->pairs.data[i]->pipe.loads.data[k].ring = s->pairs.data[i]->channel->rings[k];
   b.range = f->range;
   TlOp *producer = build_role(&b, f->num_warps, s->shares->copying_warps, s->shares->producer);
   TlOp *consumer = build_role(&b, 0, f->num_warps, s->shares->consumer);
   TlBlock *copies = producer->regions[0]->block;
   TlMap map; /* of the kernel's values: to the producer's */
   tl_map_init(&map, s->cx->scratch);
   TlBuilder in = tl_builder_at_end(f, copies);
   for (TlOp *op = first; op != end; op = op->next)
      tl_clone_op(&in, op, &map);
   drop_effects(copies);
   for (size_t i = 0; i < s->standing.len; i++)
      produce_standing(&map, s->standing.data[i]);
   for (size_t i = 0; i < s->pairs.len; i++)
      produce(&map, s->pairs.data[i]);
   for (size_t i = 0; i < s->landings.len; i++)
      produce_landing(copies, &map, &s->landings.data[i]);
   in.range = producer->range;
   if (!is_by_boxes(s))
      wait_for_copies(&in);
   end_role(f, producer);
   spread_block(s, copies);
   for (TlOp *op = first, *next; op != end; op = next) {
      next = op->next;
      tl_move_to_end(op, consumer->regions[0]->block);
   }
   end_role(f, consumer);
   for (size_t i = 0; i < s->standing.len; i++) {
      Standing *x = s->standing.data[i];
      x->block = x->block == top ? consumer->regions[0]->block : x->block;
      consume_standing(s, x);
   }
   for (size_t i = 0; i < s->pairs.len; i++)
      consume(s->pairs.data[i]);
   f->extra_warps = PRODUCER_WARPS;
}

/* ---- whether it pays ---- */
/* Is the loop in one that stores, one tile after the other?  Such blocks are launched one for each
 * multiprocessor. */
static bool
is_of_tiles(const TlOp *loop)
{
   for (const TlOp *outer = tl_parent(loop); outer; outer = tl_parent(outer))
      for (unsigned r = 0; r < outer->num_regions && tl_is_loop(outer); r++)
         if (tl_block_has(outer->regions[r]->block, TL_OP_STORE))
            return true;
   return false;
}

/* Of sums that the body adds products to by itself, scaled ones say: they live beside these. */
static unsigned
words_of_own_sums(const TlPipe *p)
{
   enum { FEW = 16 }; /* of rows: maxima and the like */
   unsigned sum = 0;
   for (unsigned i = 0; i < p->loop->num_results; i++) {
      const TlValue *next = tl_yielded(p->body, i);
      bool is_sum = tl_type_is_tile(next->type) && tl_value_is(next, TL_OP_ADD) &&
                    tl_dtype_is_float(tl_type_elem(next->type)->dtype);
      unsigned words = is_sum ? tl_words_of(next->type) : 0;
      sum += words > FEW ? words : 0;
   }
   return sum;
}

/* Would the block be alone on its multiprocessor anyway?  Else two blocks already keep out of each
 * other's way, and the registers and the shared memory of the producers would cost one of them.
 * What the loop's sums take must fit into the registers that are left to the consumers. */
static bool
pays(const Special *s)
{
   unsigned words = 0;
   uint64_t bytes = 0;
   bool is_asked = false, is_alone = false;
   for (size_t i = 0; i < s->pairs.len; i++) {
      const TlPipe *p = &s->pairs.data[i]->pipe;
      unsigned own = tl_words_of_products(p->body);
      is_alone |= is_of_tiles(p->loop);
      is_asked |= tl_attr_int(p->loop, TL_ATTR_FLAGS) >> TL_LOOP_FLAG_WARP_SPECIALIZE & 1;
      words = own > words ? own : words;
      if (own + (is_by_boxes(s) ? 0 : words_of_own_sums(p)) > s->shares->most_sums)
         return false;
   }
   for (size_t i = 0; i < s->channels.len; i++)
      bytes += tl_pipe_stage_bytes(s->channels.data[i]->pipe) * s->channels.data[i]->stages;
   return is_asked || is_alone || 2 * bytes > s->cx->target->max_shared_bytes ||
          tl_is_alone(s->cx->target, s->func->num_warps, words);
}

/* Some loops are there for boxes by maps of the kernel's own: have all of them such? */
static bool
has_what_it_needs(const Special *s)
{
   for (size_t i = 0; i < s->pairs.len; i++) {
      const Pair *pair = s->pairs.data[i];
      if (pair->needs_own_maps && (!is_by_boxes(s) || !has_own_maps(&pair->pipe)))
         return false;
   }
   return true;
}

/* Loops, channels and boxes of the function as it is; false: no roles. */
static bool
plan(Special *s)
{
   if (s->cx->uses_boxes) {
      s->affine = tl_affine_new(s->cx->scratch, s->func);
      tl_affine_doubt_arguments(s->affine);
   }
   find_loops(s);
   if (!s->pairs.len || has_while_of_others(s))
      return false;
   for (size_t i = 0; i < s->pairs.len; i++)
      join_channel(s, s->pairs.data[i]);
   if (!limit_stages(s)) {
      for (size_t i = 0; i < s->pairs.len; i++)
         tl_pipe_refuse(&s->pairs.data[i]->pipe, s->pairs.data[i]->pipe.loads.data[0].op,
                        "two stages of all loops do not fit in shared memory");
      return false;
   }
   bool ok = choose_boxes(s);
   if (!has_what_it_needs(s)) {
      *s = (Special){.cx = s->cx, .func = s->func, .no_own_maps = true};
      return plan(s);
   }
   if (!ok || !pays(s))
      return false;
   if (is_by_boxes(s))
      find_standing(s);
   return true;
}

/* Stages of each channel, of which a loop of tiles leaves no fewer than are enough. */
static bool
has_stages_of(const Special *s, const Special *before, unsigned enough)
{
   bool ok = s->channels.len == before->channels.len;
   for (size_t i = 0; ok && i < s->channels.len; i++) {
      unsigned was = before->channels.data[i]->stages;
      ok = s->channels.data[i]->stages >= (was < enough ? was : enough);
   }
   return ok;
}

/* Would rings and the tile that is stored fit in a loop over tiles?  Tried on a copy. */
static bool
fits_in_tiles(const Special *s, const TlTilePlan *grid, unsigned enough)
{
   TlDiags *diags = s->cx->diags;
   const char *remarks = diags->remarks;
   Special copy = {.cx = s->cx, .func = tl_func_clone(s->func)};
   diags->remarks = NULL; /* of what is not there */
   tl_persist_grid(s->cx->scratch, copy.func, s->cx->target, grid);
   bool fits = plan(&copy) && is_by_boxes(&copy) && has_stages_of(&copy, s, enough);
   diags->remarks = remarks;
   tl_func_remove_last(s->func->module);
   return fits;
}

/* One block for many programs, where one thread copies for all of a block's warps: the block is
 * alone on its multiprocessor, and would leave it idle while it begins and while it stores. */
static void
persist(Special *s)
{
   enum { STAGES_OF_SUMS = 3, STAGES = 2 }; /* other loops compute while one is filled */
   if (!is_by_boxes(s))
      return;
   TlOp **loops = tl_new_array(s->cx->scratch, TlOp *, s->pairs.len);
   bool only_sums = true;
   for (size_t i = 0; i < s->pairs.len; i++) {
      loops[i] = s->pairs.data[i]->pipe.loop;
      only_sums = only_sums && tl_pipe_only_multiplies(&s->pairs.data[i]->pipe);
   }
   TlTilePlan grid = {.loops = loops, .num = s->pairs.len};
   const TlTarget *target = s->cx->target;
   const char *why = tl_why_not_persistent(s->cx->scratch, s->func, target, only_sums, &grid);
   if (!why && s->shares == &by_own_maps)
      why = "each program would make tensor maps of its own";
   if (!why && !fits_in_tiles(s, &grid, only_sums ? STAGES_OF_SUMS : STAGES)) {
      why = "rings and the tile that is stored do not fit side by side";
   } else if (!why && grid.short_when && !s->cx->short_programs) {
      why = "it would pay for short programs only, as --short-programs has them";
      s->func->short_when = grid.short_when;
   } else if (!why) {
      tl_persist_grid(s->cx->scratch, s->func, target, &grid);
      *s = (Special){.cx = s->cx, .func = s->func};
      bool is_planned = plan(s); /* as the copy was */
      assert(is_planned);
      (void)is_planned;
   }
   if (!tl_wants_remarks(s->cx->diags, "pipeline"))
      return;
   if (why)
      tl_report(s->cx->diags, R0426, s->func->range, why);
   else
      tl_report(s->cx->diags, R0425, s->func->range);
}

bool
tl_pass_specialize_warps(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   Special s = {.cx = cx, .func = f};
   if (!cx->target || !(cx->target->features & TL_FEAT_WGMMA) ||
       f->num_warps != TL_CONSUMER_WARPS || f->extra_warps || !is_plain_kernel(f))
      return false;
   if (!plan(&s))
      return s.affine != NULL; /* what maps would be made of is there */
   if (cx->persists)
      persist(&s);
   for (size_t i = 0; i < s.channels.len; i++) {
      Channel *c = s.channels.data[i];
      TlBuilder b = tl_builder_before(c->block->first);
      b.range = f->range;
      TlValue *zero = tl_const_int(&b, TL_I32, 0), *state[2] = {zero, zero};
      count_stages(&s, c, c->block, state);
      if (s.shares == &by_own_maps)
         add_landing(&s, c, NULL, state);
   }
   count_all_standing(&s);
   for (size_t i = 0; i < s.pairs.len && tl_wants_remarks(cx->diags, "pipeline"); i++) {
      const TlPipe *p = &s.pairs.data[i]->pipe;
      tl_report(cx->diags, R0420, p->loop->range, (unsigned)PRODUCER_WARPS,
                s.pairs.data[i]->channel->stages, (unsigned)tl_pipe_stage_bytes(p),
                (unsigned)p->loads.len, p->loads.len == 1 ? "" : "s");
   }
   for (size_t i = 0; i < s.pairs.len && cx->uses_boxes; i++)
      remark_copies(&s, &s.pairs.data[i]->pipe);
   for (size_t i = 0; i < s.standing.len; i++)
      tl_boxes_remark(cx, s.standing.data[i]->load, &s.standing.data[i]->box.boxes);
   split_roles(&s);
   return true;
}
