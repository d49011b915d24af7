/* Races between programs: one writes an element that another writes or reads, in one launch.
 * Each element of a buffer has a cell with the last program that wrote it and those that read it.
 * Whatever order the programs run in, the later of two accesses finds the earlier.
 *
 * A store of the bits that are there is none: it spoils nobody's result.  Left out: kernels with
 * atomics or volatile accesses, by which programs may wait for each other; accesses of another size
 * than the buffer's elements; launches with more elements than MAX_CELLS. */
#include "exec/cpu_impl.h"
#include "ir/walk.h"

#include <assert.h>
#include <string.h>

/* Programs count from 1; 0 is nobody. */
struct TlExecCell {
   _Atomic uint32_t writer; /* and CHANGED when its value was another than the one before */
   _Atomic uint32_t reader; /* or MANY */
};

#define CHANGED (UINT32_C(1) << 31)
#define MANY (UINT32_C(1) << 30)

enum { MAX_CELLS = 1 << 22 /* 32 MiB of cells, some 50 ms */ };

static bool
orders_programs(const TlFunc *f)
{
   for (const TlOp *op = f->body->block->first; op; op = tl_walk_next(op, f->body->block)) {
      if (op->opcode == TL_OP_ATOMIC_RMW || op->opcode == TL_OP_ATOMIC_CAS ||
          op->opcode == TL_OP_INLINE_ASM ||
          (op->opcode == TL_OP_LOAD && tl_attr_int(op, TL_ATTR_VOLATILE)))
         return true;
   }
   return false;
}

void
tl_cpu_races_open(TlArena *arena, const TlFunc *f, TlExecRun *run)
{
   uint64_t cells = 0;
   if (run->num_programs < 2 || run->num_programs >= MANY || orders_programs(f))
      return;
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecBuffer *b = &run->buffers[i];
      cells += b->is_valid ? b->bytes / b->elem_bytes : 0;
      if (cells > MAX_CELLS)
         return;
   }
   run->has_cells = true;
   for (unsigned i = 0; i < run->num_args; i++) {
      TlExecBuffer *b = &run->buffers[i];
      if (b->is_valid && b->bytes >= b->elem_bytes)
         b->cells = tl_new_array(arena, TlExecCell, b->bytes / b->elem_bytes);
   }
}

/* The buffer with cells that virtual address p lies in; NULL: it is not watched. */
static const TlExecBuffer *
watched(const TlExecThread *t, uint64_t p, uint32_t bytes)
{
   uint64_t number = (p + ((uint64_t)1 << (TL_EXEC_BUFFER_BITS - 1))) >> TL_EXEC_BUFFER_BITS;
   assert(number - 1 < t->run->num_args);
   const TlExecBuffer *b = &t->run->buffers[number - 1];
   return b->cells && b->elem_bytes == bytes && (p - b->base) % bytes == 0 ? b : NULL;
}

static void
report(TlExecThread *t, const TlExecInst *inst, size_t i, const TlExecBuffer *b, uint64_t element,
       uint32_t other, const char *does)
{
   TlExecFault race = {.kind = TL_FAULT_RACE,
                       .buffer = b->name,
                       .byte = (int64_t)(element * b->elem_bytes),
                       .elem_bytes = b->elem_bytes,
                       .text = does,
                       .limit = -1};
   const uint32_t *grid = t->run->grid;
   if (other != MANY) {
      other--;
      race.other[0] = other % grid[0];
      race.other[1] = other / grid[0] % grid[1];
      race.other[2] = other / grid[0] / grid[1];
      race.limit = other;
   }
   tl_cpu_warn_of(t, inst, inst->arg[0], i, &race);
}

void
tl_cpu_see_load(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n, uint32_t bytes)
{
   const uint64_t *p = (const uint64_t *)tl_cpu_data(t, inst->arg[0]) + i;
   const TlExecBuffer *b = watched(t, *p, bytes);
   uint32_t me = (uint32_t)t->program_number + 1;
   uint64_t first = b ? (*p - b->base) / bytes : 0;
   for (size_t k = 0; b && k < n; k++) {
      TlExecCell *c = &b->cells[first + k];
      uint32_t reader = 0;
      if (!atomic_compare_exchange_strong(&c->reader, &reader, me) && reader != me &&
          reader != MANY)
         atomic_store(&c->reader, MANY);
      uint32_t writer = atomic_load(&c->writer);
      if ((writer & CHANGED) && (writer & ~CHANGED) != me)
         report(t, inst, i + k, b, first + k, writer & ~CHANGED, "writes");
   }
}

void
tl_cpu_see_store(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n, uint32_t bytes,
                 const uint8_t *from, const uint8_t *to)
{
   const uint64_t *p = (const uint64_t *)tl_cpu_data(t, inst->arg[0]) + i;
   const TlExecBuffer *b = watched(t, *p, bytes);
   uint32_t me = (uint32_t)t->program_number + 1;
   uint64_t first = b ? (*p - b->base) / bytes : 0;
   for (size_t k = 0; b && k < n; k++) {
      TlExecCell *c = &b->cells[first + k];
      bool changes = memcmp(from + k * bytes, to + k * bytes, bytes) != 0;
      uint32_t writer = atomic_load(&c->writer);
      bool is_mine = (writer & ~CHANGED) == me;
      writer = atomic_exchange(&c->writer, me | (changes   ? CHANGED
                                                 : is_mine ? writer & CHANGED
                                                           : 0));
      uint32_t reader = atomic_load(&c->reader);
      if (changes && writer && (writer & ~CHANGED) != me)
         report(t, inst, i + k, b, first + k, writer & ~CHANGED, "writes");
      else if (changes && reader && reader != me)
         report(t, inst, i + k, b, first + k, reader, "reads");
   }
}
