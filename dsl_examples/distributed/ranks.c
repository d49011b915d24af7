/* Starting ranks, and what a rank does its work with; see ranks.h. */
#include "ranks.h"

#include "options.h"
#include "tilec/tilec.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef DISTRIBUTED_DIR
#define DISTRIBUTED_DIR "."
#endif

enum { RIGHT = 0, WRONG = 1, FAILED = 3, PATH_BYTES = 1024 };

/* ---- Errors ---------------------------------------------------------------------------------- */

void
rank_fail(Rank *r, const char *format, ...)
{
   if (rank_failed(r))
      return;
   va_list ap;
   va_start(ap, format);
   vsnprintf(r->error, sizeof r->error, format, ap);
   va_end(ap);
   if (r->comm && r->comm->give_up) /* now, while what the others may read is still there */
      r->comm->give_up(r->comm, r->error);
   /* what is under way uses memory and kernels that are about to be freed */
   if (r->rt && tilec_runtime_sync(r->rt) == TILEC_TIMED_OUT)
      r->has_abandoned = tilec_runtime_abandon(r->rt) == TILEC_OK;
}

void
rank_must(Rank *r, TilecStatus status, const char *what)
{
   if (status == TILEC_OK)
      return;
   char detail[900] = "";
   if (r->rt)
      tilec_runtime_error(r->rt, detail, sizeof detail);
   rank_fail(r, "%s: %s%s%s", what, tilec_status_string(status), *detail ? ": " : "", detail);
}

static void
comm_must(Rank *r, bool ok)
{
   if (!ok)
      rank_fail(r, "%s", r->comm->error);
}

void
rank_say(const Rank *r, const char *format, ...)
{
   if (r->rank != 0 || rank_failed(r))
      return;
   va_list ap;
   va_start(ap, format);
   vprintf(format, ap);
   va_end(ap);
   fflush(stdout);
}

void
rank_fault(Rank *r, unsigned step)
{
   const Options *o = r->options;
   if (o->fault_rank != (int)r->rank || o->fault_step != step || rank_failed(r))
      return;
   fprintf(stderr, "rank %u of %u: asked to %s in step %u\n", r->rank, r->size, o->fault, step);
   if (strcmp(o->fault, "fail") == 0) {
      rank_fail(r, "failed as asked");
      return;
   }
   if (strcmp(o->fault, "die") == 0)
      raise(SIGKILL);
   for (;;)
      pause();
}

/* ---- Are all ranks about to run the same? ---------------------------------------------------- */

typedef struct Text {
   char *data;
   size_t len;
} Text;

static void
append(Rank *r, Text *t, const void *data, size_t len)
{
   char *grown = rank_failed(r) ? NULL : realloc(t->data, t->len + len + 1);
   if (!grown) {
      rank_fail(r, "out of memory");
      return;
   }
   memcpy(grown + t->len, data, len);
   t->data = grown;
   t->len += len;
}

static void
append_file(Rank *r, Text *t, const char *file)
{
   char path[PATH_BYTES], block[4096];
   snprintf(path, sizeof path, "%s/%s", r->options->source_dir, file);
   FILE *f = fopen(path, "rb");
   if (!f) {
      rank_fail(r, "cannot read %s", path);
      return;
   }
   for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
      append(r, t, block, n);
   fclose(f);
}

/* Those that kernels, and what is sent to whom, depend on. */
static void
append_options(Rank *r, Text *t)
{
   const Options *o = r->options;
   char text[512], build[128] = "";
   tilec_build_id(build, sizeof build);
   int n = snprintf(
      text, sizeof text, "%s %s %s %d %d %u %u %u %u %u %u %u %u %u %u %d %d %u %d %d %d %d\n",
      o->program, tilec_version(), build, (int)o->executor, (int)o->dtype, o->tokens, o->heads,
      o->group, o->dim, o->block_m, o->block_n, o->hidden, o->wide, o->chunks, o->block_k,
      (int)o->sum, o->backward, o->repeats, o->graph, o->no_check, o->time_line, o->bandwidth);
   append(r, t, text, (size_t)n);
}

void
rank_compare_kernels(Rank *r, const char *const *files, unsigned num_files)
{
   Text t = {0};
   uint8_t mine[TILEC_DIGEST_BYTES] = {0};
   uint8_t *all = calloc(r->size, sizeof mine);
   append_options(r, &t);
   for (unsigned i = 0; i < num_files; i++)
      append_file(r, &t, files[i]);
   if (!rank_failed(r) && all) {
      tilec_digest(t.data, t.len, mine);
      rank_gather(r, mine, sizeof mine, all);
   }
   char list[600] = "";
   size_t at = 0;
   bool differ = false;
   for (unsigned i = 0; !rank_failed(r) && all && i < r->size; i++) {
      const uint8_t *d = all + i * sizeof mine;
      differ = differ || memcmp(d, all, sizeof mine) != 0;
      if (at < sizeof list - 40)
         at += (size_t)snprintf(list + at, sizeof list - at, "%s rank %u %02x%02x%02x%02x",
                                i ? "," : "", i, d[0], d[1], d[2], d[3]);
   }
   if (differ)
      rank_fail(r, "the ranks have different kernels or options; digests:%s", list);
   free(all);
   free(t.data);
}

/* ---- Kernels, buffers ------------------------------------------------------------------------ */

/* Cuts "A=1 B=2" in place; the programs' own texts have no more than there is room for. */
static size_t
split(char *text, const char *words[RANK_MAX_DEFINES])
{
   size_t n = 0;
   char *rest = NULL;
   for (char *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
      assert(n < RANK_MAX_DEFINES);
      words[n++] = w;
   }
   return n;
}

ExKernel
rank_kernel(Rank *r, const char *file, const char *kernel, const char *defines)
{
   ExKernel k = {0};
   char path[PATH_BYTES], above[PATH_BYTES], text[256];
   const char *words[RANK_MAX_DEFINES];
   if (rank_failed(r))
      return k;
   snprintf(path, sizeof path, "%s/%s", r->options->source_dir, file);
   snprintf(above, sizeof above, "%s/..", r->options->source_dir);
   assert(strlen(defines) < sizeof text);
   snprintf(text, sizeof text, "%s", defines);
   TilecSource s = {.struct_size = sizeof s,
                    .file = path,
                    .kernel = kernel,
                    .defines = words,
                    .num_defines = split(text, words),
                    .include_dirs = (const char *const[]){above},
                    .num_include_dirs = 1};
   rank_must(r, tilec_module_from_source(r->rt, &s, &k.module), path);
   if (!rank_failed(r))
      rank_must(r, tilec_module_kernel(k.module, kernel, &k.kernel), kernel);
   return k;
}

void
rank_launch(Rank *r, const ExKernel *k, const TilecArg *args, size_t num_args)
{
   TilecLaunch launch = {.stream = r->work, .grid = {TILEC_OWN_GRID}};
   if (!rank_failed(r))
      rank_must(r, tilec_launch(k->kernel, &launch, args, num_args), "a launch");
}

Array
rank_array(Rank *r, TilecDtype dtype, size_t elems)
{
   Array a = {.dtype = dtype};
   r->held += elems * ex_dtype_bytes(dtype);
   if (!rank_failed(r))
      rank_must(r, tilec_buffer_new(r->rt, elems * ex_dtype_bytes(dtype), &a.buffer), "a buffer");
   return a;
}

void
rank_free_array(Array *a)
{
   tilec_buffer_free(a->buffer);
   *a = (Array){0};
}

TilecArg
rank_at(const Array *a, size_t elem)
{
   return tilec_view(a->dtype, a->buffer, elem * ex_dtype_bytes(a->dtype));
}

char *
rank_address(const Array *a, size_t elem)
{
   char *base = a->buffer ? tilec_buffer_address(a->buffer) : NULL;
   return base ? base + elem * ex_dtype_bytes(a->dtype) : NULL;
}

/* ---- Transfers ------------------------------------------------------------------------------- */

void
rank_after(Rank *r)
{
   if (!rank_failed(r))
      comm_must(r, r->comm->after(r->comm, r->work));
}

void
rank_before(Rank *r)
{
   if (!rank_failed(r))
      comm_must(r, r->comm->before(r->comm, r->work));
}

void
rank_exchange(Rank *r, const CommPart *parts, unsigned count)
{
   for (unsigned i = 0; i < count; i++)
      r->sent += parts[i].bytes;
   if (!rank_failed(r))
      comm_must(r, r->comm->exchange(r->comm, parts, count));
}

void
rank_reduce_scatter(Rank *r, const void *send, void *recv, size_t elems, TilecDtype dtype)
{
   r->sent += elems * ex_dtype_bytes(dtype) * (r->size - 1);
   if (!rank_failed(r))
      comm_must(r, r->comm->reduce_scatter(r->comm, send, recv, elems, dtype));
}

void
rank_sync(Rank *r)
{
   if (!rank_failed(r))
      comm_must(r, r->comm->sync(r->comm, r->work));
   if (!rank_failed(r))
      rank_must(r, tilec_runtime_sync(r->rt), "the kernels");
}

void
rank_gather(Rank *r, const void *mine, size_t bytes, void *all)
{
   if (!rank_failed(r))
      comm_must(r, r->comm->gather(r->comm, mine, bytes, all));
}

double
rank_max(Rank *r, double mine)
{
   double most = mine, *all = calloc(r->size, sizeof *all);
   if (!all)
      rank_fail(r, "out of memory");
   rank_gather(r, &mine, sizeof mine, all);
   for (unsigned i = 0; !rank_failed(r) && i < r->size; i++)
      most = all[i] > most ? all[i] : most;
   free(all);
   return most;
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* Remarks and notes are for who tunes kernels. */
static void
show_text(void *user, const char *rendered)
{
   (void)user;
   if (strstr(rendered, "error[") || strstr(rendered, "warning["))
      fputs(rendered, stderr);
}

/* Which of the machine's GPUs: the number that the starter gave, else the rank. */
static int
device_of(const Rank *r)
{
   static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                       "LOCAL_RANK", "SLURM_LOCALID"};
   for (size_t i = 0; !r->options->threads && i < sizeof names / sizeof names[0]; i++)
      if (getenv(names[i]))
         return atoi(getenv(names[i]));
   return (int)r->rank;
}

static void
open_runtime(Rank *r)
{
   char why[512] = "";
   const Options *o = r->options;
   long cores = sysconf(_SC_NPROCESSORS_ONLN) / (long)r->size;
   TilecRuntimeOptions options = {.struct_size = sizeof options,
                                  .executor = o->executor,
                                  .device = device_of(r),
                                  .driver_path = o->driver,
                                  .num_threads = cores > 1 ? (uint32_t)cores : 1,
                                  .timeout_ms = (uint32_t)fmax(1, 1e3 * fmin(o->timeout_s, 1e6)),
                                  .error = why,
                                  .error_bytes = sizeof why};
   TilecJitOptions jit = {
      .struct_size = sizeof jit, .on_text = show_text, .cache_dir = o->cache_dir};
   TilecStatus status = tilec_runtime_open(&options, &r->rt);
   if (status != TILEC_OK)
      rank_fail(r, "%s: %s", tilec_status_string(status), why);
   else
      rank_must(r, tilec_jit_attach(r->rt, &jit), "attaching the compiler");
   if (!rank_failed(r))
      rank_must(r, tilec_stream_new(r->rt, &r->work), "a stream");
   if (o->executor == TILEC_ON_CUDA && !rank_failed(r) &&
       !driver_load(&r->driver, o->driver, why, sizeof why))
      rank_fail(r, "%s", why);
}

/* NCCL for GPUs; what carried the agreement so far goes on carrying it. */
static void
open_transport(Rank *r)
{
   char why[COMM_ERROR_BYTES] = "";
   if (rank_failed(r) || r->options->executor != TILEC_ON_CUDA || r->size == 1)
      return;
   TilecStream stream = NULL;
   if (!driver_make_current(&r->driver, tilec_runtime_context(r->rt), why, sizeof why) ||
       !driver_first_stream(&r->driver, &stream, why, sizeof why)) {
      rank_fail(r, "%s", why);
      return;
   }
   r->comm = comm_nccl_open(r->comm, r->rt, stream, r->options->nccl, why, sizeof why);
   if (!r->comm)
      rank_fail(r, "NCCL: %s", why);
}

static int
run_rank(Rank *r, bool (*body)(Rank *r))
{
   bool right = false;
   r->rank = r->comm->rank;
   r->size = r->comm->size;
   open_runtime(r);
   open_transport(r);
   if (!rank_failed(r))
      right = body(r);
   (void)rank_max(r, 0); /* no rank ends well when another one has failed */
   if (rank_failed(r)) {
      fprintf(stderr, "rank %u of %u: %s\n", r->rank, r->size, r->error);
      if (r->comm)
         (void)comm_fail(r->comm, "failed"); /* so that closing waits for nobody */
   }
   if (r->comm)
      r->comm->close(r->comm);
   if (r->rt) {
      tilec_stream_free(r->rt, r->work);
      tilec_runtime_close(r->rt);
   }
   return rank_failed(r) ? FAILED : right ? RIGHT : WRONG;
}

typedef struct Start {
   Rank rank;
   bool (*body)(Rank *r);
   int result;
   atomic_bool is_done;
   bool is_joined;
} Start;

static void *
thread_main(void *user)
{
   Start *s = user;
   s->result = run_rank(&s->rank, s->body);
   atomic_store(&s->is_done, true);
   return NULL;
}

/* The threads' worst result.  When one has failed the others have as long as a wait may last. */
static int
join_all(const Options *o, pthread_t *threads, Start *starts, unsigned count)
{
   int result = RIGHT;
   double end = HUGE_VAL;
   for (unsigned i = 0, left = count; left; i = (i + 1) % count) {
      if (!starts[i].is_joined && atomic_load(&starts[i].is_done)) {
         pthread_join(threads[i], NULL);
         starts[i].is_joined = true;
         left--;
         result = starts[i].result > result ? starts[i].result : result;
      } else if (comm_now() > end && !starts[i].is_joined) {
         fprintf(stderr, "rank %u of %u: does not end\n", i, count);
         fflush(stdout);
         _exit(FAILED);
      }
      if (result == FAILED && end == HUGE_VAL)
         end = comm_now() + o->timeout_s;
      nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
   }
   return result;
}

/* The driver's own clean-up would wait for a kernel that does not end. */
static int
leave(int result, bool has_abandoned)
{
   fflush(stdout);
   if (has_abandoned)
      _exit(result);
   return result;
}

static int
run_threads(const Options *o, unsigned count, bool (*body)(Rank *r))
{
   CommBoard *board = comm_board_new(count);
   Start *starts = calloc(count, sizeof *starts);
   pthread_t *threads = calloc(count, sizeof *threads);
   unsigned started = 0;
   for (; board && starts && threads && started < count; started++) {
      Comm *comm = comm_threads_open(board, started, o->timeout_s);
      starts[started].rank = (Rank){.options = o, .comm = comm};
      starts[started].body = body;
      if (!comm || pthread_create(&threads[started], NULL, thread_main, &starts[started]) != 0)
         break;
   }
   if (started < count) {
      fprintf(stderr, "%s: %u threads could not be started\n", o->program, count);
      exit(FAILED);
   }
   int result = join_all(o, threads, starts, count);
   bool has_abandoned = false;
   for (unsigned i = 0; i < count; i++)
      has_abandoned = has_abandoned || starts[i].rank.has_abandoned;
   free(threads);
   free(starts);
   comm_board_free(board);
   return leave(result, has_abandoned);
}

static int
run_process(const Options *o, Comm *comm, bool (*body)(Rank *r))
{
   Rank r = {.options = o, .comm = comm};
   return leave(run_rank(&r, body), r.has_abandoned);
}

int
rank_main(Options *o, int argc, char **argv, bool (*body)(Rank *r))
{
   char why[512] = "cannot be used";
   Comm *comm;
   o->source_dir = DISTRIBUTED_DIR;
   o->timeout_s = 60;
   if (!options_read(o, argc, argv))
      return options_usage(o);
   bool by_mpi = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE");
   if (o->threads || (!o->meet && !by_mpi)) {
      o->threads = o->threads ? o->threads : 1;
      return run_threads(o, o->threads, body);
   }
   if (o->meet)
      comm = comm_files_open(o->meet, o->rank, o->ranks, o->timeout_s, why, sizeof why);
   else
      comm = comm_mpi_load(o->timeout_s, why, sizeof why);
   if (!comm) {
      fprintf(stderr, "%s: %s: %s\n", o->program, o->meet ? o->meet : "mpirun", why);
      return FAILED;
   }
   return run_process(o, comm, body);
}
