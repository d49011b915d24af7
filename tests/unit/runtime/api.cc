// The public headers from C++: they compile, the argument overloads choose as _Generic does, and
// the launch macro takes a list.
#include <cstdio>

#include "tilec/runtime.h"
#include "tilec/tilec.h"

static bool
is(TilecArg a, TilecArgKind kind, TilecDtype dtype)
{
   return a.kind == kind && a.dtype == dtype;
}

int
main()
{
   float x = 0;
   const short y = 0;
   bool ok = is(TILEC_ARG(1), TILEC_ARG_SCALAR, TILEC_I32) &&
             is(TILEC_ARG(1.0f), TILEC_ARG_SCALAR, TILEC_FP32) &&
             is(TILEC_ARG(1.0), TILEC_ARG_SCALAR, TILEC_FP64) &&
             is(TILEC_ARG(true), TILEC_ARG_SCALAR, TILEC_I1) &&
             is(TILEC_ARG(1ull), TILEC_ARG_SCALAR, TILEC_U64) &&
             is(TILEC_ARG(&x), TILEC_ARG_POINTER, TILEC_FP32) &&
             is(TILEC_ARG(&y), TILEC_ARG_POINTER, TILEC_I16) &&
             is(TILEC_ARG((TilecBuffer *)nullptr), TILEC_ARG_BUFFER, TILEC_DTYPE_NONE) &&
             is(TILEC_ARG(tilec_none()), TILEC_ARG_NONE, TILEC_DTYPE_NONE) &&
             TILEC_LAUNCH(nullptr, nullptr, 1, 1, 1, &x, 3, 0.5f) == TILEC_BAD_ARGUMENT;
   if (!ok)
      std::puts("C++ arguments differ from C");
   return ok ? 0 : 1;
}
