/* libtilec by pkg-config: source to result on the CPU executor. */
#include <tilec/runtime.h>
#include <tilec/tilec.h>

#include <math.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
   TilecRuntimeOptions options = {.struct_size = sizeof options, .executor = TILEC_ON_CPU};
   TilecSource source = {.struct_size = sizeof source, .file = argc > 1 ? argv[1] : "elu.tile"};
   TilecRuntime *rt;
   TilecModule *module;
   TilecKernel *elu;
   TilecBuffer *x, *y;
   float data[1000] = {-1, 0, 1};
   if (tilec_runtime_open(&options, &rt) || tilec_jit_attach(rt, NULL) ||
       tilec_module_from_source(rt, &source, &module) || tilec_module_kernel(module, "elu", &elu) ||
       tilec_buffer_new(rt, sizeof data, &x) || tilec_buffer_new(rt, sizeof data, &y) ||
       tilec_buffer_upload(x, 0, data, sizeof data, NULL))
      return 1;
   if (TILEC_LAUNCH(elu, NULL, TILEC_OWN_GRID, 1, 1, x, y, 1000, 1.0f) ||
       tilec_buffer_download(y, 0, data, sizeof data, NULL))
      return 1;
   printf("tilec %s: elu(-1) = %.7f\n", tilec_version(), (double)data[0]);
   tilec_buffer_free(x);
   tilec_buffer_free(y);
   tilec_module_free(module);
   tilec_runtime_close(rt);
   return fabs((double)data[0] - expm1(-1)) > 1e-6 || data[2] != 1.0f;
}
