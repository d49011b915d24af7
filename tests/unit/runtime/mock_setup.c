/* For the Python test: a file that the mock compiler "reads", and how structs are laid out. */
#include "mock_compiler.h"

#include "tilec/runtime.h"

#include <stdio.h>

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

typedef struct Layout {
   size_t len;
   char text[8192];
} Layout;

static void
add_field(Layout *l, const char *type, const char *field, size_t at, size_t bytes)
{
   l->len += (size_t)snprintf(l->text + l->len, sizeof l->text - l->len, "%s %s %zu %zu\n", type,
                              field, at, bytes);
}

/* A line for each option: struct, field, offset, size. */
TILEC_API const char *tilec_mock_layout(void);
const char *
tilec_mock_layout(void)
{
   static Layout l;
#define ADD(type, field)                                                                           \
   add_field(&l, #type, #field, offsetof(type, field), sizeof((type){0}.field));
#define SOURCE_SOURCE(...) __VA_ARGS__
#define SOURCE_SPLIT(...) __VA_ARGS__
#define SOURCE_OWN(...)
   l.len = 0;
#define TILEC_FIELD(field, result, source)                                                         \
   ADD(TilecCompileOptions, field) SOURCE_##source(ADD(TilecSource, field))
#define TILEC_FIELDS(field, count, result, source)                                                 \
   ADD(TilecCompileOptions, field)                                                                 \
   ADD(TilecCompileOptions, count)                                                                 \
   SOURCE_##source(ADD(TilecSource, field) ADD(TilecSource, count))
#include "tilec/compile_options.def"
   ADD(TilecCompileOptions, struct_size)
   ADD(TilecSource, struct_size)
   ADD(TilecSource, tune)
   return l.text;
}
