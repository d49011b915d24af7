/* tilec list and doctor. */
#include "command/cached.h"
#include "command/measure.h"
#include "compile/program.h"
#include "command/ptxas.h"
#include "tilec/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int
tl_cmd_list(TlCommand *c)
{
   if (c->cl.operands.len != 1)
      return tl_cmd_misuse("'list' takes one file");
   TilecCompileOptions o;
   TlCompileExtra extra;
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   TlCompilation comp;
   TilecStatus status = tl_compilation_init(&comp, NULL, &extra);
   if (status == TILEC_OK)
      status = tl_load_names(&comp, &o);
   if (status == TILEC_OK && !setjmp(comp.oom)) {
      const TlKernelInfo *kernels;
      unsigned n = tl_sema_kernels(comp.sema, &kernels);
      for (unsigned i = 0; i < n; i++)
         print_kernel(&comp, &kernels[i]);
      if (!n)
         tl_cmd_error("%s: no kernels; a kernel is a function under @kernel, @jit or @triton.jit",
                      o.file);
   }
   tl_cmd_diagnostics(c, &comp); /* also what the tuner leaves out, which print_kernel found */
   tl_compilation_free(&comp);
   return tl_cmd_exit_code(status);
}

/* ---- doctor ---- */
static const char self_test[] = "@kernel\n"
                                "def self_test(x: *fp32, n: i32, BLOCK: constexpr = 64):\n"
                                "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n"
                                "    store(x + i, load(x + i, i < n) * 2, i < n)\n";

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
check_gpu(void)
{
   char error[256] = "";
   TilecRuntimeOptions ro = {.struct_size = sizeof ro, .error = error, .error_bytes = sizeof error};
   TilecRuntime *rt;
   TilecStatus status = tilec_runtime_open(&ro, &rt);
   if (status != TILEC_OK) {
      printf("gpu         none: %s\n", error[0] ? error : tilec_status_string(status));
      printf("            kernels run on the CPU executor; PTX can still be made\n");
      return;
   }
   TilecDeviceInfo d;
   status = tilec_runtime_device(rt, &d);
   if (status == TILEC_OK)
      printf("gpu         %s, %s, %u SMs, %.1f GiB, driver CUDA %d.%d\n", d.name, d.arch, d.num_sms,
             (double)d.memory_bytes / (1 << 30), d.driver_version / 1000,
             d.driver_version % 1000 / 10);
   if (status == TILEC_OK && d.max_ptx_version)
      printf("            takes PTX up to %u.%u, %u KiB of shared memory a block, %.0f MiB of L2\n",
             d.max_ptx_version / 10, d.max_ptx_version % 10, d.max_shared_bytes / 1024,
             (double)d.l2_bytes / (1 << 20));
   tilec_runtime_close(rt);
}

/* Which architectures PTX is made for. */
static void
list_targets(void)
{
   printf("targets    ");
   for (unsigned i = 0; tl_target_at(i); i++)
      printf(" %s", tl_target_at(i)->arch);
   putchar('\n');
}

static bool
count_rows(void *user, const char *text, size_t len)
{
   *(unsigned *)user += len > 0 && text[0] == '{';
   return true;
}

/* Where kernels and the tuner's choices are kept, and whether that works. */
static void
check_cache(TlCommand *c)
{
   const char *dir = tl_cmd_cache_dir(c), *database = tl_measure_database(c);
   if (!dir) {
      printf("cache       none: neither XDG_CACHE_HOME nor HOME names a folder\n");
      return;
   }
   const char *state = access(dir, W_OK) == 0 ? ""
                       : errno == ENOENT      ? ", created when first needed"
                                              : ", not writable: nothing is kept";
   printf("cache       %s%s\n", dir, state);
   unsigned choices = 0;
   char error[256] = "";
   if (access(database, F_OK) != 0)
      printf("tuner       nothing tuned yet\n");
   else if (tilec_tune_export(database, count_rows, &choices, error, sizeof error) == TILEC_OK)
      printf("tuner       %u choices in %s\n", choices, database);
   else
      printf("tuner       %s\n", error);
}

int
tl_cmd_doctor(TlCommand *c)
{
   if (c->cl.operands.len)
      return tl_cmd_misuse("'doctor' takes no file; found '%s'", c->cl.operands.data[0]);
   printf("tilec       %s, LLVM %s\n", tilec_version(), tl_codegen_llvm_version());
   bool ptx = check_compile(false), cpu = check_compile(true);
   printf("compiler    %s\n", ptx ? "ok (a test kernel was compiled to PTX)" : "FAILED");
   printf("cpu         %s, %ld threads\n", cpu ? "ok (the test kernel ran)" : "FAILED",
          sysconf(_SC_NPROCESSORS_ONLN));
   const char *ptxas = tl_ptxas_find(c->arena, NULL);
   printf("ptxas       %s\n", ptxas ? ptxas : "not found (not needed; the driver compiles PTX)");
   list_targets();
   check_cache(c);
   check_gpu();
   return ptx && cpu ? EXIT_OK : EXIT_BUG;
}
