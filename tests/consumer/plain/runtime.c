/* libtilec_runtime by pkg-config: runtime elu.ptx elu.json.  With the tests' stand-in driver
 * (--stand-in) the launch goes through and computes nothing; on a GPU the result is checked;
 * without a driver the status says so and the exit code is 77. */
#include <tilec/runtime.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t
read_file(const char *path, char *text, size_t room)
{
   FILE *f = fopen(path, "rb");
   size_t n = f ? fread(text, 1, room, f) : 0;
   if (f)
      fclose(f);
   return n;
}

static int
fail(TilecRuntime *rt, TilecStatus status)
{
   char text[512] = "";
   tilec_runtime_error(rt, text, sizeof text);
   printf("%s: %s\n", tilec_status_name(status), text);
   return 1;
}

int
main(int argc, char **argv)
{
   static char ptx[1 << 20], json[1 << 16];
   float data[1000] = {-1, 0, 1};
   char why[256] = "";
   if (argc < 3)
      return 2;
   size_t ptx_bytes = read_file(argv[1], ptx, sizeof ptx);
   size_t json_bytes = read_file(argv[2], json, sizeof json);
   TilecRuntimeOptions options = {
      .struct_size = sizeof options, .error = why, .error_bytes = sizeof why};
   TilecRuntime *rt;
   TilecModule *module;
   TilecKernel *elu;
   TilecBuffer *x, *y;
   TilecStatus status = tilec_runtime_open(&options, &rt);
   if (status != TILEC_OK) {
      printf("%s: %s\n", tilec_status_name(status), why);
      return status == TILEC_NO_DRIVER || status == TILEC_NO_DEVICE ? 77 : 1;
   }
   if ((status = tilec_module_load(rt, ptx, ptx_bytes, json, json_bytes, &module)) ||
       (status = tilec_module_kernel(module, "elu", &elu)) ||
       (status = tilec_buffer_new(rt, sizeof data, &x)) ||
       (status = tilec_buffer_new(rt, sizeof data, &y)) ||
       (status = tilec_buffer_upload(x, 0, data, sizeof data, NULL)) ||
       (status = TILEC_LAUNCH(elu, NULL, TILEC_OWN_GRID, 1, 1, x, y, 1000, 1.0f)) ||
       (status = tilec_buffer_download(y, 0, data, sizeof data, NULL)))
      return fail(rt, status);
   int ok = argc > 3 || (fabs((double)data[0] - expm1(-1)) < 1e-6 && data[2] == 1.0f);
   printf("launched%s\n", ok ? "" : ", and the result is wrong");
   tilec_buffer_free(x);
   tilec_buffer_free(y);
   tilec_module_free(module);
   tilec_runtime_close(rt);
   return !ok;
}
