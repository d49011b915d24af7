/* tilec tune, and what it shares with tilec bench: a kernel opened through the runtime. */
#include "command/measure.h"

#include "command/cached.h"
#include "command/progress.h"
#include "compile/program.h"
#include "jit/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where choices are kept ---- */
const char *
tl_measure_database(TlCommand *c)
{
   const char *asked = tl_option(&c->cl, TL_OPT_DATABASE);
   if (asked)
      return strcmp(asked, "none") == 0 ? NULL : asked;
   const char *dir = tl_cmd_cache_dir(c);
   if (!dir)
      return NULL;
   return tl_arena_printf(c->arena, "%s/tune.db", dir);
}

/* The cache folder and the one it lies in; the tuner says when its file cannot be made. */
static void
make_folder(TlCommand *c, const char *database)
{
   if (!database || tl_option(&c->cl, TL_OPT_DATABASE))
      return;
   char *path = tl_arena_strdup(c->arena, database);
   for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
      *slash = 0;
      (void)mkdir(path, 0700);
      *slash = '/';
   }
}

/* ---- opening ---- */
int
tl_measure_error(TlMeasure *m, TilecStatus status)
{
   assert(status != TILEC_OK);
   char text[4096] = "";
   if (m->rt)
      tilec_runtime_error(m->rt, text, sizeof text);
   size_t n = strlen(text);
   while (n && text[n - 1] == '\n')
      text[--n] = 0;
   tl_cmd_error("%s", n ? text : tilec_status_string(status));
   return tl_cmd_exit_code(status);
}

static bool
read_options(TlMeasure *m)
{
   uint32_t warmup, rep, reference;
   if (!tl_cmd_number(m->c, TL_OPT_WARMUP, 600000, &warmup) ||
       !tl_cmd_number(m->c, TL_OPT_REP, 600000, &rep) ||
       !tl_cmd_number(m->c, TL_OPT_REFERENCE, 100000, &reference))
      return false;
   m->options = (TilecTuneOptions){
      .struct_size = sizeof m->options,
      .force = tl_option(&m->c->cl, TL_OPT_FORCE) || tl_option(&m->c->cl, TL_OPT_REFERENCE),
      .on_host = true,
      .warm_cache = tl_option(&m->c->cl, TL_OPT_WARM_CACHE) != NULL,
      .warmup_ms = warmup,
      .rep_ms = rep,
      .reference = tl_option(&m->c->cl, TL_OPT_REFERENCE) ? reference + 1 : 0,
   };
   return true;
}

static int
open_runtime(TlMeasure *m)
{
   const char *on = tl_option(&m->c->cl, TL_OPT_ON);
   static const char *const names[] = {"cuda", "cpu", "sim"};
   unsigned which = 0;
   while (which < 3 && on && strcmp(on, names[which]) != 0)
      which++;
   if (which == 3 && strcmp(on, "auto") != 0)
      return tl_cmd_misuse("--on takes auto, cpu, sim or cuda; found '%s'", on);
   bool is_auto = !on || which == 3;
   uint32_t threads;
   if (!tl_cmd_number(m->c, TL_OPT_THREADS, 4096, &threads))
      return EXIT_USAGE;
   char error[512] = "";
   TilecRuntimeOptions o = {.struct_size = sizeof o,
                            .executor = is_auto ? TILEC_ON_CUDA : (TilecExecutor)which,
                            .num_threads = threads,
                            .error = error,
                            .error_bytes = sizeof error};
   TilecStatus status = tilec_runtime_open(&o, &m->rt);
   if (status != TILEC_OK && is_auto) {
      o.executor = TILEC_ON_CPU;
      status = tilec_runtime_open(&o, &m->rt);
   }
   if (status == TILEC_OK)
      return EXIT_OK;
   m->rt = NULL;
   tl_cmd_error("%s", error[0] ? error : tilec_status_string(status));
   return EXIT_ENVIRONMENT;
}

/* The argument as the runtime takes it. */
static TilecArg
runtime_arg(const TlCmdArg *a)
{
   assert(!a->param->is_constexpr);
   const char *type = tl_cmd_arg_scalar(a), *text = a->param->default_text;
   bool is_float = type[0] == 'f' || type[0] == 'b';
   if (!a->is_given) {
      if (!text)
         return tilec_none();
      bool whole = !strpbrk(text, ".eE") && !is_float;
      return whole ? tilec_int(TILEC_I64, strtoll(text, NULL, 0)) : tilec_fp32(strtof(text, NULL));
   }
   switch (a->value.kind) {
   case TL_CLI_ARRAY:
      return tilec_view(tl_public_dtype(a->value.array.dtype), a->buffer, 0);
   case TL_CLI_BOOL:
      return tilec_int(TILEC_I1, a->value.i);
   case TL_CLI_FLOAT:
      return strcmp(type, "fp64") == 0 ? tilec_fp64(a->value.f) : tilec_fp32((float)a->value.f);
   case TL_CLI_INT:
      if (is_float)
         return tilec_fp64((double)a->value.i);
      return a->value.is_u64 ? tilec_uint(TILEC_U64, (uint64_t)a->value.i)
                             : tilec_int(TILEC_I64, a->value.i);
   default:
      return tilec_none();
   }
}

/* False after a message. */
static bool
tensor_arg(TlMeasure *m, const TlCmdArg *a, TilecArg *out)
{
   TilecTensor *t = tl_cmd_arg_tensor(m->c->arena, a, a->param->type);
   if (!t)
      return false;
   t->base = runtime_arg(a);
   *out = tilec_tensor(t);
   return true;
}

/* Defines, launch arguments, and what the compiler may know of these. */
static bool
collect(TlMeasure *m)
{
   m->values = tl_new_array(m->c->arena, TilecArg, m->args.num + 1);
   for (unsigned i = 0; i < m->args.num; i++) {
      const TlCmdArg *a = &m->args.list[i];
      TilecArg *value = &m->values[m->num_values];
      m->num_values += !a->param->is_constexpr;
      if (tl_cmd_is_descriptor(a->param->type)) {
         if (!tensor_arg(m, a, value))
            return false;
      } else if (!a->param->is_constexpr) {
         *value = runtime_arg(a);
      }
   }
   assert(m->num_values <= m->args.num);
   tl_cmd_args_defines(&m->args, &m->o);
   return true;
}

static bool
read_grid(TlMeasure *m)
{
   TlCmdGrid grid;
   const char *text = tl_option(&m->c->cl, TL_OPT_GRID);
   m->launch = (TilecLaunch){.grid = {TILEC_OWN_GRID, 1, 1}};
   if (!tl_cmd_grid(m->c, &m->o, &grid))
      return false;
   if (grid.num)
      m->o.grid = tl_arena_printf(m->c->arena, "(%s)", text);
   return true;
}

static TilecStatus
open_kernel(TlMeasure *m)
{
   TilecJitOptions jo = {.struct_size = sizeof jo,
                         .tune = TILEC_TUNE_STORED,
                         .cache_dir = tl_cmd_cache_dir(m->c),
                         .tune_database = m->database};
   const char **defines = tl_new_array(m->c->arena, const char *, m->o.num_defines + 1);
   for (size_t i = 0; i < m->o.num_defines; i++)
      defines[i] =
         tl_arena_printf(m->c->arena, "%s=%s", m->o.defines[i].name, m->o.defines[i].value);
   TilecSource s = tl_source_of_options(&m->o);
   s.defines = defines;
   s.num_defines = m->o.num_defines;
   if (s.arch && strcmp(s.arch, "native") == 0)
      s.arch = NULL;
   TilecStatus status = tilec_jit_attach(m->rt, &jo);
   if (status == TILEC_OK)
      status = tilec_module_from_source(m->rt, &s, &m->module);
   return status == TILEC_OK ? tilec_module_kernel(m->module, NULL, &m->kernel) : status;
}

static TilecStatus
list_configs(TlMeasure *m)
{
   TilecSessionOptions so = {.struct_size = sizeof so};
   TilecStatus status = tilec_session_new(&so, &m->session);
   if (status == TILEC_OK)
      status = tilec_list_kernels(m->session, &m->o, &m->listing);
   for (uint32_t i = 0; status == TILEC_OK && i < tilec_listing_count(m->listing); i++) {
      const TilecKernelDecl *d = tilec_listing_kernel(m->listing, i);
      if (strcmp(d->name, m->o.kernel) == 0)
         m->tuning = d->tuning;
   }
   return status;
}

int
tl_measure_read(TlMeasure *m, TlCommand *c)
{
   m->c = c;
   m->args.c = c;
   if (tl_cmd_one_file(c) != EXIT_OK)
      return EXIT_USAGE;
   if (!tl_cmd_options(c, &m->o, &m->extra) || !read_options(m) || !read_grid(m))
      return EXIT_USAGE;
   int code = tl_cmd_args_params(&m->args, &m->o, &m->extra);
   if (code == EXIT_OK)
      code = tl_cmd_args_values(&m->args);
   if (code == EXIT_OK && !tl_cmd_args_complete(&m->args))
      code = EXIT_PROGRAM;
   return code;
}

int
tl_measure_open(TlMeasure *m)
{
   int code = open_runtime(m);
   if (code != EXIT_OK)
      return code;
   TilecStatus status = tl_cmd_args_upload(&m->args, m->rt);
   if (status != TILEC_OK)
      return tl_measure_error(m, status);
   if (!collect(m))
      return EXIT_PROGRAM;
   m->database = tl_measure_database(m->c);
   make_folder(m->c, m->database);
   status = open_kernel(m);
   if (status == TILEC_OK)
      status = list_configs(m);
   return status == TILEC_OK ? EXIT_OK : tl_measure_error(m, status);
}

void
tl_measure_close(TlMeasure *m)
{
   tilec_listing_free(m->listing);
   tilec_session_free(m->session);
   tilec_module_free(m->module);
   tl_cmd_args_free(&m->args);
   if (m->rt)
      tilec_runtime_close(m->rt);
}

/* ---- measuring ---- */
static void
show_progress(void *user, const TilecTuneProgress *p)
{
   if (p->rounds)
      tl_progress_say(user, "measuring %u configurations: round %u of %u", p->candidates,
                      p->measured, p->rounds);
   else
      tl_progress_say(user, "compiling %u of %u configurations", p->compiled, p->candidates);
}

TilecStatus
tl_measure_run(TlMeasure *m, const TilecTuneOptions *options, TilecTuneResult **out)
{
   assert(m->kernel);
   TilecTuneOptions o = *options;
   TlProgress progress;
   o.on_progress = show_progress;
   o.user = &progress;
   tl_progress_begin(&progress, "compiling");
   TilecStatus status = tilec_kernel_tune(m->kernel, &m->launch, m->values, m->num_values, &o, out);
   tl_progress_end(&progress);
   return status;
}

static void
take_config(TlMeasure *m, const TilecConfig *config, TilecCompileOptions *o)
{
   TL_VEC(TilecDefine) defines = {0};
   for (size_t i = 0; i < o->num_defines; i++)
      tl_vec_push(m->c->arena, &defines, o->defines[i]);
   for (uint32_t i = 0; i < config->num_values; i++)
      tl_vec_push(m->c->arena, &defines,
                  (TilecDefine){tl_arena_strdup(m->c->arena, config->values[i].name),
                                tl_arena_strdup(m->c->arena, config->values[i].value)});
   o->defines = defines.data;
   o->num_defines = defines.len;
   o->num_warps = config->num_warps;
   o->num_stages = config->num_stages;
}

int
tl_measure_choose(TlCommand *c, TilecCompileOptions *o)
{
   TlMeasure *m = tl_new(c->arena, TlMeasure);
   TilecTuneResult *r = NULL;
   int code = tl_measure_read(m, c);
   if (code == EXIT_OK)
      code = tl_measure_open(m);
   if (code == EXIT_OK && m->tuning) {
      TilecStatus status = tl_measure_run(m, &m->options, &r);
      code = status == TILEC_OK ? EXIT_OK : tl_measure_error(m, status);
   }
   const TilecTuneInfo *info = tilec_tune_info(r);
   const char *picked = info ? info->candidates[info->winner].config : "";
   for (uint32_t i = 0; m->tuning && i < m->tuning->num_configs; i++)
      if (strcmp(m->tuning->configs[i].text, picked) == 0)
         take_config(m, &m->tuning->configs[i], o);
   if (info && info->note[0])
      fprintf(stderr, "tilec: note: %s\n", info->note);
   tilec_tune_free(r);
   tl_measure_close(m);
   return code;
}

/* ---- tilec tune ---- */
static bool
put_text(void *user, const char *text, size_t len)
{
   tl_sb_mem(user, text, len);
   return true;
}

static int
export_choices(TlCommand *c, const char *database, const char *path)
{
   TlSb sb;
   tl_sb_init(&sb, c->arena);
   char error[256] = "";
   if (tilec_tune_export(database, put_text, &sb, error, sizeof error) != TILEC_OK) {
      tl_cmd_error("%s", error[0] ? error : "the choices could not be read");
      return EXIT_ENVIRONMENT;
   }
   return tl_cmd_write(c, path, tl_sb_cstr(&sb), sb.len) ? EXIT_OK : EXIT_ENVIRONMENT;
}

static int
import_choices(TlCommand *c, const char *database, const char *path)
{
   const char *text, *why;
   char error[256] = "";
   size_t len;
   uint32_t count = 0;
   if (!tl_read_file(c->arena, path, &text, &len, &why)) {
      tl_cmd_error("cannot read '%s': %s", path, why);
      return EXIT_ENVIRONMENT;
   }
   TilecStatus status = tilec_tune_import(database, text, len, &count, error, sizeof error);
   if (status != TILEC_OK) {
      tl_cmd_error("'%s': %s", path, error[0] ? error : tilec_status_string(status));
      return status == TILEC_BAD_IMAGE ? EXIT_PROGRAM : EXIT_ENVIRONMENT;
   }
   printf("%u choice%s\n", count, count == 1 ? "" : "s");
   return EXIT_OK;
}

/* What the numbers of the table are. */
static void
print_measure(const TlMeasure *m, const TilecTuneInfo *info)
{
   bool is_gpu = tilec_runtime_executor(m->rt) == TILEC_ON_CUDA;
   if (!info->from_store)
      printf("  median ms      20 %% to 80 %% and fastest of the launches, timed %s\n",
             !is_gpu                 ? "by the clock on this CPU"
             : m->options.warm_cache ? "by events, L2 cache as left"
                                     : "by events, L2 cache emptied");
}

/* How the marked one was chosen among others as fast. */
static void
print_choice(const TilecTuneInfo *info)
{
   uint32_t tied = 0;
   for (uint32_t i = 0; i < info->num_candidates; i++)
      tied += info->candidates[i].is_tied;
   if (tied > 1)
      printf("~ %u medians differ by no more than two standard errors (or 0.5 %%): * needs the "
             "fewest registers and least shared memory of them, then has the lowest median\n",
             tied);
}

static void
print_candidate(const TilecTuneCandidate *c, bool is_winner)
{
   const char *mark = is_winner ? "*" : c->is_tied ? "~" : " ";
   if (c->status == TILEC_OK && c->num_samples)
      printf("%s %9.4f ms  (%.4f to %.4f, at best %.4f; %u)  %s\n", mark, c->median_ms, c->low_ms,
             c->high_ms, c->samples[0], c->num_samples, c->config);
   else if (c->status == TILEC_OK)
      printf("%s stored         %s\n", is_winner ? "*" : " ", c->config);
   else
      printf("  dropped        %s: %s\n", c->config, c->reason);
}

static int
tune_kernel(TlCommand *c)
{
   TlMeasure *m = tl_new(c->arena, TlMeasure);
   TilecTuneResult *r = NULL;
   int code = tl_measure_read(m, c);
   if (code == EXIT_OK)
      code = tl_measure_open(m);
   if (code == EXIT_OK && !m->tuning) {
      tl_cmd_error(
         "kernel '%s' has no configurations to choose from: @autotune(configs=[..], key=[..]) "
         "above it lists them",
         m->args.kernel);
      code = EXIT_PROGRAM;
   }
   if (code == EXIT_OK) {
      TilecStatus status = tl_measure_run(m, &m->options, &r);
      code = status == TILEC_OK ? EXIT_OK : tl_measure_error(m, status);
   }
   const TilecTuneInfo *info = tilec_tune_info(r);
   if (info) {
      printf("%s for %s\n", m->args.kernel, info->key);
      print_measure(m, info);
      for (uint32_t i = 0; i < info->num_candidates; i++)
         print_candidate(&info->candidates[i], i == info->winner);
      print_choice(info);
      if (info->is_stored && !info->from_store)
         printf("kept in %s\n", m->database);
      if (info->note[0])
         fprintf(stderr, "tilec: note: %s\n", info->note);
      if (m->database && info->note[0] && !info->is_stored)
         code = EXIT_ENVIRONMENT; /* what it is called for, a choice that is kept, is not there */
   }
   tilec_tune_free(r);
   tl_measure_close(m);
   return code;
}

int
tl_cmd_tune(TlCommand *c)
{
   const char *to = tl_option(&c->cl, TL_OPT_EXPORT), *from = tl_option(&c->cl, TL_OPT_IMPORT);
   if (!to && !from)
      return tune_kernel(c);
   const char *database = tl_measure_database(c);
   if (!database)
      return tl_cmd_misuse("no database: name one with --database=FILE");
   if (c->cl.operands.len)
      return tl_cmd_misuse(
         "--%s is about the choices of all kernels: leave '%s' out, as in tilec tune "
         "--%s=%s",
         to ? "export" : "import", c->cl.operands.data[0], to ? "export" : "import",
         to ? to : from);
   make_folder(c, database);
   int code = from ? import_choices(c, database, from) : EXIT_OK;
   return code == EXIT_OK && to ? export_choices(c, database, to) : code;
}
