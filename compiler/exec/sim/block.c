/* One block: its fibers, in which order they run, where they wait for each other.
 *
 * Threads run one at a time, in order of warp and lane, each until it waits.  A warp operation
 * is done by the lane that comes last; a block barrier opens when the last of its warps has
 * come.  When nobody can run and somebody has not ended, the block is stuck, which is a fault.
 * Invariant: lanes that wait for a warp operation are SIM_AT_WARP with their site and frame set;
 * frames lie on fiber stacks, which stand still meanwhile. */
#include "exec/sim/impl.h"
#include "base/clock.h"
#include "ir/walk.h"

#include <assert.h>
#include <string.h>

static void
to_scheduler(SimThread *t)
{
   tl_fiber_switch(&t->fiber, &t->block->scheduler, false);
}

void *
sim_alloc(SimThread *t, size_t bytes)
{
   assert(bytes > 0 && t->block->want_bytes == 0); /* 0: nothing is wanted */
   t->block->want_bytes = bytes;
   to_scheduler(t);
   return t->block->got;
}

/* ---- memory beside the arguments ---- */
static const TilecMemory *
known_memory(const SimBlock *b, uint64_t address)
{
   for (unsigned k = 0; k < SIM_MEMORIES; k++) {
      const TilecMemory *m = &b->memories[k];
      if (m->begin && address - (uintptr_t)m->begin < m->bytes)
         return m;
   }
   return NULL;
}

/* The caller's function may need more stack than a fiber has. */
static void
ask_for_memory(SimBlock *b)
{
   const TlSimOptions *o = b->launch->opts;
   TilecMemory m = {0};
   if (o->memory && o->memory(o->user, b->want_address, &m))
      b->memories[b->next_memory++ % SIM_MEMORIES] = m;
   b->wants_memory = false;
}

const TilecMemory *
sim_memory(SimThread *t, uint64_t address)
{
   SimBlock *b = t->block;
   const TilecMemory *known = known_memory(b, address);
   if (known || !b->launch->opts->memory)
      return known;
   b->want_address = address;
   b->wants_memory = true;
   to_scheduler(t);
   return known_memory(b, address);
}

/* ---- faults ---- */
TlSimFault
sim_place(SimThread *t, const TlHostSite *s, TlSimFault fault)
{
   fault.base.range = s->op->range;
   if (!fault.base.op)
      fault.base.op = tl_source_name(s->op);
   memcpy(fault.base.program, t->block->program, sizeof fault.base.program);
   fault.thread = t->index;
   return fault;
}

/* What follows from a read of unwritten memory is reported as that read, unless the race behind it
 * is known. */
static void
fail(SimBlock *b, TlSimFault fault, TlExecStatus status)
{
   bool is_race = fault.kind == TL_SIM_FAULT_RACE || fault.kind == TL_SIM_FAULT_IN_FLIGHT ||
                  fault.kind == TL_SIM_FAULT_GLOBAL_RACE;
   bool is_older = b->has_unwritten && !is_race;
   b->fault = is_older ? b->unwritten : fault;
   b->status = is_older ? TL_EXEC_FAULT : status;
   b->has_fault = true;
}

static _Noreturn void
give_up(SimThread *t, TlSimFault fault, TlExecStatus status)
{
   SimBlock *b = t->block;
   assert(b->running->warp == t->warp && status != TL_EXEC_OK);
   fail(b, fault, status);
   tl_fiber_switch(&t->fiber, &b->scheduler, true);
   __builtin_unreachable();
}

_Noreturn void
sim_fault(SimThread *t, const TlHostSite *s, TlSimFault fault)
{
   give_up(t, sim_place(t, s, fault), TL_EXEC_FAULT);
}

_Noreturn void
sim_base_fault(SimThread *t, const TlHostSite *s, TlExecFault fault, TlExecStatus status)
{
   give_up(t, sim_place(t, s, (TlSimFault){.base = fault}), status);
}

/* ---- the time limit, looked at in loops and, as an iteration may be long, in warps' operations */
static void
look_at_clock(SimThread *t, const TlHostSite *s)
{
   const SimLaunch *l = t->block->launch;
   if (l->deadline_ns && tl_now_ns() > l->deadline_ns)
      sim_base_fault(t, s, (TlExecFault){.kind = TL_FAULT_TIME, .limit = (int64_t)l->opts->max_ms},
                     TL_EXEC_LIMIT);
}

/* Called when a thread has used its turn: limits are looked at, and others may run. */
void
sim_step(TlHostThread *host, const TlHostSite *loop)
{
   SimThread *t = sim_thread(host);
   SimBlock *b = t->block;
   const TlSimOptions *o = b->launch->opts;
   host->steps = SIM_STEP_QUANTUM;
   b->steps += SIM_STEP_QUANTUM;
   if (o->max_steps && b->steps > o->max_steps)
      sim_base_fault(t, loop, (TlExecFault){.kind = TL_FAULT_STEPS, .limit = (int64_t)o->max_steps},
                     TL_EXEC_LIMIT);
   look_at_clock(t, loop);
   b->has_yielded = true;
   to_scheduler(t);
}

/* ---- together ---- */
_Noreturn void
sim_diverged(SimThread *t, const TlHostSite *s, const TlHostSite *other, uint32_t other_thread)
{
   sim_fault(t, s,
             (TlSimFault){.kind = TL_SIM_FAULT_DIVERGED,
                          .other = other->op->range,
                          .other_op = tl_info(other->op)->text,
                          .other_thread = other_thread});
}

void
sim_together(SimThread *t, const TlHostSite *s, unsigned char *frame, SimWarpFn *fn)
{
   SimWarp *w = t->warp;
   assert(t->state == SIM_READY && !(w->arrived >> t->lane & 1));
   if (w->arrived == 0)
      w->site = s;
   else if (w->site != s)
      sim_diverged(t, s, w->site, w->thread[__builtin_ctz(w->arrived)].index);
   t->site = s;
   t->frame = frame;
   t->state = SIM_AT_WARP;
   w->arrived |= 1u << t->lane;
   if (w->arrived == UINT32_MAX) {
      w->arrived = 0;
      if (++t->block->together % SIM_TOGETHER_BETWEEN_LOOKS == 0)
         look_at_clock(t, s);
      fn(w, s);
      if (w->at_barrier < 0) {
         for (unsigned i = 0; i < SIM_WARP; i++)
            w->thread[i].state = SIM_READY;
         return;
      }
      for (unsigned i = 0; i < SIM_WARP; i++)
         w->thread[i].state = SIM_AT_BARRIER;
   }
   to_scheduler(t);
}

/* ---- barriers ---- */
/* Everything the warps of the mask did so far comes before what they do next. */
static void
meet(SimBlock *b, uint32_t warps)
{
   uint32_t known[SIM_MAX_WARPS] = {0};
   for (uint32_t m = warps; m; m &= m - 1) {
      unsigned w = (unsigned)__builtin_ctz(m);
      b->clock[w][w] = ++b->epoch[w];
      assert(b->epoch[w] < SIM_IN_FLIGHT);
      for (unsigned v = 0; v < b->num_warps; v++)
         known[v] = b->clock[w][v] > known[v] ? b->clock[w][v] : known[v];
   }
   for (uint32_t m = warps; m; m &= m - 1)
      memcpy(b->clock[__builtin_ctz(m)], known, sizeof known);
}

static uint32_t
first_warp_of_block(const SimWarp *w)
{
   const SimBlock *b = w->thread[0].block;
   return w->rank * (b->num_warps / b->cluster);
}

/* Those that the barrier there is for: of the role, the four that w is one of, or the cluster. */
static uint32_t
warps_of_barrier(const TlHostSite *s, const SimWarp *w)
{
   uint32_t n = s->op->opcode == TL_OP_CLUSTER_SYNC ? w->thread[0].block->num_warps : s->num_warps;
   uint32_t all = n >= 32 ? UINT32_MAX : (1u << n) - 1;
   if (s->op->opcode == TL_OP_CLUSTER_SYNC)
      return all;
   if (tl_attr_int(s->op, TL_ATTR_GROUPED))
      return ((1u << TL_GROUP_WARPS) - 1) << w->index / TL_GROUP_WARPS * TL_GROUP_WARPS;
   return all << (first_warp_of_block(w) + s->first_warp);
}

static unsigned
barrier_of(const TlHostSite *s, const SimWarp *w)
{
   if (s->op->opcode == TL_OP_CLUSTER_SYNC)
      return SIM_AT_CLUSTER;
   unsigned id = (unsigned)tl_attr_int(s->op, TL_ATTR_BARRIER);
   if (tl_attr_int(s->op, TL_ATTR_GROUPED))
      id += (w->index - first_warp_of_block(w) - s->first_warp) / TL_GROUP_WARPS;
   return w->rank * SIM_BLOCK_BARRIERS + id % SIM_BLOCK_BARRIERS;
}

void
sim_release(SimWarp *w)
{
   w->at_barrier = -1;
   for (unsigned i = 0; i < SIM_WARP; i++)
      w->thread[i].state = SIM_READY;
}

static void
arrive(SimWarp *w, const TlHostSite *s)
{
   SimBlock *b = w->thread[0].block;
   unsigned id = barrier_of(s, w);
   uint32_t warps = warps_of_barrier(s, w);
   assert(w->at_barrier < 0 && !(b->barrier[id].arrived >> w->index & 1));
   SimBarrier *bar = &b->barrier[id];
   if (bar->arrived == 0)
      bar->site = s;
   else if (warps_of_barrier(bar->site, w) != warps)
      sim_diverged(b->running, s, bar->site, (uint32_t)__builtin_ctz(bar->arrived) * SIM_WARP);
   bar->arrived |= 1u << w->index;
   w->at_barrier = (int)id;
   if (bar->arrived != warps)
      return;
   meet(b, bar->arrived);
   b->stats.block_barriers++;
   for (uint32_t m = bar->arrived; m; m &= m - 1)
      sim_release(&b->warp[__builtin_ctz(m)]);
   bar->arrived = 0;
}

void
sim_bar_sync(TlHostThread *t, const TlHostSite *s, unsigned char *frame)
{
   sim_together(sim_thread(t), s, frame, arrive);
}

void
sim_reach_block(SimThread *t, const TlHostSite *s, uint32_t rank)
{
   const SimBlock *b = t->block;
   uint32_t n = b->num_threads / b->cluster, i = 0;
   if (rank == t->warp->rank)
      return;
   while (i < n && b->thread[rank * n + i].state == SIM_ENDED)
      i++;
   if (i == n)
      sim_fault(t, s, (TlSimFault){.kind = TL_SIM_FAULT_GONE, .other_thread = rank * n});
   t->warp->reached_epoch = b->epoch[t->warp->index];
   t->warp->reached_site = s;
}

/* A thread may end when it knows that nobody of another block needs its own any more. */
static void
check_end(SimThread *t)
{
   const SimBlock *b = t->block;
   for (uint32_t v = 0; v < b->num_warps; v++) {
      const SimWarp *other = &b->warp[v];
      if (other->rank != t->warp->rank && other->reached_epoch &&
          b->clock[t->warp->index][v] <= other->reached_epoch)
         sim_fault(t, other->reached_site,
                   (TlSimFault){.kind = TL_SIM_FAULT_GONE, .other_thread = t->index});
   }
}

void
sim_cluster_sync(TlHostThread *t, const TlHostSite *s, unsigned char *frame)
{
   sim_together(sim_thread(t), s, frame, arrive);
}

static void
meet_warp(SimWarp *w, const TlHostSite *s)
{
   (void)s;
   SimBlock *b = w->thread[0].block;
   meet(b, 1u << w->index);
   b->stats.warp_barriers++;
}

void
sim_bar_warp(TlHostThread *t, const TlHostSite *s, unsigned char *frame)
{
   sim_together(sim_thread(t), s, frame, meet_warp);
}

/* ---- running ---- */
static void
thread_main(void *arg)
{
   SimThread *t = arg;
   SimBlock *b = t->block;
   tl_fiber_entered(&b->scheduler);
   b->launch->kernel->code->entry(&t->host, b->launch->bits);
   assert(t->copies.len >= t->copies.first);
   if (t->stored.len)
      sim_fault(t, t->stored.site, (TlSimFault){.kind = TL_SIM_FAULT_STORED});
   check_end(t);
   t->state = SIM_ENDED;
   tl_fiber_switch(&t->fiber, &b->scheduler, true);
   __builtin_unreachable();
}

/* Stacks are handed out last in, first out: threads that never wait share one. */
static bool
give_stack(SimBlock *b, SimThread *t)
{
   size_t bytes = b->launch->kernel->stack_bytes;
   if (!b->num_free) {
      assert(b->num_stacks < b->cap_stacks);
      void *low = tl_fiber_stack_new(bytes);
      if (!low)
         return false;
      b->all_stack[b->num_stacks++] = low;
      b->free_stack[b->num_free++] = low;
   }
   t->fiber.low = b->free_stack[--b->num_free];
   t->fiber.bytes = bytes;
   return true;
}

/* Lets t run until it waits, ends, or the block fails. */
static bool
resume(SimBlock *b, SimThread *t)
{
   if (!t->is_started) {
      if (!give_stack(b, t))
         return false;
      t->is_started = true;
      tl_fiber_start(&t->fiber, thread_main, t);
   }
   assert(t->state == SIM_READY && b->want_bytes == 0 && !b->wants_memory);
   b->running = t;
   for (;;) {
      tl_fiber_switch(&b->scheduler, &t->fiber, false);
      if (b->wants_memory)
         ask_for_memory(b);
      else if (!b->want_bytes)
         break;
      else
         b->got = tl_arena_alloc(b->arena, b->want_bytes);
      b->want_bytes = 0;
   }
   assert(b->has_fault || b->has_yielded || t->state != SIM_READY); /* why it came back */
   if (t->state == SIM_ENDED)
      b->free_stack[b->num_free++] = t->fiber.low;
   return true;
}

static void
stuck(SimBlock *b)
{
   SimThread *waiting = NULL, *other = NULL;
   for (uint32_t i = 0; i < b->num_threads && !waiting; i++)
      if (b->thread[i].state != SIM_ENDED)
         waiting = &b->thread[i];
   /* Best shown by a lane of the same warp, else by anyone that is not there. */
   for (unsigned i = 0; i < SIM_WARP && !other; i++) {
      SimThread *t = &waiting->warp->thread[i];
      if (t->state != waiting->state || (t->state != SIM_ENDED && t->site != waiting->site))
         other = t;
   }
   for (uint32_t i = 0; i < b->num_threads && !other; i++)
      if (b->thread[i].state == SIM_ENDED || b->thread[i].site != waiting->site)
         other = &b->thread[i];
   assert(waiting->state != SIM_READY);
   TlSimFault f = {.kind = TL_SIM_FAULT_STUCK};
   if (other) {
      f.other_thread = other->index;
      f.other_ended = other->state == SIM_ENDED;
      if (!f.other_ended) {
         f.other = other->site->op->range;
         f.other_op = tl_info(other->site->op)->text;
      }
   }
   fail(b, sim_place(waiting, waiting->site, f), TL_EXEC_FAULT);
}

static void
no_stacks(SimBlock *b)
{
   const TlFunc *f = b->launch->kernel->func;
   b->fault = (TlSimFault){.base = {.kind = TL_FAULT_MEMORY,
                                    .range = f->range,
                                    .op = "kernel",
                                    .limit = (int64_t)b->launch->kernel->stack_bytes}};
   b->status = TL_EXEC_LIMIT;
   b->has_fault = true;
}

/* Runs the lanes of a warp while any can run. */
static bool
run_warp(SimBlock *b, SimWarp *w)
{
   bool ran = false, again = true;
   while (again && !b->has_yielded) {
      again = false;
      for (unsigned i = 0; i < SIM_WARP; i++) {
         if (w->thread[i].state != SIM_READY)
            continue;
         if (!resume(b, &w->thread[i]))
            no_stacks(b);
         if (b->has_fault)
            return true;
         ran = again = true;
      }
   }
   b->has_yielded = false;
   return ran;
}

static void
reset(SimBlock *b, uint64_t number)
{
   assert(number < b->launch->num_blocks && b->num_free <= b->num_stacks);
   b->number = number;
   tl_exec_program(b->launch->grid, number, b->program);
   b->has_fault = b->has_unwritten = false;
   b->steps = 0;
   b->syncs = 0;
   b->num_free = 0;
   for (uint32_t i = 0; i < b->num_stacks; i++)
      b->free_stack[b->num_free++] = b->all_stack[i];
   memset(b->barrier, 0, sizeof b->barrier);
   sim_mbarriers_clear(b);
   sim_own_maps_clear(b);
   memset(b->wgmma_group, 0, sizeof b->wgmma_group);
   memset(b->clock, 0, sizeof b->clock);
   for (uint32_t w = 0; w < b->num_warps; w++) {
      b->epoch[w] = b->clock[w][w] = 1;
      b->warp[w].arrived = 0;
      b->warp[w].at_barrier = -1;
      b->warp[w].waits_for = NULL;
      b->warp[w].reached_epoch = 0;
      b->warp[w].reads.len = b->warp[w].reads.group = b->warp[w].reads.done = 0;
   }
   for (uint32_t i = 0; i < b->num_threads; i++) {
      SimThread *t = &b->thread[i];
      t->state = SIM_READY;
      t->is_started = false;
      t->host.steps = SIM_STEP_QUANTUM;
      t->wgmmas.issued = t->wgmmas.done = t->num_fences = 0;
      sim_replica_clear(t);
      t->copies.num_arrivals = t->copies.arriving = 0;
      t->copies.first = t->copies.len = t->copies.first_group = t->copies.num_groups = 0;
   }
   sim_shared_clear(b);
   sim_hints_clear(b);
}

void
sim_block_run(SimBlock *b, uint64_t number)
{
   reset(b, number);
   for (bool ran = true; ran && !b->has_fault;) {
      ran = false;
      for (uint32_t w = 0; w < b->num_warps && !b->has_fault; w++)
         ran |= run_warp(b, &b->warp[w]);
   }
   if (b->has_fault)
      return;
   for (uint32_t i = 0; i < b->num_threads; i++)
      if (b->thread[i].state != SIM_ENDED) {
         stuck(b);
         return;
      }
   if (b->has_unwritten) {
      fail(b, b->unwritten, TL_EXEC_FAULT);
      return;
   }
   TlSimFault race;
   if (sim_global_meets(b, &race)) {
      fail(b, race, TL_EXEC_FAULT);
      return;
   }
   b->stats.blocks += b->cluster;
   sim_count_flush(b);
}

bool
sim_block_init(SimBlock *b, SimLaunch *launch)
{
   const TlFunc *f = launch->kernel->func;
   b->launch = launch;
   b->cluster = f->cluster ? f->cluster : 1;
   b->num_warps = b->cluster * tl_total_warps(f);
   assert(b->num_warps >= 1 && b->num_warps <= SIM_MAX_WARPS);
   b->num_threads = b->num_warps * SIM_WARP;
   b->thread = tl_new_array(b->arena, SimThread, b->num_threads);
   b->warp = tl_new_array(b->arena, SimWarp, b->num_warps);
   b->cap_stacks = b->num_threads;
   b->free_stack = tl_new_array(b->arena, void *, b->cap_stacks);
   b->all_stack = tl_new_array(b->arena, void *, b->cap_stacks);
   for (uint32_t i = 0; i < b->num_threads; i++) {
      SimThread *t = &b->thread[i];
      t->index = i;
      t->host.tid = i % (tl_total_warps(f) * SIM_WARP);
      t->block = b;
      t->shared = &b->shared[i / (tl_total_warps(f) * SIM_WARP)];
      t->warp = &b->warp[i / SIM_WARP];
      t->lane = i % SIM_WARP;
   }
   for (uint32_t w = 0; w < b->num_warps; w++)
      b->warp[w] = (SimWarp){.thread = &b->thread[w * SIM_WARP],
                             .index = w,
                             .rank = w / tl_total_warps(f),
                             .at_barrier = -1};
   if (launch->kernel->mma_room) {
      char *p = tl_arena_alloc(b->arena, launch->kernel->mma_room + 64);
      b->mma_room = p + (64 - (uintptr_t)p % 64) % 64;
   }
   sim_count_init(b);
   return sim_shared_init(b);
}

void
sim_block_free(SimBlock *b)
{
   for (uint32_t i = 0; i < b->num_threads; i++)
      tl_fiber_free(&b->thread[i].fiber);
   for (uint32_t i = 0; i < b->num_stacks; i++)
      tl_fiber_stack_free(b->all_stack[i], b->launch->kernel->stack_bytes);
   b->num_stacks = 0;
   tl_arena_free(b->arena);
   b->arena = NULL;
}
