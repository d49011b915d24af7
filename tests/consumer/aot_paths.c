/* The generated C against the stand-in driver (tests/support/fakecuda), found as libcuda.so.1:
 * which specialisation a launch takes, with which arguments, and what each failure of the driver
 * becomes.
 * Without any driver: every call answers ELU_NO_DRIVER. */
#include "../support/fakecuda/fakecuda.h"
#include "attention.h"
#include "driver.h"
#include "elu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static Driver cu;
static FakeState *fake;
static FakeResetFn *reset_fake;

#define EXPECT(condition)                                                                          \
   do {                                                                                            \
      if (!(condition)) {                                                                          \
         printf("line %d: %s (%s)\n", __LINE__, #condition, elu_error());                          \
         exit(1);                                                                                  \
      }                                                                                            \
   } while (0)

static const FakeLaunch *
last_launch(void)
{
   return &fake->launches[(fake->num_launches - 1) % FAKE_MAX_LAUNCHES];
}

static float *
address(uintptr_t a)
{
   return (float *)a;
}

static void
chooses_and_passes(void)
{
   fake->expect_params = 4;
   fake->param_bytes[2] = fake->param_bytes[3] = 4; /* n, alpha */
   EXPECT(elu_launch_auto((void *)0x77, address(0x1000), address(0x2000), 4096, 0.5f) == ELU_OK);
   const FakeLaunch *l = last_launch();
   float alpha;
   EXPECT(strcmp(l->function, "elu") == 0 && l->stream == (void *)0x77);
   EXPECT(l->grid[0] == 4 && l->grid[1] == 1 && l->grid[2] == 1 && l->block[0] == 128);
   EXPECT(l->params[0] == 0x1000 && l->params[1] == 0x2000 && (uint32_t)l->params[2] == 4096);
   memcpy(&alpha, &l->params[3], sizeof alpha);
   EXPECT(alpha > 0.49f && alpha < 0.51f);
   EXPECT(elu_launch_auto(NULL, address(0x1004), address(0x2000), 4096, 1.0f) == ELU_OK);
   EXPECT(strcmp(last_launch()->function, "elu__1") == 0);
   EXPECT(elu_launch_auto(NULL, address(0x1000), address(0x2000), 4097, 1.0f) == ELU_OK);
   EXPECT(strcmp(last_launch()->function, "elu__1") == 0 && last_launch()->grid[0] == 5);
   EXPECT(elu_launch(NULL, 7, 1, 1, address(0x1000), address(0x2000), 16, 1.0f) == ELU_OK);
   EXPECT(strcmp(last_launch()->function, "elu") == 0 && last_launch()->grid[0] == 7);
   EXPECT(fake->modules == 1);
}

static void
dispatches_on_constants(void)
{
   char *p = (char *)0x10000;
   fake->expect_params = 8;
   fake->param_bytes[2] = fake->param_bytes[3] = 0;
   memset(fake->param_bytes + 5, 4, 3); /* heads, n, scale */
   for (int causal = 0; causal < 2; causal++) {
      EXPECT(attention_launch_auto(NULL, p, p, p, p, (float *)(void *)p, 6, 257, 1.0f, causal) ==
             ATTENTION_OK);
      const FakeLaunch *l = last_launch();
      EXPECT(strcmp(l->function, causal ? "attn_fwd" : "attn_fwd__1") == 0);
      EXPECT(l->grid[0] == 5 && l->grid[1] == 6 && l->shared_bytes > 0);
   }
   int status = attention_launch_auto(NULL, p, p, p, p, (float *)(void *)p, 6, 257, 1.0f, 2);
   EXPECT(status == ATTENTION_BAD_ARGUMENT);
   EXPECT(strstr(attention_error(), "no specialisation"));
   EXPECT(attention_launch_auto(NULL, p + 2, p, p, p, (float *)(void *)p, 6, 257, 1.0f, 1) ==
          ATTENTION_BAD_ARGUMENT);
}

static void
checks_grids(void)
{
   unsigned before = fake->num_launches;
   EXPECT(elu_launch(NULL, 0, 1, 1, NULL, NULL, 1, 1.0f) == ELU_OK);
   EXPECT(elu_launch_auto(NULL, NULL, NULL, 0, 1.0f) == ELU_OK);
   EXPECT(elu_launch_auto(NULL, NULL, NULL, -5000, 1.0f) == ELU_BAD_ARGUMENT);
   EXPECT(elu_launch(NULL, 1, 65536, 1, NULL, NULL, 1, 1.0f) == ELU_LIMIT);
   EXPECT(elu_launch(NULL, 0x80000000u, 1, 1, NULL, NULL, 1, 1.0f) == ELU_LIMIT);
   EXPECT(fake->num_launches == before);
}

static int
launch_once(void)
{
   return elu_launch(NULL, 1, 1, 1, address(0x1000), address(0x2000), 16, 1.0f);
}

/* Every driver call that a first launch makes fails in turn; nothing stays behind, the next
 * works. */
static void
survives_failures(void)
{
   static const struct {
      const char *call;
      int code, status;
   } rows[] = {
      {"cuCtxGetCurrent", 999, ELU_DEVICE_LOST},
      {"cuCtxGetCurrent", 3, ELU_BAD_CONTEXT},
      {"cuCtxGetId", 709, ELU_BAD_CONTEXT},
      {"cuCtxGetDevice", 201, ELU_BAD_CONTEXT},
      {"cuDeviceGetAttribute", 101, ELU_NO_DEVICE},
      {"cuDriverGetVersion", 36, ELU_DRIVER_TOO_OLD},
      {"cuModuleLoadDataEx", 2, ELU_OUT_OF_DEVICE_MEMORY},
      {"cuModuleLoadDataEx", 801, ELU_OK}, /* the next image is tried */
      {"cuModuleLoadDataEx", 218, ELU_OK},
      {"cuModuleGetFunction", 500, ELU_NOT_FOUND},
      {"cuLaunchKernel", 1, ELU_LAUNCH_FAILED},
      {"cuLaunchKernel", 701, ELU_LAUNCH_FAILED},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      EXPECT(elu_unload() == ELU_OK && fake->modules == 0);
      fake->fail_symbol = rows[i].call;
      fake->fail_at = 1;
      fake->fail_code = rows[i].code;
      int status = launch_once();
      fake->fail_symbol = NULL;
      fake->sticky = 0;
      if (status != rows[i].status)
         printf("%s fails with %d: %s\n", rows[i].call, rows[i].code, elu_message(status));
      EXPECT(status == rows[i].status);
      EXPECT(status == ELU_OK || elu_error()[0]);
      EXPECT(launch_once() == ELU_OK && fake->modules == 1);
   }
   EXPECT(elu_unload() == ELU_OK && elu_unload() == ELU_OK && fake->modules == 0);
}

static void
fits_the_device(void)
{
   fake->sm_major = 7;
   EXPECT(launch_once() == ELU_BAD_TARGET && strstr(elu_error(), "sm_70"));
   fake->sm_major = 8;
   EXPECT(launch_once() == ELU_OK && strstr(fake->ptx, ".target sm_80"));
   EXPECT(elu_unload() == ELU_OK);
   fake->sm_major = 9;
   EXPECT(launch_once() == ELU_OK && strstr(fake->ptx, ".target sm_90a"));
   EXPECT(elu_unload() == ELU_OK);
   fake->version = 11000;
   EXPECT(launch_once() == ELU_DRIVER_TOO_OLD);
   fake->version = 13000;
   fake->sm_major = 12;
   EXPECT(launch_once() == ELU_OK && strstr(fake->ptx, ".target sm_80"));
   EXPECT(elu_unload() == ELU_OK);
   fake->sm_major = 9;
}

/* ---- threads and contexts ---- */
static void *
launch_many(void *context)
{
   intptr_t bad = cu.cuCtxPushCurrent_v2(context);
   for (int i = 0; i < 200; i++)
      bad |= launch_once();
   void *popped;
   bad |= cu.cuCtxPopCurrent_v2(&popped);
   return (void *)bad;
}

static void
loads_once_for_each_context(void)
{
   pthread_t threads[8];
   unsigned before = fake->num_launches;
   for (uintptr_t i = 0; i < 8; i++)
      EXPECT(pthread_create(&threads[i], NULL, launch_many, (void *)(0x5000 + i % 3)) == 0);
   for (int i = 0; i < 8; i++) {
      void *bad;
      EXPECT(pthread_join(threads[i], &bad) == 0 && !bad);
   }
   EXPECT(fake->num_launches == before + 1600 && fake->modules == 3);
   for (uintptr_t i = 0; i < 3; i++) {
      void *popped;
      EXPECT(cu.cuCtxPushCurrent_v2((void *)(0x5000 + i)) == 0);
      EXPECT(elu_unload() == ELU_OK && cu.cuCtxPopCurrent_v2(&popped) == 0);
   }
   EXPECT(fake->modules == 0);
}

/* A context destroyed without elu_unload, and a new one at its address. */
static void
tells_contexts_apart(void)
{
   EXPECT(launch_once() == ELU_OK && fake->modules == 1);
   fake->context_epoch = 1;
   EXPECT(launch_once() == ELU_OK && fake->modules == 2);
   EXPECT(launch_once() == ELU_OK && fake->modules == 2);
   EXPECT(elu_unload() == ELU_OK && fake->modules == 1);
   fake->modules = 0; /* the first went with its context */
}

static void
runs_out_of_slots(void)
{
   int status = ELU_OK;
   for (uintptr_t i = 0; i < 65; i++) {
      void *popped;
      EXPECT(cu.cuCtxPushCurrent_v2((void *)(0x9000 + i)) == 0);
      status = elu_load();
      EXPECT(cu.cuCtxPopCurrent_v2(&popped) == 0 && status == (i < 64 ? ELU_OK : ELU_LIMIT));
   }
   EXPECT(strstr(elu_error(), "elu_unload"));
   for (uintptr_t i = 0; i < 64; i++) {
      void *popped;
      EXPECT(cu.cuCtxPushCurrent_v2((void *)(0x9000 + i)) == 0);
      EXPECT(elu_unload() == ELU_OK && cu.cuCtxPopCurrent_v2(&popped) == 0);
   }
   EXPECT(fake->modules == 0 && launch_once() == ELU_OK && elu_unload() == ELU_OK);
}

int
main(int argc, char **argv)
{
   void *context;
   if (argc > 1 && strcmp(argv[1], "--no-driver") == 0) {
      EXPECT(launch_once() == ELU_NO_DRIVER && elu_load() == ELU_NO_DRIVER);
      EXPECT(elu_unload() == ELU_NO_DRIVER && strstr(elu_error(), "libcuda.so.1"));
      printf("no driver: %s\n", elu_message(ELU_NO_DRIVER));
      return 0;
   }
   if (!open_driver(&cu)) {
      printf("no stand-in driver: LD_LIBRARY_PATH must lead to one\n");
      return 1;
   }
   void *state = dlsym(cu.library, "fake_state"), *reset = dlsym(cu.library, "fake_reset");
   FakeStateFn *get_state;
   EXPECT(state && reset);
   memcpy(&get_state, &state, sizeof state);
   memcpy(&reset_fake, &reset, sizeof reset);
   reset_fake();
   fake = get_state();
   EXPECT(launch_once() == ELU_BAD_CONTEXT);
   EXPECT(cu.cuDevicePrimaryCtxRetain(&context, 0) == 0 && cu.cuCtxPushCurrent_v2(context) == 0);
   chooses_and_passes();
   checks_grids();
   EXPECT(elu_unload() == ELU_OK);
   dispatches_on_constants();
   EXPECT(attention_unload() == ATTENTION_OK && fake->modules == 0);
   fake->expect_params = 0;
   survives_failures();
   fits_the_device();
   loads_once_for_each_context();
   tells_contexts_apart();
   runs_out_of_slots();
   EXPECT(strcmp(elu_message(ELU_OK), "success") == 0 && elu_message(-1)[0]);
   EXPECT(fake->buffers == 0);
   printf("ok: %u launches\n", fake->num_launches);
   return 0;
}
