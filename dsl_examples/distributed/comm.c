/* What all engines share; see comm.h. */
#include "comm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool
comm_fail(Comm *c, const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   vsnprintf(c->error, sizeof c->error, format, ap);
   va_end(ap);
   return false;
}

bool
comm_nothing(Comm *c, TilecStream work)
{
   (void)c, (void)work;
   return true;
}

Comm *
comm_mpi_load(double timeout_s, char *why, size_t why_bytes)
{
   Comm *(*open)(double) = NULL;
   void *library = dlopen("libtilec_comm_mpi.so", RTLD_NOW | RTLD_GLOBAL);
   void *symbol = library ? dlsym(library, "comm_mpi_open") : NULL;
   if (!symbol) {
      const char *reason = dlerror();
      snprintf(why, why_bytes, "no MPI: %s", reason ? reason : "libtilec_comm_mpi.so is damaged");
      return NULL;
   }
   memcpy(&open, &symbol, sizeof open);
   Comm *c = open(timeout_s);
   if (!c)
      snprintf(why, why_bytes, "MPI could not be started");
   return c;
}
