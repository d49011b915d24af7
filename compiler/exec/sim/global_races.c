/* Races on global memory between threads of one block: two accesses of one location, one of them a
 * write, with no barrier between.  What a block did is met by other blocks in block_races.c.
 *
 * The test is that of shared memory (shared.c), on a table of the locations that this block
 * touched.  Only buffers that the kernel may write take part, so what is read alone costs nothing.
 * Two threads may write the same value: replicated tiles do.  Of a tile with fewer elements than
 * threads, changed in place, others load what its owner loads and then stores: a load races with a
 * store whose thread did the same load before only if what it got is used (replicas.c).  Atomics
 * and volatile loads do not race with each other.  Not tested are buffers that a loop may wait on
 * for what others write there (global_waits.c), and locations beyond MAX_CELLS of a block. */
#include "exec/sim/impl.h"

#include <assert.h>
#include <string.h>

enum { MAX_CELLS = 1 << 20, FIRST_CELLS = 1 << 10 };

/* ---- which buffers ---- */
uint64_t
sim_roots(const TlFunc *f, const TlValue *v)
{
   if (!v->def) {
      const TlBlock *body = f->body->block;
      for (unsigned i = 0; i < body->num_args && i < SIM_MAX_ROOTS; i++)
         if (body->args[i] == v)
            return 1ull << i;
      return SIM_ANY_ROOT; /* carried by a loop */
   }
   uint64_t roots = 0;
   switch (v->def->opcode) {
   case TL_OP_ADDPTR:
   case TL_OP_SPLAT:
      return sim_roots(f, tl_arg(v->def, 0));
   case TL_OP_PICK:
      for (unsigned i = 0; i < v->def->num_args; i++)
         roots |= sim_roots(f, tl_arg(v->def, i));
      return roots;
   default:
      return SIM_ANY_ROOT;
   }
}

static bool
touches_global(const TlOp *op)
{
   return op->opcode == TL_OP_LD_GLOBAL || op->opcode == TL_OP_ST_GLOBAL ||
          op->opcode == TL_OP_CP_ASYNC || op->opcode == TL_OP_ATOM_RMW ||
          op->opcode == TL_OP_ATOM_CAS || op->opcode == TL_OP_TMA_STORE;
}

void
sim_global_prepare(TlSimKernel *k)
{
   const TlFunc *f = k->func;
   k->global_granule = 16;
   for (unsigned i = 0; i < k->code->num_sites; i++) {
      const TlOp *op = k->code->sites[i]->op;
      if (!touches_global(op))
         continue;
      const SimSite *s = sim_site(k->code->sites[i]);
      bool is_atomic = op->opcode == TL_OP_ATOM_RMW || op->opcode == TL_OP_ATOM_CAS;
      uint32_t bytes = is_atomic ? s->elem_bytes : s->is_partial ? s->pointee_bytes : s->bytes;
      const TlValue *pointer = tl_arg(op, 0);
      if (op->opcode == TL_OP_TMA_STORE) {
         bytes = tl_dtype_info[tl_arg(op, 1)->type->dtype].bytes;
         pointer = tl_arg(tl_arg(op, 1)->def, 0);
      }
      k->global_granule = bytes < k->global_granule ? bytes : k->global_granule;
      if (op->opcode != TL_OP_LD_GLOBAL && op->opcode != TL_OP_CP_ASYNC)
         k->written |= sim_roots(f, pointer);
   }
   if (!k->written)
      return;
   k->waited = sim_waits_on(k->arena, f);
   sim_replicas_prepare(k);
}

/* Does argument i share bytes with one of these buffers? */
static bool
is_among(uint64_t roots, const TlExecArg *args, unsigned num_args, unsigned i)
{
   uintptr_t a = (uintptr_t)args[i].data;
   for (unsigned j = 0; j < num_args && args[i].is_buffer; j++) {
      uintptr_t b = (uintptr_t)args[j].data;
      uint64_t root = SIM_ANY_ROOT | (j < SIM_MAX_ROOTS ? 1ull << j : 0);
      if (args[j].is_buffer && (roots & root) && a < b + args[j].bytes && b < a + args[i].bytes)
         return true;
   }
   return false;
}

const SimWatch *
sim_global_watch(TlArena *arena, const TlSimKernel *k, const TlExecArg *args, unsigned num_args)
{
   SimWatch *watch = tl_new_array(arena, SimWatch, num_args + 1);
   for (unsigned i = 0; i < num_args; i++)
      if (is_among(k->written, args, num_args, i))
         watch[i] = is_among(k->waited, args, num_args, i) ? SIM_ORDERS : SIM_RACES;
   return watch;
}

/* ---- the table ---- */
typedef struct Cell {
   uintptr_t key;
   uint64_t block; /* whose it is, plus one: others count as free */
   SimWrite write;
   uint32_t owner_read; /* site of the last load of the thread that wrote, plus one; 0 = none */
   SimParty party;      /* what other blocks meet */
   SimRead read[];      /* by warp */
} Cell;

static size_t
cell_bytes(const SimBlock *b)
{
   return (sizeof(Cell) + b->num_warps * sizeof(SimRead) + 7) / 8 * 8;
}

static Cell *
place_of(const SimBlock *b, const SimGlobal *g, uintptr_t key)
{
   assert(g->cap && (g->cap & (g->cap - 1)) == 0 && g->len < g->cap);
   uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (g->cap - 1);
   for (;; at = (at + 1) & (g->cap - 1)) {
      Cell *c = (Cell *)(void *)(g->cells + (size_t)at * cell_bytes(b));
      if (c->block != b->number + 1 || c->key == key)
         return c;
   }
}

static void
grow(SimThread *t)
{
   SimBlock *b = t->block;
   SimGlobal *g = &b->global, old = *g;
   size_t bytes = cell_bytes(b);
   g->cap = old.cap ? 2 * old.cap : FIRST_CELLS;
   g->cells = sim_alloc(t, g->cap * bytes);
   for (uint32_t i = 0; i < old.cap; i++) {
      const Cell *c = (const Cell *)(const void *)(old.cells + i * bytes);
      if (c->block == b->number + 1)
         memcpy(place_of(b, g, c->key), c, bytes);
   }
}

/* NULL: there are too many. */
static Cell *
cell(SimThread *t, uintptr_t key)
{
   SimBlock *b = t->block;
   SimGlobal *g = &b->global;
   if (g->block != b->number + 1) {
      g->block = b->number + 1;
      g->len = 0;
   }
   if (2 * g->len >= g->cap && g->cap < 2 * MAX_CELLS)
      grow(t);
   Cell *c = place_of(b, g, key);
   if (c->block == b->number + 1)
      return c;
   if (g->len >= MAX_CELLS)
      return NULL;
   assert(c->block <= b->number); /* an earlier block's, or never used */
   g->len++;
   memset(c, 0, cell_bytes(b));
   c->key = key;
   c->block = b->number + 1;
   return c;
}

/* ---- races ---- */
_Noreturn void
sim_global_race(const SimGlobalTouch *x, uint32_t site, uint32_t thread, bool is_write)
{
   const TlOp *other = x->t->block->launch->kernel->code->sites[site]->op;
   sim_fault(x->t, x->site,
             (TlSimFault){.kind = TL_SIM_FAULT_GLOBAL_RACE,
                          .base = {.buffer = x->buffer,
                                   .byte = x->byte,
                                   .bytes = x->bytes,
                                   .elem_bytes = sim_site(x->site)->pointee_bytes},
                          .is_write = x->use != SIM_READS,
                          .other = other->range,
                          .other_op = tl_source_name(other),
                          .other_thread = thread,
                          .other_is_write = is_write});
}

static bool
comes_after(const SimThread *t, uint32_t thread, uint32_t epoch)
{
   return !epoch || t->index == thread ||
          t->block->clock[t->warp->index][thread / SIM_WARP] > epoch;
}

/* Reads of others since the last write that come not before; of those that `atomics_only`. */
static void
after_reads(const SimGlobalTouch *x, const Cell *c, bool atomics_only, uint32_t owner_read)
{
   const SimBlock *b = x->t->block;
   uint32_t mine = x->t->warp->index;
   for (uint32_t v = 0; v < b->num_warps; v++) {
      const SimRead *r = &c->read[v];
      bool is_own = v == mine && !r->many && r->lane == x->t->lane;
      if (r->epoch && !is_own && b->clock[mine][v] <= r->epoch && owner_read != r->site + 1u &&
          (atomics_only ? r->atomic : !(r->atomic && x->use == SIM_UPDATES)))
         sim_global_race(x, r->site, v * SIM_WARP + r->lane, r->atomic);
   }
}

static void
note_read(const SimGlobalTouch *x, SimRead *r)
{
   uint32_t epoch = x->t->block->epoch[x->t->warp->index];
   bool many = r->epoch == epoch && (r->many || r->lane != x->t->lane);
   *r = (SimRead){.epoch = epoch,
                  .site = x->site->index & 0x1FFFFFF,
                  .many = many,
                  .lane = x->t->lane & 31,
                  .atomic = x->use == SIM_UPDATES};
}

/* The `bytes` at `data` in 8: all of them up to that, of 16 a mixture. */
static uint64_t
folded(const void *data, uint32_t bytes)
{
   uint64_t half[2] = {0};
   assert(bytes <= sizeof half);
   memcpy(half, data, bytes);
   return half[0] ^ half[1] * 0x9e3779b97f4a7c15u;
}

/* The first write is kept, or the first read of what is not written. */
static void
note_party(const SimGlobalTouch *x, Cell *c, uint32_t skipped)
{
   bool is_atomic = x->use == SIM_UPDATES, is_store = x->use == SIM_WRITES;
   bool is_write = is_store || (is_atomic && x->site->op->opcode != TL_OP_LD_GLOBAL);
   uint32_t granule = x->t->block->launch->kernel->global_granule;
   uint64_t value = is_store ? folded(x->data + skipped, granule) : 0;
   if (c->party.is_set && (c->party.is_write || !is_write)) {
      c->party.is_mixed |= is_write && (!is_store || value != c->party.value);
      return;
   }
   c->party = (SimParty){.buffer = x->buffer,
                         .byte = x->byte,
                         .value = value,
                         .site = x->site->index,
                         .syncs = x->t->block->syncs,
                         .thread = (uint16_t)x->t->index,
                         .is_set = true,
                         .is_write = is_write,
                         .is_atomic = is_atomic};
}

static void
touch_cell(const SimGlobalTouch *x, Cell *c, uint32_t skipped)
{
   SimThread *t = x->t;
   SimBlock *b = t->block;
   uint32_t mine = t->warp->index, g = b->launch->kernel->global_granule;
   bool is_same = x->use == SIM_WRITES && !memcmp(x->at + skipped, x->data + skipped, g);
   if (!is_same && !comes_after(t, c->write.thread, c->write.epoch)) {
      if (x->use != SIM_READS || c->owner_read != x->site->index + 1)
         sim_global_race(x, c->write.site, c->write.thread, true);
      sim_replica_is_stale(x, skipped, g, c->write.site, c->write.thread);
   }
   if (!is_same)
      note_party(x, c, skipped);
   if (x->use != SIM_WRITES) {
      after_reads(x, c, x->use == SIM_READS, 0);
      note_read(x, &c->read[mine]);
      return;
   }
   if (is_same && c->write.epoch)
      return;
   const SimRead *own = &c->read[mine];
   bool has_read = own->epoch && (own->many || own->lane == t->lane);
   uint32_t owner_read = has_read ? own->site + 1u : 0;
   after_reads(x, c, false, owner_read);
   memset(c->read, 0, b->num_warps * sizeof *c->read);
   c->write =
      (SimWrite){.epoch = b->epoch[mine], .site = x->site->index, .thread = (uint16_t)t->index};
   c->owner_read = owner_read;
}

void
sim_global_touch(const SimGlobalTouch *x)
{
   uint32_t g = x->t->block->launch->kernel->global_granule;
   assert(g > 0 && x->bytes % g == 0 && (uintptr_t)x->at % g == 0);
   for (uint32_t i = 0; i < x->bytes; i += g) {
      Cell *c = cell(x->t, ((uintptr_t)x->at + i) / g);
      if (c)
         touch_cell(x, c, i);
   }
}

static bool
party_of(const SimBlock *b, uint32_t i, uintptr_t *key, SimParty *out)
{
   const Cell *c = (const Cell *)(const void *)(b->global.cells + (size_t)i * cell_bytes(b));
   if (c->block != b->number + 1 || !c->party.is_set)
      return false;
   *key = c->key;
   *out = c->party;
   return true;
}

bool
sim_global_meets(SimBlock *b, TlSimFault *fault)
{
   return sim_blocks_meet(b, party_of, fault);
}
