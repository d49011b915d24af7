/* Barriers between accesses to shared memory that conflict, and fences between what threads write
 * there and what wgmma reads.
 *
 * Forward dataflow: the state holds the intervals read and written since the last barrier.  An
 * access that meets an earlier write, or a write that meets an earlier read, gets a barrier before
 * it, and the state is cleared.  When all conflicts are between accesses of one warp-private
 * exchange, the warp's own barrier is enough; of one buffer of which each four warps have a part,
 * that of the four.  Loops are tried until the state at their entry stands.
 *
 * Asynchronous copies are writes that happen when their group is waited for.  Before that no
 * barrier could order them, so code never touches the bytes of a copy in flight (each stage of a
 * ring is waited for before it is read, and read before it is copied to again): no conflict then.
 * From the wait on they are ordinary writes.
 *
 * Stages of a ring are told apart by phase: how many iterations after the one at hand a stage is
 * read.  The loop with the copies turns the ring: on the way back phases go down by one, after
 * the loop they are unknown, and an access counts for the whole ring.
 *
 * Boxes that the loop's own warps send for are writes at once, for what came before them; what
 * comes after has waited for them at an mbarrier.
 *
 * wgmma reads until it is waited for, past barriers: like a copy in flight, its reads conflict with
 * nothing before.  So do boxes that are stored.  Both go to memory by another way (the async
 * proxy), so what threads wrote must be fenced by them before the barrier: a fence goes before
 * every barrier that has such writes behind it, and before a loop with wgmma for what was written
 * before it; boxes write over it by the same way.  Where another fence and a barrier follow before
 * anything goes that way, the later fence is enough.  What asynchronous copies brought needs none
 * (docs/decisions/0016), nor do boxes, which come by the async proxy themselves.
 *
 * An atomic that releases comes after what the whole block stored in the same buffer before it, as
 * a scalar one does from lowering on: the elements that a thread adds to, others may have set.
 * Each buffer (a parameter) counts as one byte behind the shared memory, which stores write and
 * releasing atomics read; other accesses to it are the kernel's own to order.
 *
 * Roles run at the same time, each with a named barrier of its own; what one does is ordered with
 * what another does by mbarriers, which specialize_warps places; these order all that is guarded by
 * them (the rings of both), also within a role.  So each begins with what came
 * before all of them: lower puts a barrier of the whole block there.
 *
 * Invariant: at every operation the state covers all accesses of other threads that may still
 * run. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/pipeline_loops.h"

#include <assert.h>
#include <string.h>

/* Each is waited for by itself. */
typedef enum AsyncKind { COPIES, PRODUCTS, STORED_BOXES } AsyncKind;

typedef struct Access {
   uint32_t begin, end; /* bytes */
   uint32_t partition;  /* nonzero: private to each warp */
   uint32_t groups;     /* nonzero: private to each four warps */
   uint32_t stages;     /* of a ring, 0 = none or its phase is not known */
   uint32_t phase;      /* iterations until the stage is read, modulo stages */
   bool is_guarded;     /* by mbarriers: ordered with what is guarded as well */
   bool is_write;
   bool warp_synced;   /* a warp barrier came after it */
   bool group_synced;  /* one of each four warps did */
   uint32_t in_flight; /* not waited for: 1 + groups of its kind since, at most MAX_AGE */
   AsyncKind kind;     /* of what is in flight */
   bool is_async;      /* by the async proxy: of wgmma, or of a box */
   bool is_fenced;     /* a write that the async proxy may see after the next barrier */
   bool is_ordered;    /* a write that a barrier without fence came after: only that proxy minds */
} Access;

enum { MAX_AGE = 255 };

/* Global memory lies where no shared memory is, a byte for each buffer; from here on all of it. */
#define GLOBAL_BEGIN (UINT32_MAX - 64)

typedef struct State {
   TL_VEC(Access) open;
} State;

/* What trials found of a loop: without it nested loops would be tried a number of times that
 * doubles with each level. */
typedef struct Trial {
   const TlOp *loop;
   State before;   /* where the loop begins */
   State standing; /* at the entry of its body, over all iterations */
   State after;
   unsigned barriers; /* of the block, in an iteration */
} Trial;

typedef struct Barriers {
   TlPassCx *cx;
   TlFunc *func;
   State state;
   TL_VEC(Trial) trials; /* a loop gets its barriers after its last trial: none goes stale */
   TL_VEC(Access) async; /* by that proxy, in the whole function */
   TlMap place;          /* operation -> number, where there are such accesses */
   TlMap around_async;   /* loops with such accesses */
   uintptr_t num_ops, last_async; /* none runs after the operation of that number */
   bool changed;
   bool is_trial; /* barriers are only thought of: the state at the entry of a loop is not known */
   unsigned num_barriers; /* of the block, placed or thought of */
} Barriers;

static bool
same_access(const Access *a, const Access *b)
{
   return a->begin == b->begin && a->end == b->end && a->partition == b->partition &&
          a->groups == b->groups && a->is_guarded == b->is_guarded && a->is_write == b->is_write &&
          a->warp_synced == b->warp_synced && a->group_synced == b->group_synced &&
          a->in_flight == b->in_flight && a->stages == b->stages && a->phase == b->phase &&
          a->kind == b->kind && a->is_async == b->is_async && a->is_fenced == b->is_fenced &&
          a->is_ordered == b->is_ordered;
}

static void
add(Barriers *b, State *s, const Access *a)
{
   for (size_t i = 0; i < s->open.len; i++)
      if (same_access(&s->open.data[i], a))
         return;
   tl_vec_push(b->cx->scratch, &s->open, *a);
}

static void
merge(Barriers *b, State *into, const State *from)
{
   for (size_t i = 0; i < from->open.len; i++)
      add(b, into, &from->open.data[i]);
}

static State
copy(Barriers *b, const State *s)
{
   State out = {0};
   merge(b, &out, s);
   return out;
}

static bool
is_subset(const State *a, const State *of)
{
   for (size_t i = 0; i < a->open.len; i++) {
      bool found = false;
      for (size_t j = 0; j < of->open.len && !found; j++)
         found = same_access(&a->open.data[i], &of->open.data[j]);
      if (!found)
         return false;
   }
   return true;
}

static Access
access_to(const TlExtent *e)
{
   Access a = {.begin = (uint32_t)e->begin,
               .end = (uint32_t)e->end,
               .partition = (uint32_t)e->partition,
               .groups = (uint32_t)e->groups,
               .stages = (uint32_t)e->stages,
               .is_guarded = e->guarded != 0};
   a.phase = a.stages ? (uint32_t)e->phase % a.stages : 0;
   return a;
}

static unsigned
wgmma_accesses(const TlOp *op, Access out[2])
{
   unsigned n = 0;
   for (unsigned i = tl_wgmma_is_shared(op, 0) ? 0 : 1; i < 2; i++) {
      TlExtent e = tl_wgmma_extent(op, i);
      out[n] = access_to(&e);
      out[n].kind = PRODUCTS;
      out[n].is_async = true;
      out[n++].in_flight = 1;
   }
   return n;
}

/* A box that the loop's own warps send for. */
static bool
is_own_box(const TlOp *op)
{
   TlExtent e = {0};
   return op->opcode == TL_OP_TMA_LOAD && tl_attr_extent(op, &e) && !e.guarded && e.phase >= 0;
}

static bool
releases(const TlOp *op)
{
   if (op->opcode != TL_OP_ATOM_RMW && op->opcode != TL_OP_ATOM_CAS)
      return false;
   int64_t sem = tl_attr_int(op, TL_ATTR_SEM);
   return sem == TL_SEM_RELEASE || sem == TL_SEM_ACQ_REL;
}

/* Different parameters are taken for different memory. */
static Access
global_access(const TlOp *op)
{
   Access a = {.begin = GLOBAL_BEGIN, .end = UINT32_MAX, .is_write = op->opcode == TL_OP_ST_GLOBAL};
   const TlValue *root = tl_pointer_root(tl_arg(op, 0));
   if (root && root->index < a.end - a.begin) {
      a.begin += root->index;
      a.end = a.begin + 1;
   }
   return a;
}

/* Reads and writes of an operation: none, one or both. */
static unsigned
accesses_of(const TlOp *op, Access out[2])
{
   if (op->opcode == TL_OP_WGMMA)
      return wgmma_accesses(op, out);
   if (op->opcode == TL_OP_ST_GLOBAL || releases(op)) {
      out[0] = global_access(op);
      return 1;
   }
   bool reads = tl_has_trait(op, TL_TRAIT_READS_SHARED);
   bool writes = tl_has_trait(op, TL_TRAIT_WRITES_SHARED);
   if (!reads && !writes)
      return 0;
   TlExtent e = {.end = GLOBAL_BEGIN};
   tl_attr_extent(op, &e);
   Access a = access_to(&e);
   unsigned n = 0;
   if (op->opcode == TL_OP_TMA_STORE) {
      a.kind = STORED_BOXES;
      a.is_async = true;
      a.in_flight = 2; /* a group by itself */
   }
   if (reads)
      out[n++] = a;
   a.is_write = true;
   a.in_flight = op->opcode == TL_OP_CP_ASYNC ? 1 : 0;
   a.is_fenced = op->opcode == TL_OP_CP_ASYNC || op->opcode == TL_OP_TMA_LOAD;
   a.is_async = is_own_box(op);
   if (writes)
      out[n++] = a;
   return n;
}

enum { NO_CONFLICT, WARP_CONFLICT, GROUP_CONFLICT, BLOCK_CONFLICT };

static int
conflict(const Access *a, const Access *b)
{
   if (!(a->begin < b->end && b->begin < a->end) || (!a->is_write && !b->is_write) || a->in_flight)
      return NO_CONFLICT;
   if (a->begin >= GLOBAL_BEGIN)
      return a->is_write && !b->is_write ? BLOCK_CONFLICT : NO_CONFLICT;
   if (a->stages && b->stages && a->begin == b->begin && a->end == b->end && a->phase != b->phase)
      return NO_CONFLICT; /* another stage of the ring */
   if (a->is_guarded && b->is_guarded)
      return NO_CONFLICT;
   if (a->is_ordered && !b->is_async)
      return NO_CONFLICT;
   if (a->partition && a->partition == b->partition)
      return a->warp_synced ? NO_CONFLICT : WARP_CONFLICT;
   if (a->groups && a->groups == b->groups)
      return a->group_synced ? NO_CONFLICT : GROUP_CONFLICT;
   return BLOCK_CONFLICT;
}

/* A write of threads that the async proxy may read or write over, and no fence came after. */
static bool
needs_fence(const Barriers *b, const Access *a)
{
   if (!a->is_write || a->in_flight || a->is_fenced)
      return false;
   for (size_t i = 0; i < b->async.len; i++)
      if (a->begin < b->async.data[i].end && b->async.data[i].begin < a->end)
         return true;
   return false;
}

static void
after_block_barrier(Barriers *b)
{
   State *s = &b->state, old = copy(b, s);
   s->open.len = 0;
   for (size_t i = 0; i < old.open.len; i++) {
      Access *a = &old.open.data[i];
      a->is_ordered |= needs_fence(b, a);
      if (a->in_flight || needs_fence(b, a))
         add(b, s, a);
   }
}

static bool
async_may_follow(const Barriers *b, const TlOp *op)
{
   return b->last_async && (uintptr_t)tl_map_get(&b->place, op) <= b->last_async;
}

/* True when there is something to fence. */
static bool
after_fence(Barriers *b)
{
   bool any = false;
   for (size_t i = 0; i < b->state.open.len; i++) {
      Access *a = &b->state.open.data[i];
      any |= needs_fence(b, a);
      a->is_fenced |= a->is_write && !a->in_flight;
   }
   return any;
}

static void
fence(Barriers *b, TlOp *before)
{
   if (!after_fence(b) || b->is_trial)
      return;
   TlBuilder build = tl_builder_before(before);
   tl_build_n(&build, TL_OP_FENCE_ASYNC, NULL, 0, NULL, TL_ATTRS_());
   b->changed = true;
}

static void
after_warp_barrier(State *s)
{
   for (size_t i = 0; i < s->open.len; i++)
      s->open.data[i].warp_synced |= s->open.data[i].partition != 0;
}

/* What is still in flight may be touched after it. */
static void
after_group_barrier(State *s)
{
   for (size_t i = 0; i < s->open.len; i++)
      s->open.data[i].group_synced |= s->open.data[i].groups && !s->open.data[i].in_flight;
}

static void
after_commit(State *s, AsyncKind kind)
{
   for (size_t i = 0; i < s->open.len; i++)
      if (s->open.data[i].in_flight && s->open.data[i].in_flight < MAX_AGE &&
          s->open.data[i].kind == kind)
         s->open.data[i].in_flight++;
}

/* At most the last num groups are still in flight: those of age 1 (open) to num + 1. */
static void
after_wait(State *s, int64_t num, AsyncKind kind)
{
   assert(num >= 0);
   for (size_t i = 0; i < s->open.len; i++) {
      uint32_t age = s->open.data[i].in_flight;
      if ((age == MAX_AGE || (age > 1 && age > num + 1)) && s->open.data[i].kind == kind)
         s->open.data[i].in_flight = 0;
   }
}

/* Copies of boxes are not parted from the expectations before them (branch_sends). */
static TlOp *
place_of_barrier(TlOp *before)
{
   TlOp *op = before, *at = before;
   while (before->opcode == TL_OP_TMA_LOAD && op->prev &&
          (tl_op_is_pure(op->prev) || op->prev->opcode == TL_OP_MBAR_EXPECT)) {
      op = op->prev;
      at = op->opcode == TL_OP_MBAR_EXPECT ? op : at;
   }
   return at;
}

static void
block_barrier(Barriers *b, TlOp *before)
{
   before = place_of_barrier(before);
   if (async_may_follow(b, before))
      fence(b, before);
   b->num_barriers++;
   if (!b->is_trial) {
      TlBuilder build = tl_builder_before(before);
      tl_build_n(&build, TL_OP_BAR_SYNC, NULL, 0, NULL,
                 TL_ATTRS_({TL_ATTR_BARRIER, {.i = tl_barrier_at(before)}}));
      b->changed = true;
   }
   after_block_barrier(b);
}

static void
group_barrier(Barriers *b, TlOp *before)
{
   if (async_may_follow(b, before))
      fence(b, before);
   if (!b->is_trial) {
      TlBuilder build = tl_builder_before(before);
      tl_build_n(&build, TL_OP_BAR_SYNC, NULL, 0, NULL,
                 TL_ATTRS_({TL_ATTR_BARRIER, {.i = tl_group_barrier_at(before)}},
                           {TL_ATTR_GROUPED, {.i = true}}));
      b->changed = true;
   }
   after_group_barrier(&b->state);
}

static void
before_access(Barriers *b, TlOp *op, const Access *acc, unsigned n)
{
   assert(n <= 2);
   int worst = NO_CONFLICT;
   for (size_t i = 0; i < b->state.open.len; i++)
      for (unsigned k = 0; k < n; k++) {
         int c = conflict(&b->state.open.data[i], &acc[k]);
         worst = c > worst ? c : worst;
      }
   if (worst == NO_CONFLICT)
      return;
   if (worst == BLOCK_CONFLICT || worst == GROUP_CONFLICT) {
      (worst == BLOCK_CONFLICT ? block_barrier : group_barrier)(b, op);
      return;
   }
   if (!b->is_trial) {
      TlBuilder build = tl_builder_before(op);
      tl_build_n(&build, TL_OP_BAR_WARP, NULL, 0, NULL, TL_ATTRS_());
      b->changed = true;
   }
   after_warp_barrier(&b->state);
}

static void walk(Barriers *b, TlBlock *block);

static bool
has_own_boxes(const TlOp *loop)
{
   for (const TlOp *op = loop->regions[0]->block->first; op; op = op->next)
      if (is_own_box(op))
         return true;
   return false;
}

/* Does the loop fill rings? */
static bool
turns_rings(const TlOp *loop)
{
   assert(tl_is_loop(loop));
   for (const TlOp *op = loop->regions[0]->block->first; op; op = op->next)
      if (op->opcode == TL_OP_CP_ASYNC_COMMIT)
         return true;
   return has_own_boxes(loop);
}

static void
next_phase(State *s)
{
   for (size_t i = 0; i < s->open.len; i++) {
      Access *a = &s->open.data[i];
      if (a->stages)
         a->phase = (a->phase + a->stages - 1) % a->stages;
   }
}

static void
forget_phases(State *s)
{
   for (size_t i = 0; i < s->open.len; i++)
      s->open.data[i].stages = s->open.data[i].phase = 0;
}

/* One iteration from the state at the entry; returns the state where the loop is left. */
static State
walk_iteration(Barriers *b, TlOp *op, const State *entry)
{
   b->state = copy(b, entry);
   walk(b, op->regions[0]->block);
   State exit = copy(b, &b->state); /* a while leaves after its condition */
   for (unsigned i = 1; i < op->num_regions; i++)
      walk(b, op->regions[i]->block);
   return exit;
}

/* The state after a loop, from that at the entry of its body and that where the body is left. */
static State
leave_loop(Barriers *b, const TlOp *op, const State *entry, const State *exit)
{
   State out = copy(b, exit);
   if (op->opcode == TL_OP_FOR)
      merge(b, &out, entry); /* zero iterations */
   if (turns_rings(op))
      forget_phases(&out);
   return out;
}

/* Iterations until the state at the entry stands. */
static Trial
try_loop(Barriers *b, TlOp *op)
{
   for (size_t i = b->trials.len; i-- > 0;) {
      const Trial *t = &b->trials.data[i];
      if (t->loop == op && is_subset(&t->before, &b->state) && is_subset(&b->state, &t->before))
         return *t;
   }
   bool is_trial = b->is_trial, is_turning = turns_rings(op);
   State before = copy(b, &b->state), entry = copy(b, &b->state), exit;
   unsigned num_barriers;
   for (b->is_trial = true;;) {
      num_barriers = b->num_barriers;
      exit = walk_iteration(b, op, &entry);
      if (is_turning)
         next_phase(&b->state);
      if (is_subset(&b->state, &entry))
         break;
      merge(b, &entry, &b->state);
   }
   b->is_trial = is_trial;
   Trial t = {op, before, entry, leave_loop(b, op, &entry, &exit), b->num_barriers - num_barriers};
   tl_vec_push(b->cx->scratch, &b->trials, t);
   return t;
}

/* Would a barrier before the loop save those in it, or let the one that boxes need come behind a
 * product, where nobody has to hurry? */
static bool
belongs_before(Barriers *b, TlOp *loop)
{
   State before = copy(b, &b->state);
   for (size_t i = 0; i < before.open.len && has_own_boxes(loop); i++)
      if (before.open.data[i].is_write && !before.open.data[i].in_flight &&
          before.open.data[i].begin < GLOBAL_BEGIN)
         return true;
   bool is_trial = b->is_trial, saves = try_loop(b, loop).barriers > 0;
   if (saves) {
      b->is_trial = true;
      b->state = copy(b, &before);
      block_barrier(b, loop);
      saves = try_loop(b, loop).barriers == 0;
   }
   b->is_trial = is_trial;
   b->state = copy(b, &before);
   return saves;
}

/* Trial iterations, then one that places the barriers: what conflicts around the loop is known
 * before the first of them. */
static void
walk_loop(Barriers *b, TlOp *op)
{
   assert(tl_is_loop(op));
   unsigned num_barriers = b->num_barriers;
   bool is_before = belongs_before(b, op); /* in trials as well: what follows must see the same */
   b->num_barriers = num_barriers;
   if (is_before)
      block_barrier(b, op);
   if (tl_map_get(&b->around_async, op))
      fence(b, op); /* once, where a barrier in the loop would fence in every iteration */
   num_barriers = b->num_barriers;
   Trial t = try_loop(b, op);
   b->num_barriers = num_barriers + t.barriers;
   if (b->is_trial) {
      b->state = copy(b, &t.after);
      return;
   }
   State exit = walk_iteration(b, op, &t.standing);
   b->state = leave_loop(b, op, &t.standing, &exit);
}

static void
walk_branches(Barriers *b, TlOp *op)
{
   State entry = copy(b, &b->state), out = {0};
   for (unsigned i = 0; i < op->num_regions; i++) {
      b->state = copy(b, &entry);
      walk(b, op->regions[i]->block);
      merge(b, &out, &b->state);
   }
   if (op->opcode == TL_OP_ROLE)
      merge(b, &out, &entry); /* other warps */
   b->state = out;
}

static void
walk(Barriers *b, TlBlock *block)
{
   for (TlOp *op = block->first; op; op = op->next) {
      Access acc[2];
      unsigned n = accesses_of(op, acc);
      before_access(b, op, acc, n);
      for (unsigned i = 0; i < n && !is_own_box(op); i++) /* mbarriers order what comes after */
         add(b, &b->state, &acc[i]);
      if (op->opcode == TL_OP_BAR_SYNC && tl_attr_int(op, TL_ATTR_GROUPED))
         after_group_barrier(&b->state);
      else if (op->opcode == TL_OP_BAR_SYNC)
         after_block_barrier(b);
      else if (op->opcode == TL_OP_FENCE_ASYNC)
         after_fence(b);
      else if (op->opcode == TL_OP_BAR_WARP)
         after_warp_barrier(&b->state);
      else if (op->opcode == TL_OP_CP_ASYNC_COMMIT)
         after_commit(&b->state, COPIES);
      else if (op->opcode == TL_OP_CP_ASYNC_WAIT)
         after_wait(&b->state, tl_attr_int(op, TL_ATTR_NUM), COPIES);
      else if (op->opcode == TL_OP_WGMMA)
         after_commit(&b->state, PRODUCTS);
      else if (op->opcode == TL_OP_WGMMA_WAIT)
         after_wait(&b->state, tl_attr_int(op, TL_ATTR_NUM), PRODUCTS);
      else if (op->opcode == TL_OP_TMA_STORES_WAIT)
         after_wait(&b->state, 0, STORED_BOXES);
      else if (tl_is_loop(op))
         walk_loop(b, op);
      else if (op->num_regions)
         walk_branches(b, op);
   }
}

/* Numbers the operations; true when one goes by the async proxy.  It runs again as a loop around it
 * does. */
static bool
find_async(Barriers *b, const TlBlock *block)
{
   bool any = false;
   for (const TlOp *op = block->first; op; op = op->next) {
      Access acc[2];
      bool is_async = op->opcode == TL_OP_WGMMA || op->opcode == TL_OP_TMA_STORE || is_own_box(op);
      unsigned n = is_async ? accesses_of(op, acc) : 0;
      bool has_async = n > 0;
      tl_map_put(&b->place, op, (void *)++b->num_ops);
      for (unsigned i = 0; i < n; i++)
         tl_vec_push(b->cx->scratch, &b->async, acc[i]);
      for (unsigned i = 0; i < op->num_regions; i++)
         has_async |= find_async(b, op->regions[i]->block);
      if (has_async && (n || tl_is_loop(op)))
         b->last_async = b->num_ops;
      if (has_async && tl_is_loop(op))
         tl_map_put(&b->around_async, op, (void *)op);
      any |= has_async;
   }
   return any;
}

/* Removes fences that another one, and a barrier behind it, follow in their block before anything
 * goes by the async proxy; from the last operation to the first.  True when something does. */
static bool
drop_early_fences(TlBlock *block)
{
   bool any = false, has_barrier = false, has_fence = false; /* before the next such access */
   for (TlOp *op = block->last, *prev; op; op = prev) {
      prev = op->prev;
      bool is_async =
         op->opcode == TL_OP_WGMMA || op->opcode == TL_OP_TMA_STORE || op->opcode == TL_OP_TMA_LOAD;
      for (unsigned i = 0; i < op->num_regions; i++)
         is_async |= drop_early_fences(op->regions[i]->block);
      if (is_async)
         has_barrier = has_fence = false;
      else if (op->opcode == TL_OP_BAR_SYNC)
         has_barrier |= !tl_attr_int(op, TL_ATTR_GROUPED);
      else if (op->opcode == TL_OP_FENCE_ASYNC && has_fence)
         tl_remove(op);
      else if (op->opcode == TL_OP_FENCE_ASYNC)
         has_fence = has_barrier;
      any |= is_async;
   }
   return any;
}

bool
tl_pass_insert_barriers(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   Barriers b = {.cx = cx, .func = f};
   tl_map_init(&b.place, cx->scratch);
   tl_map_init(&b.around_async, cx->scratch);
   find_async(&b, f->body->block);
   walk(&b, f->body->block);
   if (b.last_async)
      drop_early_fences(f->body->block);
   return b.changed;
}
