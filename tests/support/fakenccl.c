/* A stand-in for libnccl.so.2, for ranks that are threads of one process on the stand-in driver,
 * whose device memory is the host's: sends and receives copy at once.  FAKE_NCCL=hang: every
 * rank's second group waits until its communicator is aborted; FAKE_NCCL=error: NCCL reports a
 * failure of another rank after the first group. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, SYSTEM_ERROR = 2, REMOTE_ERROR = 6, MAX_RANKS = 8, MAX_OPS = 8 };

#define API __attribute__((visibility("default")))

typedef struct Id {
   char bytes[128];
} Id;

typedef struct Op {
   void *data;
   size_t bytes;
   int peer, is_send;
} Op;

typedef struct Fake {
   int size, rank, groups;
   int is_aborted;
} Fake;

/* Messages on their way from a rank to another, in order. */
typedef struct Mail {
   const void *data[MAX_OPS];
   size_t bytes[MAX_OPS];
   unsigned sent, received;
} Mail;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int joined;
static Mail mail[MAX_RANKS][MAX_RANKS];
static _Thread_local Op ops[MAX_OPS];
static _Thread_local int num_ops;
static _Thread_local Fake *group_comm;

static int
is_asked(const char *what)
{
   const char *mode = getenv("FAKE_NCCL");
   return mode && strcmp(mode, what) == 0;
}

API int ncclGetVersion(int *version);
API int ncclGetUniqueId(Id *id);
API int ncclCommInitRank(Fake **comm, int size, Id id, int rank);
API int ncclCommDestroy(Fake *comm);
API int ncclCommAbort(Fake *comm);
API int ncclCommGetAsyncError(Fake *comm, int *result);
API int ncclGroupStart(void);
API int ncclGroupEnd(void);
API int ncclSend(const void *data, size_t n, int dtype, int to, Fake *comm, void *stream);
API int ncclRecv(void *data, size_t n, int dtype, int from, Fake *comm, void *stream);
API int ncclReduceScatter(const void *send, void *recv, size_t n, int dtype, int op, Fake *comm,
                          void *stream);
API const char *ncclGetErrorString(int result);

int
ncclGetVersion(int *version)
{
   *version = 22800;
   return OK;
}

int
ncclGetUniqueId(Id *id)
{
   memset(id, 42, sizeof *id);
   return OK;
}

int
ncclCommInitRank(Fake **comm, int size, Id id, int rank)
{
   if (id.bytes[127] != 42 || size > MAX_RANKS)
      return SYSTEM_ERROR;
   Fake *c = calloc(1, sizeof *c);
   if (!c)
      return SYSTEM_ERROR;
   *c = (Fake){.size = size, .rank = rank};
   pthread_mutex_lock(&lock);
   joined++;
   pthread_cond_broadcast(&changed);
   while (joined < size)
      pthread_cond_wait(&changed, &lock);
   pthread_mutex_unlock(&lock);
   *comm = c;
   return OK;
}

int
ncclCommDestroy(Fake *comm)
{
   free(comm);
   return OK;
}

int
ncclCommAbort(Fake *comm)
{
   while (is_asked("stuck"))
      pause();
   pthread_mutex_lock(&lock);
   comm->is_aborted = 1;
   pthread_cond_broadcast(&changed);
   pthread_mutex_unlock(&lock);
   return OK; /* its memory stays: a call may still be under way */
}

int
ncclCommGetAsyncError(Fake *comm, int *result)
{
   *result = is_asked("error") && comm->groups > 0 ? REMOTE_ERROR : OK;
   return OK;
}

int
ncclGroupStart(void)
{
   num_ops = 0;
   group_comm = NULL;
   return OK;
}

static int
add(void *data, size_t bytes, int peer, int is_send, Fake *comm)
{
   if (num_ops == MAX_OPS)
      return SYSTEM_ERROR;
   ops[num_ops++] = (Op){data, bytes, peer, is_send};
   group_comm = comm;
   return OK;
}

int
ncclSend(const void *data, size_t n, int dtype, int to, Fake *comm, void *stream)
{
   (void)stream;
   return dtype ? SYSTEM_ERROR : add((void *)(size_t)data, n, to, 1, comm);
}

int
ncclRecv(void *data, size_t n, int dtype, int from, Fake *comm, void *stream)
{
   (void)stream;
   return dtype ? SYSTEM_ERROR : add(data, n, from, 0, comm);
}

static int
post(const Op *op)
{
   Mail *m = &mail[group_comm->rank][op->peer];
   while (m->sent - m->received == MAX_OPS && !group_comm->is_aborted)
      pthread_cond_wait(&changed, &lock);
   if (m->sent - m->received == MAX_OPS)
      return SYSTEM_ERROR;
   m->data[m->sent % MAX_OPS] = op->data;
   m->bytes[m->sent++ % MAX_OPS] = op->bytes;
   pthread_cond_broadcast(&changed);
   return OK;
}

static int
receive(const Op *op)
{
   Mail *m = &mail[op->peer][group_comm->rank];
   while (m->sent == m->received && !group_comm->is_aborted)
      pthread_cond_wait(&changed, &lock);
   unsigned at = m->received % MAX_OPS;
   if (m->sent == m->received || m->bytes[at] != op->bytes)
      return SYSTEM_ERROR;
   memcpy(op->data, m->data[at], op->bytes);
   m->received++;
   pthread_cond_broadcast(&changed);
   return OK;
}

int
ncclGroupEnd(void)
{
   Fake *c = group_comm;
   int result = OK;
   if (!c)
      return OK;
   pthread_mutex_lock(&lock);
   c->groups++;
   while (is_asked("hang") && c->groups > 1 && !c->is_aborted)
      pthread_cond_wait(&changed, &lock);
   for (int i = 0; i < num_ops && result == OK; i++)
      if (ops[i].is_send)
         result = post(&ops[i]);
   for (int i = 0; i < num_ops && result == OK; i++)
      if (!ops[i].is_send)
         result = receive(&ops[i]);
   pthread_mutex_unlock(&lock);
   return result;
}

int
ncclReduceScatter(const void *send, void *recv, size_t n, int dtype, int op, Fake *comm,
                  void *stream)
{
   (void)stream;
   const float *from = (const float *)send + (size_t)comm->rank * n;
   if (dtype != 7 || op != 0)
      return SYSTEM_ERROR;
   memcpy(recv, from, n * sizeof *from); /* the stand-in driver computes nothing to add */
   return OK;
}

const char *
ncclGetErrorString(int result)
{
   return result == REMOTE_ERROR ? "another rank failed" : "the call was given up";
}
