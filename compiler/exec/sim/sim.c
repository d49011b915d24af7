/* From a LOWERED function to a launch: generated code, decoded sites, workers that take blocks
 * in order.
 *
 * Blocks are handed out by number; after a failure no later block is begun and all earlier ones
 * are finished, so the block reported is the lowest that fails, whatever the number of workers. */
#define _GNU_SOURCE
#include "exec/sim/impl.h"
#include "base/clock.h"
#include "ir/launch_expr.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum { MODEL_STACK = 128 << 10, PAGE = 4096, MXCSR_DEFAULT = 0x1F80 };

static const TlHostModels models = {
   .step = sim_step,
#define sim_none NULL
#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, lower, emit, how, model, ...)    \
   .op[TL_OP_##id] = sim_##model,
#include "ir/ops.def"
};

/* ---- decoding ---- */
static uint32_t
regs_of(const TlValue *v)
{
   return tl_type_num_regs(v->type);
}

static int64_t
attr_or(const TlOp *op, TlAttrKey key, int64_t otherwise)
{
   return tl_has_attr(op, key) ? tl_attr_int(op, key) : otherwise;
}

/* The value that an access moves: a result, or the operand after the address. */
static const TlValue *
data_of(const TlOp *op)
{
   if (op->num_results)
      return tl_result(op, 0);
   return op->num_args > 1 ? tl_arg(op, 1) : op->num_args ? tl_arg(op, 0) : NULL;
}

static void
decode_shared(TlSimKernel *k, SimSite *s)
{
   TlInts offsets = {0};
   if (tl_has_attr(s->op, TL_ATTR_OFFSETS))
      offsets = tl_attr_ints(s->op, TL_ATTR_OFFSETS);
   TlExtent e = {.end = k->func->shared_bytes};
   s->num_addresses = regs_of(tl_arg(s->op, 0));
   s->offsets = offsets.len ? offsets.data : NULL;
   tl_attr_extent(s->op, &e);
   s->begin = (uint32_t)e.begin;
   s->end = (uint32_t)e.end;
   if (s->end > k->func->shared_bytes)
      s->end = k->func->shared_bytes;
   if (s->begin > s->end)
      s->begin = s->end;
   assert(s->bytes > 0 && s->begin <= s->end);
   k->has_shared_atomics |=
      tl_has_trait(s->op, TL_TRAIT_READS_SHARED) && tl_has_trait(s->op, TL_TRAIT_WRITES_SHARED);
   k->granule = s->bytes < k->granule ? s->bytes : k->granule;
}

uint32_t
sim_pointee_bytes(const TlOp *op)
{
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlType *e = tl_type_elem(tl_arg(op, i)->type);
      if (e->kind == TL_TYPE_PTR && e->elem->kind == TL_TYPE_SCALAR)
         return tl_dtype_info[e->elem->dtype].bytes;
   }
   return 0;
}

static void
decode(TlSimKernel *k, TlHostSite *h)
{
   const TlOp *op = h->op;
   assert(!h->model);
   SimSite *s = tl_new(k->arena, SimSite);
   h->model = s;
   *s = (SimSite){.op = op, .pred = -1, .other = -1, .num_pred = 1, .width = 32};
   if (op->num_regions)
      return;
   const TlValue *data = data_of(op);
   if (data) {
      const TlType *e = tl_type_elem(data->type);
      s->dtype = e->kind == TL_TYPE_PTR ? TL_U64 : e->dtype;
      s->elem_bytes = tl_dtype_info[s->dtype].bytes;
      s->count = regs_of(data);
   }
   s->pointee_bytes = sim_pointee_bytes(op);
   s->vec = (uint32_t)attr_or(op, TL_ATTR_VEC, 1);
   s->num = (uint32_t)attr_or(op, TL_ATTR_NUM, 1);
   s->trans = attr_or(op, TL_ATTR_TRANS, 0) != 0;
   s->is_volatile = attr_or(op, TL_ATTR_VOLATILE, 0) != 0;
   s->width = (uint32_t)attr_or(op, TL_ATTR_WIDTH, 32);
   assert(s->vec > 0 && s->count % s->vec == 0);
   s->bytes = (uint32_t)attr_or(op, TL_ATTR_BYTES, s->vec * s->elem_bytes);
   s->accesses = s->count / s->vec;
   if (tl_pred(op)) {
      s->pred = (int)tl_pred_at(op);
      s->num_pred = regs_of(tl_pred(op));
      s->is_partial = tl_is_partial(op);
   }
   static const TlAttrKey word[] = {TL_ATTR_AXIS, TL_ATTR_SREG, TL_ATTR_RMW, TL_ATTR_SHFL,
                                    TL_ATTR_MMA};
   for (unsigned i = 0; i < sizeof word / sizeof word[0]; i++)
      s->word = attr_or(op, word[i], s->word);
   switch (op->opcode) {
   case TL_OP_LD_GLOBAL:
      s->other = op->num_args > 2 ? 2 : -1;
      s->num_other = op->num_args > 2 ? regs_of(tl_arg(op, 2)) : 0;
      break;
   case TL_OP_TMA_LOAD:
   case TL_OP_TMA_STORE:
      s->bytes = 16;
      break;
   case TL_OP_LDMATRIX:
   case TL_OP_STMATRIX:
      s->bytes = 16;
      s->accesses = s->count * s->elem_bytes / (4 * s->num);
      break;
   case TL_OP_CP_ASYNC_WAIT:
      s->word = s->num;
      break;
   case TL_OP_INLINE_ASM:
      s->ptx = tl_ptx_new(k->arena, op, &s->ptx_error);
      break;
   case TL_OP_CHECK_HINT:
      s->hint = k->num_hints++;
      break;
   case TL_OP_SHFL:
      s->num_addresses = regs_of(tl_arg(op, 1));
      break;
   case TL_OP_WGMMA:
      k->mma_room = k->mma_room > sim_wgmma_room() ? k->mma_room : sim_wgmma_room();
      break;
   case TL_OP_MMA: {
      s->reps = tl_attr_reps(op);
      size_t room = sim_mma_room(s);
      k->mma_room = room > k->mma_room ? room : k->mma_room;
      break;
   }
   default:
      break;
   }
   if (tl_has_trait(op, TL_TRAIT_READS_SHARED | TL_TRAIT_WRITES_SHARED))
      decode_shared(k, s);
}

/* ---- compiling ---- */
static TlSimFault
whole_kernel(const TlFunc *f, TlFaultKind kind, const char *text)
{
   return (TlSimFault){.base = {.kind = kind, .range = f->range, .op = "kernel", .text = text}};
}

static bool
compile(TlSimKernel *k, TlSimFault *fault)
{
   const TlFunc *f = k->func;
   k->arena = tl_arena_new(&k->mem);
   k->sources = tl_sources_new(k->arena);
   tl_diags_init(&k->diags, k->arena, k->sources);
   TlHostModels *m = tl_new(k->arena, TlHostModels);
   *m = models;
   k->code = tl_host_compile(k->arena, f, k->sources, &k->diags, m);
   if (!k->code) {
      *fault = whole_kernel(f, TL_FAULT_UNSUPPORTED, "LLVM could not make code for this machine");
      return false;
   }
   k->granule = 16;
   for (unsigned i = 0; i < k->code->num_sites; i++)
      decode(k, k->code->sites[i]);
   sim_global_prepare(k);
   k->stack_bytes = (k->code->stack_bytes + MODEL_STACK + PAGE - 1) / PAGE * PAGE;
   return true;
}

TlSimKernel *
tl_sim_compile(const TlFunc *f, const TlSimOptions *opts, TlSimFault *fault)
{
   assert(f->state == TL_STATE_LOWERED);
   if (!tl_fiber_is_supported()) {
      *fault = whole_kernel(f, TL_FAULT_UNSUPPORTED, "the simulator runs on x86-64 machines");
      return NULL;
   }
   TlMem mem;
   tl_mem_init(&mem);
   TlSimKernel *k = mem.alloc(mem.user, sizeof *k);
   if (!k) {
      *fault = whole_kernel(f, TL_FAULT_MEMORY, NULL);
      return NULL;
   }
   *k = (TlSimKernel){.mem = mem, .func = f};
   k->mem.oom = &k->oom;
   k->mem.cancel = opts ? opts->cancel : NULL;
   k->mem.deadline_ms = opts && opts->max_ms ? tl_now_ms() + (double)opts->max_ms : 0;
   bool ok = false;
   if (!setjmp(k->oom))
      ok = compile(k, fault);
   else
      *fault = whole_kernel(f, k->mem.is_late ? TL_FAULT_TIME : TL_FAULT_MEMORY, NULL);
   if (k->mem.is_late)
      fault->base.limit = (int64_t)opts->max_ms;
   k->mem.cancel = NULL;
   k->mem.deadline_ms = 0;
   if (ok)
      return k;
   tl_sim_free(k);
   return NULL;
}

void
tl_sim_free(TlSimKernel *k)
{
   if (!k)
      return;
   tl_host_free(k->code);
   tl_arena_free(k->arena);
   TlMem mem = k->mem;
   mem.release(mem.user, k);
}

/* ---- workers ---- */
static void
record_failure(SimLaunch *l, uint64_t block, const TlSimFault *fault, TlExecStatus status)
{
   assert(status != TL_EXEC_OK);
   pthread_mutex_lock(&l->lock);
   if (block < atomic_load(&l->failed)) {
      atomic_store(&l->failed, block);
      l->fault = *fault;
      l->status = status;
   }
   pthread_mutex_unlock(&l->lock);
}

static void
add_stats(TlSimStats *to, const TlSimStats *from)
{
#define STAT(name, doc) to->name += from->name;
#include "exec/sim/stats.def"
}

static void
work(SimLaunch *l, SimBlock *b)
{
   const TlFunc *f = l->kernel->func;
   if (setjmp(b->oom)) {
      TlSimFault fault = whole_kernel(f, TL_FAULT_MEMORY, NULL);
      record_failure(l, b->number, &fault, TL_EXEC_LIMIT);
      return;
   }
   b->arena = tl_arena_new(&b->mem);
   sim_block_init(b, l);
   for (;;) {
      uint64_t n = atomic_fetch_add(&l->next, 1);
      if (n >= l->num_blocks || n > atomic_load(&l->failed))
         break;
      if (l->opts->cancel && *l->opts->cancel)
         break;
      if (l->deadline_ns && tl_now_ns() > l->deadline_ns) { /* of many short blocks */
         TlSimFault late = whole_kernel(f, TL_FAULT_TIME, NULL);
         late.base.limit = (int64_t)l->opts->max_ms;
         record_failure(l, n, &late, TL_EXEC_LIMIT);
         break;
      }
      sim_block_run(b, n);
      if (b->has_fault)
         record_failure(l, n, &b->fault, b->status);
   }
   pthread_mutex_lock(&l->lock);
   add_stats(&l->stats, &b->stats);
   pthread_mutex_unlock(&l->lock);
}

static void *
worker(void *arg)
{
   SimLaunch *l = arg;
#ifdef __x86_64__
   _mm_setcsr(MXCSR_DEFAULT); /* denormals kept, to nearest, whatever the caller has set */
#endif
   TlMem mem;
   tl_mem_init(&mem);
   SimBlock *b = mem.alloc(mem.user, sizeof *b);
   if (!b) {
      TlSimFault fault = whole_kernel(l->kernel->func, TL_FAULT_MEMORY, NULL);
      record_failure(l, 0, &fault, TL_EXEC_LIMIT);
      return NULL;
   }
   memset(b, 0, sizeof *b);
   b->mem = mem;
   b->mem.oom = &b->oom;
   b->launch = l;
   work(l, b);
   sim_block_free(b);
   mem.release(mem.user, b);
   return NULL;
}

static unsigned
num_workers(const SimLaunch *l)
{
   enum { MOST = 256 };
   uint64_t n = l->opts->threads;
   if (!n) {
      cpu_set_t set;
      n = sched_getaffinity(0, sizeof set, &set) ? 1 : (unsigned)CPU_COUNT(&set);
   }
   n = n < l->num_blocks ? n : l->num_blocks;
   return (unsigned)(n < 1 ? 1 : n > MOST ? MOST : n);
}

/* Always in threads of our own: the caller's stack may be small and its FPU mode its own. */
static void
run_workers(SimLaunch *l)
{
   pthread_t thread[256];
   unsigned n = num_workers(l), made = 0;
   while (made < n && pthread_create(&thread[made], NULL, worker, l) == 0)
      made++;
   if (!made)
      worker(l);
   for (unsigned i = 0; i < made; i++)
      pthread_join(thread[i], NULL);
}

/* ---- launching ---- */
static bool
check_args(const TlFunc *f, const TlExecArg *args, unsigned num_args, const uint32_t grid[3],
           uint64_t *bits, TlSimFault *fault)
{
   const TlBlock *body = f->body->block;
   if (grid[0] && grid[1] && (uint64_t)grid[0] * grid[1] > UINT64_MAX / (grid[2] ? grid[2] : 1)) {
      *fault = whole_kernel(f, TL_FAULT_GRID, NULL);
      fault->base.op = f->name;
      return false;
   }
   if (num_args != body->num_args) {
      *fault = whole_kernel(f, TL_FAULT_ARGUMENT, "there must be one argument for each parameter");
      fault->base.op = f->name;
      fault->base.value = num_args;
      fault->base.limit = body->num_args;
      return false;
   }
   unsigned p = 0;
   for (unsigned i = 0; i < num_args; i++, p++) {
      const TlExecArg *a = &args[i];
      while (p < f->num_params && !f->params[p].is_runtime)
         p++;
      bits[i] = a->bits;
      if (!a->is_buffer)
         continue;
      bits[i] = tl_exec_address(args, i);
      uint32_t d = p < f->num_params ? f->params[p].divisibility : 1;
      *fault = whole_kernel(f, TL_FAULT_ARGUMENT, NULL);
      if (body->args[i]->type->kind != TL_TYPE_PTR)
         fault->base.text = "a buffer was given for a parameter that is not a pointer";
      else if (a->bytes >= 1ull << 43)
         fault->base.text = "the buffer is too large to be simulated";
      else if (d > 1 && d <= 4096 && bits[i] % d) {
         fault->base.text = "the address is not a multiple of what the kernel was compiled for";
         fault->base.value = (int64_t)(bits[i] % d);
         fault->base.limit = d;
      } else {
         continue;
      }
      fault->base.buffer = a->name ? a->name : p < f->num_params ? f->params[p].name : NULL;
      return false;
   }
   return true;
}

/* The arguments with a name each. */
static TlExecArg *
named_args(TlArena *arena, const TlFunc *f, const TlExecArg *args, unsigned n)
{
   TlExecArg *out = tl_new_array(arena, TlExecArg, n + 1);
   unsigned p = 0;
   for (unsigned i = 0; i < n; i++, p++) {
      while (p < f->num_params && !f->params[p].is_runtime)
         p++;
      out[i] = args[i];
      if (!out[i].name && p < f->num_params)
         out[i].name = f->params[p].name;
   }
   return out;
}

/* Those of one place are one: a loop that was unrolled has its hints more than once. */
static void
tell_warnings(const SimLaunch *l)
{
   for (uint32_t i = 0; l->warnings && i < l->kernel->num_hints; i++) {
      const TlExecFault *f = &l->warnings[i].fault;
      bool is_told = !l->warnings[i].block;
      for (uint32_t k = 0; k < i && !is_told; k++)
         is_told = l->warnings[k].block &&
                   !memcmp(&l->warnings[k].fault.range, &f->range, sizeof f->range);
      if (!is_told)
         l->opts->warn(l->opts->user, f);
   }
   for (unsigned i = 0; l->written && i < l->num_args; i++)
      if (l->unwritten[i].block)
         l->opts->warn(l->opts->user, &l->unwritten[i].fault);
}

/* Which bytes of arrays that were made without values have been written. */
static void
watch_empty(TlArena *arena, SimLaunch *l)
{
   const uint64_t most_watched = (uint64_t)256 << 20;
   for (unsigned i = 0; i < l->num_args; i++) {
      const TlExecArg *a = &l->args[i];
      if (!a->is_buffer || !a->is_empty || !a->bytes || a->bytes > most_watched)
         continue;
      if (!l->written) {
         l->written = tl_new_array(arena, uint8_t *, l->num_args);
         l->unwritten = tl_new_array(arena, SimWarning, l->num_args);
      }
      l->written[i] = tl_new_array(arena, uint8_t, a->bytes);
   }
}

/* Blocks, or clusters of them, each with a program of its own, unless the kernel is persistent. */
static uint64_t
num_blocks(const TlFunc *f, const uint32_t grid[3], const TlSimOptions *opts)
{
   uint64_t programs = (uint64_t)grid[0] * grid[1] * grid[2], of = f->cluster;
   uint64_t most = opts->multiprocessors;
   if (of) { /* as the launch record says, compile/metadata.c; one cluster at least */
      uint64_t blocks = 2 * programs <= most ? 2 * programs : programs;
      uint64_t all = (blocks + of - 1) / of;
      return !most || all <= most / of ? all : most / of ? most / of : 1;
   }
   if (!opts->multiprocessors || !tl_is_persistent(f))
      return programs;
   if (2 * programs <= opts->multiprocessors && tl_shares_programs(f))
      return 2 * programs;
   return programs < opts->multiprocessors ? programs : opts->multiprocessors;
}

static void
launch(SimLaunch *l)
{
   pthread_mutex_init(&l->lock, NULL);
   for (unsigned i = 0; i < SIM_ATOMIC_LOCKS; i++)
      pthread_mutex_init(&l->atomic_lock[i], NULL);
   if (l->opts->max_ms)
      l->deadline_ns = tl_now_ns() + l->opts->max_ms * 1000000u;
   if (l->num_blocks)
      run_workers(l);
   for (unsigned i = 0; i < SIM_ATOMIC_LOCKS; i++)
      pthread_mutex_destroy(&l->atomic_lock[i]);
   pthread_mutex_destroy(&l->lock);
}

TlExecStatus
tl_sim_launch(const TlSimKernel *kernel, const TlExecArg *args, unsigned num_args,
              const uint32_t grid[3], const TlSimOptions *opts, TlSimFault *fault,
              TlSimStats *stats)
{
   static const TlSimOptions defaults;
   TlMem mem;
   jmp_buf oom;
   tl_mem_init(&mem);
   mem.oom = &oom;
   TlArena *volatile arena = NULL;
   if (setjmp(oom)) {
      tl_arena_free(arena);
      *fault = whole_kernel(kernel->func, TL_FAULT_MEMORY, NULL);
      return TL_EXEC_LIMIT;
   }
   arena = tl_arena_new(&mem);
   uint64_t *bits = tl_new_array(arena, uint64_t, num_args + 1);
   if (!check_args(kernel->func, args, num_args, grid, bits, fault)) {
      tl_arena_free(arena);
      return TL_EXEC_BAD_ARGUMENT;
   }
   *fault = (TlSimFault){0};
   SimLaunch *l = tl_new(arena, SimLaunch);
   *l = (SimLaunch){.kernel = kernel,
                    .args = named_args(arena, kernel->func, args, num_args),
                    .num_args = num_args,
                    .bits = bits,
                    .grid = {grid[0], grid[1], grid[2]},
                    .num_blocks = num_blocks(kernel->func, grid, opts ? opts : &defaults),
                    .opts = opts ? opts : &defaults,
                    .count = stats != NULL,
                    .failed = UINT64_MAX};
   l->watch = sim_global_watch(arena, kernel, l->args, num_args);
   sim_meetings_init(arena, l);
   if (l->opts->warn) {
      l->warnings = tl_new_array(arena, SimWarning, kernel->num_hints + 1);
      watch_empty(arena, l);
   }
   launch(l);
   tell_warnings(l);
   TlExecStatus status = l->status;
   if (status != TL_EXEC_OK) {
      *fault = l->fault;
      tl_exec_own_text(&fault->base);
   }
   if (stats)
      *stats = l->stats;
   tl_arena_free(arena);
   return status;
}

TlExecStatus
tl_sim_run(const TlFunc *f, const TlExecArg *args, unsigned num_args, const uint32_t grid[3],
           const TlSimOptions *opts, TlSimFault *fault, TlSimStats *stats)
{
   double begin_ms = tl_now_ms();
   TlSimKernel *k = tl_sim_compile(f, opts, fault);
   if (!k)
      return fault->base.kind == TL_FAULT_MEMORY || fault->base.kind == TL_FAULT_TIME
                ? TL_EXEC_LIMIT
                : TL_EXEC_UNSUPPORTED;
   TlSimOptions rest = opts ? *opts : (TlSimOptions){0};
   uint64_t spent_ms = (uint64_t)(tl_now_ms() - begin_ms);
   if (rest.max_ms) /* of the same deadline */
      rest.max_ms = spent_ms < rest.max_ms ? rest.max_ms - spent_ms : 1;
   TlExecStatus status = tl_sim_launch(k, args, num_args, grid, &rest, fault, stats);
   if (fault->base.kind == TL_FAULT_TIME && opts)
      fault->base.limit = (int64_t)opts->max_ms;
   tl_sim_free(k);
   return status;
}
