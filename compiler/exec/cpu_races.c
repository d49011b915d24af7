/* Races between programs: one writes an element that another writes or reads, in one launch.
 * Each element of a buffer has a cell with the last program that wrote it and those that read it.
 * The later of two accesses finds the earlier, unless a third program has stored the same bits over
 * it.  And stores that meet themselves: two elements of one tile go to one place, with two values.
 *
 * A store of the bits that are there is none: it spoils nobody's result.  Races are not looked for
 * in kernels with atomics or volatile accesses, by which programs may wait for each other.  Left
 * out: accesses of another size than the buffer's elements; launches with more elements than
 * MAX_CELLS. */
#include "exec/cpu_impl.h"
#include "ir/walk.h"

#include <assert.h>
#include <string.h>

/* Programs count from 1; 0 is nobody. */
struct TlExecCell {
   _Atomic uint64_t written; /* in the lower half the program that wrote it last, with CHANGED when
                              * its value was another than the one before; the upper half tells the
                              * value (bits_of): in memory it may not have arrived */
   _Atomic uint32_t reader;  /* or MANY */
   _Atomic uint32_t store;   /* the last one to it, by TlExecThread.store */
};

#define CHANGED (UINT32_C(1) << 31)
#define MANY (UINT32_C(1) << 30)

enum {
   MAX_CELLS = 1 << 22,       /* 64 MiB of cells, some 50 ms */
   MAX_BRIEF_CELLS = 1 << 18, /* where a run is watched for a time only: some 2 ms */
};

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
   uint64_t cells = 0, most = run->opts->watch_ms ? MAX_BRIEF_CELLS : MAX_CELLS;
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecBuffer *b = &run->buffers[i];
      cells += b->is_valid ? b->bytes / b->elem_bytes : 0;
      if (cells > most)
         return;
   }
   run->has_cells = true;
   run->has_races = run->num_programs > 1 && run->num_programs < MANY && !orders_programs(f);
   for (unsigned i = 0; i < run->num_args; i++) {
      TlExecBuffer *b = &run->buffers[i];
      for (unsigned k = 0; k < i; k++) /* one array for two parameters */
         if (b->is_valid && run->buffers[k].cells && run->buffers[k].data == b->data &&
             run->buffers[k].bytes == b->bytes && run->buffers[k].elem_bytes == b->elem_bytes)
            b->cells = run->buffers[k].cells;
      if (!b->cells && b->is_valid && b->bytes >= b->elem_bytes)
         b->cells = tl_new_array(arena, TlExecCell, b->bytes / b->elem_bytes);
   }
}

/* An access of elements that lie side by side. */
typedef struct Access {
   TlExecThread *t;
   const TlExecInst *inst;
   size_t i;               /* its first, of the tile */
   const TlExecBuffer *in; /* NULL: it is not watched */
   uint64_t first;         /* element of the buffer */
   uint32_t me;
} Access;

static Access
access_of(TlExecThread *t, const TlExecInst *inst, size_t i, uint32_t bytes)
{
   uint64_t p = ((const uint64_t *)tl_cpu_data(t, inst->arg[0]))[i];
   uint64_t number = tl_exec_buffer_number(p);
   Access a = {.t = t, .inst = inst, .i = i, .me = (uint32_t)t->program_number + 1};
   if (number >= t->run->num_args)
      return a; /* memory beside the arguments */
   const TlExecBuffer *b = &t->run->buffers[number];
   uint64_t byte = p - b->base; /* in front of the argument: beyond its bytes */
   if (b->cells && byte < b->bytes && b->elem_bytes == bytes && byte % bytes == 0) {
      a.in = b;
      a.first = byte / bytes;
   }
   return a;
}

static void
report(const Access *a, size_t k, uint32_t other, const char *does)
{
   const TlExecBuffer *b = a->in;
   TlExecFault race = {.kind = TL_FAULT_RACE,
                       .buffer = b->name,
                       .byte = (int64_t)((a->first + k) * b->elem_bytes),
                       .elem_bytes = b->elem_bytes,
                       .text = does,
                       .limit = -1};
   if (other != MANY) {
      tl_exec_program(a->t->run->grid, other - 1, race.other);
      race.limit = other - 1;
   }
   tl_cpu_warn_of(a->t, a->inst, a->inst->arg[0], a->i + k, &race);
}

/* Not the last element of the tile that the pointer of element i stands at. */
static size_t
peer_of(const Access *a, size_t i)
{
   const uint64_t *p = tl_cpu_data(a->t, a->inst->arg[0]);
   size_t k = 0;
   while (k < i && p[k] != p[i])
      k++;
   return k;
}

static void
report_twice(const Access *a, size_t k)
{
   const TlExecBuffer *b = a->in;
   TlExecFault twice = {.kind = TL_FAULT_TWICE,
                        .buffer = b->name,
                        .byte = (int64_t)((a->first + k) * b->elem_bytes),
                        .elem_bytes = b->elem_bytes};
   if (a->t->run->warnings[2 * a->inst->number].fault.kind == TL_FAULT_TWICE &&
       a->t->run->warnings[2 * a->inst->number].program <= a->t->program_number)
      return; /* it is told: the search takes time */
   const TlType *type = a->inst->arg[0]->type;
   size_t peer = peer_of(a, a->i + k);
   for (unsigned d = type->rank; d-- > 0; peer /= type->shape[d])
      twice.peer[d] = (uint32_t)(peer % type->shape[d]);
   tl_cpu_warn_of(a->t, a->inst, a->inst->arg[0], a->i + k, &twice);
}

void
tl_cpu_see_load(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n, uint32_t bytes)
{
   Access a = access_of(t, inst, i, bytes);
   for (size_t k = 0; t->run->has_races && a.in && k < n; k++) {
      TlExecCell *c = &a.in->cells[a.first + k];
      uint32_t reader = 0;
      if (!atomic_compare_exchange_strong(&c->reader, &reader, a.me) && reader != a.me &&
          reader != MANY)
         atomic_store(&c->reader, MANY);
      uint32_t writer = (uint32_t)atomic_load(&c->written);
      if ((writer & CHANGED) && (writer & ~CHANGED) != a.me)
         report(&a, k, writer & ~CHANGED, "writes");
   }
}

/* All of them of a value of up to 4 bytes. */
static uint32_t
bits_of(const uint8_t *value, uint32_t bytes)
{
   uint64_t bits = 0;
   memcpy(&bits, value, bytes);
   return (uint32_t)(bits ^ bits >> 32);
}

/* Makes program `me` the cell's last writer, of `bits`.  Gives the one before, 0 for none, and in
 * *changes whether its value was another: for the first writer, whether memory has another. */
static uint32_t
take_cell(TlExecCell *c, uint32_t me, uint32_t bits, bool *changes)
{
   bool first_changes = *changes;
   uint64_t was = atomic_load(&c->written), now;
   do {
      uint32_t writer = (uint32_t)was;
      *changes = writer ? (uint32_t)(was >> 32) != bits : first_changes;
      uint32_t changed = *changes ? CHANGED : (writer & ~CHANGED) == me ? writer & CHANGED : 0;
      now = (uint64_t)bits << 32 | me | changed;
   } while (!atomic_compare_exchange_weak(&c->written, &was, now));
   return (uint32_t)was & ~CHANGED;
}

void
tl_cpu_see_store(TlExecThread *t, const TlExecInst *inst, size_t i, size_t n, uint32_t bytes,
                 const uint8_t *from, const uint8_t *to)
{
   Access a = access_of(t, inst, i, bytes);
   for (size_t k = 0; a.in && k < n; k++) {
      TlExecCell *c = &a.in->cells[a.first + k];
      bool changes = memcmp(from + k * bytes, to + k * bytes, bytes) != 0;
      uint32_t writer = 0;
      if (t->run->has_races)
         writer = take_cell(c, a.me, bits_of(from + k * bytes, bytes), &changes);
      if (atomic_exchange(&c->store, t->store) == t->store && changes)
         report_twice(&a, k);
      if (!t->run->has_races || !changes)
         continue;
      uint32_t reader = atomic_load(&c->reader);
      if (writer && writer != a.me)
         report(&a, k, writer, "writes");
      else if (reader && reader != a.me)
         report(&a, k, reader, "reads");
   }
}
