/* Random tile programs on the GPU, or its simulator, against the CPU executor.
 *
 *    gpu_programs [--on cuda|sim] [--count N] [--seed S] [--seconds T] [--jobs J] [--arch A]
 *                 [--save DIR]
 *    gpu_programs [--on cuda|sim] --program SEED [--reduce]
 *
 * Programs S, S + 1 .. S + N - 1 are shared out to J processes, so that one that takes its process
 * down is found and named.  A failure prints the command that repeats it; --program prints the
 * program as well, and --reduce drops its operations while it goes on failing in the same way.
 * With --save the simulator's programs are compiled as far as PTX, which goes to DIR/pSEED.ptx.
 * Every operation and family of the table must occur when 3000 programs or more are run.
 * Exits with 77 (skipped) on a machine without a GPU. */
#include "support/run_program.h"

#include "tilec/runtime.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
   SKIPPED = 77,
   MAX_JOBS = 256,
   MAX_LINES = 4096,
   PROGRAM_SECONDS = 100, /* one program may take */
   DEVICE_BYTES = 64 << 20,
   NEED_COVERAGE = 3000,
   COVER_ONE_IN = 8, /* programs whose lowered code is counted */
};

typedef enum Outcome {
   AGREES,
   DIFFERS,
   NOT_COMPILED,
   NOT_ON_TARGET, /* a located error says that the target lacks it: no failure */
   CPU_FAULT,
   FAULT, /* on the simulator or the GPU */
   CRASHED,
   OUTCOME_COUNT
} Outcome;

static const char *const outcome_text[OUTCOME_COUNT] = {
   [AGREES] = "agrees",
   [DIFFERS] = "results differ",
   [NOT_COMPILED] = "does not compile",
   [NOT_ON_TARGET] = "needs another target",
   [CPU_FAULT] = "fails on the CPU executor",
   [FAULT] = "fails on the GPU",
   [CRASHED] = "takes the process down",
};

typedef struct Options {
   bool on_sim, reduce, one;
   uint64_t count, seed, seconds, program;
   unsigned jobs;
   const char *arch; /* NULL: the device's; on the simulator several */
   const char *save; /* NULL: PTX is not kept */
   TilecTma tma;
} Options;

/* One process's results, in memory that all share. */
typedef struct Job {
   pid_t pid;
   bool busy;
   uint64_t program; /* being run */
   uint64_t ran, failed[OUTCOME_COUNT];
   double compile_s, cpu_s, device_s;
   GenCoverage coverage;
} Job;

typedef struct Shared {
   _Atomic uint64_t next;
   Outcome outcome; /* of one reduction step */
   char why[RUN_WHY_BYTES];
   Job job[MAX_JOBS];
} Shared;

/* Where programs are run; opened in the process that uses it. */
typedef struct Place {
   const Options *options;
   TilecRuntime *rt; /* NULL on the simulator */
   TilecBuffer *memory;
   TilecDeviceInfo device;
} Place;

static double
now(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the GPU ---- */
static TilecStatus
open_place(Place *p, const Options *o, char *why)
{
   *p = (Place){.options = o};
   if (o->on_sim)
      return TILEC_OK;
   TilecRuntimeOptions ro = {.struct_size = sizeof ro, .error = why, .error_bytes = RUN_WHY_BYTES};
   TilecStatus status = tilec_runtime_open(&ro, &p->rt);
   if (status == TILEC_OK)
      status = tilec_runtime_device(p->rt, &p->device);
   if (status == TILEC_OK)
      status = tilec_buffer_new(p->rt, DEVICE_BYTES, &p->memory);
   return status;
}

static void
close_place(Place *p)
{
   if (p->rt) {
      tilec_buffer_free(p->memory);
      tilec_runtime_close(p->rt);
   }
}

static TilecArg
device_argument(void *user, TilecDtype dtype, size_t at, size_t bytes)
{
   (void)bytes;
   return tilec_view(dtype, user, at);
}

/* The record for so few multiprocessors. */
static char *
for_multiprocessors(const char *json, unsigned num)
{
   static const char name[] = "num_sms";
   char *copy = strdup(json), digits[sizeof name];
   if (!copy)
      abort();
   snprintf(digits, sizeof digits, "%-7u", num);
   for (char *at = copy; (at = strstr(at, name));)
      memcpy(at, digits, sizeof name - 1);
   return copy;
}

static TilecStatus
run_on_device(const Place *at, const TilecProgram *program, const GenProgram *p, RunMemory *m,
              char *why)
{
   TilecArg args[RUN_MAX_ARGS];
   size_t ptx_bytes, json_bytes, n = run_args(p, m, device_argument, at->memory, args);
   const char *ptx = tilec_program_text(program, TILEC_STAGE_PTX, &ptx_bytes);
   char *json =
      for_multiprocessors(tilec_program_metadata(program, &json_bytes), run_multiprocessors(p));
   TilecModule *module = NULL;
   TilecKernel *kernel;
   TilecLaunch launch = {.grid = {p->grid[0], p->grid[1], p->grid[2]}};
   TilecStatus s = tilec_module_load(at->rt, ptx, ptx_bytes, json, json_bytes, &module);
   free(json);
   if (s == TILEC_OK)
      s = tilec_module_kernel(module, NULL, &kernel);
   if (s == TILEC_OK)
      s = tilec_buffer_upload(at->memory, 0, m->data, m->bytes, NULL);
   if (s == TILEC_OK)
      s = tilec_launch(kernel, &launch, args, n);
   if (s == TILEC_OK)
      s = tilec_runtime_sync(at->rt);
   if (s == TILEC_OK)
      s = tilec_buffer_download(at->memory, 0, m->data, m->bytes, NULL);
   if (s != TILEC_OK) {
      int len = snprintf(why, RUN_WHY_BYTES, "%s: ", tilec_status_string(s));
      tilec_runtime_error(at->rt, why + len, RUN_WHY_BYTES - (size_t)len);
   }
   tilec_module_free(module);
   return s;
}

/* ---- one program ---- */
static const char *
arch_for(const Place *at, uint64_t seed)
{
   static const char *const archs[] = {"sm_90a", "sm_90a", "sm_80", "sm_89", "sm_100", "sm_120"};
   if (at->options->arch)
      return at->options->arch;
   return at->rt ? at->device.arch : archs[seed % (sizeof archs / sizeof archs[0])];
}

static bool
save_ptx(const Options *o, const GenProgram *p, const TilecProgram *program)
{
   char path[4096];
   size_t bytes;
   const char *ptx = tilec_program_text(program, TILEC_STAGE_PTX, &bytes);
   snprintf(path, sizeof path, "%s/p%llu.ptx", o->save, (unsigned long long)p->seed);
   FILE *f = fopen(path, "w");
   if (!f)
      return false;
   bool ok = fwrite(ptx, 1, bytes, f) == bytes;
   return fclose(f) == 0 && ok;
}

typedef struct Memory {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
} Memory;

static Memory *
memory_new(void)
{
   Memory *m = calloc(1, sizeof *m);
   if (!m)
      abort();
   tl_mem_init(&m->mem);
   m->mem.oom = &m->oom;
   if (setjmp(m->oom))
      abort();
   m->arena = tl_arena_new(&m->mem);
   return m;
}

static void
memory_free(Memory *m)
{
   tl_arena_free(m->arena);
   free(m);
}

/* Adds the machine operations that the lowered code has, by type. */
static void
cover_lowered(const char *text, Job *job)
{
   Memory *m = memory_new();
   TlSources *sources = tl_sources_new(m->arena);
   TlDiags diags;
   tl_diags_init(&diags, m->arena, sources);
   TlModule *module =
      tl_module_new(m->arena, tl_types_new(m->arena), tl_strings_new(m->arena), &diags);
   uint32_t file = tl_sources_add(sources, "lowered.tir", text, strlen(text));
   if (tl_read_module(module, sources, file))
      gen_cover_lowered(module, &job->coverage);
   memory_free(m);
}

/* Runs `text`, which is p's own or a reduced one, on its buffers. */
static Outcome
run_text(const Place *at, const GenProgram *p, const char *text, Job *job, char *why)
{
   TilecProgram *program = NULL;
   double start = now();
   Outcome outcome = AGREES;
   TilecStage stop = at->rt || at->options->save ? TILEC_STAGE_PTX : TILEC_STAGE_LOWERED;
   uint32_t keep = p->seed % COVER_ONE_IN ? 0 : TILEC_STAGE_BIT(TILEC_STAGE_LOWERED);
   TilecCompileOptions options = {.arch = arch_for(at, p->seed),
                                  .ptx_version = at->device.max_ptx_version,
                                  .stop_after = stop,
                                  .keep_stages = keep,
                                  .tma = at->options->tma,
                                  .short_programs = p->seed % 2};
   TilecStatus s = run_compile(text, options, &program, why);
   job->compile_s += now() - start;
   if (s != TILEC_OK)
      return strstr(why, "error[E0501]") ? NOT_ON_TARGET : NOT_COMPILED;
   if (at->options->save && !save_ptx(at->options, p, program)) {
      snprintf(why, RUN_WHY_BYTES, "its PTX cannot be written to %s", at->options->save);
      tilec_program_free(program);
      return NOT_COMPILED;
   }
   RunMemory want = run_memory_new(p), got = run_memory_copy(&want);
   start = now();
   if (run_on_host(program, p, TILEC_HOST_CPU, &want, why) != TILEC_OK)
      outcome = CPU_FAULT;
   job->cpu_s += now() - start;
   start = now();
   if (outcome == AGREES) {
      s = at->rt ? run_on_device(at, program, p, &got, why)
                 : run_on_host(program, p, TILEC_HOST_SIM, &got, why);
      outcome = s != TILEC_OK ? FAULT : run_agrees(p, &want, &got, why) ? AGREES : DIFFERS;
   }
   job->device_s += now() - start;
   if (keep && outcome == AGREES)
      cover_lowered(tilec_program_text(program, TILEC_STAGE_LOWERED, NULL), job);
   free(want.data);
   free(got.data);
   tilec_program_free(program);
   return outcome;
}

static void
say_failure(const Options *o, uint64_t program, Outcome outcome, const char *why)
{
   char text[RUN_WHY_BYTES + 256];
   int n =
      snprintf(text, sizeof text,
               "FAIL program %llu %s: %s\n   replay: gpu_programs --on %s%s%s"
               " --program %llu\n",
               (unsigned long long)program, outcome_text[outcome], why, o->on_sim ? "sim" : "cuda",
               o->arch ? " --arch " : "", o->arch ? o->arch : "", (unsigned long long)program);
   if (write(STDOUT_FILENO, text, (size_t)n) < 0)
      abort();
}

/* ---- processes ---- */
static void
work(const Options *o, Shared *shared, Job *job, double deadline)
{
   Place at;
   char why[RUN_WHY_BYTES] = "";
   if (open_place(&at, o, why) != TILEC_OK) {
      say_failure(o, 0, FAULT, why);
      _exit(2);
   }
   for (;;) {
      uint64_t i = atomic_fetch_add(&shared->next, 1);
      if (i >= o->count || now() > deadline)
         break;
      job->program = o->seed + i;
      job->busy = true;
      alarm(PROGRAM_SECONDS);
      Memory *m = memory_new();
      GenProgram *p = tl_new(m->arena, GenProgram);
      gen_program(m->arena, job->program, p);
      Outcome outcome = run_text(&at, p, p->text, job, why);
      if (outcome == AGREES)
         gen_cover(p, &job->coverage);
      else if (outcome != NOT_ON_TARGET)
         say_failure(o, job->program, outcome, why);
      job->failed[outcome] += outcome != AGREES;
      job->ran++;
      memory_free(m);
      job->busy = false;
      if (outcome == FAULT && at.rt)
         _exit(3); /* the context may be lost: another process goes on */
   }
   close_place(&at);
   _exit(0);
}

static void
start_job(const Options *o, Shared *shared, unsigned i, double deadline)
{
   fflush(stdout);
   pid_t pid = fork();
   if (pid < 0)
      abort();
   if (pid == 0)
      work(o, shared, &shared->job[i], deadline);
   shared->job[i].pid = pid;
}

/* A job that ended: true when another process must take its place. */
static bool
job_ended(const Options *o, Job *job, int status)
{
   char why[64];
   if (WIFEXITED(status) && WEXITSTATUS(status) != 3)
      return false;
   if (!WIFSIGNALED(status))
      return true;
   snprintf(why, sizeof why, WTERMSIG(status) == SIGALRM ? "it ran over %d seconds" : "signal %d",
            WTERMSIG(status) == SIGALRM ? PROGRAM_SECONDS : WTERMSIG(status));
   if (job->busy) {
      say_failure(o, job->program, CRASHED, why);
      job->failed[CRASHED]++;
      job->ran++;
      job->busy = false;
   }
   return true;
}

static void
run_jobs(const Options *o, Shared *shared)
{
   double deadline = o->seconds ? now() + (double)o->seconds : 1e300;
   unsigned running = 0;
   for (; running < o->jobs; running++)
      start_job(o, shared, running, deadline);
   while (running) {
      int status;
      pid_t pid = wait(&status);
      if (pid < 0)
         break;
      for (unsigned i = 0; i < o->jobs; i++) {
         if (shared->job[i].pid != pid)
            continue;
         shared->job[i].pid = 0;
         if (job_ended(o, &shared->job[i], status))
            start_job(o, shared, i, deadline);
         else
            running--;
      }
   }
}

/* ---- the sum of all ---- */
static unsigned
print_coverage(const GenCoverage *c)
{
   unsigned missing = 0, pairs = 0;
   printf("programs of each operation, by element types:\n");
   for (unsigned op = 0; op < TL_OP_COUNT; op++) {
      uint32_t n = 0, types = 0;
      for (unsigned d = 0; d <= TL_DTYPE_COUNT; d++) {
         n += c->op[op][d];
         types += c->op[op][d] != 0;
      }
      if (!gen_covers_op((TlOpcode)op))
         continue;
      pairs += types;
      missing += n == 0;
      printf("   %-16s %7u in %2u types%s\n", tl_op_info[op].text, n, types, n ? "" : "   MISSING");
   }
   for (unsigned i = 0; i < GEN_COVER_COUNT; i++) {
      missing += c->family[i] == 0;
      printf("   %-36s %7u%s\n", gen_cover_text((GenCover)i), c->family[i],
             c->family[i] ? "" : "   MISSING");
   }
   printf("   %u pairs of operation and element type\n", pairs);
   return missing;
}

/* Only what lowered code alone has; the others are above. */
static void
print_lowered(const GenCoverage *c)
{
   unsigned pairs = 0, found = 0, all = 0;
   printf("machine operations in one program of %d, by element types:\n", COVER_ONE_IN);
   for (unsigned op = 0; op < TL_OP_COUNT; op++) {
      uint32_t n = 0, types = 0;
      for (unsigned d = 0; d <= TL_DTYPE_COUNT; d++) {
         n += c->lowered[op][d];
         types += c->lowered[op][d] != 0;
      }
      if (!(tl_op_info[op].traits & TL_TRAIT_LOWERED))
         continue;
      pairs += types;
      found += n != 0;
      all++;
      if (!(tl_op_info[op].traits & TL_TRAIT_TYPED) || !n)
         printf("   %-16s %7u in %2u types%s\n", tl_op_info[op].text, n, types,
                n ? "" : "   not seen");
   }
   printf("   %u of %u operations of lowered code, %u pairs of operation and element type\n", found,
          all, pairs);
}

static void
add_job(Job *sum, const Job *job)
{
   sum->ran += job->ran;
   sum->compile_s += job->compile_s;
   sum->cpu_s += job->cpu_s;
   sum->device_s += job->device_s;
   for (unsigned i = 0; i < OUTCOME_COUNT; i++)
      sum->failed[i] += job->failed[i];
   for (unsigned op = 0; op < TL_OP_COUNT; op++)
      for (unsigned d = 0; d <= TL_DTYPE_COUNT; d++) {
         sum->coverage.op[op][d] += job->coverage.op[op][d];
         sum->coverage.lowered[op][d] += job->coverage.lowered[op][d];
      }
   for (unsigned i = 0; i < GEN_COVER_COUNT; i++)
      sum->coverage.family[i] += job->coverage.family[i];
}

/* A process that tells on stderr how many programs have run: every second on a terminal, every ten
 * into a log.  -1: there is none. */
static pid_t
start_telling(const Options *o, const Shared *shared)
{
   pid_t pid = fork();
   if (pid != 0)
      return pid;
   bool is_terminal = isatty(STDERR_FILENO);
   for (unsigned seconds = 1;; seconds++) {
      sleep(1);
      uint64_t ran = 0;
      for (unsigned i = 0; i < o->jobs; i++)
         ran += shared->job[i].ran;
      if (getppid() == 1)
         _exit(0);
      if (is_terminal || seconds % 10 == 0)
         dprintf(STDERR_FILENO,
                 is_terminal ? "\r%llu of %llu programs, %u s" : "%llu of %llu programs, %u s\n",
                 (unsigned long long)ran, (unsigned long long)o->count, seconds);
   }
}

static void
stop_telling(pid_t pid)
{
   if (pid <= 0)
      return;
   kill(pid, SIGKILL);
   waitpid(pid, NULL, 0);
   if (isatty(STDERR_FILENO))
      fputs("\r\033[K", stderr);
}

static int
run_all(const Options *o, Shared *shared)
{
   static Job sum;
   double start = now();
   pid_t teller = start_telling(o, shared);
   run_jobs(o, shared);
   stop_telling(teller);
   for (unsigned i = 0; i < o->jobs; i++)
      add_job(&sum, &shared->job[i]);
   bool need_all = sum.ran >= NEED_COVERAGE;
   unsigned missing = print_coverage(&sum.coverage);
   print_lowered(&sum.coverage);
   uint64_t failed = 0;
   for (unsigned i = 0; i < OUTCOME_COUNT; i++)
      failed += i == NOT_ON_TARGET ? 0 : sum.failed[i];
   printf("seconds of all processes: compiling %.1f, CPU executor %.1f, %s %.1f\n", sum.compile_s,
          sum.cpu_s, o->on_sim ? "simulator" : "GPU", sum.device_s);
   printf("gpu_programs: %llu programs on %s and cpu from seed %llu in %.0f s, %llu mismatches "
          "(%llu differ, %llu do not compile, %llu + %llu fail, %llu crash); %llu need another "
          "target%s\n",
          (unsigned long long)sum.ran, o->on_sim ? "sim" : "cuda", (unsigned long long)o->seed,
          now() - start, (unsigned long long)failed, (unsigned long long)sum.failed[DIFFERS],
          (unsigned long long)sum.failed[NOT_COMPILED], (unsigned long long)sum.failed[CPU_FAULT],
          (unsigned long long)sum.failed[FAULT], (unsigned long long)sum.failed[CRASHED],
          (unsigned long long)sum.failed[NOT_ON_TARGET],
          need_all && missing ? "; families are missing" : "");
   return failed || (need_all && missing) || sum.ran == 0;
}

/* ---- one program, and reducing it ---- */
/* In a process of its own: its outcome is in shared. */
static Outcome
try_text(const Options *o, Shared *shared, const GenProgram *p, const char *text)
{
   fflush(stdout);
   pid_t pid = fork();
   if (pid == 0) {
      Place at;
      alarm(PROGRAM_SECONDS);
      if (open_place(&at, o, shared->why) != TILEC_OK)
         _exit(SKIPPED);
      shared->outcome = run_text(&at, p, text, &shared->job[0], shared->why);
      _exit(0);
   }
   int status = 0;
   if (pid < 0 || waitpid(pid, &status, 0) < 0)
      abort();
   if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
      exit(SKIPPED);
   if (!WIFEXITED(status)) {
      shared->outcome = CRASHED;
      snprintf(shared->why, sizeof shared->why, "signal %d", WTERMSIG(status));
   }
   return shared->outcome;
}

/* A failure to compile is the same one when its code is. */
static void
failure_key(const Shared *shared, char key[16])
{
   const char *code = shared->outcome == NOT_COMPILED ? strstr(shared->why, "[E") : NULL;
   snprintf(key, 16, "%d%.6s", (int)shared->outcome, code ? code : "");
}

typedef struct Lines {
   char *line[MAX_LINES];
   unsigned n;
} Lines;

static char *
joined(TlArena *arena, const Lines *l)
{
   TlSb sb;
   tl_sb_init(&sb, arena);
   for (unsigned i = 0; i < l->n; i++)
      if (l->line[i])
         tl_sb_printf(&sb, "%s\n", l->line[i]);
   return tl_arena_strdup(arena, tl_sb_cstr(&sb));
}

/* The last line of the operation that starts at i: regions end where braces balance. */
static unsigned
operation_end(const Lines *l, unsigned i)
{
   int open = 0;
   for (unsigned k = i; k < l->n; k++) {
      for (const char *c = l->line[k] ? l->line[k] : ""; *c; c++)
         open += (*c == '{') - (*c == '}');
      if (open <= 0)
         return k;
   }
   return l->n - 1;
}

/* The line with its operation replaced by a constant of its type; NULL when it has no one type, or
 * when it may be an index: equal indices would make stores race. */
static char *
as_constant(TlArena *arena, const char *line)
{
   const char *equals = strstr(line, " = "), *type = NULL;
   for (const char *p = strstr(line, " : "); p; p = strstr(p + 1, " : "))
      type = p;
   if (!equals || !type || strstr(line, "constant") || strchr(type, '(') || strstr(type, "ptr") ||
       strstr(type, "tile<i32") || memchr(line, ',', (size_t)(equals - line)))
      return NULL;
   return tl_arena_printf(arena, "%.*s = constant 1 %s", (int)(equals - line), line, type + 1);
}

static bool
still_fails(const Options *o, Shared *shared, const GenProgram *p, TlArena *arena, const Lines *l,
            const char *key)
{
   char found[16];
   try_text(o, shared, p, joined(arena, l));
   failure_key(shared, found);
   return strcmp(found, key) == 0;
}

static const char *
reduce(const Options *o, Shared *shared, const GenProgram *p, TlArena *arena)
{
   static Lines l, next;
   char key[16];
   failure_key(shared, key);
   char *text = tl_arena_strdup(arena, p->text);
   for (char *s = strtok(text, "\n"); s && l.n < MAX_LINES; s = strtok(NULL, "\n"))
      l.line[l.n++] = s;
   for (bool progress = true; progress;) {
      progress = false;
      for (unsigned i = l.n - 1; i-- > 1;) {
         if (!l.line[i])
            continue;
         next = l;
         for (unsigned k = i, end = operation_end(&l, i); k <= end; k++)
            next.line[k] = NULL;
         if (!still_fails(o, shared, p, arena, &next, key)) {
            char *constant = as_constant(arena, l.line[i]);
            if (!constant)
               continue;
            next.line[i] = constant;
            if (!still_fails(o, shared, p, arena, &next, key))
               continue;
         }
         l = next;
         progress = true;
      }
   }
   return joined(arena, &l);
}

static int
run_one(const Options *o, Shared *shared)
{
   Memory *m = memory_new();
   GenProgram *p = tl_new(m->arena, GenProgram);
   gen_program(m->arena, o->program, p);
   printf("%s// grid %u %u %u; scalars", p->text, p->grid[0], p->grid[1], p->grid[2]);
   for (unsigned i = 0; i < p->num_scalars; i++)
      printf(" %d", p->scalar[i]);
   printf("\n");
   Outcome outcome = try_text(o, shared, p, p->text);
   printf("program %llu %s%s%s\n", (unsigned long long)o->program, outcome_text[outcome],
          outcome == AGREES ? "" : ": ", outcome == AGREES ? "" : shared->why);
   if (o->reduce && outcome != AGREES) {
      const char *text = reduce(o, shared, p, m->arena);
      try_text(o, shared, p, text);
      printf("reduced:\n%s%s\n", text, shared->why);
   }
   memory_free(m);
   return outcome != AGREES;
}

/* ---- command line ---- */
static bool
read_options(int argc, char **argv, Options *o)
{
   *o = (Options){.seed = 1};
   for (int i = 1; i < argc; i++) {
      const char *value = i + 1 < argc ? argv[i + 1] : "";
      if (strcmp(argv[i], "--reduce") == 0) {
         o->reduce = true;
         continue;
      }
      if (strcmp(argv[i], "--tma") == 0) {
         o->tma = TILEC_TMA_ON;
         continue;
      }
      if (strcmp(argv[i], "--on") == 0)
         o->on_sim = strcmp(value, "sim") == 0;
      else if (strcmp(argv[i], "--count") == 0)
         o->count = strtoull(value, NULL, 0);
      else if (strcmp(argv[i], "--seed") == 0)
         o->seed = strtoull(value, NULL, 0);
      else if (strcmp(argv[i], "--seconds") == 0)
         o->seconds = strtoull(value, NULL, 0);
      else if (strcmp(argv[i], "--jobs") == 0)
         o->jobs = (unsigned)strtoul(value, NULL, 0);
      else if (strcmp(argv[i], "--arch") == 0)
         o->arch = value;
      else if (strcmp(argv[i], "--save") == 0)
         o->save = value;
      else if (strcmp(argv[i], "--program") == 0)
         o->program = strtoull(value, NULL, 0), o->one = true;
      else
         return false;
      i++;
   }
   if (!o->count)
      o->count = o->on_sim ? 3000 : 20000;
   long cores = sysconf(_SC_NPROCESSORS_ONLN);
   if (!o->jobs)
      o->jobs = cores > 0 ? (unsigned)cores : 1;
   if (o->jobs > MAX_JOBS)
      o->jobs = MAX_JOBS;
   return true;
}

/* In a child, since a process that used the driver cannot be forked. */
static bool
has_device(const Options *o, Shared *shared)
{
   pid_t pid = fork();
   if (pid == 0) {
      Place at;
      _exit(open_place(&at, o, shared->why) == TILEC_OK ? 0 : SKIPPED);
   }
   int status = 0;
   return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int
main(int argc, char **argv)
{
   Options o;
   if (!read_options(argc, argv, &o)) {
      fprintf(stderr, "usage: gpu_programs [--on cuda|sim] [--count N] [--seed S] [--seconds T] "
                      "[--jobs J] [--arch A] [--tma] [--save DIR] [--program SEED [--reduce]]\n");
      return 2;
   }
   Shared *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
   if (shared == MAP_FAILED)
      return 1;
   setenv("CUDA_CACHE_DISABLE", "1", 1); /* every program is new: nothing to keep on disk */
   if (!has_device(&o, shared)) {
      printf("gpu_programs: %s\n", shared->why);
      return SKIPPED;
   }
   return o.one ? run_one(&o, shared) : run_all(&o, shared);
}
