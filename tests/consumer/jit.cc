// libtilec from C++: source to result on the CPU executor.
#include <tilec/runtime.h>
#include <tilec/tilec.h>
#include <tilec/version.h>

#include <cmath>
#include <cstdio>
#include <cstring>

int
main()
{
   if (std::strcmp(tilec_version(), TILEC_VERSION_TEXT) != 0)
      return 1;
   TilecRuntimeOptions options = {};
   options.struct_size = sizeof options;
   options.executor = TILEC_ON_CPU;
   TilecSource source = {};
   source.struct_size = sizeof source;
   source.file = ELU_TILE;
   TilecRuntime *rt = nullptr;
   TilecModule *module = nullptr;
   TilecKernel *elu = nullptr;
   TilecBuffer *x = nullptr, *y = nullptr;
   float data[4] = {-1, 0, 1, -2};
   if (tilec_runtime_open(&options, &rt) || tilec_jit_attach(rt, nullptr) ||
       tilec_module_from_source(rt, &source, &module) || tilec_module_kernel(module, "elu", &elu) ||
       tilec_buffer_new(rt, sizeof data, &x) || tilec_buffer_new(rt, sizeof data, &y) ||
       tilec_buffer_upload(x, 0, data, sizeof data, nullptr))
      return 1;
   const TilecArg args[] = {tilec_view(TILEC_FP32, x, 0), tilec_view(TILEC_FP32, y, 0),
                            tilec_int(TILEC_I32, 4), tilec_fp32(1.0f)};
   TilecLaunch launch = {};
   launch.grid[0] = TILEC_OWN_GRID;
   if (tilec_launch(elu, &launch, args, 4) ||
       tilec_buffer_download(y, 0, data, sizeof data, nullptr))
      return 1;
   std::printf("%s: elu(-1) = %g\n", tilec_version(), static_cast<double>(data[0]));
   const double error = static_cast<double>(data[0]) - std::expm1(-1.0);
   return std::fabs(error) < 1e-6 && data[2] == 1.0f ? 0 : 1;
}
