/* Races on global memory between blocks: two accesses of one location by two blocks, one of them a
 * write of another value, that no atomics order.
 *
 * Blocks run in any order, so what one writes and another reads or overwrites is not what a kernel
 * may rely on, unless the first does an atomic after its access and the other one before its own: a
 * counter, a lock, a flag that a loop waits for.  As atomics count volatile loads and accesses of
 * buffers that a loop may wait on (global_waits.c).  Whether these are the right ones is
 * not looked at: nothing is reported that could be ordered.  Of each location a block's first write
 * counts, or its first read when it writes none; all blocks of a launch meet in one table, which
 * holds as many locations as fit.  Buffers that global_races.c leaves out are left out here. */
#include "exec/sim/impl.h"

#include <assert.h>
#include <string.h>

enum { MAX_MEETINGS = 1 << 19 };

/* What the table holds of a location. */
struct SimMeeting {
   uintptr_t key;
   SimParty write, read; /* of some block; block 0 = none */
};

void
sim_meetings_init(TlArena *arena, SimLaunch *l)
{
   uint64_t cells = 0;
   for (unsigned i = 0; i < l->num_args; i++)
      cells += l->watch[i] == SIM_RACES ? l->args[i].bytes / l->kernel->global_granule : 0;
   if (l->num_blocks < 2 || !cells)
      return;
   l->num_meetings = 64;
   while (l->num_meetings < MAX_MEETINGS && l->num_meetings < 2 * cells)
      l->num_meetings *= 2;
   l->meetings = tl_new_array(arena, SimMeeting, l->num_meetings);
}

/* The location's row, or a free one; NULL when the table is as good as full. */
static SimMeeting *
find(SimLaunch *l, uintptr_t key)
{
   enum { TRIES = 64 };
   uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (l->num_meetings - 1);
   for (unsigned i = 0; i < TRIES; i++, at = (at + 1) & (l->num_meetings - 1)) {
      SimMeeting *m = &l->meetings[at];
      if (m->key == key || (!m->write.block && !m->read.block))
         return m;
   }
   return NULL;
}

static bool
may_follow(const SimParty *first, const SimParty *second)
{
   return first->syncs_after && second->syncs_before;
}

/* Blocks that write one value, each before it could see the other's. */
static bool
write_the_same(const SimParty *a, const SimParty *b)
{
   bool are_stores = a->is_write && b->is_write && !a->is_atomic && !b->is_atomic;
   return are_stores && !a->is_mixed && !b->is_mixed && a->value == b->value;
}

static bool
is_race(const SimParty *a, const SimParty *b)
{
   return a->block && a->block != b->block && !(a->is_atomic && b->is_atomic) &&
          !write_the_same(a, b) && !may_follow(a, b) && !may_follow(b, a);
}

static void
program_of(const SimLaunch *l, const SimParty *p, uint32_t program[3])
{
   tl_exec_program(l->grid, p->block - 1, program);
}

/* The same whichever block comes first: the access of the block with the higher number is the one
 * reported. */
static void
describe(const SimLaunch *l, const SimParty *a, const SimParty *b, TlSimFault *fault)
{
   const SimParty *here = a->block > b->block ? a : b, *there = here == a ? b : a;
   const TlOp *op = l->kernel->code->sites[here->site]->op;
   const TlOp *other = l->kernel->code->sites[there->site]->op;
   *fault = (TlSimFault){.kind = TL_SIM_FAULT_BLOCK_RACE,
                         .base = {.buffer = here->buffer,
                                  .byte = here->byte,
                                  .bytes = l->kernel->global_granule,
                                  .range = op->range,
                                  .op = tl_source_name(op),
                                  .elem_bytes = sim_pointee_bytes(op)},
                         .thread = here->thread,
                         .is_write = here->is_write,
                         .other = other->range,
                         .other_op = tl_source_name(other),
                         .other_thread = there->thread,
                         .other_is_write = there->is_write};
   program_of(l, here, fault->base.program);
   program_of(l, there, fault->other_program);
}

static const SimParty *
meet(SimLaunch *l, uintptr_t key, const SimParty *p)
{
   SimMeeting *m = find(l, key);
   if (!m)
      return NULL;
   m->key = key;
   const SimParty *other = is_race(&m->write, p)                 ? &m->write
                           : p->is_write && is_race(&m->read, p) ? &m->read
                                                                 : NULL;
   SimParty *mine = p->is_write ? &m->write : &m->read;
   if (!other && (!mine->block || (mine->syncs_before && !p->syncs_before)))
      *mine = *p;
   return other;
}

bool
sim_blocks_meet(SimBlock *b, SimMeetingCell *cell, TlSimFault *fault)
{
   SimLaunch *l = b->launch;
   bool found = false;
   uintptr_t key;
   SimParty p;
   if (!l->meetings)
      return false;
   pthread_mutex_lock(&l->lock);
   for (uint32_t i = 0; i < b->global.cap && !found; i++) {
      if (!cell(b, i, &key, &p))
         continue;
      p.block = b->number + 1;
      p.syncs_after = p.is_atomic || p.syncs < b->syncs;
      p.syncs_before = p.is_atomic || p.syncs > 0;
      const SimParty *other = meet(l, key, &p);
      found = other != NULL;
      if (found)
         describe(l, &p, other, fault);
   }
   pthread_mutex_unlock(&l->lock);
   return found;
}
