/* The runtime on a real GPU with hand-written PTX: results, all parameter sizes, 100 KB of shared
 * memory, the driver's log, a fault and its report, and the cost of a launch beside bare
 * cuLaunchKernel.  Exit 77 (skipped) where there is no driver or GPU. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tilec/runtime.h"

static const char ptx[] =
   ".version 8.0\n.target sm_80\n.address_size 64\n"
   ".visible .entry axpy(.param .u64 px, .param .u64 py, .param .f32 pa, .param .u32 pn)\n{\n"
   "  .reg .pred %p; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %d<5>;\n"
   "  ld.param.u64 %d0, [px]; ld.param.u64 %d1, [py]; ld.param.f32 %f0, [pa]; ld.param.u32 %r0, "
   "[pn];\n"
   "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
   "  mad.lo.s32 %r4, %r1, %r2, %r3; setp.ge.s32 %p, %r4, %r0; @%p ret;\n"
   "  mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;\n"
   "  ld.global.f32 %f1, [%d3]; ld.global.f32 %f2, [%d4]; fma.rn.f32 %f3, %f0, %f1, %f2;\n"
   "  st.global.f32 [%d4], %f3; ret;\n}\n"
   ".visible .entry sizes(.param .u8 a, .param .u16 b, .param .f64 c, .param .u64 o)\n{\n"
   "  .reg .b64 %d<3>; .reg .b32 %r<2>; .reg .b16 %h<2>; .reg .f64 %g;\n"
   "  ld.param.u8 %h0, [a]; ld.param.u16 %h1, [b]; ld.param.f64 %g, [c]; ld.param.u64 %d0, [o];\n"
   "  cvt.u32.u16 %r0, %h0; cvt.u32.u16 %r1, %h1; st.global.u32 [%d0], %r0;\n"
   "  st.global.u32 [%d0+4], %r1; st.global.f64 [%d0+8], %g; ret;\n}\n"
   ".extern .shared .align 16 .b8 smem[];\n"
   ".visible .entry shared(.param .u64 o)\n{\n"
   "  .reg .b32 %r<4>; .reg .b64 %d0;\n"
   "  ld.param.u64 %d0, [o]; mov.u32 %r0, smem; mov.u32 %r1, 4711; st.shared.u32 [%r0+102396], "
   "%r1;\n"
   "  ld.shared.u32 %r2, [%r0+102396]; st.global.u32 [%d0], %r2; ret;\n}\n"
   ".visible .entry fault(.param .u64 o)\n{\n"
   "  .reg .b64 %d0; .reg .b32 %r0;\n"
   "  ld.param.u64 %d0, [o]; mov.u32 %r0, 1; st.global.u32 [%d0], %r0; ret;\n}\n";

#define KERNEL(n, s, ...)                                                                          \
   {.name = n, .entry = n, .num_warps = 4, .threads = 128, .shared_bytes = s,                      \
    .cluster = {1, 1, 1},                                                                          \
    .args = (const TilecArgInfo[]){__VA_ARGS__},                                                   \
    .num_args = sizeof((const TilecArgInfo[]){__VA_ARGS__}) / sizeof(TilecArgInfo)}

static TilecRuntime *rt;

static void
check(TilecStatus status, const char *what)
{
   if (status == TILEC_OK)
      return;
   char text[4096];
   tilec_runtime_error(rt, text, sizeof text);
   printf("FAILED %s: %s: %s\n", what, tilec_status_name(status), text);
   exit(1);
}

static void
expect(bool ok, const char *what)
{
   printf("%s %s\n", ok ? "ok    " : "FAILED", what);
   if (!ok)
      exit(1);
}

static char json[16384];
static size_t json_len;

static bool
put(void *user, const char *text, size_t len)
{
   (void)user;
   memcpy(json + json_len, text, len);
   json_len += len;
   return true;
}

static double
now_us(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static TilecModule *
load(void)
{
   const TilecKernelInfo kernels[] = {
      {.name = "axpy",
       .entry = "axpy",
       .num_warps = 4,
       .threads = 128,
       .cluster = {1, 1, 1},
       .grid = {"cdiv(n, 128)"},
       .args = (const TilecArgInfo[]){{.name = "x", .type = "*fp32", .divisible = 16},
                                      {.name = "y", .type = "*fp32", .divisible = 16},
                                      {.name = "a", .type = "fp32"},
                                      {.name = "n", .type = "i32"}},
       .num_args = 4},
      KERNEL("sizes", 0, {.name = "a", .type = "i1"}, {.name = "b", .type = "fp16"},
             {.name = "c", .type = "fp64"}, {.name = "o", .type = "*i32"}),
      KERNEL("shared", 102400, {.name = "o", .type = "*i32"}),
      KERNEL("fault", 0, {.name = "o", .type = "*i32"}),
   };
   TilecImageInfo info = {.format = TILEC_IMAGE_FORMAT,
                          .arch = "sm_80",
                          .ptx_version = 80,
                          .kernels = kernels,
                          .num_kernels = 4};
   TilecModule *m;
   json_len = 0;
   check(tilec_image_write_json(&info, put, NULL), "writing the record");
   check(tilec_module_load(rt, ptx, TILEC_STRLEN, json, json_len, &m), "loading");
   return m;
}

/* Launches per second of tilec_launch and of the bare driver, the same kernel and arguments. */
static void
time_launches(TilecKernel *k, TilecBuffer *x, TilecBuffer *y)
{
   typedef int LaunchFn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);
   void *lib = dlopen("libcuda.so.1", RTLD_NOW), *mod, *fn, *ctx;
   int (*load_data)(void **, const void *), (*get)(void **, void *, const char *), (*pushc)(void *),
      (*popc)(void **);
   LaunchFn *launch;
   *(void **)(void *)&launch = dlsym(lib, "cuLaunchKernel");
   *(void **)(void *)&load_data = dlsym(lib, "cuModuleLoadData");
   *(void **)(void *)&get = dlsym(lib, "cuModuleGetFunction");
   *(void **)(void *)&pushc = dlsym(lib, "cuCtxPushCurrent_v2");
   *(void **)(void *)&popc = dlsym(lib, "cuCtxPopCurrent_v2");
   pushc(tilec_runtime_context(rt));
   if (load_data(&mod, ptx) || get(&fn, mod, "axpy"))
      expect(false, "loading for the bare loop");
   void *px = tilec_buffer_address(x), *py = tilec_buffer_address(y);
   float a = 1;
   int n = 128;
   const int N = 20000;
   double best[2] = {1e30, 1e30};
   for (int round = 0; round < 10; round++) {
      check(tilec_runtime_sync(rt), "sync");
      double t0 = now_us();
      for (int i = 0; i < N; i++) {
         void *params[] = {&px, &py, &a, &n};
         launch(fn, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL);
      }
      double t1 = now_us();
      check(tilec_runtime_sync(rt), "sync");
      double t2 = now_us();
      for (int i = 0; i < N; i++)
         (void)!TILEC_LAUNCH(k, NULL, 1, 1, 1, (float *)px, (float *)py, a, n);
      double t3 = now_us();
      best[0] = t1 - t0 < best[0] ? t1 - t0 : best[0];
      best[1] = t3 - t2 < best[1] ? t3 - t2 : best[1];
   }
   popc(&ctx);
   printf("launch: bare %.3f us, tilec %.3f us, difference %.3f us\n", best[0] / N, best[1] / N,
          (best[1] - best[0]) / N);
}

int
main(void)
{
   char error[512] = "";
   TilecRuntimeOptions o = {.struct_size = sizeof o, .error = error, .error_bytes = sizeof error};
   TilecStatus status = tilec_runtime_open(&o, &rt);
   if (status == TILEC_NO_DRIVER || status == TILEC_NO_DEVICE) {
      printf("skipped: %s\n", error);
      return 77;
   }
   expect(status == TILEC_OK, error[0] ? error : "open");
   TilecDeviceInfo info;
   check(tilec_runtime_device(rt, &info), "device");
   printf("%s, %s, driver %d, PTX %u, %u SMs, %u bytes shared\n", info.name, info.arch,
          info.driver_version, info.max_ptx_version, info.num_sms, info.max_shared_bytes);
   TilecModule *m = load();
   printf("log:\n%s\n", tilec_module_log(m));
   TilecKernel *axpy, *sizes, *shared, *fault;
   check(tilec_module_kernel(m, "axpy", &axpy), "axpy");
   check(tilec_module_kernel(m, "sizes", &sizes), "sizes");
   check(tilec_module_kernel(m, "shared", &shared), "shared");
   check(tilec_module_kernel(m, "fault", &fault), "fault");
   enum { COUNT = 1000 };
   static float x[COUNT], y[COUNT];
   for (int i = 0; i < COUNT; i++)
      x[i] = (float)i, y[i] = 1;
   TilecBuffer *bx, *by;
   TilecStream stream;
   check(tilec_buffer_new(rt, sizeof x, &bx), "buffer");
   check(tilec_buffer_new(rt, sizeof y, &by), "buffer");
   check(tilec_stream_new(rt, &stream), "stream");
   check(tilec_buffer_upload(bx, 0, x, sizeof x, stream), "upload");
   check(tilec_buffer_upload(by, 0, y, sizeof y, stream), "upload");
   TilecEvent *e0, *e1;
   double ms = 0;
   check(tilec_event_new(rt, &e0), "event");
   check(tilec_event_new(rt, &e1), "event");
   check(tilec_event_record(e0, stream), "record");
   check(TILEC_LAUNCH(axpy, stream, TILEC_OWN_GRID, 1, 1, bx, by, 2.0, COUNT), "axpy");
   check(tilec_event_record(e1, stream), "record");
   check(tilec_buffer_download(by, 0, y, sizeof y, stream), "download");
   check(tilec_event_elapsed(e0, e1, &ms), "elapsed");
   bool ok = true;
   for (int i = 0; i < COUNT; i++)
      ok = ok && y[i] == 2 * (float)i + 1;
   expect(ok, "axpy with its own grid");
   expect(ms > 0 && ms < 1000, "events");
   uint32_t words[4];
   double third;
   check(TILEC_LAUNCH(sizes, stream, 1, 1, 1, true, 1.5f, 0.1, bx), "sizes");
   check(tilec_buffer_download(bx, 0, words, sizeof words, stream), "download");
   memcpy(&third, &words[2], 8);
   expect(words[0] == 1 && words[1] == 0x3e00 && third == 0.1, "i1, fp16, fp64 parameters");
   check(TILEC_LAUNCH(shared, stream, 1, 1, 1, bx), "shared");
   check(tilec_buffer_download(bx, 0, words, 4, stream), "download");
   expect(words[0] == 4711, "100 KB of shared memory");
   TilecKernelUse use;
   check(tilec_kernel_use(axpy, 0, &use), "use");
   expect(use.registers > 4 && use.blocks_per_sm > 1, "registers and occupancy");
   char bad[sizeof ptx + 16];
   TilecModule *none;
   snprintf(bad, sizeof bad, "%s\nnonsense", ptx);
   status = tilec_module_load(rt, bad, TILEC_STRLEN, json, json_len, &none);
   tilec_runtime_error(rt, error, sizeof error);
   printf("bad PTX: %s\n", error);
   expect(status == TILEC_BAD_IMAGE && strstr(error, "nonsense"), "bad PTX with the driver's log");
   TilecBuffer *huge;
   status = tilec_buffer_new(rt, (uint64_t)1 << 50, &huge);
   expect(status == TILEC_OUT_OF_DEVICE_MEMORY, "out of device memory");
   time_launches(axpy, bx, by);
   check(TILEC_LAUNCH(fault, stream, 1, 1, 1, tilec_ptr(TILEC_I32, (void *)0x10, 0)), "fault");
   status = tilec_runtime_sync(rt);
   tilec_runtime_error(rt, error, sizeof error);
   printf("fault: %s\n", error);
   expect(status == TILEC_DEVICE_LOST && strstr(error, ": fault, grid (1, 1, 1), args (0x10"),
          "a fault names its launch");
   expect(TILEC_LAUNCH(axpy, stream, 1, 1, 1, bx, by, 2.0, 1) == TILEC_DEVICE_LOST,
          "later calls fail");
   tilec_event_free(e0);
   tilec_event_free(e1);
   tilec_stream_free(rt, stream);
   tilec_buffer_free(bx);
   tilec_buffer_free(by);
   tilec_module_free(m);
   tilec_runtime_close(rt);
   return 0;
}
