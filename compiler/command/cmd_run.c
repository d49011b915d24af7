/* tilec run: arguments from the command line, a signature from their types and facts, one launch on
 * the GPU, the CPU executor or the GPU simulator, arrays written back. */
#include "base/clock.h"
#include "core/multiple.h"
#include "core/rule.h"
#include "command/arguments.h"
#include "command/cached.h"
#include "command/measure.h"
#include "command/nvtx.h"
#include "command/ptxas.h"
#include "command/run_results.h"
#include "compile/launch_warnings.h"
#include "exec/cpu.h"
#include "exec/sim/sim.h"
#include "tilec/runtime.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_RUNS = 20 }; /* of --time */

typedef struct RunState {
   TlCommand *c;
   TilecCompileOptions o;
   TlCompileExtra extra;
   TlCompilation comp;
   TlCmdArgs a;
   TilecRuntime *rt; /* NULL: CPU executor or simulator */
   bool on_sim;
   TilecModule *module;
   TilecKernel *kernel;
   TlCmdImage image;
   uint32_t grid[3];
   unsigned grid_sizes;  /* that --grid gives as numbers; 0: none */
   bool grid_is_odd;     /* its expression names an argument that is not an integer */
   uint32_t time_runs;   /* 0 = no timing */
   double launch_ms;     /* of the first launch */
   double median_ms;     /* of those timed; 0 = none */
   double bytes, flops;  /* --bytes, --flops; 0 = not given */
   TlExecStats counts;   /* --profile on the CPU executor */
   TlSimStats sim_stats; /* --stats, --profile on the simulator */
   bool has_warned;      /* of what the kernel's text shows */
   TlRunResults results;
} RunState;

/* ---- signature ---- */
/* The entry of one parameter, with the facts that the JIT derives from values: == 1 where no type
 * is written, divisible by 16, 8 or 4. */
static const char *
signature_entry(RunState *r, const TlCmdArg *a)
{
   assert(!a->param->is_constexpr);
   TlArena *arena = r->c->arena;
   if (!a->is_given)
      return "";
   switch (a->value.kind) {
   case TL_CLI_NONE:
      return "None";
   case TL_CLI_ARRAY:
      if (tl_cmd_is_descriptor(a->param->type))
         return a->param->type;
      /* buffers start at multiples of 64 bytes and more */
      return tl_arena_printf(arena, "*%s:16", tl_dtype_info[a->value.array.dtype].text);
   case TL_CLI_FLOAT:
   case TL_CLI_BOOL:
      return tl_cmd_arg_scalar(a);
   case TL_CLI_INT:
      break;
   }
   const char *type = tl_cmd_arg_scalar(a);
   bool is_int = type[0] == 'i' || type[0] == 'u', is_kept = a->param->no_specialize;
   bool align = !is_kept && !a->param->no_align;
   uint8_t multiple = is_int && align ? tl_multiple((uint64_t)a->value.i) : 0;
   if (is_int && a->value.i == 1 && !is_kept && !a->param->type)
      return tl_arena_printf(arena, "%s:1", type);
   return multiple ? tl_arena_printf(arena, "%s:%u", type, multiple) : type;
}

static void
make_signature(RunState *r)
{
   TlSb sb;
   tl_sb_init(&sb, r->c->arena);
   for (unsigned i = 0; i < r->a.num; i++) {
      const TlCmdArg *a = &r->a.list[i];
      tl_sb_str(&sb, i ? ", " : "");
      if (!a->param->is_constexpr)
         tl_sb_str(&sb, signature_entry(r, a));
   }
   tl_cmd_args_defines(&r->a, &r->o);
   if (!r->o.signature)
      r->o.signature = tl_sb_cstr(&sb);
}

/* ---- executor ---- */
static int
open_executor(RunState *r)
{
   const char *on = tl_option(&r->c->cl, TL_OPT_ON);
   r->on_sim = on && strcmp(on, "sim") == 0;
   if (r->on_sim || (on && strcmp(on, "cpu") == 0))
      return EXIT_OK;
   char error[512] = "";
   TilecRuntimeOptions ro = {.struct_size = sizeof ro,
                             .error = error,
                             .error_bytes = sizeof error,
                             .timeout_ms = r->o.timeout_ms};
   TilecStatus status = tilec_runtime_open(&ro, &r->rt);
   if (status == TILEC_OK)
      return EXIT_OK;
   r->rt = NULL;
   if (on && strcmp(on, "cuda") == 0) {
      tl_cmd_error("%s", error[0] ? error : tilec_status_string(status));
      return EXIT_ENVIRONMENT;
   }
   return EXIT_OK;
}

/* A kernel that does not end is ended by the end of the process; the driver's own clean-up, and
 * ours, would wait for it. */
static int
runtime_error(RunState *r, TilecStatus status)
{
   assert(r->rt && status != TILEC_OK);
   char text[2048] = "";
   tilec_runtime_error(r->rt, text, sizeof text);
   tl_cmd_error("%s", text[0] ? text : tilec_status_string(status));
   if (status == TILEC_TIMED_OUT) {
      fflush(stdout);
      _exit(tl_cmd_exit_code(status));
   }
   return tl_cmd_exit_code(status);
}

/* One launch argument for each parameter that is not constexpr. */
static TilecArg
launch_arg(const TlCmdArg *a, const TilecArgInfo *info)
{
   if (!a->is_given && !a->param->default_text) /* folded by the signature */
      return tilec_none();
   if (!a->is_given) /* a default: its text is the value */
      return strchr(info->type, 'f')
                ? tilec_fp64(strtod(a->param->default_text, NULL))
                : tilec_int(TILEC_I64, strtoll(a->param->default_text, NULL, 0));
   switch (a->value.kind) {
   case TL_CLI_INT:
      if (info->type[0] == 'f' || info->type[0] == 'b')
         return tilec_fp64(a->value.is_u64 ? (double)(uint64_t)a->value.i : (double)a->value.i);
      return a->value.is_u64 ? tilec_uint(TILEC_U64, (uint64_t)a->value.i)
                             : tilec_int(TILEC_I64, a->value.i);
   case TL_CLI_FLOAT:
      return tilec_fp64(a->value.f);
   case TL_CLI_BOOL:
      return tilec_int(TILEC_I1, a->value.i);
   case TL_CLI_ARRAY:
      if (a->buffer)
         return tilec_view(TILEC_DTYPE_NONE, a->buffer, 0);
      /* an array of no elements: no byte of it may be accessed */
      return tilec_ptr(TILEC_DTYPE_NONE, a->value.array.bytes ? a->value.array.data : NULL,
                       a->value.array.bytes);
   default:
      return tilec_none();
   }
}

/* Sizes and strides of an array as a tensor descriptor's; their number, 0 after a message. */
static uint32_t
descriptor_parts(RunState *r, const TlCmdArg *a, const char *type, TilecArg *out)
{
   const TilecTensor *t = tl_cmd_arg_tensor(r->c->arena, a, type);
   uint32_t n = 0;
   for (uint32_t d = 0; t && d < t->rank; d++)
      out[n++] = tilec_int(TILEC_I64, t->shape[d]);
   for (uint32_t d = 0; t && d + 1 < t->rank; d++)
      out[n++] = tilec_int(TILEC_I64, t->strides[d]);
   return n;
}

/* NULL after a message. */
static TilecArg *
launch_args(RunState *r, size_t *count)
{
   const TilecKernelInfo *k = &r->comp.info.kernels[0];
   TilecArg *args = tl_new_array(r->c->arena, TilecArg, k->num_args + 1);
   size_t n = 0;
   for (uint32_t i = 0, p = 0; i < k->num_args; i++, p++) {
      const char *type = k->args[i].type;
      assert(p < r->a.num); /* both list the parameters, the record some of them as several */
      if (k->args[i].is_constexpr)
         continue;
      args[n++] = launch_arg(&r->a.list[p], &k->args[i]);
      if (!tl_cmd_is_descriptor(type))
         continue;
      uint32_t parts = descriptor_parts(r, &r->a.list[p], type, &args[n]);
      if (!parts)
         return NULL;
      n += parts;
      i += parts;
   }
   *count = n;
   return args;
}

/* ---- grid ---- */
enum { MAX_GRID_YZ = 65535 }; /* CUDA's; what runs on a host executor is to run there as well */

static int
find_slot(void *user, const char *name, size_t len)
{
   RunState *r = user;
   TlCmdArg *a = tl_cmd_arg_find(&r->a, name, len);
   bool is_number =
      a && (!a->is_given || a->value.kind == TL_CLI_INT || a->value.kind == TL_CLI_BOOL);
   r->grid_is_odd |= a && !is_number;
   return is_number ? (int)(a - r->a.list) : -1;
}

static bool
is_integer(const TlCmdArg *a)
{
   return a->is_given && a->value.kind == TL_CLI_INT;
}

/* What the compiled code has as the parameter's value; NULL: the launch gives it. */
static const char *
constant_of(const TilecKernelInfo *k, const char *param)
{
   for (uint32_t i = 0; i < k->num_args; i++) /* parts of descriptors are listed as well */
      if (strcmp(k->args[i].name, param) == 0)
         return k->args[i].value;
   assert(false && "the record has every parameter");
   return NULL;
}

/* By parameter: what the grid's expression knows of it. */
static int64_t *
slots_of(RunState *r)
{
   const TilecKernelInfo *k = &r->comp.info.kernels[0];
   int64_t *slots = tl_new_array(r->c->arena, int64_t, r->a.num + 1);
   for (unsigned i = 0; i < r->a.num; i++) {
      const char *constant = constant_of(k, r->a.list[i].param->name);
      if (constant)
         tl_rule_int_of(constant, &slots[i]);
      else if (r->a.list[i].is_given)
         slots[i] = r->a.list[i].value.i;
      else if (r->a.list[i].param->default_text)
         tl_rule_int_of(r->a.list[i].param->default_text, &slots[i]);
   }
   return slots;
}

static bool
grid_value(RunState *r, const char *text, uint32_t *out)
{
   char error[256] = "";
   const char *why = error;
   int64_t *slots = slots_of(r), v;
   TlRule *rule = tl_rule_parse(text, find_slot, r, error, sizeof error);
   bool ok = rule && tl_rule_eval(rule, slots, &v, &why);
   tl_rule_free(rule);
   if (ok && v >= 0 && v <= INT32_MAX) {
      *out = (uint32_t)v;
      return true;
   }
   const char *whose = r->o.grid ? "--grid" : "the kernel's grid expression";
   if (ok)
      return tl_cmd_refuse("%s '%s' comes to %lld, which is not a grid size: 0 to %d", whose, text,
                           (long long)v, INT32_MAX);
   return tl_cmd_refuse("%s '%s': %s%s", whose, text,
                        r->grid_is_odd ? "its arguments must be integers; those given are: " : why,
                        r->grid_is_odd ? tl_cmd_arg_names(&r->a, is_integer) : "");
}

/* The kernel's own grid for other arguments. */
static bool
grid_for(void *user, const TlExecArg *args, unsigned num, uint32_t grid[3])
{
   RunState *r = user;
   const TilecKernelInfo *k = &r->comp.info.kernels[0];
   int64_t *slots = slots_of(r);
   for (unsigned i = 0; i < num; i++) {
      const TlCmdArg *a = tl_cmd_arg_find(&r->a, args[i].name, strlen(args[i].name));
      if (a && a->is_given && a->value.kind == TL_CLI_INT)
         slots[a - r->a.list] = (int64_t)args[i].bits;
   }
   for (unsigned i = 0; !r->grid_sizes && i < 3 && k->grid[i]; i++) {
      char error[256];
      const char *why;
      int64_t v = 0;
      TlRule *rule = tl_rule_parse(k->grid[i], find_slot, r, error, sizeof error);
      bool ok = rule && tl_rule_eval(rule, slots, &v, &why) && v > 0 && v <= INT32_MAX;
      tl_rule_free(rule);
      if (!ok)
         return false;
      grid[i] = (uint32_t)v;
   }
   return !r->grid_sizes;
}

/* "softmax.tile:4:5: kernel 'softmax' has no grid= expression ..", and where one would stand. */
static bool
refuse_without_grid(RunState *r, const char *name)
{
   const TlKernelInfo *all = NULL, *k = NULL;
   unsigned n = r->comp.sema ? tl_sema_kernels(r->comp.sema, &all) : 0;
   for (unsigned i = 0; i < n; i++)
      if (strcmp(all[i].name, name) == 0)
         k = &all[i];
   const char *place = "", *own = "";
   if (k) {
      const char *file = tl_source(r->comp.sources, k->name_range.file)->name;
      TlLineCol at = tl_source_line_col(r->comp.sources, k->name_range.file, k->name_range.begin);
      bool is_tile = tl_ends_with(file, ".tile");
      place = tl_arena_printf(r->c->arena, "%s:%u:%u: ", file, at.line, at.column);
      own = is_tile ? "; write @kernel(grid=(rows,)) above it, with names of its parameters, or "
                    : "; ";
   }
   return tl_cmd_refuse("%skernel '%s' has no grid= expression%sgive --grid=X[,Y[,Z]], how many "
                        "programs it has: --grid=8 is one for each of 8 rows, "
                        "'--grid=cdiv(n, BLOCK)' one for each block of n elements",
                        place, name, *own ? own : "; ");
}

static bool
own_grid(RunState *r)
{
   const TilecKernelInfo *k = &r->comp.info.kernels[0];
   if (!k->grid[0])
      return refuse_without_grid(r, k->name);
   for (unsigned i = 0; i < 3 && k->grid[i]; i++)
      if (!grid_value(r, k->grid[i], &r->grid[i]))
         return false;
   return true;
}

static int
choose_grid(RunState *r)
{
   if (!r->grid_sizes && !own_grid(r))
      return EXIT_PROGRAM;
   if (!r->grid[0] || !r->grid[1] || !r->grid[2])
      tl_cmd_error("warning: the grid is %u,%u,%u: no program runs", r->grid[0], r->grid[1],
                   r->grid[2]);
   for (unsigned i = 1; i < 3; i++)
      if (r->grid[i] > MAX_GRID_YZ) {
         tl_cmd_error(
            "grid %c is %u, at most %d is allowed; the first dimension, x, may have 2147483647",
            "xyz"[i], r->grid[i], MAX_GRID_YZ);
         return EXIT_PROGRAM;
      }
   return EXIT_OK;
}

/* ---- launching ---- */
static void
print_time(RunState *r, double *ms, const char *where)
{
   assert(r->time_runs > 0);
   qsort(ms, r->time_runs, sizeof *ms, tl_cmd_ascending);
   r->median_ms = ms[r->time_runs / 2];
   printf("%s  median %.4f ms, fastest %.4f, slowest %.4f, %u runs, on %s\n", r->o.kernel,
          r->median_ms, ms[0], ms[r->time_runs - 1], r->time_runs, where);
}

static void
print_line(void *user, const char *line, size_t len)
{
   (void)user;
   fwrite(line, 1, len, stdout);
   fputc('\n', stdout);
}

/* Where the program went wrong, as other errors are reported. */
static void
print_fault(void *user, const char *text, size_t len)
{
   bool *is_told = user;
   *is_told = true;
   fprintf(stderr, "%.*s\n", (int)len, text);
}

/* By launch argument: an array made by "empty:" or "zeros:", found by its memory.  What a kernel
 * leaves out of them is no news where its text has shown why. */
static void
note_new_arrays(RunState *r, const TilecArg *args, size_t n, TlHostExtra *extra)
{
   bool *empty = tl_new_array(r->c->arena, bool, n + 1);
   bool *fresh = tl_new_array(r->c->arena, bool, n + 1);
   for (size_t i = 0; i < n; i++)
      for (unsigned k = 0; k < r->a.num; k++) {
         const TlCliValue *v = &r->a.list[k].value;
         bool is_it = args[i].kind == TILEC_ARG_POINTER && r->a.list[k].is_given &&
                      v->kind == TL_CLI_ARRAY && args[i].as.ptr == v->array.data;
         empty[i] |= is_it && v->is_empty;
         fresh[i] |= is_it && (v->is_empty || v->is_zeros) && !r->has_warned;
      }
   extra->empty = empty;
   extra->fresh = fresh;
}

enum { MOST_SIZES = 64 };

/* Whole numbers that the kernel is given. */
static unsigned
sizes_given(const RunState *r, uint64_t sizes[MOST_SIZES])
{
   const TilecKernelInfo *k = &r->comp.info.kernels[0];
   unsigned n = 0;
   for (unsigned i = 0; i < r->a.num && n < MOST_SIZES; i++)
      if (r->a.list[i].is_given && r->a.list[i].value.kind == TL_CLI_INT &&
          r->a.list[i].value.i > 1)
         sizes[n++] = (uint64_t)r->a.list[i].value.i;
   for (uint32_t i = 0; i < k->num_args && n < MOST_SIZES; i++) {
      long long v = k->args[i].value ? strtoll(k->args[i].value, NULL, 10) : 0;
      if (v > 1)
         sizes[n++] = (uint64_t)v;
   }
   return n;
}

/* Is each of its sizes one that the kernel is given, or the product of two? */
static bool
is_told_sizes(const TlArray *a, const uint64_t *sizes, unsigned num)
{
   for (unsigned d = 0; d < a->rank; d++) {
      bool is_told = a->shape[d] == 1;
      for (unsigned i = 0; i < num; i++) {
         is_told |= a->shape[d] == sizes[i];
         for (unsigned k = 0; k < i; k++)
            is_told |= a->shape[d] % sizes[i] == 0 && a->shape[d] / sizes[i] == sizes[k];
      }
      if (!is_told)
         return false;
   }
   return a->rank > 0;
}

/* The sizes of all arrays. */
static void
note_shapes(RunState *r, const TilecArg *args, size_t n, TlHostExtra *extra)
{
   unsigned *rank = tl_new_array(r->c->arena, unsigned, n + 1);
   const uint64_t **shape = tl_new_array(r->c->arena, const uint64_t *, n + 1);
   for (size_t i = 0; i < n; i++)
      for (unsigned k = 0; k < r->a.num; k++) {
         const TlCliValue *v = &r->a.list[k].value;
         if (args[i].kind != TILEC_ARG_POINTER || !r->a.list[k].is_given ||
             v->kind != TL_CLI_ARRAY || args[i].as.ptr != v->array.data)
            continue;
         shape[i] = v->array.shape;
         rank[i] = v->array.rank;
      }
   extra->shape = shape;
   extra->shape_rank = rank;
   extra->tells_rows = !r->has_warned;
   extra->grid_for = grid_for;
   extra->grid_user = r;
}

/* Of an array whose sizes the kernel knows, rows that nothing reads are told. */
static void
note_whole_arrays(RunState *r, const TilecArg *args, size_t n, TlHostExtra *extra)
{
   uint64_t sizes[MOST_SIZES];
   unsigned num_sizes = sizes_given(r, sizes);
   unsigned *rank = tl_new_array(r->c->arena, unsigned, n + 1);
   bool *asked = tl_new_array(r->c->arena, bool, n + 1);
   const uint64_t **dims = tl_new_array(r->c->arena, const uint64_t *, n + 1);
   for (size_t i = 0; i < n && !r->has_warned; i++)
      for (unsigned k = 0; k < r->a.num; k++) {
         const TlCliValue *v = &r->a.list[k].value;
         bool is_it = args[i].kind == TILEC_ARG_POINTER && r->a.list[k].is_given &&
                      v->kind == TL_CLI_ARRAY && args[i].as.ptr == v->array.data;
         asked[i] |= is_it;
         if (!is_it || v->is_empty || !is_told_sizes(&v->array, sizes, num_sizes))
            continue;
         dims[i] = v->array.shape;
         rank[i] = v->array.rank;
      }
   extra->asked = asked;
   extra->rank = rank;
   extra->dims = dims;
}

/* A run on the CPU executor tells of assertions that fail where they would be left out. */
static bool
keeps_asserts(const RunState *r)
{
   return !r->rt && !r->on_sim && !r->o.check && !tl_option(&r->c->cl, TL_OPT_EMIT);
}

static int
run_on_cpu(RunState *r)
{
   uint32_t threads;
   if (!tl_cmd_number(r->c, TL_OPT_THREADS, 4096, &threads))
      return EXIT_USAGE;
   size_t n;
   TilecArg *args = launch_args(r, &n);
   if (!args)
      return EXIT_PROGRAM;
   bool profile = tl_option(&r->c->cl, TL_OPT_PROFILE);
   bool count = r->on_sim && (profile || tl_option(&r->c->cl, TL_OPT_STATS));
   bool is_told = false;
   TlHostExtra extra = {.checks = r->o.check                ? TL_HOST_CHECKED
                                  : profile || r->time_runs ? TL_HOST_PLAIN /* they cost time */
                                                            : TL_HOST_WATCHED,
                        .spares_asserts = keeps_asserts(r),
                        .as_json = tl_cmd_is_json(r->c),
                        .in_color = r->c->color};
   note_new_arrays(r, args, n, &extra);
   note_whole_arrays(r, args, n, &extra);
   note_shapes(r, args, n, &extra);
   TilecHostLaunch l = {.struct_size = sizeof l,
                        .mode = r->on_sim ? TILEC_HOST_SIM : TILEC_HOST_CPU,
                        .grid = {r->grid[0], r->grid[1], r->grid[2]},
                        .args = args,
                        .num_args = n,
                        .num_threads = threads,
                        .on_print = print_line,
                        .on_fault = print_fault,
                        .user = &is_told,
                        .timeout_ms = r->o.timeout_ms};
   double *ms = tl_new_array(r->c->arena, double, r->time_runs + 1);
   for (uint32_t i = 0; i < (r->time_runs ? r->time_runs : 1); i++) {
      TilecFault fault = {0};
      tl_nvtx_push(r->o.kernel);
      double start = tl_now_ms();
      extra.counts = profile && i == 0 ? &r->counts : NULL;
      extra.stats = count && i == 0 ? &r->sim_stats : NULL;
      TilecStatus status = tl_run_host(&r->comp, &l, &extra, &fault);
      ms[i] = tl_now_ms() - start;
      tl_nvtx_pop();
      if (status == TILEC_OK)
         continue;
      tl_cmd_diagnostics(r->c, &r->comp);
      if (is_told)
         return tl_cmd_exit_code(status);
      if (fault.message[0])
         tl_cmd_error("%s", fault.message);
      else if (!r->comp.diags.num_errors)
         tl_cmd_error("%s", tilec_status_string(status));
      return tl_cmd_exit_code(status);
   }
   r->launch_ms = ms[0];
   if (r->time_runs)
      print_time(r, ms, r->on_sim ? "the GPU simulator" : "the CPU executor");
   if (r->on_sim && tl_option(&r->c->cl, TL_OPT_STATS)) {
      TlSb sb;
      tl_sb_init(&sb, r->c->arena);
      tl_sim_stats_print(&r->sim_stats, &sb);
      fputs(tl_sb_cstr(&sb), stderr);
   }
   return EXIT_OK;
}

static TilecStatus
time_on_gpu(RunState *r, const TilecLaunch *l, const TilecArg *args, size_t n)
{
   TilecEvent *start = NULL, *stop = NULL;
   double *ms = tl_new_array(r->c->arena, double, r->time_runs + 1);
   TilecStatus status = tilec_event_new(r->rt, &start);
   if (status == TILEC_OK)
      status = tilec_event_new(r->rt, &stop);
   for (uint32_t i = 0; i < r->time_runs + 3 && status == TILEC_OK; i++) {
      tl_nvtx_push(r->o.kernel);
      status = tilec_event_record(start, NULL);
      if (status == TILEC_OK)
         status = tilec_launch(r->kernel, l, args, n);
      if (status == TILEC_OK)
         status = tilec_event_record(stop, NULL);
      if (status == TILEC_OK)
         status = tilec_event_sync(stop);
      tl_nvtx_pop();
      if (status == TILEC_OK)
         status = tilec_event_elapsed(start, stop, &ms[i < 3 ? 0 : i - 3]);
   }
   tilec_event_free(start);
   tilec_event_free(stop);
   TilecDeviceInfo d;
   if (status == TILEC_OK && (status = tilec_runtime_device(r->rt, &d)) == TILEC_OK)
      print_time(r, ms, d.name);
   return status;
}

static int
run_on_gpu(RunState *r)
{
   TlCompilation *comp = &r->comp;
   TilecStatus status = TILEC_BAD_IMAGE;
   if (r->image.cubin) /* of another assembler than the driver likes, it is no failure */
      status = tilec_module_load(r->rt, r->image.cubin, r->image.cubin_len, comp->json,
                                 comp->json_len, &r->module);
   if (status == TILEC_BAD_IMAGE || status == TILEC_BAD_TARGET || status == TILEC_DRIVER_TOO_OLD)
      status =
         tilec_module_load(r->rt, comp->text[TILEC_STAGE_PTX], comp->text_len[TILEC_STAGE_PTX],
                           comp->json, comp->json_len, &r->module);
   if (status == TILEC_OK)
      status = tilec_module_kernel(r->module, NULL, &r->kernel);
   if (status == TILEC_OK)
      status = tl_cmd_args_upload(&r->a, r->rt);
   if (status != TILEC_OK)
      return runtime_error(r, status);
   size_t n;
   TilecArg *args = launch_args(r, &n);
   if (!args)
      return EXIT_PROGRAM;
   TilecLaunch l = {.grid = {r->grid[0], r->grid[1], r->grid[2]}};
   tl_nvtx_push(r->o.kernel);
   double start = tl_now_ms();
   status = tilec_launch(r->kernel, &l, args, n);
   if (status == TILEC_OK)
      status = tilec_runtime_sync(r->rt);
   r->launch_ms = tl_now_ms() - start;
   tl_nvtx_pop();
   if (status == TILEC_OK)
      status = tl_cmd_args_download(&r->a);
   if (tl_option(&r->c->cl, TL_OPT_PROFILE) && !r->time_runs)
      r->time_runs = DEFAULT_RUNS; /* one launch alone says little */
   if (status == TILEC_OK && r->time_runs)
      status = time_on_gpu(r, &l, args, n);
   return status == TILEC_OK ? EXIT_OK : runtime_error(r, status);
}

/* ---- what is told at the end ---- */
static void
print_profile(RunState *r)
{
   double bytes = tl_cmd_array_bytes(&r->a), moves = r->bytes > 0 ? r->bytes : bytes;
   double ms = r->median_ms > 0 ? r->median_ms : r->launch_ms;
   printf("%14.4f ms for the launch\n%14.0f bytes in arrays\n", ms, bytes);
   if (r->flops > 0 && ms > 0)
      printf("%14.4g TFLOP/s\n", r->flops / ms * 1e-9);
   if (r->rt) {
      double gbps = ms > 0 ? moves / ms * 1e-6 : 0, copy = tl_copy_gbps(r->rt);
      printf("%14.2f GB/s%s", gbps, r->bytes > 0 ? "" : " if each byte moves once");
      if (copy > 0)
         printf(", %.1f %% of the %.1f GB/s of a copy", 100 * gbps / copy, copy);
      putchar('\n');
   } else if (r->on_sim) {
      printf("%14llu bytes read by threads\n%14llu bytes written by threads\n",
             (unsigned long long)(r->sim_stats.load_bytes + r->sim_stats.async_bytes),
             (unsigned long long)r->sim_stats.store_bytes);
   } else {
      uint64_t moved = r->counts.load_bytes + r->counts.store_bytes;
      printf("%14llu bytes read\n%14llu bytes written\n%14llu floating-point operations",
             (unsigned long long)r->counts.load_bytes, (unsigned long long)r->counts.store_bytes,
             (unsigned long long)r->counts.flops);
      if (moved)
         printf(", %.3g for each byte moved", (double)r->counts.flops / (double)moved);
      putchar('\n');
   }
}

/* One line: what ran, where, for how long, and what came of it.  Not among errors as JSON. */
static void
print_summary(RunState *r)
{
   if (tl_cmd_is_json(r->c))
      return;
   TilecDeviceInfo d;
   const char *where = r->on_sim                                     ? "the simulator"
                       : !r->rt                                      ? "the CPU"
                       : tilec_runtime_device(r->rt, &d) == TILEC_OK ? d.name
                                                                     : "the GPU";
   TlSb sb;
   tl_sb_init(&sb, r->c->arena);
   tl_sb_printf(&sb, "tilec: %s on %s, grid %u", r->o.kernel, where, r->grid[0]);
   for (unsigned i = 1; i < 3 && (r->grid[1] > 1 || r->grid[2] > 1); i++)
      if (i == 1 || r->grid[2] > 1)
         tl_sb_printf(&sb, ",%u", r->grid[i]);
   tl_sb_printf(&sb, ", %.3f ms", r->launch_ms);
   tl_results_summary(&r->results, &sb);
   fflush(stdout);
   fprintf(stderr, "%s\n", tl_sb_cstr(&sb));
}

static int
finish(RunState *r)
{
   if (tl_option(&r->c->cl, TL_OPT_PROFILE))
      print_profile(r);
   int code = tl_results_after(&r->results);
   if (code != EXIT_ENVIRONMENT)
      print_summary(r);
   return code;
}

static void
release(RunState *r)
{
   tl_results_close(&r->results);
   tl_cmd_args_free(&r->a);
   tilec_module_free(r->module);
   tilec_runtime_close(r->rt);
   tl_compilation_free(&r->comp);
   tl_cmd_image_free(&r->image);
}

/* "native", or nothing said: the device's own architecture. */
static void
choose_arch(RunState *r)
{
   TilecDeviceInfo d;
   bool native = !r->o.arch || strcmp(r->o.arch, "native") == 0;
   if (!native)
      return;
   r->o.arch = NULL;
   if (r->rt && tilec_runtime_device(r->rt, &d) == TILEC_OK)
      r->o.arch = tl_arena_strdup(r->c->arena, d.arch);
}

/* Where launches are timed they alone count. */
static bool
wants_warnings(const RunState *r)
{
   return !r->time_runs && !tl_option(&r->c->cl, TL_OPT_PROFILE);
}

/* Sizes that the grid is written with; 3: it is the kernel's own, which is checked with it. */
static unsigned
num_sizes(const RunState *r)
{
   unsigned n = 0;
   while (r->o.grid && n < 3 && r->comp.info.kernels[0].grid[n])
      n++;
   return r->grid_sizes ? r->grid_sizes : n ? n : 3;
}

/* False: -Werror makes an error of one. */
static bool
show_warnings(RunState *r, TlCompilation *comp, const TlDiag *told)
{
   TlLaunchGrid grid = {.sizes = num_sizes(r), .is_own = !tl_option(&r->c->cl, TL_OPT_GRID)};
   bool is_fine = true;
   memcpy(grid.size, r->grid, sizeof grid.size);
   comp->diags.first = comp->diags.last = NULL; /* shown already */
   tl_launch_warn(comp, &grid, told, &comp->diags);
   for (const TlDiag *d = comp->diags.first; d; d = d->next)
      is_fine &= d->severity != TL_SEV_ERROR;
   r->has_warned = comp->diags.first != NULL;
   comp->diags.num_errors = 0;
   comp->error[0] = 0;
   tl_cmd_diagnostics(r->c, comp);
   return is_fine;
}

/* The same; what the cache has was not compiled now. */
static bool
warn_of_mistakes(RunState *r)
{
   const TlDiag *told = r->comp.diags.first;
   if (!r->rt)
      return show_warnings(r, &r->comp, told);
   TlEntrySpec entry = {r->o.kernel, r->o.signature};
   TilecCompileOptions o = r->o;
   o.stop_after = TILEC_STAGE_IR;
   o.keep_stages = 0;
   o.remarks = NULL;
   TlCompileExtra extra = {
      .entries = &entry, .num_entries = 1, .warnings = r->extra.warnings, .lints = true};
   TlCompilation comp;
   bool is_fine = true;
   if (tl_compilation_init(&comp, NULL, &extra) == TILEC_OK &&
       tl_compile(&comp, &o, &extra) == TILEC_OK)
      is_fine = show_warnings(r, &comp, told);
   tl_compilation_free(&comp);
   return is_fine;
}

static int
compile_and_run(RunState *r)
{
   int code = open_executor(r);
   if (code != EXIT_OK)
      return code;
   choose_arch(r);
   make_signature(r);
   if (r->rt && r->a.is_autotuned && !tl_option(&r->c->cl, TL_OPT_NO_TUNE) &&
       (code = tl_measure_choose(r->c, &r->o)) != EXIT_OK)
      return code;
   TilecStage shown = tl_option(&r->c->cl, TL_OPT_EMIT) ? r->o.stop_after : TILEC_STAGE_DEFAULT;
   r->o.keep_stages |= shown ? TILEC_STAGE_BIT(shown) : 0;
   TilecStage needed = r->rt ? TILEC_STAGE_PTX : r->on_sim ? TILEC_STAGE_LOWERED : TILEC_STAGE_IR;
   r->o.stop_after = shown > needed ? TILEC_STAGE_PTX : needed;
   r->extra.lints = !r->rt && wants_warnings(r);
   r->extra.keeps_asserts = keeps_asserts(r);
   TilecStatus status = r->rt ? tl_cmd_compile_cached(r->c, &r->comp, &r->o, &r->extra, &r->image)
                              : tl_compile(&r->comp, &r->o, &r->extra);
   if (status == TILEC_OK && shown && r->comp.text[shown])
      tl_cmd_write(r->c, NULL, r->comp.text[shown], r->comp.text_len[shown]);
   if (!r->rt)
      tl_cmd_diagnostics(r->c, &r->comp);
   if (status != TILEC_OK)
      return tl_cmd_exit_code(status);
   if (!tl_cmd_extras(r->c, &r->comp, r->o.kernel))
      return EXIT_ENVIRONMENT;
   if ((code = choose_grid(r)) != EXIT_OK)
      return code;
   if (wants_warnings(r) && !warn_of_mistakes(r))
      return EXIT_PROGRAM;
   r->comp.diags.first = r->comp.diags.last = NULL; /* shown already */
   tl_results_before(&r->results, &r->comp.info.kernels[0]);
   code = r->rt ? run_on_gpu(r) : run_on_cpu(r);
   return code == EXIT_OK ? finish(r) : code;
}

int
tl_cmd_run(TlCommand *c)
{
   RunState *r = tl_new(c->arena, RunState);
   r->c = c;
   if (tl_cmd_one_file(c) != EXIT_OK)
      return EXIT_USAGE;
   if (!tl_cmd_options(c, &r->o, &r->extra))
      return EXIT_USAGE;
   const char *dot = strrchr(r->o.file, '.'), *on = tl_option(&c->cl, TL_OPT_ON);
   if (on && strcmp(on, "auto") && strcmp(on, "cpu") && strcmp(on, "sim") && strcmp(on, "cuda"))
      return tl_cmd_misuse("--on takes auto, cpu, sim or cuda; found '%s'", on);
   if (dot && strcmp(dot, ".tir") == 0)
      return tl_cmd_misuse("%s: 'run' takes the source of a kernel; IR text can be built, not run",
                           r->o.file);
   TlCmdGrid grid;
   if (!tl_cmd_grid(c, &r->o, &grid))
      return EXIT_USAGE;
   memcpy(r->grid, grid.size, sizeof r->grid);
   r->grid_sizes = grid.num;
   const char *time = tl_option(&c->cl, TL_OPT_TIME);
   if (time && *time && !tl_cmd_number(c, TL_OPT_TIME, 1000000, &r->time_runs))
      return EXIT_USAGE;
   if (time && !*time)
      r->time_runs = DEFAULT_RUNS;
   if ((tl_option(&c->cl, TL_OPT_BYTES) || tl_option(&c->cl, TL_OPT_FLOPS)) &&
       !tl_option(&c->cl, TL_OPT_PROFILE))
      return tl_cmd_misuse("--bytes and --flops are for --profile: add it, or use tilec bench");
   const char *ptxas;
   if (!tl_ptxas_find(c, &ptxas))
      return EXIT_ENVIRONMENT;
   r->a.c = c;
   int code = tl_cmd_args_params(&r->a, &r->o, &r->extra);
   if (code != EXIT_OK)
      return code;
   TilecStatus status = tl_compilation_init(&r->comp, NULL, &r->extra);
   if (status != TILEC_OK)
      return tl_cmd_exit_code(status);
   code = tl_cmd_args_values(&r->a);
   if (code == EXIT_OK && !r->o.signature && !tl_cmd_args_complete(&r->a))
      code = EXIT_PROGRAM; /* a signature may fold what is not given */
   if (code == EXIT_OK)
      code = tl_cmd_expression(c, &r->a, TL_OPT_BYTES, &r->bytes);
   if (code == EXIT_OK)
      code = tl_cmd_expression(c, &r->a, TL_OPT_FLOPS, &r->flops);
   if (code == EXIT_OK)
      code = tl_results_open(&r->results, c, &r->a);
   if (tl_option(&c->cl, TL_OPT_PROFILE))
      tl_nvtx_open();
   if (code == EXIT_OK)
      code = compile_and_run(r);
   release(r);
   return code;
}
