/* Ranks that mpirun started.  Every wait is a loop of MPI_Test with a deadline, half of the time
 * asked for; in the other half the ranks that are still there tell each other so, and those that
 * stay silent are named.  A library of its own, opened by comm_mpi_load: nothing else needs MPI. */
#include "comm.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROLL_CALL = 7101, TRANSFER = 7102, MAX_REQUESTS = 2 * COMM_MAX_PARTS };

typedef struct Mpi {
   Comm comm;
   MPI_Comm world; /* transfers and gathers */
   MPI_Comm roll;  /* the roll call */
   MPI_Request under_way[MAX_REQUESTS];
   unsigned others[MAX_REQUESTS]; /* whom each of them needs; comm.size: all */
   int num_under_way;
} Mpi;

static void
pause_briefly(void)
{
   nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static bool
failed(Mpi *m, int code, const char *what)
{
   char text[MPI_MAX_ERROR_STRING] = "";
   int length = 0;
   if (code == MPI_SUCCESS)
      return false;
   MPI_Error_string(code, text, &length);
   comm_fail(&m->comm, "%s: %s", what, text);
   return true;
}

/* ---- Who is still there ---------------------------------------------------------------------- */

/* Says to all "I am here", and listens; false: out of memory. */
static bool
roll_call(Mpi *m, bool *is_here)
{
   unsigned size = m->comm.size;
   MPI_Request *requests = calloc(2 * (size_t)size, sizeof *requests);
   char *words = calloc(2, size);
   if (!requests || !words) {
      free(requests);
      free(words);
      return false;
   }
   for (unsigned r = 0; r < size; r++) {
      int code = MPI_Irecv(words + r, 1, MPI_CHAR, (int)r, ROLL_CALL, m->roll, &requests[r]);
      int sent =
         MPI_Isend(words + size, 1, MPI_CHAR, (int)r, ROLL_CALL, m->roll, &requests[size + r]);
      requests[r] = code == MPI_SUCCESS ? requests[r] : MPI_REQUEST_NULL;
      requests[size + r] = sent == MPI_SUCCESS ? requests[size + r] : MPI_REQUEST_NULL;
   }
   unsigned missing = size;
   for (double end = comm_now() + m->comm.timeout_s / 2; missing && comm_now() < end;) {
      for (unsigned r = 0; r < size; r++) {
         int done = 0;
         if (is_here[r] || requests[r] == MPI_REQUEST_NULL)
            continue;
         MPI_Test(&requests[r], &done, MPI_STATUS_IGNORE);
         is_here[r] = done != 0;
         missing -= is_here[r];
      }
      pause_briefly();
   }
   return true; /* the requests stay: this process ends soon, and MPI may still use their memory */
}

static bool
give_up_waiting(Mpi *m, unsigned other)
{
   char list[256] = "";
   size_t at = 0;
   bool *is_here = calloc(m->comm.size, sizeof *is_here);
   if (!is_here || !roll_call(m, is_here)) {
      free(is_here);
      return comm_fail(&m->comm, "out of memory");
   }
   for (unsigned r = 0; r < m->comm.size; r++)
      if (!is_here[r] && at < sizeof list - 16)
         at += (size_t)snprintf(list + at, sizeof list - at, "%s%u", at ? ", " : "", r);
   free(is_here);
   char from[64] = "the other ranks";
   if (other < m->comm.size)
      snprintf(from, sizeof from, "rank %u", other);
   return comm_fail(&m->comm, "nothing from %s for %g seconds; %s%s", from, m->comm.timeout_s / 2,
                    at ? "gone or stuck: rank " : "all ranks answer, so they wait for each other",
                    list);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static bool
wait_all(Mpi *m)
{
   double end = comm_now() + m->comm.timeout_s / 2;
   bool ok = true;
   for (int i = 0; ok && i < m->num_under_way;) {
      int done = 0;
      if (failed(m, MPI_Test(&m->under_way[i], &done, MPI_STATUS_IGNORE), "a transfer"))
         ok = false;
      else if (done)
         i++;
      else if (comm_now() > end)
         ok = give_up_waiting(m, m->others[i]);
      else
         pause_briefly();
   }
   m->num_under_way = 0;
   return ok;
}

/* The next request, which `other` is needed for. */
static MPI_Request *
request_of(Mpi *m, unsigned other)
{
   if (m->num_under_way == MAX_REQUESTS)
      return NULL;
   m->others[m->num_under_way] = other;
   return &m->under_way[m->num_under_way++];
}

static bool
fits(Mpi *m, size_t count)
{
   return count <= INT32_MAX || comm_fail(&m->comm, "MPI moves less than 2^31 elements at once");
}

/* ---- The interface --------------------------------------------------------------------------- */

static bool
mpi_gather(Comm *c, const void *mine, size_t bytes, void *all)
{
   Mpi *m = (Mpi *)c;
   MPI_Request *request = request_of(m, c->size);
   if (!request || !fits(m, bytes))
      return comm_fail(c, "a gather while transfers are under way");
   int n = (int)bytes;
   return !failed(m, MPI_Iallgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, m->world, request),
                  "a gather") &&
          wait_all(m);
}

static bool
mpi_exchange(Comm *c, const CommPart *parts, unsigned count)
{
   Mpi *m = (Mpi *)c;
   for (unsigned i = 0; i < count; i++) {
      const CommPart *p = &parts[i];
      MPI_Request *recv = request_of(m, p->from), *send = request_of(m, p->to);
      if (!recv || !send)
         return comm_fail(c, "more than %d transfers at once", COMM_MAX_PARTS);
      int n = (int)p->bytes;
      if (!fits(m, p->bytes) ||
          failed(m, MPI_Irecv(p->recv, n, MPI_BYTE, (int)p->from, TRANSFER, m->world, recv),
                 "receiving") ||
          failed(m, MPI_Isend(p->send, n, MPI_BYTE, (int)p->to, TRANSFER, m->world, send),
                 "sending"))
         return false;
   }
   return true;
}

static bool
mpi_reduce_scatter(Comm *c, const void *send, void *recv, size_t elems, TilecDtype dtype)
{
   Mpi *m = (Mpi *)c;
   MPI_Request *request = request_of(m, c->size);
   if (dtype != TILEC_FP32)
      return comm_fail(c, "MPI adds fp32, not 16-bit floats");
   if (!request)
      return comm_fail(c, "more than %d transfers at once", COMM_MAX_PARTS);
   return fits(m, elems) && !failed(m,
                                    MPI_Ireduce_scatter_block(send, recv, (int)elems, MPI_FLOAT,
                                                              MPI_SUM, m->world, request),
                                    "a reduce-scatter");
}

static bool
mpi_before(Comm *c, TilecStream work)
{
   (void)work;
   return wait_all((Mpi *)c);
}

/* After a failure MPI_Finalize would wait for ranks that are gone; and mpirun ends all ranks when
 * one has failed, so the others are left a moment to say why they do. */
static void
mpi_close(Comm *c)
{
   Mpi *m = (Mpi *)c;
   if (c->error[0]) {
      sleep(1);
   } else {
      MPI_Comm_free(&m->roll);
      MPI_Comm_free(&m->world);
      MPI_Finalize();
   }
   free(m);
}

__attribute__((visibility("default"))) Comm *
comm_mpi_open(double timeout_s)
{
   int rank = 0, size = 0;
   Mpi *m = calloc(1, sizeof *m);
   if (!m || MPI_Init(NULL, NULL) != MPI_SUCCESS ||
       MPI_Comm_dup(MPI_COMM_WORLD, &m->world) != MPI_SUCCESS ||
       MPI_Comm_dup(MPI_COMM_WORLD, &m->roll) != MPI_SUCCESS) {
      free(m);
      return NULL;
   }
   MPI_Comm_set_errhandler(m->world, MPI_ERRORS_RETURN);
   MPI_Comm_set_errhandler(m->roll, MPI_ERRORS_RETURN);
   MPI_Comm_rank(m->world, &rank);
   MPI_Comm_size(m->world, &size);
   m->comm = (Comm){.rank = (unsigned)rank,
                    .size = (unsigned)size,
                    .timeout_s = timeout_s,
                    .engine = "MPI",
                    .gather = mpi_gather,
                    .exchange = mpi_exchange,
                    .reduce_scatter = mpi_reduce_scatter,
                    .after = comm_nothing,
                    .before = mpi_before,
                    .sync = comm_nothing,
                    .close = mpi_close};
   return &m->comm;
}
