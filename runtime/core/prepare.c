/* Making variants ready ahead of their launch, and saying which one a launch would use. */
#include "core/core.h"

#include <stdio.h>
#include <stdlib.h>

struct TilecPending {
   TilecRuntime *rt;
   void *flight; /* of the compiler; NULL: an image, of which nothing is to be waited for */
};

TilecStatus
tilec_kernel_prepare_async(TilecKernel *kernel, const TilecArg *args, size_t num_args,
                           TilecPending **out)
{
   bool pushed;
   if (out)
      *out = NULL;
   if (!kernel || !out)
      return tl_rt_null(kernel ? kernel->module->rt : NULL, "tilec_kernel_prepare_async: out");
   TilecRuntime *rt = kernel->module->rt;
   TilecStatus status = tl_rt_check_kernel(kernel, "tilec_kernel_prepare_async");
   if (status != TILEC_OK)
      return status;
   status = tl_rt_enter(rt, &pushed);
   tl_rt_leave(rt, pushed);
   if (status == TILEC_OK)
      status = tl_rt_check_count(kernel, args, num_args);
   if (status == TILEC_OK)
      status = tl_rt_chosen(&kernel, NULL, args, num_args);
   if (status != TILEC_OK)
      return status;
   if (!kernel->module->source && (status = tilec_kernel_prepare(kernel, args, num_args)))
      return status;
   TilecPending *p = calloc(1, sizeof *p);
   if (!p)
      return tl_rt_no_memory(rt, "a preparation");
   p->rt = rt;
   if (kernel->module->source)
      status = rt->jit->start(kernel->module->source, args, num_args, &p->flight);
   if (status != TILEC_OK) {
      free(p);
      return status;
   }
   *out = p;
   return TILEC_OK;
}

static TilecStatus
join(TilecPending *p, bool wait)
{
   bool pushed;
   if (!p)
      return tl_rt_null(NULL,
                        wait ? "tilec_pending_wait: pending" : "tilec_pending_query: pending");
   TilecStatus status = tl_rt_enter(p->rt, &pushed);
   tl_rt_leave(p->rt, pushed);
   return status == TILEC_OK && p->flight ? p->rt->jit->join(p->flight, wait) : status;
}

TilecStatus
tilec_pending_wait(TilecPending *pending)
{
   return join(pending, true);
}

TilecStatus
tilec_pending_query(TilecPending *pending)
{
   return join(pending, false);
}

void
tilec_pending_free(TilecPending *p)
{
   if (!p)
      return;
   if (p->flight && !tl_core_is_forked(p->rt))
      p->rt->jit->release(p->flight);
   free(p);
}

TilecStatus
tilec_kernel_explain(TilecKernel *kernel, const TilecArg *args, size_t num_args, char *buffer,
                     size_t bytes)
{
   if (!kernel)
      return tl_rt_null(NULL, "tilec_kernel_explain: kernel");
   TilecStatus status = tl_rt_check_kernel(kernel, "tilec_kernel_explain");
   if (status == TILEC_OK)
      status = tl_rt_check_open(kernel->module->rt);
   if (status != TILEC_OK)
      return status;
   if (!buffer || !bytes)
      return tl_rt_fail(kernel->module->rt, TILEC_BAD_ARGUMENT,
                        "kernel '%s': there is no room for the text", kernel->name);
   buffer[0] = 0;
   status = tl_rt_check_count(kernel, args, num_args);
   if (status == TILEC_OK)
      status = tl_rt_chosen(&kernel, NULL, args, num_args);
   if (status != TILEC_OK)
      return status;
   TilecRuntime *rt = kernel->module->rt;
   if (kernel->module->source)
      return rt->jit->explain(kernel->module->source, args, num_args, buffer, bytes);
   char why[TL_RT_ERROR_BYTES];
   const TlVariant *v = tl_rt_fitting(kernel, args, num_args, why);
   if (v)
      snprintf(buffer, bytes, "kernel '%s': variant %td of %u would be used", kernel->name,
               v - kernel->variants, kernel->num_variants);
   else
      snprintf(buffer, bytes, "kernel '%s': no variant fits (%s); an image makes no new ones",
               kernel->name, why);
   return TILEC_OK;
}
