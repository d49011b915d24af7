/* tilec list and doctor, as text and as JSON. */
#include "command/cached.h"
#include "command/measure.h"
#include "compile/program.h"
#include "command/ptxas.h"
#include "tilec/runtime.h"
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
write_json(TlCommand *c, TlSb *sb)
{
   tl_sb_char(sb, '\n');
   return tl_cmd_write(c, NULL, sb->data, sb->len) ? EXIT_OK : EXIT_ENVIRONMENT;
}

static void
json_names(TlSb *out, const char *key, const char *const *names, unsigned n)
{
   tl_json_open_field(out, key, '[');
   for (unsigned i = 0; i < n; i++)
      tl_json_str(out, NULL, names[i]);
   tl_json_close(out, ']');
}

/* ---- list ---- */
static void
print_names(const char *what, const char *const *names, unsigned n)
{
   for (unsigned i = 0; i < n; i++)
      printf("%s%s%s", i ? ", " : what, names[i], i + 1 == n ? "\n" : "");
}

static void
print_tuning(TlCompilation *comp, const TlKernelInfo *k)
{
   TlSpecialization spec = {.kernel = k->name};
   TlTuning t;
   for (unsigned i = 0; i < k->num_params; i++)
      if (k->params[i].value_matters)
         printf("   heuristics look at %s\n", k->params[i].name);
   if (!tl_sema_tuning(comp->sema, &spec, &t))
      return;
   print_names("   tuned for each ", t.keys, t.num_keys);
   print_names("   reset to zero  ", t.reset_to_zero, t.num_reset);
   print_names("   restored       ", t.restore_value, t.num_restore);
   for (unsigned i = 0; i < t.num_configs; i++)
      printf("   config %-3u %s\n", i, t.configs[i].text);
}

static void
print_kernel(TlCompilation *comp, const TlKernelInfo *k)
{
   TlLineCol at = tl_source_line_col(comp->sources, k->range.file, k->range.begin);
   const TlSource *src = tl_source(comp->sources, k->range.file);
   printf("%s(", k->name);
   for (unsigned i = 0; i < k->num_params; i++) {
      const TlKernelParam *p = &k->params[i];
      printf("%s%s", i ? ", " : "", p->name);
      if (p->is_constexpr)
         printf(": constexpr");
      else if (p->annotation)
         printf(": %s", p->annotation);
      if (p->default_text)
         printf(" = %s", p->default_text);
   }
   printf(")  %s:%u%s\n", src ? src->name : "?", at.line, k->is_helper ? "  (helper)" : "");
   print_tuning(comp, k);
}

static void
json_tuning(TlSb *out, TlCompilation *comp, const TlKernelInfo *k)
{
   TlSpecialization spec = {.kernel = k->name};
   TlTuning t;
   if (!tl_sema_tuning(comp->sema, &spec, &t))
      return;
   json_names(out, "tuned_for_each", t.keys, t.num_keys);
   json_names(out, "reset_to_zero", t.reset_to_zero, t.num_reset);
   json_names(out, "restored", t.restore_value, t.num_restore);
   tl_json_open_field(out, "configs", '[');
   for (unsigned i = 0; i < t.num_configs; i++)
      tl_json_str(out, NULL, t.configs[i].text);
   tl_json_close(out, ']');
}

static void
json_kernel(TlSb *out, TlCompilation *comp, const TlKernelInfo *k)
{
   TlLineCol at = tl_source_line_col(comp->sources, k->range.file, k->range.begin);
   const TlSource *src = tl_source(comp->sources, k->range.file);
   tl_json_open(out, '{');
   tl_json_str(out, "name", k->name);
   tl_json_str(out, "file", src ? src->name : NULL);
   tl_json_int(out, "line", at.line);
   tl_json_bool(out, "is_helper", k->is_helper);
   tl_json_open_field(out, "params", '[');
   for (unsigned i = 0; i < k->num_params; i++) {
      const TlKernelParam *p = &k->params[i];
      tl_json_open(out, '{');
      tl_json_str(out, "name", p->name);
      tl_json_bool(out, "is_constexpr", p->is_constexpr);
      tl_json_str(out, "type", p->is_constexpr ? NULL : p->annotation);
      tl_json_str(out, "default", p->default_text);
      tl_json_bool(out, "heuristics_look_at_it", p->value_matters);
      tl_json_close(out, '}');
   }
   tl_json_close(out, ']');
   json_tuning(out, comp, k);
   tl_json_close(out, '}');
}

/* Text goes out as it is made; JSON, whole, into `json`. */
static void
list_kernels(TlCompilation *comp, const char *file, TlSb *json)
{
   const TlKernelInfo *kernels;
   unsigned n = tl_sema_kernels(comp->sema, &kernels);
   tl_sema_report_unlisted(comp->sema);
   if (json)
      tl_json_open(json, '[');
   for (unsigned i = 0; i < n; i++)
      if (json)
         json_kernel(json, comp, &kernels[i]);
      else
         print_kernel(comp, &kernels[i]);
   if (json)
      tl_json_close(json, ']');
   else if (!n)
      tl_cmd_error("%s: no kernels; a kernel is a function, 'def name(parameters):', with "
                   "@triton.jit, @jit or, in a .tile file, @kernel in the line above",
                   file);
}

int
tl_cmd_list(TlCommand *c)
{
   if (tl_cmd_one_file(c) != EXIT_OK)
      return EXIT_USAGE;
   TilecCompileOptions o;
   TlCompileExtra extra;
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   bool as_json = tl_option(&c->cl, TL_OPT_JSON) != NULL;
   TlCompilation comp;
   TlSb json;
   tl_sb_init(&json, c->arena);
   TilecStatus status = tl_compilation_init(&comp, NULL, &extra);
   if (status == TILEC_OK)
      status = tl_load_names(&comp, &o);
   if (status == TILEC_OK && setjmp(comp.oom))
      status = TILEC_NO_MEMORY;
   else if (status == TILEC_OK)
      list_kernels(&comp, o.file, as_json ? &json : NULL);
   tl_cmd_diagnostics(c, &comp); /* also what the tuner leaves out, which print_kernel found */
   tl_compilation_free(&comp);
   if (status == TILEC_OK && as_json)
      return write_json(c, &json);
   return tl_cmd_exit_code(status);
}

/* ---- doctor ---- */
static const char self_test[] = "@kernel\n"
                                "def self_test(x: *fp32, n: i32, BLOCK: constexpr = 64):\n"
                                "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n"
                                "    store(x + i, load(x + i, i < n) * 2, i < n)\n";

typedef struct Health {
   bool compiles, runs_on_cpu;
   long threads;
   const char *ptxas;      /* NULL: none */
   const char *cache;      /* its folder; NULL: no folder is named */
   const char *cache_note; /* "" when it is there and can be written */
   const char *database;   /* of the tuner's choices; NULL: nothing tuned yet */
   unsigned choices;
   const char *database_error; /* NULL: none */
   bool has_gpu;
   TilecDeviceInfo gpu;
   char gpu_error[256]; /* why there is none */
} Health;

static bool
check_compile(bool run)
{
   TilecSessionOptions so = {.struct_size = sizeof so};
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .file = "self_test.tile",
                            .source = self_test,
                            .source_bytes = TILEC_STRLEN};
   TilecSession *s;
   TilecProgram *p = NULL;
   if (tilec_session_new(&so, &s) != TILEC_OK)
      return false;
   bool ok = tilec_compile(s, &o, &p) == TILEC_OK;
   if (ok && run) {
      float x[100];
      for (int i = 0; i < 100; i++)
         x[i] = (float)i;
      TilecArg args[] = {tilec_ptr(TILEC_FP32, x, sizeof x), tilec_int(TILEC_I32, 100)};
      TilecHostLaunch l = {.struct_size = sizeof l, .grid = {2, 1, 1}, .args = args, .num_args = 2};
      TilecFault fault;
      ok = tilec_program_run_cpu(p, &l, &fault) == TILEC_OK && x[99] == 198.0f;
   }
   tilec_program_free(p);
   tilec_session_free(s);
   return ok;
}

static void
check_gpu(Health *h)
{
   TilecRuntimeOptions ro = {
      .struct_size = sizeof ro, .error = h->gpu_error, .error_bytes = sizeof h->gpu_error};
   TilecRuntime *rt;
   TilecStatus status = tilec_runtime_open(&ro, &rt);
   if (status == TILEC_OK) {
      status = tilec_runtime_device(rt, &h->gpu);
      tilec_runtime_close(rt);
   }
   h->has_gpu = status == TILEC_OK;
   if (!h->has_gpu && !h->gpu_error[0])
      snprintf(h->gpu_error, sizeof h->gpu_error, "%s", tilec_status_string(status));
}

static bool
count_rows(void *user, const char *text, size_t len)
{
   *(unsigned *)user += len > 0 && text[0] == '{';
   return true;
}

/* Where kernels and the tuner's choices are kept, and whether that works. */
static void
check_cache(TlCommand *c, Health *h)
{
   char error[256] = "";
   h->cache = tl_cmd_cache_dir(c);
   if (!h->cache)
      return;
   h->cache_note = access(h->cache, W_OK) == 0 ? ""
                   : errno == ENOENT           ? ", created when first needed"
                                               : ", not writable: nothing is kept";
   const char *database = tl_measure_database(c);
   if (access(database, F_OK) != 0)
      return;
   h->database = database;
   if (tilec_tune_export(database, count_rows, &h->choices, error, sizeof error) != TILEC_OK)
      h->database_error = tl_arena_strdup(c->arena, error);
}

static void
print_gpu(const Health *h)
{
   const TilecDeviceInfo *d = &h->gpu;
   if (!h->has_gpu) {
      printf("gpu         none: %.*s\n", (int)strcspn(h->gpu_error, ";"), h->gpu_error);
      printf("            kernels run on the CPU executor; PTX can still be made\n");
      return;
   }
   printf("gpu         %s, %s, %u SMs, %.1f GiB, driver CUDA %d.%d\n", d->name, d->arch, d->num_sms,
          (double)d->memory_bytes / (1 << 30), d->driver_version / 1000,
          d->driver_version % 1000 / 10);
   if (d->max_ptx_version)
      printf("            takes PTX up to %u.%u, %u KiB of shared memory a block, %.0f MiB of L2\n",
             d->max_ptx_version / 10, d->max_ptx_version % 10, d->max_shared_bytes / 1024,
             (double)d->l2_bytes / (1 << 20));
}

static void
print_health(const Health *h)
{
   printf("tilec       %s, LLVM %s\n", tilec_version(), tl_codegen_llvm_version());
   printf("compiler    %s\n", h->compiles ? "ok (a test kernel was compiled to PTX)" : "FAILED");
   printf("cpu         %s, %ld threads\n", h->runs_on_cpu ? "ok (the test kernel ran)" : "FAILED",
          h->threads);
   printf("ptxas       %s\n",
          h->ptxas ? h->ptxas : "not found (not needed; the driver compiles PTX)");
   printf("targets    ");
   for (unsigned i = 0; tl_target_at(i); i++)
      printf(" %s", tl_target_at(i)->arch);
   putchar('\n');
   if (!h->cache)
      printf("cache       none: neither XDG_CACHE_HOME nor HOME names a folder\n");
   else
      printf("cache       %s%s\n", h->cache, h->cache_note);
   if (h->database_error)
      printf("tuner       %s\n", h->database_error);
   else if (h->database)
      printf("tuner       %u choice%s in %s\n", h->choices, h->choices == 1 ? "" : "s",
             h->database);
   else if (h->cache)
      printf("tuner       nothing tuned yet\n");
   print_gpu(h);
}

static void
json_gpu(TlSb *out, const Health *h)
{
   const TilecDeviceInfo *d = &h->gpu;
   if (!h->has_gpu) {
      tl_json_str(out, "gpu", NULL);
      tl_json_str(out, "gpu_error", h->gpu_error);
      return;
   }
   tl_json_open_field(out, "gpu", '{');
   tl_json_str(out, "name", d->name);
   tl_json_str(out, "arch", d->arch);
   tl_json_int(out, "num_sms", d->num_sms);
   tl_json_int(out, "memory_bytes", (int64_t)d->memory_bytes);
   tl_json_int(out, "l2_bytes", d->l2_bytes);
   tl_json_int(out, "max_shared_bytes", d->max_shared_bytes);
   tl_json_int(out, "driver_version", d->driver_version);
   tl_json_int(out, "max_ptx_version", d->max_ptx_version);
   tl_json_close(out, '}');
}

static void
json_health(TlSb *out, const Health *h)
{
   tl_json_open(out, '{');
   tl_json_str(out, "tilec", tilec_version());
   tl_json_str(out, "llvm", tl_codegen_llvm_version());
   tl_json_bool(out, "compiles", h->compiles);
   tl_json_bool(out, "runs_on_cpu", h->runs_on_cpu);
   tl_json_int(out, "threads", h->threads);
   tl_json_str(out, "ptxas", h->ptxas);
   tl_json_open_field(out, "targets", '[');
   for (unsigned i = 0; tl_target_at(i); i++)
      tl_json_str(out, NULL, tl_target_at(i)->arch);
   tl_json_close(out, ']');
   tl_json_str(out, "cache", h->cache);
   tl_json_bool(out, "cache_is_writable", h->cache && !h->cache_note[0]);
   tl_json_str(out, "tuner", h->database);
   tl_json_int(out, "choices", h->choices);
   tl_json_str(out, "tuner_error", h->database_error);
   json_gpu(out, h);
   tl_json_close(out, '}');
}

int
tl_cmd_doctor(TlCommand *c)
{
   if (c->cl.operands.len)
      return tl_cmd_misuse("'doctor' takes no file; found '%s'", c->cl.operands.data[0]);
   Health h = {.compiles = check_compile(false),
               .runs_on_cpu = check_compile(true),
               .threads = sysconf(_SC_NPROCESSORS_ONLN),
               .ptxas = tl_tool_find(c->arena, "ptxas", NULL)};
   int code = h.compiles && h.runs_on_cpu ? EXIT_OK : EXIT_BUG;
   check_cache(c, &h);
   check_gpu(&h);
   if (!tl_option(&c->cl, TL_OPT_JSON)) {
      print_health(&h);
      return code;
   }
   TlSb sb;
   tl_sb_init(&sb, c->arena);
   json_health(&sb, &h);
   int written = write_json(c, &sb);
   return code ? code : written;
}
