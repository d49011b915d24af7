/* Buffers: device memory on CUDA, host memory on host executors, or memory of the caller.
 * Invariant: every access lies inside [0, bytes); sizes are 64-bit and never added unchecked. */
#include "core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_ALIGN = 256 };

/* ---- The buffers of a host executor: their addresses may stand in tables ---- */
void
tl_buffer_begin(TilecBuffer *b)
{
   TilecRuntime *rt = b->rt;
   tl_handle_begin(rt, &b->handle);
   if (rt->executor == TILEC_ON_CUDA)
      return;
   pthread_mutex_lock(&rt->lock);
   b->next = rt->buffers;
   if (b->next)
      b->next->before = b;
   rt->buffers = b;
   pthread_mutex_unlock(&rt->lock);
}

/* In a forked child the lock may be held by a thread that is not here any more, and launches are
 * refused. */
static void
unlist(TilecBuffer *b)
{
   TilecRuntime *rt = b->rt;
   if (rt->executor == TILEC_ON_CUDA || tl_core_is_forked(rt))
      return;
   pthread_mutex_lock(&rt->lock);
   *(b->before ? &b->before->next : &rt->buffers) = b->next;
   if (b->next)
      b->next->before = b->before;
   pthread_mutex_unlock(&rt->lock);
}

bool
tl_core_memory(TilecRuntime *rt, uint64_t address, TilecMemory *out)
{
   bool is_found = false;
   pthread_mutex_lock(&rt->lock);
   for (const TilecBuffer *b = rt->buffers; b && !is_found; b = b->next) {
      is_found = address - (uintptr_t)b->address < b->bytes;
      if (is_found)
         *out = (TilecMemory){b->address, b->bytes, b->is_read_only};
   }
   pthread_mutex_unlock(&rt->lock);
   return is_found || (rt->memory && rt->memory(rt->memory_user, address, out));
}

void
tl_buffer_note_written(TilecBuffer *b, uint64_t end)
{
   uint64_t was = atomic_load_explicit(&b->written, memory_order_relaxed);
   assert(end <= b->bytes);
   while (was < end && !atomic_compare_exchange_weak(&b->written, &was, end))
      continue;
}

/* ---- Making and freeing ---- */
static TilecStatus
allocate(TilecRuntime *rt, TilecBuffer *b)
{
   assert(!b->address && b->owned);
   if (!b->bytes)
      return TILEC_OK;
   if (rt->executor != TILEC_ON_CUDA) {
      if (b->bytes <= SIZE_MAX - HOST_ALIGN)
         b->address =
            aligned_alloc(HOST_ALIGN, (b->bytes + HOST_ALIGN - 1) & ~(size_t)(HOST_ALIGN - 1));
      assert((uintptr_t)b->address % HOST_ALIGN == 0);
      if (!b->address)
         return tl_rt_fail(rt, TILEC_NO_MEMORY,
                           "tilec_buffer_new: there are no %" PRIu64 " bytes of host memory",
                           b->bytes);
      return TILEC_OK;
   }
   TlCuPtr ptr = 0;
   TlCuResult code = rt->cu.mem_alloc(&ptr, b->bytes);
   if (code == TL_CU_OUT_OF_MEMORY) {
      size_t free_bytes = 0, total = 0;
      TilecStatus status =
         tl_rt_check(rt, rt->cu.mem_info(&free_bytes, &total), "asking for free memory");
      if (status == TILEC_DEVICE_LOST)
         return status;
      return tl_rt_fail(rt, TILEC_OUT_OF_DEVICE_MEMORY,
                        "allocating device memory: CUDA_ERROR_OUT_OF_MEMORY: asked for %" PRIu64
                        " bytes; %zu of %zu bytes are free",
                        b->bytes, free_bytes, total);
   }
   b->address = (void *)(uintptr_t)ptr;
   return tl_rt_check(rt, code, "allocating device memory");
}

TilecStatus
tilec_buffer_new(TilecRuntime *rt, uint64_t bytes, TilecBuffer **out)
{
   bool pushed;
   if (out)
      *out = NULL;
   if (!rt || !out)
      return tl_rt_null(rt, "tilec_buffer_new: out");
   TilecBuffer *b = calloc(1, sizeof *b);
   if (!b)
      return tl_rt_no_memory(rt, "a buffer");
   *b = (TilecBuffer){.rt = rt, .bytes = bytes, .owned = true};
   TilecStatus status = tl_rt_enter(rt, &pushed);
   if (status == TILEC_OK)
      status = allocate(rt, b);
   tl_rt_leave(rt, pushed);
   if (status == TILEC_OK) {
      tl_buffer_begin(b);
      *out = b;
   } else {
      free(b);
   }
   return status;
}

TilecStatus
tilec_buffer_wrap(TilecRuntime *rt, void *address, uint64_t bytes, TilecBuffer **out)
{
   if (out)
      *out = NULL;
   if (!rt || !out)
      return tl_rt_null(rt, "tilec_buffer_wrap: out");
   if (!address && bytes)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT, "tilec_buffer_wrap: NULL with %" PRIu64 " bytes",
                        bytes);
   TilecStatus status = tl_rt_check_open(rt);
   if (status != TILEC_OK)
      return status;
   TilecBuffer *b = calloc(1, sizeof *b);
   if (!b)
      return tl_rt_no_memory(rt, "a buffer");
   *b = (TilecBuffer){.rt = rt, .address = address, .bytes = bytes, .written = bytes};
   tl_buffer_begin(b);
   *out = b;
   return TILEC_OK;
}

void
tilec_buffer_free(TilecBuffer *b)
{
   bool pushed;
   if (!b || !tl_handle_end(b->rt, &b->handle, "tilec_buffer_free: the buffer"))
      return;
   assert(!b->owned || !b->dlpack);
   unlist(b);
   if (b->owned && b->address) {
      if (b->rt->executor != TILEC_ON_CUDA) {
         free(b->address);
      } else if (tl_rt_enter_to_free(b->rt, &pushed)) {
         (void)tl_rt_check(b->rt, b->rt->cu.mem_free((TlCuPtr)(uintptr_t)b->address),
                           "freeing device memory");
         tl_rt_leave(b->rt, pushed);
      }
   }
   tl_dlpack_release(b->dlpack);
   tl_handle_bury(b->rt, &b->handle, NULL);
}

bool
tl_core_is_freed(const TilecBuffer *b)
{
   return !tl_handle_is_live(&b->handle);
}

void *
tl_core_address(const TilecBuffer *b)
{
   return b && tl_handle_is_live(&b->handle) ? b->address : NULL;
}

void *
tilec_buffer_address(const TilecBuffer *b)
{
   void *address = tl_core_address(b);
   if (address) /* who has it may write there */
      tl_buffer_note_written((TilecBuffer *)(uintptr_t)b, b->bytes);
   return address;
}

uint64_t
tilec_buffer_bytes(const TilecBuffer *b)
{
   return b && tl_handle_is_live(&b->handle) ? b->bytes : 0;
}

static TilecStatus
check_live(const TilecBuffer *b, const char *what)
{
   if (tl_handle_is_live(&b->handle))
      return TILEC_OK;
   return tl_rt_fail(b->rt, TILEC_BAD_ARGUMENT,
                     "%s: the buffer was freed: it is to live until its last use", what);
}

static TilecStatus
check_range(const TilecBuffer *b, uint64_t offset, uint64_t bytes, const void *host, bool need_host,
            const char *what)
{
   TilecStatus status = check_live(b, what);
   if (status == TILEC_OK)
      status = tl_rt_check_open(b->rt);
   if (status != TILEC_OK)
      return status;
   if (need_host && !host && bytes)
      return tl_rt_fail(b->rt, TILEC_BAD_ARGUMENT, "%s: the host address is NULL", what);
   if (offset > b->bytes || bytes > b->bytes - offset)
      return tl_rt_fail(b->rt, TILEC_BAD_ARGUMENT,
                        "%s: bytes %" PRIu64 " + %" PRIu64 " of a buffer of %" PRIu64
                        ": offset and bytes are to end inside it (sizes count bytes, not elements)",
                        what, offset, bytes, b->bytes);
   return TILEC_OK;
}

static TilecStatus
check_target(const TilecBuffer *b, uint64_t offset, uint64_t bytes, const char *what)
{
   if (tl_handle_is_live(&b->handle) && b->is_read_only)
      return tl_rt_fail(b->rt, TILEC_BAD_ARGUMENT, "%s: the buffer is read-only", what);
   return check_range(b, offset, bytes, NULL, false, what);
}

/* To the device from `source`, or from it to `target`; the other one is NULL. */
static TilecStatus
copy_and_wait(TilecRuntime *rt, TlCuPtr device, const void *source, void *target, uint64_t bytes,
              TilecStream stream)
{
   const char *doing = source ? "uploading" : "downloading";
   double end_ms = tl_rt_end_of_waits(rt);
   TilecStatus status = TILEC_OK;
   assert(!source != !target);
   if (rt->timeout_ms) /* the driver's copy of memory that it does not know waits without a limit */
      status = tl_rt_wait_stream(rt, stream, end_ms, doing);
   if (status == TILEC_OK)
      status = tl_rt_check(rt,
                           source ? rt->cu.copy_up(device, source, bytes, stream)
                                  : rt->cu.copy_down(target, device, bytes, stream),
                           doing);
   return status == TILEC_OK ? tl_rt_wait_stream(rt, stream, end_ms, doing) : status;
}

/* The same on every executor; the range has been checked. */
static TilecStatus
copy_host_memory(const TilecBuffer *b, uint64_t offset, const void *source, void *target,
                 uint64_t bytes, TilecStream stream)
{
   bool pushed;
   TilecStatus status = tl_rt_enter(b->rt, &pushed);
   char *at = (char *)b->address + offset;
   if (status == TILEC_OK && b->rt->executor == TILEC_ON_CUDA)
      status = copy_and_wait(b->rt, (TlCuPtr)(uintptr_t)at, source, target, bytes, stream);
   else if (status == TILEC_OK)
      memcpy(source ? at : target, source ? source : at, bytes);
   tl_rt_leave(b->rt, pushed);
   return status;
}

TilecStatus
tilec_buffer_upload(TilecBuffer *b, uint64_t offset, const void *source, uint64_t bytes,
                    TilecStream stream)
{
   if (!b)
      return tl_rt_null(NULL, "tilec_buffer_upload: buffer");
   TilecStatus status = check_target(b, offset, bytes, "tilec_buffer_upload");
   if (status == TILEC_OK)
      status = check_range(b, offset, bytes, source, true, "tilec_buffer_upload");
   if (status != TILEC_OK || !bytes)
      return status;
   tl_buffer_note_written(b, offset + bytes);
   return copy_host_memory(b, offset, source, NULL, bytes, stream);
}

TilecStatus
tilec_buffer_download(TilecBuffer *b, uint64_t offset, void *target, uint64_t bytes,
                      TilecStream stream)
{
   if (!b)
      return tl_rt_null(NULL, "tilec_buffer_download: buffer");
   TilecStatus status = check_range(b, offset, bytes, target, true, "tilec_buffer_download");
   if (status != TILEC_OK || !bytes)
      return status;
   return copy_host_memory(b, offset, NULL, target, bytes, stream);
}

TilecStatus
tilec_buffer_fill(TilecBuffer *b, uint64_t offset, uint8_t value, uint64_t bytes,
                  TilecStream stream)
{
   bool pushed;
   if (!b)
      return tl_rt_null(NULL, "tilec_buffer_fill: buffer");
   TilecStatus status = check_target(b, offset, bytes, "tilec_buffer_fill");
   if (status != TILEC_OK || !bytes)
      return status;
   tl_buffer_note_written(b, offset + bytes);
   status = tl_rt_enter(b->rt, &pushed);
   char *to = (char *)b->address + offset;
   if (status == TILEC_OK && b->rt->executor != TILEC_ON_CUDA)
      memset(to, value, bytes);
   else if (status == TILEC_OK)
      status = tl_rt_check(b->rt, b->rt->cu.fill8((TlCuPtr)(uintptr_t)to, value, bytes, stream),
                           "filling");
   tl_rt_leave(b->rt, pushed);
   return status;
}

TilecStatus
tilec_buffer_copy(TilecBuffer *to, uint64_t to_offset, const TilecBuffer *from,
                  uint64_t from_offset, uint64_t bytes, TilecStream stream)
{
   bool pushed;
   if (!to || !from)
      return to     ? tl_rt_null(to->rt, "tilec_buffer_copy: from")
             : from ? tl_rt_null(from->rt, "tilec_buffer_copy: to")
                    : TILEC_BAD_ARGUMENT;
   TilecRuntime *rt = to->rt;
   if (from->rt != rt)
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                        "tilec_buffer_copy: the buffers belong to two runtimes");
   TilecStatus status = check_target(to, to_offset, bytes, "tilec_buffer_copy");
   if (status == TILEC_OK)
      status = check_range(from, from_offset, bytes, NULL, false, "tilec_buffer_copy");
   if (status != TILEC_OK || !bytes)
      return status;
   if (from == to && (from_offset < to_offset ? to_offset - from_offset < bytes
                                              : from_offset - to_offset < bytes))
      return tl_rt_fail(rt, TILEC_BAD_ARGUMENT,
                        "tilec_buffer_copy: bytes %" PRIu64 " + %" PRIu64 " and %" PRIu64
                        " + %" PRIu64 " of one buffer overlap: copy by way of another buffer",
                        from_offset, bytes, to_offset, bytes);
   tl_buffer_note_written(to, to_offset + bytes);
   status = tl_rt_enter(rt, &pushed);
   char *target = (char *)to->address + to_offset;
   const char *source = (const char *)from->address + from_offset;
   if (status == TILEC_OK && rt->executor != TILEC_ON_CUDA)
      memcpy(target, source, bytes);
   else if (status == TILEC_OK)
      status = tl_rt_check(
         rt,
         rt->cu.copy_device((TlCuPtr)(uintptr_t)target, (TlCuPtr)(uintptr_t)source, bytes, stream),
         "copying device memory");
   tl_rt_leave(rt, pushed);
   return status;
}
