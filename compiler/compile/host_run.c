/* Launches on the CPU executor and the GPU simulator: arguments of the public API to theirs, faults
 * back.  A program may run in many threads at once: everything made here lives in memory of its
 * own. */
#include "base/c_locale.h"
#include "compile/launch_warnings.h"
#include "compile/program.h"
#include "exec/causes.h"
#include "exec/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF_MS = 5 }; /* that a launch which is not about its mistakes is watched */

typedef struct HostRun {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
   TlDiags diags;
   const TlCompilation *comp;
   const TlFunc *func; /* that runs: TYPED or LOWERED */
   const TilecHostLaunch *launch;
   TlHostExtra extra;
   TilecFault *fault;
   TlLaunched launched; /* of the TYPED function, if there is one, for words alone */
   bool no_memory;      /* what failed is memory */
} HostRun;

TilecDtype
tl_public_dtype(TlDtype t)
{
#define ROW(id, number, text, bytes, kind)                                                         \
   if (t == TL_##id)                                                                               \
      return TILEC_##id;
   TILEC_DTYPE_TABLE(ROW)
#undef ROW
   return TILEC_DTYPE_NONE;
}

static TilecStatus
bad_argument(HostRun *h, const TlParam *p, const char *text)
{
   snprintf(h->fault->message, sizeof h->fault->message, "argument '%s': %s", p->name, text);
   snprintf(h->fault->argument, sizeof h->fault->argument, "%s", p->name);
   return TILEC_BAD_ARGUMENT;
}

/* A float that is given by its bits, not by its value. */
static bool
is_pattern(TilecDtype t)
{
   return t == TILEC_FP16 || t == TILEC_BF16 || t == TILEC_FP8E4NV || t == TILEC_FP8E5 ||
          t == TILEC_FP8E4B15;
}

/* A scalar of any numeric type as the parameter's bits; the value must fit. */
static bool
scalar_bits(TlDtype to, const TilecArg *a, TlBits *bits)
{
   bool is_real = a->dtype == TILEC_FP32 || a->dtype == TILEC_FP64;
   if (is_pattern(a->dtype)) { /* of one type: not a number of another */
      *bits = a->as.u;
      return tl_public_dtype(to) == a->dtype;
   }
   if (tl_dtype_is_float(to)) {
      double v = is_real ? a->as.f : a->dtype == TILEC_U64 ? (double)a->as.u : (double)a->as.i;
      *bits = tl_double_to_bits(to, v, TL_ROUND_NEAREST_EVEN);
      return true;
   }
   if (is_real)
      return false;
   *bits = tl_int_to_bits(to, a->as.i);
   /* the top bit of 64 is a sign in one type and a value in the other */
   bool from_u64 = a->dtype == TILEC_U64, to_u64 = to == TL_U64;
   if (a->as.i < 0 && from_u64 != to_u64)
      return false;
   return to == TL_I1 ? a->as.i == 0 || a->as.i == 1 : tl_bits_to_int(to, *bits) == a->as.i;
}

static const char *
unfit_text(char *text, size_t size, const TilecArg *a, TlDtype to)
{
   const char *type = tl_dtype_info[to].text;
   bool has_wider = !tl_dtype_is_float(to) && tl_dtype_info[to].bits < 64;
   if (a->dtype == TILEC_FP32 || a->dtype == TILEC_FP64)
      snprintf(text, size, "%.17g does not fit %s", a->as.f, type);
   else if (a->dtype == TILEC_U64)
      snprintf(text, size, "%llu does not fit %s", (unsigned long long)a->as.u, type);
   else if (is_pattern(a->dtype))
      snprintf(text, size, "a bit pattern of another type is not taken for %s", type);
   else
      snprintf(text, size, "%lld does not fit %s%s", (long long)a->as.i, type,
               has_wider ? ", which the kernel declares: declare i64, or leave the type open" : "");
   return text;
}

static TilecStatus
one_arg(HostRun *h, const TlParam *p, const TilecArg *a, TlExecArg *out)
{
   char text[128];
   *out = (TlExecArg){.name = p->name, .is_writable = true};
   if (p->type->kind == TL_TYPE_PTR) {
      if (a->kind != TILEC_ARG_POINTER)
         return bad_argument(h, p, "a pointer is expected");
      if (!a->bytes && a->as.ptr)
         return bad_argument(h, p, "the size of the memory it points to must be given");
      if (a->bytes && !a->as.ptr)
         return bad_argument(h, p, "a null pointer has no memory; its size must be 0");
      out->is_buffer = true;
      out->data = a->as.ptr;
      out->bytes = a->bytes;
      return TILEC_OK;
   }
   if (a->kind != TILEC_ARG_SCALAR)
      return bad_argument(h, p, "a number is expected");
   if (!scalar_bits(p->type->dtype, a, &out->bits))
      return bad_argument(h, p, unfit_text(text, sizeof text, a, p->type->dtype));
   return TILEC_OK;
}

static TilecStatus
convert_args(HostRun *h, TlExecArg **out, unsigned *count)
{
   const TlFunc *f = h->func;
   TlExecArg *args = tl_new_array(h->arena, TlExecArg, f->num_params + 1);
   size_t next = 0;
   unsigned n = 0;
   for (uint32_t i = 0; i < f->num_params; i++) {
      const TlParam *p = &f->params[i];
      if (!p->is_runtime && !p->type)
         continue; /* constexpr: no argument of a launch */
      if (next == h->launch->num_args) {
         return bad_argument(h, p, "it is missing");
      }
      bool is_empty = h->extra.empty && h->extra.empty[next];
      bool is_fresh = h->extra.fresh && h->extra.fresh[next];
      uint64_t written = h->launch->written ? h->launch->written[next] : UINT64_MAX;
      const TilecArg *a = &h->launch->args[next++];
      if (!p->is_runtime)
         continue; /* folded: the code has its value */
      TilecStatus status = one_arg(h, p, a, &args[n]);
      args[n].is_fresh = is_fresh;
      args[n].unwritten = a->bytes > written && args[n].is_buffer ? a->bytes - written : 0;
      args[n].is_asked = h->extra.asked && h->extra.asked[next - 1];
      args[n].dims = h->extra.dims ? h->extra.dims[next - 1] : NULL;
      args[n].rank = args[n].dims ? h->extra.rank[next - 1] : 0;
      args[n].shape = h->extra.shape ? h->extra.shape[next - 1] : NULL;
      args[n].shape_rank = args[n].shape ? h->extra.shape_rank[next - 1] : 0;
      args[n++].is_empty = is_empty;
      if (status != TILEC_OK)
         return status;
   }
   if (next != h->launch->num_args) {
      snprintf(h->fault->message, sizeof h->fault->message, "%zu argument%s expected; %zu given",
               next, next == 1 ? " is" : "s are", h->launch->num_args);
      return TILEC_BAD_ARGUMENT;
   }
   *out = args;
   *count = n;
   return TILEC_OK;
}

static const TlParam *
param_named(const TlFunc *f, const char *name)
{
   for (uint32_t i = 0; name && i < f->num_params; i++)
      if (strcmp(f->params[i].name, name) == 0)
         return &f->params[i];
   return NULL;
}

/* The reports so far, without the last newline. */
static const char *
rendered(HostRun *h, bool as_json, bool in_color, size_t *len)
{
   TlSb sb;
   tl_sb_init(&sb, h->arena);
   for (const TlDiag *d = h->diags.first; d; d = d->next)
      if (as_json)
         tl_diag_render_json(&h->diags, d, &sb);
      else
         tl_diag_render(&h->diags, d, in_color, &sb);
   *len = sb.len && sb.data[sb.len - 1] == '\n' ? sb.len - 1 : sb.len;
   return tl_sb_cstr(&sb);
}

/* The reports so far are the message. */
static void
render_message(HostRun *h)
{
   size_t len;
   const char *text = rendered(h, h->extra.as_json, h->extra.in_color, &len);
   if (h->launch->on_fault && len)
      h->launch->on_fault(h->launch->user, text, len);
   text = rendered(h, false, false, &len);
   if (len >= sizeof h->fault->message) {
      size_t whole = sizeof h->fault->message - 1;
      while (whole && text[whole] != '\n')
         whole--;
      len = whole ? whole : sizeof h->fault->message - 1;
   }
   snprintf(h->fault->message, sizeof h->fault->message, "%.*s", (int)len, text);
}

static void
describe_fault(HostRun *h, const TlExecFault *e)
{
   TilecFault *out = h->fault;
   const TlSource *src = tl_source(h->comp->sources, e->range.file);
   if (src) {
      TlLineCol at = tl_source_line_col(h->comp->sources, e->range.file, e->range.begin);
      snprintf(out->file, sizeof out->file, "%s", src->name);
      out->line = at.line;
      out->column = at.column;
   }
   memcpy(out->program_id, e->program, sizeof out->program_id);
   const TlParam *p = param_named(h->func, e->buffer);
   if (p && p->type->kind == TL_TYPE_PTR) {
      const TlType *elem = p->type->elem;
      TlDtype t = elem->kind == TL_TYPE_PTR ? TL_I64 : elem->dtype;
      int64_t size = tl_dtype_info[t].bytes;
      snprintf(out->argument, sizeof out->argument, "%s", p->name);
      out->dtype = tl_public_dtype(t);
      out->element = e->byte >= 0 ? e->byte / size : -((-e->byte + size - 1) / size);
      out->valid_end = (int64_t)e->buffer_bytes / size;
   }
}

static void
print_line(void *user, const char *line, size_t len)
{
   HostRun *h = user;
   if (len && line[len - 1] == '\n')
      len--;
   if (h->launch->on_print)
      h->launch->on_print(h->launch->user, line, len);
}

/* Reports it with what the launch shows of its cause. */
static void
report(HostRun *h, TlExecFault *fault)
{
   if (h->launched.func)
      fault->cause = tl_exec_cause(&h->launched, fault, h->extra.grid_for, h->extra.grid_user);
   tl_exec_report(&h->diags, fault);
}

static void
keep_warning(void *user, const TlExecFault *warning)
{
   TlExecFault fault = *warning;
   report(user, &fault);
}

/* Nothing has gone wrong, and the rows of an array are others than those that it is accessed by. */
static void
warn_of_rows(HostRun *h)
{
   TlLaunched *l = &h->launched;
   TlOtherRows x;
   if (!l->func || !h->extra.tells_rows || h->extra.checks == TL_HOST_PLAIN || h->diags.first ||
       !tl_exec_other_rows(l, h->extra.grid_for, h->extra.grid_user, &x))
      return;
   tl_report(&h->diags, W0614, x.op->range, x.array, (long long)x.step);
   tl_help(&h->diags, "%s", x.help);
}

/* Is what its grid and its arguments show of the launch to be told, where nothing else is? */
static bool
tells_of_launch(const HostRun *h)
{
   return h->launched.func && (h->extra.tells || h->extra.tells_rows) && !h->diags.first;
}

/* k[(n // BLOCK,)](..) */
static void
warn_of_short_grid(HostRun *h)
{
   TlLaunched *l = &h->launched;
   TlShortGrid x;
   if (!tells_of_launch(h) || !tl_exec_short_grid(l, &x))
      return;
   const TlCoord *c = &x.coord;
   tl_report(&h->diags, W0616, x.op->range, l->grid[c->axis], l->grid[c->axis] == 1 ? "" : "s",
             c->axis, (long long)c->lanes, (long long)(c->limit - c->natural), x.limit);
   tl_help(&h->diags, "a division that rounds up counts the last block, too: %s", x.help);
}

/* k[(cdiv(W, 32), cdiv(H, 32))](..), where axis 0 is that of H. */
static void
warn_of_turned_grid(HostRun *h)
{
   TlLaunched *l = &h->launched;
   TlTurnedGrid x;
   if (!tells_of_launch(h) || !tl_exec_turned_grid(l, &x))
      return;
   const TlCoord *a = &x.a, *b = &x.b;
   tl_report(&h->diags, W0619, x.op->range, l->grid[a->axis], a->axis, l->grid[b->axis], b->axis,
             a->limit_name, (long long)a->limit, l->grid[b->axis], b->limit_name,
             (long long)b->limit, l->grid[a->axis]);
   tl_help(&h->diags,
           "the block of axis %d is of '%.40s', that of axis %d of '%.40s': give the grid "
           "their numbers in this order",
           a->axis, a->limit_name, b->axis, b->limit_name);
}

/* k[(rows,)](.., cols, BLOCK=256), where a row is longer. */
static void
warn_of_short_block(HostRun *h)
{
   TlShortBlock x;
   if (!tells_of_launch(h) || !tl_exec_short_block(&h->launched, &x))
      return;
   tl_report(&h->diags, W0617, x.op->range, tl_source_name(x.op), x.lanes, x.limit);
   tl_help(&h->diags, "%s", x.help);
}

/* Memory that the caller knows, or an argument's by its own address: a kernel may read that from a
 * table. */
static bool
find_memory(void *user, uint64_t address, TilecMemory *out)
{
   const TilecHostLaunch *l = ((HostRun *)user)->launch;
   if (l->memory && l->memory(l->user, address, out))
      return true;
   for (size_t i = 0; i < l->num_args; i++) {
      const TilecArg *a = &l->args[i];
      if (a->kind == TILEC_ARG_POINTER && address - (uintptr_t)a->as.ptr < a->bytes) {
         *out = (TilecMemory){a->as.ptr, a->bytes, false};
         return true;
      }
   }
   return false;
}

static TlExecStatus
run_typed(HostRun *h, const TlExecArg *args, unsigned n)
{
   TlExecOptions o = {.threads = h->launch->num_threads,
                      .checked = h->extra.checks == TL_HOST_CHECKED,
                      .watched = h->extra.checks == TL_HOST_WATCHED,
                      .spares_asserts = h->extra.spares_asserts,
                      .watch_ms = h->extra.tells ? BRIEF_MS : 0,
                      .max_ms = h->launch->timeout_ms,
                      .cancel = h->launch->cancel,
                      .print = print_line,
                      .warn = keep_warning,
                      .memory = find_memory,
                      .stats = h->extra.counts,
                      .user = h};
   TlExecFault e = {0};
   TlExecStatus status = tl_exec_cpu(h->func, args, n, h->launch->grid, &o, &e);
   if (status != TL_EXEC_OK) {
      describe_fault(h, &e);
      report(h, &e);
      h->no_memory = e.kind == TL_FAULT_MEMORY;
   }
   return status;
}

static TlExecStatus
run_lowered(HostRun *h, const TlExecArg *args, unsigned n)
{
   TlSimOptions o = {.threads = h->launch->num_threads,
                     .max_ms = h->launch->timeout_ms,
                     .cancel = h->launch->cancel,
                     .multiprocessors = h->launch->multiprocessors,
                     .print = print_line,
                     .warn = h->extra.checks == TL_HOST_PLAIN ? NULL : keep_warning,
                     .memory = find_memory,
                     .user = h};
   TlSimFault e = {0};
   TlExecStatus status = tl_sim_run(h->func, args, n, h->launch->grid, &o, &e, h->extra.stats);
   if (status != TL_EXEC_OK) {
      describe_fault(h, &e.base);
      h->fault->thread = e.thread;
      if (h->launched.func)
         e.base.cause = tl_exec_cause(&h->launched, &e.base, h->extra.grid_for, h->extra.grid_user);
      tl_sim_report(&h->diags, &e);
      h->no_memory = e.base.kind == TL_FAULT_MEMORY;
   }
   return status;
}

static void
note_launch(HostRun *h, const TlExecArg *args, unsigned n)
{
   const TlFunc *typed = h->comp->entries.len ? h->comp->entries.data[0].typed : NULL;
   if (!typed || typed->body->block->num_args != n)
      return;
   h->launched = (TlLaunched){.arena = h->arena, .func = typed, .args = args, .num_args = n};
   memcpy(h->launched.grid, h->launch->grid, sizeof h->launched.grid);
}

/* Warnings go where the launch hears them, and are no part of a fault's message. */
static void
tell_warnings(HostRun *h, TlDiags *diags)
{
   diags->last = NULL;
   for (TlDiag **link = &diags->first; *link;) {
      TlDiag *d = *link;
      if (d->severity != TL_SEV_WARNING) {
         diags->last = d;
         link = &d->next;
         continue;
      }
      TlSb sb;
      tl_sb_init(&sb, h->arena);
      tl_diag_render(diags, d, false, &sb);
      h->launch->on_warning(h->launch->user, tl_sb_cstr(&sb), sb.len);
      *link = d->next;
   }
}

/* What the kernel's text shows of such a grid. */
static void
tell_of_grid(HostRun *h)
{
   const uint32_t *size = h->launch->grid;
   TlLaunchGrid grid = {.size = {size[0], size[1], size[2]},
                        .sizes = size[2] > 1   ? 3
                                 : size[1] > 1 ? 2
                                               : 1,
                        .is_own = h->comp->info.num_kernels && h->comp->info.kernels[0].grid[0]};
   TlDiags diags;
   tl_diags_init(&diags, h->arena, h->comp->sources);
   diags.warnings = h->comp->diags.warnings;
   tl_launch_warn(h->comp, &grid, h->comp->diags.first, &diags);
   tell_warnings(h, &diags);
}

static TilecStatus
run(HostRun *h)
{
   TlExecArg *args;
   unsigned n;
   TilecStatus status = convert_args(h, &args, &n);
   if (status != TILEC_OK)
      return status;
   if (h->extra.tells)
      tell_of_grid(h);
   static const TilecStatus result[] = {
      [TL_EXEC_OK] = TILEC_OK,
      [TL_EXEC_FAULT] = TILEC_FAULT,
      [TL_EXEC_LIMIT] = TILEC_LIMIT,
      [TL_EXEC_BAD_ARGUMENT] = TILEC_BAD_ARGUMENT,
      [TL_EXEC_UNSUPPORTED] = TILEC_UNSUPPORTED,
   };
   bool is_sim = h->func->state == TL_STATE_LOWERED;
   note_launch(h, args, n);
   status = result[is_sim ? run_lowered(h, args, n) : run_typed(h, args, n)];
   if (status == TILEC_OK) {
      warn_of_rows(h);
      warn_of_turned_grid(h);
      warn_of_short_grid(h);
      warn_of_short_block(h);
   }
   if (h->extra.tells)
      tell_warnings(h, &h->diags);
   if (status == TILEC_OK && h->diags.num_errors) /* -Werror */
      status = TILEC_FAULT;
   if (status != TILEC_OK || h->diags.first) /* a checked run may end well, with warnings */
      render_message(h);
   if ((status == TILEC_OK || status == TILEC_LIMIT) && h->launch->cancel && *h->launch->cancel)
      return TILEC_CANCELLED;
   return h->no_memory ? TILEC_NO_MEMORY : status;
}

static const TlFunc *
function_for(const TlCompilation *comp, TilecHostMode mode, const char **why)
{
   *why = NULL;
   if (mode == TILEC_HOST_CPU) {
      *why = "the program was read from lowered IR, which the CPU executor does not run";
      return comp->entries.len ? comp->entries.data[0].typed : NULL;
   }
   *why = "the program was not compiled as far as lowered IR, which the GPU simulator runs";
   return comp->func && comp->func->state == TL_STATE_LOWERED ? comp->func : NULL;
}

TilecStatus
tl_run_host(const TlCompilation *comp, const TilecHostLaunch *launch, const TlHostExtra *extra,
            TilecFault *fault)
{
   TilecFault ignored, *f = fault ? fault : &ignored;
   *f = (TilecFault){0};
   const char *why;
   if (launch->mode > TILEC_HOST_SIM) {
      snprintf(f->message, sizeof f->message, "there is no mode %d", (int)launch->mode);
      return TILEC_BAD_ARGUMENT;
   }
   const TlFunc *func = function_for(comp, launch->mode, &why);
   if (!func) {
      snprintf(f->message, sizeof f->message, "%s", why);
      return TILEC_UNSUPPORTED;
   }
   if (launch->num_args && !launch->args)
      return TILEC_BAD_ARGUMENT;
   if (launch->kernel) {
      snprintf(f->message, sizeof f->message, "the program has 1 kernel; got number %u",
               launch->kernel);
      return TILEC_BAD_ARGUMENT;
   }
   HostRun *h = malloc(sizeof *h);
   if (!h)
      return TILEC_NO_MEMORY;
   *h = (HostRun){.comp = comp, .func = func, .launch = launch, .extra = *extra, .fault = f};
   tl_mem_init(&h->mem);
   h->mem.oom = &h->oom;
   TilecStatus status = TILEC_NO_MEMORY;
   TlCLocale locale = tl_c_locale_begin();
   if (!setjmp(h->oom)) {
      h->arena = tl_arena_new(&h->mem);
      tl_diags_init(&h->diags, h->arena, comp->sources);
      h->diags.warnings = comp->diags.warnings;
      status = run(h);
   }
   tl_c_locale_end(&locale);
   tl_arena_free(h->arena);
   free(h);
   return status;
}

/* Is this launch one to be heard of: the program's first, or its first of many instances? */
static bool
is_news(const TilecProgram *program, const uint32_t grid[3])
{
   enum { ONE = 1, MANY = 2 };
   atomic_uint *heard = &((TilecProgram *)(uintptr_t)program)->heard;
   if (!grid[0] || !grid[1] || !grid[2] || atomic_load(heard) & MANY)
      return false;
   unsigned bit = grid[0] == 1 && grid[1] == 1 && grid[2] == 1 ? ONE : MANY;
   return !(atomic_fetch_or(heard, bit) & (bit | MANY));
}

TilecStatus
tilec_program_run_cpu(const TilecProgram *program, const TilecHostLaunch *launch, TilecFault *fault)
{
   if (!program || !launch || launch->struct_size < sizeof(size_t)) {
      if (fault) {
         *fault = (TilecFault){0};
         snprintf(fault->message, sizeof fault->message, "%s",
                  !program  ? "program is NULL"
                  : !launch ? "launch is NULL"
                            : "struct_size of the launch is to be sizeof (TilecHostLaunch)");
      }
      return TILEC_BAD_ARGUMENT;
   }
   TilecHostLaunch l = {0};
   size_t size = launch->struct_size < sizeof l ? launch->struct_size : sizeof l;
   memcpy(&l, launch, size);
   bool tells = l.on_warning && is_news(program, l.grid);
   TlHostExtra extra = {.tells = tells,
                        .checks = tells ? TL_HOST_WATCHED : TL_HOST_PLAIN,
                        .spares_asserts = program->comp.keeps_asserts};
   return tl_run_host(&program->comp, &l, &extra, fault);
}
