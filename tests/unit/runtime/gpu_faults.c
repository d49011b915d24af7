/* Real faults on a real GPU, each in a process of its own, since a fault ends a process's use of
 * the GPU.  Every child checks what its own runtime said; the parent kills what does not end and
 * checks that the GPU still works for the next process.  Exit 77 (skipped) without a GPU.
 *
 *    gpu_faults          all cases
 *    gpu_faults CASE     one, in this process */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tilec/runtime.h"

extern char **environ;

enum { SKIPPED = 77, N = 1024 };

static const char source[] = "@kernel\n"
                             "def twice(x: *fp32, n: i32, BLOCK: constexpr = 128):\n"
                             "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n"
                             "    store(x + i, load(x + i, i < n) * 2, i < n)\n"
                             "\n"
                             "@kernel\n"
                             "def asserts(x: *fp32, n: i32, BLOCK: constexpr = 128):\n"
                             "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n"
                             "    device_assert(i < n, \"too far\")\n"
                             "    store(x + i, 1.0)\n";

static const char ptx[] =
   ".version 8.0\n.target sm_80\n.address_size 64\n"
   ".visible .entry traps(.param .u64 o)\n{\n  trap;\n  ret;\n}\n"
   ".visible .entry loops(.param .u64 o)\n{\n"
   "  .reg .b64 %d0; .reg .b32 %r0; .reg .pred %p;\n"
   "  ld.param.u64 %d0, [o];\nAGAIN:\n"
   "  ld.volatile.global.u32 %r0, [%d0]; setp.ne.u32 %p, %r0, 4711; @%p bra AGAIN;\n  ret;\n}\n"
   ".visible .entry hungry(.param .u64 o)\n{\n" /* half a megabyte of each thread's own */
   "  .local .align 16 .b8 own[500000];\n"
   "  .reg .b64 %d<4>; .reg .b32 %r<2>;\n"
   "  ld.param.u64 %d0, [o]; ld.global.u32 %r0, [%d0]; mov.u64 %d1, own; cvt.u64.u32 %d2, %r0;\n"
   "  add.u64 %d3, %d1, %d2; st.local.u32 [%d3], %r0; ld.local.u32 %r1, [%d3+64];\n"
   "  st.global.u32 [%d0], %r1; ret;\n}\n";

static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;
static TilecBuffer *buffer;
static uint32_t timeout_ms; /* of the runtime */

static const char *
detail(void)
{
   static char text[4096];
   tilec_runtime_error(rt, text, sizeof text);
   return text;
}

static void
expect(bool ok, const char *what)
{
   if (ok)
      return;
   printf("FAILED %s: %s\n", what, detail());
   exit(1);
}

static void
expect_status(TilecStatus got, TilecStatus want, const char *what)
{
   if (got == want)
      return;
   printf("FAILED %s: %s, not %s: %s\n", what, tilec_status_name(got), tilec_status_name(want),
          got ? detail() : "");
   exit(1);
}

static void
expect_says(const char *part)
{
   if (strstr(detail(), part))
      return;
   printf("FAILED '%s' is not in: %s\n", part, detail());
   exit(1);
}

static void
open_runtime(bool synchronous, bool check)
{
   char error[512] = "";
   TilecRuntimeOptions o = {.struct_size = sizeof o,
                            .synchronous = synchronous,
                            .check = check,
                            .timeout_ms = timeout_ms,
                            .error = error,
                            .error_bytes = sizeof error};
   TilecStatus status = tilec_runtime_open(&o, &rt);
   if (status == TILEC_NO_DRIVER || status == TILEC_NO_DEVICE) {
      printf("skipped: %s\n", error);
      exit(SKIPPED);
   }
   if (status != TILEC_OK) {
      printf("FAILED open: %s\n", error);
      exit(1);
   }
   expect_status(tilec_jit_attach(rt, NULL), TILEC_OK, "attach");
   expect_status(tilec_buffer_new(rt, N * 4, &buffer), TILEC_OK, "buffer");
   expect_status(tilec_buffer_fill(buffer, 0, 0, N * 4, NULL), TILEC_OK, "fill");
   expect_status(tilec_runtime_sync(rt), TILEC_OK, "sync");
}

static void
use_source(const char *name)
{
   TilecSource s = {.struct_size = sizeof s,
                    .file = "folder/faults.tile",
                    .source = source,
                    .source_bytes = TILEC_STRLEN,
                    .kernel = name,
                    .check = true,
                    .debug_info = true};
   expect_status(tilec_module_from_source(rt, &s, &module), TILEC_OK, "source");
   expect_status(tilec_module_kernel(module, NULL, &kernel), TILEC_OK, "kernel");
}

static char json[8192];
static size_t json_len;

static bool
put(void *user, const char *text, size_t len)
{
   (void)user;
   if (json_len + len > sizeof json)
      return false;
   memcpy(json + json_len, text, len);
   json_len += len;
   return true;
}

static TilecStatus
use_image(const char *name)
{
   static const TilecArgInfo arg = {.name = "o", .type = "*i32"};
   TilecKernelInfo k = {.name = name,
                        .entry = name,
                        .file = "by_hand.ptx",
                        .line = 7,
                        .num_warps = 4,
                        .threads = 128,
                        .cluster = {1, 1, 1},
                        .args = &arg,
                        .num_args = 1};
   TilecImageInfo info = {.format = TILEC_IMAGE_FORMAT,
                          .arch = "sm_80",
                          .ptx_version = 80,
                          .kernels = &k,
                          .num_kernels = 1};
   json_len = 0;
   expect_status(tilec_image_write_json(&info, put, NULL), TILEC_OK, "record");
   TilecStatus status = tilec_module_load(rt, ptx, TILEC_STRLEN, json, json_len, &module);
   return status == TILEC_OK ? tilec_module_kernel(module, NULL, &kernel) : status;
}

/* The device is lost, and says so from now on; closing works. */
static void
finish_lost(TilecStatus status, const char *cuda, const char *place, const char *verdict)
{
   TilecBuffer *other;
   TilecEvent *event;
   expect_status(status, TILEC_DEVICE_LOST, cuda);
   expect_says(cuda);
   expect_says(place);
   expect_says(verdict);
   expect_status(tilec_buffer_new(rt, 16, &other), TILEC_DEVICE_LOST, "a later buffer");
   expect_says(cuda);
   expect_status(tilec_event_new(rt, &event), TILEC_DEVICE_LOST, "a later event");
   expect_status(tilec_runtime_sync(rt), TILEC_DEVICE_LOST, "a later wait");
}

static void
finish_well(void)
{
   float back[N];
   use_source("twice");
   expect_status(TILEC_LAUNCH(kernel, NULL, N / 128, 1, 1, tilec_view(TILEC_FP32, buffer, 0), N),
                 TILEC_OK, "a good launch");
   expect_status(tilec_buffer_download(buffer, 0, back, sizeof back, NULL), TILEC_OK, "download");
}

/* ---- The cases ---- */
static void
good(void)
{
   float x[N];
   for (int i = 0; i < N; i++)
      x[i] = (float)i;
   open_runtime(false, true);
   expect_status(tilec_buffer_upload(buffer, 0, x, sizeof x, NULL), TILEC_OK, "upload");
   finish_well();
   expect_status(tilec_buffer_download(buffer, 0, x, sizeof x, NULL), TILEC_OK, "download");
   for (int i = 0; i < N; i++)
      expect(x[i] == 2 * (float)i, "results");
}

static void
out_of_bounds(void)
{
   open_runtime(false, false);
   use_source("twice");
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_ptr(TILEC_FP32, (void *)0x10, 0), 128),
                 TILEC_OK, "a launch returns before it runs");
   finish_lost(tilec_runtime_sync(rt), "CUDA_ERROR_ILLEGAL_ADDRESS",
               "twice (faults.tile:1), grid (1, 1, 1), args (0x10, 0x80)",
               "An earlier launch is to blame:");
}

static void
out_of_bounds_synchronous(void)
{
   open_runtime(true, false);
   use_source("twice");
   TilecArg x = tilec_view(TILEC_FP32, buffer, 0);
   for (int i = 0; i < 3; i++)
      expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, x, 128), TILEC_OK, "good launches");
   finish_lost(TILEC_LAUNCH(kernel, NULL, 2, 1, 1, tilec_ptr(TILEC_FP32, (void *)0x10, 0), 128),
               "CUDA_ERROR_ILLEGAL_ADDRESS", "launch 4: twice (faults.tile:1), grid (2, 1, 1)",
               "The launch to blame:");
}

static void
misaligned(void)
{
   open_runtime(false, false);
   use_source("twice");
   char *x = (char *)tilec_buffer_address(buffer) + 2;
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_ptr(TILEC_FP32, x, 0), 128), TILEC_OK,
                 "launch");
   finish_lost(tilec_stream_sync(rt, NULL), "CUDA_ERROR_MISALIGNED_ADDRESS",
               "twice (faults.tile:1)", "An earlier launch is to blame:");
}

static void
device_assert(void)
{
   open_runtime(false, false);
   use_source("asserts");
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_view(TILEC_FP32, buffer, 0), 100),
                 TILEC_OK, "launch");
   finish_lost(tilec_runtime_sync(rt), "CUDA_ERROR_ASSERT", "asserts (faults.tile:6)",
               "An earlier launch is to blame:");
}

static void
trap(void)
{
   open_runtime(true, false);
   expect_status(use_image("traps"), TILEC_OK, "image");
   finish_lost(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_view(TILEC_I32, buffer, 0)), "CUDA_ERROR_",
               "traps (by_hand.ptx:7)", "The launch to blame:");
}

static void
no_memory(void)
{
   open_runtime(false, false);
   TilecBuffer *huge;
   expect_status(tilec_buffer_new(rt, (uint64_t)1 << 50, &huge), TILEC_OUT_OF_DEVICE_MEMORY,
                 "a buffer of a petabyte");
   expect_says("asked for 1125899906842624 bytes");
   finish_well();
}

/* Local memory for all resident threads: more than some devices have, not more than all. */
static void
no_local_memory(void)
{
   open_runtime(false, false);
   TilecStatus status = use_image("hungry");
   if (status == TILEC_OK)
      status = TILEC_LAUNCH(kernel, NULL, 4096, 1, 1, tilec_view(TILEC_I32, buffer, 0));
   if (status == TILEC_OK)
      status = tilec_runtime_sync(rt);
   printf("local memory: %s: %s\n", tilec_status_name(status),
          status ? detail() : "there was enough");
   expect(status == TILEC_OK || status == TILEC_OUT_OF_DEVICE_MEMORY, "local memory");
   tilec_module_free(module);
   finish_well();
}

static void
checked(void)
{
   static float mine[N];
   open_runtime(false, true);
   use_source("twice");
   TilecArg x = tilec_view(TILEC_FP32, buffer, 0);
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, x, 128), TILEC_OK, "a good launch");
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_ptr(TILEC_FP32, NULL, 0), 128),
                 TILEC_BAD_ARGUMENT, "NULL");
   expect_says("parameter 'x' is *fp32 0x0: NULL");
   char *address = tilec_buffer_address(buffer);
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_ptr(TILEC_FP32, address + 2, 0), 128),
                 TILEC_BAD_ARGUMENT, "alignment");
   expect_status(
      TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_ptr(TILEC_FP32, address, (uint64_t)1 << 40), 128),
      TILEC_BAD_ARGUMENT, "a size beyond the allocation");
   expect_says("bytes are said to be there");
   TilecStatus status =
      TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_ptr(TILEC_FP32, mine, sizeof mine), 128);
   if (status == TILEC_OK) { /* a device that reads any memory of the host */
      expect_status(tilec_runtime_sync(rt), TILEC_OK, "host memory");
   } else {
      expect_status(status, TILEC_BAD_ARGUMENT, "host memory");
      expect_says("memory of the host, or freed");
   }
   tilec_module_free(module);
   finish_well();
}

static void
endless(void)
{
   TilecEvent *done;
   open_runtime(false, false);
   expect_status(use_image("loops"), TILEC_OK, "image");
   expect_status(tilec_event_new(rt, &done), TILEC_OK, "event");
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_view(TILEC_I32, buffer, 0)), TILEC_OK,
                 "launch");
   expect_status(tilec_event_record(done, NULL), TILEC_OK, "record");
   for (int i = 0; i < 30; i++) {
      struct timespec pause = {.tv_nsec = 10000000};
      expect_status(tilec_event_query(done), TILEC_NOT_READY, "query");
      nanosleep(&pause, NULL);
   }
   raise(SIGKILL); /* nothing else ends it */
}

static void
start_endless(void)
{
   timeout_ms = 200;
   open_runtime(false, false);
   expect_status(use_image("loops"), TILEC_OK, "image");
   expect_status(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_view(TILEC_I32, buffer, 0)), TILEC_OK,
                 "launch");
   expect_status(tilec_runtime_sync(rt), TILEC_TIMED_OUT, "a wait for an endless kernel");
   expect_says("synchronising: the GPU has not finished within 200 ms");
   expect_says("launch 1: loops (by_hand.ptx:7), grid (1, 1, 1)");
}

/* A wait that was too short is repeated once the kernel is let go. */
static void
given_time(void)
{
   static const int end = 4711;
   TilecStream other;
   start_endless();
   expect(tilec_runtime_loss(rt) == TILEC_NOT_LOST, "not lost yet");
   expect_status(tilec_stream_new(rt, &other), TILEC_OK, "stream");
   expect_status(tilec_buffer_upload(buffer, 0, &end, sizeof end, other), TILEC_OK, "upload");
   expect_status(tilec_runtime_sync(rt), TILEC_OK, "a wait for a kernel that ends");
   tilec_stream_free(rt, other);
   tilec_module_free(module);
   finish_well();
}

/* Nothing waits for the kernel any more; the end of the process ends it. */
static void
abandoned(void)
{
   struct timespec begin, end;
   start_endless();
   clock_gettime(CLOCK_MONOTONIC, &begin);
   expect_status(tilec_runtime_abandon(rt), TILEC_OK, "abandon");
   finish_lost(tilec_stream_sync(rt, NULL), "given up by tilec_runtime_abandon",
               "launch 1: loops (by_hand.ptx:7)", "An earlier launch is to blame:");
   expect(tilec_runtime_loss(rt) == TILEC_ABANDONED, "the kind of loss");
   tilec_buffer_free(buffer);
   tilec_module_free(module);
   tilec_runtime_close(rt);
   clock_gettime(CLOCK_MONOTONIC, &end);
   if (end.tv_sec - begin.tv_sec > 2)
      printf("FAILED: closing took %ld s\n", (long)(end.tv_sec - begin.tv_sec));
   _exit(end.tv_sec - begin.tv_sec > 2);
}

/* Whether a process goes on after a fault is the driver's to say: it works, or opening fails. */
static void
reopened(void)
{
   out_of_bounds();
   expect(tilec_runtime_loss(rt) == TILEC_LOST_TO_KERNEL, "the kind of loss");
   tilec_buffer_free(buffer);
   tilec_module_free(module);
   tilec_runtime_close(rt);
   char error[512] = "";
   TilecRuntimeOptions o = {.struct_size = sizeof o, .error = error, .error_bytes = sizeof error};
   buffer = NULL;
   module = NULL;
   TilecStatus status = tilec_runtime_open(&o, &rt);
   printf("opened again after a fault: %s %s\n", tilec_status_name(status), error);
   if (status == TILEC_OK) {
      tilec_runtime_close(rt);
      rt = NULL;
      good();
   } else if (status != TILEC_DEVICE_LOST || !strstr(error, "cannot be used by this process")) {
      exit(1);
   }
}

static const struct {
   const char *name;
   void (*run)(void);
   bool is_killed;
} cases[] = {
   {"good", good, false},
   {"out_of_bounds", out_of_bounds, false},
   {"out_of_bounds_synchronous", out_of_bounds_synchronous, false},
   {"misaligned", misaligned, false},
   {"device_assert", device_assert, false},
   {"trap", trap, false},
   {"no_memory", no_memory, false},
   {"no_local_memory", no_local_memory, false},
   {"checked", checked, false},
   {"endless", endless, true},
   {"given_time", given_time, false},
   {"abandoned", abandoned, false},
   {"reopened", reopened, false},
   {"good", good, false}, /* the GPU has survived all of it */
};

/* One case in this process, closed as a program would. */
static int
run_one(const char *name)
{
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
      if (strcmp(cases[i].name, name) == 0) {
         cases[i].run();
         tilec_buffer_free(buffer);
         tilec_module_free(module);
         tilec_runtime_close(rt);
         return 0;
      }
   printf("no case '%s'\n", name);
   return 2;
}

/* Waits for at most a minute. */
static int
wait_for(pid_t child)
{
   int how = 0;
   for (int tick = 0; tick < 600; tick++) {
      struct timespec pause = {.tv_nsec = 100000000};
      if (waitpid(child, &how, WNOHANG) == child)
         return how;
      nanosleep(&pause, NULL);
   }
   printf("it does not end\n");
   kill(child, SIGKILL);
   waitpid(child, &how, 0);
   return 1 << 8;
}

int
main(int argc, char **argv)
{
   int failures = 0;
   setvbuf(stdout, NULL, _IOLBF, 0);
   if (argc > 1)
      return run_one(argv[1]);
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      char *const arguments[] = {argv[0], (char *)(uintptr_t)cases[i].name, NULL};
      pid_t child;
      if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) != 0)
         return 1;
      int how = wait_for(child);
      if (WIFEXITED(how) && WEXITSTATUS(how) == SKIPPED)
         return SKIPPED;
      bool ok = cases[i].is_killed ? WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL
                                   : WIFEXITED(how) && WEXITSTATUS(how) == 0;
      printf("%s %s\n", ok ? "ok    " : "FAILED", cases[i].name);
      failures += !ok;
   }
   return failures != 0;
}
