/* Rows and columns that nothing reads of an array that a kernel reads: a loop ends early, a stride
 * is missing, or the mask compares with another size.  And arrays that nothing touches.
 *
 * The same of one pass of several over an array: its loads of tiles, those of one block, leave out
 * how it begins or ends, where another pass reads all.  A load beside another of the same pass may
 * be a neighbour's or of every second element: together they read all.
 *
 * Whole rows, columns and the like alone are told of: triangles and diagonals have an element of
 * each.  Nothing is said where what was loaded decides what is read, which is a gather, nor of
 * arrays that the kernel changes by atomics.  The caller gives sizes of those arrays that are meant
 * to be read as a whole. */
#include "exec/cpu_impl.h"
#include "ir/control.h"
#include "ir/walk.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What one load of the program's text reads of the array that its pointers come of. */
typedef struct TlExecReads {
   struct TlExecReads *next;
   const TlOp *op;
   unsigned arg;
   uint8_t *seen; /* by element */
} TlExecReads;

enum { MOST_SEEN = 1 << 24 /* elements of all arrays together */ };

int
tl_exec_argument_of(const TlFunc *f, const TlValue *v)
{
   const TlBlock *top = f->body->block;
   while (v) {
      if (!v->def && v->block == top)
         return (int)v->index;
      const TlOp *op = v->def ? v->def : v->block->region->parent;
      if (!op)
         return -1;
      if (!v->def) /* what a loop carries */
         v = op->opcode == TL_OP_FOR && v->index ? tl_init(op, v->index - 1) : NULL;
      else if (op->opcode == TL_OP_ADDPTR || op->opcode == TL_OP_SPLAT ||
               op->opcode == TL_OP_BROADCAST || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS))
         v = tl_arg(op, 0);
      else
         v = NULL;
   }
   return -1;
}

/* Loads of tiles; one element may be asked for beside all. */
static void
note_loads(TlArena *arena, const TlFunc *f, TlExecRun *run, uint64_t left)
{
   tl_map_init(&run->reads, arena);
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      int arg = op->opcode == TL_OP_LOAD && tl_type_is_tile(tl_result(op, 0)->type)
                   ? tl_exec_argument_of(f, tl_arg(op, 0))
                   : -1;
      const TlExecBuffer *b = arg >= 0 && (unsigned)arg < run->num_args ? &run->buffers[arg] : NULL;
      if (!b || !b->seen || b->bytes / b->elem_bytes > left)
         continue;
      left -= b->bytes / b->elem_bytes;
      TlExecReads *r = tl_new(arena, TlExecReads);
      *r = (TlExecReads){.next = run->first_reads,
                         .op = op,
                         .arg = (unsigned)arg,
                         .seen = tl_new_array(arena, uint8_t, b->bytes / b->elem_bytes)};
      run->first_reads = r;
      tl_map_put(&run->reads, op, r);
   }
}

void
tl_cpu_unread_open(TlArena *arena, const TlFunc *f, TlExecRun *run)
{
   uint64_t seen = 0;
   bool is_any = false;
   for (unsigned i = 0; i < run->num_args; i++) {
      TlExecBuffer *b = &run->buffers[i];
      uint64_t num = b->is_valid && run->args[i].dims ? b->bytes / b->elem_bytes : 0, all = 1;
      for (unsigned d = 0; num && d < run->args[i].rank; d++)
         all *= run->args[i].dims[d];
      if (!num || all != num || num > MOST_SEEN - seen)
         continue;
      seen += num;
      is_any = true;
      b->seen = tl_new_array(arena, uint8_t, num);
   }
   run->loaded = is_any ? tl_cpu_loaded_values(arena, f) : NULL;
   if (is_any)
      note_loads(arena, f, run, MOST_SEEN - seen);
}

void
tl_cpu_see_read(TlExecThread *t, const TlExecInst *inst, TlExecBuffer *b, uint64_t p, size_t n,
                uint32_t bytes)
{
   assert(b->seen && p >= b->base);
   if (bytes != b->elem_bytes || (p - b->base) % bytes) {
      atomic_store_explicit(&b->is_chosen, true, memory_order_relaxed);
      return;
   }
   memset(b->seen + (p - b->base) / bytes, 1, n);
   TlExecReads *r = tl_map_get(&t->run->reads, inst->op);
   if (r && b == &t->run->buffers[r->arg])
      memset(r->seen + (p - b->base) / bytes, 1, n);
   const TlExecInst *first = atomic_load_explicit(&b->load, memory_order_relaxed);
   while (first != inst && (!first || inst->number < first->number))
      if (atomic_compare_exchange_weak(&b->load, &first, inst))
         break;
   if (first != inst && tl_cpu_is_chosen(t->run->loaded, inst->op))
      atomic_store_explicit(&b->is_chosen, true, memory_order_relaxed);
}

/* ---- what is left out ---- */
/* Along one axis of an array: by index, is any element read? */
static uint64_t
count_read(const uint8_t *seen, uint64_t num, uint64_t inner, uint64_t size, uint8_t *is_read)
{
   uint64_t n = 0;
   memset(is_read, 0, size);
   for (uint64_t i = 0; i < num; i++)
      is_read[i / inner % size] |= seen[i];
   for (uint64_t i = 0; i < size; i++)
      n += is_read[i];
   return n;
}

/* "x[:, 3]" */
static void
name_slice(TlExecFault *f, const char *name, unsigned rank, unsigned axis, uint64_t index)
{
   size_t at = (size_t)snprintf(f->own, sizeof f->own, "%.100s[", name);
   for (unsigned d = 0; d < rank && at < sizeof f->own; d++) {
      const char *comma = d ? ", " : "";
      int n = d == axis ? snprintf(f->own + at, sizeof f->own - at, "%s%llu", comma,
                                   (unsigned long long)index)
                        : snprintf(f->own + at, sizeof f->own - at, "%s:", comma);
      at += (size_t)n;
   }
   if (at < sizeof f->own)
      snprintf(f->own + at, sizeof f->own - at, "]");
}

/* The first row, column or the like of an array that is not seen; false: there is none. */
static bool
find_slice(TlArena *arena, const TlExecRun *run, unsigned arg, const uint8_t *seen, TlExecFault *f)
{
   const TlExecBuffer *b = &run->buffers[arg];
   const TlExecArg *a = &run->args[arg];
   uint64_t num = b->bytes / b->elem_bytes, inner = num;
   for (unsigned d = 0; d < a->rank; d++) {
      uint64_t size = a->dims[d];
      inner /= size;
      uint8_t *is_read = tl_new_array(arena, uint8_t, size);
      uint64_t n = count_read(seen, num, inner, size, is_read), first = 0;
      if (n == size)
         continue;
      while (is_read[first])
         first++;
      bool is_behind = is_read[size - 1] && !memchr(is_read + (size - n), 0, n);
      *f = (TlExecFault){.kind = TL_FAULT_UNREAD,
                         .buffer = b->name,
                         .text = a->rank == 1       ? "elements"
                                 : d + 1 == a->rank ? "columns"
                                 : d + 2 == a->rank ? "rows"
                                                    : "matrices",
                         .bytes = first == n,
                         .is_behind = is_behind,
                         .value = (int64_t)n,
                         .limit = (int64_t)size};
      name_slice(f, b->name, a->rank, d, first);
      return true;
   }
   return false;
}

/* Of all loads of r's block: what a pass over the array reads. */
static uint8_t *
seen_beside(TlArena *arena, const TlExecRun *run, const TlExecReads *r)
{
   const TlExecBuffer *b = &run->buffers[r->arg];
   uint64_t num = b->bytes / b->elem_bytes;
   uint8_t *seen = tl_new_array(arena, uint8_t, num);
   for (const TlExecReads *other = run->first_reads; other; other = other->next)
      for (uint64_t i = 0; i < num && other->arg == r->arg && other->op->block == r->op->block; i++)
         seen[i] |= other->seen[i];
   return seen;
}

/* Does the pass that r is of leave out how the array begins or ends?  One that takes every second
 * element, say, means to. */
static bool
find_short_pass(TlArena *arena, const TlExecRun *run, const TlExecReads *r, TlExecFault *f)
{
   bool is_short = find_slice(arena, run, r->arg, seen_beside(arena, run, r), f);
   return is_short && f->value && (f->bytes || f->is_behind); /* 0: it was not reached */
}

/* Of what nothing reads, and of what a pass leaves out where another over the array reads all. */
static bool
tell_slice(TlArena *arena, const TlExecRun *run, unsigned arg)
{
   TlExecFault f, part = {0};
   const TlOp *in_part = NULL, *whole = NULL;
   const TlExecInst *by = atomic_load(&run->buffers[arg].load);
   if (find_slice(arena, run, arg, run->buffers[arg].seen, &f)) {
      f.range = by->op->range;
      f.op = tl_source_name(by->op);
      run->opts->warn(run->opts->user, &f);
      return true;
   }
   for (const TlExecReads *r = run->first_reads; r; r = r->next) {
      if (r->arg != arg)
         continue;
      if (!find_slice(arena, run, arg, r->seen, &f))
         whole = r->op;
      else if (find_short_pass(arena, run, r, &f))
         part = f, in_part = r->op;
   }
   if (!in_part || !whole || in_part->range.begin == whole->range.begin)
      return false;
   part.range = in_part->range;
   part.op = tl_source_name(in_part);
   part.origin = whole->range;
   part.origin_op = tl_source_name(whole);
   run->opts->warn(run->opts->user, &part);
   return true;
}

void
tl_cpu_tell_unread(TlArena *arena, const TlExecRun *run)
{
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecBuffer *b = &run->buffers[i];
      if (!b->is_valid || !b->bytes)
         continue;
      if (run->args[i].is_asked && !atomic_load(&b->is_touched)) {
         const TlFunc *func = run->plan->func;
         const TlUnused *load = func->unused;
         while (load && load->arg != i)
            load = load->next;
         TlExecFault f = {.kind = TL_FAULT_UNTOUCHED,
                          .range = load ? load->range : func->range,
                          .op = "kernel",
                          .text = load ? load->name : NULL,
                          .buffer = b->name};
         run->opts->warn(run->opts->user, &f);
         return; /* another would be most often the same mistake */
      }
   }
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecBuffer *b = &run->buffers[i];
      bool is_told = b->seen && atomic_load(&b->load) && !atomic_load(&b->is_chosen);
      if (is_told && tell_slice(arena, run, i))
         return;
   }
}
