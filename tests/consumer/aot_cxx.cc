// The header from C++, kernels built with --check: null pointers are refused before anything else,
// and without a context every call answers with a typed status.
#include "elu.h"

#include <cstdio>
#include <cstring>

int
main()
{
   float x = 0;
   const int null = elu_launch(nullptr, 1, 1, 1, nullptr, &x, 1, 1.0f);
   std::printf("%s\n", elu_error());
   if (null != ELU_BAD_ARGUMENT || std::strcmp(elu_error(), "elu: 'x' is NULL") != 0)
      return 1;
   const int status = elu_launch(nullptr, 1, 1, 1, &x, &x, 1, 1.0f);
   std::printf("%s\n", elu_message(status));
   const int empty = elu_launch(nullptr, 0, 1, 1, &x, &x, 1, 1.0f);
   return (status == ELU_NO_DRIVER || status == ELU_BAD_CONTEXT) && empty == ELU_OK ? 0 : 1;
}
