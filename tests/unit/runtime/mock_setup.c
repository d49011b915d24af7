/* Gives the mock compiler a file to "read", for the Python test. */
#include "mock_compiler.h"

static const TilecParamDecl params[] = {
   {.name = "x"},
   {.name = "n"},
   {.name = "alpha", .type = "fp32", .default_value = "1.0"},
   {.name = "BLOCK", .is_constexpr = true, .default_value = "128"},
};
static const TilecKernelDecl decls[] = {{.name = "k",
                                         .file = "x.tile",
                                         .line = 3,
                                         .grid = "(1,)",
                                         .num_warps = 4,
                                         .params = params,
                                         .num_params = 4}};

/* "Runs" a kernel: adds alpha to n floats of x, so that the test sees its own arguments arrive. */
static TilecStatus
run(const TilecHostLaunch *launch, TilecFault *fault)
{
   (void)fault;
   float *x = launch->args[0].as.ptr;
   if (launch->num_args != 3 || launch->args[0].bytes < 4u * (size_t)launch->args[1].as.i)
      return TILEC_BAD_ARGUMENT;
   for (int64_t i = 0; i < launch->args[1].as.i; i++)
      x[i] += (float)launch->args[2].as.f * (float)launch->grid[0];
   return TILEC_OK;
}

TILEC_API void tilec_mock_setup(void);
void
tilec_mock_setup(void)
{
   mock.decls = decls;
   mock.num_decls = 1;
   mock.run = run;
}

TILEC_API const char *tilec_mock_defines(void);
const char *
tilec_mock_defines(void)
{
   return mock.defines;
}
