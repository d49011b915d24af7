/* Launching: choose the variant, convert the arguments, work out the grid, call the driver (or the
 * host executor).  No lock, no allocation on the way; everything sits in one frame of about 8 KB.
 * Invariant: nothing reaches the driver that the record and the documented limits do not allow. */
#define _GNU_SOURCE /* process_vm_readv */
#include "core/core.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EXTRA_SLOTS = 4 }; /* grid_x, grid_y, grid_z, num_sms; see variant.c */

/* One launch in the making. */
typedef struct Bound {
   const TlVariant *v;
   TlSlot slots[TL_RT_MAX_ARGS];                /* of the launch arguments, in order */
   int64_t names[TL_RT_MAX_ARGS + EXTRA_SLOTS]; /* values for rules */
   const TilecArg *args;                        /* as the parameters are: `flat`, or the caller's */
   TilecArg flat[TL_RT_MAX_ARGS];
   char text[TL_RT_TEXT]; /* why it does not fit */
   TilecStatus status;    /* of the misfit */
   TlForm form;           /* of the variant */
   TlForm wanted;         /* by the launch; another: nothing was launched */
   bool has_others;       /* of the same source, forms to go on to */
   bool may_be_few;       /* to FEW, or back from it once */
} Bound;

static bool
misfit(Bound *b, TilecStatus status)
{
   b->status = status;
   return false;
}

/* What nearly every argument is: a value of the parameter's own type that keeps its claim.  The
 * rest, and all that is refused, goes through tl_arg_convert and tl_arg_fits. */
static inline bool
take_plain(const TlLaunchParam *p, const TilecArg *a, TlSlot *slot)
{
   if (!p->is_plain || (a->dtype != p->dtype && a->dtype))
      return false;
   if (p->is_pointer && a->kind == TILEC_ARG_POINTER)
      slot->u = (uintptr_t)a->as.ptr;
   else if (!p->is_pointer && a->kind == TILEC_ARG_SCALAR && a->dtype == TILEC_I32 &&
            a->as.i == (int32_t)a->as.i)
      slot->i = a->as.i;
   else
      return false;
   return !(slot->u & p->low_bits);
}

static bool
has_tensor(const TilecArg *args, size_t num_args)
{
   for (size_t i = 0; i < num_args; i++)
      if (args[i].kind == TILEC_ARG_TENSOR)
         return true;
   return false;
}

static bool
bind(Bound *b, const TlVariant *v, const TilecArg *args, size_t num_args)
{
   b->v = v;
   b->args = args;
   if (has_tensor(args, num_args)) {
      num_args = tl_args_flatten(v, args, num_args, b->flat, b->text);
      args = b->args = b->flat;
      if (!num_args)
         return misfit(b, TILEC_BAD_ARGUMENT);
   }
   if (num_args != v->num_params) {
      snprintf(b->text, sizeof b->text, "%u argument%s taken, %zu given", v->num_params,
               v->num_params == 1 ? " is" : "s are", num_args);
      return misfit(b, TILEC_BAD_ARGUMENT);
   }
   assert(num_args <= TL_RT_MAX_ARGS && v->info->num_args <= TL_RT_MAX_ARGS);
   for (uint32_t i = 0; i < v->num_params; i++)
      if (!take_plain(&v->params[i], &args[i], &b->slots[i]) &&
          (!tl_arg_convert(&v->params[i], &args[i], &b->slots[i], b->text) ||
           !tl_arg_fits(&v->params[i], b->slots[i], args[i].kind == TILEC_ARG_NONE, b->text))) {
         tl_args_note_order(v, args, i, b->text);
         return misfit(b, TILEC_BAD_ARGUMENT);
      }
   for (uint32_t i = 0; v->has_rules && i < v->info->num_args; i++)
      b->names[i] = v->slot_of[i] < 0 ? v->constants[i] : b->slots[v->slot_of[i]].i;
   if (v->when) {
      int64_t holds;
      const char *why;
      if (!tl_rule_eval(v->when, b->names, &holds, &why) || !holds) {
         snprintf(b->text, sizeof b->text, "the condition '%s' does not hold", v->info->when);
         return misfit(b, TILEC_BAD_ARGUMENT);
      }
   }
   return true;
}

TilecStatus
tl_rt_check_count(const TilecKernel *k, const TilecArg *args, size_t num_args)
{
   TilecRuntime *rt = k->module->rt;
   if (num_args && !args)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "kernel '%s': args is NULL", k->name);
   if (num_args > TL_RT_MAX_ARGS)
      return tl_rt_fail(rt, TILEC_LIMIT, "kernel '%s': %zu arguments; at most %d are taken",
                        k->name, num_args, TL_RT_MAX_ARGS);
   return TILEC_OK;
}

const TlVariant *
tl_rt_fitting(const TilecKernel *k, const TilecArg *args, size_t num_args, char *why)
{
   Bound b;
   size_t len = 0;
   why[0] = 0;
   for (uint32_t i = 0; i < k->num_variants; i++) {
      if (bind(&b, &k->variants[i], args, num_args))
         return &k->variants[i];
      assert(b.status != TILEC_OK);
      if (len < TL_RT_ERROR_BYTES)
         len += (size_t)snprintf(why + len, TL_RT_ERROR_BYTES - len, "%svariant %u: %s",
                                 i ? "; " : "", i, b.text);
   }
   return NULL;
}

typedef TilecStatus FindFn(void *source, const TilecArg *args, size_t num_args, TlForm form,
                           const TlVariant **out);

/* One in memory that is as right for the launch, if not as fast. */
static TilecStatus
find_as_right(FindFn *find, void *source, const TilecArg *args, size_t num_args, TlForm form,
              const TlVariant **v)
{
   const TlForm forms[] = {form, TL_FORM_FIRST, TL_FORM_FEW};
   TilecStatus status = TILEC_OK;
   for (int i = 0; status == TILEC_OK && !*v && i < (form == TL_FORM_NO_MAPS ? 1 : 3); i++)
      status = find(source, args, num_args, forms[i], v);
   return status;
}

/* A variant that is not in memory is loaded or compiled, unless the stream captures a graph: the
 * driver allows neither then, and an attempt would end the capture. */
static TilecStatus
find_or_make(TilecKernel *k, const TilecLaunch *launch, const TilecArg *args, size_t num_args,
             TlForm form, const TlVariant **v)
{
   TilecRuntime *rt = k->module->rt;
   void *source = k->module->source;
   TilecStatus status = rt->jit->find(source, args, num_args, form, v);
   if (status != TILEC_OK || *v)
      return status;
   int capturing = 0;
   if (launch && rt->executor == TILEC_ON_CUDA) {
      TlCuResult code = rt->cu.stream_capturing(launch->stream, &capturing);
      if (code != TL_CU_SUCCESS)
         return tl_rt_check(rt, code, "asking whether the stream captures a graph");
   }
   if (!capturing)
      return rt->jit->make(source, args, num_args, form, launch != NULL, v);
   status = find_as_right(rt->jit->find, source, args, num_args, form, v);
   if (status == TILEC_OK && !*v)
      status = find_as_right(rt->jit->find_coarse, source, args, num_args, form, v);
   if (status != TILEC_OK || *v)
      return status;
   return rt->jit->missing(source, args, num_args, form,
                           "the stream captures a graph; call tilec_kernel_prepare with such "
                           "arguments before the capture begins");
}

TilecStatus
tl_rt_chosen(TilecKernel **k, const TilecLaunch *launch, const TilecArg *args, size_t num_args)
{
   const TilecModule *m = (*k)->module;
   if (!m->has_choice)
      return TILEC_OK;
   TilecStatus status = tl_rt_check_count(*k, args, num_args);
   return status == TILEC_OK ? m->rt->jit->pick(m->source, launch, args, num_args, k) : status;
}

/* The first variant that fits.  With several, the reason given is the last one's.  launch NULL:
 * only made ready. */
static TilecStatus
choose(TilecKernel *k, const TilecLaunch *launch, const TilecArg *args, size_t num_args, Bound *b)
{
   TilecRuntime *rt = k->module->rt;
   TilecStatus status = tl_rt_check_count(k, args, num_args);
   if (status != TILEC_OK)
      return status;
   if (k->module->source) {
      const TlVariant *v = NULL;
      status = find_or_make(k, launch, args, num_args, b->form, &v);
      if (status != TILEC_OK)
         return status;
      assert(v); /* found or made */
      if (bind(b, v, args, num_args))
         return TILEC_OK;
   } else {
      for (uint32_t i = 0; i < k->num_variants; i++)
         if (bind(b, &k->variants[i], args, num_args))
            return TILEC_OK;
   }
   return tl_rt_fail(rt, b->status, "kernel '%s': %s%s", k->name,
                     k->num_variants > 1 ? "no variant fits; of the last, " : "", b->text);
}

TilecStatus
tl_rt_eval(TilecRuntime *rt, const TlVariant *v, const TlRule *rule, const char *text,
           const int64_t *names, int64_t *out)
{
   const char *why;
   if (tl_rule_eval(rule, names, out, &why))
      return TILEC_OK;
   return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "kernel '%s': '%s': %s", v->info->name, text, why);
}

static TilecStatus
eval_grid(const Bound *b, TilecRuntime *rt, TlRule *const rules[3], const char *const text[3],
          int64_t grid[3])
{
   for (int i = 0; i < 3; i++) {
      grid[i] = 1;
      TilecStatus status =
         rules[i] ? tl_rt_eval(rt, b->v, rules[i], text[i], b->names, &grid[i]) : TILEC_OK;
      if (status != TILEC_OK)
         return status;
      if (grid[i] < 0)
         return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                           "kernel '%s': grid '%s' comes to %" PRId64
                           ": a grid is of 0 programs or more",
                           b->v->info->name, text[i], grid[i]);
   }
   return TILEC_OK;
}

/* Of the grid, in i32, in which its blocks count programs. */
static bool
takes_integers(const TilecKernelInfo *info)
{
   for (uint32_t i = 0; i < info->num_hidden; i++)
      if (info->hidden[i].kind == TILEC_HIDDEN_EXPR)
         return true;
   return false;
}

/* A rule that cannot be worked out does not hold. */
static bool
is_short(const Bound *b)
{
   int64_t holds;
   const char *why;
   return b->v->short_when && tl_rule_eval(b->v->short_when, b->names, &holds, &why) && holds;
}

static bool
are_few(const int64_t g[3], int64_t most)
{
   return g[0] <= most && g[1] <= most && g[2] <= most && g[0] * g[1] * g[2] <= most;
}

/* The grid to launch, checked; *empty when there is nothing to do. */
static TilecStatus
work_out_grid(Bound *b, TilecRuntime *rt, const uint32_t asked[3], uint32_t grid[3], bool *empty)
{
   static const int64_t limits[3] = {INT32_MAX, 65535,
                                     65535}; /* CUDA C guide, compute capabilities */
   const TilecKernelInfo *info = b->v->info;
   int64_t g[3] = {asked[0], asked[1], asked[2]};
   TilecStatus status = TILEC_OK;
   if (asked[0] == TILEC_OWN_GRID) {
      if (!b->v->grid[0])
         return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                           "kernel '%s' has no grid of its own: give how many programs it has "
                           "(tilec: --grid=X,Y,Z), or grid=(..) in the kernel's decorator",
                           info->name);
      status = eval_grid(b, rt, b->v->grid, info->grid, g);
   } else if (!asked[1] &&
              !asked[2]) { /* what an initialiser leaves, {4}, not what sizes come to */
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                        "kernel '%s': TilecLaunch.grid is {%" PRIu32 ", 0, 0}: it has three "
                        "numbers, {%" PRIu32 ", 1, 1}, or begins with TILEC_OWN_GRID",
                        info->name, asked[0], asked[0] ? asked[0] : 1);
   }
   *empty = status == TILEC_OK && (!g[0] || !g[1] || !g[2]);
   for (int round = 0; status == TILEC_OK && !*empty && round < 2; round++) {
      for (int i = 0; i < 3; i++)
         if (g[i] > limits[i])
            return tl_rt_fail(rt, TILEC_LIMIT,
                              "kernel '%s': grid %c is %" PRId64 ", at most %" PRId64 " is allowed",
                              info->name, 'x' + i, g[i], limits[i]);
      if (round == 1 || !b->v->fn)
         break;
      int64_t *extra = &b->names[info->num_args];
      extra[0] = g[0], extra[1] = g[1], extra[2] = g[2], extra[3] = rt->info.num_sms;
      bool few = are_few(g, (int64_t)info->few_per_sm * rt->info.num_sms);
      if (b->may_be_few && info->few_per_sm && b->form <= TL_FORM_FEW &&
          few != (b->form == TL_FORM_FEW)) {
         b->wanted = few ? TL_FORM_FEW : TL_FORM_FIRST;
         b->may_be_few = few;
         return TILEC_OK;
      }
      if (b->has_others && b->form < TL_FORM_SHORT && is_short(b)) {
         b->wanted = TL_FORM_SHORT;
         return TILEC_OK;
      }
      if (!b->v->launch_grid[0])
         break;
      /* A loop over programs counts on by a block for each multiprocessor, and so does what blocks
       * share. */
      if (takes_integers(info) && g[0] * g[1] > (INT32_MAX - 2 * rt->info.num_sms) / g[2]) {
         b->wanted = TL_FORM_NO_MAPS;
         return b->has_others ? TILEC_OK
                              : tl_rt_fail(rt, TILEC_LIMIT,
                                           "kernel '%s': grid %" PRId64 ", %" PRId64 ", %" PRId64
                                           ": blocks that run many programs count to 2^31",
                                           info->name, g[0], g[1], g[2]);
      }
      status = eval_grid(b, rt, b->v->launch_grid, info->launch_grid, g);
   }
   for (int i = 0; i < 3; i++)
      grid[i] = (uint32_t)g[i];
   return status;
}

/* A variant that may be made without tensor maps is refused where there is no such map: another
 * form is wanted.  All maps are the compiler's: descriptors of the caller's are pointers, sizes and
 * strides to a kernel, so that one which no map describes is right without.  Which launches are
 * refused is not kept as a whole: the slots of the maps know it of each. */
static TilecStatus
pass_hidden(Bound *b, TilecRuntime *rt, TlCuTensorMap *maps, TlSlot *slots, void **params)
{
   assert(b->v->info->num_hidden <= TL_RT_MAX_HIDDEN && b->v->has_rules);
   bool is_refused = false, *refused = b->has_others ? &is_refused : NULL;
   for (uint32_t i = 0; i < b->v->info->num_hidden && !is_refused; i++) {
      const TilecHiddenArg *h = &b->v->info->hidden[i];
      TilecStatus status;
      if (h->kind == TILEC_HIDDEN_TENSOR_MAP) {
         status = tl_rt_tensor_map(rt, b->v, i, b->names, refused, &maps[i]);
         params[i] = &maps[i];
      } else {
         status = tl_rt_eval(rt, b->v, b->v->hidden[i].dims[0], h->dims[0], b->names, &slots[i].i);
         params[i] = &slots[i];
      }
      if (status != TILEC_OK)
         return status;
   }
   if (is_refused)
      b->wanted = TL_FORM_NO_MAPS;
   return TILEC_OK;
}

static TlCuResult
call_driver(TilecRuntime *rt, const TlVariant *v, const uint32_t grid[3], TlCuStream stream,
            void **params)
{
   const TilecKernelInfo *k = v->info;
   TlCuLaunchAttr attrs[3];
   uint32_t n = 0;
   if (k->cluster[0] * k->cluster[1] * k->cluster[2] > 1) {
      attrs[n] = (TlCuLaunchAttr){.id = TL_CU_ATTR_CLUSTER};
      memcpy(attrs[n++].value.cluster, k->cluster, sizeof k->cluster);
   }
   if (k->cooperative)
      attrs[n++] = (TlCuLaunchAttr){.id = TL_CU_ATTR_COOPERATIVE, .value.flag = 1};
   if (k->programmatic)
      attrs[n++] = (TlCuLaunchAttr){.id = TL_CU_ATTR_PROGRAMMATIC, .value.flag = 1};
   if (!n)
      return rt->cu.launch(v->fn, grid[0], grid[1], grid[2], k->threads, 1, 1, k->shared_bytes,
                           stream, params, NULL);
   assert(rt->cu.launch_ex &&
          n <= sizeof attrs / sizeof attrs[0]); /* a driver without it has refused the image */
   TlCuLaunchConfig config = {
      {grid[0], grid[1], grid[2]}, {k->threads, 1, 1}, k->shared_bytes, stream, attrs, n};
   return rt->cu.launch_ex(&config, v->fn, params, NULL);
}

static TilecStatus
explain_launch(TilecRuntime *rt, const TlVariant *v, const uint32_t grid[3], TlCuResult code)
{
   const TilecKernelInfo *k = v->info;
   char doing[512];
   snprintf(doing, sizeof doing,
            "launching '%s' (grid %u, %u, %u, %u threads, %u bytes of shared memory, %u arguments)",
            k->name, grid[0], grid[1], grid[2], k->threads, k->shared_bytes, v->num_params);
   TilecStatus status = tl_rt_check(rt, code, doing);
   return status == TILEC_BAD_ARGUMENT ? TILEC_LAUNCH_FAILED : status;
}

/* Waits, unless the stream records a graph, in which waiting is not allowed. */
static TilecStatus
wait_for(TilecRuntime *rt, const TlVariant *v, TlCuStream stream, uint64_t serial)
{
   int capturing = 0;
   char doing[256];
   snprintf(doing, sizeof doing, "running '%s'", v->info->name);
   TilecStatus status = tl_rt_check(rt, rt->cu.stream_capturing(stream, &capturing), doing);
   if (status == TILEC_OK && !capturing)
      status = tl_rt_wait_stream(rt, stream, tl_rt_end_of_waits(rt), doing);
   if (status == TILEC_OK)
      tl_rt_acquit_launch(rt, serial); /* a graph is not this runtime's to answer for */
   return status;
}

static TilecStatus
launch_cuda(TilecRuntime *rt, Bound *b, const uint32_t grid[3], TlCuStream stream)
{
   const TlVariant *v = b->v;
   TlCuTensorMap maps[TL_RT_MAX_HIDDEN];
   TlSlot hidden[TL_RT_MAX_HIDDEN];
   void *params[TL_RT_MAX_ARGS + TL_RT_MAX_HIDDEN];
   uint32_t n = 0;
   if (rt->check) {
      TilecStatus status = tl_rt_check_launch(rt, v, b->args, b->slots, b->names);
      if (status != TILEC_OK)
         return status;
   }
   for (uint32_t i = 0; i < v->num_params; i++)
      if (v->params[i].is_passed)
         params[n++] = &b->slots[i];
   if (v->info->num_hidden) {
      TilecStatus status = pass_hidden(b, rt, maps, hidden, &params[n]);
      if (status != TILEC_OK || b->wanted != b->form)
         return status;
   }
   uint64_t serial = tl_rt_note_launch(rt, v, grid, &b->slots[0].u);
   TlCuResult code = call_driver(rt, v, grid, stream, params);
   if (code != TL_CU_SUCCESS) {
      tl_rt_acquit_launch(rt, serial); /* it never ran: a lost device is an earlier one's */
      return explain_launch(rt, v, grid, code);
   }
   return rt->synchronous ? wait_for(rt, v, stream, serial) : TILEC_OK;
}

/* Whether first and last of `bytes` bytes (not 0) can be read: asked of the system, since a load
 * would end the process.  Where that is not allowed any memory is taken for good. */
static bool
is_host_memory(uint64_t address, uint64_t bytes)
{
   char got[2];
   uint64_t last = address + (bytes - 1);
   assert(bytes > 0);
   if (last < address)
      return false;
   struct iovec to = {got, 2};
   const struct iovec from[2] = {{(void *)(uintptr_t)address, 1}, {(void *)(uintptr_t)last, 1}};
   ssize_t n = process_vm_readv(getpid(), &to, 1, from, 2, 0);
   return n == 2 || (n < 0 && errno != EFAULT);
}

/* How many bytes behind argument i, from the first on, something may have written before the
 * launch.  An argument of the same buffer may be what writes them. */
static uint64_t
written_before(const Bound *b, uint32_t i)
{
   const TilecArg *a = &b->args[i];
   if (a->kind != TILEC_ARG_BUFFER)
      return UINT64_MAX;
   for (uint32_t k = 0; k < b->v->num_params; k++)
      if (k != i && b->args[k].kind == TILEC_ARG_BUFFER && b->args[k].as.buffer == a->as.buffer)
         return UINT64_MAX;
   uint64_t written = atomic_load_explicit(&a->as.buffer->written, memory_order_relaxed);
   return written > a->bytes ? written - a->bytes : 0;
}

static void
note_stores(const Bound *b)
{
   for (uint32_t i = 0; i < b->v->num_params; i++)
      if (b->args[i].kind == TILEC_ARG_BUFFER && !b->v->params[i].info->is_const)
         tl_buffer_note_written(b->args[i].as.buffer, b->args[i].as.buffer->bytes);
}

/* Arguments for the host executors: scalars of the parameter's type, pointers with their bytes. */
static TilecStatus
launch_host(TilecRuntime *rt, const Bound *b, const uint32_t grid[3])
{
   const TlVariant *v = b->v;
   const TilecArg *args = b->args;
   TilecArg host[TL_RT_MAX_ARGS];
   uint64_t written[TL_RT_MAX_ARGS];
   assert(rt->executor != TILEC_ON_CUDA && rt->jit && v->program);
   for (uint32_t i = 0; i < v->num_params; i++) {
      const TlLaunchParam *p = &v->params[i];
      TlSlot s = b->slots[i];
      written[i] = written_before(b, i);
      host[i] = (TilecArg){.kind = args[i].kind, .dtype = p->dtype ? p->dtype : args[i].dtype};
      if (args[i].kind == TILEC_ARG_SCALAR) {
         if (p->dtype == TILEC_FP32)
            host[i].as.f = (double)s.f32;
         else
            host[i].as.u = s.u; /* FP64: the same bits */
      } else if (args[i].kind != TILEC_ARG_NONE) {
         bool buffer = args[i].kind == TILEC_ARG_BUFFER;
         host[i].kind = TILEC_ARG_POINTER;
         host[i].bytes = buffer ? args[i].as.buffer->bytes - args[i].bytes : args[i].bytes;
         host[i].as.ptr = host[i].bytes ? (void *)(uintptr_t)s.u : NULL; /* the end of a buffer */
         if (!buffer && !host[i].bytes && s.u)
            return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                              "kernel '%s': the size behind pointer '%s' is "
                              "not known; use tilec_ptr with its bytes, or a buffer",
                              v->info->name, p->info->name);
         if (host[i].bytes && !(buffer && args[i].as.buffer->owned) &&
             !is_host_memory(s.u, host[i].bytes))
            return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                              "kernel '%s': pointer '%s' is 0x%" PRIx64 ", and %" PRIu64
                              " bytes from there on are no memory of this process: is it the "
                              "address of a GPU, or are the bytes too many?",
                              v->info->name, p->info->name, s.u, host[i].bytes);
      }
   }
   note_stores(b);
   return rt->jit->run(rt->jit_state, v->program, grid, host, written, v->num_params);
}

static TilecStatus
launch_chosen(TilecKernel *k, const TilecLaunch *launch, const TilecArg *args, size_t num_args,
              Bound *b)
{
   TilecRuntime *rt = k->module->rt;
   bool empty = false;
   uint32_t grid[3];
   b->has_others = k->module->source && b->form < TL_FORM_NO_MAPS;
   TilecStatus status = choose(k, launch, args, num_args, b);
   if (status == TILEC_OK)
      status = work_out_grid(b, rt, launch->grid, grid, &empty);
   if (status == TILEC_OK && !empty && b->wanted == b->form)
      status = b->v->fn ? launch_cuda(rt, b, grid, launch->stream) : launch_host(rt, b, grid);
   return status;
}

/* Of a launch whose grid is told the form is guessed before there is a variant, so that mostly only
 * one is made; the variant knows.  What makes the same code of both takes one for the other. */
static TlForm
form_to_begin_with(const TilecKernel *k, const TilecLaunch *launch)
{
   const uint32_t *g = launch->grid;
   int64_t grid[3] = {g[0], g[1], g[2]};
   int64_t most = (int64_t)k->module->likely_few * k->module->rt->info.num_sms;
   return g[0] != TILEC_OWN_GRID && are_few(grid, most) ? TL_FORM_FEW : TL_FORM_FIRST;
}

TilecStatus
tilec_launch(TilecKernel *kernel, const TilecLaunch *launch, const TilecArg *args, size_t num_args)
{
   Bound b;
   const TilecKernel *asked = kernel;
   bool pushed;
   if (!kernel)
      return tl_rt_null(NULL, "tilec_launch: kernel");
   TilecRuntime *rt = kernel->module->rt;
   if (!tl_handle_is_live(&kernel->module->handle))
      return tl_rt_check_kernel(kernel, "tilec_launch");
   if (!launch)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "kernel '%s': launch is NULL", kernel->name);
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK)
      status = tl_rt_chosen(&kernel, launch, args, num_args);
   b.may_be_few = status == TILEC_OK && kernel->module->source && rt->executor == TILEC_ON_CUDA &&
                  (!kernel->module->is_candidate || kernel != asked);
   b.wanted = b.may_be_few ? form_to_begin_with(kernel, launch) : TL_FORM_FIRST;
   while (status == TILEC_OK) {
      b.form = b.wanted;
      status = launch_chosen(kernel, launch, args, num_args, &b);
      if (b.wanted == b.form)
         break;
      assert(b.wanted > b.form || (b.form == TL_FORM_FEW && !b.may_be_few));
   }
   tl_rt_leave(rt, pushed);
   return status;
}

TlForm
tl_core_next_form(const TlVariant *v, TlForm form)
{
   bool has_map = false;
   for (uint32_t i = 0; i < v->info->num_hidden; i++)
      has_map = has_map || v->info->hidden[i].kind == TILEC_HIDDEN_TENSOR_MAP;
   if (v->fn && form == TL_FORM_FIRST && v->info->few_per_sm)
      return TL_FORM_FEW;
   if (v->fn && form < TL_FORM_SHORT && v->short_when)
      return TL_FORM_SHORT;
   return v->fn && has_map && form < TL_FORM_NO_MAPS ? TL_FORM_NO_MAPS : form;
}

/* Sizes are free to be others at the launch: with_others also the forms that it takes then. */
static TilecStatus
prepare(TilecKernel *kernel, const TilecArg *args, size_t num_args, bool with_others)
{
   Bound b;
   bool pushed;
   if (!kernel)
      return tl_rt_null(NULL, "tilec_kernel_prepare: kernel");
   if (!tl_handle_is_live(&kernel->module->handle))
      return tl_rt_check_kernel(kernel, "tilec_kernel_prepare");
   TilecStatus status = tl_rt_enter(kernel->module->rt, &pushed);
   if (status == TILEC_OK)
      status = tl_rt_chosen(&kernel, NULL, args, num_args);
   with_others = with_others && kernel->module->source;
   b.wanted = TL_FORM_FIRST;
   while (status == TILEC_OK) {
      b.form = b.wanted;
      status = choose(kernel, NULL, args, num_args, &b);
      if (status == TILEC_OK && with_others)
         b.wanted = tl_core_next_form(b.v, b.form);
      if (b.wanted == b.form)
         break;
   }
   tl_rt_leave(kernel->module->rt, pushed);
   return status;
}

TilecStatus
tilec_kernel_prepare(TilecKernel *kernel, const TilecArg *args, size_t num_args)
{
   return prepare(kernel, args, num_args, true);
}

TilecStatus
tl_core_prepare_one(TilecKernel *kernel, const TilecArg *args, size_t num_args)
{
   return prepare(kernel, args, num_args, false);
}
