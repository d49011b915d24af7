/* Transfers between GPUs by NCCL, which is opened at run time as the driver is; its few types are
 * declared here.  Transfers run on a stream of their own; events order it with the work's.
 *
 * A rank that is gone makes NCCL wait for ever, on the GPU or inside of a call.  On the GPU `sync`
 * looks after it; inside of a call a thread does, which aborts NCCL's communicator and, when that
 * does not help, ends the process. */
#include "comm.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7, NCCL_SUM = 0, NCCL_BYTE = 0 };
enum { FAILED_STATUS = 3 };

typedef struct NcclId {
   char bytes[128];
} NcclId;
typedef struct NcclComm_ *NcclComm;

typedef struct NcclApi {
#define NCCL(member, symbol, params) int(*member) params;
#include "nccl_api.def"
   const char *(*error_string)(int result);
   void *library;
} NcclApi;

typedef struct Nccl {
   Comm comm;
   Comm *meeting; /* how ranks agree */
   TilecRuntime *rt;
   NcclApi api;
   NcclComm nccl;
   TilecStream stream;
   TilecEvent *given;  /* what the work stream had been given when transfers were started */
   TilecEvent *moved;  /* the transfers so far */
   TilecEvent *synced; /* all that the work stream was given */
   pthread_t watch;
   pthread_mutex_t lock;
   const char *inside; /* the call of NCCL that is under way; NULL: none */
   double since;
   bool is_aborted, has_watch;
   atomic_bool has_let_go; /* NCCL, once asked to abort */
   bool is_leaving;        /* other ranks may end before this one */
   bool is_closing;        /* the watch ends */
} Nccl;

/* ---- The library ----------------------------------------------------------------------------- */

static const struct {
   const char *name;
   size_t at;
} symbols[] = {
#define NCCL(member, symbol, params) {symbol, offsetof(NcclApi, member)},
#include "nccl_api.def"
   {"ncclGetErrorString", offsetof(NcclApi, error_string)},
};

static bool
load(NcclApi *api, const char *path, char *why, size_t why_bytes)
{
   path = path ? path : "libnccl.so.2";
   api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
   if (!api->library) {
      const char *reason = dlerror();
      snprintf(why, why_bytes, "%s (--nccl names the library)", reason ? reason : path);
      return false;
   }
   for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
      void *address = dlsym(api->library, symbols[i].name);
      if (!address) {
         snprintf(why, why_bytes, "%s has no %s", path, symbols[i].name);
         return false;
      }
      memcpy((char *)api + symbols[i].at, &address, sizeof address);
   }
   return true;
}

/* ---- Calls that may wait for ever ------------------------------------------------------------ */

static void
enter(Nccl *n, const char *call)
{
   pthread_mutex_lock(&n->lock);
   n->inside = call;
   n->since = comm_now();
   pthread_mutex_unlock(&n->lock);
}

static bool
leave(Nccl *n, int result)
{
   pthread_mutex_lock(&n->lock);
   const char *call = n->inside;
   n->inside = NULL;
   bool is_aborted = n->is_aborted;
   pthread_mutex_unlock(&n->lock);
   if (is_aborted) /* the watching thread has set the error */
      return false;
   if (result == NCCL_OK || result == NCCL_IN_PROGRESS)
      return true;
   return comm_fail(&n->comm, "%s: %s", call, n->api.error_string(result));
}

/* Why waiting any longer is of no use, in `why`; false while it is. */
static bool
is_hopeless(Nccl *n, double since, const char *what, char *why, size_t why_bytes)
{
   int result = NCCL_OK;
   Comm *m = n->meeting;
   if (!n->is_leaving && m->is_there && !m->is_there(m, why, why_bytes))
      return true;
   if (n->nccl && !n->is_aborted && n->api.async_error(n->nccl, &result) == NCCL_OK &&
       result != NCCL_OK && result != NCCL_IN_PROGRESS) {
      snprintf(why, why_bytes, "NCCL: %s", n->api.error_string(result));
      return true;
   }
   if (comm_now() - since < n->comm.timeout_s)
      return false;
   snprintf(why, why_bytes, "%s has not ended for %g seconds", what, n->comm.timeout_s);
   return true;
}

static void *
abort_alone(void *user)
{
   Nccl *n = user;
   (void)n->api.abort(n->nccl);
   atomic_store(&n->has_let_go, true);
   return NULL;
}

/* NCCL is asked to give up by a thread of its own, since that call may not return either: then the
 * process ends. */
static void
ask_to_abort(Nccl *n, const char *why)
{
   enum { ASKS = 500, BETWEEN_NS = 10000000 }; /* 5 seconds */
   pthread_t thread;
   if (!n->nccl)
      return;
   if (pthread_create(&thread, NULL, abort_alone, n) != 0) {
      (void)n->api.abort(n->nccl);
      return;
   }
   for (unsigned i = 0; i < ASKS && !atomic_load(&n->has_let_go); i++)
      nanosleep(&(struct timespec){.tv_nsec = BETWEEN_NS}, NULL);
   if (!atomic_load(&n->has_let_go)) {
      fprintf(stderr, "rank %u of %u: %s; NCCL does not let go\n", n->comm.rank, n->comm.size, why);
      _exit(FAILED_STATUS);
   }
   (void)pthread_join(thread, NULL);
}

static void
abort_nccl(Nccl *n, const char *why)
{
   if (!n->is_aborted)
      ask_to_abort(n, why);
   n->is_aborted = true;
}

/* Called with the lock, which is free while NCCL is asked to let the call go. */
static void
end_call(Nccl *n, const char *why)
{
   comm_fail(&n->comm, "%s", why);
   n->is_aborted = true;
   pthread_mutex_unlock(&n->lock);
   ask_to_abort(n, why);
   sleep(1);
   pthread_mutex_lock(&n->lock);
   if (n->inside && !n->is_closing) {
      fprintf(stderr, "rank %u of %u: %s; NCCL does not return\n", n->comm.rank, n->comm.size, why);
      _exit(FAILED_STATUS);
   }
}

static void *
watch(void *user)
{
   Nccl *n = user;
   char why[COMM_ERROR_BYTES];
   pthread_mutex_lock(&n->lock);
   while (!n->is_closing) {
      if (n->inside && !n->is_aborted && is_hopeless(n, n->since, n->inside, why, sizeof why))
         end_call(n, why);
      pthread_mutex_unlock(&n->lock);
      nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
      pthread_mutex_lock(&n->lock);
   }
   pthread_mutex_unlock(&n->lock);
   return NULL;
}

/* ---- The interface --------------------------------------------------------------------------- */

static bool
must(Nccl *n, TilecStatus status, const char *what)
{
   char detail[512] = "";
   if (status == TILEC_OK)
      return true;
   tilec_runtime_error(n->rt, detail, sizeof detail);
   return comm_fail(&n->comm, "%s: %s: %s", what, tilec_status_string(status), detail);
}

static bool
nccl_gather(Comm *c, const void *mine, size_t bytes, void *all)
{
   Comm *m = ((Nccl *)c)->meeting;
   return m->gather(m, mine, bytes, all) || comm_fail(c, "%s", m->error);
}

static bool
nccl_exchange(Comm *c, const CommPart *parts, unsigned count)
{
   Nccl *n = (Nccl *)c;
   enter(n, "handing on by ncclSend and ncclRecv");
   int result = n->api.group_start();
   for (unsigned i = 0; result == NCCL_OK && i < count; i++) {
      const CommPart *p = &parts[i];
      result = n->api.send(p->send, p->bytes, NCCL_BYTE, (int)p->to, n->nccl, n->stream);
      if (result == NCCL_OK)
         result = n->api.recv(p->recv, p->bytes, NCCL_BYTE, (int)p->from, n->nccl, n->stream);
   }
   int ended = n->api.group_end();
   return leave(n, result == NCCL_OK ? ended : result);
}

/* ncclDataType_t; negative for what is not added here. */
static int
nccl_dtype(TilecDtype dtype)
{
   return dtype == TILEC_FP16 ? 6 : dtype == TILEC_FP32 ? 7 : dtype == TILEC_BF16 ? 9 : -1;
}

static bool
nccl_reduce_scatter(Comm *c, const void *send, void *recv, size_t elems, TilecDtype dtype)
{
   Nccl *n = (Nccl *)c;
   if (nccl_dtype(dtype) < 0)
      return comm_fail(c, "sums are of fp16, bf16 or fp32");
   enter(n, "adding by ncclReduceScatter");
   return leave(
      n, n->api.reduce_scatter(send, recv, elems, nccl_dtype(dtype), NCCL_SUM, n->nccl, n->stream));
}

static bool
nccl_after(Comm *c, TilecStream work)
{
   Nccl *n = (Nccl *)c;
   return must(n, tilec_event_record(n->given, work), "an event") &&
          must(n, tilec_stream_wait(n->stream, n->given), "transfers after kernels");
}

static bool
nccl_before(Comm *c, TilecStream work)
{
   Nccl *n = (Nccl *)c;
   return must(n, tilec_event_record(n->moved, n->stream), "an event") &&
          must(n, tilec_stream_wait(work, n->moved), "kernels after transfers");
}

static bool
nccl_record(Comm *c, TilecEvent *event)
{
   Nccl *n = (Nccl *)c;
   return must(n, tilec_event_record(event, n->stream), "an event");
}

static bool
nccl_sync(Comm *c, TilecStream work)
{
   Nccl *n = (Nccl *)c;
   char why[COMM_ERROR_BYTES];
   double since = comm_now(), looked = since;
   if (!nccl_before(c, work) || !must(n, tilec_event_record(n->synced, work), "an event"))
      return false;
   for (;;) {
      TilecStatus status = tilec_event_query(n->synced);
      if (status != TILEC_NOT_READY)
         return must(n, status, "kernels and transfers");
      if (comm_now() - looked < 0.02)
         continue;
      looked = comm_now();
      if (is_hopeless(n, since, "what the GPU was given", why, sizeof why)) {
         abort_nccl(n, why);
         return comm_fail(c, "%s", why);
      }
   }
}

static bool
nccl_is_there(Comm *c, char *why, size_t why_bytes)
{
   Comm *m = ((Nccl *)c)->meeting;
   return !m->is_there || m->is_there(m, why, why_bytes);
}

static void
nccl_give_up(Comm *c, const char *why)
{
   Nccl *n = (Nccl *)c;
   if (n->meeting->give_up)
      n->meeting->give_up(n->meeting, why);
   abort_nccl(n, why);
}

static void
nccl_close(Comm *c)
{
   Nccl *n = (Nccl *)c;
   if (n->nccl && !n->is_aborted && !c->error[0]) {
      pthread_mutex_lock(&n->lock);
      n->is_leaving = true;
      pthread_mutex_unlock(&n->lock);
      enter(n, "closing NCCL");
      (void)leave(n, n->api.destroy(n->nccl));
   }
   pthread_mutex_lock(&n->lock);
   n->is_closing = true;
   pthread_mutex_unlock(&n->lock);
   if (n->has_watch)
      pthread_join(n->watch, NULL);
   pthread_mutex_destroy(&n->lock);
   tilec_event_free(n->given);
   tilec_event_free(n->moved);
   tilec_event_free(n->synced);
   tilec_stream_free(n->rt, n->stream);
   n->meeting->close(n->meeting);
   free(n); /* the library stays: threads of NCCL may still run in it */
}

/* Rank 0 makes the id, all get it, all join. */
static bool
join(Nccl *n)
{
   NcclId id = {0}, *ids = calloc(n->comm.size, sizeof *ids);
   bool ok = ids != NULL;
   if (n->comm.rank == 0) {
      enter(n, "ncclGetUniqueId");
      ok = leave(n, n->api.unique_id(&id)) && ok;
   }
   ok = ok && nccl_gather(&n->comm, &id, sizeof id, ids);
   if (ok) {
      enter(n, "ncclCommInitRank");
      ok = leave(n, n->api.init_rank(&n->nccl, (int)n->comm.size, ids[0], (int)n->comm.rank));
   }
   free(ids);
   return ok;
}

Comm *
comm_nccl_open(Comm *meeting, TilecRuntime *rt, TilecStream stream, const char *library, char *why,
               size_t why_bytes)
{
   Nccl *n = calloc(1, sizeof *n);
   if (!n) {
      snprintf(why, why_bytes, "no memory");
      tilec_stream_free(rt, stream);
      meeting->close(meeting);
      return NULL;
   }
   n->meeting = meeting;
   n->rt = rt;
   n->stream = stream;
   n->comm = (Comm){.rank = meeting->rank,
                    .size = meeting->size,
                    .timeout_s = meeting->timeout_s,
                    .engine = "NCCL",
                    .gather = nccl_gather,
                    .exchange = nccl_exchange,
                    .reduce_scatter = nccl_reduce_scatter,
                    .after = nccl_after,
                    .before = nccl_before,
                    .sync = nccl_sync,
                    .record = nccl_record,
                    .is_there = nccl_is_there,
                    .give_up = nccl_give_up,
                    .close = nccl_close};
   pthread_mutex_init(&n->lock, NULL);
   n->has_watch = pthread_create(&n->watch, NULL, watch, n) == 0;
   bool ok = n->has_watch && load(&n->api, library, why, why_bytes);
   if (ok) {
      ok = must(n, tilec_event_new(rt, &n->given), "an event") &&
           must(n, tilec_event_new(rt, &n->moved), "an event") &&
           must(n, tilec_event_new(rt, &n->synced), "an event") && join(n);
      snprintf(why, why_bytes, "%s", n->comm.error);
   }
   if (ok)
      return &n->comm;
   if (meeting->give_up)
      meeting->give_up(meeting, why);
   nccl_close(&n->comm);
   return NULL;
}
