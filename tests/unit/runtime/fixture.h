/* What the runtime's tests share: the fake driver's state, an open runtime, and launch records. */
#ifndef TL_TEST_RUNTIME_FIXTURE_H
#define TL_TEST_RUNTIME_FIXTURE_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fakecuda.h"
#include "tilec/runtime.h"

/* The state lives in the library, which the runtime never closes after cuInit. */
static inline FakeState *
fake(void)
{
   static FakeStateFn *get;
   if (!get) {
      void *lib = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
      assert_non_null(lib);
      *(void **)(void *)&get = dlsym(lib, "fake_state");
   }
   return get();
}

static inline void
fake_clear(void)
{
   static FakeResetFn *reset;
   if (!reset)
      *(void **)(void *)&reset = dlsym(dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL), "fake_reset");
   reset();
}

/* The Nth call of `symbol` from now on answers `code`. */
static inline void
fake_fail(const char *symbol, int nth, int code)
{
   fake()->fail_symbol = symbol;
   fake()->fail_at = nth;
   fake()->fail_code = code;
}

static inline TilecRuntime *
open_fake(void)
{
   char error[512] = "";
   TilecRuntime *rt = NULL;
   TilecRuntimeOptions o = {.struct_size = sizeof o,
                            .driver_path = FAKE_DRIVER,
                            .error = error,
                            .error_bytes = sizeof error};
   fake_clear();
   if (tilec_runtime_open(&o, &rt) != TILEC_OK)
      fail_msg("%s", error);
   return rt;
}

/* Closes and checks that nothing of the driver is left alive. */
static inline void
close_fake(TilecRuntime *rt)
{
   tilec_runtime_close(rt);
   assert_int_equal(fake()->contexts, 0);
   assert_int_equal(fake()->modules, 0);
   assert_int_equal(fake()->buffers, 0);
   assert_int_equal(fake()->streams, 0);
   assert_int_equal(fake()->events, 0);
   assert_int_equal(fake()->misuse, 0);
}

static inline const char *
detail(TilecRuntime *rt)
{
   static char text[4096];
   tilec_runtime_error(rt, text, sizeof text);
   return text;
}

static inline void
assert_says(TilecRuntime *rt, const char *part)
{
   if (!strstr(detail(rt), part))
      fail_msg("'%s' is not in: %s", part, detail(rt));
}

typedef struct Json {
   char text[16384];
   size_t len;
} Json;

static inline bool
json_put(void *user, const char *text, size_t len)
{
   Json *j = user;
   if (j->len + len >= sizeof j->text)
      return false;
   memcpy(j->text + j->len, text, len);
   j->text[j->len += len] = 0;
   return true;
}

/* Loads a record whose entries all exist in the fake PTX. */
static inline TilecStatus
load_info(TilecRuntime *rt, const TilecImageInfo *info, TilecModule **out)
{
   Json j = {.len = 0};
   char ptx[2048] = "//";
   assert_int_equal(tilec_image_write_json(info, json_put, &j), TILEC_OK);
   for (uint32_t i = 0; i < info->num_kernels; i++) {
      strcat(ptx, " .entry ");
      strcat(ptx, info->kernels[i].entry);
      strcat(ptx, " ");
   }
   return tilec_module_load(rt, ptx, TILEC_STRLEN, j.text, TILEC_STRLEN, out);
}

#define KERNEL_DEFAULTS                                                                            \
   .name = "k", .entry = "k", .num_warps = 4, .threads = 128, .cluster = {1, 1, 1}

static inline TilecImageInfo
image_of(const TilecKernelInfo *kernels, uint32_t n)
{
   return (TilecImageInfo){.format = TILEC_IMAGE_FORMAT,
                           .producer = "test",
                           .arch = "sm_90a",
                           .ptx_version = 80,
                           .kernels = kernels,
                           .num_kernels = n};
}

#endif
