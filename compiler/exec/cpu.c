/* Launch: argument checks, threads, programs, limits, and the recording of faults.
 * Invariant: all memory is allocated by the calling thread before others start, from an arena of
 * this launch with the allocator of the function's module; worker threads allocate nothing, so no
 * out-of-memory jump crosses a thread. */
#define _GNU_SOURCE
#include "exec/cpu_impl.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "base/clock.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 256, TICKS_BETWEEN_LOOKS = 16 };
enum { WORK_BETWEEN_LOOKS = 1 << 16 }; /* elements: at most tens of milliseconds */
static const uint64_t default_max_bytes = (uint64_t)4 << 30;
static const uint64_t low_bits = 0xFFF; /* of a host address, kept in the virtual one */

uint64_t
tl_exec_address(const TlExecArg *args, unsigned index)
{
   uint64_t number = (uint64_t)index + 1 + TL_EXEC_HOST_BUFFERS;
   return number << TL_EXEC_BUFFER_BITS | ((uintptr_t)args[index].data & low_bits);
}

void
tl_cpu_lock(atomic_flag *lock)
{
   unsigned spins = 0;
   while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
      if (++spins % 64 == 0)
         sched_yield();
}

void
tl_cpu_unlock(atomic_flag *lock)
{
   atomic_flag_clear_explicit(lock, memory_order_release);
}

/* ---- faults ---- */
static void
fill_fault(const TlExecThread *t, const TlExecInst *inst, TlExecFault *f, TlFaultKind kind)
{
   assert(kind != TL_FAULT_NONE);
   f->kind = kind;
   f->range = inst->op->range;
   f->op = tl_source_name(inst->op);
   memcpy(f->program, t->program, sizeof f->program);
}

static void
fill_element(TlExecFault *f, const TlExecSlot *slot, size_t i)
{
   const TlType *type = slot->type;
   if (!tl_type_is_tile(type))
      return;
   f->rank = type->rank;
   for (unsigned d = type->rank; d-- > 0; i /= type->shape[d])
      f->element[d] = (uint32_t)(i % type->shape[d]);
}

bool
tl_cpu_fail(TlExecThread *t, const TlExecInst *inst, TlFaultKind kind)
{
   fill_fault(t, inst, &t->fault, kind);
   return false;
}

bool
tl_cpu_fail_at(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot, size_t i,
               TlFaultKind kind)
{
   fill_element(&t->fault, slot, i);
   return tl_cpu_fail(t, inst, kind);
}

/* Where the undefined value comes from. */
static void
fill_origin(const TlExecThread *t, uint8_t source, TlExecFault *f)
{
   const TlExecInst *from = t->plan->source[source];
   const int64_t *kept = t->operands[source];
   if (!from)
      return;
   f->origin = from->op->range;
   f->origin_op = tl_source_name(from->op);
   f->is_unwritten = t->plan->is_empty[source];
   if (f->is_unwritten && kept[0]) {
      const TlExecBuffer *b = &t->run->buffers[kept[0] - 1];
      f->buffer = b->name;
      f->byte = kept[1];
      f->elem_bytes = b->elem_bytes;
      f->buffer_bytes = b->bytes;
   } else if (from->op->opcode == TL_OP_GATHER) {
      f->value = kept[0];
      f->limit = kept[1];
   }
}

bool
tl_cpu_fail_undefined(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot, size_t i,
                      uint8_t source)
{
   assert(t->checked && source > 0 && source <= t->plan->num_sources);
   if (t->plan->is_cut[source]) {
      tl_cpu_warn_cut(t, source, slot, i);
      return true;
   }
   TlExecFault seen = {.kind = TL_FAULT_UNDEFINED_SEEN};
   fill_origin(t, source, t->plan->is_strict ? &t->fault : &seen);
   if (!t->plan->is_strict) {
      tl_cpu_warn_of(t, inst, slot, i, &seen);
      return true;
   }
   return tl_cpu_fail_at(t, inst, slot, i, TL_FAULT_UNDEFINED);
}

bool
tl_cpu_want_defined(TlExecThread *t, const TlExecInst *inst, unsigned arg)
{
   const TlExecSlot *s = inst->arg[arg];
   if (!tl_cpu_is_undef(t, s) || !*tl_cpu_shadow(t, s))
      return true;
   return tl_cpu_fail_undefined(t, inst, s, 0, *tl_cpu_shadow(t, s));
}

void
tl_cpu_warn(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot, size_t i,
            TlFaultKind kind, int64_t value)
{
   TlExecFault what = {.kind = kind, .value = value};
   tl_cpu_warn_of(t, inst, slot, i, &what);
}

void
tl_cpu_warn_of(TlExecThread *t, const TlExecInst *inst, const TlExecSlot *slot, size_t i,
               const TlExecFault *what)
{
   assert(t->checked && inst->number < t->plan->num_insts);
   TlExecWarning *w = &t->run->warnings[2 * inst->number + (what->kind == TL_FAULT_RACE)];
   tl_cpu_lock(&t->run->print_lock);
   if (w->fault.kind == TL_FAULT_NONE || t->program_number < w->program) {
      *w = (TlExecWarning){t->program_number, *what};
      fill_fault(t, inst, &w->fault, what->kind);
      if (inst->op->opcode == TL_OP_HINT)
         w->fault.op = tl_exec_promise(inst->op);
      fill_element(&w->fault, slot, i);
   }
   tl_cpu_unlock(&t->run->print_lock);
}

/* A loop that goes on until memory, which other programs write, holds something. */
static bool
waits_for_memory(const TlOp *op)
{
   while (op && op->opcode != TL_OP_WHILE)
      op = tl_parent(op);
   const TlBlock *condition = op ? op->regions[0]->block : NULL;
   for (const TlOp *x = op ? condition->first : NULL; x; x = tl_walk_next(x, condition))
      if (tl_has_trait(x, TL_TRAIT_READ))
         return true;
   return false;
}

bool
tl_cpu_look(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecOptions *o = t->run->opts;
   t->work = 0;
   if (t->run->end_ns && tl_now_ns() > t->run->end_ns) {
      t->fault.limit = (int64_t)o->max_ms;
      t->fault.value = waits_for_memory(inst->op);
      return tl_cpu_fail(t, inst, TL_FAULT_TIME);
   }
   /* A program after one that failed need not end, nor any once the caller has cancelled; its own
    * fault, kind NONE, is not reported. */
   return !(o->cancel && *o->cancel) &&
          atomic_load_explicit(&t->run->failed, memory_order_relaxed) > t->program_number;
}

bool
tl_cpu_tick(TlExecThread *t, const TlExecInst *inst)
{
   const TlExecOptions *o = t->run->opts;
   if (o->max_steps && t->steps > o->max_steps) {
      t->fault.limit = (int64_t)o->max_steps;
      return tl_cpu_fail(t, inst, TL_FAULT_STEPS);
   }
   return ++t->ticks % TICKS_BETWEEN_LOOKS || tl_cpu_look(t, inst);
}

/* ---- programs ---- */
static uint64_t
own_ns(void)
{
   struct timespec now;
   clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
   return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Between two instructions. */
static void
watch_on(TlExecThread *t)
{
   if (t->checked && t->watch_end_ns && own_ns() > t->watch_end_ns)
      t->checked = false;
}

bool
tl_cpu_block(TlExecThread *t, const TlExecBlock *block)
{
   assert(block->num > 0 || block == t->plan->prologue); /* a block has a terminator */
   t->steps += block->num;
   for (uint32_t i = 0; i < block->num; i++) {
      const TlExecInst *inst = &block->inst[i];
      if (t->checked)
         for (uint32_t r = 0; r < inst->num_results; r++)
            t->undef[inst->result[r]->root] = inst->num_args &&
                                              inst->result[r]->root == inst->arg[0]->root &&
                                              t->undef[inst->arg[0]->root];
      if (t->counts)
         tl_cpu_count_inst(t, inst);
      if (!inst->run(t, inst))
         return false;
      t->work += inst->num_results ? tl_cpu_count(t, inst->result[0]) : 1;
      if (t->work >= WORK_BETWEEN_LOOKS) {
         if (!tl_cpu_look(t, inst))
            return false;
         watch_on(t);
      }
   }
   return true;
}

static void
lower_failed(TlExecRun *run, uint64_t program)
{
   uint_fast64_t seen = atomic_load(&run->failed);
   while (program < seen && !atomic_compare_exchange_weak(&run->failed, &seen, program))
      ;
}

static void
run_program(TlExecThread *t, uint64_t number)
{
   assert(number < t->run->num_programs);
   t->program_number = number;
   t->odd = NULL;
   tl_exec_program(t->run->grid, number, t->program);
   assert(t->program[2] < t->run->grid[2]);
   t->steps = 0;
   TlExecFault before = t->fault;
   memset(&t->fault, 0, sizeof t->fault);
   bool ok = tl_cpu_block(t, t->plan->body);
   if (!ok && t->fault.kind && (!before.kind || number < t->fault_program)) {
      t->fault_program = number;
      lower_failed(t->run, number);
   } else {
      t->fault = before;
   }
}

static void
set_args(TlExecThread *t)
{
   const TlExecBlock *body = t->plan->body;
   for (unsigned i = 0; i < t->run->num_args; i++) {
      const TlExecArg *a = &t->run->args[i];
      assert(!a->is_buffer || body->arg[i]->elem_bytes == 8);
      uint64_t bits = a->is_buffer ? tl_exec_address(t->run->args, i) : a->bits;
      tl_cpu_fill(tl_cpu_data(t, body->arg[i]), &bits, body->arg[i]->elem_bytes, 1);
   }
}

static void *
thread_main(void *arg)
{
   TlExecThread *t = arg;
   TlExecRun *run = t->run;
   assert(t->fault.kind == TL_FAULT_NONE);
   if (run->opts->watch_ms)
      t->watch_end_ns = own_ns() + run->opts->watch_ms * 1000000u;
   set_args(t);
   if (!tl_cpu_block(t, t->plan->prologue)) {
      lower_failed(run, t->fault_program);
      return NULL;
   }
   for (;;) {
      uint64_t number = atomic_fetch_add(&run->next, 1);
      if (number >= run->num_programs || number > atomic_load(&run->failed))
         return NULL;
      if (run->opts->cancel && *run->opts->cancel)
         return NULL;
      if (run->end_ns && number % 64 == 63 && tl_now_ns() > run->end_ns) {
         memset(&t->fault, 0, sizeof t->fault);
         t->fault.kind = TL_FAULT_TIME;
         t->fault.limit = (int64_t)run->opts->max_ms;
         t->fault.range = t->plan->func->range;
         t->fault.op = t->plan->func->name;
         t->fault_program = number;
         lower_failed(run, number);
         return NULL;
      }
      watch_on(t);
      run_program(t, number);
   }
}

/* ---- launch ---- */
static const TlParam *
runtime_param(const TlFunc *f, unsigned index)
{
   for (unsigned i = 0; i < f->num_params; i++)
      if (f->params[i].is_runtime && index-- == 0)
         return &f->params[i];
   return NULL;
}

static bool
bad_argument(const TlFunc *f, TlExecFault *fault, const TlParam *p, const char *text)
{
   fault->kind = TL_FAULT_ARGUMENT;
   fault->range = f->range;
   fault->op = f->name;
   fault->buffer = p ? p->name : NULL;
   fault->text = text;
   return false;
}

static bool
check_arg(const TlFunc *f, const TlExecArg *args, unsigned i, TlExecFault *fault)
{
   const TlExecArg *a = &args[i];
   const TlParam *p = runtime_param(f, i);
   const TlType *type = f->body->block->args[i]->type;
   bool is_ptr = type->kind == TL_TYPE_PTR;
   if (a->is_buffer && !is_ptr)
      return bad_argument(f, fault, p, "needs a number; got a buffer");
   if (a->is_buffer && a->bytes >> (TL_EXEC_BUFFER_BITS - 1))
      return bad_argument(f, fault, p, "is too large for a buffer");
   uint64_t value = a->is_buffer ? tl_exec_address(args, i) : a->bits;
   if (is_ptr || !tl_dtype_is_int(type->dtype))
      fault->value = (int64_t)value;
   else
      fault->value = tl_bits_to_int(type->dtype, value);
   uint64_t divisor = p ? p->divisibility : 1;
   if (divisor > 1 && (is_ptr || tl_dtype_is_int(type->dtype)) &&
       (is_ptr ? value % divisor != 0 : fault->value % (int64_t)divisor != 0)) {
      fault->limit = (int64_t)divisor;
      return bad_argument(f, fault, p,
                          is_ptr ? "must have an address divisible by its hint"
                                 : "must be divisible by its hint");
   }
   return true;
}

static bool
check_launch(const TlFunc *f, const TlExecArg *args, unsigned num_args, TlExecFault *fault)
{
   if (num_args != f->body->block->num_args) {
      fault->value = num_args;
      fault->limit = f->body->block->num_args;
      return bad_argument(f, fault, NULL, "wrong number of arguments");
   }
   for (unsigned i = 0; i < num_args; i++)
      if (!check_arg(f, args, i, fault))
         return false;
   fault->value = 0;
   return true;
}

static uint32_t
pointee_bytes(const TlType *pointer)
{
   const TlType *elem = pointer->elem;
   return elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
}

/* Byte by byte, has something written there before the run? */
static uint8_t *
written_before(TlArena *arena, const TlExecArg *a)
{
   uint8_t *written = tl_new_array(arena, uint8_t, a->bytes);
   assert(a->unwritten && a->unwritten <= a->bytes);
   memset(written, 1, a->bytes - a->unwritten);
   return written;
}

static void
make_buffers(TlArena *arena, const TlFunc *f, TlExecRun *run)
{
   const uint64_t most_watched = (uint64_t)256 << 20;
   run->buffers = tl_new_array(arena, TlExecBuffer, run->num_args);
   for (unsigned i = 0; i < run->num_args; i++) {
      const TlExecArg *a = &run->args[i];
      const TlParam *p = runtime_param(f, i);
      if (!a->is_buffer)
         continue;
      run->buffers[i] = (TlExecBuffer){.data = a->data,
                                       .base = tl_exec_address(run->args, i),
                                       .bytes = a->bytes,
                                       .is_writable = a->is_writable,
                                       .is_valid = true,
                                       .elem_bytes = pointee_bytes(f->body->block->args[i]->type),
                                       .name = a->name ? a->name
                                               : p     ? p->name
                                                       : "?"};
      bool is_watched = run->plan->checked && a->bytes && a->bytes <= most_watched;
      if (is_watched && (a->is_empty || a->is_fresh))
         run->buffers[i].reached = tl_new_array(arena, uint8_t, a->bytes);
      if (a->is_empty)
         run->buffers[i].written = run->buffers[i].reached;
      else if (is_watched && a->unwritten)
         run->buffers[i].written = written_before(arena, a);
   }
}

static unsigned
wanted_threads(const TlExecOptions *o, uint64_t programs)
{
   unsigned n = o->threads;
   cpu_set_t set;
   if (!n && sched_getaffinity(0, sizeof set, &set) == 0)
      n = (unsigned)CPU_COUNT(&set);
   n = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n;
   return programs < n ? (unsigned)programs : n;
}

static void
start_threads(TlExecThread *threads, unsigned num)
{
   pthread_t id[MAX_THREADS];
   unsigned started = 1; /* the caller is number 0 */
   for (; started < num; started++)
      if (pthread_create(&id[started], NULL, thread_main, &threads[started]) != 0)
         break; /* fewer threads do the same work */
   thread_main(&threads[0]);
   for (unsigned i = 1; i < started; i++)
      pthread_join(id[i], NULL);
}

static TlExecStatus
status_of(TlFaultKind kind)
{
   switch (kind) {
   case TL_FAULT_NONE:
      return TL_EXEC_OK;
   case TL_FAULT_STEPS:
   case TL_FAULT_TIME:
   case TL_FAULT_MEMORY:
      return TL_EXEC_LIMIT;
   case TL_FAULT_ARGUMENT:
      return TL_EXEC_BAD_ARGUMENT;
   case TL_FAULT_UNSUPPORTED:
      return TL_EXEC_UNSUPPORTED;
   default:
      return TL_EXEC_FAULT;
   }
}

static void
add_stats(TlExecStats *sum, const TlExecStats *part)
{
   sum->load_bytes += part->load_bytes;
   sum->store_bytes += part->store_bytes;
   sum->flops += part->flops;
}

static void
run_threads(TlArena *arena, TlExecRun *run, unsigned num, TlExecFault *fault)
{
   const TlExecPlan *plan = run->plan;
   TlExecThread *threads = tl_new_array(arena, TlExecThread, num);
   for (unsigned i = 0; i < num; i++) {
      uint8_t *frame = tl_arena_alloc(arena, plan->frame_bytes + 64);
      threads[i] = (TlExecThread){.run = run, .plan = plan, .checked = plan->checked};
      threads[i].counts = run->opts->stats;
      threads[i].frame = frame + (64 - ((uintptr_t)frame & 63));
      assert((uintptr_t)threads[i].frame % 64 == 0);
      threads[i].undef = tl_new_array(arena, bool, plan->num_roots);
      threads[i].operands = tl_new_array(arena, TlOperands, plan->num_sources + 1);
   }
   assert(num >= 1 && num <= MAX_THREADS);
   run->is_shared = num > 1;
   start_threads(threads, num);
   const TlExecThread *first = NULL;
   for (unsigned i = 0; run->opts->stats && i < num; i++)
      add_stats(run->opts->stats, &threads[i].stats);
   for (unsigned i = 0; i < num; i++)
      if (threads[i].fault.kind && (!first || threads[i].fault_program < first->fault_program))
         first = &threads[i];
   if (first)
      *fault = first->fault;
}

static bool
unsupported(const TlExecPlan *plan, TlExecFault *fault)
{
   if (!plan->unsupported)
      return false;
   fault->kind = TL_FAULT_UNSUPPORTED;
   fault->range = plan->unsupported_op ? plan->unsupported_op->range : plan->func->range;
   fault->op = plan->unsupported_op ? tl_info(plan->unsupported_op)->text : plan->func->name;
   fault->text = plan->unsupported;
   return true;
}

static void
launch(TlArena *arena, const TlFunc *f, TlExecRun *run, uint64_t max_bytes, TlExecFault *fault)
{
   const TlExecOptions *o = run->opts;
   bool has_empty = false;
   for (unsigned i = 0; i < run->num_args; i++)
      has_empty |= run->args[i].is_buffer && (run->args[i].is_empty || run->args[i].unwritten);
   TlExecPlan *plan = tl_cpu_plan(arena, f, o, has_empty);
   if (f->state == TL_STATE_LOWERED)
      plan->unsupported = "lowered code runs in the simulator only";
   if (unsupported(plan, fault))
      return;
   run->plan = plan;
   make_buffers(arena, f, run);
   run->warnings = tl_new_array(arena, TlExecWarning, plan->checked ? 2 * plan->num_insts : 0);
   if (plan->checked) {
      tl_cpu_races_open(arena, f, run);
      tl_cpu_unread_open(arena, f, run);
   }
   unsigned threads = wanted_threads(o, run->num_programs);
   uint64_t room = max_bytes - max_bytes / 8; /* the rest is for the plan itself */
   while (threads > 1 && plan->frame_bytes > room / threads)
      threads--;
   if (plan->frame_bytes > room) {
      fault->kind = TL_FAULT_MEMORY;
      fault->range = f->range;
      fault->op = f->name;
      fault->value = (int64_t)plan->frame_bytes;
      fault->limit = (int64_t)max_bytes;
      return;
   }
   run_threads(arena, run, threads, fault);
   bool is_told = false;
   for (uint32_t i = 0; plan->checked && o->warn && i < 2 * plan->num_insts; i++)
      if (run->warnings[i].fault.kind && run->warnings[i].program <= run->failed) {
         o->warn(o->user, &run->warnings[i].fault);
         is_told = true;
      }
   if (plan->checked && o->warn && fault->kind == TL_FAULT_NONE && !is_told)
      if (!tl_cpu_tell_unwritten(arena, run)) /* beside others it would be the same mistake */
         tl_cpu_tell_unread(arena, run);
}

TlExecStatus
tl_exec_cpu(const TlFunc *f, const TlExecArg *args, unsigned num_args, const uint32_t grid[3],
            const TlExecOptions *opts, TlExecFault *fault)
{
   const TlExecOptions defaults = {0};
   TlExecRun run = {.opts = opts ? opts : &defaults, .args = args, .num_args = num_args};
   memset(fault, 0, sizeof *fault);
   if (!check_launch(f, args, num_args, fault))
      return TL_EXEC_BAD_ARGUMENT;
   memcpy(run.grid, grid, sizeof run.grid);
   run.num_programs = (uint64_t)grid[0] * grid[1];
   if (__builtin_mul_overflow(run.num_programs, grid[2], &run.num_programs)) {
      *fault = (TlExecFault){.kind = TL_FAULT_GRID, .range = f->range, .op = f->name};
      return TL_EXEC_BAD_ARGUMENT;
   }
   if (!run.num_programs)
      return TL_EXEC_OK;
   if (run.opts->max_ms)
      run.end_ns = tl_now_ns() + run.opts->max_ms * 1000000u;
   atomic_init(&run.failed, UINT64_MAX);

   const TlMem *outer = tl_arena_mem(f->module->arena);
   uint64_t max_bytes = run.opts->max_bytes ? run.opts->max_bytes : default_max_bytes;
   TlMem mem;
   tl_mem_init(&mem);
   mem.alloc = outer->alloc;
   mem.release = outer->release;
   mem.user = outer->user;
   mem.limit_bytes = (size_t)max_bytes;
   jmp_buf oom;
   TlArena *volatile arena = NULL;
   mem.oom = &oom;
   if (setjmp(oom) == 0) {
      arena = tl_arena_new(&mem);
      launch(arena, f, &run, max_bytes, fault);
   } else {
      fault->kind = TL_FAULT_MEMORY;
      fault->range = f->range;
      fault->op = f->name;
      fault->limit = (int64_t)max_bytes;
   }
   tl_exec_own_text(fault);
   tl_arena_free(arena);
   return status_of(fault->kind);
}
