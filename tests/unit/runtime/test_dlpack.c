/* Buffers made of DLPack tensors: what they hold, who owns them, what is refused. */
#include "dlpack_abi.h"
#include "fixture.h"

static int deleted;

static void
count_delete(Managed *self)
{
   assert_ptr_equal(self->context, self);
   deleted++;
}

static float memory[64];
static int64_t shape[2] = {3, 4}, strides[2] = {8, 1};

/* A 3 x 4 view of fp32 rows of 8 that begins at the third element; deleter counts. */
static Managed
view(Managed *self)
{
   deleted = 0;
   return (Managed){.major = 1,
                    .context = self,
                    .deleter = count_delete,
                    .tensor = {.data = memory,
                               .device_type = 2,
                               .ndim = 2,
                               .code = 2,
                               .bits = 32,
                               .lanes = 1,
                               .shape = shape,
                               .strides = strides,
                               .byte_offset = 8}};
}

static void
a_tensor_becomes_a_buffer(void **state)
{
   (void)state;
   TilecRuntime *rt = open_fake();
   TilecBuffer *b;
   Managed m = view(&m);
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_OK);
   assert_ptr_equal(tilec_buffer_address(b), &memory[2]);
   assert_int_equal(tilec_buffer_bytes(b), (2 * 8 + 3 + 1) * 4);
   const TilecBufferLayout *l = tilec_buffer_layout(b);
   assert_int_equal(l->dtype, TILEC_FP32);
   assert_int_equal(l->rank, 2);
   assert_int_equal(l->shape[1], 4);
   assert_int_equal(l->strides[0], 8);
   assert_false(l->is_read_only);
   assert_int_equal(deleted, 0);
   tilec_buffer_free(b);
   assert_int_equal(deleted, 1);
   m.tensor.strides = NULL; /* row by row */
   m.deleter = NULL;
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_OK);
   assert_int_equal(tilec_buffer_bytes(b), 12 * 4);
   assert_int_equal(tilec_buffer_layout(b)->strides[0], 4);
   assert_int_equal(tilec_buffer_layout(b)->strides[1], 1);
   tilec_buffer_free(b);
   m.tensor.ndim = 0; /* one number */
   m.tensor.shape = NULL;
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_OK);
   assert_int_equal(tilec_buffer_bytes(b), 4);
   tilec_buffer_free(b);
   int64_t none[2] = {3, 0};
   m = view(&m);
   m.tensor.shape = none;
   m.tensor.data = NULL;
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_OK);
   assert_int_equal(tilec_buffer_bytes(b), 0);
   assert_null(tilec_buffer_address(b));
   tilec_buffer_free(b);
   assert_int_equal(tilec_buffer_new(rt, 8, &b), TILEC_OK);
   assert_null(tilec_buffer_layout(b));
   assert_null(tilec_buffer_layout(NULL));
   tilec_buffer_free(b);
   close_fake(rt);
}

static void
element_types_are_known(void **state)
{
   (void)state;
   static const struct {
      uint8_t code, bits;
      uint16_t lanes;
      TilecDtype dtype;
   } cases[] = {
      {6, 8, 1, TILEC_I1},          {0, 8, 1, TILEC_I8},          {0, 64, 1, TILEC_I64},
      {1, 16, 1, TILEC_U16},        {2, 16, 1, TILEC_FP16},       {2, 64, 1, TILEC_FP64},
      {4, 16, 1, TILEC_BF16},       {10, 8, 1, TILEC_FP8E4NV},    {12, 8, 1, TILEC_FP8E5},
      {5, 64, 1, TILEC_DTYPE_NONE}, {2, 32, 2, TILEC_DTYPE_NONE}, {11, 8, 1, TILEC_DTYPE_NONE},
      {0, 4, 1, TILEC_DTYPE_NONE},
   };
   TilecRuntime *rt = open_fake();
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      TilecBuffer *b;
      Managed m = view(&m);
      m.tensor.code = cases[i].code, m.tensor.bits = cases[i].bits;
      m.tensor.lanes = cases[i].lanes;
      TilecStatus status = tilec_buffer_from_dlpack(rt, &m, &b);
      assert_int_equal(status, cases[i].dtype ? TILEC_OK : TILEC_UNSUPPORTED);
      if (cases[i].dtype)
         assert_int_equal(tilec_buffer_layout(b)->dtype, cases[i].dtype);
      else
         assert_says(rt, "have no element type here");
      tilec_buffer_free(b);
      assert_int_equal(deleted, cases[i].dtype != TILEC_DTYPE_NONE);
   }
   close_fake(rt);
}

static void
what_does_not_fit_stays_the_callers(void **state)
{
   (void)state;
   static int64_t negative[2] = {-8, 1}, huge[2] = {INT64_MAX / 2, 3}, minus[2] = {-1, 4};
   static const struct {
      uint32_t major;
      int32_t device_type, device_id, ndim;
      int64_t *shape, *strides;
      TilecStatus status;
      const char *says;
   } cases[] = {
      {2, 2, 0, 2, shape, strides, TILEC_UNSUPPORTED, "DLPack version 2.0; 1 is read"},
      {1, 1, 0, 2, shape, strides, TILEC_BAD_ARGUMENT, "on device type 1"},
      {1, 2, 1, 2, shape, strides, TILEC_BAD_ARGUMENT, "device type 2, number 1"},
      {1, 10, 0, 2, shape, strides, TILEC_BAD_ARGUMENT, "on device type 10"},
      {1, 2, 0, -1, shape, strides, TILEC_BAD_ARGUMENT, "-1 dimensions"},
      {1, 2, 0, 2, NULL, strides, TILEC_BAD_ARGUMENT, "and no shape"},
      {1, 2, 0, 2, shape, negative, TILEC_BAD_ARGUMENT, "negative size or stride"},
      {1, 2, 0, 2, minus, strides, TILEC_BAD_ARGUMENT, "negative size or stride"},
      {1, 2, 0, 2, huge, NULL, TILEC_BAD_ARGUMENT, "more bytes than can be addressed"},
      {1, 2, 0, 2, huge, strides, TILEC_BAD_ARGUMENT, "more bytes than can be addressed"},
      {1, 3, 0, 2, shape, strides, TILEC_OK, NULL},
      {1, 13, 0, 2, shape, strides, TILEC_OK, NULL},
   };
   TilecRuntime *rt = open_fake();
   TilecBuffer *b;
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      Managed m = view(&m);
      m.major = cases[i].major;
      m.tensor.device_type = cases[i].device_type, m.tensor.device_id = cases[i].device_id;
      m.tensor.ndim = cases[i].ndim;
      m.tensor.shape = cases[i].shape, m.tensor.strides = cases[i].strides;
      assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), cases[i].status);
      if (cases[i].says) {
         assert_says(rt, cases[i].says);
         assert_null(b);
      }
      tilec_buffer_free(b);
      assert_int_equal(deleted, cases[i].status == TILEC_OK);
   }
   Managed m = view(&m);
   m.tensor.data = NULL;
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_BAD_ARGUMENT);
   assert_says(rt, "data is NULL");
   assert_int_equal(tilec_buffer_from_dlpack(rt, NULL, &b), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_from_dlpack(NULL, &m, &b), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(deleted, 0);
   close_fake(rt);
}

static void
host_tensors_are_for_host_executors(void **state)
{
   (void)state;
   TilecRuntimeOptions o = {.struct_size = sizeof o, .executor = TILEC_ON_CPU};
   TilecRuntime *rt;
   TilecBuffer *b;
   float out;
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   Managed m = view(&m);
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_BAD_ARGUMENT);
   assert_says(rt, "the runtime is on the host (1)");
   m.tensor.device_type = 1;
   memory[2] = 7;
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_OK);
   assert_int_equal(tilec_buffer_download(b, 0, &out, 4, NULL), TILEC_OK);
   assert_true(out == 7);
   tilec_buffer_free(b);
   assert_int_equal(deleted, 1);
   tilec_runtime_close(rt);
}

static void
read_only_memory_is_only_read(void **state)
{
   (void)state;
   TilecRuntime *rt = open_fake();
   TilecBuffer *b, *other;
   TilecModule *module;
   TilecKernel *kernel;
   const TilecKernelInfo k = {
      .name = "k",
      .entry = "k",
      .num_warps = 4,
      .threads = 128,
      .cluster = {1, 1, 1},
      .args = (const TilecArgInfo[]){{.name = "from", .type = "*fp32", .is_const = true},
                                     {.name = "to", .type = "*fp32"}},
      .num_args = 2};
   TilecImageInfo image = image_of(&k, 1);
   assert_int_equal(load_info(rt, &image, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, "k", &kernel), TILEC_OK);
   Managed m = view(&m);
   m.flags = 1;
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &b), TILEC_OK);
   assert_int_equal(tilec_buffer_new(rt, 256, &other), TILEC_OK);
   assert_true(tilec_buffer_layout(b)->is_read_only);
   assert_int_equal(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, b, other), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, other, b), TILEC_BAD_ARGUMENT);
   assert_says(rt, "'to' is *fp32");
   assert_says(rt, "read-only");
   float x = 1;
   assert_int_equal(tilec_buffer_upload(b, 0, &x, 4, NULL), TILEC_BAD_ARGUMENT);
   assert_says(rt, "tilec_buffer_upload: the buffer is read-only");
   assert_int_equal(tilec_buffer_fill(b, 0, 0, 4, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_copy(b, 0, other, 0, 4, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_buffer_copy(other, 0, b, 0, 4, NULL), TILEC_OK);
   assert_int_equal(tilec_buffer_download(b, 0, &x, 4, NULL), TILEC_OK);
   /* the layout's type counts where the argument names none */
   m.tensor.code = 0;
   TilecBuffer *ints;
   m.flags = 0;
   assert_int_equal(tilec_buffer_from_dlpack(rt, &m, &ints), TILEC_OK);
   assert_int_equal(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, ints, other), TILEC_BAD_ARGUMENT);
   assert_says(rt, "other elements");
   assert_int_equal(TILEC_LAUNCH(kernel, NULL, 1, 1, 1, tilec_view(TILEC_FP32, ints, 0), other),
                    TILEC_OK);
   tilec_buffer_free(ints);
   tilec_buffer_free(b);
   tilec_buffer_free(other);
   tilec_module_free(module);
   close_fake(rt);
}

int
test_dlpack(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tensor_becomes_a_buffer),
      cmocka_unit_test(element_types_are_known),
      cmocka_unit_test(what_does_not_fit_stays_the_callers),
      cmocka_unit_test(host_tensors_are_for_host_executors),
      cmocka_unit_test(read_only_memory_is_only_read),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
