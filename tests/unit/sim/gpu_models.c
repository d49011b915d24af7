/* The simulator's models against a real GPU: every run of the machine-operation and elementwise
 * tests is done on the device too, and memory must agree in every bit afterwards (NaN with NaN;
 * approximate functions within a few ulp).  Then what only the device can tell: how matrix
 * instructions round.  Exits with 77 (skipped) where there is no GPU. */
#define M_ON_DEVICE on_device
#include "unit/sim/test_machine.c"

#define is_nan scalar_is_nan
#define check scalar_check
#include "unit/sim/test_scalar.c"
#undef check
#undef is_nan

#define run tma_run
#include "unit/sim/test_tma.c"
#undef run

#include "codegen/codegen.h"
#include "compile/compilation.h"
#include "ir/launch_expr.h"
#include "tilec/runtime.h"

#include <stdlib.h>

static TilecRuntime *rt;
static TilecDeviceInfo device;
static double tolerance; /* of mma_of_random_numbers; else 0 */
static double worst;     /* difference seen with it */
static unsigned runs, refused, disagreements;

static void
must(TilecStatus status, const char *what)
{
   char text[4096] = "";
   if (status == TILEC_OK)
      return;
   tilec_runtime_error(rt, text, sizeof text);
   fail_msg("%s: %s: %s", what, tilec_status_name(status), text);
}

typedef struct Json {
   char text[8192];
   size_t len;
} Json;

static bool
put(void *user, const char *text, size_t len)
{
   Json *j = user;
   if (j->len + len > sizeof j->text)
      return false;
   memcpy(j->text + j->len, text, len);
   j->len += len;
   return true;
}

static TilecModule *
load(const Machine *m, const TlFunc *f, const char *ptx, size_t len)
{
   TilecArgInfo args[MACHINE_ARGS] = {0};
   TilecHiddenArg hidden[MACHINE_ARGS];
   unsigned num_hidden;
   const TlOp **maps = tl_tensor_maps(m->x.arena, f, &num_hidden);
   for (unsigned i = 0; i < num_hidden; i++)
      hidden[i] = tl_tensor_map_recipe(m->x.arena, f, maps[i]);
   for (unsigned i = 0; i < m->num_args; i++)
      args[i] = (TilecArgInfo){.name = f->params[i].name, .type = "*i8"};
   TilecKernelInfo k = {.name = "k",
                        .entry = "k",
                        .num_warps = f->num_warps,
                        .threads = f->num_warps * 32,
                        .shared_bytes = f->shared_bytes,
                        .cluster = {1, 1, 1},
                        .args = args,
                        .num_args = m->num_args,
                        .hidden = hidden,
                        .num_hidden = num_hidden};
   TilecImageInfo info = {.format = TILEC_IMAGE_FORMAT,
                          .arch = device.arch,
                          .ptx_version = tl_target_find(device.arch)->ptx,
                          .kernels = &k,
                          .num_kernels = 1};
   static Json json;
   json.len = 0;
   must(tilec_image_write_json(&info, put, &json), "launch record");
   TilecModule *module;
   must(tilec_module_load(rt, ptx, len, json.text, json.len, &module), "loading");
   return module;
}

/* Operations that the GPU computes approximately, or in another way than fmod. */
static bool
has_op(const TlFunc *f, const TlOpcode *ops, size_t n)
{
   for (const TlOp *op = f->body->block->first; op; op = op->next)
      for (size_t i = 0; i < n; i++)
         if (op->opcode == ops[i] && tl_dtype_is_float(tl_type_elem(tl_result(op, 0)->type)->dtype))
            return true;
   return false;
}

static bool
agree(TlDtype t, TlBits a, TlBits b, double allowed)
{
   if (a == b || (scalar_is_nan(t, a) && scalar_is_nan(t, b)))
      return true;
   if (!tl_dtype_is_float(t) || allowed == 0)
      return false;
   double x = tl_bits_to_double(t, a), y = tl_bits_to_double(t, b), d = fabs(x - y);
   double scale = fabs(x) > 1 ? fabs(x) : 1;
   worst = d / scale > worst ? d / scale : worst;
   return d <= allowed * fabs(x) || d < 1.2e-38 || (tolerance != 0 && d <= allowed);
}

/* Approximate functions of fp32 take denormals for zero. */
static bool
reads_denormal(const Machine *m, const TlFunc *f, size_t element)
{
   TlDtype t = f->params[0].type->elem->dtype;
   const uint8_t *p = (const uint8_t *)m->arg[0].data + element * tl_dtype_info[t].bytes;
   return tl_dtype_is_float(t) && fabs(tl_bits_to_double(t, tl_load_elem(t, p))) < 0x1p-126;
}

static void
on_device(Machine *m, TlFunc *f, void *const before[])
{
   static const TlOpcode approximate[] = {TL_OP_EXP2, TL_OP_TANH,  TL_OP_LOG, TL_OP_ERF,
                                          TL_OP_SQRT, TL_OP_RSQRT, TL_OP_DIV};
   static const TlOpcode other[] = {TL_OP_REM};
   TlDiags diags;
   tl_diags_init(&diags, m->x.arena, m->x.sources);
   TlCgOptions o = {.target = tl_target_find(device.arch), .opt_level = 3, .verify = true};
   TlCgResult r;
   if (has_op(f, other, 1))
      return;
   if (!tl_codegen(m->x.arena, &f, 1, m->x.sources, &diags, &o, &r)) {
      refused++; /* fp64 functions: a located error */
      return;
   }
   TilecModule *module = load(m, f, r.ptx, r.ptx_len);
   TilecKernel *k;
   must(tilec_module_kernel(module, "k", &k), "kernel");
   TilecBuffer *buffer[MACHINE_ARGS];
   TilecArg args[MACHINE_ARGS];
   for (unsigned i = 0; i < m->num_args; i++) {
      must(tilec_buffer_new(rt, m->arg[i].bytes, &buffer[i]), "buffer");
      must(tilec_buffer_upload(buffer[i], 0, before[i], m->arg[i].bytes, NULL), "upload");
      args[i] = tilec_view(TILEC_DTYPE_NONE, buffer[i], 0);
   }
   TilecLaunch l = {.grid = {m->grid[0], m->grid[1], m->grid[2]}};
   must(tilec_launch(k, &l, args, m->num_args), "launch");
   must(tilec_runtime_sync(rt), m->text);
   bool is_approximate = has_op(f, approximate, sizeof approximate / sizeof approximate[0]);
   for (unsigned i = 0; i < m->num_args; i++) {
      uint8_t *got = tl_arena_alloc(m->x.arena, m->arg[i].bytes);
      must(tilec_buffer_download(buffer[i], 0, got, m->arg[i].bytes, NULL), "download");
      TlDtype t = f->params[i].type->elem->dtype;
      unsigned es = tl_dtype_info[t].bytes;
      double ulp = ldexp(1, -(int)tl_dtype_info[t].mantissa);
      double allowed = tolerance != 0 ? tolerance : is_approximate ? 8 * ulp : 0;
      for (size_t e = 0; e < m->arg[i].bytes / es; e++) {
         TlBits want = tl_load_elem(t, (uint8_t *)m->arg[i].data + e * es);
         TlBits have = tl_load_elem(t, got + e * es);
         if (agree(t, want, have, allowed) || (is_approximate && reads_denormal(m, f, e)))
            continue;
         print_error("parameter %u, element %zu: device %llx, simulator %llx\n%s", i, e,
                     (unsigned long long)have, (unsigned long long)want, m->text + strlen("func "));
         disagreements++;
         break;
      }
      tilec_buffer_free(buffer[i]);
   }
   tilec_module_free(module);
   runs++;
}

/* One instruction on random numbers.  Tensor cores align the products to the largest and cut: the
 * difference stays within a few units of the last place of the largest term. */
static void
mma_of_random_numbers(void **state)
{
   static const struct {
      const char *name, *in, *acc;
      TlDtype t, acc_t;
      unsigned a, b;
      double allowed;
   } kinds[] = {
      {"m16n8k16.f16.f32", "fp16", "fp32", TL_FP16, TL_FP32, 8, 4, 4e-6},
      {"m16n8k16.bf16.f32", "bf16", "fp32", TL_BF16, TL_FP32, 8, 4, 4e-6},
      {"m16n8k16.f16.f16", "fp16", "fp16", TL_FP16, TL_FP16, 8, 4, 2e-2},
      {"m16n8k8.tf32.f32", "fp32", "fp32", TL_FP32, TL_FP32, 4, 2, 4e-6},
      {"m16n8k32.e4m3.f32", "fp8e4nv", "fp32", TL_FP8E4NV, TL_FP32, 16, 8, 2e-3},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
      Machine m;
      m_open(&m, i);
      unsigned na = kinds[i].a, nb = kinds[i].b, es = tl_dtype_info[kinds[i].t].bytes;
      uint8_t *a = m_buffer(&m, "a", kinds[i].t, 32 * na);
      uint8_t *b = m_buffer(&m, "b", kinds[i].t, 32 * nb);
      m_buffer(&m, "d", kinds[i].acc_t, 32 * 4);
      for (unsigned k = 0; k < 32 * (na + nb); k++)
         tl_store_elem(kinds[i].t, k < 32 * na ? a + k * es : b + (k - 32 * na) * es,
                       tl_double_to_bits(kinds[i].t, (double)(m_random(&m) >> 11) * 0x1p-52 - 1,
                                         TL_ROUND_NEAREST_EVEN));
      tolerance = kinds[i].allowed;
      worst = 0;
      m_must_run(&m, 1, 0,
                 tl_arena_printf(m.x.arena,
                                 "%%na = constant %u : i32\n"
                                 "%%oa = mul %%tid, %%na : i32\n"
                                 "%%nb = constant %u : i32\n"
                                 "%%ob = mul %%tid, %%nb : i32\n"
                                 "%%pa = addptr %%a, %%oa : ptr<%s>\n"
                                 "%%pb = addptr %%b, %%ob : ptr<%s>\n"
                                 "%%va = ld_global %%pa {vec = %u} : regs<%s, %u>\n"
                                 "%%vb = ld_global %%pb {vec = %u} : regs<%s, %u>\n"
                                 "%%z = constant 0.0 : regs<%s, 4>\n"
                                 "%%r = mma %%va, %%vb, %%z {mma = %s, reps = {m = 1, n = 1}} : "
                                 "regs<%s, 4>\n%%pd = addptr %%d, %%tid4 : ptr<%s>\n"
                                 "st_global %%pd, %%r {vec = 4}\n",
                                 na, nb, kinds[i].in, kinds[i].in, na, kinds[i].in, na, nb,
                                 kinds[i].in, nb, kinds[i].acc, kinds[i].name, kinds[i].acc,
                                 kinds[i].acc));
      print_message("%s: differs by %.3g at most (relative to 1 or more)\n", kinds[i].name, worst);
      tolerance = 0;
      m_close(&m);
   }
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
   if (status != TILEC_OK || tilec_runtime_device(rt, &device) != TILEC_OK ||
       !tl_target_find(device.arch)) {
      printf("FAILED to open the device: %s %s\n", error, device.arch);
      return 1;
   }
   const struct CMUnitTest more[] = {cmocka_unit_test(mma_of_random_numbers)};
   int failed =
      test_machine() + test_scalar() + test_tma() + cmocka_run_group_tests(more, NULL, NULL);
   printf("%u programs ran on %s; %u disagree with the simulator; %u were refused\n", runs,
          device.name, disagreements, refused);
   tilec_runtime_close(rt);
   return failed != 0 || disagreements != 0;
}
